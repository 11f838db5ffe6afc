//! Checks and errors that all algorithms share.

use crf_core::{Error, Potentials, Result, require};

/// Error of an instance on which no labelling is possible, or which has a potential of NaN or +∞.
pub(crate) fn impossible(p: &Potentials<'_>) -> Error {
    match p.find_bad() {
        Some(bad) => Error::NotFinite(bad),
        None => Error::Infeasible(
            "every labelling has a potential of −∞; allow more labels or transitions".into(),
        ),
    }
}

/// Rejects potentials that are NaN or +∞.
pub(crate) fn check_finite(p: &Potentials<'_>) -> Result<()> {
    let is_bad = |x: &f64| x.is_nan() || *x == f64::INFINITY;
    if p.node().iter().any(is_bad) || p.tables().values.iter().any(is_bad) {
        // A table that no edge uses may hold any number.
        return p.find_bad().map_or(Ok(()), |bad| Err(Error::NotFinite(bad)));
    }
    Ok(())
}

/// True if some potential is −∞, and so forbids a label or a pair of labels.
pub(crate) fn has_forbidden(p: &Potentials<'_>) -> bool {
    p.node().iter().chain(p.tables().values).any(|&x| x == f64::NEG_INFINITY)
}

/// Checks the two settings of every algorithm that iterates until convergence.
pub(crate) fn check_sweeps(tolerance: f64, max_sweeps: u32) -> Result<()> {
    require(tolerance >= 0.0, "tolerance", "at least 0", tolerance)?;
    require(max_sweeps > 0, "max_sweeps", "at least 1", max_sweeps)
}
