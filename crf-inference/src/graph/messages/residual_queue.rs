/// Nodes by priority, to within a factor of 256: a list of nodes for each power of that.
///
/// Putting, moving and taking are a few assignments each. Nodes of one list are taken in the order they came in, and
/// nodes that came in together mostly stand together in memory: on a grid of 300 × 300, where the finest order needs 12
/// visits a node and this one 15, that is twice as fast.
#[derive(Debug, Default)]
pub(crate) struct Queue {
    priority: Vec<f64>,   // [nodes] 0 when not queued
    links: Vec<[u32; 2]>, // [nodes] before and behind, END where there is none
    lists: Vec<[u32; 2]>, // [LISTS] first and last
    top: usize,           // no list above this one has nodes
}

const END: u32 = u32::MAX;
/// Priorities are at most 1; those below 2⁻⁵⁶ share the last list.
const LISTS: usize = 8;

/// The list of a priority: the last one is that of 1.
fn list_of(priority: f64) -> usize {
    let exponent = (priority.to_bits() >> 52) as usize; // positive numbers have no sign bit
    exponent.saturating_sub(1023 - (8 * LISTS - 1)).min(8 * LISTS - 1) / 8
}

impl Queue {
    /// An empty queue over `n` nodes.
    pub(crate) fn reset(&mut self, n: usize) {
        self.priority.clear();
        self.priority.resize(n, 0.0);
        self.links.clear();
        self.links.resize(n, [END; 2]);
        self.lists.clear();
        self.lists.resize(LISTS, [END; 2]);
        self.top = 0;
    }

    /// Raises a node's priority to `priority` at least.
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

    /// Takes a node out whose priority is within a factor of 256 of the highest.
    #[inline]
    pub(crate) fn take(&mut self) -> Option<(u32, f64)> {
        while self.lists[self.top][0] == END {
            self.top = self.top.checked_sub(1)?;
        }
        let n = self.lists[self.top][0];
        self.unlink(n, self.top);
        Some((n, std::mem::take(&mut self.priority[n as usize])))
    }

    /// The highest priority of all nodes.
    pub(crate) fn highest(&self) -> f64 {
        self.priority.iter().copied().fold(0.0, f64::max)
    }

    fn unlink(&mut self, n: u32, list: usize) {
        let [before, behind] = self.links[n as usize];
        match before {
            END => self.lists[list][0] = behind,
            _ => self.links[before as usize][1] = behind,
        }
        match behind {
            END => self.lists[list][1] = before,
            _ => self.links[behind as usize][0] = before,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn nodes_come_out_by_the_order_of_magnitude_of_their_priority(
            raises in proptest::collection::vec((0..20_u32, prop_oneof![0.0..=1.0_f64, 1e-30..1e-10_f64]), 0..100),
        ) {
            let (mut queue, mut want) = (Queue::default(), [0.0_f64; 20]);
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
