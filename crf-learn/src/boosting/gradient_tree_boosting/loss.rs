use crf_core::{EncodedDataset, Result};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::boosting::trees::{Attributes, Cells, Row, Tree};

/// A loss over per-position scores F(y′, y), with its functional gradient.
///
/// The previous label of a first position, and of any position if trees may not ask for it, has the
/// index one past all labels.
pub(crate) trait BoostingLoss: Send + Sync {
    /// Adds the trees of a round, one for each label.
    fn add(&mut self, trees: &[Tree]);
    /// Loss under the present scores; [`BoostingLoss::cells`] then has its gradient.
    fn evaluate(&mut self) -> Result<f64>;
    /// Least-squares problem for the tree of label `k`, over the positions that are `sampled`.
    fn cells(&self, k: usize, sampled: &[bool], leaf: Leaf, out: &mut Cells);
}

/// Values of leaves, given the gradient of the loss.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Leaf {
    /// Newton step: the sum of slopes divided by that of curvatures p(1 − p), which is the
    /// curvature if a single score moves and at least the true one if several do. A true label, or
    /// pair, with next to no probability has next to no curvature either, and a step there would go
    /// much too far; so curvatures count at least a quarter of their slopes, as no response of
    /// LogitBoost is above 4 (Friedman, Hastie & Tibshirani 2000, §4.1).
    #[default]
    Newton,
    /// Mean of the slopes, as on the poster.
    Mean,
}

impl Leaf {
    /// Weight of a cell with the given slope, whose pair of labels has probability `p`.
    #[inline]
    pub(crate) fn weight(self, slope: f64, p: f64) -> f64 {
        match self {
            Leaf::Newton => (p * (1.0 - p)).max(slope.abs() / 4.0).max(1e-10),
            Leaf::Mean => 1.0,
        }
    }

    /// Total probability of the pairs of labels at a position that may be omitted; 0 if every cell
    /// counts the same, whatever its probability.
    pub(crate) fn negligible(self) -> f64 {
        match self {
            Leaf::Newton => 1e-4,
            Leaf::Mean => 0.0,
        }
    }
}

/// Everything that evaluating trees needs beside them.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TreeView<'a> {
    pub(crate) attributes: &'a Attributes,
    pub(crate) x: &'a EncodedDataset,
    pub(crate) n_labels: usize,
}

impl TreeView<'_> {
    /// Reads position `t` of the dataset.
    pub(crate) fn read(&self, t: usize, row: &mut Row) {
        row.read(self.attributes.row(self.x, t));
    }

    /// Index that stands for no previous label.
    pub(crate) fn none(&self) -> u16 {
        self.n_labels as u16
    }

    /// Adds the values of a tree at the position that was read to a column of scores: those of
    /// label `k` after each of the labels `previous`. A value that holds for all of them is added
    /// to `each` alone.
    #[inline]
    pub(crate) fn add(
        &self,
        tree: &Tree,
        k: usize,
        row: &Row,
        previous: &mut [u16],
        each: &mut f64,
        table: &mut [f64],
    ) {
        let n_previous = previous.len();
        tree.walk(row, self.attributes.len() as u32, previous, &mut |labels, value| {
            if labels.len() == n_previous {
                *each += value;
            } else {
                labels.iter().for_each(|&before| table[usize::from(before) * self.n_labels + k] += value);
            }
        });
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]
mod tests {
    use super::*;
    use crate::boosting::gradient_tree_boosting::likelihood_loss::LikelihoodLoss;
    use crate::boosting::gradient_tree_boosting::pseudo_likelihood_loss::{Ahead, PseudoLikelihoodLoss};
    use crf_core::{OwnedPotentials, Seed};
    use crf_testing::problems::{Draw, Encoded, data};
    use crf_testing::runs::INFERENCE;
    use rand::RngExt as _;

    /// A loss whose scores can be moved one by one.
    trait Movable: BoostingLoss {
        fn shift(&mut self, i: usize, t: usize, before: u16, now: usize, by: f64);
    }

