use crf_core::{Shape, Tables};

/// Arc consistency: which labels are possible, as far as messages of zeros and ones tell.
///
/// A label is impossible if a neighbour has no possible label that may stand beside it. On a forest
/// nothing else is impossible; on other graphs more labels may be. Mohr and Henderson (1986): each
/// label counts its supports at each neighbour, and a count of zero removes it. This takes O(E·L²)
/// on any graph.
#[derive(Debug, Default)]
pub(crate) struct PossibleLabels {
    supports: Vec<u32>,       // laid out by `Shape::message_offset`
    removed: Vec<(u32, u32)>, // (node, label) whose neighbours have yet to be told
}

impl PossibleLabels {
    /// Sets the potentials of all labels found impossible to −∞.
    ///
    /// `forbids` tells which edges have a table with −∞: no other can make a label impossible.
    pub(crate) fn forbid_others(
        &mut self,
        shape: &Shape<'_>,
        tables: &Tables<'_>,
        forbids: impl Fn(usize) -> bool,
        node: &mut [f64],
    ) {
        let PossibleLabels { supports, removed } = self;
        supports.clear();
        supports.resize(shape.message_offset(shape.n_nodes()), 0);
        removed.clear();
        for n in 0..shape.n_nodes() {
            let n_labels = shape.card(n);
            for k in 0..shape.degree(n) {
                let end = shape.incidence(n, k);
                if !forbids(end.edge as usize) {
                    continue;
                }
                let table = tables.of(end.edge as usize);
                let supports = &mut supports[shape.message_offset(n) + k * n_labels..][..n_labels];
                for (pair, _) in table.iter().enumerate().filter(|(_, x)| **x > f64::NEG_INFINITY) {
                    let y = if end.is_head { pair % n_labels } else { pair / shape.card(end.other as usize) };
                    supports[y] += 1;
                }
                for (y, _) in supports.iter().enumerate().filter(|(_, supports)| **supports == 0) {
                    node[shape.node_offset(n) + y] = f64::NEG_INFINITY;
                }
            }
            let own = &node[shape.node_offset(n)..shape.node_offset(n + 1)];
            let impossible = own.iter().enumerate().filter(|(_, x)| **x == f64::NEG_INFINITY);
            removed.extend(impossible.map(|(y, _)| (n as u32, y as u32)));
        }
        while let Some((n, y)) = removed.pop() {
            let (n, y) = (n as usize, y as usize);
            for k in 0..shape.degree(n) {
                let end = shape.incidence(n, k);
                if !forbids(end.edge as usize) {
                    continue;
                }
                let (other, table) = (end.other as usize, tables.of(end.edge as usize));
                let (n_labels, n_other_labels) = (shape.card(n), shape.card(other));
                for z in 0..n_other_labels {
                    let pair = if end.is_head { z * n_labels + y } else { y * n_other_labels + z };
                    if table[pair] == f64::NEG_INFINITY {
                        continue;
                    }
                    let supports = &mut supports[end.opposite + z];
                    *supports -= 1;
                    let potential = &mut node[shape.node_offset(other) + z];
                    if *supports == 0 && *potential > f64::NEG_INFINITY {
                        *potential = f64::NEG_INFINITY;
                        removed.push((end.other, z as u32));
                    }
                }
            }
        }
    }
}
