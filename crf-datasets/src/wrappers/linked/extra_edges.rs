use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use crf_core::{ChannelKind, Dataset, Edge, Error, Relation, Result, Schema, Sequence, require};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::wrappers::rebuild::{edges_of, with_edges};

/// Edges that are added to those the data have, each sort as a relation of its own.
///
/// All go from an earlier position to a later one. Two positions are joined once at most: by an edge that the
/// data have, or else by the first rule that applies to them, distances before symbols.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ExtraEdges {
    /// Joins all positions that are so many steps apart, each at least 2: `[2, 3]` makes a chain one of third
    /// order, with the relations `distance-2` and `distance-3` beside `next`.
    pub distances: Vec<usize>,
    /// Joins positions that have the same symbol.
    pub same: Vec<SameSymbol>,
}

/// Edges between equal symbols: skip-chains (Sutton & McCallum 2004).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SameSymbol {
    /// The channel of symbols.
    pub channel: String,
    /// The name of the relation; `skip` when left out.
    #[serde(default = "skip")]
    pub relation: String,
    /// Whether only symbols that begin with a capital letter are joined.
    #[serde(default)]
    pub capitalised: bool,
    /// To how many later positions of the same symbol each is joined: 1, when left out, is the next one only.
    #[serde(default = "one")]
    pub later: usize,
    /// How many such edges a sequence may get, 10,000 when left out; more are an error, since n equal symbols have
    /// n²/2 pairs.
    #[serde(default = "ten_thousand")]
    pub most: usize,
}

fn skip() -> String {
    "skip".to_owned()
}

fn one() -> usize {
    1
}

fn ten_thousand() -> usize {
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
        distinct(self.relations().iter())
    }

    /// The names of the relations that are added, in order.
    fn relations(&self) -> Vec<String> {
        let distances = self.distances.iter().map(|distance| format!("distance-{distance}"));
        distances.chain(self.same.iter().map(|rule| rule.relation.clone())).collect()
    }

    /// The schema that data of the given one have with these edges.
    pub fn schema(&self, of: &Schema) -> Result<Schema> {
        if let [_, second, ..] = of.kinds() {
            let name = &second.name;
            return Err(Error::data(format!(
                "edges are added to nodes of one kind only, but some are `{name}`"
            )));
        }
        for SameSymbol { channel, .. } in &self.same {
            let kind = &of.channels()[of.channel(channel)?].kind;
            if !matches!(kind, ChannelKind::Symbol(_)) {
                return Err(Error::setting("channel", "a channel of symbols", format!("`{channel}`")));
            }
        }
        let mut relations = of.relations().to_vec();
        relations.extend(self.relations().into_iter().map(|name| Relation { name, tail: 0, head: 0 }));
        distinct(relations.iter().map(|relation| &relation.name))?;
        Schema::graph(of.channels().to_vec(), of.kinds().to_vec(), relations)
    }

    /// The data with these edges.
    ///
    /// `schema` is what [`ExtraEdges::schema`] made of theirs. It may be theirs already, as when a model of graphs is
    /// to label chains that were read with its schema.
    pub fn add(&self, data: &Dataset, schema: &Arc<Schema>) -> Result<Dataset> {
        let relations = self.relations();
        let relations: Vec<u16> =
            relations.iter().map(|name| schema.relation(name)).collect::<Result<_>>()?;
        with_edges(data, schema, |i| {
            let mut edges: Vec<Edge> = edges_of(data.shape(i)).collect();
            let mut joined: HashSet<(u32, u32)> =
                edges.iter().map(|e| (e.u.min(e.v), e.u.max(e.v))).collect();
            let x = data.sequence(i);
            let mut join = |relation: u16, most: usize, pairs: &mut dyn Iterator<Item = (usize, usize)>| {
                let mut left = most;
                for (u, v) in pairs.map(|(u, v)| (u as u32, v as u32)) {
                    if joined.insert((u, v)) {
                        left = left.checked_sub(1)?;
                        edges.push(Edge { u, v, relation });
                    }
                }
                Some(())
            };
            let (of_distances, of_same) = relations.split_at(self.distances.len());
            for (&distance, &relation) in self.distances.iter().zip(of_distances) {
                join(relation, usize::MAX, &mut (distance..x.len()).map(|t| (t - distance, t)));
            }
            for (rule, &relation) in self.same.iter().zip(of_same) {
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
    /// All pairs of an earlier and a later position that the rule joins.
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
            // A number without a name may stand for many symbols.
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

/// Refuses two relations of one name.
fn distinct<'a>(names: impl Iterator<Item = &'a String>) -> Result<()> {
    let mut seen = HashSet::new();
    for name in names {
        require(seen.insert(name), "relation", "a name that no other relation has", format!("`{name}`"))?;
    }
    Ok(())
}
