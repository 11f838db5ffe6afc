use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::data::dataset::{Dataset, Sequence};
use crate::error::{Error, Result, require_consistent};
use crate::features::prototype::{EncodedRows, Encoder, Observation, Prototype};
use crate::{Alphabet, Schema};

/// Symbol tests: 1 where a symbolic channel has a certain symbol (Vail 2008, equation 2.15).
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Equals {
    /// Symbolic channels to use; all of them when empty.
    pub channels: Vec<String>,
    /// Symbols to test; the whole alphabet of the channel when empty.
    pub symbols: Vec<String>,
}

crate::plugin!("prototype", Equals, "equals", example = r#"channels = ["coin"]"#);

#[typetag::serde(name = "equals")]
impl Prototype for Equals {
    fn check(&self) -> Result<()> {
        Ok(())
    }

    fn fit(&self, train: &Dataset) -> Result<Box<dyn Encoder>> {
        let schema = train.schema();
        let channels = super::channels(schema, &self.channels, "symbols")?;
        let mut fitted = Fitted { channels: Vec::new(), names: Vec::new() };
        for &c in &channels {
            let wanted =
                |name: &str| self.symbols.is_empty() || self.symbols.iter().any(|symbol| symbol == name);
            let mut test_of = Vec::new();
            for name in symbols(schema, c).names().iter() {
                test_of.push(wanted(name).then_some(fitted.names.len() as u32));
                if wanted(name) {
                    fitted.names.push((format!("{}={name}", schema.channels()[c].name), c as u32));
                }
            }
            fitted.channels.push((c, test_of));
        }
        let known = |symbol: &&String| channels.iter().any(|&c| symbols(schema, c).number(symbol).is_some());
        if let Some(symbol) = self.symbols.iter().find(|symbol| !known(symbol)) {
            let names = channels.iter().flat_map(|&c| symbols(schema, c).names().iter());
            return Err(Error::unknown("symbol", symbol, names));
        }
        Ok(Box::new(fitted))
    }
}

fn symbols(schema: &Schema, channel: usize) -> &Alphabet {
    schema.channels()[channel].kind.alphabet().expect("only symbolic channels were chosen")
}

#[derive(Debug, Serialize, Deserialize)]
struct Fitted {
    channels: Vec<(usize, Vec<Option<u32>>)>, // channel, test of each of its symbols
    names: Vec<(String, u32)>,                // name and channel of each test
}

#[typetag::serde(name = "equals")]
impl Encoder for Fitted {
    fn observations(&self, _schema: &Schema) -> Vec<Observation> {
        let test =
            |(name, channel): &(String, u32)| Observation { group: Some(*channel), ..Observation::new(name) };
        self.names.iter().map(test).collect()
    }

    fn check(&self, schema: &Schema) -> Result<()> {
        let mut tests = self.channels.iter().flat_map(|(_, test_of)| test_of.iter().flatten());
        require_consistent(tests.all(|&test| (test as usize) < self.names.len()))?;
        super::require_channels(schema, self.channels.iter().map(|&(channel, _)| channel), "symbols")
    }

    fn reach(&self) -> Option<(usize, usize)> {
        Some((0, 0))
    }

    fn encode(&self, x: &Sequence<'_>, out: &mut EncodedRows) {
        for t in 0..x.len() {
            for (channel, test_of) in &self.channels {
                // A symbol that training never saw has an index past the end and passes no test.
                if let Some(&Some(test)) = test_of.get(x.symbol(*channel)[t] as usize) {
                    out.push(test, 1.0);
                }
            }
            out.end_row();
        }
    }
}
