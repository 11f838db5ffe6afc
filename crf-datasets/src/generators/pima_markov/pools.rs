use std::ffi::OsString;
use std::path::Path;

use crf_core::{Error, Label, Result, Rng, Seed};
use rand::seq::{IndexedRandom as _, SliceRandom as _};
use rand_distr::{Distribution as _, StandardNormal};

use crate::generators::support::splits::Split;
use crate::text::data_dir;
use crate::text::fields::finite;

/// Attributes of the Pima Indians Diabetes data, in the order of the file (Smith et al. 1988).
pub(crate) const ATTRIBUTES: [&str; 8] =
    ["pregnancies", "glucose", "blood_pressure", "skin_thickness", "insulin", "bmi", "pedigree", "age"];

/// Mean and standard deviation of each attribute, by label: 500 rows of label 0, 268 of label 1.
///
/// Computed from the file as it is, with missing values as zeros, and rounded.
const SUMMARY: [[(f64, f64); 8]; 2] = [
    [
        (3.298, 3.017),
        (109.980, 26.141),
        (68.184, 18.063),
        (19.664, 14.890),
        (68.792, 98.865),
        (30.304, 7.690),
        (0.430, 0.299),
        (31.190, 11.668),
    ],
    [
        (4.866, 3.741),
        (141.257, 31.940),
        (70.825, 21.492),
        (22.164, 17.680),
        (100.336, 138.689),
        (35.143, 7.263),
        (0.550, 0.372),
        (37.067, 10.968),
    ],
];

/// Attributes of one person.
pub(crate) type Row = [f64; 8];

/// Pools from which the observations of a label are drawn.
#[derive(Debug)]
pub(crate) enum Pools {
    /// Rows of the file by label, of the training half and of the test half.
    Rows { train: [Vec<Row>; 2], test: [Vec<Row>; 2] },
    /// Normal distributions with the moments of [`SUMMARY`].
    Gaussian,
}

impl Pools {
    /// Splits the rows into two random halves, and each half by label.
    pub(crate) fn split(mut rows: Vec<(Row, Label)>, seed: &Seed) -> Result<Self> {
        rows.shuffle(&mut seed.rng());
        let test = rows.split_off(rows.len() / 2);
        let by_label = |half: &[(Row, Label)], name: &str| {
            let pool = |label: Label| {
                let pool: Vec<Row> = half.iter().filter(|row| row.1 == label).map(|row| row.0).collect();
                if pool.is_empty() {
                    return Err(Error::data(format!(
                        "the {name} half of the rows has none of label {label}"
                    )));
                }
                Ok(pool)
            };
            Ok([pool(0)?, pool(1)?])
        };
        Ok(Pools::Rows { train: by_label(&rows, "training")?, test: by_label(&test, "test")? })
    }

    /// Draws a row of the given label, with replacement.
    pub(crate) fn draw(&self, split: Split, label: Label, rng: &mut Rng) -> Row {
        match self {
            Pools::Rows { train, test } => {
                let pools = if split == Split::Test { test } else { train };
                *pools[label as usize].choose(rng).expect("no pool is empty after the split")
            }
            Pools::Gaussian => SUMMARY[label as usize].map(|(mean, deviation)| {
                let z: f64 = StandardNormal.sample(rng);
                mean + deviation * z
            }),
        }
    }
}

/// Reads the file, which is below `directory` unless its path is absolute.
pub(crate) fn read(file: &Path, directory: Option<OsString>) -> Result<Vec<(Row, Label)>> {
    let help = format!(
        ", which is the public Pima Indians Diabetes CSV below the header line `{},label`, or use pool = \
         \"gaussian\"",
        ATTRIBUTES.join(",")
    );
    let path = data_dir::locate(file, directory, &help)?;
    let name = path.display().to_string();
    let text =
        std::fs::read(&path).map_err(|error| data_dir::unreadable(&name, &error.to_string(), &help))?;
    parse(&name, &text)
}

/// Parses the rows of a CSV text; columns may be in any order, and unknown columns are ignored.
fn parse(path: &str, text: &[u8]) -> Result<Vec<(Row, Label)>> {
    let broken = |error: csv::Error| Error::data(format!("{path}: {error}"));
    let mut reader = csv::ReaderBuilder::new().flexible(true).trim(csv::Trim::All).from_reader(text);
    let header = reader.headers().map_err(broken)?.clone();
    let column = |name: &str| {
        header.iter().position(|other| other == name).ok_or_else(|| {
            let want = format!("{},label", ATTRIBUTES.join(","));
            Error::data(format!("{path}:1:{name}: expected a column of this name; the header is `{want}`"))
        })
    };
    let mut columns = [0; 8];
    for (index, name) in columns.iter_mut().zip(ATTRIBUTES) {
        *index = column(name)?;
    }
    let label_column = column("label")?;
    let mut rows = Vec::new();
    for record in reader.records() {
        let record = record.map_err(broken)?;
        let line = record.position().map_or(0, csv::Position::line);
        let wrong = |name: &str, want: &str, got: Option<&str>| {
            let got = got.map_or_else(|| "the end of the line".to_owned(), |got| format!("`{got}`"));
            Error::data(format!("{path}:{line}:{name}: expected {want}, got {got}"))
        };
        let mut row = [0.0; 8];
        for ((value, &index), name) in row.iter_mut().zip(&columns).zip(ATTRIBUTES) {
            let field = record.get(index);
            *value = field.and_then(finite).ok_or_else(|| wrong(name, "a finite number", field))?;
        }
        let label = match record.get(label_column) {
            Some("0") => 0,
            Some("1") => 1,
            got => return Err(wrong("label", "0 or 1", got)),
        };
        if record.len() > header.len() {
            let (want, got) = (header.len(), record.len());
            return Err(Error::data(format!("{path}:{line}: expected {want} fields, got {got}")));
        }
        rows.push((row, label));
    }
    Ok(rows)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]
