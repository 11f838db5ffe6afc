use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Many names in one piece of memory.
///
/// Text formats hold them as a list, binary ones as one piece of text and the length of each name.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Names {
    text: String,
    ends: Vec<usize>,
}

impl Names {
    /// Adds a name at the end.
    pub fn push(&mut self, name: &str) {
        self.text.push_str(name);
        self.ends.push(self.text.len());
    }

    /// The name with the given number; panics when there is none.
    pub fn get(&self, number: usize) -> &str {
        let start = if number == 0 { 0 } else { self.ends[number - 1] };
        &self.text[start..self.ends[number]]
    }

    /// All names in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &str> + Clone {
        (0..self.len()).map(|number| self.get(number))
    }

    /// How many names there are.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there is no name.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }
}

impl<S: AsRef<str>> FromIterator<S> for Names {
    fn from_iter<I: IntoIterator<Item = S>>(names: I) -> Self {
        let mut all = Names::default();
        names.into_iter().for_each(|name| all.push(name.as_ref()));
        all
    }
}

impl Serialize for Names {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if serializer.is_human_readable() {
            return serializer.collect_seq(self.iter());
        }
        let lengths: Vec<usize> = self.iter().map(str::len).collect();
        (&self.text, lengths).serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Names {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        if deserializer.is_human_readable() {
            return Ok(Vec::<String>::deserialize(deserializer)?.iter().collect());
        }
        let (text, lengths) = <(String, Vec<usize>)>::deserialize(deserializer)?;
        let (mut ends, mut end) = (lengths, 0_usize);
        for length in &mut ends {
            end = end.saturating_add(*length);
            *length = end;
            if !text.is_char_boundary(end) {
                return Err(D::Error::custom("names do not fit their text"));
            }
        }
        if end != text.len() {
            return Err(D::Error::custom("names do not fill their text"));
        }
        Ok(Names { text, ends })
    }
}
