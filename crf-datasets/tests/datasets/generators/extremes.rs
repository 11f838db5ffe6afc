//! Every source with extreme settings: it ends soon, with data or with an error that says why not.
use std::time::{Duration, Instant};

use crf_core::{Plugin, Seed, Source};
use crf_testing::cases;
use proptest::prelude::*;
use toml::{Table, Value};

/// Numbers of things that nobody means, and those at the edge of what is allowed.
const WHOLE: &[i64] = &[-1, 0, 1, 2, 3, 100, 1_000_000_007, 1 << 33, i64::MAX];
const REAL: &[f64] = &[
    f64::NAN,
    f64::INFINITY,
    f64::NEG_INFINITY,
    f64::MIN,
    -1.0,
    -0.0,
    0.0,
    5e-324,
    1e-300,
    0.5,
    1.0,
    1e15,
    1e300,
    f64::MAX,
];

/// Settings of a source by default, with all defaults in full and little data.
fn small(plugin: &Plugin) -> Table {
    let text = format!("type = {:?}\n{}", plugin.tag, plugin.example);
    let source: Box<dyn Source> = toml::from_str(&text).unwrap();
    let mut config = Table::try_from(&source).unwrap();
    shrink(&mut config);
    config
}

fn shrink(config: &mut Table) {
    for (key, value) in config.iter_mut() {
        match (key.as_str(), value) {
            ("length" | "rows" | "columns" | "sweeps" | "days", value) => *value = Value::Integer(4),
            ("sequences", value) => *value = Value::Integer(5),
            // Real data take long to read, and are not everywhere.
            ("file" | "list" | "train" | "holdout" | "test", Value::String(path)) => {
                *path = "/nowhere/f".to_owned();
            }
            (_, Value::Table(table)) => shrink(table),
            (_, Value::Array(list)) => list.iter_mut().filter_map(Value::as_table_mut).for_each(shrink),
            _ => {}
        }
    }
}

/// All numbers of a config, in order.
fn numbers(value: &mut Value) -> Vec<&mut Value> {
    match value {
        Value::Integer(_) | Value::Float(_) => vec![value],
        Value::Table(table) => table.iter_mut().flat_map(|(_, value)| numbers(value)).collect(),
        Value::Array(list) => list.iter_mut().flat_map(numbers).collect(),
        _ => Vec::new(),
    }
}

proptest! {
    #![proptest_config(cases(400))]

    #[test]
    fn sources_with_extreme_settings_end_soon(
        plugin in any::<prop::sample::Index>(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<prop::sample::Index>()), 1..3),
        seed in 0..9_u64,
    ) {
        let sources: Vec<_> = Plugin::all().into_iter().filter(|plugin| plugin.kind == "source").collect();
        let mut config = Value::Table(small(sources[plugin.index(sources.len())]));
        for (which, extreme) in changes {
            let mut all = numbers(&mut config);
            if all.is_empty() {
                return Ok(());
            }
            let at = which.index(all.len());
            *all[at] = match &all[at] {
                Value::Integer(_) => Value::Integer(*extreme.get(WHOLE)),
                _ => Value::Float(*extreme.get(REAL)),
            };
        }
        let begin = Instant::now();
        let source: Result<Box<dyn Source>, _> = config.clone().try_into();
        if let Ok(source) = source {
            match source.check().and_then(|()| source.load(&Seed::new(seed))) {
                Ok(splits) => prop_assert!(splits.train.n_positions() > 0),
                Err(error) => prop_assert!(!error.to_string().is_empty()),
            }
        }
        prop_assert!(begin.elapsed() < Duration::from_secs(30), "{:?}: {:?}", begin.elapsed(), config);
    }
}

#[test]
fn data_that_no_memory_holds_are_refused_with_both_numbers() {
    for (tag, settings) in [
        ("noisy-indicators", "train = { sequences = 1000000000, length = 1000000 }"),
        ("log-linear-chain", "labels = 10000\nchannels = 10000\ntrain = { length = 1000000000 }"),
        ("coupled-chains", "states = 10000\ntrain = { length = 1000000000 }"),
        ("potts-grid", "rows = 10000\ncolumns = 10000\nlabels = 10000"),
        ("ising-grid", "rows = 10000\ncolumns = 10000\ntrain = 1000000"),
        ("tag", "train = { sequences = 1000000000, length = 72000 }"),
        ("weather", "sequences = 1000000000\ndays = 1000000"),
    ] {
        let source: Box<dyn Source> = toml::from_str(&format!("type = {tag:?}\n{settings}")).unwrap();
        source.check().unwrap();
        if cfg!(target_os = "linux") {
            let error = source.load(&Seed::new(1)).unwrap_err().to_string();
            assert!(error.contains(" would need ") && error.contains("available; use "), "{tag}: {error}");
        }
    }
}

#[test]
fn numbers_of_things_with_names_are_bounded() {
    for (tag, settings, message) in [
        ("redundant-observations", "copies = 4000000000", "`copies` must be at most 10,000, got 4000000000"),
        ("separable", "noise = 10001", "`noise` must be at most 10,000, got 10001"),
        (
            "weakly-relevant",
            "groups = 5000\ncopies = 2",
            "`copies` must be such that there are at most 10,000 channels, got 2",
        ),
        ("potts-grid", "sweeps = 1000001", "`sweeps` must be at most 1,000,000, got 1000001"),
        ("weather", "days = 0", "`days` must be at least 1, got 0"),
        (
            "noisy-indicators",
            "test = { length = 1000000001 }",
            "`test.length` must be at most 1,000,000,000, got 1000000001",
        ),
    ] {
        let source: Box<dyn Source> = toml::from_str(&format!("type = {tag:?}\n{settings}")).unwrap();
        assert_eq!(source.check().unwrap_err().to_string(), message);
    }
}
