use std::fmt;

use toml::Value;

/// The way to a value in a config: `dataset.copies`, `methods."CRF, l2".learner.l2`, `metrics.0`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct KeyPath(Vec<String>);

impl KeyPath {
    /// Reads dotted keys as TOML spells them; a place in a list is its number, from 0.
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

    /// The path of the given steps.
    pub fn of<S: Into<String>>(steps: impl IntoIterator<Item = S>) -> Self {
        KeyPath(steps.into_iter().map(Into::into).collect())
    }

    /// The keys from the root down.
    pub fn steps(&self) -> &[String] {
        &self.0
    }

    /// This path and one step more.
    pub fn child(&self, step: impl ToString) -> Self {
        self.join(&KeyPath(vec![step.to_string()]))
    }

    /// This path and another below it.
    pub fn join(&self, below: &KeyPath) -> Self {
        KeyPath(self.0.iter().chain(&below.0).cloned().collect())
    }

    /// The path of what holds this value, and the last step.
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

    /// Puts a value at the end of the path; what holds it must be there already.
    pub fn set(&self, root: &mut Value, value: Value) -> bool {
        if let Some(place) = self.get_mut(root) {
            *place = value;
            return true;
        }
        let Some((parent, last)) = self.split_last() else { return false };
        match parent.get_mut(root) {
            Some(Value::Table(table)) => table.insert(last.to_owned(), value).is_none(),
            _ => false,
        }
    }

    /// Takes the value at the end of the path out.
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
            if bare(step) { write!(f, "{dot}{step}")? } else { write!(f, "{dot}{step:?}")? }
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
}
