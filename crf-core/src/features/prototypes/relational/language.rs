//! Language of the `relational` prototype: rules about objects, each of which stands for many
//! functions.
//!
//! **A name is a rule without variables.** `speed(i)<k for i in robot, k in 5..100 step 5` is a
//! rule; its functions are called `speed(robot1)<5` and so on, which are rules for one function
//! each. So a name parses back to its function, and there is no second format for names. Names that
//! `lag`, `window`, `power`, `threshold`, `normalised` and `conjunction` give to functions of real
//! channels are rules too: `mean(x[-1], -1..+0)>1.2`, `norm(x)² ∧ z`.
//!
//! **Objects are channels.** Channel `robot1.x` is field `x` of object `robot1`. The class of an
//! object is its name without the digits at its end, here `robot`; `classes` in a config defines
//! others from classes and objects, such as two teams. Data need nothing but names of columns: no
//! schema, source or file format knows that there are objects.
//!
//! **Different variables are different objects.** A variable ranges over those members of its class
//! that its rule does not already name, so `dist(i, j) for i, j in robot` never asks for the
//! distance of a robot to itself, nor does `min(dist(i, j) for j in robot)` find it.
//!
//! **Labels come first.** A rule may begin with `y=i`, or in a transition feature with `y'=i`,
//! `y=j` or both, with `∧` behind each: the function is then tied to these labels only. A feature
//! map prints features in this form, `y=robot1 ∧ speed(robot1)<5`, and what it prints is a rule.
//! Functions that differ in labels only are one function with several features. `y=marks {i}` has
//! the object's name within the label's.
//!
//! With several relations between nodes, a rule may begin with the name of one: `skip: y'=i ∧ y=j`.
//!
//! ```text
//! rule       = [ relation ":" ] { ("y" | "y'") "=" label "∧" } expression [ "for" variables ]
//! variables  = name { "," name } "in" domain { "," variables }
//! domain     = class | number ".." number [ "step" number ] | "[" numbers "]"
//! expression = with operators, from loose to tight: ∧   < > ≤ ≥ = ≠   + −   · /   ¬ −   ² ^3 [-1]
//! atom       = number | name | object "." field | "(" expression { "," expression } ")"
//!            | name "(" arguments ")"
//!            | ("any" | "all" | "mean") "(" expression "," offset ".." offset ")"
//!            | ("any" | "all" | "mean" | "min" | "max") "(" expression "for" name "in" class ")"
//!            | "nearest" "(" expression "for" name "in" class "by" expression ")"
//! definition = name "(" parameters ")" "=" expression
//! ```
//!
//! - Tests have the values 0 and 1, and `∧` is a product, as in a `conjunction`. `¬` is 1 where a
//!   value is 0.
//! - `(i.x, i.y)` is a vector; `dot`, `length`, `unit` and `cos` take vectors. A division by zero
//!   is zero, so an object that stands still has no direction.
//! - `e[-1]` is the value one position earlier; beyond an end it is the value at that end, so a
//!   velocity begins with zero. (`lag` has zeros there, which as a coordinate would be a place.)
//! - `norm(e)` is e shifted and scaled to mean 0 and variance 1 on the training data, as by
//!   `normalised`.
//! - `nearest(e for j in robot by d)` is e for the j with the smallest d.
//! - `pos`, `vel`, `speed`, `dist` and `chasing` are predefined; a definition of the same name
//!   replaces one.
//! - A name with other characters is written between back ticks, as is a channel called `y` in
//!   front of `=`.
//!
//! **Equal terms are one step.** Rules become a list of steps by value numbering ([`Plan`]), with
//! operands in one order where arithmetic allows it, so shared terms are computed once and `dist(a,
//! b)` is `dist(b, a)`. `norm(e)` is a step with two numbers, which one pass over the training data
//! finds.
//!
//! **Columns are computed in chunks.** A step is a loop over a chunk of a sequence and the
//! positions around it that shifts and windows reach. A column lives until its last reader, and
//! only non-zeros leave the chunk: an encoding costs one pass and memory in proportion to its
//! non-zeros.
//!
//! **Files are not trusted.** A plan that was read from a file is checked: no step can read a later
//! one, or a channel that is not there.
//!
//! Start here, then read `syntax.rs` (the tree), `parser.rs`, `objects.rs` (names and classes),
//! `compiler.rs`, `plan.rs` (steps and their evaluation) and `printer.rs`. A new operation is a
//! `Step` in `plan.rs` and its name in `compiler.rs`.

