//! The peak rates of one core, measured with the instructions of the kernels.

use std::hint::black_box;
use std::time::{Duration, Instant};

use crf_core::simd::{Kernel, dispatch, fma};

/// Seconds per call of `work`: the best of several rounds, each long enough for the clock.
pub(crate) fn seconds<T>(mut work: impl FnMut() -> T) -> f64 {
    const ROUND: Duration = Duration::from_millis(5);
    let mut time = |calls: u32| {
        let clock = Instant::now();
        (0..calls).for_each(|_| drop(black_box(work())));
        clock.elapsed()
    };
    let mut calls = 1;
    while time(calls) < ROUND {
        calls *= 2;
    }
    (0..20).map(|_| time(calls).as_secs_f64() / f64::from(calls)).fold(f64::INFINITY, f64::min)
}

/// Floating-point operations per second of multiply-adds in registers; each counts as two.
pub(crate) fn peak_flops() -> f64 {
    const ROUNDS: usize = 1 << 16;
    let time = seconds(|| dispatch(MultiplyAdd { rounds: black_box(ROUNDS) }));
    (2 * ROUNDS * CHAINS * VECTOR) as f64 / time
}

/// Bytes per second of repeated reads of an array of `bytes` bytes.
pub(crate) fn read_rate(bytes: usize) -> f64 {
    let numbers = vec![1.0; (bytes / size_of::<f64>()).next_multiple_of(CHAINS * VECTOR)];
    let time = seconds(|| dispatch(Sum { numbers: black_box(&numbers) }));
    size_of_val(&*numbers) as f64 / time
}

/// Numbers in a vector.
const VECTOR: usize = 8;
/// Independent sums: enough to fill two units with a latency of four or five cycles.
const CHAINS: usize = 12;

struct MultiplyAdd {
    rounds: usize,
}

impl Kernel for MultiplyAdd {
    type Output = [[f64; VECTOR]; CHAINS];

    #[inline(always)]
    fn run<const FMA: bool>(self) -> Self::Output {
        let (a, b) = (black_box(0.999), black_box(0.001));
        let mut sums = [[1.0; VECTOR]; CHAINS];
        for _ in 0..self.rounds {
            for c in 0..CHAINS {
                for j in 0..VECTOR {
                    sums[c][j] = fma::<FMA>(sums[c][j], a, b);
                }
            }
        }
        sums
    }
}

struct Sum<'a> {
    numbers: &'a [f64],
}

impl Kernel for Sum<'_> {
    type Output = [[f64; VECTOR]; CHAINS];

    #[inline(always)]
    fn run<const FMA: bool>(self) -> Self::Output {
        let mut sums = [[0.0; VECTOR]; CHAINS];
        for part in self.numbers.as_chunks::<{ CHAINS * VECTOR }>().0 {
            for c in 0..CHAINS {
                for j in 0..VECTOR {
                    sums[c][j] += part[c * VECTOR + j];
                }
            }
        }
        sums
    }
}
