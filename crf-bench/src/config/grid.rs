//! Grids of settings: the sweep of an experiment and the candidates of `--tune`.

use crf_core::{nearest, require_memory};
use toml::{Table, Value};

use super::{ConfigFault, KeyPath, SweepValues};
use crate::located_toml::{ConfigRoot, Refused, try_value};

/// Keys of a config with the list of values that each takes.
pub(crate) struct Grid<'a> {
    /// The name of the grid in messages.
    pub(crate) called: &'static str,
    /// The path of the grid in its file.
    pub(crate) path: KeyPath,
    /// The keys with their lists.
    pub(crate) lists: &'a Table,
    /// The parts of the config that may be varied.
    pub(crate) over: &'static [&'static str],
    /// The smallest number of values in a list, as a number and in words.
    pub(crate) least: (usize, &'static str),
}

impl Grid<'_> {
    /// The product of all lists, the first key changing slowest: the values, and the config with
    /// these values.
    ///
    /// Every config is read and checked.
    pub(crate) fn points<C: ConfigRoot>(
        &self,
        config: &Value,
    ) -> Result<Vec<(SweepValues, Value)>, ConfigFault> {
        // Each combination has a config of its own, with several bytes for each of its text.
        let size = 8 * config.to_string().len();
        let lengths = self.lists.values().map(|values| values.as_array().map_or(1, Vec::len).max(1) as f64);
        let n_points: f64 = lengths.product();
        require_memory(
            n_points * size as f64,
            &format!("{n_points} combinations of values"),
            "list fewer values",
        )
        .map_err(|error| ConfigFault::value(self.path.clone(), error))?;
        let mut product = vec![(SweepValues::default(), config.clone())];
        for (key, values) in self.lists {
            let here = self.path.child(key);
            let paths = self.paths(key, config).map_err(|message| ConfigFault::key(here.clone(), message))?;
            let values = self.values::<C>(config, &paths, values, &here)?;
            let longer = product.iter().flat_map(|(settings, config)| {
                values.iter().map(|value| {
                    let mut config = config.clone();
                    for path in &paths {
                        path.set(&mut config, value.clone());
                    }
                    (settings.with(key, value), config)
                })
            });
            product = longer.collect();
        }
        for (settings, config) in &product {
            let read = C::read(config).and_then(|read| read.check(config).map_err(|fault| fault.message));
            read.map_err(|message| ConfigFault::value(self.path.clone(), format!("{settings}: {message}")))?;
        }
        Ok(product)
    }

    /// The paths that a key stands for: several if a step is `*`.
    fn paths(&self, key: &str, config: &Value) -> Result<Vec<KeyPath>, String> {
        let path = KeyPath::parse(key)?;
        let first = path.steps()[0].as_str();
        if self.over.contains(&first) {
            let paths = path.matches(config);
            return if paths.is_empty() {
                Err(format!("`{key}` is in no part of the file"))
            } else {
                Ok(paths)
            };
        }
        if let Some(near) = nearest(first, self.over.iter().copied()) {
            return Err(format!("unknown key `{key}`, did you mean `{near}`?"));
        }
        let names: Vec<String> = self.over.iter().map(|name| format!("`{name}`")).collect();
        let (last, others) = names.split_last().expect("a grid goes over something");
        let over = format!("{} and {last}", others.join(", "));
        Err(format!("{} goes over settings of {over}, not `{key}`", self.called))
    }

    /// The values of a key, after each was tried at all its paths.
    fn values<'v, C: ConfigRoot>(
        &self,
        config: &Value,
        paths: &[KeyPath],
        values: &'v Value,
        here: &KeyPath,
    ) -> Result<&'v [Value], ConfigFault> {
        let (least, in_words) = self.least;
        let Some(values) = values.as_array().filter(|values| values.len() >= least) else {
            let message = format!("{} needs a list of at least {in_words}, got {values}", self.called);
            return Err(ConfigFault::value(here.clone(), message));
        };
        for (i, value) in values.iter().enumerate() {
            for path in paths {
                try_value::<C>(config, path, value).map_err(|refused| match refused {
                    Refused::Key(message) => ConfigFault::key(here.clone(), message),
                    Refused::Value(message) => ConfigFault::value(here.child(i), message),
                })?;
            }
            if values[..i].contains(value) {
                return Err(ConfigFault::value(here.child(i), format!("the value {value} is listed twice")));
            }
        }
        Ok(values)
    }
}
