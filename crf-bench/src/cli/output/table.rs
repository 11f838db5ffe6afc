use comfy_table::{CellAlignment, Table};
use crf_core::printable;

/// A table in Markdown whose last `n_numbers` columns are numbers.
pub fn markdown<S: ToString>(head: &[S], rows: Vec<Vec<String>>, n_numbers: usize) -> Table {
    let mut table = Table::new();
    table.load_style(comfy_table::presets::ASCII_MARKDOWN);
    table.set_header(head.iter().map(|name| printable(name.to_string())));
    table.add_rows(rows.into_iter().map(|row| row.into_iter().map(printable).collect::<Vec<_>>()));
    for column in table.column_iter_mut().rev().take(n_numbers) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table
}
