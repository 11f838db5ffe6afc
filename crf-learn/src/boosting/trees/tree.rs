use serde::{Deserialize, Serialize};

use super::Row;

/// Regression tree; its first node is the root.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Tree {
    pub(crate) nodes: Vec<Node>,
    /// Sets of values that tests refer to, as bits.
    pub(crate) sets: Vec<u64>,
}

/// Node of a tree: a question or a value.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub(crate) enum Node {
    /// Value of the tree.
    Leaf(f64),
    /// Leads to the node `left` if the test passes, else to the node after it.
    Split {
        /// Attribute of the question; the index after the last attribute stands for the previous
        /// label.
        attribute: u32,
        /// Test of the bin.
        test: Test,
        /// Index of the first of both children.
        left: u32,
        /// Decrease of the weighted squared error by the split.
        gain: f64,
    },
}

/// Test of a bin.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub(crate) enum Test {
    /// Passes bins below this one.
    Below(u32),
    /// Passes bins of the set that starts at this word of `Tree::sets`.
    Among(u32),
}

impl Tree {
    /// Creates a tree of one leaf.
    pub(crate) fn constant(value: f64) -> Self {
        Tree { nodes: vec![Node::Leaf(value)], sets: Vec::new() }
    }

    /// Result of a test.
    #[inline]
    pub(crate) fn passes(&self, test: Test, bin: u32) -> bool {
        match test {
            Test::Below(b) => bin < b,
            Test::Among(set) => {
                let word = self.sets.get(set as usize + bin as usize / 64);
                word.is_some_and(|word| word >> (bin % 64) & 1 == 1)
            }
        }
    }

    /// Evaluates the tree at a position for several previous labels: calls `f` with each value and
    /// the labels it holds for. Labels are separated only where the tree asks for them. Reorders
    /// the labels.
    pub(crate) fn walk(
        &self,
        row: &Row,
        n_attributes: u32,
        previous: &mut [u16],
        f: &mut impl FnMut(&[u16], f64),
    ) {
        self.walk_from(0, row, n_attributes, previous, f);
    }

    fn walk_from(
        &self,
        mut node: usize,
        row: &Row,
        n_attributes: u32,
        previous: &mut [u16],
        f: &mut impl FnMut(&[u16], f64),
    ) {
        loop {
            match self.nodes[node] {
                Node::Leaf(value) => return f(previous, value),
                Node::Split { attribute, test, left, .. } if attribute < n_attributes => {
                    node = left as usize + usize::from(!self.passes(test, row.bin(attribute)));
                }
                Node::Split { test, left, .. } => {
                    let mut n_left = 0;
                    for i in 0..previous.len() {
                        if self.passes(test, u32::from(previous[i])) {
                            previous.swap(i, n_left);
                            n_left += 1;
                        }
                    }
                    let (yes, no) = previous.split_at_mut(n_left);
                    if yes.is_empty() || no.is_empty() {
                        node = left as usize + usize::from(yes.is_empty());
                        continue;
                    }
                    self.walk_from(left as usize, row, n_attributes, yes, f);
                    return self.walk_from(left as usize + 1, row, n_attributes, no, f);
                }
            }
        }
    }

    /// True if every node leads to later nodes, and every question is about one of `n_attributes`
    /// attributes or the previous label.
    pub(crate) fn is_sound(&self, n_attributes: usize) -> bool {
        let is_sound = |(index, node): (usize, &Node)| match *node {
            Node::Leaf(value) => value.is_finite(),
            Node::Split { attribute, left, .. } => {
                let left = left as usize;
                attribute as usize <= n_attributes && left > index && left + 1 < self.nodes.len()
            }
        };
        !self.nodes.is_empty() && self.nodes.iter().enumerate().all(is_sound)
    }
}
