use crf_core::{EncodedDataset, Error, FeatureMap, Label, LogLinear, Problem, Result};
use linfa::DatasetBase;
use ndarray::{Array1, Array2};

use crate::objectives::labels::{all_labels, refuse_foreign};
use crate::training::usable_model::require_usable;

/// Maximum number of entries of a matrix: half a gigabyte.
pub(crate) const MAX_ENTRIES: usize = 1 << 26;

/// Nodes of one kind as the data of a classifier: one dense row of state functions each.
///
/// The rows of a sequence of weight 2 are there twice: linfa's classifiers know no other weights.
pub(crate) struct Nodes {
    /// Kind of the nodes.
    pub(crate) kind: u16,
    /// Functions that vary from node to node, in the order of their columns, then the constant
    /// ones.
    functions: Vec<u32>,
    /// First constant function and its value, if there is one.
    constant: Option<(u32, f64)>,
    /// Rows and labels, as linfa takes them.
    pub(crate) dataset: DatasetBase<Array2<f64>, Array1<usize>>,
    /// Number of labels of the kind, whether they occur or not.
    pub(crate) n_labels: usize,
    /// Number of occurrences of each label.
    pub(crate) counts: Vec<usize>,
    /// Largest absolute value in the rows.
    pub(crate) largest: f64,
}

/// A fitted linear classifier.
pub(crate) struct Linear {
    /// Weight of each column for each label.
    pub(crate) weights: Array2<f64>,
    /// Score of each label where all columns are 0; needs a constant function.
    pub(crate) bias: Option<Array1<f64>>,
}

/// Fits the log-linear model without transitions whose state weights `fit` finds for each kind of
/// node.
///
/// With `with_constants` constant functions are columns too. `n_numbers` is the size of the largest
/// matrix for given numbers of rows and columns.
pub(crate) fn fit_local(
    tag: &'static str,
    problem: &Problem<'_>,
    with_constants: bool,
    n_numbers: impl Fn(usize, usize) -> usize,
    fit: impl Fn(&Nodes) -> Result<Linear>,
) -> Result<LogLinear> {
    let (map, data) = (problem.map, problem.train.data());
    let truth = all_labels(data, tag)?;
    refuse_foreign(data)?;
    let mut weights = vec![0.0; map.len()];
    for (kind, node_kind) in (0..).zip(map.schema().kinds()) {
        let nodes = Nodes::new(tag, problem, kind, &truth, with_constants, &n_numbers)?;
        if nodes.counts.iter().all(|&count| count == 0) {
            continue;
        }
        let in_kind = |error: Error| error.at(format!("nodes of the kind `{}`", node_kind.name));
        let Linear { weights: columns, bias } = fit(&nodes).map_err(in_kind)?;
        let mut set = |g: u32, y: usize, weight: f64| weights[map.state().range(g)][y] = weight;
        for (&g, row) in nodes.functions.iter().zip(columns.rows()) {
            row.iter().enumerate().for_each(|(y, &weight)| set(g, y, weight));
        }
        if let Some(((g, value), bias)) = nodes.constant.zip(bias) {
            bias.iter().enumerate().for_each(|(y, bias)| set(g, y, bias / value));
        }
    }
    let model = LogLinear::new(map.clone(), weights)?;
    require_usable(&model, problem)?;
    Ok(model)
}

impl Nodes {
    fn new(
        tag: &'static str,
        problem: &Problem<'_>,
        kind: u16,
        truth: &[Label],
        with_constants: bool,
        n_numbers: impl Fn(usize, usize) -> usize,
    ) -> Result<Self> {
        let (x, features) = (problem.train, problem.map.state());
        let refuse = |what: String| Err(Error::Unsupported { tag, what });
        let n_labels = problem.map.schema().n_labels(kind);
        let mine: Vec<u32> =
            (0..features.n_observations() as u32).filter(|&g| features.scope(g) == kind).collect();
        if let Some(&g) = mine.iter().find(|&&g| features.range(g).len() != n_labels) {
            return refuse(format!(
                "gives every function a weight for every label, but `{}` has only some; use `pairs = \"all\"`",
                features.name(g)
            ));
        }
        let constants: Vec<(u32, f64)> =
            x.constant_state().iter().copied().filter(|(g, _)| features.scope(*g) == kind).collect();
        let mut functions: Vec<u32> = mine.into_iter().filter(|&g| !features.is_constant(g)).collect();
        let n_varying = functions.len();
        if with_constants {
            functions.extend(constants.iter().map(|(g, _)| g));
        }
        let repeated = repetitions(tag, x, kind)?;
        let (n_rows, n_columns) = (repeated.len(), functions.len());
        let numbers = n_numbers(n_rows, n_columns);
        if numbers > MAX_ENTRIES {
            return refuse(format!(
                "works on a dense matrix, which for {n_rows} positions with {n_columns} functions would have {numbers} \
                 numbers, more than {MAX_ENTRIES}; `mle` or `ssvm-frank-wolfe` without transition features take any"
            ));
        }
        let mut column_of = vec![0; features.n_observations()];
        functions.iter().enumerate().for_each(|(column, &g)| column_of[g as usize] = column);
        let mut rows = Array2::zeros((n_rows, n_columns));
        for (mut row, &t) in rows.rows_mut().into_iter().zip(&repeated) {
            x.nodes().for_each(t, |g, value| row[column_of[g as usize]] += value);
            row.iter_mut().skip(n_varying).zip(&constants).for_each(|(cell, (_, value))| *cell = *value);
        }
        let labels: Array1<usize> = repeated.iter().map(|&t| truth[t] as usize).collect();
        let mut counts = vec![0; n_labels];
        labels.iter().for_each(|&label| counts[label] += 1);
        let largest = rows.iter().fold(0.0, |largest: f64, value: &f64| largest.max(value.abs()));
        let (constant, dataset) = (constants.first().copied(), DatasetBase::new(rows, labels));
        Ok(Nodes { kind, functions, constant, dataset, n_labels, counts, largest })
    }

    /// True if there is a constant function, so that labels can have a bias.
    pub(crate) fn has_constant(&self) -> bool {
        self.constant.is_some()
    }

    /// Weights of the columns, gathered from those of all features of a map; with `bias` a last row
    /// of the biases of the labels.
    pub(crate) fn gather(&self, map: &FeatureMap, weights: &[f64], bias: bool) -> Array2<f64> {
        let columns = self.functions.iter().map(|&g| (g, 1.0));
        let rows: Vec<(u32, f64)> = columns.chain(self.constant.filter(|_| bias)).collect();
        Array2::from_shape_fn((rows.len(), self.n_labels), |(row, y)| {
            let (g, value) = rows[row];
            value * weights[map.state().range(g)][y]
        })
    }
}

/// Positions of the nodes of a kind, each repeated by the weight of its sequence.
fn repetitions(tag: &'static str, x: &EncodedDataset, kind: u16) -> Result<Vec<usize>> {
    let mut positions = Vec::new();
    for i in 0..x.len() {
        let (shape, weight, start) = (x.data().shape(i), x.data().weight(i), x.data().range(i).start);
        if weight.fract() != 0.0 || weight > 1e6 {
            let what = format!(
                "repeats what counts more than once, so weights must be whole, got {weight} for sequence {}; `mle` \
                 takes any",
                i + 1
            );
            return Err(Error::Unsupported { tag, what });
        }
        for n in (0..shape.n_nodes()).filter(|&n| shape.kind(n) == kind) {
            positions.extend(std::iter::repeat_n(start + n, weight as usize));
        }
    }
    Ok(positions)
}
