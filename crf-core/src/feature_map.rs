use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::bulk;
use crate::error::{Error, Result};
use crate::features::{Pairs, Part};
use crate::names::Names;
use crate::prototype::Observation;
use crate::schema::Schema;

/// Which features a model has, in the order of their weights.
///
/// A feature ties an observation function to a label (state) or to a pair of labels (transition). Features stand
/// in order of their function, so a feature's number is its place: the weights need no index.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FeatureMap {
    schema: Arc<Schema>,
    state: Links,
    transition: Links,
}

/// The features of one kind of link, by observation function.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Stored", into = "Stored")]
pub struct Links {
    names: Arc<Names>,        // [functions]
    owners: Arc<Vec<u16>>,    // [functions] kind of node, or relation
    constant: Arc<Vec<bool>>, // [functions]
    groups: Arc<Vec<u32>>,    // [functions] which functions exclude each other; all different otherwise
    starts: Vec<usize>,       // [functions + 1]
    targets: Vec<u32>,        // [features] label, or tail label · head labels + head label
}

/// Links as a file has them.
#[derive(Serialize, Deserialize)]
struct Stored {
    names: Arc<Names>,
    #[serde(with = "bulk")]
    owners: Vec<u16>,
    #[serde(with = "bulk")]
    constant: Vec<u32>, // the constant functions
    #[serde(with = "bulk")]
    groups: Vec<u32>,
    #[serde(with = "bulk")]
    counts: Vec<u32>, // [functions] how many features each has
    #[serde(with = "bulk")]
    targets: Vec<u32>,
}

impl From<Links> for Stored {
    fn from(links: Links) -> Self {
        let Links { names, owners, constant, groups, starts, targets } = links;
        let constant = (0..).zip(&*constant).filter(|(_, constant)| **constant).map(|(g, _)| g).collect();
        let counts = starts.windows(2).map(|pair| (pair[1] - pair[0]) as u32).collect();
        Stored { names, owners: owners.to_vec(), constant, groups: groups.to_vec(), counts, targets }
    }
}

impl TryFrom<Stored> for Links {
    type Error = Error;

    fn try_from(Stored { names, owners, constant, groups, counts, targets }: Stored) -> Result<Self> {
        let starts = crate::graph::offsets(counts.iter().map(|&count| count as usize));
        let mut is_constant = vec![false; names.len()];
        let known = constant.iter().all(|&g| is_constant.get_mut(g as usize).map(|is| *is = true).is_some());
        let sizes = [owners.len(), groups.len(), counts.len()] == [names.len(); 3];
        if !(known && sizes && starts[counts.len()] == targets.len()) {
            return Err(Error::data("the lists of a feature map do not fit each other"));
        }
        Ok(Links {
            names,
            owners: owners.into(),
            constant: is_constant.into(),
            groups: groups.into(),
            starts,
            targets,
        })
    }
}

/// What a feature is tied to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Target {
    /// A label of a node.
    State(u32),
    /// The labels at the tail and the head of an edge.
    Transition(u32, u32),
}

impl Links {
    /// Ties every function to all its targets, or to those with which `show` sees it.
    pub(crate) fn new(
        parts: &[Part],
        n_targets: impl Fn(u16) -> usize,
        show: impl FnOnce(&mut dyn FnMut(u32, u16, u32)),
    ) -> Result<Self> {
        let (mut names, mut owners, mut constant, mut groups) =
            (Names::default(), Vec::new(), Vec::new(), Vec::new());
        let (mut all, mut observed, mut n_groups) = (vec![0], Vec::new(), 0);
        for Part { owner, encoder, pairs } in parts {
            // Numbers of groups mean something within one encoder only.
            let mut group_of = HashMap::new();
            for Observation { name, group, constant: value } in encoder.observations() {
                names.push(&name);
                owners.push(*owner);
                constant.push(value.is_some());
                groups.push(match group {
                    Some(group) => *group_of.entry(group).or_insert_with(|| fresh(&mut n_groups)),
                    None => fresh(&mut n_groups),
                });
                all.push(all[all.len() - 1] + n_targets(*owner));
                observed.push(*pairs == Pairs::Observed);
            }
            if u32::try_from(names.len()).is_err() {
                return Err(Error::data("more than 2³² observation functions"));
            }
        }
        // One bit for each function and target.
        let mut seen = vec![0_u64; if observed.contains(&true) { all[names.len()].div_ceil(64) } else { 0 }];
        if !seen.is_empty() {
            show(&mut |g, owner, target| {
                let bit = all[g as usize] + target as usize;
                seen[bit / 64] |= u64::from(owners[g as usize] == owner) << (bit % 64);
            });
        }
        let (mut starts, mut targets) = (vec![0], Vec::new());
        for g in 0..names.len() {
            let bits = all[g]..all[g + 1];
            let keep = |bit: &usize| !observed[g] || seen[bit / 64] >> (bit % 64) & 1 == 1;
            targets.extend(bits.filter(keep).map(|bit| (bit - all[g]) as u32));
            starts.push(targets.len());
        }
        let (names, owners, constant, groups) = (names.into(), owners.into(), constant.into(), groups.into());
        Ok(Links { names, owners, constant, groups, starts, targets })
    }

    /// How many observation functions there are, with or without features.
    pub fn n_observations(&self) -> usize {
        self.names.len()
    }

    /// How many features there are.
    pub fn len(&self) -> usize {
        self.targets.len()
    }

