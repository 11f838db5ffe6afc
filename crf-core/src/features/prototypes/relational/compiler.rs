use std::collections::HashSet;
use std::sync::Arc;

use super::objects::{Binding, Bindings, Objects};
use super::parser::{at_column, definition};
use super::plan::{Planner, Scale, Step, Term};
use super::syntax::{Among, Definition, Expression, Offset, Operator, Word};
use crate::error::{Error, Result};

/// Predefined terms; a definition of the same name replaces one.
pub(super) const PRELUDE: [&str; 5] = [
    "pos(i) = (i.x, i.y)",
    "vel(i) = pos(i) - pos(i)[-1]",
    "speed(i) = length(vel(i))",
    "dist(i, j) = length(pos(i) - pos(j))",
    "chasing(i, j) = cos(pos(j) - pos(i), vel(i))",
];

/// Built-in functions with their numbers of arguments.
const BUILT_IN: [(&str, usize); 9] = [
    ("dot", 2),
    ("length", 1),
    ("unit", 1),
    ("cos", 2),
    ("min", 2),
    ("max", 2),
    ("abs", 1),
    ("sqrt", 1),
    ("norm", 1),
];

/// Upper limit of the depth of calls among definitions.
const MAX_DEPTH: usize = 32;

/// Compiler of expressions into steps of a plan.
pub(super) struct Compiler<'a> {
    objects: &'a Objects,
    definitions: Vec<Arc<Definition>>, // later ones replace earlier ones
    pub(super) planner: Planner,
    depth: usize,
}

/// Scope of an expression: its text, and the bindings of its names.
pub(super) struct Scope<'a> {
    pub(super) text: &'a str,
    pub(super) bindings: Bindings,
}

impl Scope<'_> {
    fn error_at(&self, word: &Word, error: Error) -> Error {
        at_column(self.text, word.column, error)
    }
}

impl<'a> Compiler<'a> {
    pub(super) fn new(objects: &'a Objects, define: &[String]) -> Result<Self> {
        let texts = PRELUDE.into_iter().chain(define.iter().map(String::as_str));
        let definitions = texts.map(|text| definition(text).map(Arc::new)).collect::<Result<Vec<_>>>()?;
        Ok(Compiler { objects, definitions, planner: Planner::default(), depth: 0 })
    }

    /// Compiles an expression that is a number at each position.
    pub(super) fn scalar(&mut self, operand: &Expression, scope: &mut Scope<'_>) -> Result<u32> {
        match self.term(operand, scope)? {
            Term::Scalar(step) => Ok(step),
            Term::Vector(parts) => Err(Error::data(format!(
                "expected a number, got a vector of {}; `length(…)` and `dot(…, …)` make numbers of vectors",
                parts.len()
            ))
            .at(format!("`{}`", scope.text))),
        }
    }

