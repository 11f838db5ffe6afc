//! Hidden Markov models, counted or trained discriminatively.

pub(crate) mod discriminative_hmm;
pub(crate) mod hmm;
