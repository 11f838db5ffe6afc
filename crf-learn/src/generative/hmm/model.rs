use std::sync::Arc;

use crf_core::{
    BoundModel, EdgeTables, EncodedDataset, Error, FeatureMap, FittedFeatures, Label, LogLinear, Model,
    Potentials, Result, Schema, Scratch, Shape, TableVersion, Tables, Target,
};
use serde::{Deserialize, Serialize};

/// A hidden Markov model in the parameters of the CRF that it equals: every emission is log-linear
/// in x and x².
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct HmmModel {
    pub(crate) map: Arc<FeatureMap>,
    pub(crate) start: Vec<f64>,      // [labels] log π
    pub(crate) transition: Vec<f64>, // [labels × labels] log p(y | y')
    pub(crate) base: Vec<f64>,       // [labels] score of a label when every function is 0
    pub(crate) linear: Vec<f64>,     // [functions × labels] factor of x
    pub(crate) quadratic: Vec<f64>,  // [functions × labels] factor of x²
}

impl HmmModel {
    /// Functions that are emitted: those that have features left after selection.
    pub(crate) fn emitted(&self) -> impl Iterator<Item = usize> {
        let features = self.map.state();
        let is_emitted = |g: u32| !features.is_constant(g) && !features.targets(g).is_empty();
        (0..features.n_observations()).filter(move |&g| is_emitted(g as u32))
    }

    /// True if there are as many parameters as the labels and functions have, and all are those of
    /// distributions: finite, and without a density that grows for ever.
    fn fits(&self) -> bool {
        let n = self.map.schema().labels().len();
        let n_factors = self.map.state().n_observations() * n;
        let HmmModel { start, transition, base, linear, quadratic, .. } = self;
        let lengths = [start, base, transition, linear, quadratic].map(Vec::len);
        lengths == [n, n, n * n, n_factors, n_factors]
            && [start, base, transition, linear, quadratic].into_iter().flatten().all(|x| x.is_finite())
            && quadratic.iter().all(|&factor| factor <= 0.0)
            // The mean and the deviation of a Gaussian are quotients.
            && (0..n_factors).filter(|&k| quadratic[k] != 0.0).all(|k| {
                let (mean, deviation) = self.gaussian(k / n, k % n);
                mean.is_finite() && deviation.is_finite()
            })
    }

    /// Mean and standard deviation of a Gaussian function.
    pub(crate) fn gaussian(&self, g: usize, y: usize) -> (f64, f64) {
        let index = g * self.start.len() + y;
        let variance = -0.5 / self.quadratic[index];
        (self.linear[index] * variance, variance.sqrt())
    }

    /// Converts the distribution p(Y | X) to a log-linear model (Vail 2008, §2.2.3).
    ///
    /// `map` must have intercepts, start and transition features, and for every emitted function x
    /// state features of x, and of x² if emissions are Gaussian. A missing feature is an error that
    /// names it.
    pub fn to_crf(&self, map: Arc<FeatureMap>) -> Result<LogLinear> {
        let schema = map.schema().clone();
        let mut weights = vec![0.0; map.len()];
        let mut used = vec![false; self.linear.len() + self.quadratic.len()];
        let (mut intercepts, mut starts, mut pairs) = (0, 0, 0);
        let features = self.map.state();
        let find = |name: &str| self.emitted().find(|&g| features.name(g as u32) == name);
        let n = self.start.len();
        for (k, weight) in weights.iter_mut().enumerate() {
            match map.feature(k) {
                (g, Target::State(y)) => {
                    let (y, name) = (y as usize, map.state().name(g));
                    if map.is_intercept(k) {
                        *weight = self.base[y];
                        intercepts += 1;
                    } else if name == "first" {
                        *weight = self.start[y];
                        starts += 1;
                    } else if let Some(index) = find(name).map(|g| g * n + y) {
                        *weight = self.linear[index];
                        used[index] = true;
                    } else if let Some(index) = name.strip_suffix('²').and_then(find).map(|g| g * n + y) {
                        *weight = self.quadratic[index];
                        used[self.linear.len() + index] = true;
                    }
                }
                (g, Target::Transition(before, now)) if map.transition().is_constant(g) => {
                    *weight = self.transition[before as usize * n + now as usize];
                    pairs += 1;
                }
                _ => {}
            }
        }
        let missing = |what: String| {
            Err(Error::data(format!("the feature map lacks {what}, which the hidden Markov model needs")))
        };
        if (intercepts, starts, pairs) != (n, n, n * n) {
            return missing("one of `intercept`, `start` and `transition`".into());
        }
        let factors = self.linear.iter().chain(&self.quadratic);
        if let Some((index, _)) = factors.enumerate().find(|&(index, &factor)| factor != 0.0 && !used[index])
        {
            let (g, square) = (index % self.linear.len() / n, index >= self.linear.len());
            let label = schema.labels().name((index % n) as Label);
            return missing(format!(
                "y={label} ∧ {}{}",
                features.name(g as u32),
                if square { "²" } else { "" }
            ));
        }
        LogLinear::new(map, weights)
    }
}

