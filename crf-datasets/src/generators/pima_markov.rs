mod pools;

use std::path::PathBuf;
use std::sync::Arc;

use crf_core::{Result, Schema, Seed, Source, Splits, Value};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::channels::real;
use crate::generators::pima_markov::pools::{ATTRIBUTES, Pools};
use crate::generators::support::binary::{coin, labels};
use crate::generators::support::label_chain::LabelChain;
use crate::generators::support::size::Size;
use crate::generators::support::splits::Parts;

/// Markov chains of labels with observations of Pima Indians Diabetes patients (Vail 2008, §2.6.1).
///
/// Each trial breaks the 768 rows into two random halves and each half by label. Labels follow a first-order
/// Markov chain; each position copies a random row of its label, with replacement, from the training half for
/// training and holdout data and from the test half for test data. The eight attributes are real channels.
///
/// Deviations. The thesis says that positive positions of training sequences copy from the positive *test*
/// pool: a slip, since the test data would then be known in training; we draw from the training pool. It does
/// not print the chain's probabilities: we use the 75% of self-transitions of its §2.6.2, and so both labels
/// are equally frequent, unlike in the file (35% of label 1).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct PimaMarkov {
    /// Where observations come from.
    pub pool: Pool,
    /// The file for `pool = "csv"`: an absolute path, or one below the directory in the environment variable
    /// CRF_DATA.
    pub file: PathBuf,
    /// Probability that a label is the one before.
    pub stay: f64,
    /// Size of the training data.
    pub train: Size,
    /// Size of the data for choices; none when left out.
    pub holdout: Option<Size>,
    /// Size of the test data.
    pub test: Size,
}

/// Where the observations of a label come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Pool {
    /// Rows of the file.
    Csv,
    /// Independent normal distributions with the file's mean and deviation per label: no file is needed.
    ///
    /// This is just what a Gaussian naive Bayes HMM assumes, so the crossing of figure 2.2 cannot be expected
    /// of it.
    Gaussian,
}

impl Default for PimaMarkov {
    fn default() -> Self {
        PimaMarkov {
            pool: Pool::Csv,
            file: "pima/pima.csv".into(),
            stay: 0.75,
            train: Size { sequences: 1, length: 100 },
            holdout: None,
            test: Size { sequences: 1, length: 500 },
        }
    }
}

impl PimaMarkov {
    fn parts(&self) -> Parts {
        Parts { train: self.train, holdout: self.holdout, test: self.test }
    }
}

crf_core::plugin!("source", PimaMarkov, "pima-markov", example = r#"pool = "gaussian""#);

#[typetag::serde(name = "pima-markov")]
impl Source for PimaMarkov {
    fn check(&self) -> Result<()> {
        coin("stay", self.stay)?;
        self.parts().check()
    }

    /// Reads the file anew, in half a millisecond: too little beside the training that follows to keep a
    /// copy.
    fn load(&self, seed: &Seed) -> Result<Splits> {
        let schema = Arc::new(Schema::chain(real(ATTRIBUTES.map(String::from)), labels())?);
        let chain = LabelChain::new("stay", self.stay, 2)?;
        let pools = match self.pool {
            Pool::Csv => {
                let rows = pools::read(&self.file, std::env::var_os("CRF_DATA"))?;
                Pools::split(rows, &seed.child("halves"))?
            }
            Pool::Gaussian => Pools::Gaussian,
        };
        self.parts().draw(&schema, seed, |part, length, rng, out| {
            chain.fill(length, 1, rng, out, |y, rng, values| {
                values.extend(pools.draw(part, y, rng).map(Value::Real));
            })
        })
    }
}
