//! Hidden Markov models (plugins): estimated by counting, or trained discriminatively.
//!
//! The model is stored in natural parameters (factors of 1, x and x²): Gaussian, Bernoulli and
//! categorical emissions are then one code path, and the conversion to a CRF (Vail 2008, §2.2.3) is
//! a copy. `discriminative-hmm` moves the same numbers one by one. The room uses no other room.
//! Start with `hmm.rs` (the learner and its statistics), then `hmm/model.rs`.

pub(crate) mod discriminative_hmm;
pub(crate) mod hmm;

pub use discriminative_hmm::DiscriminativeHmm;
pub use hmm::model::HmmModel;
pub use hmm::{Emission, Hmm};
