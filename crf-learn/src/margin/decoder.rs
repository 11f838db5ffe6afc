use std::ops::Range;

use crf_core::{
    ConstrainedTables, Dataset, EncodedDataset, Error, Forbidden, Inference, Label, Potentials, Problem,
    Result, Scratch,
};
use rayon::prelude::*;

use crate::margin::loss::{Loss, Margin};
use crate::objectives::labels::{all_labels, refuse_foreign};
use crate::scoring::scorer::Scorer;

/// Number of shards that the data are split into for all cores; fixed, so that sums do not depend
/// on the number of threads.
const SHARDS: usize = 16;

/// Loss-augmented decoder: argmax_y w·F(x_i, y) + s·Δ(y, y_i).
///
/// With s = 0 that is the best labelling; with s = 1 the labelling that violates the margin most
/// (Tsochantaridis et al. 2005). The weights change a little between two sequences
/// ([`Decoder::shift`]), or altogether ([`Decoder::set_weights`]).
pub(crate) struct Decoder<'a> {
    scorer: Scorer<'a>,
    rule: DecodingRule<'a>,
    worker: DecoderMemory,
    shards: Vec<Shard>,
    difference: Vec<f64>, // [weights] all zero between calls
    touched: Vec<usize>,
    warned: bool,
}

/// Everything that decoding depends on except the weights.
struct DecodingRule<'a> {
    inference: &'a dyn Inference,
    forbidden: Option<&'a Forbidden>,
    x: &'a EncodedDataset,
    truth: Vec<Label>, // [positions]
    costs: Vec<f64>,   // [positions] cost of a wrong label
    loss: Loss,
}

/// Memory for one sequence.
#[derive(Default)]
struct DecoderMemory {
    potentials: Scratch,
    constrained: ConstrainedTables,
    inference: Scratch,
    labels: Vec<Label>, // labelling that was found last
}

/// Some of the sequences, with the labelling found for each.
struct Shard {
    sequences: Range<usize>,
    worker: DecoderMemory,
    found: Vec<Label>, // [positions of the sequences]
    violations: Vec<Violation>,
    sum: Vec<f64>, // [weights] empty until first used
}

/// Violation of the margin by the labelling that was found.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Violation {
    /// Δ(y, y_i).
    pub(crate) cost: f64,
    /// Margin violation s·Δ(y, y_i) − w·(F(x_i, y_i) − F(x_i, y)); with s = 1 the hinge loss. At
    /// least 0, the value of the truth.
    pub(crate) excess: f64,
    /// Upper bound on the violation of all labellings if `is_bounded`; otherwise the largest
    /// violation that is known.
    pub(crate) bound: f64,
    /// True if the inference bounds the score of its best labelling.
    pub(crate) is_bounded: bool,
}

impl<'a> Decoder<'a> {
    /// Creates a decoder for the training data of the learner `tag`; every position must have a
    /// label.
    pub(crate) fn new(problem: &Problem<'a>, margin: &Margin, tag: &str) -> Result<Self> {
        let data = problem.train.data();
        problem.forbidden.map_or(Ok(()), |forbidden| forbidden.check(data))?;
        refuse_foreign(data)?;
        let rule = DecodingRule::new(problem, problem.train, margin, tag)?;
        Decoder::with(problem, rule)
    }

    /// Creates a decoder for the validation data, if there are any; every position must have a
    /// label.
    pub(crate) fn of_valid(problem: &Problem<'a>, tag: &str) -> Result<Option<Self>> {
        let rule = |valid: &'a EncodedDataset| DecodingRule::new(problem, valid, &Margin::default(), tag);
        problem.valid.map(|valid| rule(valid).and_then(|rule| Decoder::with(problem, rule))).transpose()
    }

    fn with(problem: &Problem<'a>, rule: DecodingRule<'a>) -> Result<Self> {
        let shard = |sequences| Shard {
            sequences,
            worker: DecoderMemory::default(),
            found: Vec::new(),
            violations: Vec::new(),
            sum: Vec::new(),
        };
        Ok(Decoder {
            scorer: Scorer::new(problem.map, rule.x)?,
            shards: split_sequences(rule.x.data()).into_iter().map(shard).collect(),
            rule,
            worker: DecoderMemory::default(),
            difference: vec![0.0; problem.map.len()],
            touched: Vec::new(),
            warned: false,
        })
    }