use std::collections::{BTreeMap, HashMap, HashSet};

use serde::{Deserialize, Serialize};

use super::compiler::{Compiler, Scope};
use super::objects::{Binding, Bindings, Objects};
use super::parser;
use super::plan::{CHUNK_LEN, Columns, Plan};
use super::printer::Printed;
use super::syntax::{Domain, Rule};
use crate::data::dataset::{Dataset, Sequence};
use crate::data::packed_strings::PackedStrings;
use crate::data::schema::Schema;
use crate::error::{Error, Result, require_consistent};
use crate::features::label_pattern::{LabelPattern, Labels};
use crate::features::prototype::{EncodedRows, Observation};

/// Parsed rules and definitions, not yet bound to any data.
pub(super) struct Rules<'a> {
    texts: &'a [String],
    rules: Vec<Rule>,
    define: &'a [String],
    classes: &'a BTreeMap<String, Vec<String>>,
}

impl<'a> Rules<'a> {
    /// Parses rules; an error has the column.
    pub(super) fn read(
        texts: &'a [String],
        define: &'a [String],
        classes: &'a BTreeMap<String, Vec<String>>,
    ) -> Result<Self> {
        define.iter().try_for_each(|text| parser::definition(text).map(drop))?;
        let rules = texts.iter().map(|text| parser::rule(text)).collect::<Result<_>>()?;
        Ok(Rules { texts, rules, define, classes })
    }

    /// Number of assignments of values to the variables; equal functions are counted several times.
    pub(super) fn count(&self, schema: &Schema) -> Result<usize> {
        let objects = Objects::new(schema, self.classes)?;
        let mut n = 0;
        for (rule, text) in self.rules.iter().zip(self.texts) {
            for_each_assignment(rule, text, &objects, &mut |_| {
                n += 1;
                Ok(())
            })?;
        }
        Ok(n)
    }

    /// Expands the rules to functions on data of a schema, at most `most`.
    pub(super) fn expand(&self, schema: &Schema, most: u32) -> Result<Functions> {
        let objects = Objects::new(schema, self.classes)?;
        let mut compiler = Compiler::new(&objects, self.define)?;
        let mut functions = Functions::default();
        let mut function_of = HashMap::new();
        for (rule, text) in self.rules.iter().zip(self.texts) {
            for_each_assignment(rule, text, &objects, &mut |bindings| {
                let mut scope = Scope { text, bindings: std::mem::take(bindings) };
                let step = compiler.scalar(&rule.expression, &mut scope)?;
                *bindings = scope.bindings;
                let labels = label_patterns(rule, bindings);
                let next = functions.steps.len();
                let g = *function_of.entry(step).or_insert(next);
                if g < next {
                    functions.labels[g] = union(functions.labels[g].take(), labels);
                    return Ok(());
                }
                if next == most as usize {
                    let got = format!("more; the last rule was `{text}`");
                    return Err(Error::setting("most", "at least the number of functions", got));
                }
                functions.steps.push(step);
                functions.labels.push(labels);
                functions.names.push(&Printed { expression: &rule.expression, bindings }.to_string());
                Ok(())
            })?;
        }
        functions.plan = compiler.planner.finish();
        Ok(functions)
    }
}

/// Calls `f` with every assignment of values to the variables of a rule; the last variable changes
/// first.
fn for_each_assignment(
    rule: &Rule,
    text: &str,
    objects: &Objects,
    f: &mut dyn FnMut(&mut Bindings) -> Result<()>,
) -> Result<()> {
    let variables: Vec<&str> = rule.variables.iter().map(|(word, _)| word.text.as_str()).collect();
    let mut named = HashSet::new();
    let mut bindings = Bindings::default();
    objects.named(&rule.expression, &bindings, &variables, &mut named);
    let mut domains = Vec::new();
    for (word, domain) in &rule.variables {
        let values: Vec<Binding> = match domain {
            Domain::Numbers(numbers) => numbers.iter().map(|&number| Binding::Number(number)).collect(),
            Domain::Class(class) => {
                let members =
                    objects.class(&class.text).map_err(|e| parser::at_column(text, class.column, e))?;
                let free = members.iter().filter(|member| !named.contains(*member));
                free.map(|member| Binding::Object(member.clone())).collect()
            }
        };
        domains.push((word.text.as_str(), values));
    }
    assign(&domains, &mut bindings, f)
}