mod tests {
    use super::*;

    const HEADER: &str = "pregnancies,glucose,blood_pressure,skin_thickness,insulin,bmi,pedigree,age,label";

    /// The rows below a good header, or the message.
    fn rows(body: &str) -> Result<Vec<(Row, Label)>, String> {
        parse("p.csv", format!("{HEADER}\n{body}").as_bytes()).map_err(|error| error.to_string())
    }

    #[test]
    fn rows_are_read_with_spaces_and_either_line_end() {
        let want = [1.0, 2.0, 3.0, 4.0, 5.0, 6.5, 0.7, 8.0];
        assert_eq!(rows("1,2,3, 4 ,5,6.5,.7,8,1\r\n1,2,3,4,5,6.5,.7,8,0\n"), Ok(vec![(want, 1), (want, 0)]));
        assert_eq!(rows(""), Ok(vec![]));
    }

    #[test]
    fn columns_are_found_by_name() {
        let text = "note,label,age,pedigree,bmi,insulin,skin_thickness,blood_pressure,glucose,pregnancies\n\
                    x,1,8,7,6,5,4,3,2,1\n";
        let read = parse("p.csv", text.as_bytes()).unwrap();
        assert_eq!(read, [([1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0], 1)]);
    }

    #[test]
    fn malformed_rows_name_file_line_and_column() {
        let refused = |body: &str, message: &str| assert_eq!(rows(body), Err(message.to_owned()));
        let good = "1,2,3,4,5,6,7,8,1";
        refused(
            &format!("{good}\n1,high,3,4,5,6,7,8,1"),
            "p.csv:3:glucose: expected a finite number, got `high`",
        );
        refused("1,2,3,4,5,6,7,inf,1", "p.csv:2:age: expected a finite number, got `inf`");
        refused("1,,3,4,5,6,7,8,1", "p.csv:2:glucose: expected a finite number, got ``");
        refused("1,2,3", "p.csv:2:skin_thickness: expected a finite number, got the end of the line");
        refused("1,2,3,4,5,6,7,8,yes", "p.csv:2:label: expected 0 or 1, got `yes`");
        refused("1,2,3,4,5,6,7,8", "p.csv:2:label: expected 0 or 1, got the end of the line");
        refused("1,2,3,4,5,6,7,8,1,9", "p.csv:2: expected 9 fields, got 10");
    }

    #[test]
    fn a_file_without_header_is_refused_by_the_name_it_lacks() {
        let error = parse("p.csv", b"6,148,72,35,0,33.6,0.627,50,1\n").unwrap_err().to_string();
        let want = format!("p.csv:1:pregnancies: expected a column of this name; the header is `{HEADER}`");
        assert_eq!(error, want);
    }

    #[test]
    fn a_missing_file_says_where_it_was_looked_for_and_what_to_do() {
        let help = format!(
            "set CRF_DATA to the directory that holds the file, which is the public Pima Indians Diabetes \
             CSV below the header line `{HEADER}`, or use pool = \"gaussian\""
        );
        let message = |file: &str, directory: Option<&str>| {
            read(Path::new(file), directory.map(OsString::from)).unwrap_err().to_string()
        };
        let want = format!("cannot read `$CRF_DATA/pima/pima.csv`: CRF_DATA is not set; {help}");
        assert_eq!(message("pima/pima.csv", None), want);
        let want = format!("cannot read `/nowhere/p.csv`: No such file or directory (os error 2); {help}");
        assert_eq!(message("p.csv", Some("/nowhere")), want);
        assert_eq!(message("/nowhere/p.csv", None), want);
    }

    #[test]
    fn halves_are_disjoint_and_hold_every_row_once() {
        let all: Vec<(Row, Label)> = (0..100).map(|k| ([f64::from(k); 8], Label::from(k % 3 == 0))).collect();
        let Pools::Rows { train, test } = Pools::split(all.clone(), &Seed::new(1)).unwrap() else {
            panic!("rows make pools of rows");
        };
        assert_eq!(train[0].len() + train[1].len(), 50);
        let mut seen = Vec::new();
        for pools in [train, test] {
            for (label, pool) in (0..).zip(pools) {
                seen.extend(pool.into_iter().map(|row| (row, label)));
            }
        }
        seen.sort_by(|a, b| a.0[0].total_cmp(&b.0[0]));
        assert_eq!(seen, all);
    }

    #[test]
    fn a_half_without_one_of_the_labels_is_refused() {
        let error = Pools::split(vec![([0.0; 8], 0); 4], &Seed::new(1)).unwrap_err().to_string();
        assert_eq!(error, "the training half of the rows has none of label 1");
    }

    #[test]
    #[ignore = "needs CRF_DATA"]
    fn the_real_file_has_the_built_in_means_and_deviations() {
        let rows = read(Path::new("pima/pima.csv"), std::env::var_os("CRF_DATA")).unwrap();
        for (label, count) in [(0, 500), (1, 268)] {
            let of: Vec<Row> = rows.iter().filter(|row| row.1 == label).map(|row| row.0).collect();
            assert_eq!(of.len(), count);
            for (k, (mean, deviation)) in SUMMARY[label as usize].into_iter().enumerate() {
                let n = of.len() as f64;
                let m = of.iter().map(|row| row[k]).sum::<f64>() / n;
                let v = of.iter().map(|row| (row[k] - m).powi(2)).sum::<f64>() / (n - 1.0);
                assert!(
                    (m - mean).abs() < 6e-4 && (v.sqrt() - deviation).abs() < 6e-4,
                    "{label} {k} {m} {v}"
                );
            }
        }
    }
}