    /// Number of sequences.
    pub(crate) fn len(&self) -> usize {
        self.rule.x.len()
    }

    /// Weight of sequence `i`.
    pub(crate) fn weight(&self, i: usize) -> f64 {
        self.rule.x.data().weight(i)
    }

    /// True labels of sequence `i`.
    pub(crate) fn truth(&self, i: usize) -> &[Label] {
        self.rule.truth(i)
    }

    /// The labelling that was found last.
    pub(crate) fn found(&self) -> &[Label] {
        &self.worker.labels
    }

    /// Sets the weights to `w`.
    pub(crate) fn set_weights(&mut self, w: &[f64]) {
        self.scorer.update(w);
    }

    /// Adds `step(k)` times F_k(x_i, to) − F_k(x_i, from) to each weight `k`; calls `changed` with
    /// each summand that is added to a weight. `from` defaults to [`Decoder::found`], `to` to the
    /// truth.
    pub(crate) fn shift(
        &mut self,
        i: usize,
        from: Option<&[Label]>,
        to: Option<&[Label]>,
        step: impl Fn(usize) -> f64,
        changed: impl FnMut(usize, f64),
    ) {
        let (from, to) = (from.unwrap_or(&self.worker.labels), to.unwrap_or(self.rule.truth(i)));
        self.scorer.shift(i, from, to, step, changed);
    }

    /// The entries of F(x_i, to) − F(x_i, from) that are not 0, each once; defaults as in
    /// [`Decoder::shift`].
    pub(crate) fn difference(
        &mut self,
        i: usize,
        from: Option<&[Label]>,
        to: Option<&[Label]>,
    ) -> impl Iterator<Item = (usize, f64)> {
        let (from, to) = (from.unwrap_or(&self.worker.labels), to.unwrap_or(self.rule.truth(i)));
        let (difference, touched) = (&mut self.difference, &mut self.touched);
        self.scorer.for_each_difference(i, from, to, |k, value| {
            difference[k] += value;
            touched.push(k);
        });
        // A feature of several positions is listed several times; its sum is taken the first time.
        let entries = touched.drain(..).map(|k| (k, std::mem::take(&mut difference[k])));
        entries.filter(|(_, value)| *value != 0.0)
    }

    /// ‖F(x_i, to) − F(x_i, from)‖²; defaults as in [`Decoder::shift`].
    pub(crate) fn square(&mut self, i: usize, from: Option<&[Label]>, to: Option<&[Label]>) -> f64 {
        self.difference(i, from, to).fold(0.0, |sum, (_, value)| sum + value.powi(2))
    }

    /// Sequence `i` under the current weights, with `scale` times the loss added.
    pub(crate) fn view(&mut self, i: usize, scale: f64) -> Result<SequenceView<'_>> {
        self.rule.view(&self.scorer, i, scale, &mut self.worker)
    }

    /// Finds the labelling of sequence `i` that violates the margin most; it is then
    /// [`Decoder::found`].
    pub(crate) fn most_violating(&mut self, i: usize, scale: f64) -> Result<Violation> {
        self.view(i, scale)?.most_violating().map_err(in_sequence(i))
    }

    /// Number of wrong positions of the best labelling of sequence `i`; it is then
    /// [`Decoder::found`].
    pub(crate) fn mistakes(&mut self, i: usize) -> Result<usize> {
        self.rule.mistakes(&self.scorer, i, &mut self.worker)
    }

    /// Number of wrong positions of the best labellings of all sequences under `w`.
    pub(crate) fn all_mistakes(&mut self, w: &[f64]) -> Result<usize> {
        self.scorer.update(w);
        let Decoder { scorer, rule, shards, .. } = self;
        let work = |Shard { sequences, worker, .. }: &mut Shard| {
            sequences.clone().map(|i| rule.mistakes(scorer, i, worker)).sum::<Result<usize>>()
        };
        shards.par_iter_mut().map(work).sum()
    }

    /// Σ_i weight_i · hinge_i under `w`, or an upper bound on it, on all cores;
    /// [`Decoder::violations`] has the details.
    pub(crate) fn hinge(&mut self, w: &[f64]) -> Result<f64> {
        self.scorer.update(w);
        let Decoder { scorer, rule, shards, .. } = self;
        shards.par_iter_mut().try_for_each(|shard| shard.decode(scorer, rule))?;
        if !self.warned && self.violations().any(|(_, violation, _)| !violation.is_bounded) {
            self.warned = true;
            let inference = self.rule.inference;
            tracing::warn!(
                ?inference,
                "the objective is an estimate: the inference does not bound what it decodes"
            );
        }
        Ok(self.violations().map(|(i, violation, _)| self.weight(i) * violation.bound).sum())
    }

    /// Violation and labelling of each sequence, as the last [`Decoder::hinge`] found them.
    pub(crate) fn violations(&self) -> impl Iterator<Item = (usize, Violation, &[Label])> {
        self.shards.iter().flat_map(|shard| shard.violations(self.rule.x.data()))
    }

    /// Writes Σ_i weight_i · (F(x_i, y_i) − F(x_i, y)) to `out`, y being what the last
    /// [`Decoder::hinge`] found.
    pub(crate) fn sum_differences(&mut self, out: &mut [f64]) {
        let Decoder { scorer, rule, shards, .. } = self;
        shards.par_iter_mut().for_each(|shard| shard.sum_differences(scorer, rule));
        out.fill(0.0);
        for shard in shards {
            out.iter_mut().zip(&shard.sum).for_each(|(out, sum)| *out += sum);
        }
    }
}

