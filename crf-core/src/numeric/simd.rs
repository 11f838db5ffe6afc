//! Run-time choice of the widest vector instructions, and an exponential that vectorises.

/// Loop nest that is compiled once for each set of vector instructions.
pub trait Kernel {
    /// Result of the loops.
    type Output;
    /// Runs the loops. Mark it `#[inline(always)]`, so that it is compiled with the caller's
    /// instructions; closures in it are functions of their own and are not.
    ///
    /// `FMA` is true if a fused multiply-add is one instruction; otherwise `mul_add` would call a
    /// library function.
    fn run<const FMA: bool>(self) -> Self::Output;
}

/// Runs a kernel with the widest vector instructions of this machine.
#[inline]
pub fn dispatch<K: Kernel>(kernel: K) -> K::Output {
    #[cfg(target_arch = "x86_64")]
    {
        use x86::*;
        if has_avx512() {
            #[allow(unsafe_code, reason = "the features of the callee were detected on the line above")]
            return unsafe { avx512(kernel) };
        }
        if has_avx2() {
            #[allow(unsafe_code, reason = "the features of the callee were detected on the line above")]
            return unsafe { avx2(kernel) };
        }
    }
    kernel.run::<{ cfg!(target_arch = "aarch64") }>()
}

/// The only functions of the workspace that are unsafe to call. Their bodies are safe code. A call
/// is unsound only on a processor without the instructions, and `dispatch` checks for exactly these
/// before each call.
#[cfg(target_arch = "x86_64")]
mod x86 {
    use super::Kernel;

    #[inline]
    pub(crate) fn has_avx512() -> bool {
        has_avx2()
            && is_x86_feature_detected!("avx512f")
            && is_x86_feature_detected!("avx512vl")
            && is_x86_feature_detected!("avx512dq")
    }

    #[inline]
    pub(crate) fn has_avx2() -> bool {
        is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma")
    }

    #[target_feature(enable = "avx2,fma,avx512f,avx512vl,avx512dq")]
    pub(crate) fn avx512<K: Kernel>(kernel: K) -> K::Output {
        kernel.run::<true>()
    }

    #[target_feature(enable = "avx2,fma")]
    pub(crate) fn avx2<K: Kernel>(kernel: K) -> K::Output {
        kernel.run::<true>()
    }
}

/// Prefetches `slice[index]` into the cache; does nothing if there is no such element.
#[inline(always)]
pub fn prefetch<T>(slice: &[T], index: usize) {
    #[cfg(target_arch = "x86_64")]
    if let Some(element) = slice.get(index) {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        #[allow(unsafe_code, reason = "a prefetch reads nothing, and the address is that of a live element")]
        unsafe {
            _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(element).cast());
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (slice, index);
}

/// Multiply-add `a · b + c`, fused if that is one instruction.
#[inline(always)]
pub fn fma<const FMA: bool>(a: f64, b: f64, c: f64) -> f64 {
    if FMA { a.mul_add(b, c) } else { a * b + c }
}

/// Exponential exp(x) for x ≤ 0, within 2 ulp, and 0 below −700; not for NaN or positive numbers.
///
/// x = k·ln 2 + r with |r| ≤ ln 2 / 2; exp(r) by its series to degree 13, 2^k by its exponent bits.
#[inline(always)]
pub fn exp_nonpositive<const FMA: bool>(x: f64) -> f64 {
    // Adding 1.5·2⁵² rounds to an integer, which is then in the low bits.
    const ROUND: f64 = 6_755_399_441_055_744.0;
    // The first part of ln 2 has 32 bits, so that its product with k is exact.
    const LN_2_HIGH: f64 = 0.693_147_180_369_123_8;
    const LN_2_LOW: f64 = 1.908_214_929_270_587_7e-10;
    // The coefficients 1/13! to 1/0!, highest degree first.
    const SERIES: [f64; 14] = {
        let mut series = [1.0; 14];
        let mut degree = 1;
        while degree <= 13 {
            series[13 - degree] = series[14 - degree] / degree as f64;
            degree += 1;
        }
        series
    };
    let clipped = x.max(-700.0);
    let rounded = fma::<FMA>(clipped, std::f64::consts::LOG2_E, ROUND);
    let k = rounded - ROUND;
    let r = fma::<FMA>(k, -LN_2_LOW, fma::<FMA>(k, -LN_2_HIGH, clipped));
    let mut series = SERIES[0];
    for &coefficient in &SERIES[1..] {
        series = fma::<FMA>(series, r, coefficient);
    }
    // Branch-free, so that it vectorises: a mask of ones, or of zeros below −700.
    let mask = u64::from(x >= -700.0).wrapping_neg();
    let power = (rounded.to_bits() << 52).wrapping_add(1023 << 52);
    series * f64::from_bits(power & mask)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crf_testing::cases;
    use proptest::prelude::*;

    struct Exp<'a>(&'a mut [f64]);
    impl Kernel for Exp<'_> {
        type Output = ();
        #[inline(always)]
        fn run<const FMA: bool>(self) {
            self.0.iter_mut().for_each(|x| *x = exp_nonpositive::<FMA>(*x));
        }
    }

    proptest! {
        #![proptest_config(cases(256))]

        #[test]
        fn exp_agrees_with_std(x in prop_oneof![-700.0..=0.0, -1.0..=0.0, Just(0.0), Just(-0.0), Just(-1e-300)]) {
            let mut dispatched = [x];
            dispatch(Exp(&mut dispatched));
            for got in [dispatched[0], exp_nonpositive::<false>(x)] {
                prop_assert!((got - x.exp()).abs() <= 4.0 * f64::EPSILON * x.exp(), "exp({x}): {got} vs {}", x.exp());
            }
        }
    }

    #[test]
    fn exp_of_minus_infinity_is_zero() {
        assert_eq!(exp_nonpositive::<false>(f64::NEG_INFINITY), 0.0);
        assert_eq!(exp_nonpositive::<false>(-701.0), 0.0);
    }
}
