//! The estimated cost of an experiment, for `crf check` and `reproduce`.

use std::time::Instant;

use crf_core::{EncodingSize, Seed};

use crate::config::{Plan, SweepPoint};
use crate::error::{Error, Result};
use crate::experiment::cell::cell_name;
use crate::experiment::encoding::encode;
use crate::public_data::explained;

/// The estimated cost of an experiment, from the data of its first and last points; nothing is
/// trained.
#[derive(Debug)]
pub(crate) struct Cost {
    /// Number of cells.
    pub(crate) cells: usize,
    /// The size of each method's training at the last point.
    pub(crate) sizes: Vec<Size>,
    /// Seconds of one core, by rule of thumb.
    pub(crate) seconds: f64,
}

/// The size of a method's training.
#[derive(Debug)]
pub(crate) struct Size {
    /// The name of the method.
    pub(crate) method: String,
    pub(crate) sequences: usize,
    pub(crate) positions: usize,
    pub(crate) labels: usize,
    /// Number of observation functions.
    pub(crate) functions: usize,
    /// Size of the encoded data in MB.
    pub(crate) megabytes: usize,
    /// Number of weights before any selection.
    pub(crate) weights: usize,
}

/// Passes over the data of a typical training.
const PASSES: f64 = 100.0;
/// Seconds of a pass per weight it touches and per pair of labels at a position.
const SECONDS: f64 = 1.5e-9;

impl Cost {
    /// Loads the data of two points and encodes them for every method.
    pub(crate) fn estimate(plan: &Plan) -> Result<Self> {
        let n_points = plan.points.len();
        let mut ends = vec![0, n_points - 1];
        ends.dedup();
        let mut seconds = 0.0;
        let mut sizes = Vec::new();
        for &point in &ends {
            let (time, point_sizes) = measure(plan, &plan.points[point])?;
            seconds += time / ends.len() as f64;
            sizes = point_sizes;
        }
        let runs = n_points * plan.experiment.trials as usize;
        Ok(Cost { cells: runs * sizes.len(), sizes, seconds: seconds * runs as f64 })
    }
}

/// The seconds of one trial at a point, and the sizes of its methods.
fn measure(plan: &Plan, point: &SweepPoint) -> Result<(f64, Vec<Size>)> {
    let clock = Instant::now();
    let fault = |what: &str| {
        let cell = cell_name(what, &point.settings, 1);
        |source| Error::Cell { cell, source }
    };
    let source = &*point.dataset;
    let data = source.load(&Seed::new(plan.experiment.seed)).map_err(|error| explained(error, source));
    let data = data.map_err(fault("dataset"))?;
    let train = std::sync::Arc::new(data.train);
    let mut sizes = Vec::new();
    let mut work = 0.0;
    for (name, method) in &point.methods {
        let size = || {
            let features = method.fit_features(&train)?;
            let EncodingSize { functions, bytes, .. } = features.estimate(&train)?;
            let encoded = encode(&features, train.clone())?;
            let labels = train.schema().n_labels(0);
            let positions = train.n_positions();
            let entries = encoded.nodes().n_entries();
            let weights = features.map(&encoded)?.len();
            let pass = (entries * labels + encoded.n_edges() * labels * labels) as f64;
            let method = name.clone();
            let sequences = train.len();
            let megabytes = bytes.div_ceil(1_000_000);
            let size = Size { method, sequences, positions, labels, functions, megabytes, weights };
            Ok((pass, size))
        };
        let (pass, size) = size().map_err(fault(&format!("method {name}")))?;
        work += PASSES * SECONDS * pass;
        sizes.push(size);
    }
    Ok((clock.elapsed().as_secs_f64() + work, sizes))
}

/// `40 s`, `12 min` or `3.5 h`.
pub(crate) fn duration(seconds: f64) -> String {
    match seconds {
        s if s < 1.0 => "a second".to_owned(),
        s if s < 100.0 => format!("{s:.0} s"),
        s if s < 6000.0 => format!("{:.0} min", s / 60.0),
        s => format!("{:.1} h", s / 3600.0),
    }
}
