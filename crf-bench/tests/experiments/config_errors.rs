//! Every kind of mistake in an experiment file is refused with its line and column.

use crate::common::EXPERIMENT;
use crf_bench::config::{Override, Plan, parse};

fn load(text: &str) -> Result<Plan, crf_bench::Error> {
    parse("exp.toml", text, false, &[])
}

/// The message after one piece of the experiment was replaced.
fn message(old: &str, new: &str) -> String {
    assert_eq!(EXPERIMENT.matches(old).count(), 1, "`{old}` must occur once");
    let error = load(&EXPERIMENT.replace(old, new)).expect_err("the config is wrong");
    assert_eq!(error.exit_code(), 2);
    error.to_string()
}

/// The message of the experiment with settings from the command line.
fn set(settings: &[&str]) -> String {
    let parsed: Result<Vec<Override>, _> = settings.iter().map(|text| Override::parse(text)).collect();
    let loaded = parsed.and_then(|settings| parse("exp.toml", EXPERIMENT, false, &settings));
    loaded.expect_err("the setting is wrong").to_string()
}

macro_rules! refused {
    ($($name:ident: $old:expr => $new:expr, $message:expr;)*) => {$(
        #[test]
        fn $name() {
            assert_eq!(message($old, $new), $message);
        }
    )*};
}

