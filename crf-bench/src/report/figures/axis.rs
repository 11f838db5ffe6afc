//! Axes with round ticks.

/// One axis of a figure: a range of values with ticks.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Axis {
    low: f64,
    high: f64,
    log: bool,
    /// Values with their labels.
    pub(crate) ticks: Vec<(f64, String)>,
}

impl Axis {
    /// An axis whose ends are round numbers around the values.
    pub(crate) fn around(low: f64, high: f64) -> Self {
        let (low, high) = widen(low, high);
        let step = round_step((high - low) / 6.0);
        let (first, last) = ((low / step).floor(), (high / step).ceil());
        Axis { low: first * step, high: last * step, log: false, ticks: marks(first, last, step) }
    }

    /// An axis that ends slightly outside the values.
    pub(crate) fn through(low: f64, high: f64) -> Self {
        let (low, high) = widen(low, high);
        let step = round_step((high - low) / 8.0);
        let ticks = marks((low / step).ceil(), (high / step).floor(), step);
        let margin = 0.03 * (high - low);
        Axis { low: low - margin, high: high + margin, log: false, ticks }
    }

    /// A logarithmic axis through positive values.
    pub(crate) fn logarithmic(low: f64, high: f64) -> Self {
        let (first, last) = (low.log10().floor() as i32, high.log10().ceil() as i32);
        let digits: &[f64] = if last - first >= 3 { &[1.0] } else { &[1.0, 2.0, 5.0] };
        let all = (first..=last).flat_map(|power| digits.iter().map(move |&digit| (digit, power)));
        let ticks = all.map(|(digit, power)| (digit * 10_f64.powi(power), short(digit, power)));
        let ticks = ticks.filter(|(tick, _)| (low * 0.999..=high * 1.001).contains(tick)).collect();
        let margin = (high / low).max(1.5).powf(0.03);
        Axis { low: low / margin, high: high * margin, log: true, ticks }
    }

    /// An axis with one position per name.
    pub(crate) fn named(names: &[String]) -> Self {
        let ticks = names.iter().enumerate().map(|(i, name)| (i as f64, name.clone())).collect();
        Axis { low: -0.5, high: names.len() as f64 - 0.5, log: false, ticks }
    }

    /// The position of a value between the ends, from 0 to 1; values without a logarithm are at the
    /// lower end.
    pub(crate) fn position(&self, value: f64) -> f64 {
        let scaled = |value: f64| if self.log { value.max(self.low).ln() } else { value };
        (scaled(value) - scaled(self.low)) / (scaled(self.high) - scaled(self.low))
    }
}

/// `0.05` or `200`, and `10⁻⁵` or `2·10⁶` for numbers that would be long.
fn short(digit: f64, power: i32) -> String {
    if (-3..=4).contains(&power) {
        return format!("{:.*}", (-power).max(0) as usize, digit * 10_f64.powi(power));
    }
    let raised = |c: char| match c.to_digit(10) {
        Some(digit) => ['⁰', '¹', '²', '³', '⁴', '⁵', '⁶', '⁷', '⁸', '⁹'][digit as usize],
        None => '⁻',
    };
    let power: String = power.to_string().chars().map(raised).collect();
    if digit == 1.0 { format!("10{power}") } else { format!("{digit}·10{power}") }
}

/// The range of all finite values; 0 to 1 without any.
pub(crate) fn range(values: impl IntoIterator<Item = f64>) -> (f64, f64) {
    let finite = values.into_iter().filter(|value| value.is_finite());
    let (low, high) =
        finite.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), x| (low.min(x), high.max(x)));
    if low <= high { (low, high) } else { (0.0, 1.0) }
}

fn widen(low: f64, high: f64) -> (f64, f64) {
    if high > low {
        return (low, high);
    }
    let margin = if low == 0.0 { 1.0 } else { 0.1 * low.abs() };
    (low - margin, high + margin)
}

/// The smallest of 1, 2, 5, 10, 20, … that is at least `step`.
fn round_step(step: f64) -> f64 {
    let power = 10_f64.powf(step.log10().floor());
    let digit = [1.0, 2.0, 5.0].into_iter().find(|digit| digit * power >= step * 0.999_999);
    digit.unwrap_or(10.0) * power
}

fn marks(first: f64, last: f64, step: f64) -> Vec<(f64, String)> {
    let decimals = (-(step * 1.000_001).log10().floor()).clamp(0.0, 9.0) as usize;
    let count = (last - first).round() as i64;
    let tick = |i: i64| (first + i as f64) * step;
    // Adding zero turns -0 into 0.
    (0..=count).map(|i| (tick(i), format!("{:.decimals$}", tick(i) + 0.0))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(axis: &Axis) -> Vec<&str> {
        axis.ticks.iter().map(|(_, label)| label.as_str()).collect()
    }

    #[test]
    fn ticks_are_round() {
        assert_eq!(
            labels(&Axis::around(0.03, 0.27)),
            ["0.00", "0.05", "0.10", "0.15", "0.20", "0.25", "0.30"]
        );
        assert_eq!(labels(&Axis::through(1.0, 12.0)), ["2", "4", "6", "8", "10", "12"]);
        assert_eq!(labels(&Axis::logarithmic(10.0, 500.0)), ["10", "20", "50", "100", "200", "500"]);
        assert_eq!(labels(&Axis::logarithmic(1e-6, 1e-3)), ["10⁻⁶", "10⁻⁵", "10⁻⁴", "0.001"]);
        assert_eq!(labels(&Axis::logarithmic(1e5, 5e5)), ["10⁵", "2·10⁵", "5·10⁵"]);
        assert_eq!(labels(&Axis::around(-2.0, 2.0)).len(), 5);
    }

    #[test]
    fn a_single_value_still_has_an_axis() {
        let axis = Axis::through(3.0, 3.0);
        assert!((axis.position(3.0) - 0.5).abs() < 1e-9 && !axis.ticks.is_empty());
        assert_eq!(range([f64::NAN]), (0.0, 1.0));
    }
}