    macro_rules! movable {
        ($($type:ident),*) => {$(
            impl Movable for $type<'_> {
                fn shift(&mut self, i: usize, t: usize, before: u16, now: usize, by: f64) {
                    $type::shift(self, i, t, before, now, by);
                }
            }
        )*};
    }
    movable!(LikelihoodLoss, PseudoLikelihoodLoss);

    const LABELS: usize = 3;

    fn encoded() -> Encoded {
        let draw = Draw { sequences: 4, length: 5, labels: LABELS, unlabelled: 0, seed: 7 };
        Encoded::new(r#"["transition", {"state": "value"}]"#, data(&draw))
    }

    /// All scores as (sequence, position, previous label, label).
    fn scores(encoded: &Encoded, asks: bool) -> Vec<(usize, usize, u16, usize)> {
        let data = encoded.corpus.data();
        let positions = (0..data.len()).flat_map(|i| (0..data.range(i).len()).map(move |t| (i, t)));
        let before = |t: usize| if t == 0 || !asks { 3..4_u16 } else { 0..3 };
        let pairs = positions.flat_map(|(i, t)| before(t).map(move |before| (i, t, before)));
        pairs.flat_map(|(i, t, before)| (0..LABELS).map(move |k| (i, t, before, k))).collect()
    }

    /// Moves all scores at random, and returns pairs of gradient and central difference.
    fn slopes(mut loss: impl Movable, encoded: &Encoded, asks: bool) -> Vec<(f64, f64)> {
        let data = encoded.corpus.data();
        let mut rng = Seed::new(3).rng();
        let scores = scores(encoded, asks);
        for &(i, t, before, now) in &scores {
            loss.shift(i, t, before, now, 2.0 * rng.random::<f64>() - 1.0);
        }
        let sampled = vec![true; data.n_positions()];
        loss.evaluate().unwrap();
        let mut cells: Vec<Cells> = vec![Cells::default(); LABELS];
        cells.iter_mut().enumerate().for_each(|(k, cells)| loss.cells(k, &sampled, Leaf::Newton, cells));
        let h = 1e-4;
        let mut both = Vec::new();
        for (i, t, before, now) in scores {
            let (cells, position) = (&cells[now], data.range(i).start + t);
            let mut range = cells.starts[position]..cells.starts[position + 1];
            let g = range.find(|&c| cells.previous[c] == before).map_or(0.0, |c| f64::from(cells.g[c]));
            let [above, below] = [h, -2.0 * h].map(|by| {
                loss.shift(i, t, before, now, by);
                loss.evaluate().unwrap()
            });
            loss.shift(i, t, before, now, h);
            both.push((g, (below - above) / (2.0 * h)));
        }
        both
    }

    #[test]
    fn slopes_match_central_differences_of_single_scores() {
        let encoded = encoded();
        let problem = encoded.problem(&INFERENCE);
        let attributes = Attributes::new(encoded.map.state(), &encoded.corpus, 64);
        for asks in [true, false] {
            let chains = LikelihoodLoss::new(&problem, &attributes, asks, Leaf::Newton, "test").unwrap();
            let patches =
                |ahead| PseudoLikelihoodLoss::new(&problem, &attributes, asks, ahead, "test").unwrap();
            for slopes in [
                slopes(chains, &encoded, asks),
                slopes(patches(Ahead::Known), &encoded, asks),
                slopes(patches(Ahead::Unknown), &encoded, asks),
            ] {
                let error = slopes.iter().map(|(g, want)| (g - want).abs()).fold(0.0, f64::max);
                assert!(error < 1e-6, "{error}");
            }
        }
        // The poster's slopes are right where no patch of an earlier position is concerned.
        let poster = PseudoLikelihoodLoss::new(&problem, &attributes, true, Ahead::Poster, "test").unwrap();
        let slopes = slopes(poster, &encoded, true);
        assert!(slopes.iter().any(|(g, want)| (g - want).abs() > 0.1));
        assert!(slopes.iter().filter(|(g, want)| (g - want).abs() < 1e-6).count() > slopes.len() / 2);
    }

    #[test]
    fn patches_lose_what_their_definition_says() {
        let encoded = encoded();
        let (problem, data) = (encoded.problem(&INFERENCE), encoded.corpus.data());
        let attributes = Attributes::new(encoded.map.state(), &encoded.corpus, 64);
        let mut patches =
            PseudoLikelihoodLoss::new(&problem, &attributes, true, Ahead::Known, "test").unwrap();
        let mut rng = Seed::new(5).rng();
        let mut chains: Vec<OwnedPotentials> = Vec::new();
        for i in 0..data.len() {
            let len = data.range(i).len();
            let of_edge = (0..len as u32 - 1).collect();
            let (node, tables) = (vec![0.0; len * LABELS], vec![0.0; (len - 1) * LABELS * LABELS]);
            chains.push(OwnedPotentials::chain(len, LABELS, node, tables, of_edge));
        }
        for (i, t, before, now) in scores(&encoded, true) {
            let score = 2.0 * rng.random::<f64>() - 1.0;
            patches.shift(i, t, before, now, score);
            match t {
                0 => chains[i].node[now] = score,
                _ => chains[i].tables[((t - 1) * LABELS + usize::from(before)) * LABELS + now] = score,
            }
        }
        let mut want = 0.0;
        for (i, chain) in chains.iter_mut().enumerate() {
            let truth: Vec<u32> = data.labels()[data.range(i)].iter().map(|label| label.unwrap()).collect();
            let p = chain.view();
            for t in 0..truth.len() {
                let mut labels = truth.clone();
                let all = (0..LABELS as u32).map(|k| {
                    labels[t] = k;
                    p.score(&labels).exp()
                });
                want += data.weight(i) * (all.sum::<f64>().ln() - p.score(&truth));
            }
        }
        let loss = patches.evaluate().unwrap();
        assert!((loss - want).abs() < 1e-9 * want, "{loss} vs {want}");
    }
}
