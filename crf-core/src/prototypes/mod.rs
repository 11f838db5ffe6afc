//! The observation functions that need no knowledge of a domain; each file is one rule.

mod conjunction;
mod equals;
mod first;
mod inner;
mod lag;
mod normalised;
mod one;
mod power;
mod threshold;
mod value;
mod window;

pub use conjunction::Conjunction;
pub use equals::Equals;
pub use first::First;
pub use lag::Lag;
pub use normalised::Normalised;
pub use one::One;
pub use power::Power;
pub use threshold::{Side, Threshold};
pub use value::RawValue;
pub use window::{Over, Window};

use crate::error::{Error, Result};
use crate::{ChannelKind, Schema};

/// The numbers of the named channels, or of all that are of the wanted kind when none is named.
fn channels(schema: &Schema, names: &[String], symbolic: bool) -> Result<Vec<usize>> {
    let fits = |c: usize| matches!(schema.channels()[c].kind, ChannelKind::Symbol(_)) == symbolic;
    if names.is_empty() {
        return Ok((0..schema.channels().len()).filter(|&c| fits(c)).collect());
    }
    let want = if symbolic { "symbols" } else { "real numbers" };
    let find = |name: &String| match schema.channel(name)? {
        c if fits(c) => Ok(c),
        _ => Err(Error::setting("channels", format!("channels of {want}"), format!("`{name}`"))),
    };
    names.iter().map(find).collect()
}