impl<'a> DecodingRule<'a> {
    fn new(problem: &Problem<'a>, x: &'a EncodedDataset, margin: &Margin, tag: &str) -> Result<Self> {
        let (data, Problem { inference, forbidden, .. }) = (x.data(), *problem);
        let truth = all_labels(data, tag)?;
        if margin.loss == Loss::ZeroOne && inference.as_k_best().is_none() {
            let what =
                "lists no second best labelling, which a `zero-one` margin needs; `forward-backward` does";
            return Err(Error::Unsupported { tag: inference.typetag_name(), what: what.to_owned() });
        }
        (0..data.len()).try_for_each(|i| inference.supports(&data.shape(i)))?;
        Ok(DecodingRule { inference, forbidden, x, truth, costs: margin.costs(data)?, loss: margin.loss })
    }

    fn truth(&self, i: usize) -> &[Label] {
        &self.truth[self.x.data().range(i)]
    }

    fn view<'v>(
        &'v self,
        scorer: &'v Scorer<'_>,
        i: usize,
        scale: f64,
        worker: &'v mut DecoderMemory,
    ) -> Result<SequenceView<'v>> {
        let DecoderMemory { potentials, constrained, inference, labels } = worker;
        let mut p = scorer.fill(i, potentials)?;
        if let Some(forbidden) = self.forbidden {
            p = forbidden.apply(p, constrained)?;
        }
        let (truth, costs) = (self.truth(i), &self.costs[self.x.data().range(i)]);
        if self.loss == Loss::Hamming && scale != 0.0 {
            let shape = p.shape();
            for (n, (&label, cost)) in truth.iter().zip(costs).enumerate() {
                let node = &mut p.node_mut()[shape.node_offset(n)..shape.node_offset(n + 1)];
                let right = node[label as usize];
                node.iter_mut().for_each(|potential| *potential += scale * cost);
                node[label as usize] = right;
            }
        }
        labels.clear();
        labels.resize(truth.len(), 0);
        Ok(SequenceView { p, rule: self, truth, costs, scale, scratch: inference, labels })
    }

    fn mistakes(&self, scorer: &Scorer<'_>, i: usize, worker: &mut DecoderMemory) -> Result<usize> {
        let SequenceView { p, scratch, labels, truth, .. } = self.view(scorer, i, 0.0, worker)?;
        self.inference.decode(&p, labels, scratch).map_err(in_sequence(i))?;
        Ok(labels.iter().zip(truth).filter(|(found, truth)| found != truth).count())
    }
}

/// One sequence under the current weights, with the loss of each labelling added to its score.
pub(crate) struct SequenceView<'v> {
    p: Potentials<'v>,
    rule: &'v DecodingRule<'v>,
    truth: &'v [Label],
    costs: &'v [f64],
    scale: f64,
    scratch: &'v mut Scratch,
    labels: &'v mut Vec<Label>,
}

