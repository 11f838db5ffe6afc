use serde::de::Error as _;
use serde::ser::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::numeric::serde_numbers;

/// List of names in one block of memory.
///
/// Text formats store a list of names, binary formats one text and the length of each name.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PackedStrings {
    text: String,
    ends: Vec<usize>,
}

impl PackedStrings {
    /// Appends a name.
    pub fn push(&mut self, name: &str) {
        self.text.push_str(name);
        self.ends.push(self.text.len());
    }

    /// Name with the given index; panics if there is none.
    #[inline]
    pub fn get(&self, number: usize) -> &str {
        let start = if number == 0 { 0 } else { self.ends[number - 1] };
        &self.text[start..self.ends[number]]
    }

    /// All names in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &str> + Clone {
        (0..self.len()).map(|number| self.get(number))
    }

    /// Number of names.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// True if there is no name.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }
}

impl<S: AsRef<str>> FromIterator<S> for PackedStrings {
    fn from_iter<I: IntoIterator<Item = S>>(names: I) -> Self {
        let mut all = PackedStrings::default();
        names.into_iter().for_each(|name| all.push(name.as_ref()));
        all
    }
}

/// Binary form: one text, and the length of each name.
#[derive(Serialize, Deserialize)]
struct Packed<T> {
    text: T,
    #[serde(with = "serde_numbers")]
    lengths: Vec<u32>,
}

impl Serialize for PackedStrings {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if serializer.is_human_readable() {
            return serializer.collect_seq(self.iter());
        }
        let lengths = self.iter().map(|name| u32::try_from(name.len())).collect::<Result<_, _>>();
        let lengths = lengths.map_err(|_| S::Error::custom("a name is longer than 2³² bytes"))?;
        Packed { text: &self.text, lengths }.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for PackedStrings {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        if deserializer.is_human_readable() {
            return Ok(Vec::<String>::deserialize(deserializer)?.iter().collect());
        }
        let Packed::<String> { text, lengths } = Packed::deserialize(deserializer)?;
        let mut ends = Vec::with_capacity(lengths.len());
        let mut end: usize = 0;
        for length in lengths {
            end = end.saturating_add(length as usize);
            ends.push(end);
            if !text.is_char_boundary(end) {
                return Err(D::Error::custom("names do not fit their text"));
            }
        }
        if end != text.len() {
            return Err(D::Error::custom("names do not fill their text"));
        }
        Ok(PackedStrings { text, ends })
    }
}
