//! The search for the entry that causes an error.

use toml::Value;

use super::KeyPath;

/// The path of the entry that causes an error of deserialization.
///
/// Trait objects lose the path of an error, so it is found by omission: at each level the entry
/// without which the message changes is the cause, and the search continues inside it until no
/// entry changes the message. For a missing field, the cause is the table where adding the field
/// changes the message.
pub(crate) fn locate(root: &Value, message: &str, parse: &dyn Fn(&Value) -> Result<(), String>) -> KeyPath {
    let mut search = Search { root: root.clone(), message, parse };
    let mut path = KeyPath::default();
    while let Some(child) = search.guilty_child(&path) {
        path = path.child(child);
    }
    search.table_without_field(&path).unwrap_or(path)
}

struct Search<'a> {
    root: Value,
    message: &'a str,
    parse: &'a dyn Fn(&Value) -> Result<(), String>,
}

impl Search<'_> {
    fn guilty_child(&mut self, path: &KeyPath) -> Option<String> {
        // Without its `type` a plugin has only one message left, so that comes last.
        let mut children = names(path.get(&self.root)?);
        children.sort_by_key(|child| child == "type");
        let without = |dropped: &[String]| {
            let mut root = self.root.clone();
            // From the end, so that the indices of earlier list elements stay the same.
            dropped.iter().rev().for_each(|child| drop(path.child(child).remove(&mut root)));
            root
        };
        for child in &children {
            if self.is_gone(&without(std::slice::from_ref(child))) {
                return Some(child.clone());
            }
        }
        // Several children have the same fault: the first is the answer, and the others are
        // removed.
        children.retain(|child| child != "type");
        for n in 1..children.len() {
            let (fewer, kept) = (without(&children[n - 1..]), without(&children[n..]));
            if self.is_gone(&fewer) && !self.is_gone(&kept) {
                self.root = kept;
                return Some(children[n - 1].clone());
            }
        }
        None
    }

    /// The first table at or below `path` that lacks the missing field of the message.
    fn table_without_field(&self, path: &KeyPath) -> Option<KeyPath> {
        let missing = self.message.strip_prefix("missing field `")?.strip_suffix('`')?;
        let here = path.get(&self.root)?;
        let changes = |key: &str| {
            let mut root = self.root.clone();
            path.child(key).set(&mut root, Value::Boolean(true));
            let now = (self.parse)(&root).err();
            now.is_none_or(|now| now != self.message && !now.starts_with("unknown field"))
        };
        // A table that accepts any key has names for keys, not fields.
        if here.get(missing).is_none() && here.is_table() && changes(missing) && !changes("no such field") {
            return Some(path.clone());
        }
        names(here).iter().find_map(|child| self.table_without_field(&path.child(child)))
    }

    fn is_gone(&self, root: &Value) -> bool {
        // If a field is missing, omitting another only changes which is reported first.
        let missing = |message: &str| message.starts_with("missing field");
        match (self.parse)(root) {
            Ok(()) => true,
            Err(now) => now != self.message && !(missing(&now) && missing(self.message)),
        }
    }
}

fn names(value: &Value) -> Vec<String> {
    match value {
        Value::Table(table) => table.keys().cloned().collect(),
        Value::Array(array) => (0..array.len()).map(|i| i.to_string()).collect(),
        _ => Vec::new(),
    }
}
