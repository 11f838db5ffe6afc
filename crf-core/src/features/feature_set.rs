use std::collections::HashMap;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

use serde::{Deserialize, Serialize};

use crate::data::graph::offsets;
use crate::data::packed_strings::PackedStrings;
use crate::data::schema::Schema;
use crate::error::{Error, Result};
use crate::features::fitted_entry::FittedEntry;
use crate::features::label_pattern::{LabelPattern, Labels};
use crate::features::prototype::{Encoder, Observation};
use crate::features::spec::Pairs;
use crate::numeric::serde_numbers;

/// State or transition features, by observation function: a sparse matrix from functions to
/// targets.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "StoredFeatureSet", into = "StoredFeatureSet")]
pub struct FeatureSet {
    functions: Arc<Functions>,
    starts: Vec<usize>, // [functions + 1]
    targets: Vec<u32>,  // [features] label, or tail label · head labels + head label
    #[serde(skip)]
    factors: Option<Arc<[f64]>>, // [functions] only in maps of merged features during training
}

/// Properties of observation functions.
#[derive(Debug, Clone)]
struct Functions {
    schema: Arc<Schema>,
    encoders: Vec<Arc<dyn Encoder>>,
    names: OnceLock<PackedStrings>, // spelt at the first request
    scopes: Vec<u16>,               // kind of node, or relation
    constant: Vec<bool>,            // true if it has one value everywhere
    groups: Vec<u32>,               // functions of one group exclude each other
}

impl Functions {
    fn new(schema: &Arc<Schema>, entries: &[FittedEntry]) -> Result<Self> {
        let mut scopes = Vec::new();
        let mut constant = Vec::new();
        let mut groups = Vec::new();
        let mut n_groups = 0;
        for FittedEntry { scope, encoder, .. } in entries {
            if let Some(n) = encoder.n_plain_functions() {
                groups.extend((0..n).map(|_| next_group(&mut n_groups)));
                constant.resize(groups.len(), false);
            } else {
                // Group numbers are unique within one encoder only.
                let mut group_of = HashMap::new();
                for Observation { group, constant: value, .. } in encoder.observations(schema) {
                    constant.push(value.is_some());
                    groups.push(match group {
                        Some(group) => *group_of.entry(group).or_insert_with(|| next_group(&mut n_groups)),
                        None => next_group(&mut n_groups),
                    });
                }
            }
            scopes.resize(groups.len(), *scope);
            if u32::try_from(groups.len()).is_err() {
                return Err(Error::data("more than 2³² observation functions"));
            }
        }
        let encoders = entries.iter().map(|entry| entry.encoder.clone()).collect();
        Ok(Functions { schema: schema.clone(), encoders, names: OnceLock::new(), scopes, constant, groups })
    }

    fn len(&self) -> usize {
        self.scopes.len()
    }

    fn names(&self) -> &PackedStrings {
        self.names.get_or_init(|| {
            let observations = self.encoders.iter().flat_map(|encoder| encoder.observations(&self.schema));
            observations.map(|observation| observation.name).collect()
        })
    }
}

impl Default for Functions {
    fn default() -> Self {
        Functions {
            schema: Schema::empty(),
            encoders: Vec::new(),
            names: OnceLock::new(),
            scopes: Vec::new(),
            constant: Vec::new(),
            groups: Vec::new(),
        }
    }
}

impl PartialEq for Functions {
    fn eq(&self, other: &Self) -> bool {
        self.scopes == other.scopes
            && self.constant == other.constant
            && self.groups == other.groups
            && self.names() == other.names()
    }
}

/// Stored form of a feature set.
#[derive(Serialize, Deserialize)]
struct StoredFeatureSet {
    #[serde(with = "serde_numbers")]
    counts: Vec<u32>, // [functions] number of features
    #[serde(with = "serde_numbers")]
    targets: Vec<u32>,
}

impl From<FeatureSet> for StoredFeatureSet {
    fn from(FeatureSet { starts, targets, .. }: FeatureSet) -> Self {
        let counts = starts.windows(2).map(|pair| (pair[1] - pair[0]) as u32).collect();
        StoredFeatureSet { counts, targets }
    }
}

impl TryFrom<StoredFeatureSet> for FeatureSet {
    type Error = Error;

