use crf_core::simd::{Kernel, dispatch, fma};
use crf_core::{EncodedDataset, Error, FeatureSet, Result, Rng};
use rand::RngExt as _;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

/// Feed-forward net from the state functions of a position to a score for each label, with
/// rectified hidden layers.
///
/// The weights of a layer are stored input by input, so an input of 0 costs nothing: neither a
/// function that does not fire nor an inactive hidden unit. A bias is the weight vector of one more
/// input, which is always 1.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct FeedForwardNet {
    sizes: Vec<usize>, // [layers + 1] functions, hidden units, labels
    biased: Vec<bool>, // [layers]
    inputs: Vec<bool>, // [functions] true if the net reads the function
}

/// Memory of a forward pass over some positions, kept for the backward pass.
#[derive(Debug, Default)]
pub(crate) struct Pass {
    layers: Vec<Inputs>,
    /// Scores of the labels, position by position; during the pass those of the units of a hidden
    /// layer.
    pub(crate) scores: Vec<f64>,
    slopes: Vec<f64>,       // of the outputs of a layer at one position
    input_slopes: Vec<f64>, // of its inputs
}

/// Non-zero inputs of one layer, position by position.
#[derive(Debug, Default)]
struct Inputs {
    starts: Vec<usize>,
    entries: Vec<(u32, f64)>,
}

/// Dropout of hidden units (Srivastava et al. 2014).
#[derive(Debug, Clone)]
pub(crate) struct Dropout {
    /// Probability that a unit drops out; the others are scaled up.
    pub(crate) share: f64,
    /// Random numbers, with one stream per position.
    pub(crate) rng: Rng,
    /// Number of steps so far.
    pub(crate) step: u32,
}

impl FeedForwardNet {
    /// Creates a net over the varying functions of `features` that have features.
    pub(crate) fn new(features: &FeatureSet, hidden: &[usize], n_labels: usize, output_bias: bool) -> Self {
        let inputs: Vec<bool> = (0..features.n_observations() as u32)
            .map(|g| !features.is_constant(g) && !features.range(g).is_empty())
            .collect();
        let sizes: Vec<usize> =
            [inputs.len()].into_iter().chain(hidden.iter().copied()).chain([n_labels]).collect();
        let biased = (0..sizes.len() - 1).map(|layer| layer < hidden.len() || output_bias).collect();
        FeedForwardNet { sizes, biased, inputs }
    }

    fn n_layers(&self) -> usize {
        self.biased.len()
    }

    /// Number of weights of a layer.
    fn layer_len(&self, layer: usize) -> usize {
        (self.sizes[layer] + usize::from(self.biased[layer])) * self.sizes[layer + 1]
    }

    /// Number of weights.
    pub(crate) fn len(&self) -> usize {
        (0..self.n_layers()).map(|layer| self.layer_len(layer)).sum()
    }

    /// Number of labels.
    pub(crate) fn n_labels(&self) -> usize {
        self.sizes[self.n_layers()]
    }