refused! {
    syntax: "trials = 3" => "trials = = 3",
        "exp.toml:3:10: extra `=`, expected nothing";
    unknown_top_level_key: "trials = 3" => "trails = 3",
        "exp.toml:3:1: unknown key `trails`, did you mean `trials`?";
    missing_key: "trials = 3\n" => "",
        "exp.toml:1:1: missing field `trials`";
    wrong_type: "trials = 3" => "trials = \"many\"",
        "exp.toml:3:10: invalid type: string \"many\", expected u32";
    unknown_source: "\"noisy-copies\"" => "\"noisy-copy\"",
        "exp.toml:7:8: unknown name `noisy-copy`, did you mean `noisy-copies`?";
    unknown_learner_by_name: "learner = \"guess\"" => "learner = \"gess\"",
        "exp.toml:16:11: unknown name `gess`, did you mean `guess`?";
    unknown_learner_in_a_table: "{ type = \"guess\"," => "{ type = \"gess\",",
        "exp.toml:20:20: unknown name `gess`, did you mean `guess`?";
    unknown_setting_of_a_source: "noise = 0.1" => "nose = 0.1",
        "exp.toml:8:1: unknown key `nose`, did you mean `noise`?";
    unknown_setting_of_a_learner: ", spread = 2.0" => ", spraed = 2.0",
        "exp.toml:20:29: unknown key `spraed`, did you mean `spread`?";
    wrong_type_in_a_learner: "spread = 2.0" => "spread = \"wide\"",
        "exp.toml:20:38: invalid type: string \"wide\", expected f64";
    missing_type_of_a_learner: "{ type = \"guess\", " => "{ ",
        "exp.toml:20:11: missing field `type`";
    missing_key_of_a_claim: ", within = 1.0" => "",
        "exp.toml:28:8: missing field `within`";
    unknown_key_of_a_method: "learner = \"guess\"\n" => "learner = \"guess\"\ndecoder = \"viterbi\"\n",
        "exp.toml:17:1: unknown key `decoder`, did you mean `decode`?";
    unknown_decoding: "learner = \"guess\"\n" => "learner = \"guess\"\ndecode = \"viterby\"\n",
        "exp.toml:17:10: unknown name `viterby`, did you mean `viterbi`?";
    unknown_feature: "\"transition\"" => "\"transitions\"",
        "exp.toml:19:26: unknown name `transitions`, did you mean `transition`?";
    unknown_prototype: "of = \"value\"" => "of = \"valeu\"",
        "exp.toml:19:88: unknown name `valeu`, did you mean `value`?";
    unknown_setting_of_a_prototype: "degrees" => "degree",
        "exp.toml:19:68: unknown key `degree`, did you mean `degrees`?";
    unknown_setting_of_a_nested_prototype: "of = \"value\"" => "of = { type = \"value\", chanels = [] }",
        "exp.toml:19:106: unknown key `chanels`, did you mean `channels`?";
    unknown_inference: "learner = \"guess\"\n" => "learner = \"guess\"\ninference = \"forward-bakward\"\n",
        "exp.toml:17:13: unknown name `forward-bakward`, did you mean `forward-backward`?";
    posterior_decoding_without_marginals: "learner = \"guess\"\n" => "learner = \"guess\"\ninference = \"labels-only\"\n",
        "exp.toml:14:1: `decode = \"posterior\"` needs marginals, `viterbi` does not: `labels-only` finds a labelling, not marginals; `belief-propagation`, `mean-field` and \
         `gibbs` estimate them, `junction-tree` is exact";
    metric_without_marginals: "learner = \"guess\"\n" => "learner = \"guess\"\ninference = \"labels-only\"\ndecode = \"viterbi\"\n",
        "exp.toml:1:1: the metric `log_likelihood`: `labels-only` finds a labelling, not marginals; `belief-propagation`, `mean-field` and \
         `gibbs` estimate them, `junction-tree` is exact";
    metric_without_a_reference: "seed = 7" => "seed = 7\nmetrics = [\"error\", \"marginal-error\"]",
        "exp.toml:5:21: the metric `marginal_error`: it compares with a `reference` inference, such as `junction-tree`, and \
         there is none";
    reference_without_marginals: "seed = 7" => "seed = 7\nmetrics = [\"error\", \"log-z-error\"]\nreference = \"labels-only\"",
        "exp.toml:5:21: the metric `log_z_error`: reference: `labels-only` finds a labelling, not marginals; `belief-propagation`, `mean-field` and \
         `gibbs` estimate them, `junction-tree` is exact";
    unknown_metric_plugin: "seed = 7" => "seed = 7\nmetrics = [\"error\", \"acuracy\"]",
        "exp.toml:5:21: unknown name `acuracy`, did you mean `accuracy`?";
    repeated_metric: "seed = 7" => "seed = 7\nmetrics = [\"error\", \"error\"]",
        "exp.toml:5:21: the metric `error` is listed twice";
    unknown_claim_kind: "flat =" => "flatt =",
        "exp.toml:28:1: unknown name `flatt`, did you mean `flat`?";
    unknown_key_of_a_claim: "within = 1.0" => "whithin = 1.0",
        "exp.toml:28:69: unknown key `whithin`, did you mean `within`?";
    two_kinds_in_a_claim: "flat =" => "falls = {}\nflat =",
        "exp.toml:28:9: a claim needs a `text` and one kind such as `falls`";
    claim_without_text: "text = \"guesses do not improve\"\n" => "",
        "exp.toml:26:1: a claim needs a `text` and one kind such as `falls`";
    setting_of_a_source_out_of_range: "noise = 0.1" => "noise = 1.5",
        "exp.toml:8:9: `noise` must be between 0 and 1, got 1.5";
    setting_of_a_learner_out_of_range: "spread = 2.0" => "spread = -1",
        "exp.toml:20:38: `spread` must be at least 0, got -1";
    setting_of_a_prototype_out_of_range: "degrees = [2]" => "degrees = []",
        "exp.toml:19:78: `degrees` must be a list of whole numbers from 1 to 64, got []";
    no_trials: "trials = 3" => "trials = 0",
        "exp.toml:3:10: `trials` must be at least 1, got 0";
    unknown_sweep_key: "\"dataset.noise\" = [0.0, 0.5]" => "\"dataset.nosie\" = [0.0, 0.5]",
        "exp.toml:11:1: unknown key `dataset.nosie`, did you mean `noise`?";
    unknown_part_in_a_sweep: "\"dataset.noise\" = [0.0, 0.5]" => "\"datset.noise\" = [0.0, 0.5]",
        "exp.toml:11:1: unknown key `datset.noise`, did you mean `dataset`?";
    unknown_method_in_a_sweep: "\"methods.Two.learner.spread\"" => "\"methods.Too.learner.spread\"",
        "exp.toml:12:1: unknown key `methods.Too.learner.spread`, did you mean `Two`?";
    sweep_below_a_number: "\"methods.Two.learner.spread\"" => "\"dataset.noise.low\"",
        "exp.toml:12:1: unknown key `dataset.noise.low`: `dataset.noise` has no keys below it";
    sweep_over_the_seed: "\"methods.Two.learner.spread\"" => "seed",
        "exp.toml:12:1: a sweep goes over settings of `dataset` and `methods`, not `seed`";
    empty_sweep: "[0.0, 0.5]" => "[]",
        "exp.toml:11:19: a sweep needs a list of at least one value, got []";
    sweep_of_the_wrong_type: "[0.0, 0.5]" => "[0.0, \"half\"]",
        "exp.toml:11:25: invalid type: string \"half\", expected f64";
    sweep_out_of_range: "[0.0, 0.5]" => "[0.0, 1.5]",
        "exp.toml:11:25: `noise` must be between 0 and 1, got 1.5";
    sweep_with_a_value_twice: "[0.0, 0.5]" => "[0.5, 0.5]",
        "exp.toml:11:25: the value 0.5 is listed twice";
    unknown_figure_key: "x = \"dataset.noise\"" => "x = \"dataset.nose\"",
        "exp.toml:23:5: unknown sweep key `dataset.nose`, did you mean `dataset.noise`?";
    unknown_figure_metric: "y = \"error\"" => "y = \"eror\"",
        "exp.toml:24:5: unknown metric `eror`, did you mean `error`?";
    logarithm_of_zero: "y = \"error\"" => "y = \"error\"\nlog-x = true",
        "exp.toml:25:9: a logarithmic axis needs positive numbers, but `dataset.noise` takes 0.0";
    unknown_method_in_a_claim: "method = \"One\"" => "method = \"on\"",
        "exp.toml:28:19: unknown method `on`, did you mean `One`?";
    unknown_metric_in_a_claim: "metric = \"error\", along" => "metric = \"errors\", along",
        "exp.toml:28:35: unknown metric `errors`, did you mean `error`?";
    unknown_sweep_key_in_a_claim: "along = \"dataset.noise\"" => "along = \"datset.noise\"",
        "exp.toml:28:52: unknown sweep key `datset.noise`, did you mean `dataset.noise`?";
    unknown_sweep_key_at_a_claim: "at = { \"dataset.noise\"" => "at = { \"dataset.noice\"",
        "exp.toml:32:67: unknown sweep key `dataset.noice`, did you mean `dataset.noise`?";
    claim_about_a_value_outside_the_sweep: "\"dataset.noise\" = 0.5 }" => "\"dataset.noise\" = 0.4 }",
        "exp.toml:32:85: `dataset.noise` is never 0.4 in the sweep; it is 0.0, 0.5";
    unknown_quick_key: "length = 5" => "lenght = 5",
        "exp.toml:38:1: unknown key `lenght`, did you mean `length`?";
    wrong_quick_value: "trials = 2" => "trials = 0",
        "exp.toml:35:10: `trials` must be at least 1, got 0";
    unknown_quick_sweep: "[quick.sweep]\n\"dataset.noise\"" => "[quick.sweep]\n\"dataset.nose\"",
        "exp.toml:41:1: unknown key `dataset.nose`, did you mean `noise`?";
}

