//! Graphs: edge lists in files, edges that are added to chains, and the shapes of generated graphs.
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::common::{batches, edges, named, read, write};
use crf_core::{Alphabet, Channel, ChannelKind, Dataset, DatasetBuilder, Features, Seed, Source, Value};
use crf_datasets::{Conll, CoupledChains, Crfsuite, ExtraEdges, Jsonl, PottsGrid, SameSymbol, Size};
use crf_testing::cases;
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;

/// Length of a sequence, and its edges with an optional relation; `None` for a chain.
type Sequence = (usize, Option<Vec<(usize, usize, Option<String>)>>);

fn sequence() -> impl Strategy<Value = Sequence> {
    (2..6_usize).prop_flat_map(|n| {
        let ends = (0..n, 1..n).prop_map(move |(u, by)| (u, (u + by) % n));
        let edge = (ends, option::of("[a\"\\\\ é]{1,3}")).prop_map(|((u, v), name)| (u, v, name));
        (Just(n), option::of(vec(edge, 0..6)))
    })
}

fn text(sequences: &[Sequence]) -> String {
    let line = |(n, edges): &Sequence| {
        let x = vec!["[\"a\"]"; *n].join(",");
        let y = vec!["\"b\""; *n].join(",");
        let edge = |(u, v, name): &(usize, usize, Option<String>)| match name {
            Some(name) => format!("[{u},{v},{}]", serde_json::to_string(name).unwrap()),
            None => format!("[{u},{v}]"),
        };
        let edges = edges.as_ref().map(|edges| edges.iter().map(edge).collect::<Vec<_>>().join(","));
        let edges = edges.map_or(String::new(), |edges| format!(",\"edges\":[{edges}]"));
        format!("{{\"x\":[{x}],\"y\":[{y}]{edges}}}\n")
    };
    sequences.iter().map(line).collect()
}

proptest! {
    #![proptest_config(cases(256))]

    #[test]
    fn jsonl_gives_back_the_edges_it_read(all in vec(sequence(), 1..5)) {
        let data = read(&Jsonl {}, text(&all)).map_err(TestCaseError::fail)?;
        prop_assert_eq!(data.is_chains(), all.iter().all(|(_, edges)| edges.is_none()));
        for (i, (n, want)) in all.iter().enumerate() {
            let chain = || (1..*n).map(|v| (v - 1, v, None)).collect();
            let want = want.clone().unwrap_or_else(chain).into_iter();
            let want: Vec<_> = want.map(|(u, v, name)| (u, v, name.unwrap_or("next".to_owned()))).collect();
            let got: Vec<_> = edges(&data, i).into_iter().map(|(u, v, name)| (u, v, name.to_owned())).collect();
            prop_assert_eq!(got, want);
        }
        let written = write(&Jsonl {}, &data).map_err(TestCaseError::fail)?;
        let again = read(&Jsonl {}, &written).map_err(TestCaseError::fail)?;
        prop_assert_eq!(&again, &data);
        let parts = batches(&Jsonl {}, written.as_bytes(), Some(data.schema()), 1).map_err(TestCaseError::fail)?;
        for (i, part) in parts.iter().enumerate() {
            prop_assert_eq!(part, &data.subset(&[i]));
        }
        prop_assert_eq!(parts.len(), data.len());
    }

    #[test]
    fn added_edges_are_those_of_the_definition(
        words in vec("[ABab]", 0..12),
        distances in vec(2..5_usize, 0..3),
        later in 1..4_usize,
        capitalised in any::<bool>(),
    ) {
        let distances: Vec<usize> = distances.into_iter().collect::<BTreeSet<_>>().into_iter().collect();
        let same = SameSymbol { capitalised, later, ..skip("word") };
        let extra = ExtraEdges { distances: distances.clone(), same: vec![same] };
        let data = linked(&extra, &sentences(&[&words]));
        let mut want = BTreeMap::new();
        for v in 0..words.len() {
            for u in 0..v {
                let equal = (u..v).filter(|&t| words[t] == words[v]).count();
                let capital = words[u].chars().all(char::is_uppercase) || !capitalised;
                let relation = match v - u {
                    1 => "next".to_owned(),
                    distance if distances.contains(&distance) => format!("distance-{distance}"),
                    _ if words[u] == words[v] && equal <= later && capital => "skip".to_owned(),
                    _ => continue,
                };
                want.insert((u, v), relation);
            }
        }
        let got = edges(&data, 0);
        prop_assert_eq!(got.len(), want.len(), "no pair is joined twice: {:?}", got);
        for (u, v, relation) in got {
            prop_assert_eq!(want.get(&(u, v)).map(String::as_str), Some(relation), "{} {}", u, v);
        }
    }
}

