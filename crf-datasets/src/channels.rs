use crf_core::{Channel, ChannelKind};

/// Channels of real numbers with the given names.
pub(crate) fn real(names: impl IntoIterator<Item = String>) -> Vec<Channel> {
    names.into_iter().map(|name| Channel { name, kind: ChannelKind::Real }).collect()
}

/// Channels `NAME.x` and `NAME.y` for each object.
pub(crate) fn coordinates(objects: &[String]) -> Vec<Channel> {
    real(objects.iter().flat_map(|name| [format!("{name}.x"), format!("{name}.y")]))
}
