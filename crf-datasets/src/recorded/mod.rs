//! Sources that load real data, found through `CRF_DATA`.

pub(crate) mod activity_older;
pub(crate) mod file;
pub(crate) mod gesture_phase;
pub(crate) mod gestures;
pub(crate) mod hyphen;
pub(crate) mod nettalk;
pub(crate) mod ocr;
pub(crate) mod table;
