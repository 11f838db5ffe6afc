use crf_core::plugin::{Named, named};
use crf_core::{Error, Result, Seed, Source, Splits, require};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::rebuild::{concatenated, single_positions};

/// Another source, with some of its training sequences held out at random.
///
/// With `as = "test"` the held-out sequences are the test data, and the source's own test data are
/// not used. An experiment over many such draws can then choose a setting without having seen the
/// test data. With `as = "holdout"` they are the validation data of learners and selectors. With
/// `of = "all"` the test sequences are drawn from all data of the source and the others are the
/// training data: a random split of the whole.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HeldOut {
    /// Source of the data.
    #[serde(deserialize_with = "named")]
    #[schemars(with = "Named")]
    pub source: Box<dyn Source>,
    /// Fraction of the sequences to hold out; above 0 and below 1.
    #[serde(default = "default_share")]
    pub share: f64,
    /// Number of sequences to hold out; if omitted, `share` determines it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sequences: Option<usize>,
    /// Data from which sequences are held out: `train` or `all`.
    #[serde(default)]
    pub of: Origin,
    /// Use of the held-out sequences: `test` or `holdout`.
    #[serde(default, rename = "as")]
    pub role: Role,
    /// If true, the held-out positions are also trained on, each as a sequence of its own. State
    /// features have then seen the test data and only transition features have not. Results are too
    /// good; some papers were evaluated so.
    #[serde(default)]
    pub leak_positions: bool,
}

/// Data from which sequences are held out.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Origin {
    /// Training data of the source.
    #[default]
    Train,
    /// All data of the source: training, validation and test data, in this order.
    All,
}

/// Use of the held-out sequences.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// Validation data of learners and selectors.
    Holdout,
    /// Test data.
    #[default]
    Test,
}

fn default_share() -> f64 {
    0.2
}

crf_core::plugin!(
    "source",
    HeldOut,
    "held-out",
    example = r#"
share = 0.2
as = "test"

[source]
type = "redundant-observations"
train = { sequences = 10, length = 100 }
"#
);

#[typetag::serde(name = "held-out")]
impl Source for HeldOut {
    fn check(&self) -> Result<()> {
        require(self.share > 0.0 && self.share < 1.0, "share", "above 0 and below 1", self.share)?;
        require(self.sequences != Some(0), "sequences", "at least 1", 0)?;
        let tested = self.of == Origin::Train || self.role == Role::Test;
        require(tested, "of", "`train` with as = \"holdout\", since nothing would be left to test", "`all`")?;
        self.source.check()
    }

    fn load(&self, seed: &Seed) -> Result<Splits> {
        let Splits { mut train, mut holdout, test } = self.source.load(seed)?;
        if self.of == Origin::All {
            let schema = train.schema().clone();
            train =
                concatenated([Some(&train), holdout.as_ref(), Some(&test)].into_iter().flatten(), &schema)?;
            holdout = None;
        }
        let all = train;
        let mut kept = all.shuffled(&seed.child("held-out"));
        let (key, n, got) = match self.sequences {
            Some(n) => ("sequences", n, n.to_string()),
            None => {
                let n = (self.share * all.len() as f64).round() as usize;
                ("share", n, self.share.to_string())
            }
        };
        if n == 0 || n >= all.len() {
            let got = format!("{got}, which is {n} of {} sequences", all.len());
            return Err(Error::setting(key, "such that both parts have sequences", got));
        }
        let mut held_out: Vec<usize> = kept.drain(..n).collect();
        // Both keep the order of the source.
        held_out.sort_unstable();
        kept.sort_unstable();
        let mut train = all.subset(&kept);
        let held_out = all.subset(&held_out);
        if self.leak_positions {
            train = concatenated([&train, &single_positions(&held_out)?], all.schema())?;
        }
        Ok(match self.role {
            Role::Holdout => Splits { train, holdout: Some(held_out), test },
            Role::Test => Splits { train, holdout, test: held_out },
        })
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]
mod tests {
    use super::*;
    use crate::{CoupledChains, RedundantObservations, Size};

    fn inner(sequences: usize) -> RedundantObservations {
        RedundantObservations { train: Size { sequences, length: 20 }, ..Default::default() }
    }

    fn held_out(sequences: usize, share: f64, role: Role) -> HeldOut {
        HeldOut {
            source: Box::new(inner(sequences)),
            share,
            sequences: None,
            of: Origin::Train,
            role,
            leak_positions: false,
        }
    }

