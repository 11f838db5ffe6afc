//! The relational language: values by hand and against plain loops, names that parse back, the
//! features of the thesis.
mod language;
mod names;

use std::sync::Arc;

use crf_core::prototypes::Relational;
use crf_core::{
    Alphabet, Dataset, DatasetBuilder, EncodedRows, Encoder, FeatureMap, Prototype as _, Schema, Seed, Value,
};
use crf_testing::datasets::{features, real};
use rand::RngExt as _;

const ROBOTS: [&str; 3] = ["robot1", "robot2", "robot3"];

/// Sequences of the positions of three robots, each x1, y1, x2, y2, x3, y3; the labels are the
/// robots.
fn tag(sequences: &[Vec<[f64; 6]>]) -> Dataset {
    let channels = ROBOTS.iter().flat_map(|robot| ["x", "y"].map(|field| real(&format!("{robot}.{field}"))));
    let schema = Schema::chain(channels.collect(), Alphabet::new(ROBOTS)).unwrap();
    let mut data = DatasetBuilder::new(Arc::new(schema));
    for sequence in sequences {
        for (t, row) in sequence.iter().enumerate() {
            data.push(&row.map(Value::Real), Some(t as u32 % 3)).unwrap();
        }
        data.end_chain().unwrap();
    }
    data.finish()
}

/// Robot 1 goes right by 3, up by 4 and stands; robot 2 stands at (3, 4), robot 3 at (0, 10).
fn small() -> Dataset {
    let row = |x: f64, y: f64| [x, y, 3.0, 4.0, 0.0, 10.0];
    tag(&[vec![row(0.0, 0.0), row(3.0, 0.0), row(3.0, 4.0), row(3.0, 4.0)]])
}

/// Random walks of the given lengths on whole numbers, so that ties and standing robots occur.
fn random(seed: u64, lengths: &[usize]) -> Dataset {
    let mut rng = Seed::new(seed).child("tag").rng();
    let mut walk = |length: &usize| {
        let mut at = [0.0, 0.0, 4.0, 0.0, 0.0, 7.0];
        let mut step = || {
            at.iter_mut().for_each(|x| *x += f64::from(rng.random_range(-1..=1)));
            at
        };
        (0..*length).map(|_| step()).collect()
    };
    let sequences: Vec<Vec<[f64; 6]>> = lengths.iter().map(&mut walk).collect();
    tag(&sequences)
}

fn relational(rules: &[&str]) -> Relational {
    let define = ["gap(i) = min(dist(i, j) for j in robot)", "behind(e, n) = e - e[-n]"];
    Relational {
        rules: rules.iter().map(|&rule| rule.to_owned()).collect(),
        define: define.map(str::to_owned).to_vec(),
        ..Relational::default()
    }
}

fn fit(rules: &[&str], data: &Dataset) -> Box<dyn Encoder> {
    let prototype = relational(rules);
    prototype.check().unwrap();
    prototype.fit(data).unwrap()
}

fn names(encoder: &dyn Encoder, data: &Dataset) -> Vec<String> {
    encoder.observations(data.schema()).into_iter().map(|g| g.name).collect()
}

/// Values of every function, by function and position of sequence `i`.
fn columns(encoder: &dyn Encoder, data: &Dataset, i: usize) -> Vec<Vec<f64>> {
    let block = EncodedRows::encode(encoder, &data.sequence(i));
    let constants = encoder.observations(data.schema()).into_iter().map(|g| g.constant.unwrap_or(0.0));
    let mut columns: Vec<Vec<f64>> = constants.map(|value| vec![value; block.len()]).collect();
    for t in 0..block.len() {
        block.row(t).for_each(|(g, value)| columns[g as usize][t] += value);
    }
    columns
}

fn column(rule: &str, data: &Dataset) -> Vec<f64> {
    let encoder = fit(&[rule], data);
    let mut all = columns(&*encoder, data, 0);
    assert_eq!(all.len(), 1, "{rule}");
    all.swap_remove(0)
}

/// Features of a list on the small data.
fn map(list: &str) -> FeatureMap {
    let data = Arc::new(small());
    let fitted = features(list).fit(&data).unwrap();
    let corpus = fitted.encode(data).unwrap();
    fitted.map(&corpus).unwrap()
}

fn feature_names(map: &FeatureMap) -> Vec<String> {
    (0..map.len()).map(|k| map.name(k)).collect()
}