fn skip(channel: &str) -> SameSymbol {
    SameSymbol { channel: channel.into(), relation: "skip".into(), capitalised: false, later: 1, most: 1000 }
}

/// Chains of words without labels but one, so that there is one.
fn sentences(all: &[&[String]]) -> Dataset {
    let channel = |name: &str, kind| Channel { name: name.into(), kind };
    let channels = vec![
        channel("word", ChannelKind::Symbol(Alphabet::default())),
        channel("size", ChannelKind::Real),
        channel("bag", ChannelKind::Bag(Alphabet::default())),
    ];
    let mut data = DatasetBuilder::growing(channels).unwrap();
    let label = data.label("yes");
    for words in all {
        for (t, word) in words.iter().enumerate() {
            let (word, attribute) = (data.symbol(0, word), data.symbol(2, word));
            let values = [Value::Symbol(word), Value::Real(t as f64), Value::Bag(&[(attribute, 2.0)])];
            data.push(&values, (t > 0).then_some(label)).unwrap();
        }
        data.end_chain().unwrap();
        data.weigh_last(2.5).unwrap();
    }
    data.finish()
}

fn linked(extra: &ExtraEdges, data: &Dataset) -> Dataset {
    extra.check().unwrap();
    let schema = Arc::new(extra.schema(data.schema()).unwrap());
    extra.add(data, &schema).unwrap()
}

#[test]
fn added_edges_change_nothing_else() {
    let words = ["A", "b", "A"].map(String::from);
    let chains = sentences(&[&words, &[], &words[..1]]);
    let graphs = linked(&ExtraEdges { distances: vec![], same: vec![skip("word")] }, &chains);
    assert_eq!(named(&graphs), named(&chains));
    assert_eq!(edges(&graphs, 0), [(0, 1, "next"), (1, 2, "next"), (0, 2, "skip")]);
    assert!(edges(&graphs, 1).is_empty() && edges(&graphs, 2).is_empty());
    let more = linked(&ExtraEdges { distances: vec![2], same: vec![] }, &graphs);
    assert_eq!(edges(&more, 0), edges(&graphs, 0), "already joined");
    assert_eq!(more.schema().relations().len(), 3);
}

#[test]
fn words_that_training_never_saw_are_joined_and_keep_their_names() {
    let train = read(&Conll::default(), "a X\nb Y\n").unwrap();
    let schema = train.schema();
    let text = b"New Z\na X\nNew Y\nb X\nOld X\n";
    let test = batches(&Conll::default(), text, Some(schema), 1).unwrap().remove(0);
    let same = vec![SameSymbol { capitalised: true, ..skip("column1") }];
    let extra = ExtraEdges { distances: vec![], same };
    let graph = extra.add(&test, &Arc::new(extra.schema(schema).unwrap())).unwrap();
    assert_eq!(edges(&graph, 0).last(), Some(&(0, 2, "skip")));
    let with_its_schema = batches(&Conll::default(), text, Some(graph.schema()), 1).unwrap().remove(0);
    assert!(with_its_schema.is_chains());
    assert_eq!(extra.add(&with_its_schema, graph.schema()).unwrap(), graph);
    let x = graph.sequence(0);
    let words: Vec<_> = x.symbol(0).iter().map(|&word| x.symbol_name(0, word).unwrap()).collect();
    assert_eq!(words, ["New", "a", "New", "b", "Old"]);
    assert_eq!(graph.n_foreign(), 1);
    assert_eq!(graph.label_name(0, graph.labels()[0].unwrap()), "Z");
}

