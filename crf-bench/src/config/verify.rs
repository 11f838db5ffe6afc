//! Checks of a whole experiment: counts, names and the settings of its plugins.

use toml::Value;

use super::{ConfigFault, Experiment, Figure, KeyPath, number};
use crate::claims::claim::Names;

/// Rejects settings that can be read but never run.
pub(crate) fn settings(experiment: &Experiment, config: &Value) -> Result<(), ConfigFault> {
    let root = KeyPath::default();
    if experiment.trials == 0 {
        return Err(ConfigFault::value(root.child("trials"), "`trials` must be at least 1, got 0"));
    }
    if experiment.methods.is_empty() {
        return Err(ConfigFault::value(root.child("methods"), "an experiment needs at least one method"));
    }
    if experiment.metrics.is_empty() {
        return Err(ConfigFault::value(root.child("metrics"), "an experiment needs at least one metric"));
    }
    for (i, metric) in experiment.metrics.iter().enumerate() {
        if experiment.metrics[..i].iter().any(|other| other.name() == metric.name()) {
            let message = format!("the metric `{}` is listed twice", metric.name());
            return Err(ConfigFault::value(root.child("metrics").child(i), message));
        }
    }
    plugins(experiment, config)
}

/// Rejects unknown names in the figure, in published numbers and in claims.
///
/// If `strict`, the values in claims must be in the sweep; a quick run may omit some.
pub(crate) fn names(experiment: &Experiment, strict: bool) -> Result<(), ConfigFault> {
    let root = KeyPath::default();
    let names = Names::new(experiment, strict);
    let figure = root.child("figure");
    for (key, name) in [("x", &experiment.figure.x), ("panels", &experiment.figure.panels)] {
        name.as_ref().map_or(Ok(()), |name| names.along(key, name)).map_err(|fault| fault.below(&figure))?;
    }
    for (key, name) in [("y", &experiment.figure.y), ("across", &experiment.figure.across)] {
        name.as_ref().map_or(Ok(()), |name| names.metric(key, name)).map_err(|fault| fault.below(&figure))?;
    }
    for (i, name) in experiment.figure.densities.iter().enumerate() {
        let at = |fault: ConfigFault| fault.below(&figure.child("densities"));
        let measured = ["mean", "deviation"].map(|what| format!("{what} of {name}"));
        measured.iter().try_for_each(|metric| names.metric(&i.to_string(), metric)).map_err(at)?;
    }
    for (i, published) in experiment.published.iter().enumerate() {
        let known = names.metric("metric", &published.metric).and_then(|()| names.at(&published.at));
        let methods = published.values.keys();
        let known =
            known.and_then(|()| methods.into_iter().try_for_each(|name| names.method("values", name)));
        known.map_err(|fault| fault.below(&root.child("published").child(i)))?;
    }
    log_axis(experiment).map_err(|fault| fault.below(&figure))?;
    for (i, statement) in experiment.claims.iter().enumerate() {
        let path = root.child("claims").child(i).child(statement.claim.typetag_name());
        statement.claim.check(&names).map_err(|fault| fault.below(&path))?;
    }
    Ok(())
}

/// Rejects numbers that are not positive along a logarithmic axis.
fn log_axis(experiment: &Experiment) -> Result<(), ConfigFault> {
    let Figure { x, log_x: true, .. } = &experiment.figure else { return Ok(()) };
    let x = x.as_ref().or_else(|| experiment.sweep.keys().next());
    let values = x.and_then(|x| experiment.sweep.get(x)).and_then(Value::as_array).into_iter().flatten();
    match (x, values.clone().find(|value| number(value).is_none_or(|value| value <= 0.0))) {
        (Some(x), Some(value)) => Err(ConfigFault::value(
            KeyPath::new(["log-x"]),
            format!("a logarithmic axis needs positive numbers, but `{x}` takes {value}"),
        )),
        _ => Ok(()),
    }
}

/// Checks the settings of every plugin.
pub(crate) fn plugins(experiment: &Experiment, config: &Value) -> Result<(), ConfigFault> {
    let root = KeyPath::default();
    let fault = |path: KeyPath| move |error| ConfigFault::plugin(path, &error, config);
    experiment.dataset.check().map_err(fault(root.child("dataset")))?;
    let reference = experiment.reference.as_deref();
    reference.map_or(Ok(()), |reference| reference.check().map_err(fault(root.child("reference"))))?;
    if let Some(i) = experiment.path.iter().position(|metric| metric.is_of_training()) {
        let message = "candidates on a path are not trained one by one: this metric is one of `metrics`";
        return Err(ConfigFault::value(root.child("path").child(i), message));
    }
    for (name, method) in &experiment.methods {
        method.check(&root.child("methods").child(name), config)?;
        for (key, metrics) in [("metrics", &experiment.metrics), ("path", &experiment.path)] {
            for (i, metric) in metrics.iter().enumerate() {
                let needed = metric.check(&*method.inference, reference);
                let needed = needed.map_err(|error| error.at(format!("the metric `{}`", metric.name())));
                needed.map_err(fault(root.child(key).child(i)))?;
            }
        }
    }
    Ok(())
}