impl SequenceView<'_> {
    /// Finds the labelling that violates the margin most; the truth if none that was found does.
    pub(crate) fn most_violating(&mut self) -> Result<Violation> {
        let truth = self.p.score(self.truth);
        let upper = match (self.rule.loss, self.rule.inference.as_k_best()) {
            (Loss::ZeroOne, Some(inference)) => {
                // The best labelling other than the truth.
                let best = inference.k_best(&self.p, 2, self.scratch)?;
                if let Some(other) = best.iter().find(|found| found.labels != self.truth) {
                    self.labels.copy_from_slice(&other.labels);
                }
                Some(self.p.score(self.labels) + self.whole_loss(self.labels))
            }
            _ => self.rule.inference.decode(&self.p, self.labels, self.scratch)?.upper,
        };
        let excess = self.excess(self.labels);
        if excess <= 0.0 {
            self.labels.copy_from_slice(self.truth);
        }
        let excess = excess.max(0.0);
        Ok(Violation {
            cost: self.cost(self.labels),
            excess,
            bound: upper.map_or(excess, |upper| (upper - truth).max(excess)),
            is_bounded: upper.is_some(),
        })
    }

    /// Margin violation s·Δ(y, y_i) − w·(F(x_i, y_i) − F(x_i, y)) of a labelling.
    pub(crate) fn excess(&self, labels: &[Label]) -> f64 {
        self.p.score(labels) + self.whole_loss(labels) - self.p.score(self.truth)
    }

    /// Loss of the labelling as a whole, which is in no potential.
    fn whole_loss(&self, labels: &[Label]) -> f64 {
        if self.rule.loss == Loss::ZeroOne && labels != self.truth { self.scale } else { 0.0 }
    }

    /// Δ(y, y_i).
    pub(crate) fn cost(&self, labels: &[Label]) -> f64 {
        match self.rule.loss {
            Loss::ZeroOne => f64::from(labels != self.truth),
            Loss::Hamming => {
                let wrong = labels.iter().zip(self.truth).map(|(found, truth)| found != truth);
                wrong.zip(self.costs).filter(|(wrong, _)| *wrong).map(|(_, cost)| cost).sum()
            }
        }
    }
}

impl Shard {
    fn decode(&mut self, scorer: &Scorer<'_>, rule: &DecodingRule<'_>) -> Result<()> {
        self.found.clear();
        self.violations.clear();
        for i in self.sequences.clone() {
            let violation =
                rule.view(scorer, i, 1.0, &mut self.worker)?.most_violating().map_err(in_sequence(i))?;
            self.violations.push(violation);
            self.found.extend_from_slice(&self.worker.labels);
        }
        Ok(())
    }

    fn violations<'s>(&'s self, data: &'s Dataset) -> impl Iterator<Item = (usize, Violation, &'s [Label])> {
        let start = data.range(self.sequences.start).start;
        self.sequences.clone().zip(&self.violations).map(move |(i, &violation)| {
            let range = data.range(i);
            (i, violation, &self.found[range.start - start..range.end - start])
        })
    }

    fn sum_differences(&mut self, scorer: &Scorer<'_>, rule: &DecodingRule<'_>) {
        let mut sum = std::mem::take(&mut self.sum);
        sum.resize(scorer.map().len(), 0.0);
        sum.fill(0.0);
        let data = rule.x.data();
        for (i, _, found) in self.violations(data) {
            let weight = data.weight(i);
            scorer.for_each_difference(i, found, rule.truth(i), |k, value| sum[k] += weight * value);
        }
        self.sum = sum;
    }
}

/// Splits the sequences into shards of about the same number of positions.
fn split_sequences(data: &Dataset) -> Vec<Range<usize>> {
    let per_shard = data.n_positions().div_ceil(SHARDS);
    let shard = |i: usize| data.range(i).start / per_shard;
    let sequences: Vec<usize> = (0..data.len()).collect();
    let shards = sequences.chunk_by(|&a, &b| shard(a) == shard(b));
    shards.map(|shard| shard[0]..shard[0] + shard.len()).collect()
}

/// Adds the sequence to an error, and what helps where scores are not finite.
pub(crate) fn in_sequence(i: usize) -> impl Fn(Error) -> Error {
    move |error| {
        let error = match error {
            Error::NotFinite(what) => Error::NotFinite(format!("{what}; scale the features")),
            other => other,
        };
        error.at(format!("sequence {}", i + 1))
    }
}
