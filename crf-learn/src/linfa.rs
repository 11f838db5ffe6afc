//! Adapter: learners behind linfa's traits, so that a chain can stand where linfa takes a
//! classifier of rows.
//!
//! Records are [`Sequences`]: rows of numbers, one position each, and the lengths of the sequences
//! that they form. Targets are labels of any ordered type, one per row.
//!
//! ```
//! use crf_inference::ForwardBackward;
//! use crf_learn::linfa::{Chain, Sequences};
//! use crf_learn::{Mle, Minimisation};
//! use linfa::DatasetBase;
//! use linfa::traits::{Fit, Predict};
//! use ndarray::array;
//!
//! let rows = array![[0.1], [0.9], [1.2], [0.2], [-0.1], [1.1]];
//! let labels = array!["low", "high", "high", "low", "low", "high"];
//! let train = DatasetBase::new(Sequences::new(rows, vec![3, 3])?, labels);
//!
//! let learner = Mle(Minimisation { l2: 0.1, ..Minimisation::default() });
//! let model = Chain::new(learner, ForwardBackward::default()).fit(&train)?;
//! let predicted = model.predict(&train);
//! assert_eq!(predicted, train.targets);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use std::ops::ControlFlow;
use std::sync::Arc;

use crf_core::prototypes::{One, RawValue};
use crf_core::{
    Alphabet, Channel, ChannelKind, DatasetBuilder, Decode, EncodedDataset, Error, FeatureSpec, Features,
    FitContext, FittedFeatures, Inference, Label, Learner, Link, Model, Pairs, Prepared, Result, Schema,
    Seed, Value, encode, evaluate,
};
use linfa::DatasetBase;
use linfa::dataset::{AsSingleTargets, Records};
use linfa::traits::{Fit, Predict, PredictInplace};
use ndarray::{Array1, Array2, ArrayView1};

