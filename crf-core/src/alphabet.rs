use std::collections::HashMap;

use serde::{Deserialize, Serialize};

/// The number of a label (or of a symbol) in its [`Alphabet`].
pub type Label = u32;

/// Names numbered in the order in which they first appeared.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(from = "Vec<String>", into = "Vec<String>")]
pub struct Alphabet {
    names: Vec<String>,
    numbers: HashMap<String, Label>,
}

impl Alphabet {
    /// An alphabet of the given names; a repeated name keeps its first number.
    pub fn new<S: Into<String>>(names: impl IntoIterator<Item = S>) -> Self {
        let mut alphabet = Alphabet::default();
        for name in names {
            alphabet.intern(&name.into());
        }
        alphabet
    }

    /// The number of `name`, which is added when it is new.
    pub fn intern(&mut self, name: &str) -> Label {
        if let Some(&number) = self.numbers.get(name) {
            return number;
        }
        let number = Label::try_from(self.names.len()).expect("an alphabet holds at most 2³² names");
        self.names.push(name.to_owned());
        self.numbers.insert(name.to_owned(), number);
        number
    }

    /// The number of `name`, if it is known.
    pub fn number(&self, name: &str) -> Option<Label> {
        self.numbers.get(name).copied()
    }

    /// The name of a label; panics on a number that this alphabet never gave out.
    pub fn name(&self, label: Label) -> &str {
        &self.names[label as usize]
    }

    /// All names in the order of their numbers.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// How many names there are.
    pub fn len(&self) -> usize {
        self.names.len()
    }

    /// Whether there is no name at all.
    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }
}

impl PartialEq for Alphabet {
    fn eq(&self, other: &Self) -> bool {
        self.names == other.names
    }
}

impl Eq for Alphabet {}

impl From<Vec<String>> for Alphabet {
    fn from(names: Vec<String>) -> Self {
        Alphabet::new(names)
    }
}

impl From<Alphabet> for Vec<String> {
    fn from(alphabet: Alphabet) -> Self {
        alphabet.names
    }
}
