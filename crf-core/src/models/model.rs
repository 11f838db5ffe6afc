use std::fmt::Debug;

use crate::error::Result;
use crate::features::encoded_dataset::EncodedDataset;
use crate::features::fitted::FittedFeatures;
use crate::inference::potentials::Potentials;
use crate::inference::scratch::Scratch;
use crate::models::log_linear::LogLinear;

/// Trained model of p(Y | X).
#[typetag::serde(tag = "type")]
pub trait Model: Debug + Send + Sync {
    /// Binds the model to an encoded dataset: does once what all its sequences share.
    fn bind<'a>(&'a self, encoded: &'a EncodedDataset) -> Result<Box<dyn BoundModel + 'a>>;
    /// Reattaches the fitted features, stored beside the model, after deserialisation.
    fn restore(&mut self, _features: &FittedFeatures) -> Result<()> {
        Ok(())
    }
    /// Log-linear model with its weights, if the model is one.
    fn log_linear(&self) -> Option<&LogLinear> {
        None
    }
    /// Calls `out` with the names and values of at most `top` parameters, the most important ones
    /// first.
    fn describe(&self, top: usize, out: &mut dyn FnMut(&str, f64));
}

/// Model bound to the encoded dataset that it labels.
pub trait BoundModel: Send + Sync {
    /// Computes the potentials of sequence `i`, in memory kept in `scratch`.
    ///
    /// The potentials borrow the scratch, so inference on them needs another one.
    fn fill<'s>(&'s self, i: usize, scratch: &'s mut Scratch) -> Result<Potentials<'s>>;
}