    #[test]
    fn every_training_sequence_is_in_one_part() {
        let all = inner(10).load(&Seed::new(1)).unwrap();
        let as_test = held_out(10, 0.3, Role::Test).load(&Seed::new(1)).unwrap();
        let as_holdout = held_out(10, 0.3, Role::Holdout).load(&Seed::new(1)).unwrap();
        assert_eq!((as_test.train.len(), as_test.test.len()), (7, 3));
        let parts = [&as_test.train, &as_test.test];
        for i in 0..10 {
            let mine = all.train.subset(&[i]);
            let has = |part: &&&crf_core::Dataset| (0..part.len()).any(|k| part.subset(&[k]) == mine);
            assert_eq!(parts.iter().filter(has).count(), 1, "sequence {i}");
        }
        assert_eq!(as_holdout.train, as_test.train);
        assert_eq!(as_holdout.holdout.as_ref(), Some(&as_test.test));
        assert_eq!(as_holdout.test, all.test);
        assert!(as_test.holdout.is_none());
    }

    #[test]
    fn all_sequences_are_dealt_anew() {
        let parts = inner(10).load(&Seed::new(1)).unwrap();
        let all: Vec<_> = (0..10).map(|i| parts.train.subset(&[i])).chain([parts.test]).collect();
        for source in
            [3, 10].map(|n| HeldOut { sequences: Some(n), of: Origin::All, ..held_out(10, 0.5, Role::Test) })
        {
            let Splits { train, holdout, test } = source.load(&Seed::new(1)).unwrap();
            assert_eq!(Some(test.len()), source.sequences);
            assert!(holdout.is_none());
            let dealt =
                [&train, &test].into_iter().flat_map(|part| (0..part.len()).map(|i| part.subset(&[i])));
            let dealt: Vec<_> = dealt.collect();
            assert!(dealt.len() == 11 && all.iter().all(|one| dealt.contains(one)));
        }
    }

    #[test]
    fn leaked_positions_are_sequences_of_their_own_behind_the_training_data() {
        let size = Size { sequences: 3, length: 5 };
        let graphs = CoupledChains { train: size, test: size, ..Default::default() };
        let sources: [Box<dyn Source>; 2] = [Box::new(inner(3)), Box::new(graphs)];
        for inner in sources {
            let mut source = HeldOut { source: inner, sequences: Some(2), ..held_out(3, 0.5, Role::Test) };
            let honest = source.load(&Seed::new(1)).unwrap();
            source.leak_positions = true;
            let Splits { train, test, .. } = source.load(&Seed::new(1)).unwrap();
            assert_eq!(test, honest.test);
            let n = honest.train.len();
            assert_eq!(train.subset(&(0..n).collect::<Vec<_>>()), honest.train);
            assert_eq!(train.len(), n + test.n_positions());
            let places = (0..test.len()).flat_map(|i| (0..test.range(i).len()).map(move |t| (i, t)));
            for ((i, t), leaked) in places.zip(n..) {
                let whole = test.sequence(i);
                let one = train.sequence(leaked);
                assert_eq!(one.labels(), &whole.labels()[t..=t]);
                assert_eq!(one.real(0), &whole.real(0)[t..=t]);
                assert_eq!(train.shape(leaked).n_edges(), 0);
                assert_eq!(train.shape(leaked).kind(0), test.shape(i).kind(t));
            }
        }
    }

    #[test]
    fn graphs_are_dealt_with_their_edges_and_kinds() {
        let size = Size { sequences: 2, length: 5 };
        let source = CoupledChains { train: size, test: size, holdout: Some(size), ..Default::default() };
        let parts = source.load(&Seed::new(1)).unwrap();
        let parts = [parts.train, parts.holdout.unwrap(), parts.test];
        let all = concatenated(&parts, parts[0].schema()).unwrap();
        assert_eq!(all.len(), 6);
        for (k, part) in parts.iter().enumerate() {
            assert_eq!(all.subset(&[2 * k, 2 * k + 1]), *part);
        }
    }

    #[test]
    fn shares_that_leave_a_part_empty_are_refused() {
        let refused = |source: HeldOut, message: &str| {
            let error = source.check().err().or_else(|| source.load(&Seed::new(1)).err()).unwrap();
            assert_eq!(error.to_string(), message);
        };
        refused(held_out(10, 1.0, Role::Test), "`share` must be above 0 and below 1, got 1");
        refused(held_out(10, f64::NAN, Role::Test), "`share` must be above 0 and below 1, got NaN");
        let want = "`share` must be such that both parts have sequences, got";
        refused(held_out(1, 0.2, Role::Test), &format!("{want} 0.2, which is 0 of 1 sequences"));
        refused(held_out(2, 0.9, Role::Holdout), &format!("{want} 0.9, which is 2 of 2 sequences"));
        let some = |n, of, role| HeldOut { sequences: Some(n), of, ..held_out(3, 0.5, role) };
        let want = "`sequences` must be";
        refused(some(0, Origin::Train, Role::Test), &format!("{want} at least 1, got 0"));
        let message = format!("{want} such that both parts have sequences, got 9, which is 9 of 4 sequences");
        refused(some(9, Origin::All, Role::Test), &message);
        let want =
            "`of` must be `train` with as = \"holdout\", since nothing would be left to test, got `all`";
        refused(some(1, Origin::All, Role::Holdout), want);
    }
}
