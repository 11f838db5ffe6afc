//! Semantics of rules: values, expansion, labels, relations, and the feature sets of the thesis.

use std::sync::Arc;

use crf_core::{
    Alphabet, Dataset, DatasetBuilder, Edge, EncodedRows, Graph, NodeKind, Prototype, Relation, Schema, Value,
};

use super::{ROBOTS, column, columns, feature_names, fit, map, names, random, relational, small, tag};
use crf_testing::datasets::{features, real};

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

/// Values of expressions by plain loops over whole sequences.
#[test]
fn chunks_join_without_a_seam() {
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

#[test]
fn chunks_are_the_same_on_any_number_of_threads() {
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
        assert_eq!(one.edge_row_indices(i), three.edge_row_indices(i));
        assert_eq!(one.edge_row_indices(i).len(), data.range(i).len().saturating_sub(1));
    }
    // And those of whole sequences.
    let encoder = features(&list).0.swap_remove(2).of.fit(&data).unwrap();
    for i in 0..data.len() {
        let block = EncodedRows::encode(&*encoder, &data.sequence(i));
        for (t, row) in data.range(i).enumerate() {
            let (mut got, mut want) = (vec![0.0; 20], vec![0.0; 20]);
            one.nodes().for_each(row, |g, value| got[g as usize] += value);
            block.row(t).for_each(|(g, value)| want[g as usize + 1] += value);
            assert!(got.iter().zip(&want).all(|(a, b)| (a - b).abs() < 1e-9), "{t}: {got:?} vs {want:?}");
        }
    }
}

/// Feature list: each entry a link and its rules, or a feature's name.
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
        .flat_map(|i| corpus.edge_row_indices(i))
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

#[test]
fn and_ends_a_label_before_the_first_expression_as_between_others() {
    let map = |rule: &str| {
        let data = small();
        let list = format!("[{{ transition = {{ type = 'relational', rules = [{rule:?}] }} }}]");
        let map = features(&list).fit(&data).unwrap().candidates().unwrap();
        (0..map.len()).map(|k| map.name(k)).collect::<Vec<_>>()
    };
    for (word, sign) in [
        ("y=i and speed(i)<1 for i in robot", "y=i ∧ speed(i)<1 for i in robot"),
        ("y'=i and y=j and dist(i, j)<1 for i, j in robot", "y'=i ∧ y=j ∧ dist(i, j)<1 for i, j in robot"),
        ("y=`robot1` and robot1.x and robot1.y", "y=robot1 ∧ robot1.x ∧ robot1.y"),
    ] {
        assert_eq!(map(word), map(sign), "{word}");
    }
}

#[test]
fn labels_with_words_of_the_language_are_printed_so_that_they_can_be_read() {
    let schema = Schema::chain(vec![real("x")], Alphabet::new(["salt and pepper", "a ∧ b"])).unwrap();
    let mut data = DatasetBuilder::new(Arc::new(schema));
    data.push(&[Value::Real(1.0)], Some(0)).unwrap();
    data.end_chain().unwrap();
    let data = data.finish();
    let names = |list: &str| {
        let map = features(list).fit(&data).unwrap().candidates().unwrap();
        (0..map.len()).map(|k| map.name(k)).collect::<Vec<_>>()
    };
    let printed = names("[{ state = 'value' }]");
    assert_eq!(printed, ["y=`salt and pepper` ∧ x", "y=`a ∧ b` ∧ x"]);
    assert_eq!(names(&format!("[{{ state = {{ type = 'relational', rules = {printed:?} }} }}]")), printed);
}
