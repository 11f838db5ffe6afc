use std::borrow::Cow;
use std::fmt;

use crf_core::{Edge, Label};
use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};

use crate::formats::dataset_sink::DatasetSink;
use crate::formats::jsonl::edges::Edges;

/// What one line says.
#[derive(Debug)]
pub(crate) struct Parts {
    pub(crate) attributes: Vec<(u32, f64)>,
    pub(crate) ends: Vec<usize>, // [positions], into `attributes`
    pub(crate) labels: Option<Vec<Option<Label>>>,
    pub(crate) edges: Option<Vec<Edge>>,
    pub(crate) weight: f64,
}

impl Default for Parts {
    fn default() -> Self {
        Parts { attributes: Vec::new(), ends: Vec::new(), labels: None, edges: None, weight: 1.0 }
    }
}

impl Parts {
    pub(crate) fn clear(&mut self) {
        self.attributes.clear();
        self.ends.clear();
        (self.labels, self.edges, self.weight) = (None, None, 1.0);
    }
}

/// Reads a line; symbols and labels get their numbers as they come, and no name is kept.
pub(crate) struct Object<'s, 'a> {
    pub(crate) sink: &'s mut DatasetSink<'a>,
    pub(crate) parts: &'s mut Parts,
}

impl<'de> DeserializeSeed<'de> for Object<'_, '_> {
    type Value = ();
    fn deserialize<D: Deserializer<'de>>(self, json: D) -> Result<(), D::Error> {
        json.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Object<'_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object with `x`, and `y`, `edges` and `weight` if known")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let Object { sink, parts } = self;
        let (mut seen_x, mut seen_weight) = (false, false);
        while let Some(Text(key)) = map.next_key()? {
            match key.as_ref() {
                "x" if !std::mem::replace(&mut seen_x, true) => {
                    map.next_value_seed(Positions { sink, parts })?;
                }
                "y" if parts.labels.is_none() => {
                    let mut labels = Vec::new();
                    if map.next_value_seed(Labels { sink, labels: &mut labels })? {
                        parts.labels = Some(labels);
                    }
                }
                "edges" if parts.edges.is_none() => {
                    let positions = if seen_x { parts.ends.len() } else { usize::MAX };
                    parts.edges = map.next_value_seed(Edges { sink, positions })?;
                }
                "weight" if !std::mem::replace(&mut seen_weight, true) => {
                    Number(parts.weight) = map.next_value()?;
                    if parts.weight < 0.0 {
                        let got = format!("{}, expected a weight of at least 0", parts.weight);
                        return Err(A::Error::custom(got));
                    }
                }
                known @ ("x" | "y" | "edges" | "weight") => {
                    return Err(A::Error::custom(format!("a second one, expected one `{known}`")));
                }
                other => {
                    let got = format!("the key `{other}`, expected only `x`, `y`, `edges` and `weight`");
                    return Err(A::Error::custom(got));
                }
            }
        }
        if seen_x { Ok(()) } else { Err(A::Error::custom("none, expected a key `x`")) }
    }
}

/// A number.
struct Number(f64);

impl<'de> Deserialize<'de> for Number {
    fn deserialize<D: Deserializer<'de>>(json: D) -> Result<Self, D::Error> {
        struct Any;
        impl Visitor<'_> for Any {
            type Value = Number;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a number")
            }
            fn visit_i64<E>(self, number: i64) -> Result<Number, E> {
                Ok(Number(number as f64))
            }
            fn visit_u64<E>(self, number: u64) -> Result<Number, E> {
                Ok(Number(number as f64))
            }
            fn visit_f64<E>(self, number: f64) -> Result<Number, E> {
                Ok(Number(number))
            }
        }
        json.deserialize_any(Any)
    }
}

/// A string that is copied only when it has escapes.
#[derive(Deserialize)]
#[serde(transparent)]
pub(crate) struct Text<'a>(#[serde(borrow)] pub(crate) Cow<'a, str>);

/// Reads `x`.
struct Positions<'s, 'a> {
    sink: &'s mut DatasetSink<'a>,
    parts: &'s mut Parts,
}

impl<'de> DeserializeSeed<'de> for Positions<'_, '_> {
    type Value = ();
    fn deserialize<D: Deserializer<'de>>(self, json: D) -> Result<(), D::Error> {
        json.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for Positions<'_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of positions")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<(), A::Error> {
        let Positions { sink, parts } = self;
        while seq.next_element_seed(Bag { sink, attributes: &mut parts.attributes })?.is_some() {
            parts.ends.push(parts.attributes.len());
        }
        Ok(())
    }
}

/// Reads one position.
struct Bag<'s, 'a> {
    sink: &'s mut DatasetSink<'a>,
    attributes: &'s mut Vec<(u32, f64)>,
}

impl<'de> DeserializeSeed<'de> for Bag<'_, '_> {
    type Value = ();
    fn deserialize<D: Deserializer<'de>>(self, json: D) -> Result<(), D::Error> {
        json.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Bag<'_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object or a list of attributes")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(Text(name)) = map.next_key()? {
            let Number(value) = map.next_value()?;
            self.attributes.push((self.sink.symbol(0, &name), value));
        }
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<(), A::Error> {
        while let Some(Text(name)) = seq.next_element()? {
            self.attributes.push((self.sink.symbol(0, &name), 1.0));
        }
        Ok(())
    }
}

/// Reads `y`; false when it is `null`.
struct Labels<'s, 'a> {
    sink: &'s mut DatasetSink<'a>,
    labels: &'s mut Vec<Option<Label>>,
}

impl<'de> DeserializeSeed<'de> for Labels<'_, '_> {
    type Value = bool;
    fn deserialize<D: Deserializer<'de>>(self, json: D) -> Result<bool, D::Error> {
        json.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Labels<'_, '_> {
    type Value = bool;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of labels")
    }

    fn visit_unit<E: serde::de::Error>(self) -> Result<bool, E> {
        Ok(false)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<bool, A::Error> {
        while let Some(label) = seq.next_element::<Option<Text<'_>>>()? {
            self.labels.push(label.map(|Text(name)| self.sink.label(&name)));
        }
        Ok(true)
    }
}
