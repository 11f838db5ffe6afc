//! `crf infer`: graphs in, answers out, held against enumeration; and one message for every
//! mistake.

use std::fmt::Write as _;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::LazyLock;

use crate::workbench::{crf, directory, error_message, piped};
use crf_bench as _;
use crf_core::{Graph, OwnedPotentials, Plugin, Seed, oracle};
use rand::RngExt as _;
use serde_json::{Value, json};

static PLACE: LazyLock<PathBuf> = LazyLock::new(|| directory("infer"));

const LABELS_ONLY: [&str; 2] = ["dual-decomposition", "icm"];
const CHAINS_ONLY: &str = "forward-backward";

/// A small graph, as JSON and for the oracle.
struct Instance {
    json: Value,
    x: OwnedPotentials,
    ends: Vec<(u32, u32)>,
}

impl Instance {
    /// Potentials drawn between −1 and 1; labels of nodes that `forbidden` lists are impossible.
    fn draw(name: &str, cards: &[u32], ends: &[(u32, u32)], forbidden: &[(usize, usize)]) -> Self {
        let mut rng = Seed::new(1).child(name).rng();
        let mut row = |n: u32| (0..n).map(|_| 2.0 * rng.random::<f64>() - 1.0).collect::<Vec<f64>>();
        let mut node: Vec<Vec<f64>> = cards.iter().map(|&card| row(card)).collect();
        forbidden.iter().for_each(|&(n, y)| node[n][y] = f64::NEG_INFINITY);
        let mut table =
            |&(u, v): &(u32, u32)| (0..cards[u as usize]).map(|_| row(cards[v as usize])).collect();
        let tables: Vec<Vec<Vec<f64>>> = ends.iter().map(&mut table).collect();
        // JSON has no −∞: serde writes null, as the format wants it.
        let edges = ends.iter().zip(&tables).map(|((u, v), table)| json!({ "u": u, "v": v, "table": table }));
        let json = json!({ "cards": cards, "node": node, "edges": edges.collect::<Vec<_>>() });
        let graph = Graph::bare(cards.to_vec(), ends.to_vec()).expect("a graph");
        let tables: Vec<Vec<f64>> = tables.iter().map(|table| table.concat()).collect();
        let x = OwnedPotentials::graph(graph, node.concat(), &tables, (0..ends.len() as u32).collect());
        Instance { json, x: x.expect("potentials"), ends: ends.to_vec() }
    }

    fn is_forest(&self) -> bool {
        self.ends.len() < self.x.shape().n_nodes()
    }
}

/// Two chains, a star of nodes with different numbers of labels, a cycle, a square with a diagonal,
/// and a lone node.
fn instances() -> Vec<Instance> {
    vec![
        Instance::draw("chain", &[3; 5], &[(0, 1), (1, 2), (2, 3), (3, 4)], &[]),
        Instance::draw("gaps", &[3; 4], &[(0, 1), (1, 2), (2, 3)], &[(0, 1), (2, 0), (2, 2)]),
        Instance::draw("star", &[2, 3, 4, 2], &[(0, 1), (2, 0), (0, 3)], &[(1, 2)]),
        Instance::draw("cycle", &[2, 3, 2], &[(0, 1), (1, 2), (2, 0)], &[(1, 0)]),
        Instance::draw("square", &[2; 4], &[(0, 1), (1, 2), (2, 3), (3, 0), (0, 2)], &[]),
        Instance::draw("lone", &[4], &[], &[]),
    ]
}

fn lines<'a>(graphs: impl IntoIterator<Item = &'a Instance>) -> String {
    graphs.into_iter().fold(String::new(), |mut text, graph| {
        let _ = writeln!(text, "{}", graph.json);
        text
    })
}

