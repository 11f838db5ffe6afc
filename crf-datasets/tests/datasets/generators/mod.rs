//! Tests of the generators and of the promises of all sources.
mod extremes;
mod sources;
mod statistics;
