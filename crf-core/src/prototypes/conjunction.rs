use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::dataset::{Dataset, Sequence};
use crate::error::{Error, Result, require};
use crate::plugin::{Named, named_list};
use crate::prototype::{Block, Encoder, Observation, Prototype};

/// The product of other prototypes' values, for every way to take one function of each.
#[derive(Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Conjunction {
    /// The prototypes that must hold together: two or more.
    #[serde(deserialize_with = "named_list")]
    #[schemars(with = "Vec<Named>")]
    pub of: Vec<Box<dyn Prototype>>,
}

crate::plugin!("prototype", Conjunction, "conjunction");

#[typetag::serde(name = "conjunction")]
impl Prototype for Conjunction {
    fn check(&self) -> Result<()> {
        require(self.of.len() >= 2, "of", "a list of two or more prototypes", format!("{}", self.of.len()))?;
        self.of.iter().try_for_each(|part| part.check())
    }

    fn fit(&self, train: &Dataset) -> Result<Box<dyn Encoder>> {
        let parts = self.of.iter().map(|part| part.fit(train)).collect::<Result<Vec<_>>>()?;
        let sizes = parts.iter().map(|part| part.observations().len());
        let total = sizes.fold(Some(1_usize), |total, size| total?.checked_mul(size));
        if total.is_none_or(|total| u32::try_from(total).is_err()) {
            return Err(Error::data(
                "the conjunction has more than 2³² functions; join fewer or smaller prototypes",
            ));
        }
        Ok(Box::new(Fitted { parts }))
    }
}

#[derive(Debug, Serialize, Deserialize)]
struct Fitted {
    parts: Vec<Box<dyn Encoder>>,
}

#[typetag::serde(name = "conjunction")]
impl Encoder for Fitted {
    fn observations(&self) -> Vec<Observation> {
        let mut joined = vec![Observation { constant: Some(1.0), ..Observation::new("") }];
        for part in &self.parts {
            let part = part.observations();
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
                })
                .collect();
        }
        joined
    }

    fn encode(&self, x: &Sequence<'_>, out: &mut Block) {
        let all_constant = self.observations().iter().map(|g| g.constant.is_some()).collect::<Vec<_>>();
        let constants: Vec<Vec<Observation>> = self.parts.iter().map(|part| part.observations()).collect();
        let blocks: Vec<Block> = self.parts.iter().map(|part| Block::of(&**part, x)).collect();
        let (mut joined, mut next) = (Vec::new(), Vec::new());
        for t in 0..x.len() {
            joined.clear();
            joined.push((0_u32, 1.0));
            for (part, block) in constants.iter().zip(&blocks) {
                next.clear();
                let base = part.iter().enumerate().filter_map(|(g, o)| Some((g as u32, o.constant?)));
                for (a, x) in &joined {
                    for (b, y) in base.clone().chain(block.row(t).iter().copied()) {
                        next.push((a * part.len() as u32 + b, x * y));
                    }
                }
                std::mem::swap(&mut joined, &mut next);
            }
            for &(g, value) in joined.iter().filter(|(g, _)| !all_constant[*g as usize]) {
                out.push(g, value);
            }
            out.end_row();
        }
    }
}