/// Error of the toolkit or of linfa.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ChainError {
    /// Error of the toolkit.
    #[error(transparent)]
    Crf(#[from] Error),
    /// Error of linfa.
    #[error(transparent)]
    Linfa(#[from] linfa::Error),
}

/// Rows of numbers, and the lengths of the sequences that they form.
#[derive(Debug, Clone, PartialEq)]
pub struct Sequences {
    rows: Array2<f64>, // [positions × channels]
    lengths: Vec<usize>,
}

impl Sequences {
    /// Creates consecutive sequences; their lengths must sum to the number of rows.
    pub fn new(rows: Array2<f64>, lengths: Vec<usize>) -> Result<Self> {
        let sum: usize = lengths.iter().sum();
        if sum != rows.nrows() {
            return Err(Error::data(format!(
                "{} rows for sequences of {sum} positions in all",
                rows.nrows()
            )));
        }
        Ok(Sequences { rows, lengths })
    }

    /// Converts the rows to a dataset, with their labels, if any.
    fn encode(&self, schema: &Arc<Schema>, labels: Option<&[Label]>) -> Result<crf_core::Dataset> {
        let mut data = DatasetBuilder::new(schema.clone());
        let mut rows = self.rows.rows().into_iter().enumerate();
        let mut values = Vec::new();
        for &length in &self.lengths {
            for (t, row) in rows.by_ref().take(length) {
                values.clear();
                values.extend(row.iter().map(|&number| Value::Real(number)));
                data.push(&values, labels.map(|labels| labels[t]))?;
            }
            data.end_chain()?;
        }
        Ok(data.finish())
    }
}

impl Records for Sequences {
    type Elem = f64;

    fn nsamples(&self) -> usize {
        self.rows.nrows()
    }

    fn nfeatures(&self) -> usize {
        self.rows.ncols()
    }
}

/// A learner with everything it needs to learn from rows of numbers.
#[derive(Debug)]
pub struct Chain {
    /// The learner.
    pub learner: Box<dyn Learner>,
    /// Inference, in training and for predictions.
    pub inference: Arc<dyn Inference>,
    /// Features: intercepts, transitions and the value of every column, unless changed. Column 0 is
    /// the channel `x0`.
    pub features: Features,
    /// Decoding: which labelling is predicted.
    pub decode: Decode,
    /// Seed of all random numbers.
    pub seed: u64,
}

impl Chain {
    /// Creates a learner with the default features.
    pub fn new(learner: impl Learner + 'static, inference: impl Inference + 'static) -> Self {
        let feature = |link, of| FeatureSpec { link, of, pairs: Pairs::All };
        let features = Features(vec![
            feature(Link::State(None), Box::new(One {})),
            feature(Link::Transition(None), Box::new(One {})),
            feature(Link::State(None), Box::<RawValue>::default()),
        ]);
        let (learner, inference) = (Box::new(learner), Arc::new(inference));
        Chain { learner, inference, features, decode: Decode::default(), seed: 0 }
    }
}

impl<C: Ord + Clone, T: AsSingleTargets<Elem = C>> Fit<Sequences, T, ChainError> for Chain {
    type Object = FittedChain<C>;

    fn fit(&self, dataset: &DatasetBase<Sequences, T>) -> Result<FittedChain<C>, ChainError> {
        self.learner.check()?;
        self.features.check()?;
        self.decode.check(&*self.inference)?;
        let (x, targets): (_, ArrayView1<'_, C>) = (dataset.records(), dataset.as_single_targets());
        if x.nsamples() != targets.len() {
            return Err(linfa::Error::MismatchedShapes(x.nsamples(), targets.len()).into());
        }
        let mut classes = targets.to_vec();
        classes.sort();
        classes.dedup();
        let number = |class| classes.partition_point(|other| other < class) as Label;
        let labels: Vec<Label> = targets.iter().map(number).collect();
        let channel = |k| Channel { name: format!("x{k}"), kind: ChannelKind::Real };
        let names = Alphabet::new((0..classes.len()).map(|class| class.to_string()));
        let schema = Arc::new(Schema::chain((0..x.nfeatures()).map(channel).collect(), names)?);
        let data = x.encode(&schema, Some(&labels))?;
        let prepared = Prepared::fit(&self.features, Arc::new(data), None, &encode)?;
        let mut run_on = |_: &_| ControlFlow::Continue(());
        let mut run = FitContext::new(Seed::new(self.seed), &mut run_on);
        let model = self.learner.fit(&prepared.problem(&*self.inference), &mut run)?.model;
        let (features, inference, decode) = (prepared.features, self.inference.clone(), self.decode);
        Ok(FittedChain { model, features, inference, decode, classes })
    }
}

/// A trained model with everything it needs to label rows of numbers.
#[derive(Debug)]
pub struct FittedChain<C> {
    model: Box<dyn Model>,
    features: FittedFeatures,
    inference: Arc<dyn Inference>,
    decode: Decode,
    classes: Vec<C>, // by label
}

impl<C: Clone> FittedChain<C> {
    /// The model.
    pub fn model(&self) -> &dyn Model {
        &*self.model
    }

    /// Predicts the label of each row; an error if the rows do not fit the model.
    pub fn try_predict(&self, x: &Sequences) -> Result<Array1<C>> {
        let n_channels = self.features.schema().channels().len();
        if x.nfeatures() != n_channels {
            return Err(Error::data(format!("expected rows of {n_channels} numbers, got {}", x.nfeatures())));
        }
        let encoded: EncodedDataset =
            self.features.encode(Arc::new(x.encode(self.features.schema(), None)?))?;
        let answers = evaluate(&*self.model, &encoded, &*self.inference, self.decode)?;
        Ok(answers.predicted.iter().map(|&label| self.classes[label as usize].clone()).collect())
    }
}

/// linfa's predictions cannot fail, so these panic where [`FittedChain::try_predict`] has an error.
impl<C: Clone> PredictInplace<Sequences, Array1<C>> for FittedChain<C> {
    fn predict_inplace<'a>(&'a self, x: &'a Sequences, y: &mut Array1<C>) {
        *y = self.try_predict(x).unwrap_or_else(|error| panic!("{error}"));
    }

    fn default_target(&self, x: &Sequences) -> Array1<C> {
        Array1::from_elem(x.nsamples(), self.classes[0].clone())
    }
}

/// linfa's predictions cannot fail, so these panic where [`FittedChain::try_predict`] has an error.
impl<C: Clone> Predict<&Sequences, Array1<C>> for FittedChain<C> {
    fn predict(&self, x: &Sequences) -> Array1<C> {
        self.try_predict(x).unwrap_or_else(|error| panic!("{error}"))
    }
}
