//! Paths of keys in a config.

use std::fmt;

use toml::Value;

/// The path of a value in a config: `dataset.copies`, `methods."CRF, l2".learner.l2`, `metrics.0`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct KeyPath(Vec<String>);

impl KeyPath {
    /// Reads dotted keys as TOML spells them; the index of a list element counts from 0.
    pub fn parse(text: &str) -> Result<Self, String> {
        let wrong = || format!("`{text}` is not a dotted key such as `dataset.copies`");
        let mut table: toml::Table = toml::from_str(&format!("{text} = 0")).map_err(|_| wrong())?;
        let mut steps = Vec::new();
        loop {
            let mut entries = table.into_iter();
            let (Some((key, value)), None) = (entries.next(), entries.next()) else { return Err(wrong()) };
            steps.push(key);
            match value {
                Value::Table(inner) => table = inner,
                _ => return Ok(KeyPath(steps)),
            }
        }
    }

    /// Reads `key=value` as far as the value; a quoted key may have signs of equality itself.
    pub fn split(text: &str) -> Result<(Self, &str), String> {
        let mut sides = text.match_indices('=').map(|(i, sign)| (text[..i].trim(), &text[i + sign.len()..]));
        let read = |(key, value)| Some((KeyPath::parse(key).ok()?, value));
        let first = sides.clone().next().ok_or("expected key=value")?;
        sides.find_map(read).map_or_else(|| Err(KeyPath::parse(first.0).err().unwrap_or_default()), Ok)
    }

    /// The path of the given steps.
    pub fn new<S: Into<String>>(steps: impl IntoIterator<Item = S>) -> Self {
        KeyPath(steps.into_iter().map(Into::into).collect())
    }

    /// The keys from the root down.
    pub fn steps(&self) -> &[String] {
        &self.0
    }

    /// The paths that this one stands for in `root`: itself, unless it has a step `*`, which stands
    /// for every key that has the rest of the path below it.
    pub fn matches(&self, root: &Value) -> Vec<KeyPath> {
        let Some(star) = self.0.iter().position(|step| step == "*") else { return vec![self.clone()] };
        let Some(Value::Table(table)) = KeyPath(self.0[..star].to_vec()).get(root) else { return Vec::new() };
        let named = table.keys().map(|key| {
            let mut path = self.clone();
            path.0[star].clone_from(key);
            path
        });
        named.flat_map(|path| path.matches(root)).filter(|path| path.get(root).is_some()).collect()
    }

    /// This path with one more step.
    pub fn child(&self, step: impl ToString) -> Self {
        self.join(&KeyPath(vec![step.to_string()]))
    }

    /// This path followed by another.
    pub fn join(&self, below: &KeyPath) -> Self {
        KeyPath(self.0.iter().chain(&below.0).cloned().collect())
    }

    /// The path of the parent, and the last step.
    pub fn split_last(&self) -> Option<(KeyPath, &str)> {
        let (last, rest) = self.0.split_last()?;
        Some((KeyPath(rest.to_vec()), last))
    }

    /// The value at the end of the path.
    pub fn get<'v>(&self, root: &'v Value) -> Option<&'v Value> {
        self.0.iter().try_fold(root, |value, step| match value {
            Value::Table(table) => table.get(step),
            Value::Array(array) => array.get(step.parse::<usize>().ok()?),
            _ => None,
        })
    }

    fn get_mut<'v>(&self, root: &'v mut Value) -> Option<&'v mut Value> {
        self.0.iter().try_fold(root, |value, step| match value {
            Value::Table(table) => table.get_mut(step),
            Value::Array(array) => array.get_mut(step.parse::<usize>().ok()?),
            _ => None,
        })
    }

    /// Sets the value at the end of the path; its parent must exist.
    pub fn set(&self, root: &mut Value, value: Value) -> bool {
        if let Some(slot) = self.get_mut(root) {
            *slot = value;
            return true;
        }
        let Some((parent, last)) = self.split_last() else { return false };
        match parent.get_mut(root) {
            Some(Value::Table(table)) => table.insert(last.to_owned(), value).is_none(),
            _ => false,
        }
    }

    /// Removes the value at the end of the path and returns it.
    pub fn remove(&self, root: &mut Value) -> Option<Value> {
        let (parent, last) = self.split_last()?;
        match parent.get_mut(root)? {
            Value::Table(table) => table.remove(last),
            Value::Array(array) => {
                let index = last.parse::<usize>().ok().filter(|&index| index < array.len())?;
                Some(array.remove(index))
            }
            _ => None,
        }
    }

    /// The longest beginning of the path that exists in `root`.
    pub fn existing(&self, root: &Value) -> KeyPath {
        let mut path = self.clone();
        while path.get(root).is_none() {
            path.0.pop();
        }
        path
    }
}

impl fmt::Display for KeyPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bare = |step: &str| {
            !step.is_empty() && step.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_')
        };
        for (i, step) in self.0.iter().enumerate() {
            let dot = if i == 0 { "" } else { "." };
            if bare(step) {
                write!(f, "{dot}{step}")?;
                continue;
            }
            write!(f, "{dot}\"")?;
            for c in step.chars() {
                match c {
                    '"' | '\\' => write!(f, "\\{c}")?,
                    c if c.is_control() => write!(f, "\\u{:04x}", u32::from(c))?,
                    c => write!(f, "{c}")?,
                }
            }
            write!(f, "\"")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quoted_keys_survive_parsing_and_printing() {
        let path = KeyPath::parse("methods.\"CRF, l2\".learner.l2").expect("a path");
        assert_eq!(path.steps(), ["methods", "CRF, l2", "learner", "l2"]);
        assert_eq!(path.to_string(), "methods.\"CRF, l2\".learner.l2");
        assert!(KeyPath::parse("a b").is_err());
        assert!(KeyPath::parse("a = 1\nb").is_err());
    }

    #[test]
    fn any_key_is_read_back_and_may_have_signs_of_equality() {
        for step in ["a=b", "λ = 2", "tab\t, quote \" and \\", "\u{7f}\0", "", "#"] {
            let path = KeyPath::new(["methods", step, "l2"]);
            let text = format!("{path} = 1=2");
            assert_eq!(KeyPath::split(&text), Ok((path, " 1=2")), "{text}");
        }
        assert_eq!(KeyPath::split("a"), Err("expected key=value".to_owned()));
        assert!(
            KeyPath::split("a b = c = d").is_err_and(|message| message.starts_with("`a b` is not a dotted"))
        );
    }

    #[test]
    fn a_star_stands_for_all_that_have_the_rest() {
        let root = Value::Table(toml::from_str("m.a.l.r = 1\nm.b.l.s = 1\nm.c.l.r = 2").expect("a table"));
        let found = |text: &str| {
            let paths = KeyPath::parse(text).expect("a path").matches(&root);
            paths.iter().map(KeyPath::to_string).collect::<Vec<_>>()
        };
        assert_eq!(found("m.\"*\".l.r"), ["m.a.l.r", "m.c.l.r"]);
        assert_eq!(found("m.\"*\".\"*\".s"), ["m.b.l.s"]);
        assert_eq!(found("m.\"*\".t"), [""; 0]);
        assert_eq!(found("m.b.x"), ["m.b.x"], "without a star it is for others to say that it is unknown");
    }
}
