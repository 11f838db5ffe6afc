use crf_core::{Fit, FitContext, Learner, Problem, Result};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::margin::averaged_weights::AveragedWeights;
use crate::margin::decoder::Decoder;
use crate::margin::ssvm::{Ssvm, half_square};
use crate::margin::training_loop::{IterativeLearner, Progress};
use crate::training::shuffled_order::ShuffledOrder;

/// Structured SVM by stochastic subgradients (Ratliff et al. 2007; the steps of Pegasos,
/// Shalev-Shwartz et al. 2010).
///
/// Steps of 1/(λt) with λ = 1/(Cn) make w_t = (Cn/t) Σ_u ψ_u, where ψ_u is F(truth) − F(worst
/// labelling) of turn u: only the sum is stored, and a turn changes few of its entries. t starts at
/// n, as if the starting weights had been seen for an epoch. The model has the average of all w_t,
/// the t-th counting t times (as Lacoste-Julien et al. 2013 average).
///
/// Each sequence has one turn per epoch, in an order drawn anew. No sequence then has more than C
/// of the sum, so every w_t from zero on is feasible in the dual problem, and so is their average,
/// which gives the lower bound.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SsvmSubgradient(pub Ssvm);

crf_core::plugin!(
    "learner",
    SsvmSubgradient,
    "ssvm-subgradient",
    example = "
c = 0.1
iterations = 20
"
);

#[typetag::serde(name = "ssvm-subgradient")]
impl Learner for SsvmSubgradient {
    fn check(&self) -> Result<()> {
        self.0.check()
    }

    fn fits_probabilities(&self) -> bool {
        false
    }

    fn watches_validation(&self) -> bool {
        self.0.patience > 0
    }

    fn heeds_sizes(&self) -> bool {
        true
    }

    fn fit(&self, problem: &Problem<'_>, run: &mut FitContext<'_>) -> Result<Fit> {
        const TAG: &str = "ssvm-subgradient";
        let decoder = Decoder::new(problem, &self.0.margin, TAG)?;
        let average = problem.start_weights()?;
        let mut start: Vec<f64> = average.iter().map(|w| w / self.0.c).collect();
        start.push(0.0);
        let epochs = Epochs {
            ssvm: &self.0,
            order: ShuffledOrder::new(decoder.len(), &run.seed),
            turns: 0,
            from_zero: average.iter().all(|w| *w == 0.0),
            sum: AveragedWeights::new(start),
            average,
            decoder,
        };
        self.0.run_solver(TAG, epochs, problem, run)
    }
}

struct Epochs<'a> {
    ssvm: &'a Ssvm,
    decoder: Decoder<'a>,
    order: ShuffledOrder,
    turns: usize,
    sum: AveragedWeights, // [weights + 1] Σ ψ, then Σ Δ, the linear term of the dual problem
    average: Vec<f64>,
    from_zero: bool,
}

impl IterativeLearner for Epochs<'_> {
    fn round(&mut self) -> Result<Progress> {
        let Epochs { ssvm, decoder, order, turns, sum, average, .. } = self;
        let (n, dim) = (decoder.len(), sum.now.len() - 1);
        let scale = |turns: usize| ssvm.c * n as f64 / (n + turns) as f64;
        decoder.set_weights(&sum.now[..dim]);
        for &i in order.next() {
            let violation = decoder.most_violating(i, 1.0 / scale(*turns))?;
            if violation.excess > 0.0 {
                let weight = decoder.weight(i);
                decoder.shift(i, None, None, |_| weight, |k, change| sum.add(k, change));
                sum.add(dim, weight * violation.cost);
            }
            *turns += 1;
            sum.end_turn(*turns as f64, scale(*turns));
        }
        sum.average(average);
        let loss = average.pop().unwrap_or(0.0);
        let objective = ssvm.objective(decoder, average)?;
        let dual = self.from_zero.then_some(loss - half_square(average));
        Ok(ssvm.progress(objective, dual, 2 * (self.turns / n) as u32))
    }

    fn weights(&self) -> &[f64] {
        &self.average
    }
}
