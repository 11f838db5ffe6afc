use std::borrow::Cow;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::data::schema::Schema;
use crate::error::Result;
use crate::features::feature_set::FeatureSet;
use crate::features::fitted_entry::FittedEntry;
use crate::features::prototypes::LABEL_ENDS;

/// Feature map: the features of a model, in the order of their weights.
///
/// A feature ties an observation function to a label (state) or to a pair of labels (transition).
/// Features are sorted by function, so a feature's index is its position: weights need no index of
/// their own.
///
/// The serialised form holds only the targets of each function. All else about the functions is in
/// the fitted features that a model file has beside it; [`FeatureMap::restore`] takes it from
/// there.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FeatureMap {
    #[serde(skip, default = "Schema::empty")]
    schema: Arc<Schema>,
    state: FeatureSet,
    transition: FeatureSet,
}

/// Target of a feature.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Target {
    /// Label of a node.
    State(u32),
    /// Labels at the tail and the head of an edge.
    Transition(u32, u32),
}

impl FeatureMap {
    pub(crate) fn new(schema: Arc<Schema>, state: FeatureSet, transition: FeatureSet) -> Self {
        FeatureMap { schema, state, transition }
    }

    /// Reattaches the fitted functions of state and transition features after deserialisation.
    pub(super) fn restore_entries(
        &mut self,
        schema: &Arc<Schema>,
        [state, transition]: [&[FittedEntry]; 2],
    ) -> Result<()> {
        self.state.restore(schema, state, |kind| schema.n_labels(kind))?;
        let n_pairs = |relation| {
            let (rows, columns) = schema.table_shape(relation);
            rows * columns
        };
        self.transition.restore(schema, transition, n_pairs)?;
        self.schema = schema.clone();
        Ok(())
    }

    /// Schema of the data that the features describe.
    pub fn schema(&self) -> &Arc<Schema> {
        &self.schema
    }

    /// State features; the first weights are theirs.
    pub fn state(&self) -> &FeatureSet {
        &self.state
    }

    /// Transition features; the last weights are theirs.
    pub fn transition(&self) -> &FeatureSet {
        &self.transition
    }

    /// Number of features, and so of weights.
    pub fn len(&self) -> usize {
        self.state.len() + self.transition.len()
    }

    /// True if there is no feature.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Observation function of a feature, as an index into its set, and the feature's target.
    pub fn feature(&self, feature: usize) -> (u32, Target) {
        match feature.checked_sub(self.state.len()) {
            None => (self.state.function_of(feature), Target::State(self.state.target(feature))),
            Some(k) => {
                let g = self.transition.function_of(k);
                let (_, columns) = self.schema.table_shape(self.transition.scope(g));
                let pair = self.transition.target(k) as usize;
                (g, Target::Transition((pair / columns) as u32, (pair % columns) as u32))
            }
        }
    }

    /// True if a feature is an intercept (y = label), which penalties usually spare (Vail 2008,
    /// §2.4.3).
    pub fn is_intercept(&self, feature: usize) -> bool {
        feature < self.state.len() && self.state.is_constant(self.state.function_of(feature))
    }

    /// Name of a feature: `y=robot1 ∧ speed²`, `y'=rain ∧ y=sun`.
    pub fn name(&self, feature: usize) -> String {
        if self.schema.kinds().is_empty() {
            return format!("feature {feature}"); // of a map that is still to be restored
        }
        let (g, target) = self.feature(feature);
        let label = |kind: u16, label| quoted(self.schema.kinds()[kind as usize].labels.name(label));
        let (features, target) = match target {
            Target::State(y) => (&self.state, format!("y={}", label(self.state.scope(g), y))),
            Target::Transition(before, now) => {
                let relation = &self.schema.relations()[self.transition.scope(g) as usize];
                let prefix = if self.schema.relations().len() > 1 {
                    format!("{}: ", relation.name)
                } else {
                    String::new()
                };
                let (before, now) = (label(relation.tail, before), label(relation.head, now));
                (&self.transition, format!("{prefix}y'={before} ∧ y={now}"))
            }
        };
        match features.name(g) {
            "1" => target,
            name => format!("{target} ∧ {name}"),
        }
    }

    /// Copies the map with only the features of the given ascending indices.
    pub fn narrow_to(&self, features: &[usize]) -> FeatureMap {
        let mut wanted = features.iter().peekable();
        self.narrow(|k| wanted.next_if_eq(&&k).is_some()).0
    }

    /// Map of the features for which `keep` is true, and their indices in this map.
    ///
    /// Observation functions keep their indices, so encoded data serve narrow and wide maps alike.
    pub fn narrow(&self, mut keep: impl FnMut(usize) -> bool) -> (FeatureMap, Vec<usize>) {
        let n_state = self.state.len();
        let mut kept = Vec::new();
        let mut ask = |k: usize| {
            let yes = keep(k);
            kept.extend(yes.then_some(k));
            yes
        };
        let state = self.state.narrow(&mut ask);
        let transition = self.transition.narrow(|k| ask(n_state + k));
        (FeatureMap { schema: self.schema.clone(), state, transition }, kept)
    }

    /// Copies the map with the state features of each function multiplied by a factor.
    pub fn times(self, factors: Vec<f64>) -> Self {
        FeatureMap { state: self.state.times(factors), ..self }
    }
}

/// Name of a label as a rule writes it: between back ticks if a part of it would end it.
fn quoted(label: &str) -> Cow<'_, str> {
    match LABEL_ENDS.iter().any(|end| label.contains(end)) {
        true => format!("`{label}`").into(),
        false => label.into(),
    }
}
