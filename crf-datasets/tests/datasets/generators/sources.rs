//! Promises of every source: reproducible splits of the requested sizes, and errors that say what
//! would do.
use crf_core::{Dataset, Error, Plugin, Seed, Source, Splits};
use crf_datasets::{
    CoupledChains, HiddenTransformation, LogLinearChain, NoisyIndicators, ObservationDrivenTransitions,
    PimaMarkov, Pool, PottsGrid, RedundantObservations, Sensing, Size, Soccer, StateOrTransition, Tag,
    Transformation, WeakObservations, WeaklyRelevant,
};

const SMALL: Size = Size { sequences: 3, length: 40 };

/// Sources of binary labels with the given sizes, none of which needs a file.
fn binary(train: Size, holdout: Option<Size>, test: Size) -> Vec<Box<dyn Source>> {
    vec![
        Box::new(RedundantObservations { copies: 2, train, holdout, test, ..Default::default() }),
        Box::new(ObservationDrivenTransitions { train, holdout, test, ..Default::default() }),
        Box::new(PimaMarkov { pool: Pool::Gaussian, train, holdout, test, ..Default::default() }),
        Box::new(NoisyIndicators { labels: 2, train, holdout, test, ..Default::default() }),
        Box::new(WeakObservations { distance: 2, train, holdout, test, ..Default::default() }),
        Box::new(WeaklyRelevant { train, holdout, test, ..Default::default() }),
        Box::new(StateOrTransition { train, holdout, test, ..Default::default() }),
        Box::new(HiddenTransformation { train, holdout, test, ..Default::default() }),
    ]
}

/// Every source that draws position after position.
fn sources(train: Size, holdout: Option<Size>, test: Size) -> Vec<Box<dyn Source>> {
    let mut sources = binary(train, holdout, test);
    let sensing = Some(Sensing::default());
    sources.push(Box::new(Tag { train, holdout, test, ..Default::default() }));
    sources.push(Box::new(Tag { sensing, train, holdout, test, ..Default::default() }));
    sources.push(Box::new(Soccer { train, holdout, test, ..Default::default() }));
    sources
}

fn load(source: &dyn Source, seed: u64) -> Splits {
    source.check().unwrap();
    source.load(&Seed::new(seed)).unwrap()
}

fn size(data: &Dataset) -> Vec<usize> {
    (0..data.len()).map(|i| data.range(i).len()).collect()
}

/// Every source of chains, also `log-linear-chain`, whose labels depend on all observations of
/// their sequence.
fn all_sources(train: Size, holdout: Option<Size>, test: Size) -> Vec<Box<dyn Source>> {
    let mut all = sources(train, holdout, test);
    all.push(Box::new(LogLinearChain { labels: 2, train, holdout, test, ..Default::default() }));
    all
}

#[test]
fn parts_have_the_asked_sizes_and_one_schema() {
    for source in all_sources(SMALL, Some(Size { sequences: 1, length: 7 }), Size { sequences: 2, length: 5 })
    {
        let splits = load(&*source, 1);
        let holdout = splits.holdout.unwrap();
        assert_eq!(size(&splits.train), [40, 40, 40]);
        assert_eq!(size(&holdout), [7]);
        assert_eq!(size(&splits.test), [5, 5]);
        assert_eq!(splits.train.schema(), splits.test.schema());
        assert_eq!(splits.train.schema(), holdout.schema());
        assert!(splits.train.labels().iter().all(Option::is_some));
    }
}

#[test]
fn binary_labels_are_0_and_1() {
    for source in binary(SMALL, None, SMALL) {
        assert!(load(&*source, 1).train.schema().labels().names().iter().eq(["0", "1"]));
    }
}

#[test]
fn a_holdout_is_there_only_when_asked_for() {
    for source in all_sources(SMALL, None, SMALL) {
        assert!(load(&*source, 1).holdout.is_none());
    }
}

#[test]
fn the_same_seed_gives_the_same_data_and_another_seed_other_data() {
    for source in all_sources(SMALL, Some(SMALL), SMALL) {
        let (a, b, c) = (load(&*source, 1), load(&*source, 1), load(&*source, 2));
        assert_eq!((&a.train, &a.holdout, &a.test), (&b.train, &b.holdout, &b.test));
        assert_ne!(a.train, c.train);
        assert_ne!(a.test, c.test);
        assert_ne!(a.train, a.test);
        assert_ne!(Some(&a.train), a.holdout.as_ref());
        assert_ne!(a.train.subset(&[0]), a.train.subset(&[1]));
    }
}

