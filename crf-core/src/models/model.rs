use std::fmt::Debug;

use crate::error::Result;
use crate::features::encoded_dataset::EncodedDataset;
use crate::features::fitted::FittedFeatures;
use crate::inference::potentials::Potentials;
use crate::inference::scratch::Scratch;
use crate::models::log_linear::LogLinear;

/// A trained p(Y | X).
#[typetag::serde(tag = "type")]
pub trait Model: Debug + Send + Sync {
    /// Does once what all sequences of a corpus share, and gives what makes their potentials.
    fn bind<'a>(&'a self, encoded: &'a EncodedDataset) -> Result<Box<dyn BoundModel + 'a>>;
    /// Makes a model that was read from a file whole again, with the fitted features that are stored beside it.
    fn restore(&mut self, _features: &FittedFeatures) -> Result<()> {
        Ok(())
    }
    /// The model's weights, if it is log-linear.
    fn log_linear(&self) -> Option<&LogLinear> {
        None
    }
    /// Calls `out` with the model's parameters in words, the most important ones first.
    fn describe(&self, top: usize, out: &mut dyn FnMut(&str, f64));
}

/// A model together with the corpus it is to label.
pub trait BoundModel: Send + Sync {
    /// The potentials of sequence `i`, in memory kept in `scratch`.
    ///
    /// They borrow the scratch, so inference on them needs one of its own.
    fn fill<'s>(&'s self, i: usize, scratch: &'s mut Scratch) -> Result<Potentials<'s>>;
}