#[test]
fn the_experiment_itself_is_right() {
    let plan = load(EXPERIMENT).expect("a right config");
    assert_eq!((plan.points.len(), plan.experiment.methods.len()), (4, 2));
    let quick = parse("exp.toml", EXPERIMENT, true, &[]).expect("a right config");
    assert_eq!((quick.points.len(), quick.experiment.trials), (2, 2));
}

#[test]
fn no_methods() {
    let text = "title = \"\"\ntrials = 1\nseed = 1\ndataset = \"noisy-copies\"\n[methods]\n";
    let error = load(text).expect_err("no methods").to_string();
    assert_eq!(error, "exp.toml:5:1: an experiment needs at least one method");
}

#[test]
fn the_same_mistake_twice_is_reported_at_the_first() {
    let text = EXPERIMENT.replace("learner = \"guess\"", "learner = { type = \"guess\", spraed = 1.0 }");
    let error =
        load(&text.replace("spread = 2.0", "spraed = 2.0")).expect_err("two typing mistakes").to_string();
    assert_eq!(error, "exp.toml:16:29: unknown key `spraed`, did you mean `spread`?");
}

#[test]
fn settings_of_the_command_line() {
    assert_eq!(set(&["trials"]), "--set trials: expected key=value");
    assert_eq!(set(&["a b=1"]), "--set a b=1: `a b` is not a dotted key such as `dataset.copies`");
    assert_eq!(set(&["trails=1"]), "--set trails=1: unknown key `trails`, did you mean `trials`?");
    assert_eq!(set(&["trials=many"]), "--set trials=many: invalid type: string \"many\", expected u32");
    assert_eq!(set(&["trials=0"]), "--set trials=0: `trials` must be at least 1, got 0");
    let unknown = "--set dataset.nose=0: unknown key `dataset.nose`, did you mean `noise`?";
    assert_eq!(set(&["dataset.nose=0"]), unknown);
    let unknown =
        "--set methods.On.learner.spread=1: unknown key `methods.On.learner.spread`, did you mean `One`?";
    assert_eq!(set(&["methods.On.learner.spread=1"]), unknown);
    let range = "--set methods.One.learner.spread=-1: `spread` must be at least 0, got -1";
    assert_eq!(set(&["methods.One.learner.spread=-1"]), range);
}

