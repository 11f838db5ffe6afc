use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crf_core::plugin::{Named, named};
use crf_core::{Dataset, Result, Schema, Seed, Source, Splits, require};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::formats::format::Format;
use crate::text::data_dir;

/// Files of one format, one for each of training, validation and test data.
///
/// The known symbols and labels are those of the training file. A position whose label does not
/// occur there counts as an error whatever is predicted. Relative paths are below the directory in
/// the environment variable CRF_DATA. Files may be compressed with gzip.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct File {
    /// Format of the files.
    #[serde(deserialize_with = "named")]
    #[schemars(with = "Named")]
    pub format: Box<dyn Format>,
    /// File of the training data.
    pub train: PathBuf,
    /// File of the validation data; none if omitted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub holdout: Option<PathBuf>,
    /// File of the test data.
    pub test: PathBuf,
}

crf_core::plugin!(
    "source",
    File,
    "file",
    example = r#"
train = "conll2000/train.txt.gz"
test = "conll2000/test.txt.gz"

[format]
type = "conll"
columns = ["word", "pos"]
"#
);

#[typetag::serde(name = "file")]
impl Source for File {
    fn check(&self) -> Result<()> {
        let files =
            [("train", Some(&self.train)), ("holdout", self.holdout.as_ref()), ("test", Some(&self.test))];
        for (key, path) in files.into_iter().filter_map(|(key, path)| path.map(|path| (key, path))) {
            require(!path.as_os_str().is_empty(), key, "the path of a file", "nothing")?;
        }
        self.format.check()
    }

    fn load(&self, _: &Seed) -> Result<Splits> {
        let directory = std::env::var_os("CRF_DATA");
        let read = |file: &Path, schema| read(&*self.format, file, directory.clone(), schema);
        let train = read(&self.train, None)?;
        let schema = Some(train.schema());
        let holdout = self.holdout.as_deref().map(|file| read(file, schema)).transpose()?;
        Ok(Splits { test: read(&self.test, schema)?, holdout, train })
    }
}

fn read(
    format: &dyn Format,
    file: &Path,
    directory: Option<OsString>,
    schema: Option<&Arc<Schema>>,
) -> Result<Dataset> {
    let path = data_dir::locate(file, directory, "")?;
    format.read_file(&path, schema).map_err(|error| data_dir::with_help(error, ""))
}
