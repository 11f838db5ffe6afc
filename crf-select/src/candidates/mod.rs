//! All candidate features under one objective, and what trains subsets of them.
//!
//! Every selector that trains looks at the candidates through `objective.rs`: one pass over the data
//! gives the derivative of each of them. Nothing here knows a selector.

pub(crate) mod function_columns;
pub(crate) mod objective;
pub(crate) mod path_reporter;
pub(crate) mod proximal_newton;
pub(crate) mod warm_steps;
pub(crate) mod working_list;
