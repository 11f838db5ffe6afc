//! HTML pages: one per run, the overview of all runs, growth of time with size, comparisons with
//! other programs.
//!
//! Start with `run.rs`, the page of one run; `site.rs` builds and links all pages from records on
//! disk. Pages need neither network nor scripts.

pub(crate) mod growth;
pub(crate) mod overview;
pub(crate) mod peers;
pub(crate) mod run;
pub(crate) mod site;
