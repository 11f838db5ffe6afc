mod pools;

use std::path::PathBuf;
use std::sync::Arc;

use crf_core::{Result, Schema, Seed, Source, Splits, Value};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::channels::real;
use crate::generators::pima_markov::pools::{ATTRIBUTES, Pools};
use crate::generators::support::draws::{binary_labels, coin};
use crate::generators::support::label_chain::LabelChain;
use crate::generators::support::splits::{Size, SplitSizes};

/// Markov chains of labels with observations of Pima Indians Diabetes patients (Vail 2008, §2.6.1).
///
/// Each trial splits the 768 rows into two random halves, and each half by label. Labels follow a
/// first-order Markov chain. Each position copies a random row of its label, with replacement: from
/// the training half in training and validation data, and from the test half in test data. The
/// eight attributes are real channels.
///
/// Deviations. The thesis says that positive positions of training sequences copy from the positive
/// *test* pool. This is a slip, since the test data would then be known in training; we draw from
/// the training pool. It does not print the probabilities of the chain. We use the 75% of
/// self-transitions of its §2.6.2, and so both labels are equally frequent, unlike in the file (35%
/// of label 1).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct PimaMarkov {
    /// Origin of the observations: `csv` or `gaussian`.
    pub pool: Pool,
    /// Data file for `pool = "csv"`: an absolute path, or one below the directory in the
    /// environment variable CRF_DATA.
    pub file: PathBuf,
    /// Probability that a label equals the previous label.
    pub stay: f64,
    /// Size of the training data.
    pub train: Size,
    /// Size of the validation data; none if omitted.
    pub holdout: Option<Size>,
    /// Size of the test data.
    pub test: Size,
}

/// Origin of the observations of a label.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Pool {
    /// Rows of the file.
    Csv,
    /// Independent normal distributions with the mean and deviation of the file per label; no file
    /// is needed.
    ///
    /// This is what a Gaussian naive Bayes HMM assumes, so the crossing of figure 2.2 cannot be
    /// expected.
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
    fn sizes(&self) -> SplitSizes {
        SplitSizes { train: self.train, holdout: self.holdout, test: self.test }
    }
}

crf_core::plugin!("source", PimaMarkov, "pima-markov", example = r#"pool = "gaussian""#);

#[typetag::serde(name = "pima-markov")]
impl Source for PimaMarkov {
    fn check(&self) -> Result<()> {
        coin("stay", self.stay)?;
        self.sizes().check()
    }

    /// Reads the file in every trial: the time is negligible beside training, so no copy is kept.
    fn load(&self, seed: &Seed) -> Result<Splits> {
        let schema = Arc::new(Schema::chain(real(ATTRIBUTES.map(String::from)), binary_labels())?);
        let chain = LabelChain::new("stay", self.stay, 2)?;
        let pools = match self.pool {
            Pool::Csv => {
                let rows = pools::read(&self.file, std::env::var_os("CRF_DATA"))?;
                Pools::split(rows, &seed.child("halves"))?
            }
            Pool::Gaussian => Pools::Gaussian,
        };
        self.sizes().draw(&schema, seed, |split, length, rng, out| {
            chain.fill(length, 1, rng, out, |y, rng, values| {
                values.extend(pools.draw(split, y, rng).map(Value::Real));
            })
        })
    }
}