#[test]
fn graphs_depend_on_the_seed_alone_whatever_thread_draws_them() {
    let grid = PottsGrid { rows: 3, columns: 4, train: 2, test: 2, ..Default::default() };
    let more = PottsGrid { train: 5, holdout: Some(1), test: 3, ..grid.clone() };
    let chains = CoupledChains { train: SMALL, test: SMALL, ..Default::default() };
    let longer =
        CoupledChains { train: Size { sequences: 5, ..SMALL }, holdout: Some(SMALL), ..chains.clone() };
    let pairs: [(Box<dyn Source>, Box<dyn Source>); 2] =
        [(Box::new(grid), Box::new(more)), (Box::new(chains), Box::new(longer))];
    for (few, many) in &pairs {
        let here = load(&**few, 1);
        let there = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..4).map(|_| scope.spawn(|| load(&**few, 1).train)).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect::<Vec<Dataset>>()
        });
        assert!(there.iter().all(|train| *train == here.train));
        assert_ne!(here.train, load(&**few, 2).train);
        assert_ne!(here.train.subset(&[0]), here.test.subset(&[0]));
        let (n, many) = (here.train.len(), load(&**many, 1));
        assert_eq!(here.train, many.train.subset(&(0..n).collect::<Vec<_>>()));
        assert!(!here.train.is_chains() && here.holdout.is_none() && many.holdout.is_some());
        assert_eq!(here.train.schema(), here.test.schema());
    }
}

#[test]
fn a_sequence_depends_neither_on_the_number_of_sequences_nor_on_other_parts() {
    let more = Size { sequences: 5, length: 40 };
    for (few, many) in all_sources(SMALL, None, SMALL).iter().zip(all_sources(more, Some(SMALL), more)) {
        let (few, many) = (load(&**few, 1), load(&*many, 1));
        assert_eq!(few.train, many.train.subset(&[0, 1, 2]));
        assert_eq!(few.test, many.test.subset(&[0, 1, 2]));
    }
}

#[test]
fn a_longer_sequence_begins_like_a_shorter_one() {
    let longer = Size { sequences: 3, length: 60 };
    for (short, long) in sources(SMALL, None, SMALL).iter().zip(sources(longer, None, SMALL)) {
        let (short, long) = (load(&**short, 1).train, load(&*long, 1).train);
        for i in 0..3 {
            assert_eq!(short.sequence(i).labels(), &long.sequence(i).labels()[..40]);
        }
    }
}

fn refused(source: &dyn Source, message: &str) {
    assert_eq!(source.check().unwrap_err().to_string(), message);
}

#[test]
fn sizes_of_zero_are_refused() {
    let (no_sequence, no_length) = (Size { sequences: 0, length: 1 }, Size { sequences: 1, length: 0 });
    for source in all_sources(no_sequence, None, SMALL) {
        refused(&*source, "`train.sequences` must be at least 1, got 0");
    }
    for source in all_sources(SMALL, Some(no_length), SMALL) {
        refused(&*source, "`holdout.length` must be at least 1, got 0");
    }
    for source in all_sources(SMALL, None, no_length) {
        refused(&*source, "`test.length` must be at least 1, got 0");
    }
}

