use crf_core::plugin::{Named, named_list};
use crf_core::{Dataset, Error, Result, Seed, Source, Splits, require};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::rebuild::concatenated;

/// Several sources with the same channels and labels (domains), to test how models transfer between
/// them.
///
/// Training, validation and test data are those of all sources, in their order. If all sources have
/// the same number of sequences, domain k is the k-th of as many equal parts as there are sources;
/// the learner and the selector `in-part` and the metric `error-in-part` refer to these parts.
/// Every source is drawn with the same seed, so the data of a domain are those of its source alone.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Domains {
    /// Sources of the domains; at least one. Either all of them have validation data or none has.
    #[serde(deserialize_with = "named_list")]
    #[schemars(with = "Vec<Named>")]
    pub of: Vec<Box<dyn Source>>,
}

crf_core::plugin!(
    "source",
    Domains,
    "domains",
    example = r#"
[[of]]
type = "redundant-observations"
train = { sequences = 4, length = 50 }

[[of]]
type = "redundant-observations"
train = { sequences = 4, length = 50 }
noise_redundant = 0.3
"#
);

#[typetag::serde(name = "domains")]
impl Source for Domains {
    fn check(&self) -> Result<()> {
        require(!self.of.is_empty(), "of", "at least one source", "none")?;
        self.of.iter().try_for_each(|source| source.check())
    }

    fn load(&self, seed: &Seed) -> Result<Splits> {
        self.check()?;
        let domains = self.of.iter().map(|source| source.load(seed)).collect::<Result<Vec<Splits>>>()?;
        let schema = domains[0].train.schema();
        for (k, domain) in domains.iter().enumerate().skip(1) {
            if domain.train.schema() != schema {
                let what = "other channels or labels than the first source";
                return Err(Error::data(what).at(format!("source {}", k + 1)));
            }
        }
        let n_with_holdout = domains.iter().filter(|domain| domain.holdout.is_some()).count();
        if n_with_holdout != 0 && n_with_holdout != domains.len() {
            let got = format!("{n_with_holdout} of {}", domains.len());
            return Err(Error::setting("of", "sources that all have holdout data, or none", got));
        }
        let holdouts: Vec<&Dataset> = domains.iter().filter_map(|domain| domain.holdout.as_ref()).collect();
        let holdout = (n_with_holdout > 0).then(|| concatenated(holdouts, schema)).transpose()?;
        let train = concatenated(domains.iter().map(|domain| &domain.train), schema)?;
        let test = concatenated(domains.iter().map(|domain| &domain.test), schema)?;
        Ok(Splits { train, holdout, test })
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]
mod tests {
    use super::*;
    use crate::{NoisyIndicators, Size, Tag};

    fn tag(holdout: bool, pause: f64) -> Tag {
        let size = Size { sequences: 2, length: 30 };
        Tag { pause, train: size, holdout: holdout.then_some(size), test: size, ..Tag::default() }
    }

    #[test]
    fn each_domain_is_what_its_source_has_by_itself() {
        let seed = Seed::new(4);
        let all = Domains { of: vec![Box::new(tag(true, 5.0)), Box::new(tag(true, 0.1))] };
        let all = all.load(&seed).unwrap();
        for (k, pause) in [5.0, 0.1].into_iter().enumerate() {
            let alone = tag(true, pause).load(&seed).unwrap();
            let mine = |data: &Dataset| data.subset(&[2 * k, 2 * k + 1]);
            assert_eq!(mine(&all.train), alone.train);
            assert_eq!(all.holdout.as_ref().map(mine), alone.holdout);
            assert_eq!(mine(&all.test), alone.test);
        }
        assert_eq!((all.train.len(), all.test.len()), (4, 4));
    }

    #[test]
    fn domains_that_do_not_fit_are_refused() {
        let refused = |of: Vec<Box<dyn Source>>| Domains { of }.load(&Seed::new(4)).unwrap_err().to_string();
        assert!(refused(vec![]).contains("at least one source"));
        let one = refused(vec![Box::new(tag(true, 5.0)), Box::new(tag(false, 5.0))]);
        assert!(one.contains("1 of 2"), "{one}");
        let other = refused(vec![Box::new(tag(false, 5.0)), Box::new(NoisyIndicators::default())]);
        assert!(other.contains("source 2"), "{other}");
    }
}
