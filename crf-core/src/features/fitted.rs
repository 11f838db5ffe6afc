use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::data::dataset::Dataset;
use crate::data::schema::Schema;
use crate::error::{Error, Result, require_consistent};
use crate::features::encoded_dataset::EncodedDataset;
use crate::features::feature_map::FeatureMap;
use crate::features::feature_set::FeatureSet;
use crate::features::fitted_entry::FittedEntry;
use crate::features::label_pattern::LabelPattern;
use crate::features::prototype::Observation;
use crate::features::spec::{Features, Link, Pairs};
use crate::memory::require_memory;

/// Fitted features, ready to encode any data of the schema they were fitted on; part of a saved
/// model.
#[derive(Debug, Serialize, Deserialize)]
#[serde(try_from = "StoredFeatures")]
pub struct FittedFeatures {
    schema: Arc<Schema>,
    state: Vec<FittedEntry>,
    transition: Vec<FittedEntry>,
}

/// Stored form of fitted features.
#[derive(Deserialize)]
struct StoredFeatures {
    schema: Arc<Schema>,
    state: Vec<FittedEntry>,
    transition: Vec<FittedEntry>,
}

impl TryFrom<StoredFeatures> for FittedFeatures {
    type Error = Error;

    fn try_from(StoredFeatures { schema, state, transition }: StoredFeatures) -> Result<Self> {
        for (entries, n_scopes) in [(&state, schema.kinds().len()), (&transition, schema.relations().len())] {
            require_consistent(entries.iter().all(|entry| usize::from(entry.scope) < n_scopes))?;
            entries.iter().try_for_each(|entry| entry.encoder.check(&schema))?;
        }
        Ok(FittedFeatures { schema, state, transition })
    }
}

impl Features {
    /// Fits every prototype on the training data.
    pub fn fit(&self, train: &Dataset) -> Result<FittedFeatures> {
        let schema = train.schema();
        if schema.labels().is_empty() {
            return Err(Error::data("the training data have no label at any position"));
        }
        schema.require_tables()?;
        let mut fitted = FittedFeatures { schema: schema.clone(), state: Vec::new(), transition: Vec::new() };
        for spec in &self.0 {
            let (entries, scopes) = match &spec.link {
                Link::State(None) => (&mut fitted.state, 0..schema.kinds().len() as u16),
                Link::State(Some(kind)) => (&mut fitted.state, only_scope(schema.kind(kind)?)),
                Link::Transition(None) => (&mut fitted.transition, 0..schema.relations().len() as u16),
                Link::Transition(Some(relation)) => {
                    (&mut fitted.transition, only_scope(schema.relation(relation)?))
                }
            };
            for scope in scopes {
                entries.push(FittedEntry { scope, encoder: spec.of.fit(train)?.into(), pairs: spec.pairs });
            }
        }
        Ok(fitted)
    }
}

/// Callback (function, kind of node or relation, label or pair of labels) for every non-zero value
/// at a labelled position.
type FunctionVisitor<'a> = &'a mut dyn FnMut(u32, u16, u32);

/// Number of positions from which on the size of encoded data is estimated before they are encoded.
const LARGE: usize = 1 << 16;

/// Least number of bytes of a feature: its target and its weight.
const FEATURE_BYTES: f64 = 4.0 + 8.0;

/// Number of features of an entry whose functions may be tied to `all` targets, or to those that
/// match their label patterns.
fn n_targets(
    schema: &Schema,
    entry: &FittedEntry,
    all: usize,
    matching: impl Fn(&LabelPattern, &Schema, u16) -> Result<Vec<u32>>,
) -> Result<f64> {
    if let Some(n) = entry.encoder.n_plain_functions() {
        return Ok(n as f64 * all as f64);
    }
    let count = |observation: &Observation| match &observation.labels {
        None => Ok(all as f64),
        Some(patterns) => {
            let targets = patterns.iter().map(|pattern| matching(pattern, schema, entry.scope));
            let in_function = |error: Error| error.at(format!("labels of `{}`", observation.name));
            let mut targets = targets.collect::<Result<Vec<_>>>().map_err(in_function)?.concat();
            targets.sort_unstable();
            targets.dedup();
            Ok(targets.len() as f64)
        }
    };
    entry.encoder.observations(schema).iter().map(count).sum()
}

fn only_scope(number: u16) -> std::ops::Range<u16> {
    number..number + 1
}

impl FittedFeatures {
    /// Fitted entries of state and of transition features.
    pub(crate) fn entries(&self) -> [&[FittedEntry]; 2] {
        [&self.state, &self.transition]
    }

