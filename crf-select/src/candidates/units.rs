use crf_core::{EncodedDataset, FeatureMap, FeatureSet, SparseRows};

/// Unit of each feature: the mean size of its function's values where they are not zero, rounded to
/// a power of two.
///
/// Weights times units, and slopes divided by them, are the same whether a length is given in
/// metres or in millimetres. Steps and tolerances are measured in them, so that neither depends on
/// the units of the data. Powers of two change no digit of a number, and the unit of a test is 1.
pub(crate) fn units(map: &FeatureMap, encoded: &EncodedDataset) -> Vec<f64> {
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

/// Length of a vector of weights in units of its features.
pub(crate) fn length(w: &[f64], units: &[f64]) -> f64 {
    w.iter().zip(units).map(|(w, unit)| (w * unit).powi(2)).sum::<f64>().sqrt()
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
        assert_eq!(unit(&[f64::MAX; 9]), 2.0_f64.powi(1000));
    }
}
