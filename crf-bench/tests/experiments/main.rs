//! Experiments from their files to their reports, in one program.

mod command;
mod common;
mod config_errors;
mod data;
mod discovery;
mod durable;
mod run;
