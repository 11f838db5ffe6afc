use std::ops::{Deref, DerefMut};

/// Size of a cache line in bytes.
const LINE: usize = 64;
const SPARE: usize = LINE / size_of::<f64>() - 1;

/// Vector of numbers that begins at a cache line, so that no row of eight straddles two lines.
#[derive(Debug, Default)]
pub struct Aligned {
    numbers: Vec<f64>,
    start: usize,
}

impl Aligned {
    /// Allocates `len` zeros.
    pub fn zeros(len: usize) -> Self {
        let mut numbers = vec![0.0; len + SPARE];
        // If the allocator cannot tell the alignment, only speed is lost.
        let start = numbers.as_ptr().align_offset(LINE).min(SPARE);
        numbers.truncate(start + len);
        Aligned { numbers, start }
    }

    /// Returns the first `len` numbers, after reallocation if there are fewer; reallocation loses
    /// the contents.
    pub fn room(&mut self, len: usize) -> &mut [f64] {
        if self.len() < len {
            *self = Aligned::zeros(len);
        }
        &mut self[..len]
    }
}

impl Deref for Aligned {
    type Target = [f64];

    fn deref(&self) -> &[f64] {
        &self.numbers[self.start..]
    }
}

impl DerefMut for Aligned {
    fn deref_mut(&mut self) -> &mut [f64] {
        &mut self.numbers[self.start..]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_of_eight_keep_to_a_line() {
        for len in [0, 1, 8, 1000, 1 << 20] {
            let numbers = Aligned::zeros(len);
            assert_eq!(numbers.len(), len);
            assert_eq!(numbers.as_ptr().addr() % LINE, 0);
        }
    }
}
