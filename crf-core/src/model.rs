use std::fmt::Debug;

use crate::corpus::Corpus;
use crate::error::Result;
use crate::log_linear::LogLinear;
use crate::potentials::Potentials;

/// A trained p(Y | X).
#[typetag::serde(tag = "type")]
pub trait Model: Debug + Send + Sync {
    /// Does once what all sequences of a corpus share, and gives what makes their potentials.
    fn bind<'a>(&'a self, x: &'a Corpus) -> Result<Box<dyn Potential + 'a>>;
    /// The model's weights, if it is log-linear.
    fn log_linear(&self) -> Option<&LogLinear> {
        None
    }
    /// Calls `out` with the model's parameters in words, the most important ones first.
    fn describe(&self, top: usize, out: &mut dyn FnMut(&str, f64));
}

/// Makes the potentials of the sequences of one corpus.
pub trait Potential: Send + Sync {
    /// The potentials of sequence `i`, in `buffer`'s memory.
    fn fill<'s>(&'s self, i: usize, buffer: &'s mut Buffer) -> Result<Potentials<'s>>;
}

/// Memory for one sequence's potentials, kept by a worker between sequences.
#[derive(Debug, Default)]
pub struct Buffer {
    /// Node potentials.
    pub node: Vec<f64>,
    /// Edge tables, when they are not shared by the whole corpus.
    pub tables: Vec<f64>,
    /// Where each of these tables starts.
    pub starts: Vec<usize>,
    /// Which of these tables each edge uses.
    pub of_edge: Vec<u32>,
}
