//! Names and values of every prototype on data worked out by hand, and at the ends of sequences.
use crf_core::{Dataset, EncodedRows, Encoder, Prototype};
use crf_testing::cases;
use crf_testing::datasets::chains;
use proptest::prelude::*;

const UNSEEN: u32 = 9;

/// Two sequences: x = 1, 2, 4 with a, b and a symbol never seen; x = −1, 0 with c, a.
fn data() -> Dataset {
    chains(&[&[(1.0, 0), (2.0, 1), (4.0, UNSEEN)], &[(-1.0, 2), (0.0, 0)]])
}

fn prototype(config: &str) -> Box<dyn Prototype> {
    toml::from_str(config).unwrap()
}

fn fit(config: &str) -> Box<dyn Encoder> {
    prototype(config).check().unwrap();
    prototype(config).fit(&data()).unwrap()
}

fn names(encoder: &dyn Encoder) -> Vec<String> {
    encoder.observations(data().schema()).into_iter().map(|g| g.name).collect()
}

/// Values of all functions at each position of sequence `i`, constants included.
fn values(encoder: &dyn Encoder, data: &Dataset, i: usize) -> Vec<Vec<f64>> {
    let block = EncodedRows::encode(encoder, &data.sequence(i));
    let base: Vec<f64> =
        encoder.observations(data.schema()).iter().map(|g| g.constant.unwrap_or(0.0)).collect();
    let row = |t: usize| {
        let mut row = base.clone();
        block.row(t).for_each(|(g, value)| row[g as usize] += value);
        row
    };
    (0..block.len()).map(row).collect()
}

/// Checks the names and the values of a prototype on the first sequence.
fn expect(config: &str, want_names: &[&str], want: &[&[f64]]) {
    let encoder = fit(config);
    assert_eq!(names(&*encoder), want_names, "{config}");
    assert_eq!(values(&*encoder, &data(), 0), want, "{config}");
}

#[test]
fn one_is_constant_and_costs_no_entry() {
    let encoder = fit("type = 'one'");
    assert_eq!(encoder.observations(data().schema())[0].constant, Some(1.0));
    assert!((0..3).all(|t| EncodedRows::encode(&*encoder, &data().sequence(0)).row(t).next().is_none()));
    expect("type = 'one'", &["1"], &[&[1.0], &[1.0], &[1.0]]);
}

#[test]
fn first_marks_the_first_position_of_every_sequence() {
    expect("type = 'first'", &["first"], &[&[1.0], &[0.0], &[0.0]]);
    assert_eq!(values(&*fit("type = 'first'"), &data(), 1), [[1.0], [0.0]]);
}

#[test]
fn value_is_the_number_of_a_real_channel() {
    expect("type = 'value'", &["x"], &[&[1.0], &[2.0], &[4.0]]);
    expect("type = 'value'\nchannels = ['x', 'x']", &["x", "x"], &[&[1.0, 1.0], &[2.0, 2.0], &[4.0, 4.0]]);
}

#[test]
fn equals_tests_every_symbol_and_an_unseen_one_passes_no_test() {
    let names = ["c=a", "c=b", "c=c"];
    expect("type = 'equals'", &names, &[&[1.0, 0.0, 0.0], &[0.0, 1.0, 0.0], &[0.0, 0.0, 0.0]]);
    expect("type = 'equals'\nsymbols = ['b']", &["c=b"], &[&[0.0], &[1.0], &[0.0]]);
    let groups: Vec<_> =
        fit("type = 'equals'").observations(data().schema()).iter().map(|g| g.group).collect();
    assert!(groups[0].is_some() && groups.iter().all(|group| *group == groups[0]));
}

#[test]
fn channels_of_the_wrong_kind_or_name_are_refused() {
    let refused = |config: &str| prototype(config).fit(&data()).unwrap_err().to_string();
    let message = refused("type = 'value'\nchannels = ['c']");
    assert_eq!(message, "`channels` must be channels of real numbers, got `c`");
    let message = refused("type = 'equals'\nchannels = ['x']");
    assert_eq!(message, "`channels` must be channels of symbols, got `x`");
    let message = refused("type = 'value'\nchannels = ['xx']");
    assert_eq!(message, "unknown channel `xx`, did you mean `x`?");
    let message = refused("type = 'equals'\nsymbols = ['a', 'zebra']");
    assert_eq!(message, "unknown symbol `zebra`; there is `a`, `b`, `c`");
}

