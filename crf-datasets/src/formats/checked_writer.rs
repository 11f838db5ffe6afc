use std::fmt::Display;
use std::io;

use crf_core::{Channel, ChannelKind, Dataset, Error, Result};

use crate::formats::label_name::{LABEL, is_label};
use crate::text::lines::BYTE_ORDER_MARK;

/// Checks before and while data are written: refuses data that the format cannot hold.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CheckedWriter<'a> {
    pub(crate) tag: &'static str,
    pub(crate) data: &'a Dataset,
}

impl<'a> CheckedWriter<'a> {
    /// Checks for a format of chains: refuses graphs.
    pub(crate) fn chains(tag: &'static str, data: &'a Dataset) -> Result<Self> {
        let writer = CheckedWriter::graphs(tag, data)?;
        if data.is_chains() { Ok(writer) } else { Err(writer.cannot("hold graphs; `jsonl` can")) }
    }

    /// Checks for a format of graphs: refuses several kinds of node.
    pub(crate) fn graphs(tag: &'static str, data: &'a Dataset) -> Result<Self> {
        let writer = CheckedWriter { tag, data };
        match data.schema().kinds() {
            [_] => Ok(writer),
            kinds => Err(writer.cannot(&format!("hold {} kinds of node; no format can", kinds.len()))),
        }
    }

    /// Refuses channels other than a single bag.
    pub(crate) fn one_bag(&self) -> Result<()> {
        match self.data.schema().channels() {
            [Channel { kind: ChannelKind::Bag(_), .. }] => Ok(()),
            channels => match channels.iter().find(|channel| !matches!(channel.kind, ChannelKind::Bag(_))) {
                Some(channel) => Err(self.cannot_hold(channel)),
                None => {
                    Err(self.cannot(&format!("hold {} channels; it holds one of attributes", channels.len())))
                }
            },
        }
    }

    /// Refuses weights and empty sequences, which plain rows cannot hold.
    pub(crate) fn plain_rows(&self) -> Result<()> {
        self.no_empty_sequence()?;
        match (0..self.data.len()).find(|&i| self.data.weight(i) != 1.0) {
            Some(i) => {
                let (i, weight) = (i + 1, self.data.weight(i));
                let what = format!("hold the weight {weight} of sequence {i}; `crfsuite` and `jsonl` can");
                Err(self.cannot(&what))
            }
            None => Ok(()),
        }
    }

    /// Refuses sequences without positions.
    pub(crate) fn no_empty_sequence(&self) -> Result<()> {
        match (0..self.data.len()).find(|&i| self.data.range(i).is_empty()) {
            Some(i) => Err(self.cannot(&format!("hold sequence {}, which is empty; `jsonl` can", i + 1))),
            None => Ok(()),
        }
    }

    /// Error about a channel of a kind that the format cannot hold.
    pub(crate) fn cannot_hold(&self, channel: &Channel) -> Error {
        let others = match channel.kind {
            ChannelKind::Real => "`csv` can",
            ChannelKind::Symbol(_) => "`conll` and `csv` can",
            ChannelKind::Bag(_) => "`crfsuite` and `jsonl` can",
        };
        self.cannot(&format!("hold channel `{}` of {}; {others}", channel.name, channel.kind.holds()))
    }

    /// Error about position `t` of sequence `i`.
    pub(crate) fn error_at(&self, i: usize, t: usize, what: impl Display) -> Error {
        self.cannot(&what.to_string()).at(format!("sequence {}, position {}", i + 1, t + 1))
    }

    /// Name of a symbol. A symbol that is not in the schema is an error: its name was not kept.
    pub(crate) fn symbol(&self, i: usize, t: usize, channel: usize, index: u32) -> Result<&'a str> {
        let Channel { name, kind } = &self.data.schema().channels()[channel];
        match kind.alphabet().filter(|alphabet| (index as usize) < alphabet.len()) {
            Some(alphabet) => Ok(alphabet.name(index)),
            None => {
                let what =
                    format!("write a symbol that channel `{name}` does not know; read without a schema");
                Err(self.error_at(i, t, what))
            }
        }
    }

    /// Label at a position; `None` if unknown. Refuses names that no reader takes for a label.
    pub(crate) fn label(&self, i: usize, t: usize) -> Result<Option<&'a str>> {
        match self.data.sequence(i).labels()[t].map(|label| self.data.label_name(0, label)) {
            Some(name) if !is_label(name) => {
                Err(self.error_at(i, t, format!("hold the label {name:?}, which is not {LABEL}")))
            }
            label => Ok(label),
        }
    }

    /// Label at a position, or an empty text if it is unknown.
    pub(crate) fn label_or_empty(&self, i: usize, t: usize) -> Result<&'a str> {
        Ok(self.label(i, t)?.unwrap_or_default())
    }

    /// Refuses a line that begins with a byte order mark, which readers refuse or take away.
    pub(crate) fn no_mark(&self, i: usize, t: usize, line: &str) -> Result<()> {
        match line.starts_with(BYTE_ORDER_MARK) {
            true => Err(self.error_at(i, t, "hold a byte order mark at the beginning of a line")),
            false => Ok(()),
        }
    }

    /// Refuses a name that holds one of the given characters; `others` says which format can hold
    /// it.
    pub(crate) fn refuse_chars(
        &self,
        i: usize,
        t: usize,
        name: &str,
        forbidden: &[char],
        others: &str,
    ) -> Result<()> {
        match name.chars().find(|c| forbidden.contains(c)) {
            Some(c) => Err(self.error_at(i, t, format!("hold {c:?} in the name {name:?}{others}"))),
            None => Ok(()),
        }
    }

    /// Error about something that the format cannot do.
    pub(crate) fn cannot(&self, what: &str) -> Error {
        Error::Unsupported { tag: self.tag, what: format!("cannot {what}") }
    }
}

/// Error of a failed write.
pub(crate) fn write_error(source: io::Error) -> Error {
    Error::Io { path: "output".into(), source }
}
