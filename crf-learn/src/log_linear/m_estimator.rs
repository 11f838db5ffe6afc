use std::sync::Arc;

use crf_core::{Error, Fit, FitContext, Learner, LogLinear, Problem, Result, Stop, Trace};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::log_linear::minimisation::Minimisation;
use crate::objectives::m_estimator::{Form, MEstimatorObjective, ReferenceDistribution};
use crate::objectives::pseudo_likelihood::PseudoLikelihoodObjective;

/// The M-estimator of Jeon and Lin (2006) over patches, which has no normaliser (Vail 2008, chapter 5).
///
/// With `uniform` and `frequencies` an iteration costs as much as the data have non-zeros, however many labels there are;
/// with `local` as much as one of pseudo-likelihood. It is a fast approximation, good where labels are noisy and
/// poor where the observations make them all but certain. The weights are those of the model relative to the reference,
/// whose logarithm is added when they are found; penalties draw towards the reference. Every label must be known.
#[derive(Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct MEstimator {
    /// Which form of the objective to minimise.
    pub form: Form,
    /// The distribution of labels that the weights are relative to.
    pub reference: Reference,
    /// What the learners that minimise have in common.
    #[serde(flatten)]
    pub minimisation: Minimisation,
}

/// A distribution over the labels of a position.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Reference {
    /// All labels alike.
    #[default]
    Uniform,
    /// How often each label occurs, counted once more than it does; needs an intercept for every label.
    Frequencies,
    /// Logistic regression on the state features, which is fitted first with the same penalty. Its iterations stand first
    /// in the trace.
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

/// How often the labels of each kind of node occur, and the weights of intercepts that say the same.
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
            let of_kind =
                problem.train.constant_state().iter().filter(|(g, _)| map.state().scope(*g) as usize == kind);
            let mut intercepts =
                of_kind.filter_map(|&(g, value)| Some((map.state().find(g, label as u32)?, value)));
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
