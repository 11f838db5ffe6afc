//! Tests of the room `scoring`.

mod bundles;
mod dense_runs;
mod merged_features;
mod scorer;
