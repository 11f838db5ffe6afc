mod centred_patches;

use std::ops::Range;

use crf_core::simd::{Kernel, dispatch, exp_nonpositive};
use crf_core::{EncodedDataset, Error, FeatureMap, Problem, Result, Scratch};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::objectives::labels::{all_labels, refuse_foreign};
use crate::objectives::m_estimator::centred_patches::CentredPatches;
use crate::objectives::objective::{Objective, PartialSum, WorkerMemory, weighted_positions};
use crate::objectives::patches::{Patches, SequencePatches};
use crate::objectives::pseudo_likelihood::softmax;
use crate::scoring::scorer::Scorer;

/// The M-estimator of Jeon and Lin (2006) over patches (Vail 2008, chapter 5). With F_t(k) the
/// features of all cliques that touch node t when it has label k and its neighbours have their true
/// labels, and a distribution ρ_t over its labels, it minimises
///
/// ```text
/// centred   Σ_t exp(−w·(F_t(y_t) − Σ_k ρ_t(k) F_t(k)))
/// joint     Σ_t exp(−w·F_t(y_t)) + Σ_t Σ_k ρ_t(k) w·F_t(k)
/// ```
///
/// There is no normaliser. The minimiser is log p/ρ. Both are sums with a minimum under any
/// penalty, and at w = 0 the centred form has the gradient of the pseudo-likelihood where ρ is
/// uniform, so λ means what it means there. Its logarithm has the same minimiser, but falls without
/// bound where patches can be told apart: no λ would hold it. Where ρ is the same everywhere, a
/// position costs O(non-zeros), whatever the number of labels. The value overflows where a label is
/// less likely than exp(−700), which a line search steps back from.
#[derive(Debug)]
pub struct MEstimatorObjective<'a> {
    form: Form,
    train: &'a EncodedDataset,
    dim: usize,
    n: f64, // sum of the weights of all positions
    rho: PreparedReference<'a>,
}

/// Form of the M-estimator.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Form {
    /// Features minus their mean under ρ: estimates p(y_t | neighbours), which is what a CRF needs.
    #[default]
    Centred,
    /// The published form: estimates a density of patches.
    Joint,
}

/// Reference distributions ρ_t.
#[derive(Debug, Clone, PartialEq)]
pub enum ReferenceDistribution {
    /// One distribution over the labels of each kind of node, the same at all nodes.
    Same(Vec<Vec<f64>>),
    /// The distribution that the state features give under these weights.
    Local(Vec<f64>),
}

impl ReferenceDistribution {
    /// The uniform distribution.
    pub fn uniform(map: &FeatureMap) -> Self {
        let n_labels = map.schema().kinds().iter().map(|kind| kind.labels.len());
        ReferenceDistribution::Same(n_labels.map(|n| vec![1.0 / n as f64; n]).collect())
    }
}

/// Reference distributions prepared for the training data.
#[derive(Debug)]
enum PreparedReference<'a> {
    Same { centred: Box<CentredPatches>, weights: Vec<f64> }, // [patches] weight of their positions
    Each { patches: Box<Patches<'a>>, rho: Vec<f64>, rho_offsets: Vec<usize> }, // [positions × labels], [sequences + 1]
}

const TAG: &str = "m-estimator";
/// Number of patches added at a time, whatever their sequences.
const BLOCK: usize = 256;

impl<'a> MEstimatorObjective<'a> {
    /// The objective over the training data of a problem.
    pub fn new(form: Form, rho: &ReferenceDistribution, problem: &Problem<'a>) -> Result<Self> {
        let (train, map) = (problem.train, problem.map);
        let data = train.data();
        if problem.forbidden.is_some() {
            let what = "knows no constraints, as it normalises nothing; `pseudo-likelihood` does";
            return Err(Error::Unsupported { tag: TAG, what: what.into() });
        }
        let n = weighted_positions(data);
        let rho = match rho {
            ReferenceDistribution::Same(rho) => {
                let truth = all_labels(data, TAG)?;
                refuse_foreign(data)?;
                let centred = Box::new(CentredPatches::new(map, train, &truth, rho));
                let weight = |i: usize, patch: usize| data.weight(i) * centred.n_positions(patch);
                let of_sequence = |i: usize| centred.patches(i).map(move |patch| (i, patch));
                let weights =
                    (0..data.len()).flat_map(of_sequence).map(|(i, patch)| weight(i, patch)).collect();
                PreparedReference::Same { centred, weights }
            }
            ReferenceDistribution::Local(w) => {
                let patches = Box::new(Patches::new(problem, TAG)?);
                let (rho, rho_offsets) = local(w, problem)?;
                PreparedReference::Each { patches, rho, rho_offsets }
            }
        };
        if n == 0.0 {
            return Err(Error::data("no position of the data counts: all weights are 0"));
        }
        Ok(MEstimatorObjective { form, train, dim: map.len(), n, rho })
    }

