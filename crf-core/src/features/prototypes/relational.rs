mod compiler;
mod language;
mod objects;
mod parser;
mod plan;
mod printer;
mod syntax;

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::data::dataset::{Dataset, Sequence};
use crate::data::schema::Schema;
use crate::error::{Result, require};
use crate::features::prototype::{EncodedRows, Encoder, Observation, Prototype};
use language::{Functions, Rules};
pub(crate) use parser::LABEL_ENDS;

/// Functions of objects and their relations, where one rule stands for many functions: `speed(i)<k
/// for i in robot, k in 5..100 step 5`.
///
/// Objects: channel `robot1.x` is field `x` of object `robot1` of class `robot`. Different
/// variables of a rule are different objects.
///
/// Expressions: arithmetic; the terms `pos`, `vel`, `speed`, `dist`, `chasing` and those of
/// `define`; `dot`, `length`, `unit` and `cos` of vectors; `min` and `max` of two numbers or over
/// objects, and `nearest` over objects; `norm`, which normalises; `e[-1]`, the value one position
/// earlier; tests with the values 0 and 1, squares (`e²`), `¬` (not), `∧` (and), and windows
/// (`all(e, -5..+0)`).
///
/// Labels: a rule may begin with the labels that it is for, as in `y'=i ∧ y=j ∧ dist(i, j)<0.2 for
/// i, j in robot`.
///
/// The name of a function, or of a feature, is a rule itself.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Relational {
    /// Rules, each of which generates functions.
    pub rules: Vec<String>,
    /// Definitions of terms that rules may call, such as `gap(i) = min(dist(i, j) for j in robot)`.
    pub define: Vec<String>,
    /// Classes in addition to those that channel names imply, each a list of objects or classes.
    pub classes: BTreeMap<String, Vec<String>>,
    /// Upper limit of the number of functions; more are an error.
    pub most: u32,
}

impl Default for Relational {
    fn default() -> Self {
        Relational { rules: Vec::new(), define: Vec::new(), classes: BTreeMap::new(), most: 1_000_000 }
    }
}

crate::plugin!("prototype", Relational, "relational", example = r#"rules = ["speed(i)<0.2 for i in cloud"]"#);

impl Relational {
    fn read(&self) -> Result<Rules<'_>> {
        Rules::read(&self.rules, &self.define, &self.classes)
    }

    /// Number of assignments of values to the variables of all rules, counted without making any
    /// function.
    ///
    /// Equal functions, such as `dist(robot1, robot2)` and `dist(robot2, robot1)`, are counted
    /// several times.
    pub fn count(&self, schema: &Schema) -> Result<usize> {
        self.read()?.count(schema)
    }
}

#[typetag::serde(name = "relational")]
impl Prototype for Relational {
    fn check(&self) -> Result<()> {
        require(!self.rules.is_empty(), "rules", "a list of at least one rule", "[]")?;
        self.read().map(drop)
    }

    fn fit(&self, train: &Dataset) -> Result<Box<dyn Encoder>> {
        let mut functions = self.read()?.expand(train.schema(), self.most)?;
        functions.fit(train)?;
        Ok(Box::new(Fitted(functions)))
    }
}

#[derive(Debug, Serialize, Deserialize)]
struct Fitted(Functions);

#[typetag::serde(name = "relational")]
impl Encoder for Fitted {
    fn observations(&self, _schema: &Schema) -> Vec<Observation> {
        self.0.observations()
    }

    fn n_plain_functions(&self) -> Option<usize> {
        self.0.n_plain_functions()
    }

    fn check(&self, schema: &Schema) -> Result<()> {
        self.0.check(schema)
    }

    fn reach(&self) -> Option<(usize, usize)> {
        Some(self.0.reach())
    }

    fn encode(&self, x: &Sequence<'_>, out: &mut EncodedRows) {
        self.0.encode(x, out);
    }
}
