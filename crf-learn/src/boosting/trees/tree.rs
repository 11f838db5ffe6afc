use serde::{Deserialize, Serialize};

use super::Row;

/// A regression tree; its first node is the root.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Tree {
    pub(crate) nodes: Vec<Node>,
    /// Sets of values, bit by bit, that tests refer to.
    pub(crate) sets: Vec<u64>,
}

/// A question, or an answer.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub(crate) enum Node {
    /// The value of the tree.
    Leaf(f64),
    /// Leads to `left` where the test says yes, and to the node behind it otherwise.
    Split {
        /// The attribute asked about; that behind the last one is the label before.
        attribute: u32,
        /// The question.
        test: Test,
        /// The number of the first of both nodes.
        left: u32,
        /// By how much the split lowered the weighted squared error.
        gain: f64,
    },
}

/// A question about a bin.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub(crate) enum Test {
    /// Is it below this one?
    Below(u32),
    /// Is it one of the set that starts here?
    Among(u32),
}

impl Tree {
    /// A tree that knows nothing.
    pub(crate) fn constant(value: f64) -> Self {
        Tree { nodes: vec![Node::Leaf(value)], sets: Vec::new() }
    }

    /// The answer to a question.
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

    /// Evaluates the tree at a position for several labels before: calls `see` with the value and the labels it holds for, which
    /// are told apart only where the tree asks for them. The labels are put in another order.
    pub(crate) fn walk(
        &self,
        row: &Row,
        n_attributes: u32,
        previous: &mut [u16],
        see: &mut impl FnMut(&[u16], f64),
    ) {
        self.walk_from(0, row, n_attributes, previous, see);
    }

    fn walk_from(
        &self,
        mut at: usize,
        row: &Row,
        n_attributes: u32,
        previous: &mut [u16],
        see: &mut impl FnMut(&[u16], f64),
    ) {
        loop {
            match self.nodes[at] {
                Node::Leaf(value) => return see(previous, value),
                Node::Split { attribute, test, left, .. } if attribute < n_attributes => {
                    at = left as usize + usize::from(!self.passes(test, row.bin(attribute)));
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
                        at = left as usize + usize::from(yes.is_empty());
                        continue;
                    }
                    self.walk_from(left as usize, row, n_attributes, yes, see);
                    return self.walk_from(left as usize + 1, row, n_attributes, no, see);
                }
            }
        }
    }

    /// Whether every node leads to nodes behind it, and every question is about one of so many attributes or the label before.
    pub(crate) fn is_sound(&self, n_attributes: usize) -> bool {
        let sound = |(at, node): (usize, &Node)| match *node {
            Node::Leaf(value) => value.is_finite(),
            Node::Split { attribute, left, .. } => {
                let left = left as usize;
                attribute as usize <= n_attributes && left > at && left + 1 < self.nodes.len()
            }
        };
        !self.nodes.is_empty() && self.nodes.iter().enumerate().all(sound)
    }
}
