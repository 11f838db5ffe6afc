use std::sync::Arc;

use crf_core::{
    Alphabet, Edge, Graph, Label, NodeKind, Relation, Result, Rng, Schema, Seed, Source, Splits, Value,
    require, require_memory,
};
use rand::RngExt as _;
use rand_distr::{Bernoulli, Distribution as _, Normal};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::channels::real;
use crate::checks::count;
use crate::generators::support::draws::{coin, indicator, noise};
use crate::generators::support::label_chain::LabelChain;
use crate::generators::support::splits::{Size, SplitSizes};

/// Two coupled chains of motion states and spatial contexts (after Liao et al. 2007, figure 2).
///
/// Each step has a node of the kind `state` and a node of the kind `context`, joined by the
/// relation `state-context`. The chains run along the relations `next-state` and `next-context`, so
/// the graph has cycles. In the order of positions all states come first. Both nodes of a step have
/// the same observations: the real channels `state1`, `state2`, … and `context1`, …, one for each
/// label of the same name. A channel is 1 if its label is the true one and 0 otherwise, plus normal
/// noise. The length of a sequence is its number of steps, each with two nodes.
///
/// Contexts are a Markov chain that keeps its label or moves to any other. Every state belongs to
/// one context, in turn. A state stays, or a new one is drawn: with probability `agreement` one
/// that belongs to the present context, and otherwise one that does not.
///
/// The recordings of the paper (Subramanya et al. 2006) are not public. The numbers of labels are
/// those of the paper (stationary, walking, running, driving, up and down stairs; indoors,
/// outdoors, vehicle), everything else is ours.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct CoupledChains {
    /// Number of states; at least as many as contexts.
    pub states: usize,
    /// Number of contexts; at least 2.
    pub contexts: usize,
    /// Probability that a state is kept, before a new one is drawn.
    pub stay_state: f64,
    /// Probability that a context equals the previous one.
    pub stay_context: f64,
    /// Probability that a new state belongs to the present context.
    pub agreement: f64,
    /// Standard deviation of the noise.
    pub noise: f64,
    /// Size of the training data.
    pub train: Size,
    /// Size of the validation data; none if omitted.
    pub holdout: Option<Size>,
    /// Size of the test data.
    pub test: Size,
}

impl Default for CoupledChains {
    fn default() -> Self {
        CoupledChains {
            states: 6,
            contexts: 3,
            stay_state: 0.9,
            stay_context: 0.95,
            agreement: 0.9,
            noise: 1.0,
            train: Size { sequences: 1, length: 1000 },
            holdout: None,
            test: Size { sequences: 1, length: 1000 },
        }
    }
}

impl CoupledChains {
    fn sizes(&self) -> SplitSizes {
        SplitSizes { train: self.train, holdout: self.holdout, test: self.test }
    }

    fn distribution(&self) -> Result<StepDistribution> {
        Ok(StepDistribution {
            n_states: self.states,
            n_contexts: self.contexts,
            stay_state: coin("stay_state", self.stay_state)?,
            contexts: LabelChain::new("stay_context", self.stay_context, self.contexts)?,
            agreement: coin("agreement", self.agreement)?,
            noise: noise(self.noise)?,
        })
    }

    fn schema(&self) -> Result<Schema> {
        let names = |kind: &str, n: usize| (1..=n).map(move |k| format!("{kind}{k}")).collect::<Vec<_>>();
        let (states, contexts) = (names("state", self.states), names("context", self.contexts));
        let kind =
            |name: &str, labels: &[String]| NodeKind { name: name.into(), labels: Alphabet::new(labels) };
        let kinds = vec![kind("state", &states), kind("context", &contexts)];
        let channels = states.into_iter().chain(contexts);
        let relation = |name: &str, tail, head| Relation { name: name.into(), tail, head };
        let relations = vec![
            relation("next-state", 0, 0),
            relation("next-context", 1, 1),
            relation("state-context", 0, 1),
        ];
        Schema::graph(real(channels), kinds, relations)
    }
}

crf_core::plugin!(
    "source",
    CoupledChains,
    "coupled-chains",
    example = "
states = 6
contexts = 3
"
);

#[typetag::serde(name = "coupled-chains")]
impl Source for CoupledChains {
    fn check(&self) -> Result<()> {
        count("contexts", 2, self.contexts)?;
        count("states", 2, self.states)?;
        require(self.states >= self.contexts, "states", "at least as many as `contexts`", self.states)?;
        self.distribution()?;
        self.sizes().check()
    }

    fn load(&self, seed: &Seed) -> Result<Splits> {
        self.check()?;
        let distribution = self.distribution()?;
        let schema = Arc::new(self.schema()?);
        // A sequence is drawn whole; states and contexts are nodes of their own.
        let bytes_of_step = 32.0 * (self.states + self.contexts) as f64 + 200.0;
        require_memory(
            self.sizes().longest() as f64 * bytes_of_step,
            "a drawn sequence",
            "use shorter ones",
        )?;
        self.sizes().draw(&schema, seed, |_, length, rng, out| {
            let mut labels = Vec::with_capacity(length);
            let mut observed = Vec::with_capacity(length);
            for t in 0..length {
                let previous = t.checked_sub(1).map(|t| labels[t]);
                let step = distribution.step(previous, rng);
                labels.push(step);
                observed.push(distribution.observe(step, rng));
            }
            let states = labels.iter().map(|&(state, _)| state);
            let nodes = states.chain(labels.iter().map(|&(_, context)| context));
            for (label, values) in nodes.zip(observed.iter().chain(&observed)) {
                out.push(values, Some(label as u32))?;
            }
            let kinds = [vec![0; length], vec![1; length]].concat();
            out.end_graph(Graph::new(&schema, kinds, edges(length as u32))?)
        })
    }
}

/// Edges of `length` steps, relation by relation; states are the first half of the nodes.
fn edges(length: u32) -> Vec<Edge> {
    let next =
        |first: u32, relation| (1..length).map(move |t| Edge { u: first + t - 1, v: first + t, relation });
    let same_step = (0..length).map(|t| Edge { u: t, v: length + t, relation: 2 });
    next(0, 0).chain(next(length, 1)).chain(same_step).collect()
}

/// Distribution of a step: its labels given those of the previous step, and its observations.
#[derive(Debug)]
struct StepDistribution {
    n_states: usize,
    n_contexts: usize,
    stay_state: Bernoulli,
    contexts: LabelChain,
    agreement: Bernoulli,
    noise: Normal<f64>,
}

impl StepDistribution {
    /// Draws the state and the context after the `previous` ones; the first ones if there are none.
    fn step(&self, previous: Option<(usize, usize)>, rng: &mut Rng) -> (usize, usize) {
        let context = self.contexts.step(previous.map(|(_, context)| context as Label), rng) as usize;
        let state = match previous {
            Some((state, _)) if self.stay_state.sample(rng) => state,
            _ => {
                let belongs = self.agreement.sample(rng);
                let states =
                    (0..self.n_states).filter(|state| (state % self.n_contexts == context) == belongs);
                let n = states.clone().count();
                states.clone().nth(rng.random_range(0..n)).expect("every context has states and lacks some")
            }
        };
        (state, context)
    }

    /// Draws the observations of both nodes of a step.
    fn observe(&self, (state, context): (usize, usize), rng: &mut Rng) -> Vec<Value<'static>> {
        let true_channels = [state, self.n_states + context];
        let value = |channel| indicator(true_channels.contains(&channel)) + self.noise.sample(rng);
        (0..self.n_states + self.n_contexts).map(value).map(Value::Real).collect()
    }
}
