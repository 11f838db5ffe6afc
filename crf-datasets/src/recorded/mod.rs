//! Recorded data (plugins): sources that load real data from files below the directory CRF_DATA.
//!
//! `file` reads files of any format. The other sources each know one public data set, in the form
//! in which it is distributed or in one table. Start with `hyphen.rs`; `table.rs` reads the tables
//! of recordings. Files are parsed with the room `text`: every error names file, line and column,
//! and a missing file says where to get it.

pub(crate) mod activity_older;
pub(crate) mod file;
pub(crate) mod gesture_phase;
pub(crate) mod gestures;
pub(crate) mod hyphen;
pub(crate) mod nettalk;
pub(crate) mod ocr;
pub(crate) mod table;

pub use activity_older::{ActivityOlder, Room};
pub use file::File;
pub use gesture_phase::GesturePhase;
pub use gestures::Gestures;
pub use hyphen::Hyphen;
pub use nettalk::{Nettalk, Spoken};
pub use ocr::Ocr;