    fn term(&mut self, operand: &Expression, scope: &mut Scope<'_>) -> Result<Term> {
        Ok(match operand {
            Expression::Number(value) => Term::Scalar(self.planner.number(*value)),
            Expression::Name(word) => self.name(word, scope)?,
            Expression::Field(word, field) => {
                let object = match scope.bindings.get(&word.text) {
                    Some(Binding::Object(object)) => object,
                    _ => &*word.text,
                };
                let channel =
                    self.objects.field(object, field).map_err(|error| scope.error_at(word, error))?;
                Term::Scalar(self.planner.step(Step::Channel(channel as u32)))
            }
            Expression::Vector(parts) => {
                let parts = parts.iter().map(|part| self.scalar(part, scope));
                Term::Vector(parts.collect::<Result<_>>()?)
            }
            Expression::Call(word, arguments) => self.call(word, arguments, scope)?,
            Expression::Not(operand) => {
                let operand = self.scalar(operand, scope)?;
                Term::Scalar(self.planner.not(operand))
            }
            Expression::Negate(operand) => {
                let operand = self.term(operand, scope)?;
                let zero = self.planner.number(0.0);
                self.map_scalars(operand, |operand| Step::Subtract(zero, operand))
            }
            Expression::Binary(left, operator, right) => {
                let (left, right) = (self.term(left, scope)?, self.term(right, scope)?);
                self.binary(left, *operator, right).map_err(|error| error.at(format!("`{}`", scope.text)))?
            }
            Expression::Power(operand, degree) => {
                let operand = self.scalar(operand, scope)?;
                Term::Scalar(self.planner.step(Step::Power(operand, *degree)))
            }
            Expression::Shift(operand, offset) => {
                let (operand, by) = (self.term(operand, scope)?, offset_value(offset, scope)?);
                self.map_scalars(operand, |operand| Step::Shift(operand, by))
            }
            Expression::Window(over, operand, from, to) => {
                let operand = self.scalar(operand, scope)?;
                let (from, to) = (offset_value(from, scope)?, offset_value(to, scope)?);
                if from > 0 || to < 0 {
                    let want = format!("expected a window around the position, got {from:+}..{to:+}");
                    return Err(Error::data(want).at(format!("`{}`", scope.text)));
                }
                Term::Scalar(self.planner.step(Step::Window(*over, operand, from.unsigned_abs(), to as u32)))
            }
            Expression::Among(among, operand, variable, class, by) => {
                Term::Scalar(self.among(*among, operand, variable, class, by.as_deref(), scope)?)
            }
        })
    }

    fn name(&mut self, word: &Word, scope: &Scope<'_>) -> Result<Term> {
        match scope.bindings.get(&word.text) {
            Some(Binding::Number(value)) => Ok(Term::Scalar(self.planner.number(*value))),
            Some(Binding::Term(term)) => Ok(term.clone()),
            Some(Binding::Object(object)) => Err(scope.error_at(word, whole_object(object))),
            None => match (self.objects.channel(&word.text), self.objects.object(&word.text)) {
                (Some(channel), _) => Ok(Term::Scalar(self.planner.step(Step::Channel(channel as u32)))),
                (None, Some(object)) => Err(scope.error_at(word, whole_object(object))),
                (None, None) => {
                    let error =
                        Error::unknown("variable, channel or object", &word.text, self.objects.names());
                    Err(scope.error_at(word, error))
                }
            },
        }
    }

