use serde::{Deserialize, Serialize};

use crate::data::schema::{Relation, Schema};
use crate::error::{Error, Result};

/// Labels that a function asks for: `y=robot1`, or `y'=robot1 ∧ y=robot2` (Vail 2008, equations 2.73 and 3.39).
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LabelPattern {
    /// The relation of the edge; any when there is none.
    pub relation: Option<String>,
    /// y', the label at the tail of an edge; any when there is none.
    pub before: Option<String>,
    /// y, the label of a node or at the head of an edge; any when there is none.
    pub now: Option<String>,
}

impl LabelPattern {
    /// The labels of a kind of node that fit.
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

    /// The pairs of labels of a relation that fit, as tail label · head labels + head label.
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

    /// The pattern that fits where both do, if there is such a place.
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

/// The number of the named label, or of all labels.
fn label_indices(schema: &Schema, kind: u16, name: Option<&str>) -> Result<Vec<u32>> {
    match name {
        Some(name) => Ok(vec![schema.label(kind, name)?]),
        None => Ok((0..schema.n_labels(kind) as u32).collect()),
    }
}

/// Patterns of which one must fit; all labels when there are none.
pub type Labels = Option<Vec<LabelPattern>>;

/// The labels that fit both `a` and `b`.
pub(crate) fn intersection(a: &Labels, b: &Labels) -> Labels {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.iter().flat_map(|a| b.iter().filter_map(|b| a.intersect(b))).collect()),
        (a, b) => a.clone().or_else(|| b.clone()),
    }
}
