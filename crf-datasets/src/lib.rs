//! Data of experiments: generators of labelled sequences, loaders of recorded data, and file
//! formats.
//!
//! A [`crf_core::Source`] loads the training, validation and test data of one trial; everything
//! random in it comes from the seed it is given. A [`Format`] reads and writes files. Both are
//! plugins: one file per plugin, named after its tag, with the settings as a struct. Turning
//! observations into features is left to `crf_core::prototypes`.
//!
//! Rooms, each of which uses only those above it:
//!
//! - `text`: files, and their checked lines and fields;
//! - `formats`: the file formats, and the trait [`Format`];
//! - `recorded`: sources of real data, among them `file`, which reads any format;
//! - `generators`: sources that draw data from a known distribution;
//! - `games`: simulated robots, with the splits of `generators`;
//! - `wrappers`: sources around other sources.
//!
//! Beside them are small helpers that any room may use: `channels.rs`, `labels.rs`, `checks.rs` and
//! `rebuild.rs`, which copies datasets with other edges or in another order.
//!
#![doc = include_str!("../../docs/from-rust.md")]
#![forbid(unsafe_code)]

mod channels;
mod checks;
mod labels;
mod rebuild;

mod formats;
mod games;
mod generators;
mod recorded;
mod text;
mod wrappers;

pub use crate::formats::*;
pub use crate::games::*;
pub use crate::generators::*;
pub use crate::recorded::*;
pub use crate::text::*;
pub use crate::wrappers::*;
