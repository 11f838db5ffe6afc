use std::hash::BuildHasher as _;
use std::sync::OnceLock;

use hashbrown::{DefaultHashBuilder, HashTable};
use serde::{Deserialize, Serialize};

use crate::data::packed_strings::PackedStrings;
use crate::error::{Error, Result};

/// Index of a label or a symbol in its [`Alphabet`].
pub type Label = u32;

/// Index of names, numbered in the order of their first appearance.
///
/// Each name is stored once; the hash table holds indices only and is built at the first lookup.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(try_from = "PackedStrings", into = "PackedStrings")]
pub struct Alphabet {
    names: PackedStrings,
    numbers: OnceLock<HashTable<Label>>,
    hasher: DefaultHashBuilder,
}

impl Alphabet {
    /// Builds an alphabet of the given names; a repeated name keeps its first index.
    pub fn new<S: AsRef<str>>(names: impl IntoIterator<Item = S>) -> Self {
        let mut alphabet = Alphabet::default();
        for name in names {
            alphabet.intern(name.as_ref());
        }
        alphabet
    }

    /// Returns the index of `name`, and adds the name if it is new.
    pub fn intern(&mut self, name: &str) -> Label {
        self.numbers();
        let Alphabet { names, numbers, hasher } = self;
        let numbers = numbers.get_mut().expect("it was made on the line above");
        let found = numbers.entry(
            hasher.hash_one(name),
            |&number| names.get(number as usize) == name,
            |&number| hasher.hash_one(names.get(number as usize)),
        );
        let number = Label::try_from(names.len()).expect("an alphabet holds at most 2³² names");
        let number = *found.or_insert(number).get();
        if number as usize == names.len() {
            names.push(name);
        }
        number
    }

    /// Returns the index of `name`, if it is known.
    pub fn number(&self, name: &str) -> Option<Label> {
        let same = |&number: &Label| self.names.get(number as usize) == name;
        self.numbers().find(self.hasher.hash_one(name), same).copied()
    }

    /// Hash table from names to indices, built when first needed.
    fn numbers(&self) -> &HashTable<Label> {
        self.numbers.get_or_init(|| {
            let hash = |number: &Label| self.hasher.hash_one(self.names.get(*number as usize));
            let mut numbers = HashTable::with_capacity(self.names.len());
            for number in 0..self.names.len() as Label {
                let name = self.names.get(number as usize);
                let same = |&other: &Label| self.names.get(other as usize) == name;
                numbers.entry(hash(&number), same, hash).or_insert(number);
            }
            numbers
        })
    }

    /// Name of a label; panics on an index that this alphabet did not assign.
    pub fn name(&self, label: Label) -> &str {
        self.names.get(label as usize)
    }

    /// All names, by index.
    pub fn names(&self) -> &PackedStrings {
        &self.names
    }

    /// Number of names.
    pub fn len(&self) -> usize {
        self.names.len()
    }

    /// True if there is no name.
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

impl TryFrom<PackedStrings> for Alphabet {
    type Error = Error;

    fn try_from(names: PackedStrings) -> Result<Self> {
        let alphabet = Alphabet { names, ..Alphabet::default() };
        if alphabet.numbers().len() < alphabet.len() {
            return Err(Error::data("a name occurs twice in an alphabet"));
        }
        Ok(alphabet)
    }
}

impl From<Alphabet> for PackedStrings {
    fn from(alphabet: Alphabet) -> Self {
        alphabet.names
    }
}