#[test]
fn lag_looks_back_and_ahead_and_is_zero_beyond_the_ends() {
    let want: [&[f64]; 3] = [&[0.0, 2.0, 1.0], &[1.0, 4.0, 2.0], &[2.0, 0.0, 4.0]];
    expect("type = 'lag'\nby = [1, -1, 0]", &["x[-1]", "x[+1]", "x"], &want);
    expect("type = 'lag'\nby = [3]", &["x[-3]"], &[&[0.0], &[0.0], &[0.0]]);
    let far = "type = 'lag'\nby = [-9223372036854775808, 9223372036854775807]";
    let names = ["x[+9223372036854775808]", "x[-9223372036854775807]"];
    expect(far, &names, &[&[0.0, 0.0], &[0.0, 0.0], &[0.0, 0.0]]);
}

#[test]
fn a_lagged_constant_is_zero_beyond_the_ends() {
    let want: [&[f64]; 3] = [&[0.0, 1.0], &[1.0, 1.0], &[1.0, 1.0]];
    expect("type = 'lag'\nby = [1, 0]\nof = 'one'", &["1[-1]", "1"], &want);
    let constants: Vec<_> = fit("type = 'lag'\nby = [1, 0]\nof = 'one'")
        .observations(data().schema())
        .iter()
        .map(|g| g.constant)
        .collect();
    assert_eq!(constants, [None, Some(1.0)]);
}

#[test]
fn lagged_alternatives_exclude_each_other_only_at_one_lag() {
    let encoder = fit("type = 'lag'\nby = [1, 2]\nof = 'equals'");
    let groups: Vec<_> = encoder.observations(data().schema()).iter().map(|g| g.group).collect();
    assert!(groups[0] == groups[2] && groups[3] == groups[5] && groups[0] != groups[3]);
}

#[test]
fn window_is_cut_off_at_the_ends() {
    expect("type = 'window'", &["mean(x, -1..+0)"], &[&[1.0], &[1.5], &[3.0]]);
    let wide = "type = 'window'\nbefore = 1\nafter = 1";
    expect(wide, &["mean(x, -1..+1)"], &[&[1.5], &[7.0 / 3.0], &[3.0]]);
    let far = "type = 'window'\nbefore = 4294967295\nafter = 4294967295";
    expect(far, &["mean(x, -4294967295..+4294967295)"], &[&[7.0 / 3.0], &[7.0 / 3.0], &[7.0 / 3.0]]);
}

#[test]
fn window_any_and_all_count_what_is_not_zero() {
    let data = chains(&[&[(0.0, 0), (-1.0, 0), (2.0, 1), (0.0, 1)]]);
    let of = |over: &str| {
        let encoder = fit(&format!("type = 'window'\nover = '{over}'"));
        values(&*encoder, &data, 0).concat()
    };
    assert_eq!(of("any"), [0.0, 1.0, 1.0, 1.0]);
    assert_eq!(of("all"), [0.0, 0.0, 1.0, 0.0]);
}

#[test]
fn window_of_a_constant_is_constant() {
    for (over, name) in [("any", "any(1, -1..+0)"), ("all", "all(1, -1..+0)"), ("mean", "mean(1, -1..+0)")] {
        expect(&format!("type = 'window'\nof = 'one'\nover = '{over}'"), &[name], &[&[1.0], &[1.0], &[1.0]]);
    }
}

#[test]
fn a_large_value_leaves_no_trace_once_it_has_left_the_window() {
    let data = chains(&[&[(1e16, 0), (1.0, 0), (1.0, 0), (0.1, 0), (0.1, 0)]]);
    assert_eq!(values(&*fit("type = 'window'"), &data, 0)[2..], [[1.0], [0.55], [0.1]]);
}

