//! The structure of experiment files; the field docs are the manual and the JSON schema.

use std::collections::BTreeMap;

use crf_core::metrics::{ErrorRate, LogLikelihood, SequenceAccuracy};
use crf_core::plugin::{named, named_list, named_option};
use crf_core::{Inference, Metric, Source};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toml::{Table, Value};

use super::json_schema::{AnyClaim, AnyInference, AnyMetric, AnySource, Lists};
use super::method::{as_table, in_order};
use super::verify::plugins;
use super::{ConfigFault, Method, SweepValues};
use crate::claims::claim::{At, Statement};
use crate::located_toml::ConfigRoot;

/// An experiment file with all defaults filled in: data, methods, metrics, a sweep, and claims
/// about the results.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Experiment {
    /// The title in reports.
    pub title: String,
    /// The paper, with the figure or table, that the experiment reproduces.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub paper: Option<String>,
    /// The number of trials of each method at each point, with other random numbers each.
    pub trials: u32,
    /// The seed of all random numbers.
    pub seed: u64,
    /// The metrics that are measured on the test data.
    #[serde(default = "usual_metrics", deserialize_with = "named_list")]
    #[schemars(with = "Vec<AnyMetric>", default)]
    pub metrics: Vec<Box<dyn Metric>>,
    /// The metrics that are measured on the test data for every candidate of a method's selector.
    /// The first judges the candidates; the others, such as numbers of features, tell which feature
    /// enters when.
    #[serde(default, deserialize_with = "named_list", skip_serializing_if = "Vec::is_empty")]
    #[schemars(with = "Vec<AnyMetric>", default)]
    pub path: Vec<Box<dyn Metric>>,
    /// The source of the data.
    #[serde(deserialize_with = "named")]
    #[schemars(with = "AnySource")]
    pub dataset: Box<dyn Source>,
    /// The sweep: keys of the file, each with a list of values. The experiment runs at every
    /// combination.
    #[serde(default)]
    #[schemars(with = "Lists")]
    pub sweep: Table,
    /// The methods that are compared, by name.
    #[serde(deserialize_with = "in_order", serialize_with = "as_table")]
    #[schemars(with = "BTreeMap<String, Method>")]
    pub methods: Vec<(String, Method)>,
    /// The reference inference, for metrics that compare the answers of all methods with it.
    #[serde(default, deserialize_with = "named_option", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<AnyInference>")]
    pub reference: Option<Box<dyn Inference>>,
    /// The figure of the report.
    #[serde(default)]
    pub figure: Figure,
    /// Numbers of the paper's own table; reports show them beside ours.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub published: Vec<Published>,
    /// The claims that the results should confirm.
    #[serde(default)]
    #[schemars(with = "Vec<AnyClaim>")]
    pub claims: Vec<Statement>,
}

fn usual_metrics() -> Vec<Box<dyn Metric>> {
    vec![Box::new(ErrorRate {}), Box::new(SequenceAccuracy {}), Box::new(LogLikelihood {})]
}

/// Published numbers of one metric at some points of the sweep.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Published {
    /// The metric.
    pub metric: String,
    /// The points of the sweep, by values of its keys; all points if omitted.
    #[serde(default, skip_serializing_if = "At::is_empty")]
    pub at: At,
    /// The published number of each method; methods may be omitted.
    pub values: BTreeMap<String, f64>,
}

impl Experiment {
    /// The published number of a method and a metric at a point.
    pub(crate) fn published(&self, method: &str, at: &SweepValues, metric: &str) -> Option<f64> {
        let applies = |published: &&Published| {
            published.metric.replace('-', "_") == metric && at.matches(&published.at.0)
        };
        self.published.iter().filter(applies).find_map(|published| published.values.get(method).copied())
    }
}

/// The figure of a report: one line per method, with 95% intervals.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Figure {
    /// The sweep key along the horizontal axis; the first key if omitted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub x: Option<String>,
    /// The metric whose means are the positions along the horizontal axis, in the order of the
    /// key's values; the values themselves if omitted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub across: Option<String>,
    /// The metric along the vertical axis; the first metric if omitted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub y: Option<String>,
    /// The sweep key with a panel for each of its values; a single panel if omitted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub panels: Option<String>,
    /// The title of the horizontal axis; its key if omitted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub x_title: Option<String>,
    /// The title of the vertical axis; its metric if omitted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub y_title: Option<String>,
    /// True for a logarithmic horizontal axis.
    pub log_x: bool,
    /// True for a logarithmic vertical axis, which omits means that are not positive.
    pub log_y: bool,
    /// Observations whose normal densities are drawn below, one panel each. The metrics `mean of …`
    /// and `deviation of …` of each must be measured.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub densities: Vec<String>,
    /// The paper's own figure or table in words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub published: Option<String>,
    /// A sentence below the figure.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub caption: Option<String>,
}

impl ConfigRoot for Experiment {
    fn check(&self, config: &Value) -> Result<(), ConfigFault> {
        plugins(self, config)
    }
}
