//! The relational language: values by hand and against plain loops, names that parse back, the features of the thesis.
#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

mod common;

use std::sync::Arc;

use common::{features, real};
use crf_core::prototypes::{Normalised, Relational};
use crf_core::{
    Alphabet, Block, Dataset, DatasetBuilder, Edge, Encoder, FeatureMap, FittedFeatures, Graph, NodeKind,
    Prototype, Relation, Schema, Seed, Survey, Target, Value,
};
use proptest::prelude::*;

const ROBOTS: [&str; 3] = ["robot1", "robot2", "robot3"];

/// Sequences of the positions of three robots, each x1, y1, x2, y2, x3, y3; the labels are the robots.
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

/// The values of every function, by function and position of sequence `i`.
fn columns(encoder: &dyn Encoder, data: &Dataset, i: usize) -> Vec<Vec<f64>> {
    let block = Block::of(encoder, &data.sequence(i));
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

#[test]
fn terms_have_the_values_worked_out_by_hand() {
    let half = 0.5_f64.sqrt();
    for (rule, want) in [
        ("robot1.x", [0.0, 3.0, 3.0, 3.0]),
        ("robot1.x - robot2.x", [-3.0, 0.0, 0.0, 0.0]),
        ("dist(robot1, robot2)", [5.0, 4.0, 0.0, 0.0]),
        ("speed(robot1)", [0.0, 3.0, 4.0, 0.0]),
        ("speed(robot1)²", [0.0, 9.0, 16.0, 0.0]),
        ("speed(robot1)^3", [0.0, 27.0, 64.0, 0.0]),
        ("dot(vel(robot1), (1, 2))", [0.0, 3.0, 8.0, 0.0]),
        ("dot(unit(vel(robot1)), (1, 2))", [0.0, 1.0, 2.0, 0.0]),
        ("cos(vel(robot1), (1, 1))", [0.0, half, half, 0.0]),
        ("chasing(robot1, robot2)", [0.0, 0.0, 0.0, 0.0]),
        ("dot(pos(robot3) - pos(robot1), vel(robot1))", [0.0, -9.0, 24.0, 0.0]),
        ("robot1.x[+1]", [3.0, 3.0, 3.0, 3.0]),
        ("robot1.y[-2]", [0.0, 0.0, 0.0, 0.0]),
        ("mean(robot1.y, -1..+0)", [0.0, 0.0, 2.0, 4.0]),
        ("any(robot1.y>3, -0..+1)", [0.0, 1.0, 1.0, 1.0]),
        ("all(speed(robot1)>0, -1..+0)", [0.0, 0.0, 1.0, 0.0]),
        ("min(dist(robot1, j) for j in robot)", [5.0, 4.0, 0.0, 0.0]),
        ("max(j.y for j in robot)", [10.0; 4]),
        ("mean(j.x for j in robot)", [1.0, 2.0, 2.0, 2.0]),
        ("any(j.y>3 for j in robot)", [1.0; 4]),
        ("all(j.y>3 for j in robot)", [0.0, 0.0, 1.0, 1.0]),
        ("nearest(j.y for j in robot by dist(robot1, j))", [4.0; 4]),
        ("nearest(j.y for j in robot by -dist(robot1, j))", [10.0; 4]),
        ("gap(robot1) - gap(robot1)[-1]", [0.0, -1.0, -4.0, 0.0]),
        ("behind(robot1.x, 1)", [0.0, 3.0, 0.0, 0.0]),
        ("¬(robot1.x<2)", [0.0, 1.0, 1.0, 1.0]),
        ("not robot1.y", [1.0, 1.0, 0.0, 0.0]),
        ("robot1.x>1 ∧ robot1.y<2", [0.0, 1.0, 0.0, 0.0]),
        ("robot1.x>=3 and robot1.y != 4", [0.0, 1.0, 0.0, 0.0]),
        ("robot1.x=3 ∧ speed(robot1)", [0.0, 3.0, 4.0, 0.0]),
        ("-robot1.x + 2*robot1.y / 4", [0.0, -3.0, -1.0, -1.0]),
        ("robot1.x / robot1.y", [0.0, 0.0, 0.75, 0.75]),
        ("1 - 2 - robot1.x", [-1.0, -4.0, -4.0, -4.0]),
        ("abs(robot1.x - 2)", [2.0, 1.0, 1.0, 1.0]),
        ("sqrt(max(robot1.x, robot1.y)) + min(robot1.x, 1)", [0.0, 3_f64.sqrt() + 1.0, 3.0, 3.0]),
        ("length(2e0 · (robot1.x, robot1.y)[-1])", [0.0, 0.0, 6.0, 10.0]),
    ] {
        let got = column(rule, &small());
        assert!(got.iter().zip(want).all(|(a, b)| (a - b).abs() < 1e-12), "{rule}: {got:?}");
    }
}

#[test]
fn rules_expand_over_objects_and_numbers() {
    let list = |rules: &[&str]| names(&*fit(rules, &small()), &small());
    let want = ["speed(robot1)<1", "speed(robot1)<3", "speed(robot2)<1", "speed(robot2)<3"];
    assert_eq!(list(&["speed(i) < k for i in robot, k in 1..3 step 2"])[..4], want);
    assert_eq!(list(&["robot1.x>k for k in [-1, 0.1]"]), ["robot1.x>-1", "robot1.x>0.1"]);
    assert_eq!(list(&["robot1.x>k for k in 0..0.3 step 0.1"])[3], "robot1.x>0.3");
    // A variable is none of the objects that the rule names, and equal functions are one.
    assert_eq!(list(&["dist(i, robot1) for i in robot"]), ["dist(robot2, robot1)", "dist(robot3, robot1)"]);
    let pairs = ["dist(robot1, robot2)", "dist(robot1, robot3)", "dist(robot2, robot3)"];
    assert_eq!(list(&["dist(i, j) for i, j in robot"]), pairs);
    assert_eq!(list(&["¬(robot1.x<2)", "robot1.x>=2", "2<=robot1.x"]), ["¬(robot1.x<2)"]);
    assert_eq!(list(&["robot1.x[-l] for l in [0, 2]"]), ["robot1.x[-0]", "robot1.x[-2]"]);
    assert_eq!(relational(&["dist(i, j) for i, j in robot"]).count(small().schema()).unwrap(), 6);
}

#[test]
fn classes_are_made_of_objects_and_classes() {
    let mut prototype = relational(&["i.x - j.x for i in left, j in all"]);
    prototype.classes.insert("left".into(), vec!["robot1".into()]);
    prototype.classes.insert("all".into(), vec!["robot".into(), "robot2".into()]);
    // Classes are made in the order of their names.
    let encoder = prototype.fit(&small()).unwrap();
    assert_eq!(names(&*encoder, &small()), ["robot1.x - robot2.x", "robot1.x - robot3.x"]);
    prototype.classes.insert("zoo".into(), vec!["robt".into()]);
    let refused = prototype.fit(&small()).unwrap_err().to_string();
    assert_eq!(refused, "unknown class of objects `robt`, did you mean `robot`?");
}

/// The features that a list gives on the small data.
fn map(list: &str) -> FeatureMap {
    let data = Arc::new(small());
    let fitted = features(list).fit(&data).unwrap();
    let corpus = fitted.encode(data).unwrap();
    fitted.map(&corpus).unwrap()
}

fn feature_names(map: &FeatureMap) -> Vec<String> {
    (0..map.len()).map(|k| map.name(k)).collect()
}

#[test]
fn label_patterns_choose_the_labels() {
    let state = map("[{ state = { type = 'relational', rules = ['y=i ∧ speed(i)<1 for i in robot'] } }]");
    let want = [1, 2, 3].map(|i| format!("y=robot{i} ∧ speed(robot{i})<1"));
    assert_eq!(feature_names(&state), want);
    let rule = "y'=i ∧ y=j ∧ dist(i, j)<1 for i, j in robot";
    let pairs = map(&format!("[{{ transition = {{ type = 'relational', rules = [\"{rule}\"] }} }}]"));
    // Three functions with two pairs of labels each.
    assert_eq!((pairs.transition().n_observations(), pairs.len()), (3, 6));
    assert_eq!(pairs.name(0), "y'=robot1 ∧ y=robot2 ∧ dist(robot1, robot2)<1");
    assert_eq!(pairs.name(1), "y'=robot2 ∧ y=robot1 ∧ dist(robot1, robot2)<1");
    let half = map("[{ transition = { type = 'relational', rules = ['y=i ∧ i.x for i in robot'] } }]");
    assert_eq!(half.len(), 9);
    let bare = map("[{ state = { type = 'relational', rules = ['y=robot{n} for n in [1, 3]'] } }]");
    assert_eq!(feature_names(&bare), ["y=robot1", "y=robot3"]);
    let union = "['y=robot1 ∧ robot1.x', 'y=robot2 ∧ robot1.x', 'y=robot2 ∧ robot2.x', 'robot2.x']";
    assert_eq!(map(&format!("[{{ state = {{ type = 'relational', rules = {union} }} }}]")).len(), 2 + 3);
}

#[test]
fn patterns_pass_through_other_prototypes() {
    let rule = "{ type = 'relational', rules = ['y=i ∧ speed(i) for i in robot'] }";
    for (prototype, n) in [("lag", 3), ("window", 3), ("power", 3), ("normalised", 3), ("threshold", 3)] {
        let map = map(&format!("[{{ state = {{ type = '{prototype}', of = {rule} }} }}]"));
        assert_eq!(map.len(), n, "{prototype}");
        assert!((0..3).all(|g| map.state().targets(g) == [g]), "{prototype}");
    }
    // Both must fit: of nine conjunctions three have a label.
    let both = map(&format!("[{{ state = {{ type = 'conjunction', of = [{rule}, {rule}, 'one'] }} }}]"));
    assert_eq!((both.state().n_observations(), both.len()), (9, 3));
}

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

/// Values of expressions by plain loops over whole sequences.
#[test]
fn pieces_join_without_a_seam() {
    let data = random(3, &[2500, 0, 1, 40]);
    let rules = [
        "all(speed(i)<1.5, -7..+3) for i in robot",
        "nearest(chasing(i, j) for j in robot by dist(i, j)) for i in robot",
        "gap(i) - gap(i)[-5] for i in robot",
        "mean(dist(i, j), -30..+0)[+2] for i, j in robot",
    ];
    let encoder = fit(&rules, &data);
    for s in 0..data.len() {
        let x = data.sequence(s);
        let at = |i: usize, t: usize| (x.real(2 * i)[t], x.real(2 * i + 1)[t]);
        let last = x.len().saturating_sub(1) as i64;
        let clamp = |t: i64| t.clamp(0, last) as usize;
        let dist = |i: usize, j: usize, t: usize| {
            let ((a, b), (c, d)) = (at(i, t), at(j, t));
            ((a - c).powi(2) + (b - d).powi(2)).sqrt()
        };
        let vel = |i: usize, t: usize| {
            let ((a, b), (c, d)) = (at(i, t), at(i, clamp(t as i64 - 1)));
            (a - c, b - d)
        };
        let unit = |(a, b): (f64, f64)| {
            let length = (a * a + b * b).sqrt();
            if length == 0.0 { (0.0, 0.0) } else { (a / length, b / length) }
        };
        let gap = |i: usize, t: usize| {
            (0..3).filter(|&j| j != i).map(|j| dist(i, j, t)).fold(f64::INFINITY, f64::min)
        };
        let got = columns(&*encoder, &data, s);
        for t in 0..x.len() {
            let mut want = Vec::new();
            for i in 0..3 {
                let mut window = t.saturating_sub(7)..=clamp(t as i64 + 3);
                want.push(f64::from(window.all(|t| vel(i, t).0.hypot(vel(i, t).1) < 1.5)));
            }
            for i in 0..3 {
                let others = (0..3).filter(|&j| j != i);
                let j = others.min_by(|&a, &b| dist(i, a, t).total_cmp(&dist(i, b, t))).unwrap();
                let ((a, b), (c, d)) = (at(i, t), at(j, t));
                let ((a, b), (c, d)) = (unit((c - a, d - b)), unit(vel(i, t)));
                want.push(a * c + b * d);
            }
            want.extend((0..3).map(|i| gap(i, t) - gap(i, clamp(t as i64 - 5))));
            for (i, j) in [(0, 1), (0, 2), (1, 2)] {
                let t = clamp(t as i64 + 2);
                let window = t.saturating_sub(30)..=t;
                let n = window.clone().count() as f64;
                want.push(window.map(|t| dist(i, j, t)).sum::<f64>() / n);
            }
            let row: Vec<f64> = got.iter().map(|column| column[t]).collect();
            let same = row.iter().zip(&want).all(|(a, b)| (a - b).abs() < 1e-9);
            assert!(same && row.len() == want.len(), "sequence {s}, position {t}: {row:?} vs {want:?}");
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

/// Three nodes in a row, and a link from the first to the last.
fn linked() -> Dataset {
    let kind = NodeKind { name: "robot".into(), labels: Alphabet::new(ROBOTS) };
    let relation = |name: &str| Relation { name: name.into(), tail: 0, head: 0 };
    let relations = vec![relation("next"), relation("distance 2")];
    let schema = Schema::graph(vec![real("robot1.x"), real("robot2.x")], vec![kind], relations).unwrap();
    let schema = Arc::new(schema);
    let mut data = DatasetBuilder::new(schema.clone());
    for t in 0..3 {
        let x = f64::from(t);
        data.push(&[Value::Real(x), Value::Real(x * x)], Some(t as u32)).unwrap();
    }
    let edge = |u, v, relation| Edge { u, v, relation };
    let edges = vec![edge(0, 1, 0), edge(1, 2, 0), edge(0, 2, 1)];
    data.end_graph(Graph::new(&schema, vec![0; 3], edges).unwrap()).unwrap();
    data.finish()
}

#[test]
fn a_rule_may_name_its_relation() {
    let data = Arc::new(linked());
    let map = |rules: &str| {
        let list = format!("[{{ transition = {{ type = 'relational', rules = {rules} }} }}]");
        let fitted = features(&list).fit(&data).unwrap();
        fitted.map(&fitted.encode(data.clone()).unwrap())
    };
    let all =
        map(r#"["y'=i ∧ y=j ∧ i.x<j.x for i, j in robot", "next: y=robot3 ∧ norm(robot1.x)"]"#).unwrap();
    assert_eq!(all.len(), 2 * 2 + 3);
    for name in feature_names(&all) {
        assert_eq!(feature_names(&map(&format!("[\"{name}\"]")).unwrap()), [name]);
    }
    assert_eq!(map("['distance 2: robot1.x']").unwrap().len(), 9);
    let unknown = map("['nxt: robot1.x']").unwrap_err().to_string();
    assert_eq!(unknown, "labels of `robot1.x`: unknown relation `nxt`, did you mean `next`?");
    let state = features("[{ state = { type = 'relational', rules = ['next: robot1.x'] } }]").fit(&data);
    let message = state.unwrap().candidates().unwrap_err().to_string();
    assert!(
        message.ends_with("`next:` asks for an edge, which only a `transition` feature has"),
        "{message}"
    );
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
fn pieces_are_the_same_on_any_number_of_threads() {
    let data = Arc::new(random(9, &[9000, 0, 3, 5000]));
    let rules =
        r#"["mean(dist(i, j), -30..+4)[-2] for i, j in robot", "norm(i.x)<k for i in robot, k in -2..2"]"#;
    let list = format!(
        "['intercept', 'transition', {{ state = {{ type = 'relational', rules = {rules} }} }}, \
         {{ transition = {{ type = 'relational', rules = [\"y'=i ∧ y=j ∧ dist(i, j)<9 for i, j in robot\"] }} }}]"
    );
    let fitted = features(&list).fit(&data).unwrap();
    let encode = |threads: usize| {
        let mut done = Vec::new();
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let corpus = pool.install(|| fitted.encode_watched(data.clone(), &mut |n| done.push(n))).unwrap();
        assert!(done.is_sorted() && done.last() == Some(&data.n_positions()), "{done:?}");
        corpus
    };
    let (one, three) = (encode(1), encode(3));
    assert_eq!((one.nodes(), one.edge_rows()), (three.nodes(), three.edge_rows()));
    for i in 0..data.len() {
        assert_eq!(one.rows_of_edges(i), three.rows_of_edges(i));
        assert_eq!(one.rows_of_edges(i).len(), data.range(i).len().saturating_sub(1));
    }
    // And those of whole sequences.
    let encoder = features(&list).0.swap_remove(2).of.fit(&data).unwrap();
    for i in 0..data.len() {
        let block = Block::of(&*encoder, &data.sequence(i));
        for (t, row) in data.range(i).enumerate() {
            let (mut got, mut want) = (vec![0.0; 20], vec![0.0; 20]);
            one.nodes().for_each(row, |g, value| got[g as usize] += value);
            block.row(t).for_each(|(g, value)| want[g as usize + 1] += value);
            assert!(got.iter().zip(&want).all(|(a, b)| (a - b).abs() < 1e-9), "{t}: {got:?} vs {want:?}");
        }
    }
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

/// A list of features: each entry a link and its rules, or a feature's name.
fn list(parts: &[(&str, &[&str])]) -> String {
    let entries = parts.iter().map(|(link, rules)| {
        let define = "define = ['hand_off(i, j) = any(dist(i, j)<240, -1..+0) ∧ dist(i, j)[-2]≥240', \
                      'gap(i) = min(dist(i, j) for j in robot)']";
        let relational = format!("{{ type = 'relational', {define}, rules = {rules:?} }}");
        match link.strip_prefix("normalised ") {
            Some(link) => format!("{{ {link} = {{ type = 'normalised', of = {relational} }} }}"),
            None => format!("{{ {link} = {relational} }}"),
        }
    });
    format!("['intercept', 'transition', {}]", entries.collect::<Vec<_>>().join(", "))
}

const POSITIONS: [&str; 4] =
    ["i.x for i in robot", "i.y for i in robot", "i.x² for i in robot", "i.y² for i in robot"];
const VELOCITIES: [&str; 2] = ["speed(i) for i in robot", "speed(i)² for i in robot"];
const CHASING: [&str; 2] = ["chasing(i, j) for i, j in robot", "chasing(i, j)² for i, j in robot"];
const THRESHOLDS: [&str; 2] = [
    "all(speed(i)<6.67, -w..+0) for w in [0, 5, 29, 59, 89, 119], i in robot",
    "all(speed(i)>6.67, -w..+0) for w in [0, 5, 29, 59, 89, 119], i in robot",
];
const STOPPED: [&str; 2] = ["speed(i)<6.67 for i in robot", "speed(i)>6.67 for i in robot"];
const HAND_OFF: [&str; 2] =
    ["y'=i ∧ y=j ∧ hand_off(i, j) for i, j in robot", "y'=i ∧ y=j ∧ ¬hand_off(i, j) for i, j in robot"];
const REDUNDANT: [&str; 4] = [
    "gap(i) - gap(i)[-1] for i in robot",
    "i.x - i.x[-1] for i in robot",
    "i.y - i.y[-1] for i in robot",
    "cos(vel(i), vel(i)[-l]) for i in robot, l in [1, 5, 10, 15, 20, 30]",
];

/// Vail (2008), §2.7.3: the sets of table 2.1, with as many features as they have in the text.
#[test]
fn the_feature_sets_of_table_2_1() {
    let base = 3 + 9;
    let many = vec![
        ("normalised transition", &HAND_OFF[..]),
        ("state", &CHASING),
        ("state", &VELOCITIES),
        ("state", &STOPPED),
    ];
    let redundant = [&many[..], &[("state", &POSITIONS), ("state", &REDUNDANT)]].concat();
    for (set, n) in [
        (vec![("state", &POSITIONS[..])], 12 * 3),
        (vec![("state", &VELOCITIES[..])], 6 * 3),
        (vec![("state", &THRESHOLDS[..])], 2 * 6 * 3 * 3),
        (vec![("state", &CHASING[..])], 12 * 3),
        (vec![("transition", &HAND_OFF[..])], 2 * 6),
        (vec![("normalised transition", &HAND_OFF[..])], 2 * 6),
        (vec![("normalised transition", &HAND_OFF[..]), ("state", &CHASING)], 12 + 36),
        (many, 12 + 36 + 18 + 18),
        (redundant, 12 + 36 + 18 + 18 + 36 + (3 * 3 + 18) * 3),
    ] {
        assert_eq!(map(&list(&set)).len(), base + n, "{set:?}");
    }
}

/// Vail (2008), equation 2.72, against its own formula.
#[test]
fn hand_offs_are_possible_in_the_first_two_frames() {
    let data = tag(&[[900.0, 250.0, 239.0, 230.0, 220.0, 250.0, 239.0, 240.0]
        .map(|x| [x, 0.0, 0.0, 0.0, 9e3, 0.0])
        .to_vec()]);
    let rule =
        "(dist(robot1, robot2)<240) + (dist(robot1, robot2)[-1]<240) > 0 ∧ dist(robot1, robot2)[-2]≥240";
    let want = [0.0, 0.0, 1.0, 1.0, 0.0, 0.0, 0.0, 1.0];
    assert_eq!(column(rule, &data), want);
    let window = "any(dist(robot1, robot2)<240, -1..+0) ∧ dist(robot1, robot2)[-2]≥240";
    assert_eq!(column(window, &data), want);
}

/// Vail (2008), §3.4.1: equations 3.39 to 3.51 make 1,200 features.
#[test]
fn the_candidates_of_tables_3_1_and_3_2_are_1200() {
    let chasing = "nearest(dot(pos(j) - pos(i), vel(i)) for j in robot by dist(i, j))";
    let chasing = [format!("{chasing} for i in robot"), format!("{chasing}² for i in robot")];
    let correlations = ["dot(vel(i), vel(j)) for i, j in robot", "dot(vel(i), vel(j))² for i, j in robot"];
    let slow = ["60·speed(i)<k for i in robot, k in 5..100 step 5"];
    let near = [
        "dist(i, j)<k for i, j in robot, k in 200..1000 step 50",
        "dist(i, j)>k for i, j in robot, k in 200..1000 step 50",
    ];
    let parts: [(&str, &[&str], usize); 6] = [
        ("state", &POSITIONS, 36),
        ("state", &VELOCITIES, 18),
        ("state", &chasing.each_ref().map(String::as_str), 18),
        ("state", &correlations, 18),
        ("state", &slow, 180),
        ("transition", &near, 918),
    ];
    for (link, rules, n) in parts {
        assert_eq!(map(&list(&[(link, rules)])).len(), 12 + n, "{rules:?}");
    }
    let all: Vec<(&str, &[&str])> = parts.map(|(link, rules, _)| (link, rules)).to_vec();
    let map = map(&list(&all));
    assert_eq!(map.len(), 1200);
    assert_eq!(map.name(1199), "y'=robot3 ∧ y=robot3 ∧ dist(robot2, robot3)>1000");
}

#[test]
fn constant_and_repeated_features_are_found() {
    let rules = r#"["robot2.x", "robot1.x + 0·robot1.y", "y=robot1 ∧ robot1.x", "robot1.x>99", "robot1.x - robot2.x"]"#;
    let list = format!("['intercept', {{ state = {{ type = 'relational', rules = {rules} }} }}]");
    let data = Arc::new(small());
    let fitted = features(&list).fit(&data).unwrap();
    let corpus = fitted.encode(data).unwrap();
    let map = fitted.map(&corpus).unwrap();
    let Survey { constant, duplicates } = Survey::new(&map, &corpus);
    let name = |k: usize| map.name(k);
    let constant: Vec<(String, f64)> = constant.into_iter().map(|(k, value)| (name(k), value)).collect();
    let want = |rule: &str, value| ROBOTS.map(|label| (format!("y={label} ∧ {rule}"), value));
    assert_eq!(constant, [want("robot2.x", 3.0), want("robot1.x>99", 0.0)].concat());
    let duplicates: Vec<_> = duplicates.into_iter().map(|(k, earlier)| (name(k), name(earlier))).collect();
    assert_eq!(
        duplicates,
        [("y=robot1 ∧ robot1.x".to_owned(), "y=robot1 ∧ robot1.x + 0·robot1.y".to_owned())]
    );
}

proptest! {
    #[test]
    fn a_survey_agrees_with_columns(seed in 0..1000_u64, lengths in prop::collection::vec(0..6_usize, 1..4)) {
        let rules = "rules = ['i.x<k for i in robot, k in -2..2', '¬(i.x>k) for i in robot, k in [-2, 1]']";
        let list = format!("['intercept', 'transition', {{ state = {{ type = 'relational', {rules} }} }}, \
                            {{ transition = {{ type = 'relational', {rules} }} }}]");
        let data = Arc::new(random(seed, &lengths));
        let fitted = features(&list).fit(&data).unwrap();
        let corpus = fitted.encode(data.clone()).unwrap();
        let map = fitted.map(&corpus).unwrap();
        let survey = Survey::new(&map, &corpus);
        // The value of every feature's function at every node or edge it is for.
        let mut values = vec![Vec::new(); map.len()];
        for i in 0..data.len() {
            let rows = (0..data.range(i).len()).map(|t| (false, data.range(i).start + t));
            let edges = corpus.rows_of_edges(i).iter().map(|&row| (true, row as usize));
            for (edge, row) in rows.chain(edges) {
                let mut dense = vec![0.0; map.state().n_observations().max(map.transition().n_observations())];
                let from = if edge { corpus.edge_rows() } else { corpus.nodes() };
                from.for_each(row, |g, value| dense[g as usize] += value);
                for (k, values) in values.iter_mut().enumerate() {
                    let (g, target) = map.feature(k);
                    if matches!(target, Target::Transition(..)) == edge {
                        values.push(dense[g as usize]);
                    }
                }
            }
        }
        let links = |k: usize| if k < map.state().len() { map.state() } else { map.transition() };
        let looked_at = |k: &usize| !links(*k).is_constant(map.feature(*k).0);
        let constant = (0..map.len()).filter(looked_at).filter_map(|k| match values[k].first() {
            None => Some((k, 0.0)),
            Some(&value) => values[k].iter().all(|other| *other == value).then_some((k, value)),
        });
        prop_assert_eq!(survey.constant, constant.collect::<Vec<_>>());
        let duplicates = (0..map.len()).filter(looked_at).filter_map(|k| {
            let (_, target) = map.feature(k);
            let same = |e: &usize| map.feature(*e).1 == target && values[*e] == values[k];
            (0..k).filter(looked_at).find(same).map(|earlier| (k, earlier))
        });
        prop_assert_eq!(survey.duplicates, duplicates.collect::<Vec<_>>());
    }
}

#[test]
fn sizes_are_known_before_anything_is_encoded() {
    let data = Arc::new(random(1, &[3000, 0, 20, 700]));
    let list = r#"["intercept",
        { state = { type = "relational", rules = ["i.x>k for i in robot, k in -9..9"] }, pairs = "observed" },
        { transition = { type = "relational", rules = ["y'=i ∧ y=j ∧ dist(i, j) for i, j in robot"] } }]"#;
    let fitted = features(list).fit(&data).unwrap();
    let estimate = fitted.estimate(&data).unwrap();
    assert_eq!((estimate.functions, estimate.features), (1 + 57 + 3, 3 + 57 * 3 + 6));
    let corpus = fitted.encode(data.clone()).unwrap();
    let nodes = corpus.nodes().n_entries();
    let edges: usize = (0..data.len())
        .flat_map(|i| corpus.rows_of_edges(i))
        .map(|&row| {
            corpus.edge_rows().ones(row as usize).len() + corpus.edge_rows().valued(row as usize).0.len()
        })
        .sum();
    let ratio = estimate.entries as f64 / (nodes + edges) as f64;
    assert!((0.8..1.25).contains(&ratio), "{estimate} against {nodes} and {edges}");
    assert!(estimate.to_string().starts_with("61 functions, 180 features, about "), "{estimate}");
    let none = random(1, &[]);
    assert_eq!(features(list).fit(&none).unwrap().estimate(&none).unwrap().entries, 0);
}