#[test]
fn power_raises_values_and_constants() {
    let want: [&[f64]; 3] = [&[1.0, 1.0, 1.0], &[4.0, 2.0, 8.0], &[16.0, 4.0, 64.0]];
    expect("type = 'power'\ndegrees = [2, 1, 3]", &["x²", "x", "x^3"], &want);
    assert_eq!(fit("type = 'power'\nof = 'one'").observations(data().schema())[0].constant, Some(1.0));
}

#[test]
fn a_value_on_the_threshold_is_on_neither_side() {
    let want: [&[f64]; 3] = [&[0.0, 1.0], &[0.0, 0.0], &[1.0, 0.0]];
    expect("type = 'threshold'\nat = [2]\ntest = 'both'", &["x>2", "x<2"], &want);
    expect(
        "type = 'threshold'\nat = [2, 0.5]\ntest = 'below'",
        &["x<2", "x<0.5"],
        &[&[1.0, 0.0], &[0.0; 2], &[0.0; 2]],
    );
}

#[test]
fn thresholds_by_quantile_come_from_all_training_sequences() {
    // The sorted training values are −1, 0, 1, 2, 4.
    let want: [&[f64]; 3] = [&[1.0, 0.0, 0.0], &[1.0, 1.0, 0.0], &[1.0, 1.0, 1.0]];
    expect("type = 'threshold'\nat = []\nquantiles = 3", &["x>0", "x>1", "x>2"], &want);
    expect("type = 'threshold'\nat = [1]\nquantiles = 1", &["x>1"], &[&[0.0], &[1.0], &[1.0]]);
    let encoder = prototype("type = 'threshold'\nat = []\nquantiles = 3").fit(&chains(&[])).unwrap();
    assert!(encoder.observations(data().schema()).is_empty());
}

#[test]
fn normalised_has_mean_0_and_variance_1_on_training_data_and_maps_others_alike() {
    let encoder = fit("type = 'normalised'");
    assert_eq!(names(&*encoder), ["norm(x)"]);
    let train = [values(&*encoder, &data(), 0), values(&*encoder, &data(), 1)].concat().concat();
    let mean = train.iter().sum::<f64>() / 5.0;
    let variance = train.iter().map(|x| x * x).sum::<f64>() / 5.0;
    assert!(mean.abs() < 1e-12 && (variance - 1.0).abs() < 1e-12, "{mean} {variance}");
    // Mean 1.2, variance 14.8/5.
    let other = values(&*encoder, &chains(&[&[(10.0, 0), (1.2, 0)]]), 0).concat();
    assert!((other[0] - 8.8 / 2.96_f64.sqrt()).abs() < 1e-12 && other[1].abs() < 1e-12, "{other:?}");
}

#[test]
fn normalised_only_shifts_what_does_not_vary() {
    let flat = chains(&[&[(0.1, 0), (0.1, 0), (0.1, 0)]]);
    let encoder = prototype("type = 'normalised'").fit(&flat).unwrap();
    let other = values(&*encoder, &chains(&[&[(0.1, 0), (3.1, 0)]]), 0).concat();
    assert!(other[0].abs() < 1e-15 && (other[1] - 3.0).abs() < 1e-12, "{other:?}");
    assert_eq!(values(&*fit("type = 'normalised'\nof = 'one'"), &data(), 1), [[0.0], [0.0]]);
    let encoder = prototype("type = 'normalised'").fit(&chains(&[])).unwrap();
    assert_eq!(values(&*encoder, &data(), 0), [[1.0], [2.0], [4.0]]);
}

#[test]
fn conjunction_multiplies_one_function_of_each() {
    let want: [&[f64]; 3] = [&[1.0, 0.0, 0.0], &[0.0, 2.0, 0.0], &[0.0, 0.0, 0.0]];
    expect("type = 'conjunction'\nof = ['equals', 'value']", &["c=a ∧ x", "c=b ∧ x", "c=c ∧ x"], &want);
}

