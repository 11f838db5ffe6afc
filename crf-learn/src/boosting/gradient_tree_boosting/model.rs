use std::collections::HashMap;
use std::sync::Arc;

use crf_core::{
    BoundModel, EdgeTables, EncodedDataset, Error, FeatureMap, FittedFeatures, Model, Potentials, Result,
    Scratch, TableVersion, Tables,
};
use serde::{Deserialize, Serialize};

use crate::boosting::gradient_tree_boosting::loss::TreeView;
use crate::boosting::trees::{Attributes, Node, Row, Test, Tree};

/// A chain whose scores F(y′, y, X) are sums of regression trees, several for each label y.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TreeModel {
    map: Arc<FeatureMap>,
    attributes: Attributes,
    asks: bool,       // true if trees may ask for the previous label
    trees: Vec<Tree>, // [rounds × labels]
}

impl TreeModel {
    pub(crate) fn new(map: Arc<FeatureMap>, attributes: Attributes, asks: bool, trees: Vec<Tree>) -> Self {
        TreeModel { map, attributes, asks, trees }
    }

    fn n_labels(&self) -> usize {
        self.map.schema().n_labels(0)
    }

    /// All leaves as conjunctions of questions, with the sum of the values of equal ones.
    ///
    /// With these as features the model is a log-linear one (Dietterich & Ashenfelter: "sum of
    /// regression trees is equivalent to CRF").
    fn conjunctions(&self) -> Vec<(String, f64)> {
        let labels = self.map.schema().labels();
        let mut sums: HashMap<String, f64> = HashMap::new();
        for (number, tree) in self.trees.iter().enumerate() {
            let label = format!("y={}", labels.name((number % self.n_labels()) as u32));
            let mut paths = vec![(0, label)];
            while let Some((node, path)) = paths.pop() {
                match tree.nodes[node] {
                    Node::Leaf(value) => *sums.entry(path).or_default() += value,
                    Node::Split { attribute, test, left, .. } => {
                        for (next, yes) in [(left as usize, true), (left as usize + 1, false)] {
                            paths.push((
                                next,
                                format!("{path} ∧ {}", self.words(tree, attribute as usize, test, yes)),
                            ));
                        }
                    }
                }
            }
        }
        let mut all: Vec<(String, f64)> = sums.into_iter().collect();
        all.sort_by(|a, b| b.1.abs().total_cmp(&a.1.abs()).then_with(|| a.0.cmp(&b.0)));
        all
    }

    /// A question with its answer, in words.
    fn words(&self, tree: &Tree, attribute: usize, test: Test, yes: bool) -> String {
        let (features, labels) = (self.map.state(), self.map.schema().labels());
        let is_previous = attribute == self.attributes.len();
        if let Test::Below(cut) = test {
            return self.attributes.below(attribute, cut, yes, features);
        }
        let n_values = if is_previous { labels.len() + 1 } else { self.attributes.n_bins(attribute) };
        let chosen = (0..n_values as u32).filter(|&bin| tree.passes(test, bin));
        let names: Vec<String> = chosen
            .map(|bin| match bin {
                _ if !is_previous => self.attributes.symbol(attribute, bin, features).to_owned(),
                bin if (bin as usize) < labels.len() => format!("y'={}", labels.name(bin)),
                _ => "first".to_owned(),
            })
            .collect();
        match (&names[..], yes) {
            ([one], true) => one.clone(),
            ([one], false) => format!("¬{one}"),
            (several, _) => format!("{}({})", if yes { "" } else { "¬" }, several.join(" ∨ ")),
        }
    }

    /// Total gain of the questions about each attribute.
    fn importances(&self) -> Vec<(String, f64)> {
        let mut gains = vec![0.0; self.attributes.len() + 1];
        for node in self.trees.iter().flat_map(|tree| &tree.nodes) {
            if let Node::Split { attribute, gain, .. } = *node {
                gains[attribute as usize] += gain;
            }
        }
        let name = |a: usize| match a == self.attributes.len() {
            true => "y'".to_owned(),
            false => self.attributes.name(a, self.map.state()),
        };
        let used = gains.iter().enumerate().filter(|(_, gain)| **gain > 0.0);
        let mut all: Vec<(String, f64)> =
            used.map(|(a, &gain)| (format!("gain by {}", name(a)), gain)).collect();
        all.sort_by(|a, b| b.1.total_cmp(&a.1));
        all
    }
}

