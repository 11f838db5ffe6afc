//! Number and seed of the cases that a property test draws.

use std::hash::{BuildHasher as _, RandomState};

use proptest::test_runner::{Config, RngSeed};

/// Environment variable with the factor by which every property test draws more cases.
const FACTOR: &str = "CRF_TEST_CASES";

/// Configuration of a property test with `n` new cases in every run, times the factor in
/// `CRF_TEST_CASES`.
///
/// `PROPTEST_RNG_SEED` repeats a run. The seed is printed, which the test runner shows if the test
/// fails.
pub fn cases(n: u32) -> Config {
    let factor = match std::env::var(FACTOR) {
        Ok(text) => text.parse().unwrap_or_else(|_| panic!("{FACTOR} must be a whole number, got `{text}`")),
        Err(_) => 1,
    };
    let mut config = Config::with_cases(n * factor);
    // More cases meet more assumptions that do not hold.
    config.max_global_rejects = config.max_global_rejects.saturating_mul(factor);
    if config.rng_seed == RngSeed::Random {
        config.rng_seed = RngSeed::Fixed(RandomState::new().hash_one(n));
    }
    if let RngSeed::Fixed(seed) = config.rng_seed {
        eprintln!("the cases of this property test are drawn again by PROPTEST_RNG_SEED={seed}");
    }
    config
}