/// The answers to some graphs.
fn answers(options: &str, input: &str) -> Vec<Value> {
    let said = piped(&PLACE, &format!("infer {options}"), input);
    said.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

fn numbers(value: &Value) -> Vec<f64> {
    value.as_array().expect("a list").iter().map(|x| x.as_f64().expect("a number")).collect()
}

fn close(got: &[f64], want: &[f64], within: f64, what: &str) {
    assert_eq!(got.len(), want.len(), "{what}");
    let far = got.iter().zip(want).any(|(got, want)| (got - want).abs() > within);
    assert!(!far, "{what}: {got:?} vs {want:?}");
}

#[test]
fn every_inference_agrees_with_enumeration() {
    let tags = Plugin::all().into_iter().filter(|plugin| plugin.kind == "inference").map(|plugin| plugin.tag);
    let tags: Vec<_> = tags.filter(|tag| !LABELS_ONLY.contains(tag)).collect();
    assert!(!tags.is_empty());
    for tag in tags {
        let mut graphs = instances();
        if tag == CHAINS_ONLY {
            graphs.truncate(2);
        }
        let found = answers(&format!("--with {tag} --edge-marginals"), &lines(&graphs));
        assert_eq!(found.len(), graphs.len());
        for (i, (graph, found)) in graphs.iter_mut().zip(&found).enumerate() {
            let what = format!("{tag} on graph {i}: {found}");
            let (is_forest, ends) = (graph.is_forest(), graph.ends.clone());
            let p = graph.x.view();
            let (want, got) = (oracle::log_z(&p), found["log_z"].as_f64().expect("a number"));
            let is = found["log_z_is"].as_str().expect("a word");
            match is {
                "exact" => assert!((got - want).abs() <= 1e-9, "{what} vs {want}"),
                "lower" => assert!(got <= want + 1e-9, "{what} vs {want}"),
                "upper" => assert!(got >= want - 1e-9, "{what} vs {want}"),
                _ => assert!((got - want).abs() <= 0.1, "{what} vs {want}"),
            }
            let exact = matches!(tag, "junction-tree" | "enumeration" | CHAINS_ONLY)
                || matches!(tag, "belief-propagation" | "tree-reweighted") && is_forest;
            assert_eq!(is == "exact", exact, "{what}");
            let within = if exact { 1e-9 } else { 0.15 };
            let marginals: Vec<_> =
                found["marginals"].as_array().expect("a list").iter().map(numbers).collect();
            for (n, got) in marginals.iter().enumerate() {
                let of = |y| oracle::probability(&p, |labels| labels[n] == y);
                close(got, &(0..p.shape().card(n) as u32).map(of).collect::<Vec<_>>(), within, &what);
            }
            // A sampler estimates pairs and nodes by different sums.
            let within = if tag == "gibbs" { 0.05 } else { 1e-6 };
            for (e, &(u, v)) in ends.iter().enumerate() {
                let table: Vec<_> =
                    found["edge_marginals"][e].as_array().expect("rows").iter().map(numbers).collect();
                let tail: Vec<f64> = table.iter().map(|row| row.iter().sum()).collect();
                let head: Vec<f64> =
                    (0..table[0].len()).map(|j| table.iter().map(|row| row[j]).sum()).collect();
                close(&tail, &marginals[u as usize], within, &what);
                close(&head, &marginals[v as usize], within, &what);
            }
            assert_eq!(found["converged"], json!(tag != "gibbs"), "{what}");
            assert_eq!(found["converged"], json!(found["stop"] == "direct" || found["stop"] == "converged"));
            assert!(found["sweeps"].is_u64() && found["residual"].is_number(), "{what}");
        }
    }
}

#[test]
fn labellings_have_their_scores_and_bounds_hold() {
    for plugin in Plugin::all().into_iter().filter(|plugin| plugin.kind == "inference") {
        let mut graphs = instances();
        if plugin.tag == CHAINS_ONLY {
            graphs.truncate(2);
        }
        let found = answers(&format!("--with {}", plugin.tag), &lines(&graphs));
        for (graph, found) in graphs.iter_mut().zip(&found) {
            let what = format!("{}: {found}", plugin.tag);
            let p = graph.x.view();
            let map: Vec<u32> = serde_json::from_value(found["map"].clone()).expect("labels");
            let score = found["map_score"].as_f64().expect("a number");
            assert!((p.score(&map) - score).abs() <= 1e-9, "{what}");
            let best = oracle::all_labellings(&p).into_iter().map(|one| one.score).fold(f64::MIN, f64::max);
            assert!(found["map_upper"].as_f64().is_none_or(|upper| upper >= best - 1e-9), "{what} vs {best}");
            if found["log_z_is"] == "exact" {
                assert!((score - best).abs() <= 1e-9, "{what} vs {best}");
            }
            assert!(found.get("edge_marginals").is_none(), "{what}");
            let is_labels_only = LABELS_ONLY.contains(&plugin.tag);
            for key in ["log_z", "log_z_is", "marginals"] {
                assert_eq!(found[key].is_null(), is_labels_only, "{what}");
            }
            assert!(plugin.tag != "dual-decomposition" || found["map_upper"].is_number(), "{what}");
        }
    }
}

#[test]
fn a_chain_has_one_answer() {
    let input = lines(&instances()[..2]);
    let chain = answers("--with forward-backward", &input);
    for other in ["belief-propagation", "junction-tree"] {
        for (chain, other) in chain.iter().zip(answers(&format!("--with {other}"), &input)) {
            assert_eq!((&chain["map"], &chain["log_z_is"]), (&other["map"], &other["log_z_is"]));
        }
    }
}

#[test]
fn null_forbids() {
    let input = r#"{"cards": [2, 2], "node": [[0, null], [0, 0]], "edges": [{"u": 1, "v": 0, "table": [[null, 5], [0, 5]]}]}"#;
    let found = &answers("--edge-marginals", input)[0];
    assert_eq!((&found["log_z"], &found["map"]), (&json!(0.0), &json!([0, 1])));
    assert_eq!(found["marginals"], json!([[1.0, 0.0], [0.0, 1.0]]));
    assert_eq!(found["edge_marginals"], json!([[[0.0, 0.0], [1.0, 0.0]]]));
}

#[test]
fn answers_are_the_same_at_any_number_of_threads() {
    let input = lines(&instances()).repeat(100);
    for with in ["belief-propagation", "tree-reweighted", "mean-field"] {
        let said = |threads| piped(&PLACE, &format!("infer --with {with} --threads {threads}"), &input);
        let one = said(1);
        assert_eq!(one.lines().count(), 600);
        assert!(one == said(3), "{with}");
        let lines: Vec<_> = one.lines().collect();
        assert!(lines.chunks(6).all(|again| again == &lines[..6]), "{with}: what came before matters");
    }
}

#[test]
fn files_may_be_packed_and_have_blank_lines() {
    // `{"cards":[2],"node":[[0,null]]}` and a line end, packed by gzip.
    let packed = b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x02\x03\xab\x56\x4a\x4e\x2c\x4a\x29\x56\xb2\x8a\x36\x8a\xd5\x51\xca\
        \xcb\x4f\x49\x05\x32\xa3\x0d\x74\xf2\x4a\x73\x72\x62\x63\x6b\xb9\x00\xe6\x9d\x40\xd2\x20\x00\x00\x00";
    std::fs::write(PLACE.join("packed.jsonl.gz"), packed).expect("a file");
    let want = piped(&PLACE, "infer -", "\n{\"cards\": [2], \"node\": [[0, null]], \"edges\": []}\r\n \n");
    assert_eq!(piped(&PLACE, "infer packed.jsonl.gz", ""), want);
    assert_eq!(want.lines().count(), 1);
    assert_eq!(piped(&PLACE, "infer", ""), "");
}

#[test]
fn a_byte_order_mark_is_no_part_of_the_first_graph() {
    let text = lines(&instances()[..2]);
    assert_eq!(answers("", &format!("\u{feff}{text}")), answers("", &text));
}

#[test]
fn a_program_may_ask_one_by_one() {
    let mut child = Command::new(env!("CARGO_BIN_EXE_crf"))
        .arg("infer")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the program runs");
    let (mut ask, reply) = (child.stdin.take().expect("a pipe"), child.stdout.take().expect("a pipe"));
    let mut reply = BufReader::new(reply);
    for card in 1..4 {
        let graph = json!({ "cards": [card], "node": [vec![0; card]] });
        writeln!(ask, "{graph}").expect("it listens");
        let mut line = String::new();
        reply.read_line(&mut line).expect("it answers");
        let answer: Value = serde_json::from_str(&line).expect("JSON");
        assert_eq!(answer["marginals"][0].as_array().map(Vec::len), Some(card));
    }
    drop(ask);
    assert!(child.wait().expect("it ends").success());
}

/// Runs a line on some input; it must print `printed` answers and then fail with this message and
/// code.
fn refused(options: &str, input: &str, printed: usize, code: i32, message: &str) {
    let output =
        crf(&PLACE, &format!("infer {options}")).write_stdin(input).output().expect("the program runs");
    let error = error_message(&output.stderr);
    assert_eq!((error.as_str(), output.status.code()), (message, Some(code)), "{options} < {input}");
    assert_eq!(output.stdout.iter().filter(|&&byte| byte == b'\n').count(), printed, "{options} < {input}");
}

macro_rules! refused {
    ($($name:ident: $options:expr, $input:expr, $printed:literal, $code:literal, $message:expr;)*) => {$(
        #[test]
        fn $name() {
            refused($options, $input, $printed, $code, $message);
        }
    )*};
}

const GOOD: &str = r#"{"cards": [2], "node": [[0, 1]]}"#;

#[test]
fn edges_of_labellings_are_refused() {
    let all = Plugin::all().into_iter().filter(|plugin| plugin.kind == "inference");
    for tag in all.map(|plugin| plugin.tag).filter(|tag| LABELS_ONLY.contains(tag)) {
        let why = "finds a labelling, not marginals; `belief-propagation`, `mean-field` and `gibbs` estimate them, \
                   `junction-tree` is exact";
        refused(
            &format!("--with {tag} --edge-marginals"),
            GOOD,
            0,
            1,
            &format!("standard input:1: `{tag}` {why}"),
        );
    }
}

refused! {
    not_json: "", "cards\n", 0, 1,
        "standard input:1:1: expected valid JSON, got an error: expected value";
    cut_off: "", r#"{"cards": [2], "node": [[0,"#, 0, 1,
        "standard input:1:27: expected valid JSON, got an error: EOF while parsing a value";
    python_writes_infinity: "", r#"{"cards": [2], "node": [[0, -Infinity]]}"#, 0, 1,
        "standard input:1:30: expected valid JSON, got an error: invalid number; −∞ is written `null`";
    too_large: "", r#"{"cards": [2], "node": [[0, 1e999]]}"#, 0, 1,
        "standard input:1:33: expected valid JSON, got an error: number out of range";
    text_for_a_number: "", r#"{"cards": [2], "node": [[0, "one"]]}"#, 0, 1,
        "standard input:1:33: expected a number, or null for −∞, got string \"one\"";
    number_for_a_list: "", r#"{"cards": [2], "node": [0, 1]}"#, 0, 1,
        "standard input:1:25: expected a sequence, got integer `0`";
    negative_card: "", r#"{"cards": [-2], "node": [[]]}"#, 0, 1,
        "standard input:1:13: expected a whole number from 0 to 4294967295, got integer `-2`";
    no_labels: "", r#"{"cards": [0], "node": [[]]}"#, 0, 1,
        "standard input:1: node 0 has no labels";
    missing_key: "", r#"{"cards": [2]}"#, 0, 1,
        "standard input:1:14: missing field `node`";
    misspelt_key: "", r#"{"cards": [2], "nodes": [[0, 1]]}"#, 0, 1,
        "standard input:1:22: unknown key `nodes`, did you mean `node`?";
    misspelt_key_of_an_edge: "", r#"{"cards": [1, 1], "node": [[0], [0]], "edges": [{"u": 0, "v": 1, "tabel": [[0]]}]}"#,
        0, 1,
        "standard input:1:72: unknown key `tabel`, did you mean `table`?";
    too_few_nodes: "", r#"{"cards": [2, 2], "node": [[0, 1]]}"#, 0, 1,
        "standard input:1: `node`: expected 2 lists, one for each of `cards`, got 1";
    too_many_labels: "", r#"{"cards": [2, 2], "node": [[0, 1], [0, 1, 2]]}"#, 0, 1,
        "standard input:1: `node[1]`: expected 2 numbers, as `cards` says, got 3";
    self_loop: "", r#"{"cards": [1], "node": [[0]], "edges": [{"u": 0, "v": 0, "table": [[0]]}]}"#, 0, 1,
        "standard input:1: edge 0 joins node 0 with itself; add its diagonal to the node's potentials instead";
    missing_node: "", r#"{"cards": [1], "node": [[0]], "edges": [{"u": 0, "v": 7, "table": [[0]]}]}"#, 0, 1,
        "standard input:1: edge 0 leads to node 7, but there are 1";
    missing_row: "", r#"{"cards": [2, 1], "node": [[0, 0], [0]], "edges": [{"u": 0, "v": 1, "table": [[0]]}]}"#, 0, 1,
        "standard input:1: `edges[0].table`: expected 2 rows, as node 0 has labels, got 1";
    ragged_table: "", r#"{"cards": [2, 2], "node": [[0, 0], [0, 0]], "edges": [{"u": 0, "v": 1, "table": [[0, 1], [0]]}]}"#,
        0, 1,
        "standard input:1: `edges[0].table[1]`: expected 2 numbers, as node 1 has labels, got 1";
    impossible_after_good_ones: "", &format!("{GOOD}\n{GOOD}\n\n{{\"cards\": [1], \"node\": [[null]]}}\n{GOOD}\n"), 2, 1,
        "standard input:4: infeasible: every labelling has a potential of −∞; allow more labels or transitions";
    not_a_chain: "--with forward-backward", r#"{"cards": [1, 2], "node": [[0], [0, 0]]}"#, 0, 1,
        "standard input:1: `forward-backward` answers chains only; graphs need an inference for graphs";
    missing_file: "nowhere.jsonl", "", 0, 1,
        "nowhere.jsonl: No such file or directory (os error 2)";
    unknown_inference: "--with junction-trea", GOOD, 0, 2,
        "--with junction-trea: unknown name `junction-trea`, did you mean `junction-tree`?";
    unknown_setting: "--set dampin=0.5", GOOD, 0, 2,
        "--set dampin=0.5: unknown key `dampin`, did you mean `damping`?";
    setting_out_of_range: "--set damping=1.5", GOOD, 0, 2,
        "--set damping=1.5: `damping` must be at least 0 and below 1, got 1.5";
    table_out_of_range: "--with {type=\"belief-propagation\",damping=-1.0}", GOOD, 0, 2,
        "--with {type=\"belief-propagation\",damping=-1.0}: `damping` must be at least 0 and below 1, got -1";
}
