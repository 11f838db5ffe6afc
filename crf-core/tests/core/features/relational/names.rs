//! Names are rules, and rules or files with errors are refused.

use std::sync::Arc;

use crf_core::prototypes::{Normalised, Relational};
use crf_core::{Encoder, FittedFeatures, Prototype as _};
use crf_testing::cases;
use proptest::prelude::*;

use super::{column, columns, feature_names, fit, map, names, random, relational, small};
use crf_testing::datasets::features;

#[test]
fn names_of_other_prototypes_are_rules() {
    let x = "{ type = 'value', channels = ['robot1.x'] }";
    for list in [
        format!("{{ type = 'lag', by = [2], of = {x} }}"),
        format!("{{ type = 'window', of = {{ type = 'power', of = {x} }} }}"),
        format!("{{ type = 'threshold', at = [1.5], test = 'both', of = {{ type = 'window', of = {x} }} }}"),
        format!("{{ type = 'power', degrees = [1, 2], of = {{ type = 'normalised', of = {x} }} }}"),
        format!("{{ type = 'conjunction', of = [{x}, {{ type = 'power', degrees = [3], of = {x} }}] }}"),
    ] {
        let prototype = features(&format!("[{{ state = {list} }}]")).0.swap_remove(0).of;
        let (data, encoder) = (small(), prototype.fit(&small()).unwrap());
        for (name, values) in names(&*encoder, &data).iter().zip(columns(&*encoder, &data, 0)) {
            assert_eq!(column(name, &data), values, "{name}");
        }
    }
}

/// Random expressions over i, j (robots) and k (a number), as text.
fn expressions() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        Just("i.x".to_owned()),
        Just("j.y".to_owned()),
        Just("k".to_owned()),
        Just("dist(i, j)".to_owned()),
        Just("dot(vel(i), unit(pos(j)))".to_owned()),
        Just("max(dist(i, m) for m in robot)".to_owned()),
        Just("nearest(m.x - i.x for m in robot by m.y)".to_owned()),
        Just("norm(j.x)".to_owned()),
        (0..40_u32).prop_map(|n| format!("{}", f64::from(n) / 8.0)),
    ];
    leaf.prop_recursive(4, 24, 2, |inner| {
        let operators = ["+", "-", "·", "/", "∧", "<", "≤", "=", "≠", ">", "≥"];
        prop_oneof![
            (inner.clone(), proptest::sample::select(operators.to_vec()), inner.clone())
                .prop_map(|(a, op, b)| format!("({a}) {op} ({b})")),
            (inner.clone(), proptest::sample::select(vec!["-", "¬"]))
                .prop_map(|(a, op)| format!("{op}({a})")),
            (inner.clone(), proptest::sample::select(vec!["²", "^3", "[-2]", "[+1]"]))
                .prop_map(|(a, op)| format!("({a}){op}")),
            inner.clone().prop_map(|a| format!("norm({a})")),
            (inner, proptest::sample::select(vec!["any", "all", "mean"]), 0..3, 0..2)
                .prop_map(|(a, over, from, to)| format!("{over}({a}, -{from}..+{to})")),
        ]
    })
}

proptest! {
    #![proptest_config(cases(256))]

    #[test]
    fn a_name_parses_to_its_function(text in expressions(), seed in 0..1000_u64) {
        let data = random(seed, &[12]);
        let encoder = fit(&[&format!("{text} for i, j in robot, k in [-2, 0.5]")], &data);
        let values = columns(&*encoder, &data, 0);
        for (name, values) in names(&*encoder, &data).iter().zip(values) {
            let again = fit(&[name], &data);
            prop_assert_eq!(&names(&*again, &data), std::slice::from_ref(name));
            prop_assert_eq!(&columns(&*again, &data, 0)[0], &values, "{}", name);
        }
    }

    #[test]
    fn what_normalised_prints_is_a_rule(text in expressions(), seed in 0..1000_u64) {
        let data = random(seed, &[12, 0, 5]);
        let of = Box::new(relational(&[&format!("{text} for i, j in robot, k in [-2, 0.5]")]));
        let encoder = Normalised { of }.fit(&data).unwrap();
        for (g, name) in names(&*encoder, &data).iter().enumerate() {
            let again = fit(&[name], &data);
            for i in 0..data.len() {
                prop_assert_eq!(&columns(&*again, &data, i)[0], &columns(&*encoder, &data, i)[g], "{}", name);
            }
        }
    }

    #[test]
    fn any_text_is_read_or_refused(text in "[a-z0-9 .,()<>=∧¬²'`\\[\\]^·/+-]{0,40}") {
        let _ = relational(&[&text]).fit(&small());
        prop_assert!(relational(&[&text, "("]).check().is_err());
    }
}

