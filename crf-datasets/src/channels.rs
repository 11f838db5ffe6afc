use crf_core::{Channel, ChannelKind};

/// Channels of numbers.
pub(crate) fn real(names: impl IntoIterator<Item = String>) -> Vec<Channel> {
    names.into_iter().map(|name| Channel { name, kind: ChannelKind::Real }).collect()
}

/// The channels `NAME.x` and `NAME.y` of each object.
pub(crate) fn places(objects: &[String]) -> Vec<Channel> {
    real(objects.iter().flat_map(|name| [format!("{name}.x"), format!("{name}.y")]))
}
