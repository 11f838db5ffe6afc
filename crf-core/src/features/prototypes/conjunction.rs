use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::data::dataset::{Dataset, Sequence};
use crate::data::schema::Schema;
use crate::error::{Error, Result, require};
use crate::features::label_pattern::intersection;
use crate::features::prototype::{EncodedRows, Encoder, Observation, Prototype};
use crate::features::prototypes::inner::{Inner, require_functions};
use crate::plugin::{Named, named_list};

/// Product of other prototypes' values, for every combination of one function of each.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Conjunction {
    /// Prototypes to multiply: two or more.
    #[serde(deserialize_with = "named_list")]
    #[schemars(with = "Vec<Named>")]
    pub of: Vec<Box<dyn Prototype>>,
    /// Upper limit of the number of functions; more are an error.
    pub most: u32,
}

impl Default for Conjunction {
    fn default() -> Self {
        Conjunction { of: Vec::new(), most: 1_000_000 }
    }
}

crate::plugin!(
    "prototype",
    Conjunction,
    "conjunction",
    example = r#"of = ["value", { type = "equals", channels = ["coin"] }]"#
);

#[typetag::serde(name = "conjunction")]
impl Prototype for Conjunction {
    fn check(&self) -> Result<()> {
        require(self.of.len() >= 2, "of", "a list of two or more prototypes", format!("{}", self.of.len()))?;
        self.of.iter().try_for_each(|part| part.check())
    }

    fn fit(&self, train: &Dataset) -> Result<Box<dyn Encoder>> {
        let parts = self.of.iter().map(|part| Inner::fit(&**part, train)).collect::<Result<Vec<_>>>()?;
        let fitted = Fitted { parts };
        let n = fitted.n_functions();
        if n > f64::from(self.most) {
            return Err(Error::data(format!(
                "the conjunction has {n} functions, more than `most` = {}; join fewer or smaller prototypes",
                self.most
            )));
        }
        fitted.require_size()?;
        Ok(Box::new(fitted))
    }
}

#[derive(Debug, Serialize, Deserialize)]
struct Fitted {
    parts: Vec<Inner>,
}

impl Fitted {
    /// Number of functions of all parts together, however large.
    fn n_functions(&self) -> f64 {
        self.parts.iter().map(|part| f64::from(part.len())).product()
    }

    fn require_size(&self) -> Result<()> {
        require_functions("conjunction", self.n_functions(), self.n_plain_functions().is_some())
    }
}

#[typetag::serde(name = "conjunction")]
impl Encoder for Fitted {
    fn observations(&self, schema: &Schema) -> Vec<Observation> {
        let mut joined = vec![Observation { constant: Some(1.0), ..Observation::new("") }];
        for part in &self.parts {
            let part = part.observations(schema);
            let pairs = joined.iter().flat_map(|a| part.iter().map(move |b| (a, b)));
            joined = pairs
                .map(|(a, b)| Observation {
                    name: if a.name.is_empty() {
                        b.name.clone()
                    } else {
                        format!("{} ∧ {}", a.name, b.name)
                    },
                    group: None,
                    constant: a.constant.zip(b.constant).map(|(a, b)| a * b),
                    labels: intersection(&a.labels, &b.labels),
                })
                .collect();
        }
        joined
    }

    fn check(&self, schema: &Schema) -> Result<()> {
        self.parts.iter().try_for_each(|part| part.check(schema))?;
        self.require_size()
    }

    fn n_plain_functions(&self) -> Option<usize> {
        self.parts.iter().try_fold(1_usize, |n, part| n.checked_mul(part.n_plain()?))
    }

    fn encode(&self, x: &Sequence<'_>, out: &mut EncodedRows) {
        let blocks: Vec<EncodedRows> = self.parts.iter().map(|part| part.encode(x)).collect();
        let (mut joined, mut next) = (Vec::new(), Vec::new());
        for t in 0..x.len() {
            joined.clear();
            joined.push((0_u32, 1.0, true)); // function, value, true if all its parts are constant
            for (part, block) in self.parts.iter().zip(&blocks) {
                next.clear();
                for &(a, x, constant) in &joined {
                    let a = a * part.len();
                    next.extend(part.constants().iter().map(|(b, y)| (a + b, x * y, constant)));
                    next.extend(block.row(t).map(|(b, y)| (a + b, x * y, false)));
                }
                std::mem::swap(&mut joined, &mut next);
            }
            joined.iter().filter(|entry| !entry.2).for_each(|&(g, value, _)| out.push(g, value));
            out.end_row();
        }
    }
}
