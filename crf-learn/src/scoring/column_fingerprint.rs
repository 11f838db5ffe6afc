/// Fingerprint of one entry of a column: 128 bits that depend on every bit of its row index and
/// value (splitmix64; Steele, Lea & Flood 2014).
///
/// The sum of the fingerprints of a column identifies the column and does not depend on the order
/// of its entries. The probability that two of a million different columns share a sum is about
/// 10⁻²⁶.
pub(crate) fn fingerprint(row: usize, value: f64) -> u128 {
    let mix = |mut z: u64| {
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    };
    let (row, value, step) = (row as u64, value.to_bits(), 0x9e37_79b9_7f4a_7c15_u64);
    let low = mix(mix(row.wrapping_add(step)) ^ value);
    let high = mix(low.wrapping_add(step) ^ mix(row ^ value.rotate_left(32)));
    u128::from(high) << 64 | u128::from(low)
}
