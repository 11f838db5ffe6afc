//! Text files: where they are found, how they are opened, and their checked lines and fields.
//!
//! Uses no other room. Start with `input.rs`, which opens a file and names it in messages;
//! `lines.rs` reads it line by line and refuses what is no text; `fields.rs` reads the fields of
//! one line. Every error names file, line and column. `data_dir.rs` finds the files of recorded
//! data below CRF_DATA.

pub(crate) mod data_dir;
pub(crate) mod fields;
pub(crate) mod input;
pub(crate) mod lines;

pub use input::{Text, open};
pub use lines::append_line;
