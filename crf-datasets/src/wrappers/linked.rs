pub(crate) mod extra_edges;

use std::sync::Arc;

use crf_core::plugin::{Named, named};
use crf_core::{Result, Seed, Source, Splits};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::wrappers::linked::extra_edges::ExtraEdges;

/// Another source, with edges added to its sequences: chains become graphs.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Linked {
    /// Source of the data.
    #[serde(deserialize_with = "named")]
    #[schemars(with = "Named")]
    pub source: Box<dyn Source>,
    /// Edges to add.
    pub edges: ExtraEdges,
}

crf_core::plugin!(
    "source",
    Linked,
    "linked",
    example = r#"
source = "observation-driven-transitions"

[edges]
distances = [2]
same = [{ channel = "coin", relation = "skip" }]
"#
);

#[typetag::serde(name = "linked")]
impl Source for Linked {
    fn check(&self) -> Result<()> {
        self.edges.check()?;
        self.source.check()
    }

    fn load(&self, seed: &Seed) -> Result<Splits> {
        let Splits { train, holdout, test } = self.source.load(seed)?;
        let schema = Arc::new(self.edges.schema(train.schema())?);
        Ok(Splits {
            train: self.edges.add(&train, &schema)?,
            holdout: holdout.map(|data| self.edges.add(&data, &schema)).transpose()?,
            test: self.edges.add(&test, &schema)?,
        })
    }
}