    /// Whether there is no feature.
    pub fn is_empty(&self) -> bool {
        self.targets.is_empty()
    }

    /// The name of function `g`.
    pub fn name(&self, g: u32) -> &str {
        self.names.get(g as usize)
    }

    /// The kind of node, or the relation, that function `g` belongs to.
    pub fn owner(&self, g: u32) -> u16 {
        self.owners[g as usize]
    }

    /// Whether function `g` has one value everywhere.
    pub fn is_constant(&self, g: u32) -> bool {
        self.constant[g as usize]
    }

    /// A number that function `g` shares with those it excludes.
    pub fn group(&self, g: u32) -> u32 {
        self.groups[g as usize]
    }

    /// The features of function `g`.
    #[inline]
    pub fn range(&self, g: u32) -> Range<usize> {
        self.starts[g as usize]..self.starts[g as usize + 1]
    }

    /// The targets of the features of function `g`, ascending.
    #[inline]
    pub fn targets(&self, g: u32) -> &[u32] {
        &self.targets[self.range(g)]
    }

    /// Adds to `scores`, by target, what function `g` with the given value is worth under weights `w`.
    #[inline]
    pub fn add_scores(&self, w: &[f64], g: u32, value: f64, scores: &mut [f64]) {
        let range = self.range(g);
        for (&target, weight) in self.targets[range.clone()].iter().zip(&w[range]) {
            scores[target as usize] += value * weight;
        }
    }

    /// Adds to the features of function `g` its value times the belief in their targets.
    #[inline]
    pub fn add_expectation(&self, g: u32, value: f64, belief: &[f64], out: &mut [f64]) {
        let range = self.range(g);
        for (&target, out) in self.targets[range.clone()].iter().zip(&mut out[range]) {
            *out += value * belief[target as usize];
        }
    }

    /// The feature of function `g` that has the given target, if there is one.
    #[inline]
    pub fn find(&self, g: u32, target: u32) -> Option<usize> {
        let range = self.range(g);
        // Targets of one function ascend.
        self.targets[range.clone()].binary_search(&target).ok().map(|k| range.start + k)
    }

    fn observation_of(&self, feature: usize) -> u32 {
        (self.starts.partition_point(|&start| start <= feature) - 1) as u32
    }

    fn narrow(&self, mut keep: impl FnMut(usize) -> bool) -> Links {
        let (mut starts, mut targets) = (vec![0], Vec::new());
        for g in 0..self.n_observations() as u32 {
            let range = self.range(g);
            targets.extend(range.filter(|&k| keep(k)).map(|k| self.targets[k]));
            starts.push(targets.len());
        }
        Links { starts, targets, ..self.clone() }
    }
}

/// The next number.
fn fresh(next: &mut u32) -> u32 {
    *next += 1;
    *next - 1
}

impl FeatureMap {
    pub(crate) fn new(schema: Arc<Schema>, state: Links, transition: Links) -> Self {
        FeatureMap { schema, state, transition }
    }

    /// What the features speak about.
    pub fn schema(&self) -> &Arc<Schema> {
        &self.schema
    }

    /// The state features; the first weights are theirs.
    pub fn state(&self) -> &Links {
        &self.state
    }

    /// The transition features; the last weights are theirs.
    pub fn transition(&self) -> &Links {
        &self.transition
    }

    /// How many features, and so weights, there are.
    pub fn len(&self) -> usize {
        self.state.len() + self.transition.len()
    }

    /// Whether there is no feature.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The observation function of a feature among those of its link, and what it is tied to.
    pub fn feature(&self, feature: usize) -> (u32, Target) {
        match feature.checked_sub(self.state.len()) {
            None => (self.state.observation_of(feature), Target::State(self.state.targets[feature])),
            Some(k) => {
                let g = self.transition.observation_of(k);
                let (_, columns) = self.schema.table_shape(self.transition.owner(g));
                let pair = self.transition.targets[k] as usize;
                (g, Target::Transition((pair / columns) as u32, (pair % columns) as u32))
            }
        }
    }

    /// Whether a feature is an intercept (y = label), which penalties usually spare (Vail 2008, §2.4.3).
    pub fn is_intercept(&self, feature: usize) -> bool {
        feature < self.state.len() && self.state.is_constant(self.state.observation_of(feature))
    }

    /// A feature as a sentence: `y=robot1 ∧ speed²`, `y'=rain ∧ y=sun`.
    pub fn name(&self, feature: usize) -> String {
        let (g, target) = self.feature(feature);
        let label = |kind: u16, label| self.schema.kinds()[kind as usize].labels.name(label);
        let (links, target) = match target {
            Target::State(y) => (&self.state, format!("y={}", label(self.state.owner(g), y))),
            Target::Transition(before, now) => {
                let relation = &self.schema.relations()[self.transition.owner(g) as usize];
                let of = if self.schema.relations().len() > 1 {
                    format!("{}: ", relation.name)
                } else {
                    String::new()
                };
                let (before, now) = (label(relation.tail, before), label(relation.head, now));
                (&self.transition, format!("{of}y'={before} ∧ y={now}"))
            }
        };
        match links.name(g) {
            "1" => target,
            name => format!("{target} ∧ {name}"),
        }
    }

    /// The map of those features for which `keep` says yes, and their numbers in this map.
    ///
    /// Observation functions keep their numbers, so encoded data serve narrow and wide maps alike.
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
}
