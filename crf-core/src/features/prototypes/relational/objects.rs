use std::collections::{BTreeMap, HashMap, HashSet};
use std::fmt;
use std::sync::Arc;

use super::plan::Term;
use super::syntax::{Expression, Quoted};
use crate::data::schema::{ChannelKind, Schema};
use crate::error::{Error, Result};

/// Objects that the names of real channels imply: `robot1.x` is field `x` of object `robot1`.
///
/// The class of an object is its name without the digits at its end; a config may define more
/// classes.
#[derive(Debug)]
pub(super) struct Objects {
    channels: HashMap<String, usize>,
    classes: BTreeMap<String, Vec<Arc<str>>>,
    objects: Vec<Arc<str>>, // in the order of the channels
}

impl Objects {
    pub(super) fn new(schema: &Schema, more: &BTreeMap<String, Vec<String>>) -> Result<Self> {
        let mut found = Objects { channels: HashMap::new(), classes: BTreeMap::new(), objects: Vec::new() };
        for (c, channel) in schema.channels().iter().enumerate() {
            if channel.kind != ChannelKind::Real {
                continue;
            }
            found.channels.insert(channel.name.clone(), c);
            if let Some((object, _)) = channel.name.rsplit_once('.')
                && found.object(object).is_none()
            {
                let object: Arc<str> = object.into();
                found.objects.push(object.clone());
                found.classes.entry(class_name(&object).to_owned()).or_default().push(object);
            }
        }
        for (class, members) in more {
            let mut objects: Vec<Arc<str>> = Vec::new();
            for member in members {
                match found.object(member) {
                    Some(object) => objects.push(object.clone()),
                    None => objects.extend(found.class(member)?.iter().cloned()),
                }
            }
            let mut seen = HashSet::new();
            objects.retain(|object| seen.insert(object.clone()));
            if found.classes.insert(class.clone(), objects).is_some() {
                let want = "names that are no classes yet";
                return Err(Error::setting("classes", want, format!("`{class}`")));
            }
        }
        Ok(found)
    }

    pub(super) fn object(&self, name: &str) -> Option<&Arc<str>> {
        self.objects.iter().find(|object| &***object == name)
    }

    /// Members of a class.
    pub(super) fn class(&self, name: &str) -> Result<&[Arc<str>]> {
        let known = || Error::unknown("class of objects", name, self.classes.keys().map(String::as_str));
        Ok(self.classes.get(name).ok_or_else(known)?)
    }

    /// Channel of an object's field.
    pub(super) fn field(&self, object: &str, field: &str) -> Result<usize> {
        if self.object(object).is_none() {
            return Err(Error::unknown("object", object, self.objects.iter().map(|object| &**object)));
        }
        self.channels.get(&format!("{object}.{field}")).copied().ok_or_else(|| {
            let fields = self.channels.keys().filter_map(|name| name.rsplit_once('.'));
            let mut known: Vec<&str> =
                fields.filter(|entry| entry.0 == object).map(|entry| entry.1).collect();
            known.sort_unstable();
            Error::unknown("field", field, known).at(format!("object `{object}`"))
        })
    }

    /// Channel of the given name.
    pub(super) fn channel(&self, name: &str) -> Option<usize> {
        self.channels.get(name).copied()
    }

    /// Adds the objects that an expression names, directly or through bindings; `free` names are
    /// variables.
    pub(super) fn named(
        &self,
        expression: &Expression,
        bindings: &Bindings,
        free: &[&str],
        named: &mut HashSet<Arc<str>>,
    ) {
        if let Expression::Name(word) | Expression::Field(word, _) = expression {
            let object = match bindings.get(&word.text) {
                _ if free.contains(&word.text.as_str()) => None,
                Some(Binding::Object(object)) => Some(object),
                Some(_) => None,
                None => self.object(&word.text),
            };
            named.extend(object.cloned());
        }
        expression.for_each_part(|part| self.named(part, bindings, free, named));
    }

    /// Names of all channels and objects.
    pub(super) fn names(&self) -> Vec<&str> {
        let mut names: Vec<&str> = self.channels.keys().map(String::as_str).collect();
        names.extend(self.objects.iter().map(|object| &**object));
        names.sort_unstable();
        names
    }
}

fn class_name(object: &str) -> &str {
    match object.trim_end_matches(|c: char| c.is_ascii_digit()).trim_end_matches('_') {
        "" => object,
        class => class,
    }
}

/// Bindings of names: of the variables of a rule, or of the parameters of a definition.
#[derive(Debug, Clone, Default)]
pub(super) struct Bindings(Vec<(String, Binding)>);

/// Binding of one name.
#[derive(Debug, Clone)]
pub(super) enum Binding {
    Object(Arc<str>),
    Number(f64),
    Term(Term),
}

impl Bindings {
    pub(super) fn push(&mut self, name: &str, binding: Binding) {
        self.0.push((name.to_owned(), binding));
    }

    pub(super) fn pop(&mut self) {
        self.0.pop();
    }

    /// Binding of a name; the last one counts.
    pub(super) fn get(&self, name: &str) -> Option<&Binding> {
        self.0.iter().rfind(|entry| entry.0 == name).map(|entry| &entry.1)
    }

    pub(super) fn number(&self, name: &str) -> Option<f64> {
        match self.get(name) {
            Some(Binding::Number(value)) => Some(*value),
            _ => None,
        }
    }

    /// True if a variable is already bound to the object.
    pub(super) fn has_object(&self, object: &str) -> bool {
        self.0.iter().any(|entry| matches!(&entry.1, Binding::Object(other) if &**other == object))
    }

    /// Writes what a name is bound to, or the name itself.
    pub(super) fn write(&self, name: &str, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.get(name) {
            Some(Binding::Object(object)) => write!(f, "{}", Quoted(object)),
            Some(Binding::Number(value)) => write!(f, "{value}"),
            Some(Binding::Term(_)) | None if name == "y" => f.write_str("`y`"),
            Some(Binding::Term(_)) | None => write!(f, "{}", Quoted(name)),
        }
    }

    /// Label of a rule, with the values of variables put in: `i`, or `marks {i}`.
    pub(super) fn label(&self, label: &str) -> String {
        let value = |name: &str| match self.get(name) {
            Some(Binding::Object(object)) => Some(object.to_string()),
            Some(Binding::Number(value)) => Some(value.to_string()),
            Some(Binding::Term(_)) | None => None,
        };
        if let Some(value) = value(label) {
            return value;
        }
        let names = self.0.iter().map(|entry| &entry.0);
        names.fold(label.to_owned(), |label, name| match value(name) {
            Some(value) => label.replace(&format!("{{{name}}}"), &value),
            None => label,
        })
    }
}
