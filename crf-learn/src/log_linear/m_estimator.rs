use std::sync::Arc;

use crf_core::{Error, Fit, FitContext, Learner, LogLinear, Problem, Result, Stop, Trace};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::log_linear::minimisation::Minimisation;
use crate::objectives::m_estimator::{Form, MEstimatorObjective, ReferenceDistribution};
use crate::objectives::pseudo_likelihood::PseudoLikelihoodObjective;

/// M-estimation over patches (Jeon & Lin 2006), which needs no normaliser (Vail 2008, chapter 5).
///
/// With `uniform` and `frequencies` an iteration costs O(non-zeros of the data), however many
/// labels there are; with `local` as much as one of pseudo-likelihood. It is a fast approximation,
/// good where labels are noisy and poor where the observations make them nearly certain. The
/// objective is a sum over positions, Σ exp(−margin), so λ has the scale that it has for `mle` and
/// `pseudo-likelihood`. The weights are estimated relative to the reference, whose logarithm is
/// added at the end; penalties draw towards the reference. Every position must have a label.
#[derive(Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct MEstimator {
    /// Form of the objective.
    pub form: Form,
    /// Reference distribution, which the weights are relative to.
    pub reference: Reference,
    /// Settings of all learners that minimise an objective.
    #[serde(flatten)]
    pub minimisation: Minimisation,
}

/// Reference distribution over the labels of a position.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Reference {
    /// The uniform distribution.
    #[default]
    Uniform,
    /// Frequencies of the labels, each counted once more than it occurs. Needs an intercept for
    /// every label.
    Frequencies,
    /// Logistic regression on the state features, which is fitted first with the same penalty. Its
    /// iterations come first in the trace.
    Local,
}

crf_core::plugin!(
    "learner",
    MEstimator,
    "m-estimator",
    example = r#"
reference = "local"
l2 = 0.1
"#
);

#[typetag::serde(name = "m-estimator")]
impl Learner for MEstimator {
    fn check(&self) -> Result<()> {
        self.minimisation.check()
    }

    fn watches_validation(&self) -> bool {
        self.minimisation.patience > 0
    }

    fn heeds_sizes(&self) -> bool {
        true
    }

    fn fit(&self, problem: &Problem<'_>, run: &mut FitContext<'_>) -> Result<Fit> {
        let mut trace = Trace { iterations: Vec::new(), stop: Stop::Direct };
        let (rho, log_rho) = match self.reference {
            Reference::Uniform => (ReferenceDistribution::uniform(problem.map), vec![0.0; problem.map.len()]),
            Reference::Frequencies => frequencies(problem)?,
            Reference::Local => {
                let (map, kept) = problem.map.narrow(|k| k < problem.map.state().len());
                let local = Problem { map: &Arc::new(map), start: None, ..*problem };
                let mut w = vec![0.0; kept.len()];
                trace = self.minimisation.minimise(
                    PseudoLikelihoodObjective::new,
                    &mut w,
                    Vec::new(),
                    &local,
                    run,
                )?;
                w.resize(problem.map.len(), 0.0);
                (ReferenceDistribution::Local(w.clone()), w)
            }
        };
        let mut w = match problem.start {
            None => vec![0.0; log_rho.len()],
            Some(_) => {
                problem.start_weights()?.iter().zip(&log_rho).map(|(w, log_rho)| w - log_rho).collect()
            }
        };
        if trace.stop != Stop::Observer {
            trace = self.minimisation.minimise(
                |problem| MEstimatorObjective::new(self.form, &rho, problem),
                &mut w,
                trace.iterations,
                problem,
                run,
            )?;
        }
        w.iter_mut().zip(&log_rho).for_each(|(w, log_rho)| *w += log_rho);
        Ok(Fit { model: Box::new(LogLinear::new(problem.map.clone(), w)?), trace })
    }
}

/// Frequencies of the labels of each kind of node, and the weights of intercepts that express them.
fn frequencies(problem: &Problem<'_>) -> Result<(ReferenceDistribution, Vec<f64>)> {
    let (data, map) = (problem.train.data(), problem.map);
    let kinds = map.schema().kinds();
    let mut rho: Vec<Vec<f64>> = kinds.iter().map(|kind| vec![1.0; kind.labels.len()]).collect();
    for i in 0..data.len() {
        let (shape, labels) = (data.shape(i), &data.labels()[data.range(i)]);
        for (n, label) in labels.iter().enumerate() {
            let counts = &mut rho[shape.kind(n) as usize];
            let count = label.and_then(|label| counts.get_mut(label as usize));
            count.into_iter().for_each(|count| *count += data.weight(i));
        }
    }
    let mut log_rho = vec![0.0; map.len()];
    for (kind, rho) in rho.iter_mut().enumerate() {
        let total: f64 = rho.iter().sum();
        rho.iter_mut().for_each(|share| *share /= total);
        for (label, share) in rho.iter().enumerate() {
            let constants =
                problem.train.constant_state().iter().filter(|(g, _)| map.state().scope(*g) as usize == kind);
            let mut intercepts =
                constants.filter_map(|&(g, value)| Some((map.state().find(g, label as u32)?, value)));
            let Some((k, value)) = intercepts.next() else {
                let got = format!("no intercept for `{}`", kinds[kind].labels.name(label as u32));
                let want = "another than `frequencies`, which needs an intercept for every label";
                return Err(Error::setting("reference", want, got));
            };
            log_rho[k] = share.ln() / value;
        }
    }
    Ok((ReferenceDistribution::Same(rho), log_rho))
}
