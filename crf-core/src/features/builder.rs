use crate::features::prototype::Prototype;
use crate::features::prototypes::{First, One};
use crate::features::spec::{FeatureSpec, Features, Link, Pairs};

/// Lists of features in Rust, as configs write them:
/// `Features::new().intercept().transition().state(RawValue::default())`.
impl Features {
    /// No features.
    pub fn new() -> Self {
        Features::default()
    }

    /// A feature of each label: `"intercept"`.
    pub fn intercept(self) -> Self {
        self.state(One {})
    }

    /// A feature of each label at the first position: `"start"`.
    pub fn start(self) -> Self {
        self.state(First {})
    }

    /// A feature of each pair of neighbouring labels: `"transition"`.
    pub fn transition(self) -> Self {
        self.transition_of(One {})
    }

    /// Observation functions tied to the label of their position: `{ state = … }`.
    pub fn state(self, of: impl Prototype + 'static) -> Self {
        self.with(Link::State(None), Box::new(of))
    }

    /// Observation functions tied to the labels at both ends of an edge: `{ transition = … }`.
    pub fn transition_of(self, of: impl Prototype + 'static) -> Self {
        self.with(Link::Transition(None), Box::new(of))
    }

    /// Ties the functions of the last entry only to labels that occur with them in the training
    /// data: `pairs = "observed"`.
    pub fn observed(mut self) -> Self {
        if let Some(last) = self.0.last_mut() {
            last.pairs = Pairs::Observed;
        }
        self
    }

    fn with(mut self, link: Link, of: Box<dyn Prototype>) -> Self {
        self.0.push(FeatureSpec { link, of, pairs: Pairs::All });
        self
    }
}
