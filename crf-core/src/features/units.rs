use crate::data::sparse_rows::SparseRows;
use crate::features::encoded_dataset::EncodedDataset;
use crate::features::feature_map::FeatureMap;
use crate::features::feature_set::FeatureSet;

/// Unit of each feature: the mean size of its function's values where they are not zero, rounded to
/// a power of two.
///
/// Weights times units, and slopes divided by them, are the same whether a length is given in
/// metres or in millimetres. Steps and tolerances are measured in them, so that neither depends on
/// the units of the data. Powers of two change no digit of a number, and the unit of a test is 1.
///
/// What has a penalty or is ranked by slopes does depend on them: see [`warn_of_units`].
pub fn feature_units(map: &FeatureMap, encoded: &EncodedDataset) -> Vec<f64> {
    let mut units = Vec::with_capacity(map.len());
    add_units(&mut units, map.state(), encoded.nodes(), encoded.constant_state());
    add_units(&mut units, map.transition(), encoded.edge_rows(), encoded.constant_transition());
    units
}

fn add_units(units: &mut Vec<f64>, features: &FeatureSet, rows: &SparseRows, constants: &[(u32, f64)]) {
    let mut sizes = vec![MeanSize::default(); features.n_observations()];
    (0..rows.len()).for_each(|r| rows.for_each(r, |g, value| sizes[g as usize].add(value)));
    constants.iter().for_each(|&(g, value)| sizes[g as usize].add(value));
    for (g, size) in sizes.iter().enumerate() {
        units.extend(features.range(g as u32).map(|_| size.unit()));
    }
}

/// Running mean of absolute values; a sum of the largest doubles would overflow.
#[derive(Debug, Clone, Copy, Default)]
struct MeanSize {
    mean: f64,
    n: f64,
}

impl MeanSize {
    fn add(&mut self, value: f64) {
        if value != 0.0 {
            self.n += 1.0;
            self.mean += (value.abs() - self.mean) / self.n;
        }
    }

    fn unit(self) -> f64 {
        // Neither a unit nor its inverse may overflow.
        if self.mean > 0.0 { self.mean.log2().round().clamp(-1000.0, 1000.0).exp2() } else { 1.0 }
    }
}

/// Ratio of two units from which on penalties and slopes prefer the larger feature by its size.
const FAR_APART: f64 = 100.0;

/// Warns if features differ in size by a factor of 100 or more: the weights of large ones are small
/// and cost little penalty, and their slopes are large, so that they are preferred for their size.
pub fn warn_of_units(map: &FeatureMap, units: &[f64]) {
    if let Some((small, large)) = far_apart(units) {
        tracing::warn!(
            "`{}` is some {:.0e} times the size of `{}`: what a penalty or a slope prefers depends on that; \
             {{ type = \"normalised\", of = … }} gives features one size",
            map.name(large),
            units[large] / units[small],
            map.name(small),
        );
    }
}

/// Features with the smallest and the largest unit, if these are far apart.
fn far_apart(units: &[f64]) -> Option<(usize, usize)> {
    let by_unit = |a: &usize, b: &usize| units[*a].total_cmp(&units[*b]);
    let (small, large) = ((0..units.len()).min_by(by_unit)?, (0..units.len()).max_by(by_unit)?);
    (units[large] >= FAR_APART * units[small]).then_some((small, large))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_unit_is_the_mean_size_of_what_is_not_zero_to_a_power_of_two() {
        let unit = |values: &[f64]| {
            let mut size = MeanSize::default();
            values.iter().for_each(|&value| size.add(value));
            size.unit()
        };
        assert_eq!(unit(&[1.0, 0.0, 1.0, 1.0]), 1.0);
        assert_eq!(unit(&[-900.0, 1100.0, 0.0]), 1024.0);
        assert_eq!(unit(&[1e-6]), 2.0_f64.powi(-20));
        assert_eq!(unit(&[0.0]), 1.0);
        assert_eq!(unit(&[5e-324]), 2.0_f64.powi(-1000));
        assert_eq!(unit(&[f64::MAX; 9]), 2.0_f64.powi(1000));
    }

    #[test]
    fn features_of_one_size_need_no_warning() {
        assert_eq!(far_apart(&[1.0, 64.0, 2.0]), None);
        assert_eq!(far_apart(&[1.0, 1024.0, 0.5, 1024.0]), Some((2, 3)));
        assert_eq!(far_apart(&[]), None);
    }
}
