use std::collections::BTreeMap;

use crf_core::{Error, Fit, FitContext, Learner, LogLinear, Problem, Result, Stop, Trace, require};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Given weights instead of learnt ones: for known models, and for questions about inference alone.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Fixed {
    /// Weights by the names of features, in which `*` stands for any text:
    /// `{ "y=sun*" = 1, "y'=* ∧ y=rain" = -2 }`.
    ///
    /// Names are those that `inspect` prints. Features without a weight here have 0; two weights
    /// for one feature and a name that no feature has are refused.
    pub weights: BTreeMap<String, f64>,
}

crf_core::plugin!(
    "learner",
    Fixed,
    "fixed",
    example = r#"
[weights]
"y=*" = 1.0
"#
);

#[typetag::serde(name = "fixed")]
impl Learner for Fixed {
    fn check(&self) -> Result<()> {
        require(!self.weights.is_empty(), "weights", "names of features with their weights", "none")?;
        let bad = self.weights.iter().find(|(_, weight)| !weight.is_finite());
        bad.map_or(Ok(()), |(name, weight)| Err(Error::setting(name, "a finite number", weight)))
    }

    fn fit(&self, problem: &Problem<'_>, _run: &mut FitContext<'_>) -> Result<Fit> {
        let map = problem.map;
        let names: Vec<String> = (0..map.len()).map(|k| map.name(k)).collect();
        let mut given: Vec<Option<&str>> = vec![None; names.len()];
        let mut weights = vec![0.0; names.len()];
        for (pattern, &weight) in &self.weights {
            let mut found = false;
            for k in (0..names.len()).filter(|&k| matches(pattern, &names[k])) {
                if let Some(other) = given[k].replace(pattern) {
                    let got = format!("`{other}` and `{pattern}`, which both name `{}`", names[k]);
                    return Err(Error::setting("weights", "one weight for a feature", got));
                }
                weights[k] = weight;
                found = true;
            }
            if !found {
                return Err(Error::unknown("feature", pattern, names.iter().map(String::as_str)));
            }
        }
        let model = Box::new(LogLinear::new(map.clone(), weights)?);
        Ok(Fit { model, trace: Trace { iterations: Vec::new(), stop: Stop::Direct } })
    }
}

/// True if a name matches a pattern, in which `*` stands for any text.
fn matches(pattern: &str, name: &str) -> bool {
    let Some((first, rest)) = pattern.split_once('*') else { return pattern == name };
    let Some(mut left) = name.strip_prefix(first) else { return false };
    let (between, last) = rest.rsplit_once('*').map_or(("", rest), |(between, last)| (between, last));
    for piece in between.split('*') {
        // The earliest match leaves most to the pieces that follow.
        match left.find(piece) {
            Some(start) => left = &left[start + piece.len()..],
            None => return false,
        }
    }
    left.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::matches;

    #[test]
    fn stars_are_any_text() {
        for (pattern, name) in
            [("ab", "ab"), ("a*", "a"), ("*", ""), ("a*b*c", "a--bb-c"), ("*b*", "abc"), ("**a", "aa")]
        {
            assert!(matches(pattern, name), "{pattern} is {name}");
        }
        for (pattern, name) in
            [("ab", "abc"), ("a*a", "a"), ("a*b*b", "ab"), ("*x*", "abc"), ("y=a*", "next: y=a")]
        {
            assert!(!matches(pattern, name), "{pattern} is not {name}");
        }
    }
}
