/// Indices of the largest positive scores among the eligible ones, best first and at most `n`; ties
/// go to the smaller index.
pub(crate) fn top_scores(scores: &[f64], is_eligible: impl Fn(usize) -> bool, n: usize) -> Vec<usize> {
    let mut order: Vec<usize> = (0..scores.len()).filter(|&k| is_eligible(k) && scores[k] > 0.0).collect();
    let descending = |&a: &usize, &b: &usize| scores[b].total_cmp(&scores[a]).then(a.cmp(&b));
    if n < order.len() {
        order.select_nth_unstable_by(n, descending);
        order.truncate(n);
    }
    order.sort_unstable_by(descending);
    order
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_best_come_first_and_ties_go_to_the_smaller_index() {
        let scores = [1.0, 3.0, 0.0, 3.0, -1.0, 2.0];
        assert_eq!(top_scores(&scores, |_| true, 3), [1, 3, 5]);
        assert_eq!(top_scores(&scores, |k| k != 1, 6), [3, 5, 0]);
    }
}
