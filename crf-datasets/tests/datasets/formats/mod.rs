//! Tests of the file formats.
mod files;
mod format_faults;
mod formats;
mod graphs;
