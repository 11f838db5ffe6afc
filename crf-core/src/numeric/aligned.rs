use std::ops::{Deref, DerefMut};

/// Bytes of a cache line.
const LINE: usize = 64;
const SPARE: usize = LINE / size_of::<f64>() - 1;

/// Numbers of which the first stands at the start of a cache line, so that no row of eight straddles two of them.
#[derive(Debug, Default)]
pub struct Aligned {
    numbers: Vec<f64>,
    start: usize,
}

impl Aligned {
    /// So many zeros.
    pub fn zeros(len: usize) -> Self {
        let mut numbers = vec![0.0; len + SPARE];
        // Where the allocator says no more than that it is a number's place, nothing is lost but speed.
        let start = numbers.as_ptr().align_offset(LINE).min(SPARE);
        numbers.truncate(start + len);
        Aligned { numbers, start }
    }

    /// Room for at least so many numbers; what is in it does not outlast its growing.
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