    fn try_from(StoredFeatureSet { counts, targets }: StoredFeatureSet) -> Result<Self> {
        let starts = offsets(counts.iter().map(|&count| count as usize));
        if starts[counts.len()] != targets.len() {
            return Err(Error::data("the lists of a feature map do not fit each other"));
        }
        Ok(FeatureSet { functions: Arc::default(), starts, targets, factors: None })
    }
}

impl FeatureSet {
    /// Ties every function to all its targets, or to those that match its label patterns. If the
    /// config asks for observed pairs and `observe` is given, only the targets that `observe`
    /// reports with the function are kept.
    pub(crate) fn new(
        schema: &Arc<Schema>,
        entries: &[FittedEntry],
        n_targets: impl Fn(u16) -> usize,
        matching_targets: impl Fn(&LabelPattern, u16) -> Result<Vec<u32>>,
        observe: Option<impl FnOnce(&mut dyn FnMut(u32, u16, u32))>,
    ) -> Result<Self> {
        let functions = Functions::new(schema, entries)?;
        let (n_functions, scopes) = (functions.len(), &functions.scopes);
        let bit_offsets = offsets(scopes.iter().map(|&scope| n_targets(scope)));
        let observed = entries.iter().flat_map(|entry| {
            let observed = entry.pairs == Pairs::Observed && observe.is_some();
            std::iter::repeat_n(observed, entry.encoder.constants(schema).0)
        });
        let observed: Vec<bool> = observed.collect();
        // One bit per function and target.
        let mut seen =
            vec![0_u64; if observed.contains(&true) { bit_offsets[n_functions].div_ceil(64) } else { 0 }];
        if let Some(observe) = observe.filter(|_| !seen.is_empty()) {
            observe(&mut |g, scope, target| {
                let bit = bit_offsets[g as usize] + target as usize;
                seen[bit / 64] |= u64::from(scopes[g as usize] == scope) << (bit % 64);
            });
        }
        let mut starts = vec![0];
        let mut targets = Vec::new();
        for (g, patterns) in (0..n_functions).zip(patterns(schema, entries)) {
            let keep = |target: &u32| {
                let bit = bit_offsets[g] + *target as usize;
                !observed[g] || seen[bit / 64] >> (bit % 64) & 1 == 1
            };
            match patterns {
                None => targets.extend((0..(bit_offsets[g + 1] - bit_offsets[g]) as u32).filter(keep)),
                Some(patterns) => {
                    let mut matching = Vec::new();
                    for pattern in patterns {
                        let location = || format!("labels of `{}`", functions.names().get(g));
                        matching.extend(
                            matching_targets(&pattern, scopes[g]).map_err(|error| error.at(location()))?,
                        );
                    }
                    matching.sort_unstable();
                    matching.dedup();
                    targets.extend(matching.into_iter().filter(keep));
                }
            }
            starts.push(targets.len());
        }
        Ok(FeatureSet { functions: functions.into(), starts, targets, factors: None })
    }

    /// Reattaches the functions after deserialisation, if the targets exist.
    pub(super) fn restore(
        &mut self,
        schema: &Arc<Schema>,
        entries: &[FittedEntry],
        n_targets: impl Fn(u16) -> usize,
    ) -> Result<()> {
        let functions = Functions::new(schema, entries)?;
        let same_count = functions.len() == self.n_observations();
        let is_valid = |g: usize| {
            let targets = &self.targets[self.starts[g]..self.starts[g + 1]];
            let ascending = targets.windows(2).all(|pair| pair[0] < pair[1]);
            ascending && targets.last().is_none_or(|&last| (last as usize) < n_targets(functions.scopes[g]))
        };
        if !(same_count && (0..self.n_observations()).all(is_valid)) {
            return Err(Error::data("the model has other features than those stored with it"));
        }
        self.functions = functions.into();
        Ok(())
    }

    /// Number of observation functions, with or without features.
    pub fn n_observations(&self) -> usize {
        self.starts.len() - 1
    }

    /// Number of features.
    pub fn len(&self) -> usize {
        self.targets.len()
    }

    /// True if there is no feature.
    pub fn is_empty(&self) -> bool {
        self.targets.is_empty()
    }

