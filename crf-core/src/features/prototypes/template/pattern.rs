use std::ops::Range;

use serde::{Deserialize, Serialize};

/// Small regular expression with the syntax of Wapiti's templates: `.` for any character, `\d` for
/// a digit, `\l` for a small letter, `\u` for a capital, `\a` for a letter, `\w` for a letter or
/// digit, `\p` for punctuation, `\s` for a space, the capital of each for its opposite, `*` and `?`
/// behind one of these or a character, and `^` and `$` for the ends.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub(in crate::features::prototypes) struct Pattern {
    text: String,
    from_start: bool,
    to_end: bool,
    steps: Vec<(CharClass, Repeat)>,
}

/// Class of characters that one character must belong to.
#[derive(Debug, Clone, Copy, PartialEq)]
enum CharClass {
    Any,
    Is(char),
    /// Member of a class, or, if false, no member of it.
    Class(char, bool),
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Repeat {
    Once,
    AtMostOnce,
    AnyNumber,
}

impl TryFrom<String> for Pattern {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        Pattern::new(&text).ok_or_else(|| format!("`{text}` is no pattern"))
    }
}

impl From<Pattern> for String {
    fn from(pattern: Pattern) -> Self {
        pattern.text
    }
}

impl Pattern {
    /// Parses a pattern; `None` if it is not one.
    pub(in crate::features::prototypes) fn new(text: &str) -> Option<Self> {
        let from_start = text.starts_with('^');
        let mut rest = text[usize::from(from_start)..].chars().peekable();
        let mut to_end = false;
        let mut steps = Vec::new();
        while let Some(c) = rest.next() {
            let one = match c {
                '$' if rest.peek().is_none() => {
                    to_end = true;
                    break;
                }
                '.' => CharClass::Any,
                '*' | '?' => return None,
                '\\' => match rest.next()? {
                    class @ ('d' | 'l' | 'u' | 'a' | 'w' | 'p' | 's') => CharClass::Class(class, true),
                    class @ ('D' | 'L' | 'U' | 'A' | 'W' | 'P' | 'S') => {
                        CharClass::Class(class.to_ascii_lowercase(), false)
                    }
                    other => CharClass::Is(other),
                },
                other => CharClass::Is(other),
            };
            let times = match rest.peek() {
                Some('*') => Repeat::AnyNumber,
                Some('?') => Repeat::AtMostOnce,
                _ => Repeat::Once,
            };
            if times != Repeat::Once {
                rest.next();
            }
            steps.push((one, times));
        }
        Some(Pattern { text: text.to_owned(), from_start, to_end, steps })
    }

    /// Range of the first match in `text`, as long as possible from its start; linear in the text.
    ///
    /// All ways to match go along the text together (Thompson 1968). Of those that have come to the
    /// same step only the one that began first matters.
    pub(in crate::features::prototypes) fn find(&self, text: &str) -> Option<Range<usize>> {
        let n = self.steps.len();
        let mut began: Vec<Option<usize>> = vec![None; n + 1]; // by the number of steps done
        let mut next = began.clone();
        let mut found: Option<Range<usize>> = None;
        let ends = text.char_indices().map(|(at, c)| (at, Some(c))).chain([(text.len(), None)]);
        for (at, c) in ends {
            if found.is_none() && (at == 0 || !self.from_start) {
                began[0].get_or_insert(at);
            }
            for (k, (_, times)) in self.steps.iter().enumerate() {
                if *times != Repeat::Once {
                    let start = began[k];
                    keep_first(&mut began[k + 1], start);
                }
            }
            if let Some(start) = began[n].filter(|_| !self.to_end || c.is_none())
                && found.as_ref().is_none_or(|found| start <= found.start)
            {
                found = Some(start..at);
            }
            let Some(c) = c else { break };
            next.fill(None);
            for (k, (one, times)) in self.steps.iter().enumerate() {
                if one.allows(c) {
                    let done = if *times == Repeat::AnyNumber { k } else { k + 1 };
                    keep_first(&mut next[done], began[k]);
                }
            }
            std::mem::swap(&mut began, &mut next);
        }
        found
    }
}

