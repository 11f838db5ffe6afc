//! Prototypes: plugins that generate observation functions, without knowledge of a domain; each
//! file is one rule.
//!
//! A prototype is fitted on training data and becomes an `Encoder`. Wrapping prototypes (`lag`,
//! `window`, `power`, `threshold`, `normalised`, `conjunction`) hold the fitted prototype inside
//! them as an `Inner` (`inner.rs`). They print the names of their functions in the language of
//! `relational`, whose helpers are in `relational/`; those of `template` are in `template/`.
//!
//! This room may use `data`, `numeric`, and of `features` the trait and the label patterns. Start
//! with `value.rs`, the simplest plugin, then `lag.rs`.

mod attributes;
mod conjunction;
mod equals;
mod first;
mod inner;
mod lag;
mod normalised;
mod one;
mod power;
mod relational;
mod template;
mod threshold;
mod value;
mod window;

pub use attributes::Attributes;
pub use conjunction::Conjunction;
pub use equals::Equals;
pub use first::First;
pub use lag::Lag;
pub use normalised::Normalised;
pub use one::One;
pub use power::Power;
pub(crate) use relational::LABEL_ENDS;
pub use relational::Relational;
pub use template::Template;
pub use threshold::{Side, Threshold};
pub use value::RawValue;
pub use window::{Over, Window};

use crate::Schema;
use crate::error::{Error, Result, require_consistent};

/// Rejects indices of channels that the schema does not have, or that have another type.
fn require_channels(schema: &Schema, channels: impl IntoIterator<Item = usize>, holds: &str) -> Result<()> {
    let known = |c: usize| schema.channels().get(c).is_some_and(|channel| channel.kind.holds() == holds);
    require_consistent(channels.into_iter().all(known))
}

/// Indices of the named channels, or of all channels of the wanted type if none is named.
fn channels(schema: &Schema, names: &[String], holds: &str) -> Result<Vec<usize>> {
    let is_wanted = |c: usize| schema.channels()[c].kind.holds() == holds;
    if names.is_empty() {
        return Ok((0..schema.channels().len()).filter(|&c| is_wanted(c)).collect());
    }
    let find = |name: &String| match schema.channel(name)? {
        c if is_wanted(c) => Ok(c),
        _ => Err(Error::setting("channels", format!("channels of {holds}"), format!("`{name}`"))),
    };
    names.iter().map(find).collect()
}
