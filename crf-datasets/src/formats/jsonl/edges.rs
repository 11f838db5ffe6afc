use std::fmt;

use crf_core::Edge;
use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, Error as _, Expected, IgnoredAny, SeqAccess, Visitor};

use crate::formats::dataset_sink::{DatasetSink, NEXT};
use crate::formats::jsonl::object::JsonString;

/// Reads the list `edges`; `None` if it is `null`.
pub(crate) struct Edges<'s, 'a> {
    pub(crate) sink: &'s mut DatasetSink<'a>,
    pub(crate) n_positions: usize, // of the sequence; `usize::MAX` if not known yet
}

impl<'de> DeserializeSeed<'de> for Edges<'_, '_> {
    type Value = Option<Vec<Edge>>;
    fn deserialize<D: Deserializer<'de>>(self, json: D) -> Result<Self::Value, D::Error> {
        json.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Edges<'_, '_> {
    type Value = Option<Vec<Edge>>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of edges")
    }

    fn visit_unit<E: serde::de::Error>(self) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
        let mut edges = Vec::new();
        let Edges { sink, n_positions } = self;
        while let Some(edge) = seq.next_element_seed(OneEdge { sink, n_positions })? {
            edges.push(edge);
        }
        Ok(Some(edges))
    }
}

/// Message about an edge that joins no two of `n_positions` positions: what was expected and what
/// was received.
pub(crate) fn misplaced(&Edge { u, v, .. }: &Edge, n_positions: usize) -> Option<(String, String)> {
    let want = match n_positions {
        _ if u == v => "an edge between two positions".to_owned(),
        _ if (u.max(v) as usize) < n_positions => return None,
        0 => "no edge, since there is no position".to_owned(),
        _ => format!("an edge between positions from 0 to {}", n_positions - 1),
    };
    Some((want, format!("one from {u} to {v}")))
}

/// Reads one edge.
struct OneEdge<'s, 'a> {
    sink: &'s mut DatasetSink<'a>,
    n_positions: usize,
}

impl<'de> DeserializeSeed<'de> for OneEdge<'_, '_> {
    type Value = Edge;
    fn deserialize<D: Deserializer<'de>>(self, json: D) -> Result<Edge, D::Error> {
        json.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for OneEdge<'_, '_> {
    type Value = Edge;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an edge as two positions and a relation if it is not `next`")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Edge, A::Error> {
        let ends = (seq.next_element::<JsonPosition>()?, seq.next_element::<JsonPosition>()?);
        let name = seq.next_element::<JsonString<'_>>()?;
        let more = seq.next_element::<IgnoredAny>()?;
        let (Some(JsonPosition(u)), Some(JsonPosition(v)), None) = (ends.0, ends.1, more) else {
            let got = if more.is_some() { "more than three elements" } else { "fewer than two elements" };
            let want: &dyn Expected = &self;
            return Err(A::Error::custom(format!("{got}, expected {want}")));
        };
        let name = name.as_ref().map_or(NEXT, |JsonString(name)| name);
        let relation = self.sink.relation(name);
        let relation = relation.map_err(|want| A::Error::custom(format!("`{name}`, expected {want}")))?;
        let edge = Edge { u, v, relation };
        match misplaced(&edge, self.n_positions) {
            Some((want, got)) => Err(A::Error::custom(format!("{got}, expected {want}"))),
            None => Ok(edge),
        }
    }
}

/// Index of a position.
struct JsonPosition(u32);

impl<'de> Deserialize<'de> for JsonPosition {
    fn deserialize<D: Deserializer<'de>>(json: D) -> Result<Self, D::Error> {
        struct Any;
        impl Visitor<'_> for Any {
            type Value = JsonPosition;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a position, counted from 0")
            }
            fn visit_u64<E: serde::de::Error>(self, number: u64) -> Result<JsonPosition, E> {
                let index = u32::try_from(number);
                let other = serde::de::Unexpected::Unsigned(number);
                index.map(JsonPosition).map_err(|_| E::invalid_value(other, &self))
            }
        }
        json.deserialize_any(Any)
    }
}
