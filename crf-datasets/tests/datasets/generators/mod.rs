//! Tests of the generators and of the promises of all sources.
mod sources;
mod statistics;
