use std::io::Write;
use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::cli::output::table::markdown;
use crate::cli::{print_facts, terminal};
use crate::error::Result;
use crate::model::cross_validate::Tuning;
use crate::model::file::ModelFile;
use crate::model::scores::Scores;
use crate::model::train::Seconds;
use crate::support::text::plural;

/// The summary that `train` prints at the end.
#[derive(Debug, Serialize)]
pub(crate) struct Summary {
    model: PathBuf,
    bytes: u64,
    #[serde(flatten)]
    trained: Trained,
    labels: usize,
    features: usize,
    iterations: usize,
    evaluations: u32,
    objective: Option<f64>,
    stop: String,
    /// The iteration whose weights were kept, if the holdout data chose it.
    #[serde(skip_serializing_if = "Option::is_none")]
    kept: Option<Kept>,
    seconds: Seconds,
    #[serde(skip_serializing_if = "Option::is_none")]
    holdout: Option<Scores>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tuning: Option<Tuning>,
}

/// The size of the training data.
#[derive(Debug, Serialize)]
pub(crate) struct Trained {
    pub(crate) sequences: usize,
    pub(crate) positions: usize,
    /// True if the holdout data took part in a choice, so that their scores flatter the model.
    pub(crate) holdout_took_part: bool,
}

#[derive(Debug, Serialize)]
struct Kept {
    iteration: u32,
    objective: f64,
    holdout: f64,
}

impl Summary {
    pub(crate) fn new(
        file: &ModelFile,
        (path, bytes): (&Path, u64),
        trained: Trained,
        seconds: Seconds,
        holdout: Option<Scores>,
        tuning: Option<Tuning>,
    ) -> Self {
        let iterations = &file.contents.trace.iterations;
        let watched = iterations.iter().filter_map(|iteration| {
            let holdout = iteration.holdout.filter(|loss| loss.is_finite())?;
            Some(Kept { iteration: iteration.iteration, objective: iteration.objective, holdout })
        });
        // The first of equals, as learners keep it.
        let kept = watched.min_by(|a, b| a.holdout.total_cmp(&b.holdout));
        let last = iterations.last();
        Summary {
            model: path.to_owned(),
            bytes,
            trained,
            labels: file.contents.features.schema().labels().len(),
            features: file.contents.model.log_linear().map_or(0, |model| model.map().len()),
            iterations: iterations.len(),
            evaluations: last.map_or(0, |last| last.evaluations),
            objective: kept.as_ref().map(|kept| kept.objective).or(last.map(|last| last.objective)),
            stop: file.contents.trace.stop.to_string(),
            kept,
            seconds,
            holdout,
            tuning,
        }
    }

    pub(crate) fn print(&self, out: &mut dyn Write) -> Result<()> {
        if let Some(tuning) = &self.tuning {
            let (head, rows) = tuning.rows();
            let notes: String = tuning.at_the_edge().iter().map(|note| format!("{note}\n")).collect();
            let table = markdown(&head, rows, 2);
            writeln!(out, "{}\n{table}\n{notes}", tuning.title()).map_err(terminal)?;
        }
        let Seconds { read, tune, features, train } = self.seconds;
        let Trained { sequences, positions, holdout_took_part } = self.trained;
        let mut facts = vec![
            ("model", format!("{}, {} bytes", self.model.display(), self.bytes)),
            ("data", format!("{}, {}", plural(sequences, "sequence"), plural(positions, "position"))),
            ("labels", self.labels.to_string()),
            ("features", self.features.to_string()),
            (
                "iterations",
                format!("{}, {}", self.iterations, plural(self.evaluations as usize, "evaluation")),
            ),
            ("stopped", self.stop.clone()),
        ];
        facts.extend(self.kept.as_ref().map(|Kept { iteration, holdout, .. }| {
            (
                "kept",
                format!(
                    "the weights of iteration {iteration}, with the lowest loss on holdout data: {holdout:.4}"
                ),
            )
        }));
        facts.extend(self.objective.map(|objective| ("objective", format!("{objective:.4}"))));
        let tune = tune.map(|tune| format!("{tune:.2} tuning, ")).unwrap_or_default();
        let seconds = format!("{read:.2} reading, {tune}{features:.2} making features, {train:.2} training");
        facts.push(("seconds", seconds));
        print_facts(&facts, out)?;
        if let Some(holdout) = &self.holdout {
            let prefixed = |(name, value): (&str, String)| (format!("holdout {name}"), value);
            let facts: Vec<(String, String)> = holdout.facts().into_iter().map(prefixed).collect();
            let facts: Vec<_> = facts.iter().map(|(name, value)| (name.as_str(), value.clone())).collect();
            if holdout_took_part {
                let note = "the holdout data took part in a choice, so that these scores flatter the model:";
                writeln!(out, "{note}").map_err(terminal)?;
            }
            print_facts(&facts, out)?;
        }
        Ok(())
    }
}
