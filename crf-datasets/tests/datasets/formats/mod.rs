//! Tests of the file formats.
mod files;
mod format_faults;
mod graphs;
mod long_lines;
mod reading_and_writing;
