//! The language of the `relational` prototype: rules about objects, each of which stands for many functions.
//!
//! **A name is a rule without variables.** `speed(i)<k for i in robot, k in 5..100 step 5` is a rule; the functions
//! that it stands for are called `speed(robot1)<5` and so on, which are rules for one function each. So a name parses
//! back to its function, and names that `lag`, `window`, `power`, `threshold`, `normalised` and `conjunction` give to
//! functions of real channels are rules too: `mean(x[-1], -1..+0)>1.2`, `norm(x)² ∧ z`.
//!
//! **Objects are channels.** Channel `robot1.x` is field `x` of object `robot1`. The class of an object is its name
//! without the digits at its end, here `robot`; `classes` in a config makes others out of classes and objects, such
//! as two teams. Data need nothing but names for their columns.
//!
//! **Different variables are different objects.** A variable ranges over those members of its class that its rule
//! does not already name, so that `dist(i, j) for i, j in robot` never asks for the distance of a robot to itself, nor
//! does `min(dist(i, j) for j in robot)` find it.
//!
//! **Labels come first.** In front of a rule may stand `y=i`, or in a transition feature `y'=i`, `y=j` or both, with
//! `∧` behind each: the function is then tied to the labels of these names only. That is how a feature map prints
//! features, `y=robot1 ∧ speed(robot1)<5`; what it prints is a rule. Functions that differ by labels only are one
//! function with several features. `y=marks {i}` has the object's name within the label's.
//!
//! Where data have several relations between nodes, the name of one may stand in front of all: `skip: y'=i ∧ y=j`.
//!
//! ```text
//! rule       = [ relation ":" ] { ("y" | "y'") "=" label "∧" } expression [ "for" variables ]
//! variables  = name { "," name } "in" ( class | number ".." number [ "step" number ] | "[" numbers "]" ) { "," variables }
//! expression = with operators, from loose to tight: ∧   < > ≤ ≥ = ≠   + −   · /   ¬ −   ² ^3 [-1]
//! atom       = number | name | object "." field | "(" expression { "," expression } ")" | name "(" arguments ")"
//!            | ("any" | "all" | "mean") "(" expression "," offset ".." offset ")"
//!            | ("any" | "all" | "mean" | "min" | "max") "(" expression "for" name "in" class ")"
//!            | "nearest" "(" expression "for" name "in" class "by" expression ")"
//! definition = name "(" parameters ")" "=" expression
//! ```
//!
//! - Tests are worth 0 or 1, and `∧` is a product, as in a `conjunction`. `¬` is 1 where a value is 0.
//! - `(i.x, i.y)` is a vector; `dot`, `length`, `unit` and `cos` take vectors. What is divided by zero is zero, so
//!   something that stands still has no direction.
//! - `e[-1]` is the value one position earlier; beyond an end it is the value at that end, so that a velocity begins
//!   with zero. (`lag` has zeros there, which for a position would be a place.)
//! - `norm(e)` is e shifted and scaled to mean 0 and variance 1 on the training data, as by `normalised`.
//! - `nearest(e for j in robot by d)` is e for the j whose d is least.
//! - `pos`, `vel`, `speed`, `dist` and `chasing` are defined; a definition of the same name takes their place.
//! - A name with other letters in it stands between back ticks, as does a channel called `y` in front of `=`.
//!
//! What rules say becomes a list of steps in which equal things are one step ([`plan`]), `dist(robot1, robot2)` and
//! `dist(robot2, robot1)` among them. Steps are computed in pieces of a sequence, a column at a time, and a column
//! lives until the last step that reads it: an encoding costs one pass and memory in proportion to its non-zeros.

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

/// Rules and definitions, read but not yet about any data.
pub(super) struct Rules<'a> {
    texts: &'a [String],
    rules: Vec<Rule>,
    define: &'a [String],
    classes: &'a BTreeMap<String, Vec<String>>,
}

impl<'a> Rules<'a> {
    /// Reads rules; what is wrong with one is said with its column.
    pub(super) fn read(
        texts: &'a [String],
        define: &'a [String],
        classes: &'a BTreeMap<String, Vec<String>>,
    ) -> Result<Self> {
        define.iter().try_for_each(|text| parser::definition(text).map(drop))?;
        let rules = texts.iter().map(|text| parser::rule(text)).collect::<Result<_>>()?;
        Ok(Rules { texts, rules, define, classes })
    }

    /// How many ways there are to give the variables their values; functions that are equal count several times.
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

    /// The functions that the rules stand for on data of a schema, at most `most`.
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

/// Calls `f` with every way to give the variables of a rule their values, the last variable's changing first.
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

/// The labels that fit `a` or `b`.
fn union(a: Labels, b: Labels) -> Labels {
    let (mut a, b) = (a?, b?);
    for pattern in b {
        if !a.contains(&pattern) {
            a.push(pattern);
        }
    }
    Some(a)
}

/// The functions of rules, bound to the channels of a schema.
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

    /// How many functions there are, if all are for all labels and none is constant.
    pub(super) fn n_plain_functions(&self) -> Option<usize> {
        let n_plain_functions = self.labels.iter().all(Option::is_none)
            && self.steps.iter().all(|&step| self.plan.constant(step).is_none());
        n_plain_functions.then_some(self.steps.len())
    }

    /// Normalises by what the training data have.
    pub(super) fn fit(&mut self, train: &Dataset) -> Result<()> {
        self.plan.fit(train)
    }

    /// Rejects lists that do not fit each other, steps that read later ones, and channels that are not real numbers.
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
        // Columns come one by one and rows are wanted.
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

/// Calls `f` with the place and the value of every number that is not zero, at little cost for zeros.
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
