use crate::data::graph::offsets;
use crate::features::encoded_dataset::EncodedDataset;
use crate::features::feature_map::FeatureMap;

/// Scores of the constant state functions: one number per kind of node and label.
#[derive(Debug)]
pub struct ConstantScores {
    kind_offsets: Vec<usize>, // [kinds + 1]
    /// Scores of the labels of all kinds, kind by kind.
    pub scores: Vec<f64>,
}

impl ConstantScores {
    /// Starts with scores of zero.
    pub fn new(map: &FeatureMap) -> Self {
        let schema = map.schema();
        let kind_offsets = offsets((0..schema.kinds().len()).map(|kind| schema.n_labels(kind as u16)));
        ConstantScores { scores: vec![0.0; kind_offsets[kind_offsets.len() - 1]], kind_offsets }
    }

    /// Recomputes the scores for the weights `w`.
    pub fn update(&mut self, map: &FeatureMap, encoded: &EncodedDataset, w: &[f64]) {
        self.scores.fill(0.0);
        for &(g, value) in encoded.constant_state() {
            let range = self.range(map.state().scope(g));
            map.state().add_scores(w, g, value, &mut self.scores[range]);
        }
    }

    /// Range of the labels of a kind of node in `scores`.
    #[inline(always)]
    pub fn range(&self, kind: u16) -> std::ops::Range<usize> {
        self.kind_offsets[kind as usize]..self.kind_offsets[kind as usize + 1]
    }

    /// Scores of the labels of a kind of node.
    #[inline(always)]
    pub fn of(&self, kind: u16) -> &[f64] {
        &self.scores[self.range(kind)]
    }
}
