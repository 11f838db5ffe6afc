use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::error::Result;
use crate::evaluation::context::EvaluationContext;
use crate::evaluation::metric::{Metric, compared, probabilities};
use crate::evaluation::metrics::ratio;
use crate::inference::algorithm::Inference;
use crate::inference::answers::Bound;

metric!(
    /// Log-likelihood: the sum of log p(y | x) over all sequences.
    LogLikelihood, "log-likelihood", "log_likelihood", higher = true, check = probabilities, |context| {
        Ok(context.probabilities()?.log_likelihood.iter().sum())
    }
);

metric!(
    /// Error of marginals against the reference inference: the mean over positions of ½ Σ_y |q(y) −
    /// p(y)|, the largest difference in the probability of any set of labels.
    MarginalError, "marginal-error", "marginal_error", higher = false, check = compared, |context| {
        let (ours, theirs) = context.compared()?;
        let differences = ours.marginals.iter().zip(&theirs.marginals).map(|(q, p)| (q - p).abs());
        Ok(ratio(0.5 * differences.sum::<f64>(), context.predicted.len() as f64))
    }
);

metric!(
    /// Error of log Z: its difference from the log Z of the reference inference, divided by the
    /// number of positions. Negative values are too small.
    LogZError, "log-z-error", "log_z_error", higher = false, check = compared, |context| {
        let (ours, theirs) = context.compared()?;
        let differences = ours.log_z.iter().zip(&theirs.log_z).map(|(q, p)| q.value - p.value);
        Ok(ratio(differences.sum(), context.predicted.len() as f64))
    }
);

metric!(
    /// Fraction of sequences whose log Z breaks the promise of the inference: to be exact, a lower
    /// or an upper bound of the reference's log Z. An estimate promises nothing.
    BrokenBounds, "broken-bounds", "broken_bounds", higher = false, check = compared, |context| {
        let (ours, theirs) = context.compared()?;
        let broken = ours.log_z.iter().zip(&theirs.log_z).filter(|(q, p)| {
            let (error, rounding) = (q.value - p.value, 1e-9 * (1.0 + p.value.abs()));
            match q.bound {
                Bound::Exact => error.abs() > rounding,
                Bound::Lower => error > rounding,
                Bound::Upper => error < -rounding,
                Bound::Estimate => false,
            }
        });
        Ok(ratio(broken.count() as f64, context.data.len() as f64))
    }
);
