use crf_core::{Dataset, EncodedDataset, FeatureMap, Label, SparseRows};

/// Where each observation function is not zero: the rows of a corpus turned over, in memory linear in its non-zeros.
pub(crate) struct Columns {
    state: Transposed,       // functions × positions
    transition: Transposed,  // functions × distinct rows of edges
    edge_offset: Vec<usize>, // [distinct rows + 1] where each row's edges start
    edges: Vec<Edge>,        // by distinct row, in the order of the corpus
}

/// An edge of the corpus by the positions of its ends.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Edge {
    pub(crate) tail: u32,
    pub(crate) head: u32,
}

impl Columns {
    pub(crate) fn new(map: &FeatureMap, x: &EncodedDataset) -> Self {
        let data = x.data();
        let (mut of_row, mut of_relation) =
            (vec![0; x.edge_rows().len() + 1], vec![Vec::new(); map.schema().relations().len()]);
        let (mut kinds, mut all) = (vec![Vec::new(); map.schema().kinds().len()], Vec::new());
        for i in 0..data.len() {
            let (shape, start) = (data.shape(i), data.range(i).start);
            (0..shape.n_nodes()).for_each(|n| kinds[shape.kind(n) as usize].push((start + n) as u32));
            for (e, &row) in x.edge_row_indices(i).iter().enumerate() {
                let (u, v) = shape.ends(e);
                all.push((row, Edge { tail: (start + u) as u32, head: (start + v) as u32 }));
                of_row[row as usize + 1] += 1;
            }
        }
        for row in 0..x.edge_rows().len() {
            of_row[row + 1] += of_row[row];
            of_relation[x.relation_of_row()[row] as usize].push(row as u32);
        }
        // Stable, so the edges of a row stay in the order of the corpus.
        all.sort_by_key(|(row, _)| *row);
        let (state, transition) = (map.state(), map.transition());
        let constants =
            x.constant_state().iter().map(|&(g, value)| (g, value, &kinds[state.scope(g) as usize][..]));
        let on_edges = x
            .constant_transition()
            .iter()
            .map(|&(g, value)| (g, value, &of_relation[transition.scope(g) as usize][..]));
        Columns {
            state: Transposed::new(x.nodes(), constants, state.n_observations()),
            transition: Transposed::new(x.edge_rows(), on_edges, transition.n_observations()),
            edge_offset: of_row,
            edges: all.into_iter().map(|(_, edge)| edge).collect(),
        }
    }

    /// Calls `f` with every position at which state function `g` is not zero, and its value.
    pub(crate) fn for_each_position(&self, g: u32, mut f: impl FnMut(usize, f64)) {
        self.state.column(g).for_each(|(t, value)| f(t as usize, value));
    }

    /// Calls `f` with every edge on which transition function `g` is not zero, and its value.
    pub(crate) fn for_each_edge(&self, g: u32, mut f: impl FnMut(Edge, f64)) {
        for (row, value) in self.transition.column(g) {
            let edges = self.edge_offset[row as usize]..self.edge_offset[row as usize + 1];
            self.edges[edges].iter().for_each(|&edge| f(edge, value));
        }
    }
}

/// A label that models of the data can have.
pub(crate) fn known(label: Option<Label>) -> Option<Label> {
    label.filter(|&label| !Dataset::is_foreign(label))
}

/// How often each position counts.
pub(crate) fn weights(data: &Dataset) -> Vec<f64> {
    (0..data.len()).flat_map(|i| std::iter::repeat_n(data.weight(i), data.range(i).len())).collect()
}

/// A sparse matrix by columns.
struct Transposed {
    starts: Vec<usize>, // [columns + 1]
    rows: Vec<u32>,
    values: Vec<f64>,
}

impl Transposed {
    /// The rows of a matrix, and columns that have one value in some rows.
    fn new<'r>(
        rows: &SparseRows,
        constants: impl Iterator<Item = (u32, f64, &'r [u32])> + Clone,
        n_columns: usize,
    ) -> Self {
        let mut starts = vec![0; n_columns + 1];
        // A function that stands twice in a row has the sum of its values there.
        let mut last = vec![u32::MAX; n_columns];
        (0..rows.len()).for_each(|r| {
            rows.for_each(r, |g, _| {
                let is_new = std::mem::replace(&mut last[g as usize], r as u32) != r as u32;
                starts[g as usize + 1] += usize::from(is_new);
            });
        });
        constants.clone().for_each(|(g, _, at)| starts[g as usize + 1] += at.len());
        (0..n_columns).for_each(|g| starts[g + 1] += starts[g]);
        let mut next = starts.clone();
        let (mut of, mut values) = (vec![0; starts[n_columns]], vec![0.0; starts[n_columns]]);
        let mut put = |r: u32, g: u32, value: f64| {
            let at = &mut next[g as usize];
            if *at > starts[g as usize] && of[*at - 1] == r {
                values[*at - 1] += value;
                return;
            }
            (of[*at], values[*at]) = (r, value);
            *at += 1;
        };
        (0..rows.len()).for_each(|r| rows.for_each(r, |g, value| put(r as u32, g, value)));
        constants.for_each(|(g, value, at)| at.iter().for_each(|&r| put(r, g, value)));
        Transposed { starts, rows: of, values }
    }

    fn column(&self, g: u32) -> impl Iterator<Item = (u32, f64)> {
        let range = self.starts[g as usize]..self.starts[g as usize + 1];
        self.rows[range.clone()].iter().copied().zip(self.values[range].iter().copied())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_function_that_stands_twice_in_a_row_is_there_once_with_the_sum() {
        let mut rows = SparseRows::default();
        rows.push([(0, 1.0), (1, 3.0), (0, 1.0)]);
        rows.push([(1, 1.0), (1, 0.5)]);
        let columns = Transposed::new(&rows, [(2, 4.0, &[0, 1][..])].into_iter(), 3);
        let all: Vec<Vec<(u32, f64)>> = (0..3).map(|g| columns.column(g).collect()).collect();
        assert_eq!(all, [vec![(0, 2.0)], vec![(0, 3.0), (1, 1.5)], vec![(0, 4.0), (1, 4.0)]]);
    }
}
