use std::hash::BuildHasher as _;
use std::sync::OnceLock;

use hashbrown::{DefaultHashBuilder, HashTable};
use serde::{Deserialize, Serialize};

use crate::data::packed_strings::PackedStrings;

/// The number of a label (or of a symbol) in its [`Alphabet`].
pub type Label = u32;

/// Names numbered in the order in which they first appeared.
///
/// Each name is stored once; the table holds numbers only, and is made when a name is first looked up.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(from = "PackedStrings", into = "PackedStrings")]
pub struct Alphabet {
    names: PackedStrings,
    numbers: OnceLock<HashTable<Label>>,
    hasher: DefaultHashBuilder,
}

impl Alphabet {
    /// An alphabet of the given names; a repeated name keeps its first number.
    pub fn new<S: AsRef<str>>(names: impl IntoIterator<Item = S>) -> Self {
        let mut alphabet = Alphabet::default();
        for name in names {
            alphabet.intern(name.as_ref());
        }
        alphabet
    }

    /// The number of `name`, which is added when it is new.
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

    /// The number of `name`, if it is known.
    pub fn number(&self, name: &str) -> Option<Label> {
        let same = |&number: &Label| self.names.get(number as usize) == name;
        self.numbers().find(self.hasher.hash_one(name), same).copied()
    }

    /// The table, which a name that comes twice does not spoil: its first number is found.
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

    /// The name of a label; panics on a number that this alphabet never gave out.
    pub fn name(&self, label: Label) -> &str {
        self.names.get(label as usize)
    }

    /// All names in the order of their numbers.
    pub fn names(&self) -> &PackedStrings {
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

impl From<PackedStrings> for Alphabet {
    fn from(names: PackedStrings) -> Self {
        Alphabet { names, ..Alphabet::default() }
    }
}

impl From<Alphabet> for PackedStrings {
    fn from(alphabet: Alphabet) -> Self {
        alphabet.names
    }
}
