//! Tests of the room `optimizers`.

mod refusals;
mod stochastic;
