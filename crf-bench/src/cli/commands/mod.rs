//! One file a command: its arguments and its run.

pub(crate) mod check;
pub(crate) mod convert;
pub(crate) mod data;
pub(crate) mod eval;
pub(crate) mod experiment;
pub(crate) mod explain;
pub(crate) mod infer;
pub(crate) mod inspect;
pub(crate) mod list;
pub(crate) mod merge;
pub(crate) mod report;
pub(crate) mod reproduce;
pub(crate) mod schema;
pub(crate) mod show;
pub(crate) mod tag;
pub(crate) mod train;
