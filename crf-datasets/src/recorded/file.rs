use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crf_core::plugin::{Named, named};
use crf_core::{Dataset, Result, Schema, Seed, Source, Splits, require};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::formats::format::Format;
use crate::text::data_dir;

/// Files of one format, one per part.
///
/// The symbols and labels are those of the training file; labels of other files that it does not have count
/// as errors whatever is predicted. Relative paths are looked for below the directory in the environment
/// variable CRF_DATA, and gzip is read through.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct File {
    /// How the files are to be read.
    #[serde(deserialize_with = "named")]
    #[schemars(with = "Named")]
    pub format: Box<dyn Format>,
    /// The file of the training data.
    pub train: PathBuf,
    /// The file of the data for choices; none when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub holdout: Option<PathBuf>,
    /// The file of the test data.
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
        let parts =
            [("train", Some(&self.train)), ("holdout", self.holdout.as_ref()), ("test", Some(&self.test))];
        for (key, path) in parts.into_iter().filter_map(|(key, path)| path.map(|path| (key, path))) {
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
    format.read_file(&path, schema).map_err(|error| data_dir::explained(error, ""))
}
