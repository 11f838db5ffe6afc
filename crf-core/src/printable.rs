use std::fmt::{Display, Write as _};

/// Text of a message with every character escaped that a terminal would obey instead of show.
///
/// Names and values in messages come from files and the command line. Control characters in them
/// move the cursor, colour what follows or begin a new line, and marks of direction show letters
/// in another order than they stand. Each becomes its escape as Rust spells it: `\u{1b}`, `\n`.
pub fn printable(text: impl Display) -> String {
    let mut shown = text.to_string();
    if shown.contains(is_obeyed) {
        let text = std::mem::take(&mut shown);
        for c in text.chars() {
            match is_obeyed(c) {
                // A string cannot fail to take what is written to it.
                true => drop(write!(shown, "{}", c.escape_default())),
                false => shown.push(c),
            }
        }
    }
    shown
}

/// True if a terminal acts on the character: control characters, ends of lines, and marks of
/// direction.
fn is_obeyed(c: char) -> bool {
    c.is_control() || matches!(c, '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Error;

    #[test]
    fn escapes_of_a_terminal_are_shown_and_not_obeyed() {
        assert_eq!(printable("a\u{1b}[31m\tb\r\n\u{9b}\u{202e}"), "a\\u{1b}[31m\\tb\\r\\n\\u{9b}\\u{202e}");
        assert_eq!(printable("café \u{1F600} `\"'\\"), "café \u{1F600} `\"'\\");
    }

    #[test]
    fn no_error_message_passes_an_escape_on() {
        let evil = || "\u{1b}[2J\u{7}\n\u{7f}".to_owned();
        let io = || std::io::Error::other("refused");
        let errors = [
            Error::setting(evil(), evil(), evil()),
            Error::unknown("column", &evil(), [evil().as_str()]),
            Error::unknown("column", "quite another", [evil().as_str()]),
            Error::data(evil()),
            Error::Infeasible(evil()),
            Error::NotFinite(evil()),
            Error::Unsupported { tag: "conll", what: evil() },
            Error::Io { path: evil().into(), source: io() },
            Error::data(evil()).at(evil()),
        ];
        for error in errors {
            let message = error.to_string();
            assert!(!message.contains(is_obeyed), "{message:?}");
            assert!(message.contains("\\u{1b}"), "{message:?}");
        }
    }
}