#[test]
fn settings_out_of_range_are_refused_before_and_while_drawing() {
    refused(&RedundantObservations { copies: 0, ..Default::default() }, "`copies` must be at least 1, got 0");
    let chain = LogLinearChain::default;
    refused(&LogLinearChain { labels: 1, ..chain() }, "`labels` must be at least 2, got 1");
    refused(&LogLinearChain { channels: 0, ..chain() }, "`channels` must be at least 1, got 0");
    let want = "`scale` must be a number between 0 and 100, got NaN";
    refused(&LogLinearChain { scale: f64::NAN, ..chain() }, want);
    refused(&NoisyIndicators { labels: 1, ..Default::default() }, "`labels` must be at least 2, got 1");
    let want = "`noise` must be a finite number of at least 0, got -1";
    refused(&NoisyIndicators { noise: -1.0, ..Default::default() }, want);
    let bad: [(Box<dyn Source>, &str); 11] = [
        (Box::new(RedundantObservations { stay: 1.5, ..Default::default() }), "`stay`, 1.5"),
        (
            Box::new(RedundantObservations { noise_redundant: -0.1, ..Default::default() }),
            "`noise_redundant`, -0.1",
        ),
        (
            Box::new(RedundantObservations { noise_independent: f64::NAN, ..Default::default() }),
            "`noise_independent`, NaN",
        ),
        (Box::new(ObservationDrivenTransitions { p: 2.0, ..Default::default() }), "`p`, 2"),
        (Box::new(ObservationDrivenTransitions { noise: 2.0, ..Default::default() }), "`noise`, 2"),
        (Box::new(PimaMarkov { pool: Pool::Gaussian, stay: -1.0, ..Default::default() }), "`stay`, -1"),
        (Box::new(NoisyIndicators { stay: 2.0, ..Default::default() }), "`stay`, 2"),
        (Box::new(WeakObservations { stay: 2.0, ..Default::default() }), "`stay`, 2"),
        (Box::new(WeaklyRelevant { stay: 2.0, ..Default::default() }), "`stay`, 2"),
        (Box::new(StateOrTransition { stay: 2.0, ..Default::default() }), "`stay`, 2"),
        (Box::new(HiddenTransformation { stay: 2.0, ..Default::default() }), "`stay`, 2"),
    ];
    for (source, about) in bad {
        let (key, got) = about.split_once(", ").unwrap();
        refused(&*source, &format!("{key} must be a probability between 0 and 1, got {got}"));
        assert!(matches!(source.load(&Seed::new(1)), Err(Error::Setting { .. })), "{about}");
    }
}

#[test]
fn settings_of_selection_data_out_of_range_are_refused() {
    let weak = WeakObservations::default;
    refused(&WeakObservations { distance: 0, ..weak() }, "`distance` must be at least 1, got 0");
    refused(&WeakObservations { observations: 0, ..weak() }, "`observations` must be at least 1, got 0");
    let want = "`lowest` must be a probability between 0 and 1, got -1";
    refused(&WeakObservations { lowest: -1.0, ..weak() }, want);
    for (highest, got) in [(0.4, "0.4"), (1.1, "1.1"), (f64::NAN, "NaN")] {
        let want = format!("`highest` must be a probability of at least `lowest`, got {got}");
        refused(&WeakObservations { highest, ..weak() }, &want);
    }
    let groups = WeaklyRelevant::default;
    refused(&WeaklyRelevant { groups: 0, ..groups() }, "`groups` must be at least 1, got 0");
    refused(&WeaklyRelevant { step: 1.5, ..groups() }, "`step` must be between 0 and 1, got 1.5");
    let want = "`noise` must be a finite number of at least 0, got -1";
    refused(&WeaklyRelevant { noise: -1.0, ..groups() }, want);
    let pairs = StateOrTransition::default;
    refused(&StateOrTransition { pairs: 0, ..pairs() }, "`pairs` must be at least 1, got 0");
    refused(&StateOrTransition { noise: -1.0, ..pairs() }, want);
    let hidden = HiddenTransformation::default;
    refused(&HiddenTransformation { channels: 0, ..hidden() }, "`channels` must be at least 1, got 0");
    let want = "`strength` must be above 0 and at most 20, got 0";
    refused(&HiddenTransformation { strength: 0.0, ..hidden() }, want);
    let truth = Transformation::Threshold(1.0);
    let want = "`threshold` must be above -1 and below 1, got 1";
    refused(&HiddenTransformation { truth, ..hidden() }, want);
    let truth = Transformation::Power(0);
    refused(&HiddenTransformation { truth, ..hidden() }, "`power` must be from 1 to 64, got 0");
}

