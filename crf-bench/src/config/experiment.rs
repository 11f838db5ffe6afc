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

/// An experiment as its file tells it, with every default filled in.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Experiment {
    /// What it is called in reports.
    pub title: String,
    /// The paper and figure it reproduces.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub paper: Option<String>,
    /// How often every cell is repeated with other random numbers.
    pub trials: u32,
    /// Where all random numbers come from.
    pub seed: u64,
    /// What is measured on the test data.
    #[serde(default = "usual_metrics", deserialize_with = "named_list")]
    #[schemars(with = "Vec<AnyMetric>", default)]
    pub metrics: Vec<Box<dyn Metric>>,
    /// What is measured on the test data of every candidate that a method's selector shows on its way. The first is what
    /// candidates are judged by; the others, such as numbers of features, tell what enters when.
    #[serde(default, deserialize_with = "named_list", skip_serializing_if = "Vec::is_empty")]
    #[schemars(with = "Vec<AnyMetric>", default)]
    pub path: Vec<Box<dyn Metric>>,
    /// Where the data come from.
    #[serde(deserialize_with = "named")]
    #[schemars(with = "AnySource")]
    pub dataset: Box<dyn Source>,
    /// Keys and the lists of values they take in turn; several keys make a product.
    #[serde(default)]
    #[schemars(with = "Lists")]
    pub sweep: Table,
    /// What is compared.
    #[serde(deserialize_with = "in_order", serialize_with = "as_table")]
    #[schemars(with = "BTreeMap<String, Method>")]
    pub methods: Vec<(String, Method)>,
    /// The inference that the answers of all methods are compared with, for metrics that do.
    #[serde(default, deserialize_with = "named_option", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<AnyInference>")]
    pub reference: Option<Box<dyn Inference>>,
    /// What is drawn.
    #[serde(default)]
    pub figure: Figure,
    /// What the paper's own table has; reports show it beside our numbers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub published: Vec<Published>,
    /// What the results should show.
    #[serde(default)]
    #[schemars(with = "Vec<AnyClaim>")]
    pub claims: Vec<Statement>,
}

fn usual_metrics() -> Vec<Box<dyn Metric>> {
    vec![Box::new(ErrorRate {}), Box::new(SequenceAccuracy {}), Box::new(LogLikelihood {})]
}

/// Numbers of the paper, of one metric at some points of the sweep.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Published {
    /// Which metric.
    pub metric: String,
    /// At which points; at all of them when nothing is said.
    #[serde(default, skip_serializing_if = "At::is_empty")]
    pub at: At,
    /// The number of each method; not all need to have one.
    pub values: BTreeMap<String, f64>,
}

impl Experiment {
    /// What the paper has for a method and a metric at a point.
    pub(crate) fn published(&self, method: &str, at: &SweepValues, metric: &str) -> Option<f64> {
        let fits = |of: &&Published| of.metric.replace('-', "_") == metric && at.matches(&of.at.0);
        self.published.iter().filter(fits).find_map(|of| of.values.get(method).copied())
    }
}

/// What the figure shows.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Figure {
    /// The sweep key along the horizontal axis; the first one when nothing is said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub x: Option<String>,
    /// The metric whose means are the places along the horizontal axis, in the order of the key's values; those values
    /// themselves when nothing is said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub across: Option<String>,
    /// The metric along the vertical axis; the first one when nothing is said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub y: Option<String>,
    /// The sweep key that has a panel for each of its values; all lines are in one when nothing is said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub panels: Option<String>,
    /// What the horizontal axis is called; its key when nothing is said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub x_title: Option<String>,
    /// What the vertical axis is called; its metric when nothing is said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub y_title: Option<String>,
    /// Whether the horizontal axis is logarithmic.
    pub log_x: bool,
    /// Whether the vertical axis is logarithmic; means that are not positive are then left out.
    pub log_y: bool,
    /// Observations whose normal densities are drawn below, a panel each; of each of them the metrics `mean of …` and
    /// `deviation of …` must be measured.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub densities: Vec<String>,
    /// What the paper's own figure or table shows, in words.
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
