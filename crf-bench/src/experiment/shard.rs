//! Shards: parts of a run on several machines.

use std::fmt;
use std::str::FromStr;

/// A part of an experiment's jobs, dealt in turn: `2/3` has the second, the fifth and so on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shard {
    part: usize,
    parts: usize,
}

impl Shard {
    /// All jobs.
    pub const WHOLE: Shard = Shard { part: 1, parts: 1 };

    /// True if a job, counted from 0, belongs to this part.
    pub fn has(&self, job: usize) -> bool {
        job % self.parts == self.part - 1
    }
}

impl FromStr for Shard {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let numbers =
            text.split_once('/').and_then(|(part, parts)| Some((part.parse().ok()?, parts.parse().ok()?)));
        match numbers {
            Some((part, parts)) if 1 <= part && part <= parts => Ok(Shard { part, parts }),
            _ => Err(format!("expected a part and the number of parts, such as 1/3, got `{text}`")),
        }
    }
}

impl fmt::Display for Shard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-of-{}", self.part, self.parts)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_job_belongs_to_one_part() {
        let parts: Vec<Shard> =
            ["1/3", "2/3", "3/3"].iter().map(|text| text.parse().expect("a part")).collect();
        for job in 0..10 {
            assert_eq!(parts.iter().filter(|part| part.has(job)).count(), 1);
        }
        assert!((0..10).all(|job| Shard::WHOLE.has(job)));
        for wrong in ["", "0/3", "4/3", "1", "1/0", "a/b", "-1/3"] {
            assert!(wrong.parse::<Shard>().expect_err(wrong).ends_with(&format!("got `{wrong}`")));
        }
    }
}