#[test]
fn constants_join_in_conjunctions() {
    let joined = "type = 'conjunction'\nof = ['one', 'value', 'first']";
    expect(joined, &["1 ∧ x ∧ first"], &[&[1.0], &[0.0], &[0.0]]);
    let all = fit("type = 'conjunction'\nof = ['one', 'one']");
    assert_eq!(all.observations(data().schema())[0].constant, Some(1.0));
    assert_eq!(values(&*all, &data(), 0), [[1.0], [1.0], [1.0]]);
    let lagged =
        "type = 'conjunction'\nof = ['one', { type = 'lag', of = 'one' }, { type = 'lag', by = [0, 1] }]";
    let want: [&[f64]; 3] = [&[0.0, 0.0], &[2.0, 1.0], &[4.0, 2.0]];
    expect(lagged, &["1 ∧ 1[-1] ∧ x", "1 ∧ 1[-1] ∧ x[-1]"], &want);
}

#[test]
fn prototypes_nest_three_deep() {
    // x[−1] is 0, 1, 2; its mean with the one before 0, 0.5, 1.5.
    let deep = "type = 'threshold'\nat = [1.2]\nof = { type = 'window', of = { type = 'lag' } }";
    expect(deep, &["mean(x[-1], -1..+0)>1.2"], &[&[0.0], &[0.0], &[1.0]]);
    let deep = "type = 'lag'\nof = { type = 'conjunction', of = ['equals', { type = 'power' }] }";
    let names = ["c=a ∧ x²[-1]", "c=b ∧ x²[-1]", "c=c ∧ x²[-1]"];
    expect(deep, &names, &[&[0.0; 3], &[1.0, 0.0, 0.0], &[0.0, 4.0, 0.0]]);
}

#[test]
fn an_empty_sequence_has_no_rows() {
    for tag in ["one", "first", "value", "equals", "lag", "window", "power", "threshold", "normalised"] {
        assert!(values(&*fit(&format!("type = '{tag}'")), &chains(&[&[]]), 0).is_empty(), "{tag}");
    }
}

#[test]
fn encoders_survive_saving() {
    let nested = [
        "type = 'equals'\nsymbols = ['b']",
        "type = 'threshold'\nquantiles = 2\nof = { type = 'window', of = 'normalised' }",
        "type = 'conjunction'\nof = ['one', { type = 'lag', by = [1, -1] }, { type = 'power' }, 'first']",
    ];
    for config in nested {
        let encoder = fit(config);
        let saved = serde_json::to_string(&encoder).unwrap();
        let again: Box<dyn Encoder> = serde_json::from_str(&saved).unwrap();
        assert_eq!(again.observations(data().schema()), encoder.observations(data().schema()));
        assert_eq!(values(&*again, &data(), 0), values(&*encoder, &data(), 0));
        assert_eq!(serde_json::to_string(&again).unwrap(), saved);
    }
}

#[test]
fn settings_that_can_never_work_are_refused_however_deep() {
    let refused = |config: &str, message: &str| {
        assert_eq!(prototype(config).check().unwrap_err().to_string(), message);
        let nested = format!("type = 'normalised'\nof = {{ {} }}", config.replace('\n', ", "));
        assert_eq!(prototype(&nested).check().unwrap_err().to_string(), message);
    };
    refused("type = 'lag'\nby = []", "`by` must be a list of at least one lag, got []");
    refused("type = 'window'\nbefore = 0", "`before` must be above 0, or `after` above 0, got 0");
    refused("type = 'power'\ndegrees = []", "`degrees` must be a list of whole numbers from 1 to 64, got []");
    refused(
        "type = 'power'\ndegrees = [0]",
        "`degrees` must be a list of whole numbers from 1 to 64, got [0]",
    );
    let want = "`at` must be a list of finite numbers, or `quantiles` above 0, got";
    refused("type = 'threshold'\nat = []", &format!("{want} []"));
    refused("type = 'threshold'\nat = [nan]", &format!("{want} [NaN]"));
    refused("type = 'conjunction'\nof = ['one']", "`of` must be a list of two or more prototypes, got 1");
}