#[typetag::serde(name = "trees")]
impl Model for TreeModel {
    fn bind<'a>(&'a self, x: &'a EncodedDataset) -> Result<Box<dyn BoundModel + 'a>> {
        if x.data().schema() != self.map.schema() || !x.data().is_chains() {
            return Err(Error::data(
                "the trees were grown for other channels, labels or graphs than the data have",
            ));
        }
        let view = TreeView { attributes: &self.attributes, x, n_labels: self.n_labels() };
        let longest = (0..x.len()).map(|i| x.data().range(i).len()).max().unwrap_or(0);
        let size = view.n_labels * view.n_labels;
        Ok(Box::new(BoundTrees {
            model: self,
            view,
            starts: (0..=longest.max(1)).map(|e| e * size).collect(),
            numbers: (0..longest as u32).collect(),
            version: TableVersion::of(&vec![0.0; size]),
            zeros: vec![0.0; size],
        }))
    }

    fn restore(&mut self, features: &FittedFeatures) -> Result<()> {
        Arc::make_mut(&mut self.map).restore(features)?;
        self.attributes.restore(self.map.state())?;
        let sound = |tree: &Tree| tree.is_sound(&self.attributes);
        if self.trees.iter().all(sound) && self.trees.len().is_multiple_of(self.n_labels()) {
            return Ok(());
        }
        Err(Error::data("a tree of the model leads nowhere"))
    }

    /// Reports the gains of attributes, then the leaves as conjunctions with their values.
    fn describe(&self, top: usize, out: &mut dyn FnMut(&str, f64)) {
        let all = self.importances().into_iter().chain(self.conjunctions());
        all.take(top).for_each(|(name, value)| out(&name, value));
    }
}

/// A tree model bound to a dataset.
struct BoundTrees<'a> {
    model: &'a TreeModel,
    view: TreeView<'a>,
    starts: Vec<usize>,
    numbers: Vec<u32>,
    zeros: Vec<f64>,
    version: TableVersion, // of the zeros
}

/// Memory for the potentials of one sequence.
#[derive(Debug, Default)]
struct Buffer {
    node: Vec<f64>,
    tables: Vec<f64>,
    labels: Vec<u16>,
    row: Row,
}

impl BoundModel for BoundTrees<'_> {
    fn fill<'s>(&'s self, i: usize, scratch: &'s mut Scratch) -> Result<Potentials<'s>> {
        let BoundTrees { model, view, .. } = self;
        let (shape, n) = (view.x.data().shape(i), view.n_labels);
        let size = n * n;
        let Buffer { node, tables, labels, row } = scratch.get();
        row.attach(view.attributes);
        node.clear();
        node.resize(shape.node_offset(shape.n_nodes()), 0.0);
        tables.clear();
        tables.resize(if model.asks { shape.edge_offset(shape.n_edges()) } else { 0 }, 0.0);
        labels.clear();
        labels.extend(0..view.none());
        for (t, position) in view.x.data().range(i).enumerate() {
            view.read(position, row);
            let mut none = [view.none()];
            let (previous, table): (&mut [u16], &mut [f64]) = match t.checked_sub(1).filter(|_| model.asks) {
                None => (&mut none, &mut []),
                Some(e) => (labels, &mut tables[e * size..(e + 1) * size]),
            };
            for (number, tree) in model.trees.iter().enumerate() {
                let k = number % n;
                view.add(tree, k, row, previous, &mut node[t * n + k], table);
            }
        }
        let tables = match model.asks {
            true => {
                let of_edge = EdgeTables::Each(&self.numbers[..shape.n_edges()]);
                let starts = &self.starts[..=shape.n_edges()];
                let version = TableVersion::of(tables);
                Tables { values: tables, starts, of_edge, relations: &[], version }
            }
            false => Tables {
                values: &self.zeros,
                starts: &self.starts[..=1],
                of_edge: EdgeTables::Shared,
                relations: &[],
                version: self.version,
            },
        };
        Potentials::new(shape, node, tables)
    }
}
