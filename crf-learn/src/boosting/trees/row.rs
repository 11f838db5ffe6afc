use std::sync::Arc;

use super::Attributes;

/// Bins of all attributes at one position, as a dense row for trees to read.
///
/// It is kept from sequence to sequence: making it anew costs as much as there are attributes.
#[derive(Debug, Default)]
pub(crate) struct Row {
    bins: Vec<u32>,       // [attributes]
    defaults: Arc<[u32]>, // [attributes]
    touched: Vec<u32>,
}

impl Row {
    /// Creates a row in which every attribute is in its default bin.
    pub(crate) fn new(attributes: &Attributes) -> Self {
        let mut row = Row::default();
        row.attach(attributes);
        row
    }

    /// Makes it a row of `attributes`, unless it is one.
    pub(crate) fn attach(&mut self, attributes: &Attributes) {
        // The row keeps the list alive, so no other can have its address.
        if !Arc::ptr_eq(&self.defaults, attributes.defaults()) {
            self.defaults = attributes.defaults().clone();
            self.bins.clear();
            self.bins.extend_from_slice(&self.defaults);
            self.touched.clear();
        }
    }

    /// Sets the bins to those of another position.
    #[inline]
    pub(crate) fn read(&mut self, entries: impl Iterator<Item = (u32, u32)>) {
        for a in self.touched.drain(..) {
            self.bins[a as usize] = self.defaults[a as usize];
        }
        for (a, bin) in entries {
            self.bins[a as usize] = bin;
            self.touched.push(a);
        }
    }

    /// Bin of attribute `a`.
    #[inline]
    pub(crate) fn bin(&self, a: u32) -> u32 {
        self.bins[a as usize]
    }
}
