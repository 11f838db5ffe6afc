//! The plugins that are linked, explained by their own documentation.

pub(crate) mod example;
pub(crate) mod kind;
pub(crate) mod manual;
