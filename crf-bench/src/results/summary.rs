//! The results of an experiment, aggregated over trials.

use toml::{Table, Value};

use crate::config::{Plan, SweepValues, number};
use crate::results::mean_interval::MeanInterval;
use crate::results::selection_path;

/// The results of an experiment, which reports show and claims judge.
#[derive(Debug, Clone)]
pub struct Summary {
    /// The names of the methods.
    pub methods: Vec<String>,
    /// The points of the sweep.
    pub points: Vec<SweepValues>,
    /// The metrics.
    pub metrics: Vec<MetricColumn>,
    /// Number of trials per method and point.
    pub trials: usize,
    values: Vec<f64>, // [methods × points × metrics × trials]
}

/// A metric as reports show it.
#[derive(Debug, Clone, PartialEq)]
pub struct MetricColumn {
    /// The name.
    pub name: String,
    /// True if larger values are better.
    pub higher_is_better: bool,
}

impl Summary {
    /// The summary of the values `value(method, point, metric, trial)`.
    pub fn new(
        methods: Vec<String>,
        points: Vec<SweepValues>,
        metrics: Vec<MetricColumn>,
        trials: usize,
        value: impl Fn(usize, usize, usize, usize) -> f64,
    ) -> Self {
        let mut summary = Summary { methods, points, metrics, trials, values: Vec::new() };
        for method in 0..summary.methods.len() {
            for point in 0..summary.points.len() {
                for metric in 0..summary.metrics.len() {
                    summary.values.extend((0..trials).map(|trial| value(method, point, metric, trial)));
                }
            }
        }
        summary
    }

    /// The summary of a plan's cells.
    pub fn from_plan(plan: &Plan, value: impl Fn(usize, usize, usize, usize) -> f64) -> Self {
        let experiment = &plan.experiment;
        let methods = experiment.methods.iter().map(|(name, _)| name.clone()).collect();
        let points = plan.points.iter().map(|point| point.settings.clone()).collect();
        let metrics = experiment.metrics.iter();
        let column = metrics.map(|m| MetricColumn { name: m.name(), higher_is_better: m.higher_is_better() });
        let columns = column.chain(selection_path::columns(&experiment.path)).collect();
        Summary::new(methods, points, columns, experiment.trials as usize, value)
    }

    /// The values of a metric in all trials of a method at a point.
    pub fn values(&self, method: usize, point: usize, metric: usize) -> &[f64] {
        let cell = (method * self.points.len() + point) * self.metrics.len() + metric;
        &self.values[cell * self.trials..(cell + 1) * self.trials]
    }

    /// The mean of a metric over trials, with its interval.
    pub fn estimate(&self, method: usize, point: usize, metric: usize) -> MeanInterval {
        MeanInterval::from_trials(self.values(method, point, metric))
    }

    /// The mean of the paired differences of two methods: they share the data of each trial, so
    /// most noise cancels.
    pub fn difference(&self, method: usize, than: usize, point: usize, metric: usize) -> MeanInterval {
        let pairs = self.values(method, point, metric).iter().zip(self.values(than, point, metric));
        MeanInterval::from_trials(&pairs.map(|(a, b)| a - b).collect::<Vec<f64>>())
    }

    /// The index of a method; the names of claims were checked before the run.
    pub fn method(&self, name: &str) -> usize {
        let found = self.methods.iter().position(|method| method == name);
        found.unwrap_or_else(|| panic!("no method `{name}`: names are checked before a run"))
    }

    /// The index of a metric, spelled as in configs or as in results.
    pub fn metric(&self, name: &str) -> usize {
        let name = name.replace('-', "_");
        let found = self.metrics.iter().position(|metric| metric.name == name);
        found.unwrap_or_else(|| panic!("no metric `{name}`: names are checked before a run"))
    }

    /// The indices of the points with the values in `at`.
    pub fn at(&self, at: &Table) -> Vec<usize> {
        (0..self.points.len()).filter(|&point| self.points[point].matches(at)).collect()
    }

    /// The points at `at` as lines along one key: one line for each combination of the other
    /// settings.
    ///
    /// Numbers ascend along a line; other values keep the order of the file.
    pub fn lines(&self, along: &str, at: &Table) -> Vec<Line> {
        let mut lines: Vec<Line> = Vec::new();
        for point in self.at(at) {
            let others = self.points[point].filter(|key| key != along);
            match lines.iter_mut().find(|line| line.others == others) {
                Some(line) => line.points.push(point),
                None => lines.push(Line { others, points: vec![point] }),
            }
        }
        let number_at = |point: usize| self.points[point].get(along).and_then(number);
        for line in &mut lines {
            if line.points.iter().all(|&point| number_at(point).is_some()) {
                line.points.sort_by(|&a, &b| {
                    number_at(a).unwrap_or_default().total_cmp(&number_at(b).unwrap_or_default())
                });
            }
        }
        lines
    }

    /// The value of a key at a point.
    pub fn value(&self, point: usize, key: &str) -> Option<&Value> {
        self.points[point].get(key)
    }
}

/// Points that differ in one key only.
#[derive(Debug, Clone, PartialEq)]
pub struct Line {
    /// The values that they share.
    pub others: SweepValues,
    /// The indices of the points.
    pub points: Vec<usize>,
}
