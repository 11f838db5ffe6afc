//! The errors that every algorithm gives alike.

use crf_core::{Error, Potentials, Result};

/// The error for an instance on which every labelling is impossible, or which has a bad potential.
pub(crate) fn impossible(p: &Potentials<'_>) -> Error {
    match p.find_bad() {
        Some(bad) => Error::NotFinite(bad),
        None => Error::Infeasible(
            "every labelling has a potential of −∞; allow more labels or transitions".into(),
        ),
    }
}

/// Refuses potentials that are NaN or +∞.
pub(crate) fn check_finite(p: &Potentials<'_>) -> Result<()> {
    let bad = |x: &f64| x.is_nan() || *x == f64::INFINITY;
    if p.node().iter().any(bad) || p.tables().values.iter().any(bad) {
        // A table that no edge uses may hold anything.
        return p.find_bad().map_or(Ok(()), |bad| Err(Error::NotFinite(bad)));
    }
    Ok(())
}

/// Whether some potential forbids something.
pub(crate) fn has_forbidden(p: &Potentials<'_>) -> bool {
    p.node().iter().chain(p.tables().values).any(|&x| x == f64::NEG_INFINITY)
}
