use crf_core::plugin::{Named, named_list};
use crf_core::{Dataset, Error, Result, Seed, Source, Splits, require};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::wrappers::rebuild::pooled;

/// Several sources with the same channels and labels, so that what is learnt in one can be tried in the others.
///
/// Training, holdout and test data are those of all sources in their order. If these have as many sequences each, the k-th
/// domain is the k-th of so many equal parts, which the learner and the selector `in-part` and the metric `error-in-part` know. Every
/// source is drawn with the same seed, so the data of a domain are those that the source has by itself.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Domains {
    /// The sources; at least one, and either all of them have holdout data or none has.
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
        let parts = self.of.iter().map(|source| source.load(seed)).collect::<Result<Vec<Splits>>>()?;
        let schema = parts[0].train.schema();
        for (k, part) in parts.iter().enumerate().skip(1) {
            if part.train.schema() != schema {
                let what = "other channels or labels than the first source";
                return Err(Error::data(what).at(format!("source {}", k + 1)));
            }
        }
        let with_holdout = parts.iter().filter(|part| part.holdout.is_some()).count();
        if with_holdout != 0 && with_holdout != parts.len() {
            let got = format!("{with_holdout} of {}", parts.len());
            return Err(Error::setting("of", "sources that all have holdout data, or none", got));
        }
        let holdouts: Vec<&Dataset> = parts.iter().filter_map(|part| part.holdout.as_ref()).collect();
        let holdout = (with_holdout > 0).then(|| pooled(holdouts, schema)).transpose()?;
        let train = pooled(parts.iter().map(|part| &part.train), schema)?;
        let test = pooled(parts.iter().map(|part| &part.test), schema)?;
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