#[test]
fn features_address_relations_by_name() {
    let words = ["A", "b", "A"].map(String::from);
    let graphs = linked(&ExtraEdges { distances: vec![3], same: vec![skip("word")] }, &sentences(&[&words]));
    let features = |text: &str| serde_json::from_str::<Features>(text).unwrap().fit(&graphs);
    let fitted = features(r#"["transition", {"transition": "one", "relation": "skip"}]"#).unwrap();
    let corpus = fitted.encode(Arc::new(graphs.clone())).unwrap();
    assert_eq!(corpus.n_edges(), 3);
    assert_eq!(fitted.map(&corpus).unwrap().len(), 4, "one for each of three relations, and one");
    let error = features(r#"[{"transition": "one", "relation": "skp"}]"#).unwrap_err().to_string();
    assert_eq!(error, "unknown relation `skp`, did you mean `skip`?");
}

#[test]
fn features_address_kinds_by_name() {
    let size = Size { sequences: 2, length: 3 };
    let data = CoupledChains { train: size, ..Default::default() }.load(&Seed::new(1)).unwrap().train;
    let features =
        r#"[{"state": "value", "kind": "context"}, {"transition": "one", "relation": "state-context"}]"#;
    let fitted = serde_json::from_str::<Features>(features).unwrap().fit(&data).unwrap();
    let corpus = fitted.encode(Arc::new(data)).unwrap();
    assert_eq!(fitted.map(&corpus).unwrap().len(), 9 * 3 + 6 * 3);
    let of_node = |n: usize| corpus.nodes().for_each(n, |_, _| panic!("node {n} is a state"));
    (0..3).for_each(of_node);
}

#[test]
fn edges_that_cannot_be_added_are_refused() {
    let check = |extra: ExtraEdges, message: &str| {
        assert_eq!(extra.check().unwrap_err().to_string(), message);
    };
    check(ExtraEdges::default(), "`edges` must be at least one of `distances` and `same`, got neither");
    let distances = |distances| ExtraEdges { distances, same: vec![] };
    check(distances(vec![1]), "`distances` must be at least 2, since `next` is 1, got 1");
    let want = "`relation` must be a name that no other relation has, got";
    check(distances(vec![2, 2]), &format!("{want} `distance-2`"));
    let same = |rule| ExtraEdges { distances: vec![], same: vec![rule] };
    check(same(SameSymbol { later: 0, ..skip("word") }), "`later` must be at least 1, got 0");
    check(
        same(SameSymbol { relation: "".into(), ..skip("word") }),
        "`relation` must be a name, got an empty one",
    );

    let words = vec!["a".to_owned(); 50];
    let data = sentences(&[&words[..2], &words]);
    let add = |rule| {
        let extra = same(rule);
        let schema = extra.schema(data.schema()).map_err(|error| error.to_string())?;
        extra.add(&data, &Arc::new(schema)).map_err(|error| error.to_string())
    };
    let refused = |rule, message: &str| assert_eq!(add(rule).unwrap_err(), message);
    refused(SameSymbol { relation: "next".into(), ..skip("word") }, &format!("{want} `next`"));
    refused(skip("size"), "`channel` must be a channel of symbols, got `size`");
    refused(skip("wrd"), "unknown channel `wrd`, did you mean `word`?");
    let all = SameSymbol { later: usize::MAX, most: 49 * 24, ..skip("word") };
    assert_eq!(edges(&add(all.clone()).unwrap(), 1).len(), 50 * 49 / 2);
    refused(
        SameSymbol { most: 49 * 24 - 1, later: 100, ..all },
        "sequence 2: `most` must be at least the number of `skip` edges that a sequence gets, got 1175; or set \
         `later` below 100",
    );
    let states = CoupledChains::default().load(&Seed::new(1)).unwrap().train;
    let error = distances(vec![2]).schema(states.schema()).unwrap_err().to_string();
    assert_eq!(error, "edges are added to nodes of one kind only, but some are `context`");
}

#[test]
fn bad_edges_name_line_and_column() {
    let refused = |edges: &str, message: &str| {
        let text = format!("{{\"x\":[[]]}}\n{{\"x\":[[],[]],\"edges\":{edges}}}");
        assert_eq!(read(&Jsonl {}, text), Err(format!("f:2:{message}")));
    };
    refused("[[0,1],[0,2]]", "33: expected an edge between positions from 0 to 1, got one from 0 to 2");
    refused("[[1,1]]", "27: expected an edge between two positions, got one from 1 to 1");
    refused("[[0,-1]]", "27: expected a position, counted from 0, got integer `-1`");
    refused("[[0,0.5]]", "28: expected a position, counted from 0, got floating point `0.5`");
    refused("[[0,4294967296]]", "35: expected a position, counted from 0, got integer `4294967296`");
    let edge = "an edge as two positions and a relation if it is not `next`";
    refused("[[0]]", &format!("25: expected {edge}, got fewer than two elements"));
    refused("[[0,1,\"a\",1]]", &format!("33: expected {edge}, got more than three elements"));
    refused("[1]", &format!("23: expected {edge}, got integer `1`"));
    refused("1", "22: expected a list of edges, got integer `1`");
    refused("[[0,1,2]]", "28: expected a string, got integer `2`");
    refused("[[0,1,\"\"]]", "30: expected the name of a relation, got ``");
    refused("[],\"edges\":[]", "31: expected one `edges`, got a second one");
    let early = "{\"edges\":[[0,1]],\"x\":[[]]}";
    let want = "f:1:1: expected an edge between positions from 0 to 0, got one from 0 to 1";
    assert_eq!(read(&Jsonl {}, early), Err(want.to_owned()));
    let empty = "{\"edges\":[[0,1]],\"x\":[]}";
    let want = "f:1:1: expected no edge, since there is no position, got one from 0 to 1";
    assert_eq!(read(&Jsonl {}, empty), Err(want.to_owned()));
}

#[test]
fn graphs_without_any_label_need_a_schema() {
    let want = "f: graphs without a single label can be read with the schema of a model only";
    assert_eq!(read(&Jsonl {}, "{\"x\":[[]],\"edges\":[]}"), Err(want.to_owned()));
    let schema = read(&Jsonl {}, "{\"x\":[[]],\"y\":[\"a\"]}").unwrap().schema().clone();
    let graph = batches(&Jsonl {}, b"{\"x\":[[]],\"edges\":[]}", Some(&schema), 1).unwrap();
    assert!(!graph[0].is_chains());
}

#[test]
fn relations_that_the_schema_does_not_have_are_refused() {
    let line = |edges: &str| format!("{{\"x\":[[],[]],\"y\":[\"a\",\"a\"]{edges}}}");
    let schema = read(&Jsonl {}, line(",\"edges\":[[0,1,\"skip\"]]")).unwrap().schema().clone();
    let with = |edges: &str| batches(&Jsonl {}, line(edges).as_bytes(), Some(&schema), 1);
    let want = "f:1:47: expected one of the relations `next`, `skip`, got `skp`";
    assert_eq!(with(",\"edges\":[[0,1,\"skp\"]]"), Err(want.to_owned()));
    assert!(with("").unwrap()[0].is_chains());
    assert_eq!(edges(&with(",\"edges\":null").unwrap()[0], 0), [(0, 1, "next")]);
    assert!(edges(&with(",\"edges\":[]").unwrap()[0], 0).is_empty());
}

#[test]
fn formats_of_chains_cannot_hold_graphs_and_none_can_hold_several_kinds() {
    let graph = read(&Jsonl {}, "{\"x\":[[\"a\"],[]],\"y\":[\"a\",\"a\"],\"edges\":[]}").unwrap();
    assert_eq!(
        write(&Crfsuite::default(), &graph).unwrap_err(),
        "`crfsuite` cannot hold graphs; `jsonl` can"
    );
    let states = CoupledChains::default().load(&Seed::new(1)).unwrap().train;
    let error = write(&Jsonl {}, &states).unwrap_err();
    assert_eq!(error, "`jsonl` cannot hold 2 kinds of node; no format can");
}

#[test]
fn chains_are_refused_where_the_model_has_no_next() {
    let grid = PottsGrid { rows: 1, columns: 2, train: 1, test: 1, ..Default::default() };
    let of = grid.load(&Seed::new(1)).unwrap().train;
    let channels = vec![Channel { name: "attributes".into(), kind: ChannelKind::Bag(Alphabet::default()) }];
    let (kinds, relations) = (of.schema().kinds().to_vec(), of.schema().relations().to_vec());
    let schema = Arc::new(crf_core::Schema::graph(channels, kinds, relations).unwrap());
    let chain = batches(&Jsonl {}, b"{\"x\":[[],[]]}", Some(&schema), 1);
    assert_eq!(chain, Err("f: expected sequences with edges of `right`, `down`, got a chain".to_owned()));
    let graph = batches(&Jsonl {}, b"{\"x\":[[],[]],\"edges\":[[0,1,\"down\"]]}", Some(&schema), 1).unwrap();
    assert_eq!(edges(&graph[0], 0), [(0, 1, "down")]);
}

#[test]
fn grids_join_right_and_lower_neighbours() {
    let grid = PottsGrid { rows: 2, columns: 3, train: 1, test: 1, ..Default::default() };
    let data = grid.load(&Seed::new(1)).unwrap().train;
    let want = [
        (0, 1, "right"),
        (0, 3, "down"),
        (1, 2, "right"),
        (1, 4, "down"),
        (2, 5, "down"),
        (3, 4, "right"),
        (4, 5, "right"),
    ];
    assert_eq!(edges(&data, 0), want);
}

#[test]
fn coupled_chains_join_states_contexts_and_both() {
    let size = Size { sequences: 1, length: 2 };
    let data = CoupledChains { train: size, ..Default::default() }.load(&Seed::new(1)).unwrap().train;
    let want =
        [(0, 1, "next-state"), (2, 3, "next-context"), (0, 2, "state-context"), (1, 3, "state-context")];
    assert_eq!(edges(&data, 0), want);
    let shape = data.shape(0);
    assert_eq!(
        (0..4).map(|n| (shape.kind(n), shape.card(n))).collect::<Vec<_>>(),
        [(0, 6), (0, 6), (1, 3), (1, 3)]
    );
}

#[test]
#[ignore = "needs CRF_DATA"]
fn wnut_17_has_its_known_size_and_skip_edges_between_equal_capitalised_words() {
    let config = "type = \"linked\"\n\
                  edges = { same = [{ channel = \"word\", capitalised = true, later = 1000 }] }\n\
                  [source]\ntype = \"file\"\ntrain = \"wnut17/train.tsv.gz\"\nholdout = \"wnut17/dev.tsv.gz\"\n\
                  test = \"wnut17/test.tsv.gz\"\n\
                  format = { type = \"conll\", columns = [\"word\"], separator = \"tab\" }";
    let source: Box<dyn Source> = toml::from_str(config).unwrap();
    source.check().unwrap();
    let splits = source.load(&Seed::new(1)).unwrap();
    let size = |data: &Dataset| (data.len(), data.n_positions(), data.n_foreign());
    let holdout = splits.holdout.unwrap();
    assert_eq!(size(&splits.train), (3_394, 62_730, 0));
    assert_eq!((size(&holdout), size(&splits.test)), ((1_009, 15_733, 0), (1_287, 23_394, 0)));
    assert_eq!(splits.train.schema().n_labels(0), 13);
    for data in [&splits.train, &holdout, &splits.test] {
        let mut skips = 0;
        for i in 0..data.len() {
            let (x, all) = (data.sequence(i), edges(data, i));
            let word = |t: usize| x.symbol_name(0, x.symbol(0)[t]).unwrap();
            let joined: Vec<_> =
                all.iter().filter(|edge| edge.2 == "skip").map(|&(u, v, _)| (u, v)).collect();
            let capital = |t: usize| word(t).chars().next().is_some_and(char::is_uppercase);
            let pairs = (0..x.len()).flat_map(|v| (0..v).map(move |u| (u, v)));
            let want: Vec<_> =
                pairs.filter(|&(u, v)| u + 1 < v && word(u) == word(v) && capital(u)).collect();
            assert_eq!(joined, want);
            assert_eq!(all.len(), x.len() - 1 + joined.len());
            skips += joined.len();
        }
        println!("{skips} skip edges among {} words", data.n_positions());
        assert!(skips > 0);
    }
}