    /// Functions that the net reads, with the weights of each in the first layer.
    pub(crate) fn first_layer<'w>(&self, w: &'w [f64]) -> impl Iterator<Item = (u32, &'w [f64])> {
        let rows = (0..).zip(w.chunks(self.sizes[1]));
        rows.zip(&self.inputs).filter(|(_, used)| **used).map(|(row, _)| row)
    }

    /// Rejects sizes and weights that no saved net can have.
    pub(crate) fn check(&self, features: &FeatureSet, n_labels: usize, w: &[f64]) -> Result<()> {
        let fits = self.sizes.len() >= 2
            && self.biased.len() + 1 == self.sizes.len()
            && self.sizes[0] == features.n_observations()
            && self.inputs.len() == self.sizes[0]
            && self.sizes[1..].iter().all(|size| (1..=1 << 16).contains(size))
            && self.n_labels() == n_labels
            && self.len() == w.len();
        if !fits {
            return Err(Error::data(
                "the layers of the net do not fit each other or the features stored with it",
            ));
        }
        match w.iter().find(|w| !w.is_finite()) {
            Some(w) => Err(Error::NotFinite(format!("a weight of the net is {w}"))),
            None => Ok(()),
        }
    }

    /// Draws initial weights: uniform with the variance 2 / inputs, and zero biases (He et al.
    /// 2015, equation 10).
    pub(crate) fn draw(&self, rng: &mut Rng) -> Vec<f64> {
        let mut w = vec![0.0; self.len()];
        let mut rest = w.as_mut_slice();
        for layer in 0..self.n_layers() {
            let (weights, behind) = rest.split_at_mut(self.layer_len(layer));
            let n_inputs =
                if layer == 0 { self.inputs.iter().filter(|used| **used).count() } else { self.sizes[layer] };
            let bound = (6.0 / n_inputs.max(1) as f64).sqrt();
            let n_drawn = self.sizes[layer] * self.sizes[layer + 1];
            weights[..n_drawn].iter_mut().for_each(|w| *w = rng.random_range(-bound..bound));
            rest = behind;
        }
        w
    }

    /// Approximate work of a position.
    pub(crate) fn cost(&self) -> usize {
        self.sizes.windows(2).map(|pair| pair[1] * (pair[0].min(64) + 1)).sum()
    }

    /// Scores of all positions of a dataset. `[positions × labels]`
    pub(crate) fn scores(&self, w: &[f64], x: &EncodedDataset) -> Vec<f64> {
        const ROWS: usize = 64;
        let n_labels = self.n_labels();
        let mut scores = vec![0.0; x.data().n_positions() * n_labels];
        scores.par_chunks_mut(ROWS * n_labels).enumerate().for_each_init(
            Pass::default,
            |pass, (chunk, out)| {
                let start = chunk * ROWS;
                self.forward(w, x, start..start + out.len() / n_labels, None, pass);
                out.copy_from_slice(&pass.scores);
            },
        );
        scores
    }

    /// Computes the scores of the labels at some positions.
    pub(crate) fn forward(
        &self,
        w: &[f64],
        x: &EncodedDataset,
        positions: std::ops::Range<usize>,
        dropout: Option<&Dropout>,
        pass: &mut Pass,
    ) {
        let Pass { layers, scores, .. } = pass;
        layers.resize_with(self.n_layers(), Inputs::default);
        let mut rest = w;
        for layer in 0..self.n_layers() {
            let (weights, behind) = rest.split_at(self.layer_len(layer));
            rest = behind;
            let (n_in, n_out) = (self.sizes[layer], self.sizes[layer + 1]);
            let Inputs { starts, entries } = &mut layers[layer];
            starts.clear();
            starts.push(0);
            entries.clear();
            for (row, t) in positions.clone().enumerate() {
                match layer {
                    0 => x.nodes().for_each(t, |g, value| {
                        if self.inputs[g as usize] {
                            entries.push((g, value));
                        }
                    }),
                    _ => {
                        let units = &scores[row * n_in..(row + 1) * n_in];
                        let active = (0..).zip(units).filter(|(_, score)| **score > 0.0);
                        match dropout {
                            None => entries.extend(active.map(|(unit, &score)| (unit, score))),
                            Some(dropout) => dropout.thin(t, layer, active, entries),
                        }
                    }
                }
                if self.biased[layer] {
                    entries.push((n_in as u32, 1.0));
                }
                starts.push(entries.len());
            }
            scores.clear();
            scores.resize(positions.len() * n_out, 0.0);
            dispatch(Forward { starts, entries, weights, n_out, out: scores });
        }
    }

    /// Adds to `gradient` the derivatives with respect to all weights, given those with respect to
    /// the scores of the last [`FeedForwardNet::forward`].
    pub(crate) fn backward(
        &self,
        w: &[f64],
        slopes: &[f64],
        dropout: Option<&Dropout>,
        pass: &mut Pass,
        gradient: &mut [f64],
    ) {
        let n_labels = self.n_labels();
        let scale = dropout.map_or(1.0, Dropout::scale);
        let Pass { layers, slopes: now, input_slopes, .. } = pass;
        for (row, given) in slopes.chunks(n_labels).enumerate() {
            now.clear();
            now.extend_from_slice(given);
            let mut end = w.len();
            for layer in (0..self.n_layers()).rev() {
                let range = end - self.layer_len(layer)..end;
                end = range.start;
                let Inputs { starts, entries } = &layers[layer];
                input_slopes.clear();
                input_slopes.resize(if layer == 0 { 0 } else { self.sizes[layer] }, 0.0);
                dispatch(Backward {
                    entries: &entries[starts[row]..starts[row + 1]],
                    weights: &w[range.clone()],
                    slopes: now,
                    scale,
                    gradient: &mut gradient[range],
                    input_slopes,
                });
                std::mem::swap(now, input_slopes);
            }
        }
    }
}

