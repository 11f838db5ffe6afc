//! The page of comparisons with other programs, as `cargo xtask compare --json` measures them.

use std::fs;
use std::path::Path;

use maud::{Markup, html};
use serde_json::Value;

use super::run::table;
use super::site::read_text;
use crate::error::Error;
use crate::report::record::Sheet;

/// The page of all comparisons in a directory of JSON files, `None` without any; and the reasons
/// why files could not be read.
pub(crate) fn peers(directory: &Path) -> (Option<Markup>, Vec<Error>) {
    let mut files: Vec<_> =
        fs::read_dir(directory).into_iter().flatten().flatten().map(|e| e.path()).collect();
    files.retain(|path| path.extension().is_some_and(|extension| extension == "json"));
    files.sort();
    let (mut found, mut unread) = (Vec::new(), Vec::new());
    for path in files {
        let wrong = |error| Error::config(path.display(), format!("no comparison in JSON: {error}"));
        match read_text(&path).and_then(|text| serde_json::from_str::<Value>(&text).map_err(wrong)) {
            Ok(value) if value["tables"].is_array() => found.push(value),
            Ok(_) => unread.push(Error::config(path.display(), "no comparison: it has no list `tables`")),
            Err(error) => unread.push(error),
        }
    }
    let page = (!found.is_empty()).then(|| html! { @for value in &found { (comparison(value)) } });
    (page, unread)
}

fn comparison(measured: &Value) -> Markup {
    let text = |value: &Value| match value {
        Value::String(text) => text.clone(),
        Value::Number(number) => match number.as_f64() {
            Some(x) if x.fract() != 0.0 => four_digits(x),
            _ => number.to_string(),
        },
        _ => String::new(),
    };
    let head = ["", "ours, 1 thread", "ours, 2 threads", "theirs", "times better"].map(str::to_owned);
    let sheet = |part: &Value| {
        let rows = part["rows"].as_array().into_iter().flatten();
        let rows =
            rows.map(|row| ["name", "ours", "ours_2", "theirs", "ratio"].map(|key| text(&row[key])).to_vec());
        Sheet { head: head.to_vec(), rows: rows.collect() }
    };
    html! {
        p {
            (text(&measured["model"])) " model, " (text(&measured["iterations"])) " iterations or epochs, best of "
            (text(&measured["rounds"])) " rounds; the other programs get their data from Python."
        }
        @for part in measured["tables"].as_array().into_iter().flatten() {
            h2 { (text(&part["title"])) }
            (table(&sheet(part)))
        }
    }
}

/// A number with four significant digits, and at most four after the point.
fn four_digits(x: f64) -> String {
    let before = x.abs().log10().floor() as i32;
    format!("{x:.*}", (3 - before).clamp(0, 4) as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_numbers_are_whole_and_small_ones_are_not_nothing() {
        let shown = [440_422.61, 52.957, 3.2299, 0.93_27, 0.009_33].map(four_digits);
        assert_eq!(shown, ["440423", "52.96", "3.230", "0.9327", "0.0093"]);
    }
}
