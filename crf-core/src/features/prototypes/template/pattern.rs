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

    /// Range of the first match in `text`, as long as possible from its start.
    pub(in crate::features::prototypes) fn find(&self, text: &str) -> Option<Range<usize>> {
        let starts = text.char_indices().map(|(at, _)| at).chain([text.len()]);
        let starts = starts.take(if self.from_start { 1 } else { usize::MAX });
        starts.into_iter().find_map(|start| Some(start..start + self.match_len(&self.steps, &text[start..])?))
    }

    /// Length of the match at the start of `text`; each step takes as many characters as possible
    /// first.
    fn match_len(&self, steps: &[(CharClass, Repeat)], text: &str) -> Option<usize> {
        let Some((&(one, times), later)) = steps.split_first() else {
            return (!self.to_end || text.is_empty()).then_some(0);
        };
        let most = match times {
            Repeat::AnyNumber => usize::MAX,
            _ => 1,
        };
        let ends = text.char_indices().take_while(|&(_, c)| one.allows(c)).take(most);
        let ends: Vec<usize> = ends.map(|(at, c)| at + c.len_utf8()).collect();
        let none = if times == Repeat::Once { None } else { Some(0) };
        let mut lengths = none.into_iter().chain(ends).rev();
        lengths.find_map(|length| Some(length + self.match_len(later, &text[length..])?))
    }
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
