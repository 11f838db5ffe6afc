//! Inference that samples, bounds or searches: Gibbs, mean field, ICM, dual decomposition.

pub(crate) mod dual_decomposition;
pub(crate) mod gibbs;
pub(crate) mod icm;
pub(crate) mod mean_field;
