use std::fmt;

use crf_core::{Error, Graph, OwnedPotentials, Result};
use serde::Deserialize;
use serde::de::{Deserializer, Error as Refusal, Visitor};

use crate::config::{ConfigFault, KeyPath};

/// The JSON form of one graph's log potentials.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, expecting = "an object with `cards`, `node` and `edges`")]
struct GraphJson {
    cards: Vec<u32>,              // [nodes] labels of each node
    node: Vec<Vec<LogPotential>>, // [nodes][labels]
    #[serde(default)]
    edges: Vec<EdgeJson>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, expecting = "an object with `u`, `v` and `table`")]
struct EdgeJson {
    u: u32,
    v: u32,
    table: Vec<Vec<LogPotential>>, // [labels of u][labels of v]
}

/// A number, or `null` for −∞, which JSON cannot write.
#[derive(Debug, Clone, Copy)]
struct LogPotential(f64);

impl<'de> Deserialize<'de> for LogPotential {
    fn deserialize<D: Deserializer<'de>>(json: D) -> Result<Self, D::Error> {
        struct NumberOrNull;
        impl Visitor<'_> for NumberOrNull {
            type Value = f64;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a number, or null for −∞")
            }
            fn visit_unit<E: Refusal>(self) -> Result<f64, E> {
                Ok(f64::NEG_INFINITY)
            }
            fn visit_f64<E: Refusal>(self, x: f64) -> Result<f64, E> {
                Ok(x)
            }
            fn visit_u64<E: Refusal>(self, x: u64) -> Result<f64, E> {
                Ok(x as f64)
            }
            fn visit_i64<E: Refusal>(self, x: i64) -> Result<f64, E> {
                Ok(x as f64)
            }
        }
        json.deserialize_any(NumberOrNull).map(LogPotential)
    }
}

/// Reads the log potentials of one graph; `location` is its file and line, for messages.
///
/// A graph whose edges lead from each node to the next, with equally many labels at each node,
/// becomes a chain, which every inference can answer.
pub fn potentials(location: &str, json: &[u8]) -> Result<OwnedPotentials> {
    let graph: GraphJson = serde_json::from_slice(json).map_err(|error| misread(location, json, &error))?;
    graph.potentials().map_err(|error| error.at(location))
}

impl GraphJson {
    fn potentials(self) -> Result<OwnedPotentials> {
        let GraphJson { cards, node, edges } = self;
        expect("`node`", "lists, one for each of `cards`", cards.len(), node.len())?;
        for (n, (row, &card)) in node.iter().zip(&cards).enumerate() {
            expect(format_args!("`node[{n}]`"), "numbers, as `cards` says", card as usize, row.len())?;
        }
        let graph = Graph::bare(cards.clone(), edges.iter().map(|edge| (edge.u, edge.v)))?;
        for (e, EdgeJson { u, v, table }) in edges.iter().enumerate() {
            let card = |n: u32| cards[n as usize] as usize;
            let name = format!("`edges[{e}].table");
            expect(
                format_args!("{name}`"),
                format_args!("rows, as node {u} has labels"),
                card(*u),
                table.len(),
            )?;
            for (i, row) in table.iter().enumerate() {
                let want = format_args!("numbers, as node {v} has labels");
                expect(format_args!("{name}[{i}]`"), want, card(*v), row.len())?;
            }
        }
        let is_chain = edges.len() + 1 == cards.len()
            && (0..).zip(&edges).all(|(e, edge)| (edge.u, edge.v) == (e, e + 1))
            && cards.iter().all(|card| *card == cards[0]);
        let node = flat(node);
        let of_edge = (0..edges.len() as u32).collect();
        let tables: Vec<Vec<f64>> = edges.into_iter().map(|edge| flat(edge.table)).collect();
        if is_chain {
            return Ok(OwnedPotentials::chain(
                cards.len(),
                cards[0] as usize,
                node,
                tables.concat(),
                of_edge,
            ));
        }
        OwnedPotentials::graph(graph, node, &tables, of_edge)
    }
}

fn expect(what: impl fmt::Display, unit: impl fmt::Display, want: usize, got: usize) -> Result<()> {
    if want == got { Ok(()) } else { Err(Error::data(format!("{what}: expected {want} {unit}, got {got}"))) }
}

fn flat(rows: Vec<Vec<LogPotential>>) -> Vec<f64> {
    rows.into_iter().flatten().map(|LogPotential(x)| x).collect()
}

/// The error of the JSON parser in our words, with its column.
fn misread(location: &str, json: &[u8], error: &serde_json::Error) -> Error {
    let message = error.to_string();
    let message = message.rsplit_once(" at line ").map_or(message.as_str(), |(message, _)| message);
    let fault = match message.strip_prefix("invalid ").and_then(|rest| rest.rsplit_once(", expected ")) {
        Some((got, want)) => {
            let got = got.split_once(": ").map_or(got, |(_, got)| got);
            format!(
                "expected {}, got {got}",
                if want == "u32" { "a whole number from 0 to 4294967295" } else { want }
            )
        }
        None if error.is_data() => ConfigFault::serde(KeyPath::default(), message).message,
        // Several languages write infinities and NaN, which JSON does not have.
        None if [&b"Inf"[..], b"NaN", b"inf", b"nan"]
            .iter()
            .any(|word| json.windows(3).any(|at| at == *word)) =>
        {
            format!("expected valid JSON, got an error: {message}; −∞ is written `null`")
        }
        None => format!("expected valid JSON, got an error: {message}"),
    };
    Error::data(format!("{location}:{}: {fault}", error.column().max(1)))
}
