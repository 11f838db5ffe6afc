//! Games of simulated robots (plugins): `tag` and `soccer`.
//!
//! Start with `tag.rs`, the settings, then `tag/simulation.rs`, the game. `game.rs` records a game
//! frame by frame as a sequence; `motion.rs` moves robots, `sensing.rs` tracks them as cameras
//! would, and `plane.rs` is the geometry. The sizes of the splits come from the room `generators`.

pub(crate) mod game;
pub(crate) mod motion;
pub(crate) mod plane;
pub(crate) mod sensing;
pub(crate) mod soccer;
pub(crate) mod tag;

pub use motion::Motion;
pub use sensing::Sensing;
pub use soccer::Soccer;
pub use tag::{Tag, TargetScheme};