fn assign(
    domains: &[(&str, Vec<Binding>)],
    bindings: &mut Bindings,
    f: &mut dyn FnMut(&mut Bindings) -> Result<()>,
) -> Result<()> {
    let Some(((name, values), rest)) = domains.split_first() else {
        return f(bindings);
    };
    for value in values {
        if matches!(value, Binding::Object(object) if bindings.has_object(object)) {
            continue;
        }
        bindings.push(name, value.clone());
        assign(rest, bindings, f)?;
        bindings.pop();
    }
    Ok(())
}

fn label_patterns(rule: &Rule, bindings: &Bindings) -> Labels {
    let label = |label: &Option<String>| label.as_deref().map(|label| bindings.label(label));
    let relation = label(&rule.relation);
    let pattern = LabelPattern { relation, before: label(&rule.before), now: label(&rule.now) };
    (pattern != LabelPattern::default()).then(|| vec![pattern])
}

/// Labels that match `a` or `b`.
fn union(a: Labels, b: Labels) -> Labels {
    let (mut a, b) = (a?, b?);
    for pattern in b {
        if !a.contains(&pattern) {
            a.push(pattern);
        }
    }
    Some(a)
}

/// Functions of rules, bound to the channels of a schema.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Functions {
    plan: Plan,
    steps: Vec<u32>, // [functions]
    labels: Vec<Labels>,
    names: PackedStrings,
}

impl Functions {
    pub(super) fn observations(&self) -> Vec<Observation> {
        let parts = self.steps.iter().zip(&self.labels).zip(self.names.iter());
        let observation = |((&step, labels), name): ((&u32, &Labels), &str)| Observation {
            constant: self.plan.constant(step),
            labels: labels.clone(),
            ..Observation::new(name)
        };
        parts.map(observation).collect()
    }

    /// Number of functions, if all are for all labels and none is constant.
    pub(super) fn n_plain_functions(&self) -> Option<usize> {
        let n_plain_functions = self.labels.iter().all(Option::is_none)
            && self.steps.iter().all(|&step| self.plan.constant(step).is_none());
        n_plain_functions.then_some(self.steps.len())
    }

    /// Fits `norm` on the training data.
    pub(super) fn fit(&mut self, train: &Dataset) -> Result<()> {
        self.plan.fit(train)
    }

    /// Rejects lists of different lengths, steps that read later ones, and channels that are not
    /// real numbers.
    pub(super) fn check(&self, schema: &Schema) -> Result<()> {
        let n = self.steps.len();
        require_consistent(self.labels.len() == n && self.names.len() == n)?;
        require_consistent(self.steps.iter().all(|&step| (step as usize) < self.plan.len()))?;
        self.plan.check(schema)
    }

    pub(super) fn reach(&self) -> (usize, usize) {
        self.plan.reach()
    }

    pub(super) fn encode(&self, x: &Sequence<'_>, out: &mut EncodedRows) {
        let mut function_of = vec![None; self.plan.len()];
        for (g, &step) in (0_u32..).zip(&self.steps) {
            function_of[step as usize] = self.plan.constant(step).is_none().then_some(g);
        }
        // Values come column by column and are wanted row by row.
        let mut rows: Vec<Vec<(u32, f64)>> = vec![Vec::new(); x.len().min(CHUNK_LEN)];
        let mut columns = Columns::new(&self.plan, x);
        for start in (0..x.len()).step_by(CHUNK_LEN) {
            let chunk = start..x.len().min(start + CHUNK_LEN);
            columns.compute(chunk.clone(), |step, values| {
                if let Some(g) = function_of[step] {
                    for_each_non_zero(values, |t, value| rows[t].push((g, value)));
                }
            });
            for row in &mut rows[..chunk.len()] {
                row.drain(..).for_each(|(g, value)| out.push(g, value));
                out.end_row();
            }
        }
    }
}

/// Calls `f` with the index and the value of every non-zero number, at little cost for zeros.
fn for_each_non_zero(values: &[f64], mut f: impl FnMut(usize, f64)) {
    for (n, part) in values.chunks(64).enumerate() {
        let bit = |(n, value): (usize, &f64)| u64::from(*value != 0.0) << n;
        let mut bits = part.iter().enumerate().map(bit).fold(0, |bits, bit| bits | bit);
        while bits != 0 {
            let t = bits.trailing_zeros() as usize;
            f(64 * n + t, part[t]);
            bits &= bits - 1;
        }
    }
}
