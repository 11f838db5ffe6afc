use crf_core::{Dataset, Error, Label, Result};

/// Labels of all positions; an error if one is missing, since the learner `tag` needs all of them.
pub(crate) fn all_labels(data: &Dataset, tag: &str) -> Result<Vec<Label>> {
    if data.n_positions() == 0 {
        return Err(Error::data("the data have no position"));
    }
    let mut truth = Vec::with_capacity(data.n_positions());
    for i in 0..data.len() {
        for label in &data.labels()[data.range(i)] {
            truth.push(label.ok_or_else(|| {
                let message =
                    format!("a position has no label, and `{tag}` needs all of them; `mle` does not");
                Error::data(message).at(format!("sequence {}", i + 1))
            })?);
        }
    }
    Ok(truth)
}

/// Refuses labels that are not in the schema, which no model can predict.
pub(crate) fn refuse_foreign(data: &Dataset) -> Result<()> {
    match data.labels().iter().flatten().find(|&&label| Dataset::is_foreign(label)) {
        None => Ok(()),
        Some(&foreign) => {
            let name = data.label_name(0, foreign);
            Err(Error::data(format!("the label `{name}` is not one of the model's")))
        }
    }
}
