//! Checks and errors that all algorithms share.

use crf_core::{Error, Label, Potentials, Result, require};

/// Error of an instance on which no labelling is possible, or which has a potential of NaN or +∞.
pub(crate) fn impossible(p: &Potentials<'_>) -> Error {
    match p.find_bad() {
        Some(bad) => Error::NotFinite(bad + "; scale the features"),
        None => Error::Infeasible(
            "every labelling has a potential of −∞; allow more labels or transitions".into(),
        ),
    }
}

/// Error of finite potentials whose sum is not.
pub(crate) fn overflow(what: &str) -> Error {
    Error::NotFinite(format!("{what}, since the potentials are too large to be added; scale the features"))
}

/// A log Z, unless the sum of the potentials overflowed.
pub(crate) fn finite_log_z(value: f64) -> Result<f64> {
    if value.is_finite() { Ok(value) } else { Err(overflow("log Z")) }
}

/// Score of a labelling that is known to be possible, unless the sum overflows.
pub(crate) fn finite_score(p: &Potentials<'_>, labels: &[Label]) -> Result<f64> {
    let score = p.score(labels);
    if score.is_finite() { Ok(score) } else { Err(overflow("the score of a labelling")) }
}

/// Checks the two settings of every algorithm that iterates until convergence.
pub(crate) fn check_sweeps(tolerance: f64, max_sweeps: u32) -> Result<()> {
    require(tolerance >= 0.0, "tolerance", "at least 0", tolerance)?;
    require(max_sweeps > 0, "max_sweeps", "at least 1", max_sweeps)
}
