use std::borrow::Cow;
use std::fmt;

use crf_core::{Edge, Label};
use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};

use crate::formats::dataset_sink::DatasetSink;
use crate::formats::jsonl::edges::Edges;
use crate::formats::label_name::LABEL;

/// Contents of one line.
#[derive(Debug)]
pub(crate) struct LineContents {
    pub(crate) attributes: Vec<(u32, f64)>,
    pub(crate) ends: Vec<usize>, // [positions], end of each position in `attributes`
    pub(crate) labels: Option<Vec<Option<Label>>>,
    pub(crate) edges: Option<Vec<Edge>>,
    pub(crate) weight: f64,
}

impl Default for LineContents {
    fn default() -> Self {
        LineContents { attributes: Vec::new(), ends: Vec::new(), labels: None, edges: None, weight: 1.0 }
    }
}

impl LineContents {
    pub(crate) fn clear(&mut self) {
        self.attributes.clear();
        self.ends.clear();
        self.labels = None;
        self.edges = None;
        self.weight = 1.0;
    }
}

/// Reads the object of one line; attributes and labels are replaced by their indices at once, so no
/// name is kept.
pub(crate) struct Object<'s, 'a> {
    pub(crate) sink: &'s mut DatasetSink<'a>,
    pub(crate) contents: &'s mut LineContents,
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
        let Object { sink, contents } = self;
        let mut seen_x = false;
        let mut seen_weight = false;
        while let Some(JsonString(key)) = map.next_key()? {
            match key.as_ref() {
                "x" if !std::mem::replace(&mut seen_x, true) => {
                    map.next_value_seed(Positions { sink, contents })?;
                }
                "y" if contents.labels.is_none() => {
                    let mut labels = Vec::new();
                    if map.next_value_seed(Labels { sink, labels: &mut labels })? {
                        contents.labels = Some(labels);
                    }
                }
                "edges" if contents.edges.is_none() => {
                    let n_positions = if seen_x { contents.ends.len() } else { usize::MAX };
                    contents.edges = map.next_value_seed(Edges { sink, n_positions })?;
                }
                "weight" if !std::mem::replace(&mut seen_weight, true) => {
                    JsonNumber(contents.weight) = map.next_value()?;
                    if contents.weight < 0.0 {
                        let got = format!("{}, expected a weight of at least 0", contents.weight);
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

/// JSON number.
struct JsonNumber(f64);

impl<'de> Deserialize<'de> for JsonNumber {
    fn deserialize<D: Deserializer<'de>>(json: D) -> Result<Self, D::Error> {
        struct Any;
        impl Visitor<'_> for Any {
            type Value = JsonNumber;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a number")
            }
            fn visit_i64<E>(self, number: i64) -> Result<JsonNumber, E> {
                Ok(JsonNumber(number as f64))
            }
            fn visit_u64<E>(self, number: u64) -> Result<JsonNumber, E> {
                Ok(JsonNumber(number as f64))
            }
            fn visit_f64<E>(self, number: f64) -> Result<JsonNumber, E> {
                Ok(JsonNumber(number))
            }
        }
        json.deserialize_any(Any)
    }
}

/// JSON string, copied only if it has escapes.
#[derive(Deserialize)]
#[serde(transparent)]
pub(crate) struct JsonString<'a>(#[serde(borrow)] pub(crate) Cow<'a, str>);

/// Reads the list of positions `x`.
struct Positions<'s, 'a> {
    sink: &'s mut DatasetSink<'a>,
    contents: &'s mut LineContents,
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
        let Positions { sink, contents } = self;
        while seq.next_element_seed(Bag { sink, attributes: &mut contents.attributes })?.is_some() {
            contents.ends.push(contents.attributes.len());
        }
        Ok(())
    }
}

/// Reads the attributes of one position.
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
        while let Some(JsonString(name)) = map.next_key()? {
            let JsonNumber(value) = map.next_value()?;
            self.attributes.push((self.sink.symbol(0, &name), value));
        }
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<(), A::Error> {
        while let Some(JsonString(name)) = seq.next_element()? {
            self.attributes.push((self.sink.symbol(0, &name), 1.0));
        }
        Ok(())
    }
}

/// Reads the list of labels `y`; false if it is `null`.
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
        while let Some(label) = seq.next_element::<Option<JsonString<'_>>>()? {
            let known = label.map(|JsonString(name)| {
                let unfit = || A::Error::custom(format!("`{name}`, expected {LABEL}, or null"));
                self.sink.label(&name).ok_or_else(unfit)
            });
            self.labels.push(known.transpose()?);
        }
        Ok(true)
    }
}
