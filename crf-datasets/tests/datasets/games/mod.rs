//! Tests of the games of robots.
mod games;
mod soccer;
mod tag;