    /// Name of function `g`.
    pub fn name(&self, g: u32) -> &str {
        self.functions.names().get(g as usize)
    }

    /// Kind of node, or relation, that function `g` belongs to.
    pub fn scope(&self, g: u32) -> u16 {
        self.functions.scopes[g as usize]
    }

    /// True if function `g` is constant, with one value everywhere.
    pub fn is_constant(&self, g: u32) -> bool {
        self.functions.constant[g as usize]
    }

    /// Group of function `g`: of the functions of one group, at most one is not zero.
    pub fn group(&self, g: u32) -> u32 {
        self.functions.groups[g as usize]
    }

    /// Features of function `g`, as a range of indices.
    #[inline]
    pub fn range(&self, g: u32) -> Range<usize> {
        self.starts[g as usize]..self.starts[g as usize + 1]
    }

    /// Targets of the features of function `g`, ascending: a label, or tail label · head labels +
    /// head label.
    #[inline]
    pub fn targets(&self, g: u32) -> &[u32] {
        &self.targets[self.range(g)]
    }

    /// Factor of the features of function `g`: 1, except in maps of merged features during
    /// training.
    #[inline]
    pub fn factor(&self, g: u32) -> f64 {
        self.factors.as_ref().map_or(1.0, |factors| factors[g as usize])
    }

    /// Adds the scores of function `g` with the given value under weights `w` to `scores`, by
    /// target.
    #[inline]
    pub fn add_scores(&self, w: &[f64], g: u32, value: f64, scores: &mut [f64]) {
        let (range, value) = (self.range(g), value * self.factor(g));
        if range.len() == scores.len() {
            // Targets ascend, so these are all there are.
            scores.iter_mut().zip(&w[range]).for_each(|(score, weight)| *score += value * weight);
            return;
        }
        for (&target, weight) in self.targets[range.clone()].iter().zip(&w[range]) {
            scores[target as usize] += value * weight;
        }
    }

    /// Adds the expected value of each feature of function `g`: the function's value times the
    /// belief in the target.
    #[inline]
    pub fn add_expectation(&self, g: u32, value: f64, belief: &[f64], out: &mut [f64]) {
        let (range, value) = (self.range(g), value * self.factor(g));
        for (&target, out) in self.targets[range.clone()].iter().zip(&mut out[range]) {
            *out += value * belief[target as usize];
        }
    }

    /// Index of the feature of function `g` with the given target, if there is one.
    #[inline]
    pub fn find(&self, g: u32, target: u32) -> Option<usize> {
        let range = self.range(g);
        // The targets of a function ascend.
        self.targets[range.clone()].binary_search(&target).ok().map(|k| range.start + k)
    }

    /// Target of a feature.
    pub(super) fn target(&self, feature: usize) -> u32 {
        self.targets[feature]
    }

    /// Function of a feature.
    pub(super) fn function_of(&self, feature: usize) -> u32 {
        (self.starts.partition_point(|&start| start <= feature) - 1) as u32
    }

    /// Features for which `keep` is true; functions keep their indices.
    pub(super) fn narrow(&self, mut keep: impl FnMut(usize) -> bool) -> FeatureSet {
        let mut starts = vec![0];
        let mut targets = Vec::new();
        for g in 0..self.n_observations() as u32 {
            let range = self.range(g);
            targets.extend(range.filter(|&k| keep(k)).map(|k| self.targets[k]));
            starts.push(targets.len());
        }
        FeatureSet { functions: self.functions.clone(), starts, targets, factors: self.factors.clone() }
    }

    /// Multiplies the features of each function by a factor.
    pub(super) fn times(self, factors: Vec<f64>) -> Self {
        FeatureSet { factors: Some(factors.into()), ..self }
    }
}

/// Labels that each function can be tied to.
fn patterns<'a>(schema: &'a Schema, entries: &'a [FittedEntry]) -> impl Iterator<Item = Labels> + 'a {
    entries.iter().flat_map(|FittedEntry { encoder, .. }| match encoder.n_plain_functions() {
        Some(n) => vec![None; n],
        None => encoder.observations(schema).into_iter().map(|observation| observation.labels).collect(),
    })
}

/// Returns the group number and advances it.
fn next_group(next: &mut u32) -> u32 {
    *next += 1;
    *next - 1
}
