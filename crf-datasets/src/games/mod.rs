//! Simulated robots: the games of tag and soccer.
//!
//! Start with `tag.rs`; `motion.rs` moves robots, `sensing.rs` records them.

pub(crate) mod game;
pub(crate) mod motion;
pub(crate) mod plane;
pub(crate) mod sensing;
pub(crate) mod soccer;
pub(crate) mod tag;
