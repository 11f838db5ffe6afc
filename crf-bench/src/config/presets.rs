//! Presets: named pieces of an experiment file, and list elements that are repeated for several
//! values.

use toml::{Table, Value};

use super::{ConfigFault, KeyPath};

/// The table of named pieces.
pub(super) const PRESETS: &str = "presets";
/// The first character of a text that stands for a named piece.
const MARK: char = '@';
/// The key of a table that stands for several values.
const EACH: &str = "each";

/// Replaces names by their pieces, and repeats elements of lists for each of their values.
///
/// `learner = "@retrained"` stands for the table `presets.retrained`. An element of a list such as
/// `{ type = "mle", l2 = { each = [0.1, 1.0] } }` stands for two elements.
pub(super) fn expand(config: &mut Value) -> Result<(), ConfigFault> {
    let presets = match KeyPath::new([PRESETS]).remove(config) {
        None => Table::new(),
        Some(Value::Table(presets)) => presets,
        Some(_) => return Err(ConfigFault::value(KeyPath::new([PRESETS]), "`presets` must be a table")),
    };
    expand_below(config, &KeyPath::default(), &presets, &mut Vec::new())
}

fn expand_below(
    value: &mut Value,
    path: &KeyPath,
    presets: &Table,
    open: &mut Vec<String>,
) -> Result<(), ConfigFault> {
    match value {
        Value::String(text) if text.starts_with(MARK) => {
            let name = text[MARK.len_utf8()..].to_owned();
            let Some(preset) = presets.get(&name) else {
                let known: Vec<&String> = presets.keys().collect();
                return Err(ConfigFault::unknown(path.clone(), "preset", &name, &known));
            };
            if open.contains(&name) {
                let message = format!("the preset `{name}` stands within itself");
                return Err(ConfigFault::value(path.clone(), message));
            }
            *value = preset.clone();
            open.push(name);
            expand_below(value, path, presets, open)?;
            open.pop();
        }
        Value::Table(table) => {
            for (key, value) in table.iter_mut() {
                // Sentences hold no names.
                if !matches!(key.as_str(), "title" | "text" | "paper" | "caption") {
                    expand_below(value, &path.child(key), presets, open)?;
                }
            }
        }
        Value::Array(array) => {
            for (i, value) in array.iter_mut().enumerate() {
                expand_below(value, &path.child(i), presets, open)?;
            }
            let elements = std::mem::take(array);
            *array = elements.into_iter().flat_map(for_each_value).collect();
        }
        _ => {}
    }
    Ok(())
}

/// The elements that an element stands for: the product over its keys with several values, the
/// first changing slowest.
fn for_each_value(element: Value) -> Vec<Value> {
    let values =
        |table: &Table| table.iter().find_map(|(key, value)| Some((key.clone(), each(value)?.clone())));
    let Some((key, values)) = element.as_table().and_then(values) else { return vec![element] };
    let with = |value: Value| {
        let mut element = element.clone();
        KeyPath::new([&key]).set(&mut element, value);
        element
    };
    values.into_iter().map(with).flat_map(for_each_value).collect()
}

/// The values that `{ each = […] }` stands for.
fn each(value: &Value) -> Option<&Vec<Value>> {
    let table = value.as_table().filter(|table| table.len() == 1)?;
    table.get(EACH)?.as_array()
}

/// The path in the file that a path of the expanded config comes from, if it leads through a named
/// piece.
pub(super) fn origin(file: &Value, path: &KeyPath) -> Option<KeyPath> {
    let n_presets = KeyPath::new([PRESETS]).get(file)?.as_table()?.len();
    // A piece may stand within a piece; a circle of them ends after all have been visited.
    let way = std::iter::successors(leads_to(file, path), |path| leads_to(file, path));
    way.take(n_presets).last()
}

/// The path within the piece that a text on the way of `path` stands for.
fn leads_to(file: &Value, path: &KeyPath) -> Option<KeyPath> {
    let steps = path.steps();
    (0..=steps.len()).rev().find_map(|n| {
        let name = KeyPath::new(&steps[..n]).get(file)?.as_str()?.strip_prefix(MARK)?;
        Some(KeyPath::new([PRESETS, name]).join(&KeyPath::new(&steps[n..])))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn expanded(text: &str) -> Result<Value, String> {
        let mut config = Value::Table(text.parse().expect("TOML"));
        expand(&mut config).map(|()| config).map_err(|fault| format!("{}: {}", fault.path, fault.message))
    }

    #[test]
    fn a_named_piece_stands_where_it_is_used() {
        let text = "a = '@one'\nb = ['@one', { c = '@two' }]\n[presets]\none = { x = '@two' }\ntwo = 2";
        let want = "a = { x = 2 }\nb = [{ x = 2 }, { c = 2 }]";
        assert_eq!(expanded(text), expanded(want));
    }

    #[test]
    fn an_element_stands_for_each_of_its_values() {
        let text = "a = [{ t = 'm', l1 = { each = [1, 2] }, l2 = { each = [3, 4] } }, 5]";
        let want =
            "a = [{ t = 'm', l1 = 1, l2 = 3 }, { t = 'm', l1 = 1, l2 = 4 }, { t = 'm', l1 = 2, l2 = 3 },
            { t = 'm', l1 = 2, l2 = 4 }, 5]"
                .replace('\n', " ");
        assert_eq!(expanded(text), expanded(&want));
    }

    #[test]
    fn what_cannot_be_put_in_place_is_named() {
        assert!(
            expanded("a = '@tow'\n[presets]\ntwo = 2").expect_err("a typo").contains("did you mean `two`")
        );
        let round = expanded("a = '@one'\n[presets]\none = ['@one']").expect_err("a circle");
        assert!(round.contains("stands within itself"), "{round}");
    }

    #[test]
    fn a_path_goes_back_to_the_piece_it_leads_through() {
        let file = Value::Table("a = { b = '@one' }\npresets = { one = 1 }".parse().expect("TOML"));
        let path = origin(&file, &KeyPath::new(["a", "b", "c"])).expect("a piece");
        assert_eq!(path, KeyPath::new(["presets", "one", "c"]));
        assert!(origin(&file, &KeyPath::new(["a"])).is_none());
        let file = "a = '@one'\npresets = { one = { b = '@two' }, two = 2 }".parse().expect("TOML");
        let path = origin(&Value::Table(file), &KeyPath::new(["a", "b", "c"])).expect("a piece");
        assert_eq!(path, KeyPath::new(["presets", "two", "c"]));
        let circle = "a = '@one'\npresets = { one = '@two', two = '@one' }".parse().expect("TOML");
        assert!(origin(&Value::Table(circle), &KeyPath::new(["a"])).is_some());
    }
}
