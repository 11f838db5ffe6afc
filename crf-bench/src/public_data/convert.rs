//! Conversions of downloaded files.

use serde::Deserialize;

/// The conversion of a downloaded file to the form that its source reads.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Convert {
    /// No conversion.
    #[default]
    AsIs,
    /// Columns with one empty line between sequences: no carriage returns, no runs of empty lines.
    Columns,
    /// Kassel's letters with their pixels in hexadecimal.
    Letters,
    /// The Pima table with a header.
    Pima,
}

impl Convert {
    /// The converted contents; unexpected contents are an error.
    pub(super) fn apply(self, content: Vec<u8>) -> Result<Vec<u8>, String> {
        if self == Convert::AsIs {
            return Ok(content);
        }
        let text = String::from_utf8(content).map_err(|error| error.to_string())?;
        let converted = match self {
            Convert::AsIs => text,
            Convert::Columns => columns(&text),
            Convert::Letters => letters(&text)?,
            Convert::Pima => format!("{PIMA}\n{}\n", text.trim_end()),
        };
        Ok(converted.into_bytes())
    }
}

const PIMA: &str = "pregnancies,glucose,blood_pressure,skin_thickness,insulin,bmi,pedigree,age,label";

fn columns(text: &str) -> String {
    let mut out = String::new();
    for line in text.lines().map(|line| line.trim_end_matches('\r')) {
        let is_empty = line.trim().is_empty();
        if !is_empty {
            out.push_str(line);
            out.push('\n');
        } else if !out.is_empty() && !out.ends_with("\n\n") {
            out.push('\n');
        }
    }
    out.truncate(out.trim_end().len());
    out + "\n"
}

/// From `id letter next word position fold p_0_0 … p_15_7` to `word position fold letter pixels`.
fn letters(text: &str) -> Result<String, String> {
    let mut out = String::from("# word_id\tpos\tfold\tletter\tpixels(16x8 row-major, 32 hex digits)\n");
    for (number, line) in text.lines().enumerate() {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let (Some([_, letter, _, word, position, fold]), Some(pixels)) =
            (fields.first_chunk(), fields.get(6..134))
        else {
            return Err(format!("line {}: expected 134 fields, got {}", number + 1, fields.len()));
        };
        let hex: String = pixels
            .chunks(4)
            .map(|bits| bits.iter().fold(0, |value, bit| value << 1 | u32::from(*bit == "1")))
            .map(|digit| char::from_digit(digit, 16).unwrap_or_default())
            .collect();
        out.push_str(&format!("{word}\t{position}\t{fold}\t{letter}\t{hex}\n"));
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn converted(by: Convert, text: &str) -> Result<String, String> {
        by.apply(text.as_bytes().to_vec()).map(|bytes| String::from_utf8(bytes).expect("UTF-8"))
    }

    #[test]
    fn columns_lose_carriage_returns_and_runs_of_empty_lines() {
        let text = "\r\na\tO\r\n\r\n\t\r\n\r\nb\tB\r\n\r\n";
        assert_eq!(converted(Convert::Columns, text).as_deref(), Ok("a\tO\n\nb\tB\n"));
    }

    #[test]
    fn letters_have_their_pixels_in_hexadecimal() {
        let pixels = ["1", "0", "1", "1"].iter().chain([&"0"; 124]).copied().collect::<Vec<_>>().join("\t");
        let line = format!("1\to\t2\t7\t1\t0\t{pixels}\t\n");
        let out = converted(Convert::Letters, &line).expect("a letter");
        assert_eq!(out.lines().nth(1), Some(format!("7\t1\t0\to\tb{}", "0".repeat(31)).as_str()));
        assert_eq!(converted(Convert::Letters, "1\to"), Err("line 1: expected 134 fields, got 2".to_owned()));
    }

    #[test]
    #[ignore = "needs CRF_DATA"]
    fn letters_of_the_origin_become_the_file_we_read() {
        let path = crate::experiment::cell_digest::in_data("ocr/letters.tsv.gz");
        let ours =
            String::from_utf8(super::super::content(&path, 1 << 30).expect("the letters")).expect("UTF-8");
        // What the origin has beside our columns, its own numbers, is not looked at.
        let mut origin = String::new();
        for line in ours.lines().skip(1) {
            let [word, position, fold, letter, hex] = line.split('\t').collect::<Vec<_>>()[..] else {
                panic!("{line}")
            };
            let pixels = hex.chars().map(|digit| format!("{:04b}", digit.to_digit(16).expect("a digit")));
            let pixels: Vec<String> =
                pixels.flat_map(|bits| bits.chars().map(String::from).collect::<Vec<_>>()).collect();
            origin += &format!("1\t{letter}\t2\t{word}\t{position}\t{fold}\t{}\t\n", pixels.join("\t"));
        }
        assert!(converted(Convert::Letters, &origin).is_ok_and(|converted| converted == ours));
    }
}
