use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use crf_core::{ChannelKind, Dataset, Edge, Error, Relation, Result, Schema, Sequence, require};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::rebuild::{edges_of, with_edges};

/// Rules that add edges to data; each rule makes a relation of its own.
///
/// Every added edge goes from an earlier position to a later one. Two positions are joined at most
/// once: by an edge of the data, or else by the first rule that applies to them, distances before
/// symbols.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ExtraEdges {
    /// Distances at which all pairs of positions are joined, each at least 2: `[2, 3]` makes a
    /// chain one of third order, with the relations `distance-2` and `distance-3` beside `next`.
    pub distances: Vec<usize>,
    /// Rules that join positions with the same symbol.
    pub same: Vec<SameSymbol>,
}

/// Edges between equal symbols: skip-chains (Sutton & McCallum 2004).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SameSymbol {
    /// Channel of symbols.
    pub channel: String,
    /// Name of the relation; `skip` if omitted.
    #[serde(default = "default_relation")]
    pub relation: String,
    /// If true, only symbols that begin with a capital letter are joined.
    #[serde(default)]
    pub capitalised: bool,
    /// Number of later positions with the same symbol to which each position is joined. 1, if
    /// omitted: only the next one.
    #[serde(default = "default_later")]
    pub later: usize,
    /// Maximum number of such edges per sequence, 10,000 if omitted. More are an error, since n
    /// equal symbols have n²/2 pairs.
    #[serde(default = "default_most")]
    pub most: usize,
}

fn default_relation() -> String {
    "skip".to_owned()
}

fn default_later() -> usize {
    1
}

fn default_most() -> usize {
    10_000
}

impl ExtraEdges {
    /// Rejects settings that can never work, before any data is read.
    pub fn check(&self) -> Result<()> {
        require(!self.relations().is_empty(), "edges", "at least one of `distances` and `same`", "neither")?;
        if let Some(&distance) = self.distances.iter().find(|&&distance| distance < 2) {
            return Err(Error::setting("distances", "at least 2, since `next` is 1", distance));
        }
        for SameSymbol { relation, later, most, .. } in &self.same {
            require(!relation.is_empty(), "relation", "a name", "an empty one")?;
            require(*later > 0, "later", "at least 1", later)?;
            require(*most > 0, "most", "at least 1", most)?;
        }
        require_distinct(self.relations().iter())
    }

    /// Names of the added relations, in order.
    fn relations(&self) -> Vec<String> {
        let distances = self.distances.iter().map(|distance| format!("distance-{distance}"));
        distances.chain(self.same.iter().map(|rule| rule.relation.clone())).collect()
    }

    /// Schema of data with these edges, made from their schema without them.
    pub fn schema(&self, plain: &Schema) -> Result<Schema> {
        if let [_, second, ..] = plain.kinds() {
            let name = &second.name;
            return Err(Error::data(format!(
                "edges are added to nodes of one kind only, but some are `{name}`"
            )));
        }
        for SameSymbol { channel, .. } in &self.same {
            let kind = &plain.channels()[plain.channel(channel)?].kind;
            if !matches!(kind, ChannelKind::Symbol(_)) {
                return Err(Error::setting("channel", "a channel of symbols", format!("`{channel}`")));
            }
        }
        let mut relations = plain.relations().to_vec();
        relations.extend(self.relations().into_iter().map(|name| Relation { name, tail: 0, head: 0 }));
        require_distinct(relations.iter().map(|relation| &relation.name))?;
        Schema::graph(plain.channels().to_vec(), plain.kinds().to_vec(), relations)
    }

    /// Adds these edges to data.
    ///
    /// `schema` is the result of [`ExtraEdges::schema`] for the schema of the data. The data may
    /// have it already, as when a model of graphs labels chains that were read with its schema.
    pub fn add(&self, data: &Dataset, schema: &Arc<Schema>) -> Result<Dataset> {
        let relations = self.relations();
        let relations: Vec<u16> =
            relations.iter().map(|name| schema.relation(name)).collect::<Result<_>>()?;
        with_edges(data, schema, |i| {
            let mut edges: Vec<Edge> = edges_of(data.shape(i)).collect();
            let mut joined: HashSet<(u32, u32)> =
                edges.iter().map(|e| (e.u.min(e.v), e.u.max(e.v))).collect();
            let x = data.sequence(i);
            let mut join = |relation: u16, max: usize, pairs: &mut dyn Iterator<Item = (usize, usize)>| {
                let mut left = max;
                for (u, v) in pairs.map(|(u, v)| (u as u32, v as u32)) {
                    if joined.insert((u, v)) {
                        left = left.checked_sub(1)?;
                        edges.push(Edge { u, v, relation });
                    }
                }
                Some(())
            };
            let (distance_relations, symbol_relations) = relations.split_at(self.distances.len());
            for (&distance, &relation) in self.distances.iter().zip(distance_relations) {
                join(relation, usize::MAX, &mut (distance..x.len()).map(|t| (t - distance, t)));
            }
            for (rule, &relation) in self.same.iter().zip(symbol_relations) {
                join(relation, rule.most, &mut rule.pairs(&x, schema)?).ok_or_else(|| {
                    let want =
                        format!("at least the number of `{}` edges that a sequence gets", rule.relation);
                    let got = format!("{}; or set `later` below {}", rule.most, rule.later);
                    Error::setting("most", want, got).at(format!("sequence {}", i + 1))
                })?;
            }
            Ok(edges)
        })
    }
}

impl SameSymbol {
    /// All pairs (earlier position, later position) that the rule joins.
    fn pairs<'a>(
        &'a self,
        x: &'a Sequence<'a>,
        schema: &Schema,
    ) -> Result<impl Iterator<Item = (usize, usize)> + 'a> {
        let channel = schema.channel(&self.channel)?;
        let symbols = x.symbol(channel);
        let mut seen: HashMap<u32, Vec<usize>> = HashMap::new();
        let joins = move |t: &usize| {
            let name = x.symbol_name(channel, symbols[*t]);
            // An index without a name may stand for many symbols.
            name.is_some_and(|name| !self.capitalised || name.chars().next().is_some_and(char::is_uppercase))
        };
        Ok((0..x.len()).filter(joins).flat_map(move |v| {
            let earlier = seen.entry(symbols[v]).or_default();
            let from = earlier.len().saturating_sub(self.later);
            let pairs: Vec<(usize, usize)> = earlier[from..].iter().map(|&u| (u, v)).collect();
            earlier.push(v);
            pairs
        }))
    }
}

/// Refuses two relations with the same name.
fn require_distinct<'a>(names: impl Iterator<Item = &'a String>) -> Result<()> {
    let mut seen = HashSet::new();
    for name in names {
        require(seen.insert(name), "relation", "a name that no other relation has", format!("`{name}`"))?;
    }
    Ok(())
}
