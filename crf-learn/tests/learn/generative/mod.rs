//! Tests of the room `generative`.

mod discriminative_hmm;
mod hmm;
