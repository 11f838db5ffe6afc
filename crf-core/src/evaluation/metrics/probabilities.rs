use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::error::Result;
use crate::evaluation::context::EvaluationContext;
use crate::evaluation::metric::{Metric, compared, probabilities};
use crate::evaluation::metrics::ratio;
use crate::inference::algorithm::Inference;
use crate::inference::answers::Bound;

metric!(
    /// The sum of log p(y | x) over all sequences.
    LogLikelihood, "log-likelihood", "log_likelihood", higher = true, check = probabilities, |context| {
        Ok(context.probabilities()?.log_likelihood.iter().sum())
    }
);

metric!(
    /// How far marginals are from those of the reference inference: the mean over positions of ½ Σ_y |q(y) − p(y)|, the
    /// largest difference that the probability of any set of labels has.
    MarginalError, "marginal-error", "marginal_error", higher = false, check = compared, |context| {
        let (ours, theirs) = context.compared()?;
        let differences = ours.marginals.iter().zip(&theirs.marginals).map(|(q, p)| (q - p).abs());
        Ok(ratio(0.5 * differences.sum::<f64>(), context.predicted.len() as f64))
    }
);

metric!(
    /// log Z minus that of the reference inference, over the number of positions: below 0 it is too small.
    LogZError, "log-z-error", "log_z_error", higher = false, check = compared, |context| {
        let (ours, theirs) = context.compared()?;
        let differences = ours.log_z.iter().zip(&theirs.log_z).map(|(q, p)| q.value - p.value);
        Ok(ratio(differences.sum(), context.predicted.len() as f64))
    }
);

metric!(
    /// The fraction of sequences whose log Z is not what the inference says of it: exact, a lower or an upper bound of the
    /// reference's. An estimate promises nothing.
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
