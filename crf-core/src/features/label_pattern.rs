use serde::{Deserialize, Serialize};

use crate::data::schema::{Relation, Schema};
use crate::error::{Error, Result};

/// Label pattern of an observation function: `y=robot1`, or `y'=robot1 ∧ y=robot2` (Vail 2008,
/// equations 2.73 and 3.39).
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LabelPattern {
    /// Relation of the edge; `None` allows any.
    pub relation: Option<String>,
    /// Label y' at the tail of the edge; `None` allows any.
    pub before: Option<String>,
    /// Label y of the node, or at the head of the edge; `None` allows any.
    pub now: Option<String>,
}

impl LabelPattern {
    /// Labels of a kind of node that match.
    pub(crate) fn states(&self, schema: &Schema, kind: u16) -> Result<Vec<u32>> {
        let only_edges = |what: String| {
            Err(Error::data(format!("`{what}` asks for an edge, which only a `transition` feature has")))
        };
        match (&self.relation, &self.before) {
            (Some(relation), _) => only_edges(format!("{relation}:")),
            (None, Some(label)) => only_edges(format!("y'={label}")),
            (None, None) => label_indices(schema, kind, self.now.as_deref()),
        }
    }

    /// Pairs of labels of a relation that match, as tail label · head labels + head label.
    pub(crate) fn pairs(&self, schema: &Schema, relation: u16) -> Result<Vec<u32>> {
        if let Some(name) = &self.relation
            && schema.relation(name)? != relation
        {
            return Ok(Vec::new());
        }
        let Relation { tail, head, .. } = schema.relations()[relation as usize];
        let now = label_indices(schema, head, self.now.as_deref())?;
        let n_heads = schema.n_labels(head) as u32;
        let before = label_indices(schema, tail, self.before.as_deref())?;
        Ok(before.iter().flat_map(|before| now.iter().map(move |now| before * n_heads + now)).collect())
    }

    /// Pattern that matches where both do, if there is one.
    fn intersect(&self, other: &LabelPattern) -> Option<LabelPattern> {
        let join = |a: &Option<String>, b: &Option<String>| match (a, b) {
            (Some(a), Some(b)) if a != b => None,
            (a, b) => Some(a.clone().or_else(|| b.clone())),
        };
        Some(LabelPattern {
            relation: join(&self.relation, &other.relation)?,
            before: join(&self.before, &other.before)?,
            now: join(&self.now, &other.now)?,
        })
    }
}

/// Index of the named label, or of all labels.
fn label_indices(schema: &Schema, kind: u16, name: Option<&str>) -> Result<Vec<u32>> {
    match name {
        Some(name) => Ok(vec![schema.label(kind, name)?]),
        None => Ok((0..schema.n_labels(kind) as u32).collect()),
    }
}

/// Label patterns of which one must match; `None` allows all labels.
pub type Labels = Option<Vec<LabelPattern>>;

/// Labels that match both `a` and `b`.
pub(crate) fn intersection(a: &Labels, b: &Labels) -> Labels {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.iter().flat_map(|a| b.iter().filter_map(|b| a.intersect(b))).collect()),
        (a, b) => a.clone().or_else(|| b.clone()),
    }
}
