use serde::de::value::StrDeserializer;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::data::dataset::Dataset;
use crate::data::schema::Schema;
use crate::error::{Error, Result};
use crate::features::encoded_dataset::EncodedDataset;
use crate::features::fitted::FittedFeatures;
use crate::inference::potentials::{Potentials, TableVersion, Tables};
use crate::inference::scratch::Scratch;
use crate::memory::require_memory;
use crate::models::chunk_scheme::{ChunkPart, ChunkScheme};
use crate::models::log_linear::LogLinear;
use crate::models::model::{BoundModel, Model};
use crate::plugin::{NameOr, name_or, nested};
use crate::{Label, Shape};

/// Constraints on labellings: labels that may not follow each other, begin a sequence, or end it. A
/// config may give the name of the scheme alone.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(remote = "Self", default, deny_unknown_fields)]
pub struct Constraints {
    /// Scheme of chunk labels such as `B-NP`, `I-NP` and `O`, whose rules are to be obeyed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scheme: Option<ChunkScheme>,
    /// Pairs of labels of which the second may not follow the first.
    pub forbid: Vec<(String, String)>,
    /// Labels with which no sequence begins.
    pub never_first: Vec<String>,
    /// Labels with which no sequence ends.
    pub never_last: Vec<String>,
}

impl<'de> NameOr<'de> for Constraints {
    const EXPECTING: &'static str = "constraints: `bio`, `bioes`, or a table";

    fn from_name<E: serde::de::Error>(name: &str) -> Result<Self, E> {
        let scheme = ChunkScheme::deserialize(StrDeserializer::new(name))?;
        Ok(Constraints { scheme: Some(scheme), ..Constraints::default() })
    }

    fn from_table<D: Deserializer<'de>>(table: D) -> Result<Self, D::Error> {
        Constraints::deserialize(table)
    }
}

impl Serialize for Constraints {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Constraints::serialize(self, serializer)
    }
}

impl<'de> Deserialize<'de> for Constraints {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        name_or(deserializer)
    }
}

impl Constraints {
    /// Resolves names to label indices; a name that no label has is an error.
    pub fn resolve(&self, schema: &Schema) -> Result<Forbidden> {
        let labels = schema.labels();
        let n = labels.len();
        if schema.kinds().len() > 1 {
            return Err(Error::data("constraints are for data whose positions are all of one kind"));
        }
        let squared = n as f64 * n as f64;
        require_memory(squared, &format!("the forbidden pairs of {n} labels"), "use fewer labels")?;
        let mut forbidden = StoredForbidden {
            n_labels: n,
            pairs: vec![false; n * n],
            first: vec![false; n],
            last: vec![false; n],
        };
        if let Some(scheme) = self.scheme {
            let parts = labels.names().iter().map(|label| scheme.part(label)).collect::<Result<Vec<_>>>()?;
            for (i, &before) in parts.iter().enumerate() {
                for (j, &after) in parts.iter().enumerate() {
                    forbidden.pairs[i * n + j] = !scheme.may_follow(before, after);
                }
                // The ends of a sequence are outside of every chunk.
                forbidden.first[i] = !scheme.may_follow(ChunkPart::Outside, before);
                forbidden.last[i] = !scheme.may_follow(before, ChunkPart::Outside);
            }
        }
        let number = |name: &String| schema.label(0, name).map(|label| label as usize);
        for (before, after) in &self.forbid {
            forbidden.pairs[number(before)? * n + number(after)?] = true;
        }
        for (names, ends) in
            [(&self.never_first, &mut forbidden.first), (&self.never_last, &mut forbidden.last)]
        {
            for name in names {
                ends[number(name)?] = true;
            }
        }
        forbidden.try_into()
    }
}

/// Forbidden labels and pairs by index: pairs on the first relation, labels of the first and the
/// last position.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "StoredForbidden")]
pub struct Forbidden {
    n_labels: usize,
    pairs: Vec<bool>, // [labels × labels]
    first: Vec<bool>, // [labels]
    last: Vec<bool>,  // [labels]
    #[serde(skip)]
    forbids_pairs: bool, // true if some pair is forbidden
}

/// Stored form of forbidden labels and pairs.
#[derive(Deserialize)]
struct StoredForbidden {
    n_labels: usize,
    pairs: Vec<bool>,
    first: Vec<bool>,
    last: Vec<bool>,
}

impl TryFrom<StoredForbidden> for Forbidden {
    type Error = Error;

    fn try_from(StoredForbidden { n_labels, pairs, first, last }: StoredForbidden) -> Result<Self> {
        let n_pairs = n_labels.checked_mul(n_labels);
        if n_pairs != Some(pairs.len()) || first.len() != n_labels || last.len() != n_labels {
            return Err(Error::data("the lists of the constraints do not fit their number of labels"));
        }
        Ok(Forbidden { forbids_pairs: pairs.contains(&true), n_labels, pairs, first, last })
    }
}

/// Memory for tables in which forbidden pairs are impossible.
#[derive(Debug, Default)]
pub struct ConstrainedTables {
    source_version: Option<TableVersion>, // version of the tables that these were made of
    version: TableVersion,
    values: Vec<f64>,
}

