use std::fmt;
use std::str::FromStr;

/// A part of an experiment's jobs, which are dealt out in turn: `2/3` has the second, the fifth and so on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shard {
    part: usize,
    of: usize,
}

impl Shard {
    /// All jobs.
    pub const WHOLE: Shard = Shard { part: 1, of: 1 };

    /// Whether a job, counted from 0, belongs to this part.
    pub fn has(&self, job: usize) -> bool {
        job % self.of == self.part - 1
    }
}

impl FromStr for Shard {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let numbers =
            text.split_once('/').and_then(|(part, of)| Some((part.parse().ok()?, of.parse().ok()?)));
        match numbers {
            Some((part, of)) if 1 <= part && part <= of => Ok(Shard { part, of }),
            _ => Err(format!("expected a part and their number, such as 1/3 to 3/3, got `{text}`")),
        }
    }
}

impl fmt::Display for Shard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-of-{}", self.part, self.of)
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