impl Dropout {
    /// Scale of the units that do not drop out.
    fn scale(&self) -> f64 {
        1.0 / (1.0 - self.share)
    }

    /// Appends the units of a hidden layer that do not drop out at position `t`.
    fn thin<'u>(
        &self,
        t: usize,
        layer: usize,
        active: impl Iterator<Item = (u32, &'u f64)>,
        out: &mut Vec<(u32, f64)>,
    ) {
        let mut rng = self.rng.clone();
        rng.set_stream(u64::from(self.step) << 32 | t as u64);
        // Layers read different parts of the stream.
        rng.set_word_pos((layer as u128) << 40);
        let kept = active.filter(|_| rng.random::<f32>() as f64 >= self.share);
        out.extend(kept.map(|(unit, score)| (unit, score * self.scale())));
    }
}

/// Forward kernel: out[row] += Σ value · weights[input], four inputs at a time.
struct Forward<'a> {
    starts: &'a [usize],
    entries: &'a [(u32, f64)],
    weights: &'a [f64], // [inputs × outputs]
    n_out: usize,
    out: &'a mut [f64], // [rows × outputs]
}

impl Kernel for Forward<'_> {
    type Output = ();

    #[inline(always)]
    fn run<const FMA: bool>(self) {
        let Forward { starts, entries, weights, n_out, out } = self;
        for (row, out) in out.chunks_exact_mut(n_out).enumerate() {
            let (four, rest) = entries[starts[row]..starts[row + 1]].as_chunks::<4>();
            for &[a, b, c, d] in four {
                let row = |input: u32| &weights[input as usize * n_out..][..n_out];
                let (w_a, w_b, w_c, w_d) = (row(a.0), row(b.0), row(c.0), row(d.0));
                for j in 0..n_out {
                    let sum = fma::<FMA>(a.1, w_a[j], fma::<FMA>(b.1, w_b[j], out[j]));
                    out[j] = fma::<FMA>(c.1, w_c[j], fma::<FMA>(d.1, w_d[j], sum));
                }
            }
            for &(input, value) in rest {
                let weights = &weights[input as usize * n_out..][..n_out];
                for j in 0..n_out {
                    out[j] = fma::<FMA>(value, weights[j], out[j]);
                }
            }
        }
    }
}

/// Backward kernel: gradient[input] += value · slopes, and for each input that is a unit its slope
/// scale · weights[input] · slopes.
struct Backward<'a> {
    entries: &'a [(u32, f64)],
    weights: &'a [f64], // [inputs × outputs]
    slopes: &'a [f64],  // [outputs]
    scale: f64,
    gradient: &'a mut [f64],     // [inputs × outputs]
    input_slopes: &'a mut [f64], // [units], or empty
}

