use super::Attributes;

/// Bins of all attributes at one position, as a dense row for trees to read.
#[derive(Debug, Default)]
pub(crate) struct Row {
    bins: Vec<u32>,     // [attributes]
    defaults: Vec<u32>, // [attributes]
    touched: Vec<u32>,
}

impl Row {
    /// Creates a row in which every attribute is in its default bin.
    pub(crate) fn new(attributes: &Attributes) -> Self {
        let defaults: Vec<u32> = (0..attributes.len()).map(|a| attributes.default_bin(a)).collect();
        Row { bins: defaults.clone(), defaults, touched: Vec::new() }
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
