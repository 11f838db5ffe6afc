use std::sync::Arc;

use crf_core::{
    Alphabet, Edge, Graph, Label, NodeKind, Relation, Result, Rng, Schema, Seed, Source, Splits, Value,
    require,
};
use rand::RngExt as _;
use rand_distr::{Bernoulli, Distribution as _, Normal};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::channels::real;
use crate::generators::support::binary::coin;
use crate::generators::support::label_chain::LabelChain;
use crate::generators::support::noise::noise;
use crate::generators::support::size::Size;
use crate::generators::support::splits::Parts;

/// Two coupled chains of motion states and spatial contexts (after Liao et al. 2007, figure 2).
///
/// Each step has a node of the kind `state` and one of the kind `context`, joined by `state-context`; the chains
/// run along `next-state` and `next-context`, so that there are cycles. In the order of positions all states come
/// first. Both nodes of a step see what is observed there: the real channels `state1`, `state2` … and `context1` …,
/// one for each label of the same name, which are 1 where the label is the true one and 0 elsewhere, plus normal
/// noise.
///
/// Contexts are a Markov chain that stays or goes to any other. Every state belongs to one context, in turn. A
/// state stays, or a new one is drawn: one that belongs to the present context with probability `agreement`, and
/// otherwise one that does not.
///
/// The recordings of the paper (Subramanya et al. 2006) are not public; the numbers of labels are theirs
/// (stationary, walking, running, driving, up and down stairs; indoors, outdoors, vehicle), all else is ours.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct CoupledChains {
    /// How many states there are; at least as many as contexts.
    pub states: usize,
    /// How many contexts there are; at least 2.
    pub contexts: usize,
    /// Probability that a state is the one before without a new one being drawn.
    pub stay_state: f64,
    /// Probability that a context is the one before.
    pub stay_context: f64,
    /// Probability that a new state belongs to the present context.
    pub agreement: f64,
    /// Standard deviation of the noise.
    pub noise: f64,
    /// Size of the training data; a length is a number of steps, each with two nodes.
    pub train: Size,
    /// Size of the data for choices; none when left out.
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
    fn parts(&self) -> Parts {
        Parts { train: self.train, holdout: self.holdout, test: self.test }
    }

    fn law(&self) -> Result<Law> {
        Ok(Law {
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
        require(self.contexts >= 2, "contexts", "at least 2", self.contexts)?;
        require(self.states >= self.contexts, "states", "at least as many as `contexts`", self.states)?;
        self.law()?;
        self.parts().check()
    }

    fn load(&self, seed: &Seed) -> Result<Splits> {
        self.check()?;
        let (law, schema) = (self.law()?, Arc::new(self.schema()?));
        self.parts().draw(&schema, seed, |_, length, rng, out| {
            let (mut labels, mut observed) = (Vec::with_capacity(length), Vec::with_capacity(length));
            for t in 0..length {
                let before = t.checked_sub(1).map(|t| labels[t]);
                let step = law.step(before, rng);
                labels.push(step);
                observed.push(law.observe(step, rng));
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

/// The edges of so many steps, relation by relation; states are the first half of all nodes.
fn edges(length: u32) -> Vec<Edge> {
    let next =
        |first: u32, relation| (1..length).map(move |t| Edge { u: first + t - 1, v: first + t, relation });
    let same_step = (0..length).map(|t| Edge { u: t, v: length + t, relation: 2 });
    next(0, 0).chain(next(length, 1)).chain(same_step).collect()
}

/// How labels and observations are drawn.
#[derive(Debug)]
struct Law {
    n_states: usize,
    n_contexts: usize,
    stay_state: Bernoulli,
    contexts: LabelChain,
    agreement: Bernoulli,
    noise: Normal<f64>,
}

impl Law {
    /// The state and the context after `before`, or first ones.
    fn step(&self, before: Option<(usize, usize)>, rng: &mut Rng) -> (usize, usize) {
        let context = self.contexts.step(before.map(|(_, context)| context as Label), rng) as usize;
        let state = match before {
            Some((state, _)) if self.stay_state.sample(rng) => state,
            _ => {
                let own = self.agreement.sample(rng);
                let states = (0..self.n_states).filter(|state| (state % self.n_contexts == context) == own);
                let n = states.clone().count();
                states.clone().nth(rng.random_range(0..n)).expect("every context has states and lacks some")
            }
        };
        (state, context)
    }

    /// What both nodes of a step see.
    fn observe(&self, (state, context): (usize, usize), rng: &mut Rng) -> Vec<Value<'static>> {
        let true_ones = [state, self.n_states + context];
        let value = |channel| f64::from(u8::from(true_ones.contains(&channel))) + self.noise.sample(rng);
        (0..self.n_states + self.n_contexts).map(value).map(Value::Real).collect()
    }
}
