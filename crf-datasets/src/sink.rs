use std::sync::Arc;

use crf_core::{Channel, ChannelKind, Dataset, DatasetBuilder, Error, Label, Next, Result, Schema, Value};

/// Takes what a format reads and hands it on as datasets.
pub(crate) struct Sink<'a> {
    schema: Option<&'a Arc<Schema>>,
    data: DatasetBuilder,
    batch: usize,
    emit: &'a mut dyn FnMut(Dataset) -> Result<Next>,
    open: usize,   // positions of the open sequence
    closed: usize, // positions of the closed ones that were not handed on
    waiting: bool, // whether there are closed sequences that were not handed on
    any: bool,
}

impl<'a> Sink<'a> {
    /// A sink for data with the given channels, which are held against the schema if there is one.
    pub(crate) fn new(
        name: &str,
        channels: Vec<Channel>,
        schema: Option<&'a Arc<Schema>>,
        batch: usize,
        emit: &'a mut dyn FnMut(Dataset) -> Result<Next>,
    ) -> Result<Self> {
        let data = match schema {
            Some(schema) => {
                let kind = |channel: &Channel| std::mem::discriminant(&channel.kind);
                let same = |(a, b): (&Channel, &Channel)| a.name == b.name && kind(a) == kind(b);
                let known = schema.channels();
                if known.len() != channels.len() || !known.iter().zip(&channels).all(same) {
                    let (want, got) = (describe(known), describe(&channels));
                    return Err(Error::data(format!("{name}: expected {want}, got {got}")));
                }
                DatasetBuilder::new(schema.clone())
            }
            None => DatasetBuilder::growing(channels).map_err(|error| error.at(name))?,
        };
        Ok(Sink { schema, data, batch, emit, open: 0, closed: 0, waiting: false, any: false })
    }

    #[inline]
    pub(crate) fn symbol(&mut self, channel: usize, name: &str) -> u32 {
        self.data.symbol(channel, name)
    }

    pub(crate) fn label(&mut self, name: &str) -> Label {
        self.data.label(name)
    }

    pub(crate) fn push(&mut self, values: &[Value<'_>], label: Option<Label>) -> Result<()> {
        self.open += 1;
        self.data.push(values, label)
    }

    /// How many positions the open sequence has.
    pub(crate) fn open(&self) -> usize {
        self.open
    }

    /// Closes the open sequence, even one without positions, and hands the batch on when it is full.
    pub(crate) fn end(&mut self, weight: f64) -> Result<Next> {
        self.data.end_chain()?;
        self.data.weigh_last(weight)?;
        self.closed += std::mem::take(&mut self.open);
        (self.any, self.waiting) = (true, true);
        match self.schema {
            Some(schema) if self.closed >= self.batch => {
                let full = std::mem::replace(&mut self.data, DatasetBuilder::new(schema.clone()));
                (self.closed, self.waiting) = (0, false);
                (self.emit)(full.finish())
            }
            _ => Ok(Next::Continue),
        }
    }

    /// Hands on what is left; an error when there was no sequence at all.
    pub(crate) fn finish(self, nothing: impl FnOnce() -> Error) -> Result<()> {
        if !self.any {
            return Err(nothing());
        }
        if self.waiting {
            (self.emit)(self.data.finish())?;
        }
        Ok(())
    }
}

fn describe(channels: &[Channel]) -> String {
    let one = |channel: &Channel| format!("`{}` ({})", channel.name, channel.kind.holds());
    match channels {
        [] => "no channel".to_owned(),
        [channel] => format!("the channel {}", one(channel)),
        _ => format!("the channels {}", channels.iter().map(one).collect::<Vec<_>>().join(", ")),
    }
}

/// The one channel of the formats that hold attributes.
pub(crate) fn attributes() -> Vec<Channel> {
    vec![Channel { name: "attributes".into(), kind: ChannelKind::Bag(Default::default()) }]
}