impl Kernel for Backward<'_> {
    type Output = ();

    #[inline(always)]
    fn run<const FMA: bool>(self) {
        const LANES: usize = 8;
        let Backward { entries, weights, slopes, scale, gradient, input_slopes } = self;
        let n_out = slopes.len();
        let (whole, tail) = slopes.as_chunks::<LANES>();
        for &(input, value) in entries {
            let range = input as usize * n_out..(input as usize + 1) * n_out;
            let gradient = &mut gradient[range.clone()];
            for j in 0..n_out {
                gradient[j] = fma::<FMA>(value, slopes[j], gradient[j]);
            }
            if let Some(slope) = input_slopes.get_mut(input as usize) {
                let (rows, rest) = weights[range].as_chunks::<LANES>();
                let mut sums = [0.0; LANES];
                for (weights, slopes) in rows.iter().zip(whole) {
                    for k in 0..LANES {
                        sums[k] = fma::<FMA>(weights[k], slopes[k], sums[k]);
                    }
                }
                let mut total = 0.0;
                for k in 0..LANES {
                    total += sums[k];
                }
                for (weight, slope) in rest.iter().zip(tail) {
                    total += weight * slope;
                }
                *slope = scale * total;
            }
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]
mod tests {
    use super::*;
    use crf_core::Seed;
    use crf_testing::problems::{Draw, Encoded, data};

    #[test]
    fn slopes_match_differences_whether_units_rest_or_not() {
        let draw = Draw { sequences: 1, length: 6, labels: 3, unlabelled: 0, seed: 4 };
        let encoded = Encoded::new(r#"["intercept", {"state": "value"}, {"state": "equals"}]"#, data(&draw));
        let mut rng = Seed::new(7).rng();
        for (hidden, output_bias, share) in
            [(&[][..], true, 0.0), (&[5], false, 0.0), (&[7, 4], true, 0.0), (&[9, 8], true, 0.4)]
        {
            let net = FeedForwardNet::new(encoded.map.state(), hidden, 3, output_bias);
            let dropout = Dropout { share, rng: Seed::new(1).rng(), step: 3 };
            let dropout = Some(&dropout).filter(|_| share > 0.0);
            let mut w: Vec<f64> = (0..net.len()).map(|_| rng.random_range(-1.0..1.0)).collect();
            let slopes: Vec<f64> = (0..6 * 3).map(|_| rng.random_range(-1.0..1.0)).collect();
            let mut pass = Pass::default();
            let value = |w: &[f64], pass: &mut Pass| -> f64 {
                net.forward(w, &encoded.corpus, 0..6, dropout, pass);
                pass.scores.iter().zip(&slopes).map(|(score, slope)| score * slope).sum()
            };
            value(&w, &mut pass);
            let mut gradient = vec![0.0; w.len()];
            net.backward(&w, &slopes, dropout, &mut pass, &mut gradient);
            assert!(gradient.iter().filter(|slope| **slope != 0.0).count() > w.len() / 3);
            for k in 0..w.len() {
                let (weight_k, h) = (w[k], 1e-6);
                let [above, below] = [h, -h].map(|by| {
                    w[k] = weight_k + by;
                    value(&w, &mut Pass::default())
                });
                w[k] = weight_k;
                let slope = (above - below) / (2.0 * h);
                assert!(
                    (gradient[k] - slope).abs() < 1e-7,
                    "{hidden:?} {share} {k}: {} vs {slope}",
                    gradient[k]
                );
            }
        }
    }

    #[test]
    fn the_share_of_units_rests_and_the_mean_stays() {
        let dropout = Dropout { share: 0.3, rng: Seed::new(1).rng(), step: 1 };
        let units = vec![1.0; 1000];
        let mut kept = Vec::new();
        (0..20).for_each(|t| dropout.thin(t, 1, (0..).zip(&units), &mut kept));
        let (share, mean) = (kept.len() as f64 / 2e4, kept.iter().map(|(_, value)| value).sum::<f64>() / 2e4);
        assert!((share - 0.7).abs() < 0.01 && (mean - 1.0).abs() < 0.02, "{share} {mean}");
    }
}
