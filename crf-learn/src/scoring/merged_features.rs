use std::collections::HashMap;
use std::sync::Arc;

use crf_core::{EncodedDataset, FeatureMap};

use crate::scoring::column_fingerprint::fingerprint;

/// Feature map in which observation functions that are equal at every position of a dataset are
/// merged into one.
///
/// Attributes that occur once each at the same position, and attributes that never occur apart,
/// have equal gradients. Under an ℓ2 penalty, or none, they keep equal weights if they start with
/// equal weights. So `m` of them are one function times √m with the weight u = √m·w: the scores m·w
/// = √m·u, the penalty m·w² = u² and all inner products stay the same, and an optimizer of such
/// products takes the same steps with fewer weights.
///
/// An ℓ1 penalty, a coordinate-wise optimizer and early stopping do see the difference;
/// `Minimisation` does not merge then. The factors √m live in [`FeatureMap::times`], in maps that
/// exist during training only.
#[derive(Debug)]
pub struct MergedFeatures {
    map: Arc<FeatureMap>,
    first_of: Vec<u32>, // [functions] the first function that is equal to it
}

impl MergedFeatures {
    /// Merges the features of `wide` that are identical on a dataset; `None` if there are none.
    pub fn new(wide: &FeatureMap, x: &EncodedDataset) -> Option<Self> {
        let state_features = wide.state();
        let mut firsts: HashMap<(u16, u128), u32> = HashMap::new();
        let first_of: Vec<u32> = (0..)
            .zip(columns(state_features.n_observations(), x))
            .map(|(g, column)| {
                // Functions without an entry are not merged; constant functions have none.
                let first = if column == 0 {
                    g
                } else {
                    *firsts.entry((state_features.scope(g), column)).or_insert(g)
                };
                if state_features.targets(first) == state_features.targets(g) { first } else { g }
            })
            .collect();
        let mut times = vec![0.0; first_of.len()];
        first_of.iter().for_each(|&first| times[first as usize] += 1.0);
        let factors: Vec<f64> = times.into_iter().map(f64::sqrt).collect();
        if factors.iter().all(|&factor| factor == 1.0) {
            return None;
        }
        let keep: Vec<bool> = (0..)
            .zip(&first_of)
            .flat_map(|(g, &first)| state_features.range(g).map(move |_| first == g))
            .collect();
        let (map, _) = wide.narrow(|k| keep.get(k).is_none_or(|&keep| keep));
        Some(MergedFeatures { map: map.times(factors).into(), first_of })
    }

    /// The merged features.
    pub fn map(&self) -> &Arc<FeatureMap> {
        &self.map
    }

    /// Weights of the merged features that give every labelling the score it has under `weights` of
    /// all features.
    pub fn merge(&self, wide: &FeatureMap, weights: &[f64]) -> Vec<f64> {
        let mut merged = vec![0.0; self.map.state().len()];
        for (all, one, factor) in self.pairs(wide) {
            merged[one].iter_mut().zip(&weights[all]).for_each(|(merged, w)| *merged += w / factor);
        }
        merged.extend_from_slice(&weights[wide.state().len()..]);
        merged
    }

    /// Weights of all features; merged ones share theirs equally.
    pub fn expand(&self, wide: &FeatureMap, merged: &[f64]) -> Vec<f64> {
        let mut weights = Vec::with_capacity(wide.len());
        for (_, one, factor) in self.pairs(wide) {
            weights.extend(merged[one].iter().map(|u| u / factor));
        }
        weights.extend_from_slice(&merged[self.map.state().len()..]);
        weights
    }

    /// For each function of the wide map: its features, the features of its merged function, and
    /// the factor of that.
    fn pairs<'s>(
        &'s self,
        wide: &'s FeatureMap,
    ) -> impl Iterator<Item = (std::ops::Range<usize>, std::ops::Range<usize>, f64)> + 's {
        let state = self.map.state();
        (0..)
            .zip(&self.first_of)
            .map(move |(g, &first)| (wide.state().range(g), state.range(first), state.factor(first)))
    }
}

/// Fingerprint of the column of each function.
fn columns(n: usize, x: &EncodedDataset) -> Vec<u128> {
    let mut columns = vec![0_u128; n];
    for r in 0..x.nodes().len() {
        x.nodes().for_each(r, |g, value| {
            let column = &mut columns[g as usize];
            *column = column.wrapping_add(fingerprint(r, value));
        });
    }
    columns
}