#[typetag::serde(name = "hmm")]
impl Model for HmmModel {
    fn restore(&mut self, features: &FittedFeatures) -> Result<()> {
        Arc::make_mut(&mut self.map).restore(features)?;
        if self.fits() {
            return Ok(());
        }
        Err(Error::data("the parameters of the hidden Markov model do not fit its features"))
    }

    fn bind<'a>(&'a self, x: &'a EncodedDataset) -> Result<Box<dyn BoundModel + 'a>> {
        let schema: &Schema = self.map.schema();
        if schema != &**x.data().schema() || !x.data().is_chains() {
            return Err(Error::data(
                "the model was made for chains with other channels or labels than the data have",
            ));
        }
        let n = self.start.len();
        Ok(Box::new(BoundHmm {
            model: self,
            x,
            table_offset: [0, n * n],
            version: TableVersion::of(&self.transition),
        }))
    }

    fn describe(&self, top: usize, out: &mut dyn FnMut(&str, f64)) {
        let n = self.start.len();
        let name = |y: usize| self.map.schema().labels().name(y as Label);
        let mut all = Vec::new();
        for y in 0..n {
            all.push((format!("log p(first y={})", name(y)), self.start[y]));
            (0..n).for_each(|j| {
                all.push((format!("log p(y={} | y'={})", name(j), name(y)), self.transition[y * n + j]))
            });
            for g in 0..self.map.state().n_observations() {
                let function = self.map.state().name(g as u32);
                let index = g * n + y;
                match self.quadratic[index] {
                    0.0 => all.push((format!("y={} ∧ {function}", name(y)), self.linear[index])),
                    _ => {
                        let (mean, sigma) = self.gaussian(g, y);
                        all.push((format!("mean of {function} given y={}", name(y)), mean));
                        all.push((format!("deviation of {function} given y={}", name(y)), sigma));
                    }
                }
            }
        }
        all.iter().take(top).for_each(|(name, value)| out(name, *value));
    }
}

/// Memory for the node potentials of one sequence.
#[derive(Default)]
struct Node(Vec<f64>);

struct BoundHmm<'a> {
    model: &'a HmmModel,
    x: &'a EncodedDataset,
    table_offset: [usize; 2],
    version: TableVersion,
}

impl BoundModel for BoundHmm<'_> {
    fn fill<'s>(&'s self, i: usize, scratch: &'s mut Scratch) -> Result<Potentials<'s>> {
        let (model, x) = (self.model, self.x);
        let n = model.start.len();
        let range = x.data().range(i);
        let Node(node) = scratch.get();
        node.clear();
        for t in range.clone() {
            let index = node.len();
            node.extend_from_slice(&model.base);
            x.nodes().for_each(t, |g, value| {
                let (linear, quadratic) =
                    (&model.linear[g as usize * n..], &model.quadratic[g as usize * n..]);
                for (y, node) in node[index..].iter_mut().enumerate() {
                    *node += value * (linear[y] + value * quadratic[y]);
                }
            });
        }
        node.iter_mut().zip(&model.start).for_each(|(node, start)| *node += start);
        let shape = Shape::Chain { len: range.len(), labels: n };
        let (values, starts) = (model.transition.as_slice(), self.table_offset.as_slice());
        Potentials::new(
            shape,
            node,
            Tables { values, starts, of_edge: EdgeTables::Shared, relations: &[], version: self.version },
        )
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]
mod tests {
    use super::*;
    use crf_core::Learner as _;
    use crf_testing::problems::{Draw, Encoded, data};
    use crf_testing::runs::{INFERENCE, quiet};

    use crate::generative::hmm::Hmm;

    // `crf inspect` showed deviations that were no numbers, and lists of any length were taken.
    #[test]
    fn stored_parameters_that_are_those_of_no_distribution_do_not_fit() {
        let draw = Draw { sequences: 4, length: 8, labels: 2, unlabelled: 0, seed: 2 };
        let encoded = Encoded::new(r#"["intercept", "transition", {"state": "value"}]"#, data(&draw));
        let problem = encoded.problem(&INFERENCE);
        let fit = quiet(1, |run| Hmm::default().fit(&problem, run)).unwrap();
        let stored = serde_json::to_value(&fit.model).unwrap();
        let model: HmmModel = {
            let mut stored = stored.clone();
            stored.as_object_mut().unwrap().remove("type");
            serde_json::from_value(stored).unwrap()
        };
        let model = HmmModel { map: encoded.map.clone(), ..model };
        assert!(model.fits());
        let changed = |change: &dyn Fn(&mut HmmModel)| {
            let mut model = model.clone();
            change(&mut model);
            model.fits()
        };
        let gaussian = model.quadratic.iter().position(|&factor| factor < 0.0).unwrap();
        assert!(!changed(&|model| model.quadratic[gaussian] = 0.5));
        assert!(!changed(&|model| model.quadratic[gaussian] = -5e-324));
        assert!(!changed(&|model| model.linear[gaussian] = f64::NAN));
        assert!(!changed(&|model| model.start.push(0.0)));
        assert!(!changed(&|model| model.transition.truncate(1)));
        assert!(!changed(&|model| model.base.clear()));
    }
}
