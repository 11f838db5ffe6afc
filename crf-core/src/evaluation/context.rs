use std::cell::OnceCell;
use std::ops::Deref;

use crate::Label;
use crate::error::{Error, Result};
use crate::evaluation::evaluate::{Evaluation, Probabilities, evaluate_under};
use crate::evaluation::predict::{Decode, Query, predict};
use crate::features::encoded_dataset::EncodedDataset;
use crate::inference::algorithm::Inference;
use crate::learning::learner::{Problem, Trace, bind_under};
use crate::models::constraints::Forbidden;
use crate::models::model::Model;

/// Context of a metric: an evaluation, and further answers that are computed at the first request
/// and kept.
#[derive(Debug)]
pub struct EvaluationContext<'a> {
    answers: Evaluation,
    source: Option<EvaluatedModel<'a>>,
    reference_inference: Option<&'a dyn Inference>,
    trace: Option<&'a Trace>,
    reference: OnceCell<Evaluation>,
    viterbi: OnceCell<Vec<Label>>,
    parameters: OnceCell<Vec<(String, f64)>>,
}

/// Model and data of an evaluation.
#[derive(Debug, Clone, Copy)]
struct EvaluatedModel<'a> {
    model: &'a dyn Model,
    encoded: &'a EncodedDataset,
    inference: &'a dyn Inference,
    forbidden: Option<&'a Forbidden>,
    decode: Decode,
}

impl<'a> EvaluationContext<'a> {
    /// Evaluates a model on an encoded dataset.
    pub fn new(
        model: &'a dyn Model,
        encoded: &'a EncodedDataset,
        inference: &'a dyn Inference,
        decode: Decode,
    ) -> Result<Self> {
        EvaluationContext::from_model(EvaluatedModel { model, encoded, inference, forbidden: None, decode })
    }

    fn from_model(source: EvaluatedModel<'a>) -> Result<Self> {
        let EvaluatedModel { model, encoded, inference, forbidden, decode } = source;
        let answers = evaluate_under(forbidden, model, encoded, inference, decode)?;
        Ok(EvaluationContext { source: Some(source), ..answers.into() })
    }

    /// Adds a reference inference to compare the answers with.
    pub fn with_reference_inference(self, reference_inference: Option<&'a dyn Inference>) -> Self {
        EvaluationContext { reference_inference, ..self }
    }

    /// Adds reference answers to compare with.
    pub fn with_reference(self, reference: Evaluation) -> Self {
        EvaluationContext { reference: reference.into(), ..self }
    }

    /// Adds the most likely labelling of each sequence as a whole.
    pub fn with_viterbi(self, labels: Vec<Label>) -> Self {
        EvaluationContext { viterbi: labels.into(), ..self }
    }

    /// Adds the course of training.
    pub fn with_trace(self, trace: Option<&'a Trace>) -> Self {
        EvaluationContext { trace, ..self }
    }

    /// Answers of the reference inference for the same model and data.
    pub fn reference(&self) -> Result<&Evaluation> {
        let none = || Error::data("there is no reference inference to compare the answers with");
        get_or_compute(&self.reference, || {
            let EvaluatedModel { model, encoded, forbidden, decode, .. } = self.source.ok_or_else(none)?;
            evaluate_under(forbidden, model, encoded, self.reference_inference.ok_or_else(none)?, decode)
        })
    }

    /// Probabilities of the answers, and those of the reference inference.
    pub fn compared(&self) -> Result<(&Probabilities, &Probabilities)> {
        let reference = self.reference()?;
        Ok((self.probabilities()?, reference.probabilities()?))
    }

    /// Most likely labelling of each sequence as a whole, whatever decoding the answers used.
    pub fn viterbi(&self) -> Result<&[Label]> {
        let none = || Error::data("the labels that are most likely as a whole were not looked for");
        let labels = get_or_compute(&self.viterbi, || {
            let EvaluatedModel { model, encoded, inference, forbidden, .. } = self.source.ok_or_else(none)?;
            let bound = bind_under(forbidden, model, encoded)?;
            let found = predict(&*bound, encoded, inference, Query::Labels(Decode::Viterbi))?;
            Ok(found.into_iter().flat_map(|prediction| prediction.labels).collect())
        });
        labels.map(Vec::as_slice)
    }

    /// Parameters of the model: names and values.
    pub fn parameters(&self) -> Result<&[(String, f64)]> {
        let none = || Error::data("the model is not known, so it has no parameters to be shown");
        let parameters = get_or_compute(&self.parameters, || {
            let source = self.source.ok_or_else(none)?;
            let mut parameters = Vec::new();
            source.model.describe(usize::MAX, &mut |name, value| parameters.push((name.to_owned(), value)));
            Ok(parameters)
        });
        parameters.map(Vec::as_slice)
    }

    /// Course of training.
    pub fn trace(&self) -> Result<&Trace> {
        self.trace.ok_or_else(|| Error::data("how the model was trained is not known"))
    }
}

impl<'a> Problem<'a> {
    /// Evaluates a model by the problem's inference and under its constraints.
    pub fn context(
        &self,
        model: &'a dyn Model,
        encoded: &'a EncodedDataset,
        decode: Decode,
    ) -> Result<EvaluationContext<'a>> {
        let Problem { inference, forbidden, .. } = *self;
        EvaluationContext::from_model(EvaluatedModel { model, encoded, inference, forbidden, decode })
    }
}

/// Returns the content of a cell, and computes it first if it is empty.
fn get_or_compute<T>(cell: &OnceCell<T>, compute: impl FnOnce() -> Result<T>) -> Result<&T> {
    if let Some(known) = cell.get() {
        return Ok(known);
    }
    let computed = compute()?;
    Ok(cell.get_or_init(|| computed))
}

/// Context of answers alone: metrics that ask for more return an error.
impl From<Evaluation> for EvaluationContext<'_> {
    fn from(answers: Evaluation) -> Self {
        EvaluationContext {
            answers,
            source: None,
            reference_inference: None,
            trace: None,
            reference: OnceCell::new(),
            viterbi: OnceCell::new(),
            parameters: OnceCell::new(),
        }
    }
}

impl Deref for EvaluationContext<'_> {
    type Target = Evaluation;

    fn deref(&self) -> &Evaluation {
        &self.answers
    }
}
