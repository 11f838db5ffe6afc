//! Constrained potentials against the labellings that obey the constraints.
use crf_core::{
    Constrained, ConstrainedTables, Constraints, Error, LogLinear, Model as _, OwnedPotentials, Schema,
    Scratch, Seed, oracle,
};
use crf_testing::cases;
use crf_testing::datasets::{Sharing, labelled, random_corpus, random_weights};
use proptest::prelude::*;

const CHUNKS: [&str; 5] = ["O", "B-X", "I-X", "B-Y", "I-Y"];

fn constraints(toml: &str) -> Result<Constraints, toml::de::Error> {
    #[derive(serde::Deserialize)]
    struct Config {
        constraints: Constraints,
    }
    toml::from_str(&format!("constraints = {toml}")).map(|config: Config| config.constraints)
}

fn schema(labels: &[&str]) -> Schema {
    (**labelled(labels, &[]).schema()).clone()
}

/// True if conlleval would find the labels well formed: every I continues a chunk of its type.
fn well_formed(labels: &[u32]) -> bool {
    let kind = |label: u32| CHUNKS[label as usize].split_once('-').map(|(_, kind)| kind);
    let mut before = None;
    labels.iter().all(|&label| {
        let fine = !CHUNKS[label as usize].starts_with('I') || before == kind(label);
        before = kind(label);
        fine
    })
}

proptest! {
    #![proptest_config(cases(256))]

    #[test]
    fn exactly_the_well_formed_labellings_stay_possible(seed in any::<u64>(), len in 1..5_usize, shared: bool) {
        let n = CHUNKS.len();
        let mut p = OwnedPotentials::random(len, n, 2.0, &Seed::new(seed));
        if !shared {
            let twice = [p.tables.clone(), p.tables.iter().map(|x| x + 0.5).collect()].concat();
            let of_edge = (1..len as u32).map(|e| e % 2).collect();
            p = OwnedPotentials::chain(len, n, p.node.clone(), twice, of_edge);
        }
        let free: Vec<_> = oracle::all_labellings(&p.view());
        let forbidden = constraints("\"bio\"").unwrap().resolve(&schema(&CHUNKS)).unwrap();
        let mut memory = ConstrainedTables::default();
        // The memory serves one set of potentials after another.
        for _ in 0..2 {
            let view = p.view();
            let bound = forbidden.apply(view, &mut memory).unwrap();
            for (free, bound) in free.iter().zip(oracle::all_labellings(&bound)) {
                let want = if well_formed(&free.labels) { free.score } else { f64::NEG_INFINITY };
                prop_assert_eq!(bound.score, want, "{:?}", free.labels);
            }
        }
    }

    #[test]
    fn a_constrained_model_has_the_inner_models_scores_or_none(seed in any::<u64>(), own: bool) {
        let sharing = if own { Sharing::Own } else { Sharing::Few };
        let (data, fitted) = random_corpus(seed, false, sharing);
        let x = fitted.encode(data.clone()).unwrap();
        let map = std::sync::Arc::new(fitted.map(&x).unwrap());
        let w = random_weights(seed, map.len());
        let names: Vec<String> = data.schema().labels().names().iter().map(str::to_owned).collect();
        let rules = Constraints { forbid: vec![(names[0].clone(), names[0].clone())], ..Constraints::default() };
        let forbidden = rules.resolve(data.schema()).unwrap();
        let plain = LogLinear::new(map, w).unwrap();
        let constrained = Constrained::new(Box::new(plain.clone()), forbidden);
        let (plain, constrained) = (plain.bind(&x).unwrap(), constrained.bind(&x).unwrap());
        let (mut one, mut other) = (Scratch::new(), Scratch::new());
        for i in (0..x.len()).filter(|&i| x.data().shape(i).n_nodes() <= 6) {
            let (p, q) = (plain.fill(i, &mut one).unwrap(), constrained.fill(i, &mut other).unwrap());
            for (free, bound) in oracle::all_labellings(&p).iter().zip(oracle::all_labellings(&q)) {
                let broken = free.labels.windows(2).any(|pair| pair == [0, 0]);
                prop_assert_eq!(bound.score, if broken { f64::NEG_INFINITY } else { free.score });
            }
        }
    }
}

#[test]
fn chunks_that_must_end_do() {
    let labels = ["O", "B-X", "I-X", "E-X", "S-X"];
    let mut p = OwnedPotentials::random(3, labels.len(), 1.0, &Seed::new(1));
    let forbidden = constraints("\"bioes\"").unwrap().resolve(&schema(&labels)).unwrap();
    let mut memory = ConstrainedTables::default();
    let bound = forbidden.apply(p.view(), &mut memory).unwrap();
    let possible = oracle::all_labellings(&bound).into_iter().filter(|y| y.score.is_finite());
    let words = |y: crf_core::Labelling| {
        y.labels.iter().map(|&label| labels[label as usize]).collect::<Vec<_>>().join(" ")
    };
    let mut possible: Vec<String> = possible.map(words).collect();
    possible.sort();
    let want = [
        "B-X E-X O",
        "B-X E-X S-X",
        "B-X I-X E-X",
        "O B-X E-X",
        "O O O",
        "O O S-X",
        "O S-X O",
        "O S-X S-X",
        "S-X B-X E-X",
        "S-X O O",
        "S-X O S-X",
        "S-X S-X O",
        "S-X S-X S-X",
    ];
    assert_eq!(possible, want);
}

#[test]
fn rules_of_the_users_own_hold_at_the_ends_too() {
    let data = labelled(&["a", "b"], &["a b a", "b ? b", "a a"]);
    let rules = constraints(r#"{ forbid = [["a", "a"]], never_first = ["b"], never_last = ["b"] }"#).unwrap();
    let error = rules.resolve(data.schema()).unwrap().check(&data).unwrap_err().to_string();
    assert_eq!(error, "sequence 2: no sequence may begin with `b`, say the constraints");
    let rules = constraints(r#"{ forbid = [["a", "a"]] }"#).unwrap();
    let error = rules.resolve(data.schema()).unwrap().check(&data).unwrap_err().to_string();
    assert_eq!(error, "sequence 3: position 2: `a` may not follow `a`, say the constraints");
}

#[test]
fn wrong_rules_are_refused_with_what_would_do() {
    let resolve = |toml: &str| constraints(toml).unwrap().resolve(&schema(&["NP", "VP"]));
    let error = resolve("\"bio\"").unwrap_err();
    assert!(matches!(&error, Error::Setting { key, .. } if key == "constraints"), "{error}");
    assert!(error.to_string().ends_with("got the label `NP`"), "{error}");
    let error = resolve(r#"{ never_first = ["N"] }"#).unwrap_err().to_string();
    assert!(error.contains("unknown label `N`, did you mean `NP`?"), "{error}");
    let error = constraints("\"bi\"").unwrap_err().to_string();
    assert!(error.contains("unknown variant `bi`, expected `bio` or `bioes`"), "{error}");
}
