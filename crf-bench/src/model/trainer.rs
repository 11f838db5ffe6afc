//! The interface for programs: train, save, load and tag.

use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;

use crf_core::{Constraints, Dataset, Decode, Features, Inference, Iteration, Learner, Query, Selector};
use crf_datasets::Format;

use crate::config::{ConfigRoot as _, Method, Training};
use crate::error::{Error, Result};
use crate::model::data_file::read_digest;
use crate::model::file::ModelFile;
use crate::model::scores::Scores;
use crate::model::train::{Seconds, train};

/// The builder of a training: a data format, features and a learner, each with a default.
///
/// ```no_run
/// use crf_bench::{ModelFile, Trainer};
/// use crf_core::{Features, prototypes::Equals};
/// use crf_datasets::Conll;
/// use crf_learn::{Minimisation, Mle};
///
/// let format = Conll { columns: vec!["word".into(), "pos".into()], ..Conll::default() };
/// let model = Trainer::new(format)
///     .features(Features::new().intercept().transition().state(Equals::default()))
///     .learner(Mle(Minimisation { l2: 1.0, ..Minimisation::default() }))
///     .train_file("train.txt")?;
/// model.save("chunks.crf".as_ref())?;
/// for labels in ModelFile::load("chunks.crf".as_ref())?.tag_file("test.txt")? {
///     println!("{}", labels.join(" "));
/// }
/// # Ok::<(), crf_bench::Error>(())
/// ```
pub struct Trainer<'a> {
    training: Training,
    validation: Option<Arc<Dataset>>,
    observer: Box<Observer<'a>>,
}

/// The observer of iterations, which may stop the training.
type Observer<'a> = dyn FnMut(&Iteration) -> ControlFlow<()> + Send + 'a;

impl std::fmt::Debug for Trainer<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Trainer").field("training", &self.training).finish_non_exhaustive()
    }
}

impl<'a> Trainer<'a> {
    /// A training on data in some format, with the defaults of `crf train`.
    pub fn new(format: impl Format + 'static) -> Self {
        let method = Method::default();
        let format = Box::new(format);
        Trainer::with(Training { format, template: None, method, seed: 0, tune: None })
    }

    /// A training by a config of `crf train`; `template` and `tune` are not available here.
    pub fn from_toml(config: &str) -> Result<Self> {
        let config = toml::from_str(config).map_err(Error::format("config"))?;
        let (training, resolved) =
            Training::read_located(&config).map_err(|fault| Error::config("the config", fault.message))?;
        training.check(&resolved).map_err(|fault| Error::config("the config", fault.message))?;
        if training.template.is_some() || training.tune.is_some() {
            return Err(Error::config("the config", "`template` and `tune` are for `crf train`"));
        }
        Ok(Trainer::with(training))
    }

    fn with(training: Training) -> Self {
        Trainer { training, validation: None, observer: Box::new(|_| ControlFlow::Continue(())) }
    }

    /// Sets the features of the model; those that suit the channels of the data if omitted.
    pub fn features(mut self, features: Features) -> Self {
        self.training.method.features = Some(features);
        self
    }

    /// Sets the learner; `mle` if omitted.
    pub fn learner(mut self, learner: impl Learner + 'static) -> Self {
        self.training.method.learner = Box::new(learner);
        self
    }

    /// Sets the inference of training and tagging; `forward-backward` if omitted.
    pub fn inference(mut self, inference: impl Inference + 'static) -> Self {
        self.training.method.inference = Box::new(inference);
        self
    }

    /// Sets the selector of features; all features are kept if omitted.
    pub fn selector(mut self, selector: impl Selector + 'static) -> Self {
        self.training.method.selector = Box::new(selector);
        self
    }

    /// Sets the constraints on neighbouring labels.
    pub fn constraints(mut self, constraints: Constraints) -> Self {
        self.training.method.constraints = Some(constraints);
        self
    }

    /// Sets the decoding; `posterior` if omitted, `viterbi` under constraints.
    pub fn decode(mut self, decode: Decode) -> Self {
        self.training.method.decode = Some(decode);
        self
    }

    /// Sets the seed of all random numbers; 0 if omitted.
    pub fn seed(mut self, seed: u64) -> Self {
        self.training.seed = seed;
        self
    }

    /// Sets the validation data, for early stopping and selectors; they must have the schema of the
    /// training data.
    pub fn validation(mut self, validation: Dataset) -> Self {
        self.validation = Some(Arc::new(validation));
        self
    }

    /// Sets the observer of iterations, which may stop the training.
    pub fn observer(mut self, observer: impl FnMut(&Iteration) -> ControlFlow<()> + Send + 'a) -> Self {
        self.observer = Box::new(observer);
        self
    }

    /// Reads a file in the format of the data, plain or gzip.
    pub fn read_file(&self, path: impl AsRef<Path>) -> Result<Dataset> {
        Ok(self.training.format.read_file(path.as_ref(), None)?)
    }

    /// Trains on a file.
    pub fn train_file(self, path: impl AsRef<Path>) -> Result<ModelFile> {
        let (data, digest) = read_digest(&*self.training.format, path.as_ref(), None)?;
        self.run(data, digest)
    }

    /// Trains on data in memory; the model file has no digest of them.
    pub fn train(self, data: Dataset) -> Result<ModelFile> {
        self.run(data, String::new())
    }

    fn run(mut self, data: Dataset, digest: String) -> Result<ModelFile> {
        let config = self.training.resolved().map_err(Error::format("config"))?;
        self.training.check(&config).map_err(|fault| Error::config(fault.path, fault.message))?;
        let data = Arc::new(data);
        let mut seconds = Seconds::default();
        train(self.training, data, self.validation, None, digest, &mut seconds, &mut *self.observer)
    }
}

impl ModelFile {
    /// The names of the predicted labels of each sequence; the data must have the model's schema.
    pub fn tag(&self, data: Dataset) -> Result<Vec<Vec<&str>>> {
        let data = Arc::new(data);
        let schema = self.contents.features.schema();
        let encoded = self.contents.features.encode(data.clone())?;
        let predictions = self.predict(&encoded, Query::Labels(self.settings.decode))?;
        let names = predictions.into_iter().enumerate().map(|(i, prediction)| {
            let shape = data.shape(i);
            let kind = |n: usize| &schema.kinds()[shape.kind(n) as usize];
            prediction.labels.iter().enumerate().map(|(n, &y)| kind(n).labels.name(y)).collect()
        });
        Ok(names.collect())
    }

    /// [`ModelFile::tag`] for a file in the format of the training data.
    pub fn tag_file(&self, path: impl AsRef<Path>) -> Result<Vec<Vec<&str>>> {
        self.tag(self.read_file(path)?)
    }

    /// The scores of the model on a labelled file in the format of the training data.
    pub fn evaluate_file(&self, path: impl AsRef<Path>) -> Result<Scores> {
        Ok(Scores::new(self, Arc::new(self.read_file(path)?), self.settings.decode)?)
    }

    /// Reads a file in the format and with the schema of the training data.
    pub fn read_file(&self, path: impl AsRef<Path>) -> Result<Dataset> {
        Ok(self.settings.format.read_file(path.as_ref(), Some(self.contents.features.schema()))?)
    }
}
