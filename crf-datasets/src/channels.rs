use crf_core::{Channel, ChannelKind};

/// Channels of numbers.
pub(crate) fn real(names: impl IntoIterator<Item = String>) -> Vec<Channel> {
    names.into_iter().map(|name| Channel { name, kind: ChannelKind::Real }).collect()
}
