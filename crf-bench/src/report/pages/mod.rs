//! HTML pages: one a run, the overview of all runs, growth of time with size, and comparisons with other programs.
//!
//! `run.rs` is the page of one run; `site.rs` links all of them.

pub(crate) mod growth;
pub(crate) mod overview;
pub(crate) mod peers;
pub(crate) mod run;
pub(crate) mod site;
