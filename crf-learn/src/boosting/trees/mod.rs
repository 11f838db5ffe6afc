//! Regression trees over observation functions, fitted by weighted least squares.
//!
//! Functions become attributes ([`Attributes`]): numbers cut into bins, and symbols, whose tests
//! exclude each other. A position is then a sparse row of bins, and a tree asks about one attribute
//! at a time, or about the previous label. Trees are fitted to [`Cells`] by [`Grower`];
//! [`Tree::walk`] evaluates a tree for a set of previous labels at once. Start with `cells.rs` and
//! `grow.rs`.

mod attributes;
mod binned;
mod cells;
mod grow;
mod histogram;
mod row;
mod tree;

pub(crate) use attributes::Attributes;
pub(crate) use binned::Binned;
pub(crate) use cells::{Cells, Place};
pub(crate) use grow::{Grower, Memory};
pub use histogram::Symbols;
pub(crate) use histogram::{Sum, Weighing};
pub(crate) use row::Row;
pub(crate) use tree::{Node, Test, Tree};
