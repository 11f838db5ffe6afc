use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::data::dataset::{Dataset, Sequence};
use crate::data::schema::Schema;
use crate::error::{Result, require};
use crate::features::prototype::{EncodedRows, Encoder, Observation, Prototype};
use crate::numeric::serde_numbers;

/// Attributes of bag channels: one function per attribute, with its value.
///
/// An attribute that occurs twice at a position counts once, with the sum of its values.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Attributes {
    /// Bag channels to use; all of them when empty.
    pub channels: Vec<String>,
    /// Minimum number of occurrences in the training data; rarer attributes are dropped. At least
    /// 1.
    pub min_count: u32,
}

impl Default for Attributes {
    fn default() -> Self {
        Attributes { channels: Vec::new(), min_count: 1 }
    }
}

crate::plugin!("prototype", Attributes, "attributes");

#[typetag::serde(name = "attributes")]
impl Prototype for Attributes {
    fn check(&self) -> Result<()> {
        require(self.min_count > 0, "min_count", "at least 1", self.min_count)
    }

    /// Numbers attributes by frequency, so that frequent ones are together in memory.
    fn fit(&self, train: &Dataset) -> Result<Box<dyn Encoder>> {
        let schema = train.schema();
        let mut fitted = Fitted { channels: Vec::new(), n: 0 };
        for c in super::channels(schema, &self.channels, "bags of attributes")? {
            let alphabet = schema.channels()[c].kind.alphabet().expect("only bags were chosen");
            let mut counts = vec![0_u32; alphabet.len()];
            for i in 0..train.len() {
                let x = train.sequence(i);
                for t in 0..x.len() {
                    x.for_each_in_bag(c, t, |attribute, _| {
                        if let Some(count) = counts.get_mut(attribute as usize) {
                            *count = count.saturating_add(1);
                        }
                    });
                }
            }
            let mut order: Vec<u32> = (0..counts.len() as u32).collect();
            order.retain(|&attribute| counts[attribute as usize] >= self.min_count);
            order.sort_by_key(|&attribute| std::cmp::Reverse(counts[attribute as usize]));
            let mut function_of = vec![NO_FUNCTION; counts.len()];
            for attribute in order {
                function_of[attribute as usize] = fitted.n;
                fitted.n += 1;
            }
            fitted.channels.push(ChannelFunctions { channel: c, function_of });
        }
        Ok(Box::new(fitted))
    }
}

/// Functions of attributes; their names are those of the attributes in the schema.
#[derive(Debug, Serialize, Deserialize)]
#[serde(from = "Stored")]
struct Fitted {
    channels: Vec<ChannelFunctions>,
    #[serde(skip_serializing)]
    n: u32,
}

/// Stored form of the functions.
#[derive(Deserialize)]
struct Stored {
    channels: Vec<ChannelFunctions>,
}

impl From<Stored> for Fitted {
    fn from(Stored { channels }: Stored) -> Self {
        let functions = channels.iter().flat_map(|channel| &channel.function_of);
        let n = functions.filter(|&&g| g != NO_FUNCTION).count() as u32;
        Fitted { channels, n }
    }
}

/// Functions of the attributes of one channel.
#[derive(Debug, Serialize, Deserialize)]
struct ChannelFunctions {
    channel: usize,
    #[serde(with = "serde_numbers")]
    function_of: Vec<u32>, // [attributes]
}

/// Marks an attribute without a function, since it was too rare.
const NO_FUNCTION: u32 = u32::MAX;

#[typetag::serde(name = "attributes")]
impl Encoder for Fitted {
    fn observations(&self, schema: &Schema) -> Vec<Observation> {
        let mut all = vec![Observation::new(""); self.n as usize];
        for ChannelFunctions { channel, function_of } in &self.channels {
            let alphabet = schema.channels().get(*channel).and_then(|channel| channel.kind.alphabet());
            let names = alphabet.into_iter().flat_map(|alphabet| alphabet.names().iter());
            for (name, &g) in names.zip(function_of) {
                if let Some(observation) = all.get_mut(g as usize) {
                    name.clone_into(&mut observation.name);
                }
            }
        }
        all
    }

    fn n_plain_functions(&self) -> Option<usize> {
        Some(self.n as usize)
    }

    fn check(&self, schema: &Schema) -> Result<()> {
        let channels = self.channels.iter().map(|functions| functions.channel);
        super::require_channels(schema, channels, "bags of attributes")
    }

    fn encode(&self, x: &Sequence<'_>, out: &mut EncodedRows) {
        for t in 0..x.len() {
            for ChannelFunctions { channel, function_of } in &self.channels {
                x.for_each_in_bag(*channel, t, |attribute, value| {
                    // An attribute that training never saw has an index past the end; one that was
                    // too rare has no function.
                    if let Some(&g) = function_of.get(attribute as usize)
                        && g < self.n
                    {
                        out.push(g, value);
                    }
                });
            }
            out.end_row();
        }
    }
}