    /// Adds patches where ρ is the same everywhere: the partial sum gets the weighted exp(−m) of
    /// each.
    fn add_same(
        &self,
        centred: &CentredPatches,
        weights: &[f64],
        patches: Range<usize>,
        part: &mut PartialSum,
        worker: &mut WorkerMemory,
    ) {
        let minus_m = &mut worker.node;
        minus_m.resize(patches.len(), 0.0);
        centred.multiply(patches.clone(), minus_m);
        exponentiate(minus_m);
        minus_m.iter_mut().zip(&weights[patches.clone()]).for_each(|(e, weight)| *e *= weight);
        part.value += dispatch(Sum(minus_m));
        part.vector[patches].copy_from_slice(minus_m);
    }

    /// Loss of the patches of a sequence; its derivatives replace their scores.
    fn patch_loss(&self, sequence: SequencePatches<'_>, rho: &[f64], scores: &mut [f64]) -> f64 {
        let SequencePatches { shape, truth } = sequence;
        let n_nodes = truth.len();
        let mut linear = 0.0;
        let labels = |n: usize| shape.node_offset(n)..shape.node_offset(n + 1);
        // A node has at least one label, so −m_t overwrites no score that is still to be read, nor
        // is it overwritten below.
        for n in 0..n_nodes {
            let products = scores[labels(n)].iter().zip(&rho[labels(n)]).map(|(score, rho)| rho * score);
            let (right, mean) = (scores[labels(n)][truth[n] as usize], products.sum::<f64>());
            linear += mean;
            scores[n] = if self.form == Form::Centred { mean - right } else { -right };
        }
        exponentiate(&mut scores[..n_nodes]);
        let sum = dispatch(Sum(&scores[..n_nodes]));
        for n in (0..n_nodes).rev() {
            let e = scores[n];
            let of_mean = if self.form == Form::Centred { e } else { 1.0 };
            let slopes = &mut scores[labels(n)];
            slopes.iter_mut().zip(&rho[labels(n)]).for_each(|(slope, rho)| *slope = of_mean * rho);
            slopes[truth[n] as usize] -= e;
        }
        if self.form == Form::Centred { sum } else { sum + linear }
    }
}

/// ρ_t(k) ∝ exp(w·(state features of label k at t)), sequence by sequence, and the offset of each
/// sequence.
fn local(w: &[f64], problem: &Problem<'_>) -> Result<(Vec<f64>, Vec<usize>)> {
    let mut scorer = Scorer::new(problem.map, problem.train)?;
    scorer.update(w);
    let mut all = Vec::new();
    let mut starts = vec![0];
    let mut scratch = Scratch::new();
    for i in 0..problem.train.len() {
        let p = scorer.fill(i, &mut scratch)?;
        let start = all.len();
        all.extend_from_slice(p.node());
        for n in 0..p.shape().n_nodes() {
            softmax::<false>(
                &mut all[start + p.shape().node_offset(n)..start + p.shape().node_offset(n + 1)],
            );
        }
        starts.push(all.len());
    }
    Ok((all, starts))
}

