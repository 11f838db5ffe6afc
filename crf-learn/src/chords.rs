use crf_core::Rows;
use hashbrown::HashMap;

/// A matrix in which sets of columns that often come together are columns of their own.
#[derive(Debug)]
pub(crate) struct Chords {
    /// The rows, with the number of a chord in place of its columns; chords are numbered behind all columns.
    pub(crate) rows: Rows,
    /// The columns of each chord.
    pub(crate) members: Rows,
}

impl Chords {
    /// Looks for chords among the ones of each row that follow each other and are of one group, `group_of` naming that of each
    /// column.
    ///
    /// Neighbours often come together: the pixels of a stroke, nested thresholds. A chord saves all but one of its entries
    /// wherever it is used, in products with the matrix and with its transpose, and has its members read once for both.
    pub(crate) fn find(rows: &Rows, group_of: &[u32]) -> Self {
        let runs = |r| rows.ones(r).chunk_by(|a, b| group_of[*a as usize] == group_of[*b as usize]);
        let mut uses: HashMap<&[u32], usize> = HashMap::new();
        for r in 0..rows.len() {
            runs(r).filter(|run| run.len() > 1).for_each(|run| *uses.entry(run).or_default() += 1);
        }
        uses.retain(|run, uses| *uses * (run.len() - 1) > 2 * run.len());
        let mut numbers: HashMap<&[u32], u32> = HashMap::with_capacity(uses.len());
        let (mut with, mut members, mut entries) = (Rows::default(), Rows::default(), Vec::new());
        for r in 0..rows.len() {
            for run in runs(r) {
                if uses.contains_key(run) {
                    let number = *numbers.entry(run).or_insert_with(|| {
                        members.push(run.iter().map(|&column| (column, 1.0)));
                        (group_of.len() + members.len() - 1) as u32
                    });
                    entries.push((number, 1.0));
                } else {
                    entries.extend(run.iter().map(|&column| (column, 1.0)));
                }
            }
            let (columns, values) = rows.valued(r);
            entries.extend(columns.iter().copied().zip(values.iter().copied()));
            with.push(entries.drain(..));
        }
        Chords { rows: with, members }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn rows_with_chords_are_the_rows(rows in prop::collection::vec(prop::collection::btree_set(0..12_u32, 0..9), 0..60)) {
            let mut matrix = Rows::default();
            for row in &rows {
                matrix.push(row.iter().map(|&column| (column, if column % 5 == 4 { 0.5 } else { 1.0 })));
            }
            let group_of: Vec<u32> = (0..12).map(|column| column / 4).collect();
            let Chords { rows: with, members } = Chords::find(&matrix, &group_of);
            prop_assert!(with.n_entries() <= matrix.n_entries());
            for (r, row) in rows.iter().enumerate() {
                let spread = with.row(r).flat_map(|(column, value)| match column.checked_sub(12) {
                    None => vec![(column, value)],
                    Some(chord) => members.row(chord as usize).collect(),
                });
                let mut found: Vec<u32> = spread.map(|(column, _)| column).collect();
                found.sort_unstable();
                prop_assert!(found.iter().eq(row));
            }
        }
    }

    #[test]
    fn what_comes_together_is_one_entry() {
        let mut matrix = Rows::default();
        (0..9).for_each(|_| matrix.push([(0, 1.0), (1, 1.0), (3, 1.0), (4, 1.0)]));
        let Chords { rows, members } = Chords::find(&matrix, &[0, 0, 0, 0, 1]);
        assert_eq!((rows.ones(8), members.len(), members.ones(0)), (&[5, 4][..], 1, &[0, 1, 3][..]));
    }
}