#[test]
fn settings_of_graphs_out_of_range_are_refused() {
    let chains = CoupledChains::default();
    refused(&CoupledChains { contexts: 1, ..chains.clone() }, "`contexts` must be at least 2, got 1");
    let want = "`states` must be at least as many as `contexts`, got 2";
    refused(&CoupledChains { states: 2, ..chains.clone() }, want);
    let want = "must be a probability between 0 and 1, got 2";
    refused(&CoupledChains { stay_state: 2.0, ..chains.clone() }, &format!("`stay_state` {want}"));
    refused(&CoupledChains { stay_context: 2.0, ..chains.clone() }, &format!("`stay_context` {want}"));
    refused(&CoupledChains { agreement: 2.0, ..chains.clone() }, &format!("`agreement` {want}"));
    let want = "`noise` must be a finite number of at least 0, got";
    refused(&CoupledChains { noise: -1.0, ..chains }, &format!("{want} -1"));
    let grid = PottsGrid::default();
    refused(&PottsGrid { noise: f64::INFINITY, ..grid.clone() }, &format!("{want} inf"));
    refused(&PottsGrid { noise: f64::NAN, ..grid.clone() }, &format!("{want} NaN"));
    refused(&PottsGrid { rows: 0, ..grid.clone() }, "`rows` must be between 1 and 10,000, got 0");
    refused(
        &PottsGrid { columns: 10_001, ..grid.clone() },
        "`columns` must be between 1 and 10,000, got 10001",
    );
    refused(&PottsGrid { labels: 1, ..grid.clone() }, "`labels` must be at least 2, got 1");
    refused(&PottsGrid { sweeps: 0, ..grid.clone() }, "`sweeps` must be at least 1, got 0");
    refused(&PottsGrid { holdout: Some(0), ..grid.clone() }, "`holdout` must be at least 1, got 0");
    let want = "`coupling` must be a number between -100 and 100, got NaN";
    refused(&PottsGrid { coupling: f64::NAN, ..grid }, want);
}

#[test]
fn the_bounds_of_all_ranges_are_allowed() {
    for p in [0.0, 1.0] {
        load(
            &RedundantObservations {
                stay: p,
                noise_redundant: p,
                noise_independent: p,
                ..Default::default()
            },
            1,
        );
        load(&ObservationDrivenTransitions { p, noise: p, ..Default::default() }, 1);
    }
}

#[test]
fn sources_are_read_by_tag_with_defaults_and_written_in_full() {
    let read = |text: &str| toml::from_str::<Box<dyn Source>>(text);
    let short = read("type = \"pima-markov\"\npool = \"gaussian\"\ntrain = { length = 10 }").unwrap();
    let full = toml::to_string(&short).unwrap();
    let want = "type = \"pima-markov\"\npool = \"gaussian\"\nfile = \"pima/pima.csv\"\nstay = 0.75\n\n\
                [train]\nsequences = 1\nlength = 10\n\n[test]\nsequences = 1\nlength = 500\n";
    assert_eq!(full, want);
    assert_eq!(toml::to_string(&read(&full).unwrap()).unwrap(), full);
    let error = read("type = \"redundant-observations\"\ncopeis = 3").unwrap_err().to_string();
    assert!(error.contains("unknown field `copeis`"), "{error}");
    let error = read("type = \"pima-markov\"\ntest = { len = 3 }").unwrap_err().to_string();
    assert!(error.contains("unknown field `len`"), "{error}");
}

/// Sources that reproduce the data of a paper.
const PAPERS: &[&str] = &[
    "activity-older",
    "coupled-chains",
    "gesture-phase",
    "gestures",
    "hidden-transformation",
    "hyphen",
    "ising-grid",
    "log-linear-chain",
    "nettalk",
    "noisy-indicators",
    "observation-driven-transitions",
    "ocr",
    "pima-markov",
    "potts-grid",
    "redundant-observations",
    "separable",
    "soccer",
    "state-or-transition",
    "tag",
    "weak-observations",
    "weakly-relevant",
];

#[test]
fn every_source_is_listed_with_a_one_line_summary() {
    let listed: Vec<&Plugin> = Plugin::all().into_iter().filter(|plugin| plugin.kind == "source").collect();
    let tags: Vec<&str> = listed.iter().map(|plugin| plugin.tag).collect();
    let others = ["domains", "file", "held-out", "linked", "weather"];
    let mut all = [PAPERS, &others].concat();
    all.sort_unstable();
    assert_eq!(tags, all);
    for plugin in listed {
        let summary = plugin.summary();
        let cites = summary.contains("19") || summary.contains("20");
        assert!((others.contains(&plugin.tag) || cites) && summary.len() < 110, "{summary}");
    }
}

#[test]
fn pima_without_its_file_says_how_to_go_on() {
    let source = PimaMarkov { file: "/nowhere/pima.csv".into(), ..Default::default() };
    source.check().unwrap();
    let error = source.load(&Seed::new(1)).unwrap_err().to_string();
    assert!(error.starts_with("cannot read `/nowhere/pima.csv`: "), "{error}");
    assert!(error.ends_with("or use pool = \"gaussian\""), "{error}");
}
