//! A run gives the same bytes at any number of threads, and its stored config runs to them again.

use std::collections::BTreeSet;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use crate::common::EXPERIMENT;
use crf_bench::Cell;
use crf_bench::config::parse;

/// A directory of its own for each test.
fn directory(name: &str) -> PathBuf {
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = std::fs::remove_dir_all(&directory);
    std::fs::create_dir_all(&directory).expect("a directory");
    directory
}

/// The output of `crf experiment`, or its error.
fn crf(args: &[&str]) -> Result<String, String> {
    crate::command::crf(&[&["experiment"], args].concat())
}

/// All cells of an experiment.
fn run(text: &str) -> Vec<Cell> {
    let plan = parse("exp.toml", text, false, &[]).expect("a right config");
    crf_bench::run(&plan, NonZeroUsize::MIN).expect("a run").cells
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

#[test]
fn runs_repeat_to_the_byte() {
    let place = directory("repeat");
    let file = place.join("exp.toml");
    std::fs::write(&file, EXPERIMENT).expect("a file");
    let run = |file: &Path, out: &str, threads: &str| {
        let out = place.join(out);
        let args =
            [file.to_str(), Some("--fresh"), Some("--threads"), Some(threads), Some("--out"), out.to_str()];
        crf(&args.map(|arg| arg.expect("UTF-8"))).expect("a run");
        ["results.jsonl", "results.csv", "figure.svg", "config.toml"].map(|name| read(&out.join(name)))
    };
    let first = run(&file, "a", "1");
    assert_eq!(first[0].lines().count(), 2 * 4 * 3);
    assert_eq!(first, run(&file, "b", "2"));
    assert_eq!(first, run(&file, "b", "5"), "over an older run");
    assert_eq!(first, run(&place.join("a/config.toml"), "c", "2"), "from the stored config");
    assert!(!first[0].contains("seconds") && read(&place.join("a/timings.jsonl")).contains("seconds"));
    let mut names: Vec<_> =
        std::fs::read_dir(&place).expect("a directory").flatten().map(|e| e.file_name()).collect();
    names.sort();
    assert_eq!(names, ["a", "b", "c", "exp.toml"], "nothing else is left behind");
}

#[test]
fn the_config_of_a_quick_run_runs() {
    let place = directory("quick");
    let file = place.join("exp.toml");
    std::fs::write(&file, EXPERIMENT).expect("a file");
    let [file, a, b, config] = ["exp.toml", "a", "b", "a/config.toml"].map(|name| place.join(name));
    let text = |path: &Path| path.to_str().expect("UTF-8").to_owned();
    let report = crf(&[&text(&file), "--quick", "--out", &text(&a)]).expect("a run");
    assert!(report.contains("skipped only where there is much noise"), "{report}");
    crf(&[&text(&config), "--out", &text(&b)]).expect("a run");
    assert_eq!(read(&a.join("results.jsonl")), read(&b.join("results.jsonl")));
}

#[test]
fn paths_are_measured_on_the_way() {
    let place = directory("paths");
    let text = r#"
title = "A path"
trials = 2
seed = 7
metrics = ["error"]
path = ["error", { type = "features", with = ["copy"] }]
dataset = { type = "noisy-copies", length = 200, holdout = true }
[defaults]
features = ["intercept", { state = "value" }]
learner = "as-selected"
[methods.grafting]
selector = { type = "grafting", l2 = 0.1, most = 3 }
[methods.l1]
selector = { type = "l1-path", floor = 0.1 }
[[claims]]
text = "the copy enters first"
at-most = { method = "grafting", metric = "entry(features(copy))", value = 1 }
"#;
    let cells = run(text);
    for cell in &cells {
        assert_eq!(cell.metrics.len(), 1 + 3 + 1);
        let best = cell.path.iter().map(|step| step.values[0]).fold(f64::INFINITY, f64::min);
        assert!(cell.metrics[1] == best && cell.metrics[0] >= best, "{cell:?}");
        assert!(cell.path.iter().any(|step| step.features == cell.features), "{cell:?}");
    }
    assert_eq!(cells[0].path.iter().map(|step| step.features).collect::<Vec<_>>(), [1, 2, 3]);
    let file = place.join("exp.toml");
    std::fs::write(&file, text).expect("a file");
    let out = |name: &str| {
        let out = place.join(name);
        let args = [file.to_str(), Some("--out"), out.to_str()].map(|arg| arg.expect("UTF-8"));
        let report = crf(&args).expect("a run");
        assert!(report.contains("holds   the copy enters first"), "{report}");
        let rows = read(&out.join("paths.csv")).lines().count();
        assert_eq!(rows, 1 + cells.iter().map(|cell| cell.path.len()).sum::<usize>());
        assert!(read(&out.join("index.html")).contains("seconds of selection"));
        read(&out.join("figure.svg"))
    };
    let figure = out("a");
    assert!(figure.contains("error against features") && !figure.contains("seconds"));
    assert_eq!(figure, out("b"));
}

#[test]
fn every_cell_has_a_seed_of_its_own() {
    let cells = run(EXPERIMENT);
    let seeds: BTreeSet<&str> = cells.iter().map(|cell| cell.seed.as_str()).collect();
    assert_eq!(seeds.len(), cells.len());
}

#[test]
fn all_methods_see_the_same_data() {
    // Models without weights give every position the first label, so the error tells the data.
    let text = EXPERIMENT
        .replace("learner = \"guess\"", "learner = { type = \"guess\", spread = 0 }")
        .replace("spread = 2.0", "spread = 0")
        .replace(
            "\"methods.Two.learner.spread\" = [0.5, 2]",
            "\"methods.Two.decode\" = [\"viterbi\", \"posterior\"]",
        );
    let cells = run(&text);
    let error =
        |method: usize, point: usize, trial: usize| cells[(method * 4 + point) * 3 + trial].metrics[0];
    for (point, trial) in (0..4).flat_map(|point| (0..3).map(move |trial| (point, trial))) {
        assert_eq!(error(0, point, trial), error(1, point, trial));
        assert_eq!(
            error(0, point, trial),
            error(0, point - point % 2, trial),
            "settings of a method change no data"
        );
    }
    assert_ne!([0, 1, 2].map(|trial| error(0, 0, trial)), [error(0, 0, 0); 3], "trials differ");
}

#[test]
fn selectors_narrow_the_features() {
    let with = |selector: &str, dataset: &str| -> Result<BTreeSet<usize>, String> {
        let learner = format!("learner = \"guess\"\nselector = {selector}");
        let text = EXPERIMENT.replace("learner = \"guess\"", &learner);
        let text = text.replace("noise = 0.1", &format!("noise = 0.1\n{dataset}"));
        let plan = parse("exp.toml", &text, false, &[]).expect("a right config");
        let cells = crf_bench::run(&plan, NonZeroUsize::MIN).map_err(|error| error.to_string())?.cells;
        Ok(cells
            .iter()
            .filter(|cell| cell.method == 0)
            .map(|cell| cell.features)
            .collect::<BTreeSet<usize>>())
    };
    assert_eq!(with("\"none\"", ""), Ok(BTreeSet::from([4])));
    let by_objective = "{ type = \"first-features\", objective = true }";
    let refused = with(by_objective, "").expect_err("one sequence and no holdout data");
    assert!(refused.contains("there are no holdout data by which to choose"), "{refused}");
    assert_eq!(with("{ type = \"last\", of = \"first-features\" }", ""), Ok(BTreeSet::from([4])));
    let by_error = with(by_objective, "holdout = true").expect("a run");
    assert!(by_error.len() > 1, "the error on the holdout data decides: {by_error:?}");
}

#[test]
fn an_inference_that_finds_labels_only_can_be_measured_by_them() {
    // On chains without transitions it finds what exact decoding finds.
    let with = |inference: &str| {
        let learner = format!("learner = \"guess\"\ninference = \"{inference}\"\ndecode = \"viterbi\"");
        let text = EXPERIMENT.replace("learner = \"guess\"", &learner);
        let cells = run(&text.replace("seed = 7", "seed = 7\nmetrics = [\"error\", \"sequence-accuracy\"]"));
        cells.into_iter().map(|cell| cell.metrics).collect::<Vec<_>>()
    };
    assert_eq!(with("labels-only"), with("forward-backward"));
}

#[test]
fn labellings_as_a_whole_are_measured_beside_other_answers() {
    // The second method has transitions, with which decodings differ.
    let with = |decode: &str| {
        let text = EXPERIMENT.replace("spread = 2.0 }", &format!("spread = 2.0 }}\ndecode = \"{decode}\""));
        let metrics = "seed = 7\nmetrics = [\"error\", \"accuracy\", \"viterbi-accuracy\"]";
        let cells = run(&text.replace("seed = 7", metrics)).into_iter().filter(|cell| cell.method == 1);
        cells.map(|cell| [cell.metrics[1], cell.metrics[2]]).collect::<Vec<_>>()
    };
    let (viterbi, posterior) = (with("viterbi"), with("posterior"));
    assert!(viterbi.iter().all(|[answers, whole]| answers == whole));
    assert!(viterbi.iter().zip(&posterior).all(|(a, b)| a[1] == b[1]));
    assert!(viterbi != posterior, "decodings that agree everywhere show nothing");
}

#[test]
fn answers_are_compared_with_a_reference() {
    let text = EXPERIMENT
        .replace("seed = 7", "seed = 7\nreference = \"enumeration\"\nmetrics = [\"error\", \"marginal-error\", \"log-z-error\"]")
        .replace("noise = 0.1", "noise = 0.1\nlength = 8")
        .replace("learner = \"guess\"", "learner = \"guess\"\ninference = \"mean-field\"");
    for cell in run(&text) {
        // Without transitions mean field is exact, and so is forward-backward with them.
        assert!(cell.metrics[1..].iter().all(|error| error.abs() < 1e-9), "{:?}", cell.metrics);
    }
}

#[test]
fn text_is_escaped_in_figures_and_pages() {
    let place = directory("escape");
    let file = place.join("exp.toml");
    let methods =
        EXPERIMENT.replace("[methods.One]", "[methods.\"<b>&One\"]").replace("\"One\"", "\"<b>&One\"");
    std::fs::write(&file, methods).expect("a file");
    let out = place.join("out");
    crf(&[file.to_str().expect("UTF-8"), "--out", out.to_str().expect("UTF-8")]).expect("a run");
    for name in ["figure.svg", "index.html"] {
        let text = read(&out.join(name));
        assert!(!text.contains("<b>") && text.contains("&lt;b&gt;&amp;One"), "{name}");
        assert!(text.contains("Test &lt;&amp;&gt; &quot;quoted&quot;"), "{name}");
    }
}

#[test]
fn a_failing_cell_is_named_and_leaves_no_report() {
    let place = directory("fail");
    let file = place.join("exp.toml");
    std::fs::write(&file, EXPERIMENT).expect("a file");
    let out = place.join("out");
    let (file, path) = (file.to_str().expect("UTF-8"), out.to_str().expect("UTF-8"));
    let error = crf(&[file, "--out", path, "--set", "dataset.fail=true"]).expect_err("a failure");
    let cell = "dataset, dataset.noise = 0.0, methods.Two.learner.spread = 0.5, trial 1";
    assert_eq!(error, format!("{cell}: no data today"));
    let left: Vec<_> =
        std::fs::read_dir(&out).expect("a directory").flatten().map(|e| e.file_name()).collect();
    assert_eq!(left, ["journal"]);
}

#[test]
#[should_panic(expected = "told to panic")]
fn a_panic_is_not_swallowed() {
    let text = EXPERIMENT.replace("learner = \"guess\"", "learner = { type = \"guess\", panic = true }");
    let plan = parse("exp.toml", &text, false, &[]).expect("a right config");
    let _ = crf_bench::run(&plan, NonZeroUsize::MIN.saturating_add(1));
}

#[test]
fn other_directories_are_not_overwritten() {
    let place = directory("taken");
    let file = place.join("exp.toml");
    std::fs::write(&file, EXPERIMENT).expect("a file");
    let error = crf(&[file.to_str().expect("UTF-8"), "--out", place.to_str().expect("UTF-8")]);
    assert!(
        error.expect_err("a refusal").ends_with("the directory holds something else than a run's results")
    );
    assert_eq!(read(&file), EXPERIMENT);
}

#[test]
fn methods_that_select_alike_share_the_selection_and_find_what_they_find_alone() {
    const HEAD: &str = r#"
        title = "Shared"
        trials = 2
        seed = 3
        metrics = ["error", "features"]
        path = ["error"]
        [dataset]
        type = "weather"
        [defaults]
        features = ["intercept", "transition", { state = "value" }, { state = "equals" }]
    "#;
    let kept = |name: &str| {
        format!(
            "[methods.{name}]\nselector = {{ type = \"grafting\", most = 5 }}\nlearner = \"as-selected\"\n"
        )
    };
    let trained = |name: &str| {
        format!(
            "[methods.{name}]\nselector = {{ type = \"grafting\", most = 5 }}\nlearner = {{ type = \"mle\", l2 = 1.0 }}\n"
        )
    };
    // Without weights the learner has a say in the choice, and each has its own.
    let ranked = |name: &str, l2: f64| {
        format!("[methods.{name}]\nselector = \"correlation\"\nlearner = {{ type = \"mle\", l2 = {l2:?} }}\n")
    };
    let methods =
        [kept("kept"), trained("trained"), ranked("ranked", 1.0), ranked("other", 4.0), ranked("again", 1.0)];
    let together = run(&(HEAD.to_owned() + &methods.concat()));
    let of = |method: usize| together.iter().filter(move |cell| cell.method == method);
    for (number, method) in methods.iter().enumerate() {
        let alone = run(&(HEAD.to_owned() + method));
        let values = |cell: &Cell| (cell.metrics.clone(), cell.features, cell.seed.clone());
        assert!(of(number).map(values).eq(alone.iter().map(values)), "{method}");
        let is_shared = of(number).all(|cell| cell.seconds.shared > 0.0);
        assert_eq!(is_shared, [false, true, false, false, true][number], "{method}");
        assert!(alone.iter().all(|cell| cell.seconds.shared == 0.0 && cell.seconds.train > 0.0));
    }
}

/// Weather of two labels in which nothing is impossible, under a constraint of one method.
const CONSTRAINED: &str = r#"
title = "Constraints"
trials = 1
seed = 3
metrics = ["error"]
[dataset]
type = "weather"
[methods.free]
features = ["intercept", "transition"]
learner = { type = "mle", l2 = 1.0 }
[methods.bound]
features = ["intercept", "transition"]
learner = { type = "mle", l2 = 1.0 }
constraints = { forbid = [] }
"#;

#[test]
fn a_method_may_have_constraints() {
    // Under constraints the most likely labelling as a whole is the answer.
    let cells = run(CONSTRAINED);
    let viterbi = run(&CONSTRAINED.replace("constraints = { forbid = [] }", "decode = \"viterbi\""));
    assert_eq!(cells[1].metrics, viterbi[1].metrics);
    let broken = CONSTRAINED.replace("forbid = []", "forbid = [[\"rain\", \"rain\"]]");
    let plan = parse("exp.toml", &broken, false, &[]).expect("a right config");
    let error = crf_bench::run(&plan, NonZeroUsize::MIN).expect_err("rain lasts").to_string();
    assert!(error.contains("method bound") && error.contains("training data"), "{error}");
}
