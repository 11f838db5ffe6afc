/// Priority queue of nodes that is exact to within a factor of 256: one list of nodes for each
/// power of 256.
///
/// Inserting, moving and taking are a few assignments each. Nodes of one list are taken in the
/// order in which they were inserted, and nodes inserted together are mostly close to each other in
/// memory. A finer order needs fewer visits, but takes longer.
#[derive(Debug, Default)]
pub(crate) struct ResidualQueue {
    priority: Vec<f64>,   // [nodes] 0 if not queued
    links: Vec<[u32; 2]>, // [nodes] previous and next node of the list, END if there is none
    lists: Vec<[u32; 2]>, // [N_LISTS] first and last node
    top: usize,           // no list above this one has nodes
}

/// End of a list.
const END: u32 = u32::MAX;
/// Number of lists. Priorities are at most 1, which belongs to the last list; those below 2⁻⁵⁶
/// share the first.
const N_LISTS: usize = 8;

/// Index of the list of a priority.
fn list_of(priority: f64) -> usize {
    let exponent = (priority.to_bits() >> 52) as usize; // positive numbers have no sign bit
    exponent.saturating_sub(1023 - (8 * N_LISTS - 1)).min(8 * N_LISTS - 1) / 8
}

impl ResidualQueue {
    /// Empties the queue and makes it one of `n_nodes` nodes.
    pub(crate) fn reset(&mut self, n_nodes: usize) {
        self.priority.clear();
        self.priority.resize(n_nodes, 0.0);
        self.links.clear();
        self.links.resize(n_nodes, [END; 2]);
        self.lists.clear();
        self.lists.resize(N_LISTS, [END; 2]);
        self.top = 0;
    }

    /// Raises the priority of a node to at least `priority`.
    #[inline]
    pub(crate) fn raise(&mut self, n: u32, priority: f64) {
        let old = self.priority[n as usize];
        if priority <= old {
            return;
        }
        self.priority[n as usize] = priority;
        let list = list_of(priority);
        if old > 0.0 {
            if list_of(old) == list {
                return;
            }
            self.unlink(n, list_of(old));
        }
        let last = std::mem::replace(&mut self.lists[list][1], n);
        self.links[n as usize] = [last, END];
        match last {
            END => self.lists[list][0] = n,
            _ => self.links[last as usize][1] = n,
        }
        self.top = self.top.max(list);
    }

    /// Removes a node whose priority is within a factor of 256 of the highest, and returns both.
    #[inline]
    pub(crate) fn take(&mut self) -> Option<(u32, f64)> {
        while self.lists[self.top][0] == END {
            self.top = self.top.checked_sub(1)?;
        }
        let n = self.lists[self.top][0];
        self.unlink(n, self.top);
        Some((n, std::mem::take(&mut self.priority[n as usize])))
    }

    /// Highest priority of all nodes.
    pub(crate) fn highest(&self) -> f64 {
        self.priority.iter().copied().fold(0.0, f64::max)
    }

    /// Removes a node from a list.
    fn unlink(&mut self, n: u32, list: usize) {
        let [previous, next] = self.links[n as usize];
        match previous {
            END => self.lists[list][0] = next,
            _ => self.links[previous as usize][1] = next,
        }
        match next {
            END => self.lists[list][1] = previous,
            _ => self.links[next as usize][0] = previous,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crf_testing::cases;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(cases(256))]

        #[test]
        fn nodes_come_out_by_the_order_of_magnitude_of_their_priority(
            raises in proptest::collection::vec((0..20_u32, prop_oneof![0.0..=1.0_f64, 1e-30..1e-10_f64]), 0..100),
        ) {
            let mut queue = ResidualQueue::default();
            let mut want = [0.0_f64; 20];
            queue.reset(20);
            for (n, priority) in raises {
                queue.raise(n, priority);
                want[n as usize] = want[n as usize].max(priority);
            }
            while let Some((n, priority)) = queue.take() {
                prop_assert_eq!(priority, want[n as usize]);
                let highest = want.iter().copied().fold(0.0, f64::max);
                prop_assert!(256.0 * priority > highest || highest < 1e-14);
                want[n as usize] = 0.0;
                prop_assert_eq!(queue.highest(), want.iter().copied().fold(0.0, f64::max));
            }
            prop_assert_eq!(want, [0.0; 20]);
        }
    }
}