#[test]
fn a_negative_zero_is_printed_as_it_is_read() {
    for text in ["(-(0))²", "(-0)²", "-0^3", "(-0)[-1]", "(k)² for k in [-0, 1]"] {
        let encoder = fit(&[text], &small());
        for name in names(&*encoder, &small()) {
            assert_eq!(names(&*fit(&[&name], &small()), &small()), [name], "{text}");
        }
    }
}

#[test]
fn the_name_of_a_feature_is_a_rule_for_it_alone() {
    for (link, rules) in [
        ("state", r#"["y=i ∧ speed(i)<2 for i in robot", "chasing(i, j)² for i, j in robot", "y=robot2"]"#),
        ("transition", r#"["y'=i ∧ y=j ∧ ¬(dist(i, j)<k) for i, j in robot, k in [1, 5]", "robot1.x"]"#),
    ] {
        let list = |rules: &str| format!("[{{ {link} = {{ type = 'relational', rules = {rules} }} }}]");
        let all = map(&list(rules));
        for name in feature_names(&all) {
            assert_eq!(feature_names(&map(&list(&format!("[\"{name}\"]")))), [name]);
        }
    }
}

/// Calls `f` with every whole number in a value.
fn for_each_number(value: &mut serde_json::Value, f: &mut dyn FnMut(&mut serde_json::Value)) {
    match value {
        serde_json::Value::Array(items) => items.iter_mut().for_each(|item| for_each_number(item, f)),
        serde_json::Value::Object(items) => items.values_mut().for_each(|item| for_each_number(item, f)),
        serde_json::Value::Number(number) if number.is_u64() => f(value),
        _ => {}
    }
}

#[test]
fn crafted_numbers_are_refused_or_do_no_harm() {
    let rules = r#"["y=i ∧ all(norm(i.x)<k, -2..+0) for i in robot, k in [1, 2]", "nearest(m.x for m in robot by m.y)",
        "min(dist(robot1, m) for m in robot)² ∧ robot1.x[-1]"]"#;
    let list = format!(
        "['intercept', {{ state = {{ type = 'relational', rules = {rules} }} }}, {{ state = {{ type = 'power', of = \
         {{ type = 'normalised', of = 'value' }} }} }}, {{ state = {{ type = 'threshold', at = [1] }} }}]"
    );
    let data = Arc::new(random(7, &[30]));
    let saved = serde_json::to_value(features(&list).fit(&data).unwrap()).unwrap();
    let mut n = 0;
    for_each_number(&mut saved["state"].clone(), &mut |_| n += 1);
    let mut refused = 0;
    for (place, number) in (0..n).flat_map(|place| [0, 1, 5, 1 << 20, u32::MAX].map(|number| (place, number)))
    {
        let (mut crafted, mut at) = (saved.clone(), 0);
        for_each_number(&mut crafted["state"], &mut |value| {
            if at == place {
                *value = number.into();
            }
            at += 1;
        });
        match serde_json::from_value::<FittedFeatures>(crafted) {
            Ok(features) => drop(features.encode(data.clone())),
            Err(_) => refused += 1,
        }
    }
    assert!(refused > n, "{refused} of {n} numbers in five variants");
}

#[test]
fn encoders_survive_saving() {
    let data = random(5, &[30]);
    let encoder = fit(&["y=i ∧ all(gap(i)<k, -2..+0) for i in robot, k in 1..4", "1"], &data);
    let saved = serde_json::to_string(&encoder).unwrap();
    let again: Box<dyn Encoder> = serde_json::from_str(&saved).unwrap();
    assert_eq!(again.observations(data.schema()), encoder.observations(data.schema()));
    assert_eq!(columns(&*again, &data, 0), columns(&*encoder, &data, 0));
    assert_eq!(encoder.observations(data.schema()).last().unwrap().constant, Some(1.0));
}

#[test]
fn what_is_wrong_is_said_with_its_place_and_the_nearest_name() {
    let refused = |rule: &str, message: &str| {
        let got = relational(&[rule]).fit(&small()).unwrap_err().to_string();
        assert_eq!(got, message, "{rule}");
    };
    refused(
        "speed(robto1)<3",
        "column 7 of `speed(robto1)<3`: unknown variable, channel or object `robto1`, did you mean `robot1`?",
    );
    refused("1 + robot9.x", "column 5 of `1 + robot9.x`: unknown object `robot9`, did you mean `robot1`?");
    refused("robot1.xx", "column 1 of `robot1.xx`: object `robot1`: unknown field `xx`, did you mean `x`?");
    refused("sped(robot1)", "column 1 of `sped(robot1)`: unknown function `sped`, did you mean `speed`?");
    refused(
        "i.x for i in robt",
        "column 14 of `i.x for i in robt`: unknown class of objects `robt`, did you mean `robot`?",
    );
    refused(
        "robot1",
        "column 1 of `robot1`: `robot1` is an object, not a number; name one of its fields, as in `robot1.x`",
    );
    refused("dist(robot1)", "column 1 of `dist(robot1)`: `dist` takes 2 arguments, got 1");
    refused("robot1.x <", "column 11 of `robot1.x <`: expected a number, a name, or `(`, got the end");
    refused(
        "robot1.x ) 3",
        "column 10 of `robot1.x ) 3`: expected an operator, `for`, or the end of the rule, got `) 3`",
    );
    refused(
        "1<robot1.x<3",
        "column 11 of `1<robot1.x<3`: expected no second comparison; join two with `∧`, got `<3`",
    );
    refused(
        "pos(robot1)",
        "`pos(robot1)`: expected a number, got a vector of 2; `length(…)` and `dot(…, …)` make numbers of vectors",
    );
    refused(
        "all(robot1.x, +1..+2)",
        "`all(robot1.x, +1..+2)`: expected a window around the position, got +1..+2",
    );
    refused(
        "dot(pos(robot1) - 1, (1, 2))",
        "`dot(pos(robot1) - 1, (1, 2))`: vectors of equal length can be added and subtracted, and multiplied or \
         divided by numbers",
    );
    refused(
        "any(j.x for j in robot) + j for j in [1]",
        "column 13 of `any(j.x for j in robot) + j for j in [1]`: `j` stands for something already",
    );
    let mut prototype = relational(&["loops(robot1.x)"]);
    prototype.define.push("loops(e) = loops(e)".into());
    let message = prototype.fit(&small()).unwrap_err().to_string();
    assert_eq!(message, "column 12 of `loops(e) = loops(e)`: definitions call each other more than 32 deep");
    let deep = format!("{}robot1.x{}", "(".repeat(100), ")".repeat(100));
    assert!(relational(&[&deep]).check().unwrap_err().to_string().contains("at most 64"));
    let many = Relational { most: 5, ..relational(&["robot1.x<k for k in 1..9"]) };
    let message = many.fit(&small()).unwrap_err().to_string();
    assert!(message.starts_with("`most` must be at least the number of functions, got more"), "{message}");
    assert_eq!(many.count(small().schema()).unwrap(), 9);
    let data = Arc::new(small());
    let unknown = features("[{ state = { type = 'relational', rules = ['y=robt1 ∧ robot1.x'] } }]");
    let fitted = unknown.fit(&data).unwrap();
    let message = fitted.map(&fitted.encode(data).unwrap()).unwrap_err().to_string();
    assert_eq!(message, "labels of `robot1.x`: unknown label `robt1`, did you mean `robot1`?");
}