impl Forbidden {
    /// Returns an error at the first known label that breaks a constraint, or pair of known labels
    /// at the ends of an edge of the first relation.
    pub fn check(&self, data: &Dataset) -> Result<()> {
        for i in 0..data.len() {
            let labels = &data.labels()[data.range(i)];
            for (label, forbidden, verb) in
                [(labels.first(), &self.first, "begin"), (labels.last(), &self.last, "end")]
            {
                if let Some(&Some(label)) = label
                    && forbidden.get(label as usize) == Some(&true)
                {
                    let message = format!("no sequence may {verb} with `{}`", data.label_name(0, label));
                    return Err(broken(message, i));
                }
            }
            let shape = data.shape(i);
            for e in (0..shape.n_edges()).filter(|&e| shape.relation(e) == 0) {
                let (u, v) = shape.ends(e);
                if let (Some(before), Some(after)) = (labels[u], labels[v])
                    && let [i_before, i_after] = [before, after].map(|label| label as usize)
                    && i_before.max(i_after) < self.n_labels
                    && self.pairs[i_before * self.n_labels + i_after]
                {
                    let name = |label: Label| data.label_name(0, label);
                    let message = format!("`{}` may not follow `{}`", name(after), name(before));
                    return Err(broken(format!("position {}: {message}", v + 1), i));
                }
            }
        }
        Ok(())
    }

    /// Binds a model to an encoded dataset; forbidden labels and pairs become impossible.
    pub fn bind<'a>(
        &'a self,
        model: &'a dyn Model,
        encoded: &'a EncodedDataset,
    ) -> Result<Box<dyn BoundModel + 'a>> {
        let schema = encoded.data().schema();
        if schema.kinds().len() > 1 || self.n_labels != schema.labels().len() {
            return Err(Error::data("the constraints were made for other labels than the data have"));
        }
        Ok(Box::new(BoundConstrained { model: model.bind(encoded)?, forbidden: self }))
    }

    /// Sets the potentials of forbidden labels and pairs to −∞.
    pub fn apply<'s>(&self, p: Potentials<'s>, memory: &'s mut ConstrainedTables) -> Result<Potentials<'s>> {
        let (shape, node, tables) = p.into_parts();
        let n_nodes = shape.n_nodes();
        let ends = [(0, &self.first), (n_nodes.saturating_sub(1), &self.last)];
        for (n, forbidden) in ends.into_iter().filter(|_| n_nodes > 0) {
            let node = &mut node[shape.node_offset(n)..shape.node_offset(n + 1)];
            forbid(node, forbidden);
        }
        if !self.forbids_pairs {
            return Potentials::new(shape, node, tables);
        }
        if let Shape::Graph(graph) = shape
            && tables.relations.is_empty()
            && graph.edges().iter().any(|edge| edge.relation > 0)
        {
            return Err(Error::data(
                "constraints on edges of several relations need tables for each of them",
            ));
        }
        // All tables at once, so that they change no more than those that they are made of.
        if memory.source_version != Some(tables.version) {
            memory.source_version = Some(tables.version);
            memory.version = tables.version.after(&[f64::NEG_INFINITY]);
            memory.values.clear();
            memory.values.extend_from_slice(tables.values);
            for (table, range) in tables.starts.windows(2).enumerate() {
                if tables.relations.get(table).is_none_or(|&relation| relation == 0) {
                    forbid(&mut memory.values[range[0]..range[1]], &self.pairs);
                }
            }
        }
        let tables = Tables { values: &memory.values, version: memory.version, ..tables };
        Potentials::new(shape, node, tables)
    }
}

fn broken(message: String, sequence: usize) -> Error {
    Error::data(format!("{message}, say the constraints")).at(format!("sequence {}", sequence + 1))
}

fn forbid(potentials: &mut [f64], forbidden: &[bool]) {
    for (potential, _) in potentials.iter_mut().zip(forbidden).filter(|(_, forbidden)| **forbidden) {
        *potential = f64::NEG_INFINITY;
    }
}

/// Model under constraints.
#[derive(Debug, Serialize, Deserialize)]
pub struct Constrained {
    #[serde(deserialize_with = "nested")]
    model: Box<dyn Model>,
    forbidden: Forbidden,
}

impl Constrained {
    /// Puts `model` under constraints.
    pub fn new(model: Box<dyn Model>, forbidden: Forbidden) -> Self {
        Constrained { model, forbidden }
    }
}

#[typetag::serde(name = "constrained")]
impl Model for Constrained {
    fn bind<'a>(&'a self, encoded: &'a EncodedDataset) -> Result<Box<dyn BoundModel + 'a>> {
        self.forbidden.bind(&*self.model, encoded)
    }

    fn restore(&mut self, features: &FittedFeatures) -> Result<()> {
        self.model.restore(features)
    }

    fn log_linear(&self) -> Option<&LogLinear> {
        self.model.log_linear()
    }

    fn describe(&self, top: usize, out: &mut dyn FnMut(&str, f64)) {
        self.model.describe(top, out);
    }
}

struct BoundConstrained<'a> {
    model: Box<dyn BoundModel + 'a>,
    forbidden: &'a Forbidden,
}

/// Memory of a worker: the scratch of the inner model, and the tables computed from its own.
#[derive(Debug, Default)]
struct ConstrainedMemory {
    inner: Scratch,
    tables: ConstrainedTables,
}

impl BoundModel for BoundConstrained<'_> {
    fn fill<'s>(&'s self, i: usize, scratch: &'s mut Scratch) -> Result<Potentials<'s>> {
        let ConstrainedMemory { inner, tables } = scratch.get();
        self.forbidden.apply(self.model.fill(i, inner)?, tables)
    }
}