proptest! {
    #![proptest_config(cases(256))]

    #[test]
    fn windows_hold_what_is_in_them_and_nothing_else(
        x in prop::collection::vec(prop_oneof![Just(0.0), Just(1.0), -2.0..2.0], 0..12),
        before in 0..3_u32, after in 1..3_u32,
    ) {
        let sequence: Vec<(f64, u32)> = x.iter().enumerate().map(|(t, &x)| (x, t as u32 % 3)).collect();
        let data = chains(&[&sequence]);
        for over in ["any", "all", "mean"] {
            let config = format!(
                "type = 'window'\nbefore = {before}\nafter = {after}\nover = '{over}'\nof = 'value'"
            );
            let got = values(&*prototype(&config).fit(&data).unwrap(), &data, 0);
            for t in 0..x.len() {
                let window = &x[t.saturating_sub(before as usize)..x.len().min(t + after as usize + 1)];
                let want = match over {
                    "any" => f64::from(window.iter().any(|&x| x != 0.0)),
                    "all" => f64::from(window.iter().all(|&x| x != 0.0)),
                    _ => window.iter().sum::<f64>() / window.len() as f64,
                };
                prop_assert!((got[t][0] - want).abs() < 1e-12, "{over} at {t}: {} and {want}", got[t][0]);
            }
        }
    }

    #[test]
    fn thresholds_by_quantile_count_the_zeros_that_are_not_kept(
        x in prop::collection::vec(prop_oneof![2 => Just(0.0), 1 => Just(-1.0), 1 => -2.0..2.0], 1..30),
        quantiles in 1..5_usize, side in prop_oneof![Just("above"), Just("below"), Just("both")],
    ) {
        let sequence: Vec<(f64, u32)> = x.iter().map(|&x| (x, 0)).collect();
        let data = chains(&[&sequence]);
        let config = format!("type = 'threshold'\nat = []\nquantiles = {quantiles}\ntest = '{side}'\nof = 'value'");
        let encoder = prototype(&config).fit(&data).unwrap();
        let mut sorted = x.clone();
        sorted.sort_by(f64::total_cmp);
        let mut cuts: Vec<f64> = (1..=quantiles).map(|k| sorted[k * sorted.len() / (quantiles + 1)]).collect();
        cuts.dedup();
        let sides: &[char] = match side { "above" => &['>'], "below" => &['<'], _ => &['>', '<'] };
        let want: Vec<String> =
            cuts.iter().flat_map(|cut| sides.iter().map(move |side| format!("x{side}{cut}"))).collect();
        prop_assert_eq!(names(&*encoder), want);
        let got = values(&*encoder, &data, 0);
        for (t, &x) in x.iter().enumerate() {
            let tests = cuts.iter().flat_map(|&cut| sides.iter().map(move |&side| (cut, side)));
            let want: Vec<f64> =
                tests.map(|(cut, side)| f64::from(if side == '>' { x > cut } else { x < cut })).collect();
            prop_assert_eq!(&got[t], &want);
        }
    }
}

#[test]
fn points_of_time_are_normalised_though_they_differ_little_beside_their_size() {
    // A second in steps of 250 milliseconds, in nanoseconds since 1970.
    let times = [0.0, 0.25e9, 0.5e9, 0.75e9, 1e9].map(|ns| (1.7e18 + ns, 0));
    let close_by = [0.0, 1.0, 2.0].map(|by| (1e15 + by / 8.0, 0));
    for sequence in [&times[..], &close_by] {
        let data = chains(&[sequence]);
        let encoder = prototype("type = 'normalised'\nof = 'value'").fit(&data).unwrap();
        let got: Vec<f64> = values(&*encoder, &data, 0).into_iter().map(|row| row[0]).collect();
        let variance = got.iter().map(|x| x * x).sum::<f64>() / got.len() as f64;
        assert!((variance - 1.0).abs() < 1e-6, "{got:?}");
    }
    let data = chains(&[&[(0.1, 0), (0.1, 0), (0.1, 0)]]);
    let encoder = prototype("type = 'normalised'\nof = 'value'").fit(&data).unwrap();
    assert_eq!(values(&*encoder, &data, 0), [[0.0], [0.0], [0.0]]);
}
