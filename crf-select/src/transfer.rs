use crf_core::plugin::{Named, named, named_option};
use crf_core::{
    Corpus, Decode, Error, Fit, Iteration, Learner, Model, Next, Problem, Result, Run, Selector, Trace,
    require,
};
use crf_learn::Mle;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::choice::choose;
use crate::l1_path::L1Path;

/// Features selected in one part of the data and trained in another, as Vail (2008), §3.4 carries those of a simulation over
/// to robots.
///
/// Parts are equal numbers of sequences in the order of the data, as the source `domains` has them. The choice among
/// candidates is made by the holdout data of the part in which they were selected.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Transfer {
    /// How many parts the training data have, and the holdout data; at least 1.
    pub parts: usize,
    /// In which part features are selected, counted from 1.
    pub select_in: usize,
    /// What selects them.
    #[serde(deserialize_with = "named")]
    #[schemars(with = "Named")]
    pub selector: Box<dyn Selector>,
    /// In which part they are trained.
    pub train_in: usize,
    /// What trains them; when left out the weights stay as the selector found them, and it must find some.
    #[serde(deserialize_with = "named_option", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Named>")]
    pub learner: Option<Box<dyn Learner>>,
    /// Which labelling of holdout data counts when a candidate is chosen.
    pub decode: Decode,
}

impl Default for Transfer {
    fn default() -> Self {
        Transfer {
            parts: 1,
            select_in: 1,
            selector: Box::new(L1Path::default()),
            train_in: 1,
            learner: None,
            decode: Decode::default(),
        }
    }
}

crf_core::plugin!("learner", Transfer, "transfer");

#[typetag::serde(name = "transfer")]
impl Learner for Transfer {
    fn check(&self) -> Result<()> {
        require(self.parts >= 1, "parts", "at least 1", self.parts)?;
        let want = format!("from 1 to {}, the number of parts", self.parts);
        let is_part = |part: usize| (1..=self.parts).contains(&part);
        require(is_part(self.select_in), "select_in", &want, self.select_in)?;
        require(is_part(self.train_in), "train_in", &want, self.train_in)?;
        self.selector.check()?;
        self.learner.as_ref().map_or(Ok(()), |learner| learner.check())
    }

    fn fit(&self, problem: &Problem<'_>, run: &mut Run<'_>) -> Result<Fit> {
        let mut go_on = |_: &Iteration| Next::Continue;
        let part =
            |of: &Corpus, part| Ok(of.subset(&of.data().part(part, self.parts)?.collect::<Vec<usize>>()));
        let pair = |number| -> Result<(Corpus, Option<Corpus>)> {
            Ok((part(problem.train, number)?, problem.valid.map(|valid| part(valid, number)).transpose()?))
        };
        let (train, valid) = pair(self.select_in)?;
        let inside = Problem { train: &train, valid: valid.as_ref(), ..*problem };
        let (mle, learner) = (Mle::default(), self.learner.as_deref());
        let chosen = if self.selector.typetag_name() == "none" {
            None
        } else {
            let run = &mut Run::new(run.seed.child("selector"), &mut go_on);
            Some(choose(&*self.selector, learner.unwrap_or(&mle), self.decode, &inside, run)?)
        };
        let Some(learner) = learner else {
            let what = format!(
                "trains nothing without a learner, and `{}` finds no weights",
                self.selector.typetag_name()
            );
            let stop = chosen.as_ref().map(|chosen| chosen.stop);
            let model = chosen.and_then(|chosen| chosen.model);
            let (model, stop) = model.zip(stop).ok_or(Error::Unsupported { tag: "transfer", what })?;
            return Ok(Fit { model: Box::new(model), trace: Trace { iterations: Vec::new(), stop } });
        };
        let map = chosen.as_ref().map_or(problem.map, |chosen| &chosen.map);
        // Weights of another part are no better to begin with than none.
        let is_same = self.train_in == self.select_in;
        let start = chosen.as_ref().and_then(|chosen| chosen.model.as_ref()).filter(|_| is_same);
        let start = start.map(|model| model as &dyn Model);
        let (train, valid) = if is_same { (train, valid) } else { pair(self.train_in)? };
        learner.fit(&Problem { train: &train, valid: valid.as_ref(), map, start, ..*problem }, run)
    }
}