    fn call(&mut self, word: &Word, arguments: &[Expression], scope: &mut Scope<'_>) -> Result<Term> {
        let found = self.definitions.iter().rfind(|definition| definition.name == word.text).cloned();
        let built_in = BUILT_IN.iter().find(|entry| entry.0 == word.text);
        let takes = match (&found, built_in) {
            (Some(definition), _) => definition.parameters.len(),
            (None, Some(entry)) => entry.1,
            (None, None) => {
                let names = self.definitions.iter().map(|definition| definition.name.as_str());
                let names = names.chain(BUILT_IN.iter().map(|entry| entry.0));
                let names = names.chain(Among::NAMES.iter().map(|entry| entry.0));
                return Err(scope.error_at(word, Error::unknown("function", &word.text, names)));
            }
        };
        if takes != arguments.len() {
            let error = format!("`{}` takes {takes} arguments, got {}", word.text, arguments.len());
            return Err(scope.error_at(word, Error::data(error)));
        }
        let Some(definition) = found else {
            let terms = arguments.iter().map(|argument| self.term(argument, scope));
            let terms = terms.collect::<Result<Vec<_>>>()?;
            return self.built_in(&word.text, &terms).map_err(|error| scope.error_at(word, error));
        };
        let mut inner = Scope { text: &definition.text, bindings: Bindings::default() };
        for (parameter, argument) in definition.parameters.iter().zip(arguments) {
            let binding = self.argument(argument, scope)?;
            inner.bindings.push(parameter, binding);
        }
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            let error = Error::data(format!("definitions call each other more than {MAX_DEPTH} deep"));
            return Err(scope.error_at(word, error));
        }
        let term = self.term(&definition.body, &mut inner)?;
        self.depth -= 1;
        Ok(term)
    }

    /// Binding of a parameter to an argument: an object, a number, or a term.
    fn argument(&mut self, operand: &Expression, scope: &mut Scope<'_>) -> Result<Binding> {
        match operand {
            Expression::Number(value) => return Ok(Binding::Number(*value)),
            Expression::Name(word) => match scope.bindings.get(&word.text) {
                Some(binding) => return Ok(binding.clone()),
                None if self.objects.channel(&word.text).is_some() => {}
                None => {
                    if let Some(object) = self.objects.object(&word.text) {
                        return Ok(Binding::Object(object.clone()));
                    }
                }
            },
            _ => {}
        }
        Ok(Binding::Term(self.term(operand, scope)?))
    }

    fn built_in(&mut self, name: &str, terms: &[Term]) -> Result<Term> {
        let number = |term: &Term| match term {
            Term::Scalar(step) => Ok(*step),
            Term::Vector(_) => Err(Error::data(format!("`{name}` takes numbers, got a vector"))),
        };
        Ok(Term::Scalar(match name {
            "dot" => self.dot(&terms[0], &terms[1])?,
            "length" => self.length(&terms[0])?,
            "unit" => return self.unit(&terms[0]),
            "cos" => {
                let (a, b) = (self.unit(&terms[0])?, self.unit(&terms[1])?);
                self.dot(&a, &b)?
            }
            "min" => self.planner.step(Step::Min(vec![number(&terms[0])?, number(&terms[1])?])),
            "max" => self.planner.step(Step::Max(vec![number(&terms[0])?, number(&terms[1])?])),
            "sqrt" => self.planner.step(Step::Root(number(&terms[0])?)),
            "norm" => self.planner.step(Step::Norm(number(&terms[0])?, Scale::default())),
            _ => {
                let (operand, zero) = (number(&terms[0])?, self.planner.number(0.0));
                let negative = self.planner.step(Step::Subtract(zero, operand));
                self.planner.step(Step::Max(vec![operand, negative]))
            }
        }))
    }

    fn dot(&mut self, a: &Term, b: &Term) -> Result<u32> {
        let (Term::Vector(a), Term::Vector(b)) = (a, b) else {
            return Err(Error::data("expected two vectors, such as `pos(i)` or `(i.x, i.y)`, got a number"));
        };
        if a.len() != b.len() {
            return Err(Error::data(format!("vectors of {} and {} numbers do not fit", a.len(), b.len())));
        }
        let products: Vec<u32> =
            a.iter().zip(b).map(|(&a, &b)| self.planner.step(Step::Multiply(a, b))).collect();
        Ok(self.sum(&products))
    }

    fn sum(&mut self, steps: &[u32]) -> u32 {
        steps[1..].iter().fold(steps[0], |sum, &step| self.planner.step(Step::Add(sum, step)))
    }

    fn length(&mut self, operand: &Term) -> Result<u32> {
        let square = self.dot(operand, operand)?;
        Ok(self.planner.step(Step::Root(square)))
    }

    fn unit(&mut self, operand: &Term) -> Result<Term> {
        let length = self.length(operand)?;
        Ok(self.map_scalars(operand.clone(), |part| Step::Divide(part, length)))
    }

    /// Applies a step to each number of a term.
    fn map_scalars(&mut self, operand: Term, step: impl Fn(u32) -> Step) -> Term {
        match operand {
            Term::Scalar(operand) => Term::Scalar(self.planner.step(step(operand))),
            Term::Vector(parts) => {
                Term::Vector(parts.into_iter().map(|part| self.planner.step(step(part))).collect())
            }
        }
    }

    fn binary(&mut self, left: Term, operator: Operator, right: Term) -> Result<Term> {
        let step = |a: u32, b: u32| match operator {
            Operator::And | Operator::Times => Step::Multiply(a, b),
            Operator::Less => Step::Less(a, b),
            Operator::Greater => Step::Less(b, a),
            Operator::AtMost => Step::AtMost(a, b),
            Operator::AtLeast => Step::AtMost(b, a),
            Operator::Equal => Step::Equal(a, b),
            Operator::Unequal => Step::Unequal(a, b),
            Operator::Plus => Step::Add(a, b),
            Operator::Minus => Step::Subtract(a, b),
            Operator::Over => Step::Divide(a, b),
        };
        match (left, right) {
            (Term::Scalar(a), Term::Scalar(b)) => Ok(Term::Scalar(self.planner.step(step(a, b)))),
            (Term::Vector(a), Term::Vector(b))
                if matches!(operator, Operator::Plus | Operator::Minus) && a.len() == b.len() =>
            {
                Ok(Term::Vector(a.iter().zip(&b).map(|(&a, &b)| self.planner.step(step(a, b))).collect()))
            }
            (Term::Scalar(a), b) if operator == Operator::Times => Ok(self.map_scalars(b, |b| step(a, b))),
            (a, Term::Scalar(b)) if matches!(operator, Operator::Times | Operator::Over) => {
                Ok(self.map_scalars(a, |a| step(a, b)))
            }
            _ => Err(Error::data(
                "vectors of equal length can be added and subtracted, and multiplied or divided by numbers",
            )),
        }
    }

    fn among(
        &mut self,
        among: Among,
        operand: &Expression,
        variable: &Word,
        class: &Word,
        by: Option<&Expression>,
        scope: &mut Scope<'_>,
    ) -> Result<u32> {
        if scope.bindings.get(&variable.text).is_some() {
            let error = Error::data(format!("`{}` stands for something already", variable.text));
            return Err(scope.error_at(variable, error));
        }
        let mut named = HashSet::new();
        for expression in [Some(operand), by].into_iter().flatten() {
            self.objects.named(expression, &scope.bindings, &[&variable.text], &mut named);
        }
        let members = self.objects.class(&class.text).map_err(|error| scope.error_at(class, error))?;
        let (mut values, mut keys) = (Vec::new(), Vec::new());
        for member in members.iter().filter(|member| !named.contains(*member)) {
            scope.bindings.push(&variable.text, Binding::Object(member.clone()));
            values.push(self.scalar(operand, scope)?);
            if let Some(by) = by {
                keys.push(self.scalar(by, scope)?);
            }
            scope.bindings.pop();
        }
        if values.is_empty() {
            let error =
                Error::data(format!("class `{}` has no object that is not named already", class.text));
            return Err(scope.error_at(class, error));
        }
        Ok(match among {
            Among::Min => self.planner.step(Step::Min(values)),
            Among::Max => self.planner.step(Step::Max(values)),
            Among::Nearest => self.planner.step(Step::Nearest { by: keys, of: values }),
            Among::Mean => {
                let (sum, n) = (self.sum(&values), self.planner.number(values.len() as f64));
                self.planner.step(Step::Divide(sum, n))
            }
            Among::Any | Among::All => {
                let tests = values.into_iter().map(|value| self.planner.truth(value)).collect();
                self.planner.step(if among == Among::Any { Step::Max(tests) } else { Step::Min(tests) })
            }
        })
    }
}

fn whole_object(object: &str) -> Error {
    Error::data(format!("`{object}` is an object, not a number; name one of its fields, as in `{object}.x`"))
}

fn offset_value(offset: &Offset, scope: &Scope<'_>) -> Result<i32> {
    let value = match &*offset.size {
        Expression::Number(value) => Some(*value),
        Expression::Name(word) => scope.bindings.number(&word.text),
        _ => None,
    };
    match value {
        Some(value) if value.fract() == 0.0 && (0.0..1e9).contains(&value) => {
            Ok(if offset.negative { -(value as i32) } else { value as i32 })
        }
        _ => Err(Error::data("offsets are whole numbers of positions below 10⁹, or variables that are such")
            .at(format!("`{}`", scope.text))),
    }
}
