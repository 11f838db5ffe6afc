use serde::{Deserialize, Serialize};

/// Sparse matrix in rows, in which a value of one costs no memory beyond its column.
///
/// Most observation functions are tests with the values 0 and 1, so ones are stored apart from
/// other values: loops over ones need neither a load nor a multiplication.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SparseRows {
    one_starts: Vec<usize>, // [rows + 1]
    one_columns: Vec<u32>,
    value_starts: Vec<usize>, // [rows + 1]
    value_columns: Vec<u32>,
    values: Vec<f64>,
}

impl Default for SparseRows {
    fn default() -> Self {
        SparseRows {
            one_starts: vec![0],
            one_columns: Vec::new(),
            value_starts: vec![0],
            value_columns: Vec::new(),
            values: Vec::new(),
        }
    }
}

impl SparseRows {
    /// Adds a row; zeros are dropped.
    pub fn push(&mut self, entries: impl IntoIterator<Item = (u32, f64)>) {
        entries.into_iter().for_each(|(column, value)| self.add(column, value));
        self.end_row();
    }

    /// Adds a value to the open row; a zero is dropped.
    #[inline]
    pub fn add(&mut self, column: u32, value: f64) {
        if value == 1.0 {
            self.one_columns.push(column);
        } else if value != 0.0 {
            self.value_columns.push(column);
            self.values.push(value);
        }
    }

    /// Closes the open row.
    pub fn end_row(&mut self) {
        self.one_starts.push(self.one_columns.len());
        self.value_starts.push(self.values.len());
    }

    /// Adds row `r` of another matrix.
    pub fn push_row(&mut self, from: &SparseRows, r: usize) {
        let (columns, values) = from.valued(r);
        self.one_columns.extend_from_slice(from.ones(r));
        self.value_columns.extend_from_slice(columns);
        self.values.extend_from_slice(values);
        self.end_row();
    }

    /// Copies the rows without the columns for which `keep` is false.
    pub fn restricted(&self, keep: impl Fn(u32) -> bool) -> SparseRows {
        let mut rows = SparseRows::default();
        for r in 0..self.len() {
            let (columns, values) = self.valued(r);
            rows.one_columns.extend(self.ones(r).iter().filter(|&&column| keep(column)));
            let entries = columns.iter().zip(values).filter(|(column, _)| keep(**column));
            entries.for_each(|(&column, &value)| rows.add(column, value));
            rows.end_row();
        }
        rows
    }

    /// Renumbers all columns.
    pub fn rename_columns(&mut self, name: impl Fn(u32) -> u32) {
        let columns = self.one_columns.iter_mut().chain(&mut self.value_columns);
        columns.for_each(|column| *column = name(*column));
    }

    /// Transposes the matrix: row `c` of the result lists the rows in which column `c` is not zero,
    /// ascending.
    pub fn transposed(&self, n_columns: usize) -> SparseRows {
        let one_starts = column_starts(&self.one_columns, n_columns);
        let value_starts = column_starts(&self.value_columns, n_columns);
        let [mut one_offsets, mut value_offsets] = [one_starts.clone(), value_starts.clone()];
        let mut one_columns = vec![0; self.one_columns.len()];
        let mut value_columns = vec![0; self.values.len()];
        let mut values = vec![0.0; self.values.len()];
        for r in 0..self.len() {
            for &column in self.ones(r) {
                one_columns[take_next(&mut one_offsets[column as usize])] = r as u32;
            }
            let (columns, row_values) = self.valued(r);
            for (&column, &value) in columns.iter().zip(row_values) {
                let k = take_next(&mut value_offsets[column as usize]);
                value_columns[k] = r as u32;
                values[k] = value;
            }
        }
        SparseRows { one_starts, one_columns, value_starts, value_columns, values }
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        self.one_starts.len() - 1
    }

    /// True if there is no row.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Number of entries of all rows together.
    pub fn n_entries(&self) -> usize {
        self.one_columns.len() + self.values.len()
    }

    /// Columns with the value one in row `r`.
    #[inline]
    pub fn ones(&self, r: usize) -> &[u32] {
        &self.one_columns[self.one_starts[r]..self.one_starts[r + 1]]
    }

    /// Columns with other values in row `r`, and these values.
    #[inline]
    pub fn valued(&self, r: usize) -> (&[u32], &[f64]) {
        let range = self.value_starts[r]..self.value_starts[r + 1];
        (&self.value_columns[range.clone()], &self.values[range])
    }

    /// Calls `f` with every non-zero column of row `r` and its value.
    #[inline]
    pub fn for_each(&self, r: usize, mut f: impl FnMut(u32, f64)) {
        for &column in self.ones(r) {
            f(column, 1.0);
        }
        let (columns, values) = self.valued(r);
        for (&column, &value) in columns.iter().zip(values) {
            f(column, value);
        }
    }

    /// Non-zero columns of row `r` with their values.
    pub fn row(&self, r: usize) -> impl Iterator<Item = (u32, f64)> + Clone + '_ {
        let (columns, values) = self.valued(r);
        let ones = self.ones(r).iter().map(|&column| (column, 1.0));
        ones.chain(columns.iter().copied().zip(values.iter().copied()))
    }
}

/// Offsets of the entries of each column once they are sorted by column.
fn column_starts(columns: &[u32], n_columns: usize) -> Vec<usize> {
    let mut column_starts = vec![0; n_columns + 1];
    columns.iter().for_each(|&column| column_starts[column as usize + 1] += 1);
    (0..n_columns).for_each(|column| column_starts[column + 1] += column_starts[column]);
    column_starts
}

/// Returns the offset and advances it.
fn take_next(offset: &mut usize) -> usize {
    *offset += 1;
    *offset - 1
}

#[cfg(test)]
mod tests {
    use super::*;
    use crf_testing::cases;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(cases(256))]

        #[test]
        fn turning_over_twice_changes_nothing(rows in prop::collection::vec(
            prop::collection::btree_map(0..7_u32, prop_oneof![Just(1.0), Just(2.5), Just(-1.0)], 0..5), 0..9)) {
            let mut matrix = SparseRows::default();
            rows.iter().for_each(|row| matrix.push(row.iter().map(|(&column, &value)| (column, value))));
            let transposed = matrix.transposed(7);
            for (r, row) in rows.iter().enumerate() {
                for column in 0..7 {
                    let found = transposed.row(column as usize).find(|(at, _)| *at == r as u32);
                    prop_assert_eq!(found.map(|(_, value)| value), row.get(&column).copied());
                }
            }
            prop_assert_eq!(transposed.transposed(rows.len()), matrix);
        }
    }
}
