use toml::Value;

use super::KeyPath;

/// The entry of a config to which an error of deserialization is due.
///
/// Trait objects lose the place of an error, so it is found by leaving out: at each level the entry without
/// which the message changes is to blame, and the search goes on inside of it until no entry changes the
/// message. For something missing inside of something required, the table where adding it changes the
/// message is to blame.
pub(crate) fn locate(root: &Value, message: &str, parse: &dyn Fn(&Value) -> Result<(), String>) -> KeyPath {
    let mut search = Search { root: root.clone(), message, parse };
    let mut path = KeyPath::default();
    while let Some(child) = search.guilty_child(&path) {
        path = path.child(child);
    }
    search.lacking(&path).unwrap_or(path)
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
            // From the end, so that the numbers of earlier list elements stay what they are.
            dropped.iter().rev().for_each(|child| drop(path.child(child).remove(&mut root)));
            root
        };
        for child in &children {
            if self.is_gone(&without(std::slice::from_ref(child))) {
                return Some(child.clone());
            }
        }
        // Several children have the same fault: the first of them, and the others are out of the way.
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

    /// The first table at or below `path` that has room for what the message misses.
    fn lacking(&self, path: &KeyPath) -> Option<KeyPath> {
        let missing = self.message.strip_prefix("missing field `")?.strip_suffix('`')?;
        let here = path.get(&self.root)?;
        let changes = |key: &str| {
            let mut root = self.root.clone();
            path.child(key).set(&mut root, Value::Boolean(true));
            let now = (self.parse)(&root).err();
            now.is_none_or(|now| now != self.message && !now.starts_with("unknown field"))
        };
        // A table that is changed by any key whatever has names for keys, not fields.
        if here.get(missing).is_none() && here.is_table() && changes(missing) && !changes("no such field") {
            return Some(path.clone());
        }
        names(here).iter().find_map(|child| self.lacking(&path.child(child)))
    }

    fn is_gone(&self, root: &Value) -> bool {
        // Where one thing is missing, leaving out another only changes what is missed first.
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