#[test]
fn settings_reach_plugins_that_are_written_as_a_name() {
    let setting = Override::parse("methods.One.learner.spread=3").expect("a setting");
    let plan = parse("exp.toml", EXPERIMENT, false, &[setting]).expect("a right config");
    assert_eq!(plan.config["methods"]["One"]["learner"]["spread"].as_float(), Some(3.0));
}

#[test]
fn a_missing_file_is_named() {
    let error = crf_bench::config::load(std::path::Path::new("no/such.toml"), false, &[]);
    let error = error.expect_err("no file").to_string();
    assert!(error.starts_with("no/such.toml: No such file"), "{error}");
}

/// An experiment of two methods that share what the table `defaults` has.
fn shared(defaults: &str, second: &str) -> String {
    let head = "title = \"\"\ntrials = 1\nseed = 1\ndataset = \"noisy-copies\"\n";
    format!("{head}[defaults]\n{defaults}\n[methods.A]\n[methods.B]\n{second}\n")
}

#[test]
fn methods_have_what_defaults_say_and_they_do_not() {
    let defaults = "features = [\"intercept\"]\nlearner = { type = \"guess\", spread = 2.0 }";
    let plan = load(&shared(defaults, "learner = { spread = 3.0 }")).expect("a right config");
    let spread = |method: &str| plan.config["methods"][method]["learner"]["spread"].as_float();
    assert_eq!((spread("A"), spread("B")), (Some(2.0), Some(3.0)));
    let same = |method: &str| plan.config["methods"][method]["features"].clone();
    assert_eq!(same("A"), same("B"));
    assert!(plan.config.get("defaults").is_none());
}

#[test]
fn a_mistake_in_defaults_is_placed_there() {
    let wrong =
        |defaults: &str, second: &str| load(&shared(defaults, second)).expect_err("wrong").to_string();
    let guess = "features = [\"intercept\"]\nlearner = ";
    let message = wrong(&format!("{guess}{{ type = \"guess\", spraed = 2.0 }}"), "");
    assert_eq!(message, "exp.toml:7:29: unknown key `spraed`, did you mean `spread`?");
    let message = wrong(&format!("{guess}\"guess\""), "learner = \"gess\"");
    assert_eq!(message, "exp.toml:10:11: unknown name `gess`, did you mean `guess`?");
    let error = load("title = \"\"\ndefaults = 3\n").expect_err("wrong").to_string();
    assert_eq!(error, "exp.toml:2:12: `defaults` must be a table");
}