impl Objective for MEstimatorObjective<'_> {
    fn dim(&self) -> usize {
        self.dim
    }

    fn n_items(&self) -> usize {
        self.train.len()
    }

    fn n_positions(&self) -> f64 {
        self.n
    }

    fn cost(&self, item: usize) -> usize {
        match &self.rho {
            // Entries are read by position and by column.
            PreparedReference::Same { centred, .. } => {
                2 * centred.patches(item).map(|patch| centred.n_entries(patch)).sum::<usize>()
            }
            PreparedReference::Each { patches, .. } => patches.cost(item),
        }
    }

    fn part_len(&self) -> usize {
        match &self.rho {
            PreparedReference::Same { centred, .. } => centred.n_patches(),
            PreparedReference::Each { patches, .. } => patches.part_len(),
        }
    }

    fn begin(&mut self, w: &[f64], _some: Option<&[usize]>) {
        match &mut self.rho {
            PreparedReference::Same { centred, .. } => centred.update(w, self.form == Form::Centred),
            PreparedReference::Each { patches, .. } => patches.update(w),
        }
    }

    fn add(&self, _w: &[f64], item: usize, part: &mut PartialSum, worker: &mut WorkerMemory) -> Result<()> {
        match &self.rho {
            PreparedReference::Same { centred, weights } => {
                self.add_same(centred, weights, centred.patches(item), part, worker);
                Ok(())
            }
            PreparedReference::Each { patches, rho, rho_offsets } => {
                let rho = &rho[rho_offsets[item]..rho_offsets[item + 1]];
                patches.add(item, part, worker, |sequence, scores| self.patch_loss(sequence, rho, scores))
            }
        }
    }

    fn add_all(
        &self,
        w: &[f64],
        items: Range<usize>,
        part: &mut PartialSum,
        worker: &mut WorkerMemory,
    ) -> Result<()> {
        let PreparedReference::Same { centred, weights } = &self.rho else {
            return items.into_iter().try_for_each(|item| self.add(w, item, part, worker));
        };
        // Sequences such as words are too short to fill vectors, and the rows of a block are still
        // in the cache when they are added.
        let mut patches = if items.is_empty() {
            0..0
        } else {
            centred.patches(items.start).start..centred.patches(items.end - 1).end
        };
        while !patches.is_empty() {
            let end = patches.end.min(patches.start + BLOCK);
            self.add_same(centred, weights, patches.start..end, part, worker);
            patches.start = end;
        }
        Ok(())
    }

    fn finish(&mut self, w: &[f64], some: Option<&[usize]>, total: &PartialSum, gradient: &mut [f64]) -> f64 {
        let mut linear = 0.0;
        match &mut self.rho {
            PreparedReference::Same { centred, weights } => {
                let sum = |centred: &mut CentredPatches, factors: &[f64]| match some {
                    None => centred.sum(factors),
                    Some(items) => centred.sum_some(items, factors),
                };
                gradient.fill(0.0);
                if self.form == Form::Joint {
                    sum(centred, weights);
                    centred.unpack(0.0, 1.0, gradient);
                    linear = w.iter().zip(&*gradient).map(|(w, slope)| w * slope).sum();
                }
                sum(centred, &total.vector);
                let (own, mean) = if self.form == Form::Joint { (-1.0, 0.0) } else { (-1.0, 1.0) };
                centred.unpack(own, mean, gradient);
            }
            PreparedReference::Each { patches, .. } => patches.unpack(total, gradient),
        }
        total.value + linear
    }

    fn is_separated(&self, value: f64) -> bool {
        self.form == Form::Centred && value < 1e-4 * self.n
    }
}

/// Replaces each −m_t by exp(−m_t).
fn exponentiate(minus_m: &mut [f64]) {
    let top = dispatch(Largest(minus_m));
    // An infinite factor times an exponential that vanishes would be NaN.
    dispatch(Exponentiate { minus_m, top, factor: top.exp().min(f64::MAX) });
}

/// Replaces −m_t by exp(−m_t − top) times `factor`; `top` is the largest −m_t.
struct Exponentiate<'k> {
    minus_m: &'k mut [f64],
    top: f64,
    factor: f64,
}

impl Kernel for Exponentiate<'_> {
    type Output = ();

    #[inline(always)]
    fn run<const FMA: bool>(self) {
        let Exponentiate { minus_m, top, factor } = self;
        for x in minus_m {
            *x = factor * exp_nonpositive::<FMA>(*x - top);
        }
    }
}

/// Number of sums or maxima computed side by side, so that none waits for the one before.
const LANES: usize = 16;

/// Largest of some numbers.
struct Largest<'k>(&'k [f64]);

impl Kernel for Largest<'_> {
    type Output = f64;

    #[inline(always)]
    fn run<const FMA: bool>(self) -> f64 {
        let (whole, rest) = self.0.as_chunks::<LANES>();
        let mut tops = [f64::NEG_INFINITY; LANES];
        for numbers in whole {
            for k in 0..LANES {
                tops[k] = if numbers[k] > tops[k] { numbers[k] } else { tops[k] };
            }
        }
        rest.iter().chain(&tops).copied().fold(f64::NEG_INFINITY, f64::max)
    }
}

/// Sum of some numbers.
struct Sum<'k>(&'k [f64]);

impl Kernel for Sum<'_> {
    type Output = f64;

    #[inline(always)]
    fn run<const FMA: bool>(self) -> f64 {
        let (whole, rest) = self.0.as_chunks::<LANES>();
        let mut sums = [0.0; LANES];
        for numbers in whole {
            for k in 0..LANES {
                sums[k] += numbers[k];
            }
        }
        sums.iter().sum::<f64>() + rest.iter().sum::<f64>()
    }
}
