use serde::{Deserialize, Serialize};

use super::{Attributes, Row};

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

    /// True if every node leads to later nodes, every value and gain is finite, and every question
    /// is one that can be asked: whether a number is below one of its cuts, or whether a symbol or
    /// the previous label is in a set.
    pub(crate) fn is_sound(&self, attributes: &Attributes) -> bool {
        let can_ask = |attribute: usize, test: Test| match test {
            _ if attribute > attributes.len() => false,
            Test::Among(_) => attribute == attributes.len() || !attributes.is_number(attribute),
            Test::Below(cut) => attribute < attributes.len() && attributes.has_cut(attribute, cut),
        };
        let is_sound = |(index, node): (usize, &Node)| match *node {
            Node::Leaf(value) => value.is_finite(),
            Node::Split { attribute, test, left, gain } => {
                let left = left as usize;
                let leads_on = left > index && left + 1 < self.nodes.len();
                can_ask(attribute as usize, test) && leads_on && gain.is_finite()
            }
        };
        !self.nodes.is_empty() && self.nodes.iter().enumerate().all(is_sound)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]
mod tests {
    use super::*;
    use crf_testing::problems::{Draw, Encoded, data};

    // A model file with a question about cut 61 of three made `crf inspect` panic.
    #[test]
    fn questions_that_cannot_be_asked_make_no_sound_tree() {
        let draw = Draw { sequences: 3, length: 8, labels: 2, unlabelled: 0, seed: 1 };
        let encoded = Encoded::new(r#"[{"state": "value"}, {"state": "equals"}]"#, data(&draw));
        let attributes = Attributes::new(encoded.map.state(), &encoded.corpus, 8);
        let is_sound = |attribute: usize, test| {
            let split = Node::Split { attribute: attribute as u32, test, left: 1, gain: 0.0 };
            let nodes = vec![split, Node::Leaf(0.0), Node::Leaf(1.0)];
            Tree { nodes, sets: vec![1] }.is_sound(&attributes)
        };
        let previous = attributes.len();
        let number = (0..previous).find(|&a| attributes.is_number(a)).unwrap();
        let symbol = (0..previous).find(|&a| !attributes.is_number(a)).unwrap();
        let n_cuts = attributes.n_bins(number) as u32 - 1;
        assert!((1..=n_cuts).all(|cut| is_sound(number, Test::Below(cut))) && n_cuts > 0);
        assert!([0, n_cuts + 1, 61, u32::MAX].iter().all(|&cut| !is_sound(number, Test::Below(cut))));
        assert!(is_sound(symbol, Test::Among(0)) && is_sound(previous, Test::Among(0)));
        assert!(!is_sound(number, Test::Among(0)) && !is_sound(previous + 1, Test::Among(0)));
        assert!(!is_sound(symbol, Test::Below(1)) && !is_sound(previous, Test::Below(1)));
    }
}
