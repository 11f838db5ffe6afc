//! Tests of the room `optimizers`.

mod stochastic;