/// Keeps the smaller of two starts.
fn keep_first(kept: &mut Option<usize>, other: Option<usize>) {
    *kept = [*kept, other].into_iter().flatten().min();
}

impl CharClass {
    fn allows(self, c: char) -> bool {
        match self {
            CharClass::Any => true,
            CharClass::Is(other) => c == other,
            CharClass::Class(class, wanted) => {
                let is = match class {
                    'd' => c.is_numeric(),
                    'l' => c.is_lowercase(),
                    'u' => c.is_uppercase(),
                    'a' => c.is_alphabetic(),
                    'w' => c.is_alphanumeric(),
                    's' => c.is_whitespace(),
                    _ => !c.is_alphanumeric() && !c.is_whitespace() && !c.is_control(),
                };
                is == wanted
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crf_testing::cases;
    use proptest::prelude::*;

    /// Length of the match at the start of `text`: each step takes as many characters as possible
    /// first, and steps back if the rest then fails.
    fn match_len(pattern: &Pattern, steps: &[(CharClass, Repeat)], text: &str) -> Option<usize> {
        let Some((&(one, times), later)) = steps.split_first() else {
            return (!pattern.to_end || text.is_empty()).then_some(0);
        };
        let most = if times == Repeat::AnyNumber { usize::MAX } else { 1 };
        let ends = text.char_indices().take_while(|&(_, c)| one.allows(c)).take(most);
        let ends: Vec<usize> = ends.map(|(at, c)| at + c.len_utf8()).collect();
        let none = if times == Repeat::Once { None } else { Some(0) };
        let mut lengths = none.into_iter().chain(ends).rev();
        lengths.find_map(|length| Some(length + match_len(pattern, later, &text[length..])?))
    }

    proptest! {
        #![proptest_config(cases(2048))]

        #[test]
        fn patterns_match_as_if_each_way_was_tried(
            steps in prop::collection::vec(("[ab.é]", prop_oneof![Just(""), Just("*"), Just("?")]), 0..6),
            from_start: bool, to_end: bool, text in "[abé]{0,8}",
        ) {
            let steps: String = steps.iter().map(|(one, times)| format!("{one}{times}")).collect();
            let ends = [if from_start { "^" } else { "" }, if to_end { "$" } else { "" }];
            let pattern = Pattern::new(&[ends[0], &steps, ends[1]].concat()).expect("a pattern");
            let starts = text.char_indices().map(|(at, _)| at).chain([text.len()]);
            let mut starts = starts.take(if from_start { 1 } else { usize::MAX });
            let want = starts.find_map(|start| {
                Some(start..start + match_len(&pattern, &pattern.steps, &text[start..])?)
            });
            prop_assert_eq!(pattern.find(&text), want, "{:?} in {}", pattern, text);
        }
    }

    #[test]
    fn patterns_with_many_stars_do_not_step_back() {
        let pattern = Pattern::new(&("a*".repeat(30) + "b")).expect("a pattern");
        assert_eq!(pattern.find(&"a".repeat(10_000)), None);
        assert_eq!(pattern.find(&("a".repeat(10_000) + "b")), Some(0..10_001));
    }

    #[test]
    fn patterns_match_as_documented() {
        for (pattern, text, want) in [
            ("\\u", "aBc", Some(1..2)),
            ("^\\u", "aBc", None),
            ("\\d*$", "ab12", Some(2..4)),
            ("^.?.?", "é", Some(0..2)),
            ("^.?.?", "abc", Some(0..2)),
            ("^\\U*$", "abc1", Some(0..4)),
            ("^\\U*$", "abC1", None),
            ("a\\.b", "xa.b", Some(1..4)),
            ("\\p", "U.S", Some(1..2)),
            ("", "abc", Some(0..0)),
            ("x*y", "xxxy", Some(0..4)),
            (".*c", "abcabc", Some(0..6)),
        ] {
            assert_eq!(Pattern::new(pattern).and_then(|p| p.find(text)), want, "`{pattern}` in `{text}`");
        }
        assert_eq!(Pattern::new("*a"), None);
        assert_eq!(Pattern::new("a\\"), None);
    }
}