    /// Schema that the data must have.
    pub fn schema(&self) -> &Arc<Schema> {
        &self.schema
    }

    /// Number of observation functions.
    pub fn n_functions(&self) -> usize {
        let n = |entry: &FittedEntry| entry.encoder.constants(&self.schema).0;
        self.entries().into_iter().flatten().map(n).sum()
    }

    /// Feature map: ties each observation function to all its labels or pairs of labels, or to
    /// those that occur together with it in the encoded training data.
    pub fn map(&self, train: &EncodedDataset) -> Result<FeatureMap> {
        self.build_map(Some(train))
    }

    /// Feature map before any data are encoded: `pairs = "observed"` is ignored.
    pub fn candidates(&self) -> Result<FeatureMap> {
        self.build_map(None)
    }

    /// Entries with the number of features that tie their functions to all their targets, counted
    /// without making them.
    fn candidates_by_entry(&self) -> impl Iterator<Item = Result<(&FittedEntry, f64)>> {
        let schema = &*self.schema;
        let state = self.state.iter().map(|entry| {
            let n = n_targets(schema, entry, schema.n_labels(entry.scope), LabelPattern::states)?;
            Ok((entry, n))
        });
        let transition = self.transition.iter().map(|entry| {
            let n = n_targets(schema, entry, self.n_pairs(entry.scope), LabelPattern::pairs)?;
            Ok((entry, n))
        });
        state.chain(transition)
    }

    /// Number of features of [`FittedFeatures::candidates`], counted without making them.
    pub(crate) fn n_candidates(&self) -> Result<f64> {
        self.candidates_by_entry().map(|entry| Ok(entry?.1)).sum()
    }

    fn n_pairs(&self, relation: u16) -> usize {
        let (rows, columns) = self.schema.table_shape(relation);
        rows * columns
    }

    /// Rejects a map that there is no memory for.
    fn require_map(&self, train: Option<&EncodedDataset>) -> Result<()> {
        let (mut n, mut bytes) = (0.0, 0.0);
        for entry in self.candidates_by_entry() {
            let (entry, n_candidates) = entry?;
            // Of observed pairs there is one bit for each that may be.
            let is_observed = train.is_some() && entry.pairs == Pairs::Observed;
            bytes += n_candidates * if is_observed { 1.0 / 8.0 } else { FEATURE_BYTES };
            n += n_candidates;
        }
        let advice = "use fewer features or labels, `min_count`, or `pairs = \"observed\"`";
        require_memory(bytes, &format!("the map of {n} features"), advice)
    }

    fn build_map(&self, train: Option<&EncodedDataset>) -> Result<FeatureMap> {
        self.require_map(train)?;
        let n_pairs = |relation| self.n_pairs(relation);
        let state = FeatureSet::new(
            &self.schema,
            &self.state,
            |kind| self.schema.n_labels(kind),
            |pattern, kind| pattern.states(&self.schema, kind),
            train.map(|train| |visit: FunctionVisitor<'_>| train.visit_states(visit)),
        )?;
        let transition = FeatureSet::new(
            &self.schema,
            &self.transition,
            n_pairs,
            |pattern, relation| pattern.pairs(&self.schema, relation),
            train.map(|train| |visit: FunctionVisitor<'_>| train.visit_transitions(visit)),
        )?;
        Ok(FeatureMap::new(self.schema.clone(), state, transition))
    }

    /// Encodes a dataset: evaluates all observation functions on it.
    pub fn encode(&self, data: Arc<Dataset>) -> Result<EncodedDataset> {
        self.encode_watched(data, &mut |_| {})
    }

    /// [`FittedFeatures::encode`], which reports to `progress` the number of encoded positions.
    pub fn encode_watched(
        &self,
        data: Arc<Dataset>,
        progress: &mut dyn FnMut(usize),
    ) -> Result<EncodedDataset> {
        if data.schema() != &self.schema {
            return Err(Error::data(
                "the data have other channels or labels than those the features were fitted on",
            ));
        }
        if data.n_positions() >= LARGE {
            let bytes = self.estimate(&data)?.least_bytes as f64;
            let what = format!("{} positions as values of features", data.n_positions());
            require_memory(bytes, &what, "use fewer features, such as by `min_count`, or less data")?;
        }
        EncodedDataset::encode(data, &self.state, &self.transition, progress)
    }
}

impl FeatureMap {
    /// Reattaches the fitted features after deserialisation.
    pub fn restore(&mut self, features: &FittedFeatures) -> Result<()> {
        self.restore_entries(features.schema(), features.entries())
    }
}
