use crf_core::{Dataset, EncodedDataset, FeatureMap, Label, SparseRows};

/// The encoded dataset by observation function: where each one is not zero, in memory linear in the
/// non-zeros.
pub(crate) struct FunctionColumns {
    state: ColumnMatrix,      // functions × positions
    transition: ColumnMatrix, // functions × distinct edge rows
    edge_offset: Vec<usize>,  // [distinct edge rows + 1] offset of each row's edges
    edges: Vec<Edge>,         // by distinct row, in the order of the data
}

/// An edge, by the positions of its ends in the data.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Edge {
    pub(crate) tail: u32,
    pub(crate) head: u32,
}

impl FunctionColumns {
    pub(crate) fn new(map: &FeatureMap, encoded: &EncodedDataset) -> Self {
        let data = encoded.data();
        let n_rows = encoded.edge_rows().len();
        let mut edge_offset = vec![0; n_rows + 1];
        let mut edges = Vec::new();
        let mut positions_of_kind = vec![Vec::new(); map.schema().kinds().len()];
        for i in 0..data.len() {
            let shape = data.shape(i);
            let start = data.range(i).start;
            (0..shape.n_nodes())
                .for_each(|n| positions_of_kind[shape.kind(n) as usize].push((start + n) as u32));
            for (e, &row) in encoded.edge_row_indices(i).iter().enumerate() {
                let (u, v) = shape.ends(e);
                edges.push((row, Edge { tail: (start + u) as u32, head: (start + v) as u32 }));
                edge_offset[row as usize + 1] += 1;
            }
        }
        let mut rows_of_relation = vec![Vec::new(); map.schema().relations().len()];
        for row in 0..n_rows {
            edge_offset[row + 1] += edge_offset[row];
            rows_of_relation[encoded.relation_of_row()[row] as usize].push(row as u32);
        }
        // The sort is stable, so the edges of a row stay in the order of the data.
        edges.sort_by_key(|(row, _)| *row);
        let (state, transition) = (map.state(), map.transition());
        let constant_state = encoded
            .constant_state()
            .iter()
            .map(|&(g, value)| (g, value, &positions_of_kind[state.scope(g) as usize][..]));
        let constant_transition = encoded
            .constant_transition()
            .iter()
            .map(|&(g, value)| (g, value, &rows_of_relation[transition.scope(g) as usize][..]));
        FunctionColumns {
            state: ColumnMatrix::new(encoded.nodes(), constant_state, state.n_observations()),
            transition: ColumnMatrix::new(
                encoded.edge_rows(),
                constant_transition,
                transition.n_observations(),
            ),
            edge_offset,
            edges: edges.into_iter().map(|(_, edge)| edge).collect(),
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

/// The label of a position if models of the data can have it; `None` if it is missing or unknown to
/// the schema.
pub(crate) fn known(label: Option<Label>) -> Option<Label> {
    label.filter(|&label| !Dataset::is_foreign(label))
}

/// Weight of each position, which is that of its sequence.
pub(crate) fn weights(data: &Dataset) -> Vec<f64> {
    (0..data.len()).flat_map(|i| std::iter::repeat_n(data.weight(i), data.range(i).len())).collect()
}

/// A sparse matrix in column-major order.
struct ColumnMatrix {
    starts: Vec<usize>, // [columns + 1]
    rows: Vec<u32>,
    values: Vec<f64>,
}

impl ColumnMatrix {
    /// Transposes sparse rows and adds constant columns: (column, its value, the rows that have
    /// it).
    fn new<'r>(
        rows: &SparseRows,
        constants: impl Iterator<Item = (u32, f64, &'r [u32])> + Clone,
        n_columns: usize,
    ) -> Self {
        let mut starts = vec![0; n_columns + 1];
        // A function that occurs twice in a row has the sum of its values there.
        let mut last_row = vec![u32::MAX; n_columns];
        (0..rows.len()).for_each(|r| {
            rows.for_each(r, |g, _| {
                let is_new = std::mem::replace(&mut last_row[g as usize], r as u32) != r as u32;
                starts[g as usize + 1] += usize::from(is_new);
            });
        });
        constants.clone().for_each(|(g, _, in_rows)| starts[g as usize + 1] += in_rows.len());
        (0..n_columns).for_each(|g| starts[g + 1] += starts[g]);
        let mut next = starts.clone();
        let mut row_indices = vec![0; starts[n_columns]];
        let mut values = vec![0.0; starts[n_columns]];
        let mut put = |r: u32, g: u32, value: f64| {
            let offset = &mut next[g as usize];
            if *offset > starts[g as usize] && row_indices[*offset - 1] == r {
                values[*offset - 1] += value;
                return;
            }
            (row_indices[*offset], values[*offset]) = (r, value);
            *offset += 1;
        };
        (0..rows.len()).for_each(|r| rows.for_each(r, |g, value| put(r as u32, g, value)));
        constants.for_each(|(g, value, in_rows)| in_rows.iter().for_each(|&r| put(r, g, value)));
        ColumnMatrix { starts, rows: row_indices, values }
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
    fn a_function_that_occurs_twice_in_a_row_is_there_once_with_the_sum() {
        let mut rows = SparseRows::default();
        rows.push([(0, 1.0), (1, 3.0), (0, 1.0)]);
        rows.push([(1, 1.0), (1, 0.5)]);
        let columns = ColumnMatrix::new(&rows, [(2, 4.0, &[0, 1][..])].into_iter(), 3);
        let all: Vec<Vec<(u32, f64)>> = (0..3).map(|g| columns.column(g).collect()).collect();
        assert_eq!(all, [vec![(0, 2.0)], vec![(0, 3.0), (1, 1.5)], vec![(0, 4.0), (1, 4.0)]]);
    }
}
