//! Axes: the map from values to a length, and ticks.

/// An axis: name, range of values and ticks.
#[derive(Debug, Clone, PartialEq)]
pub struct Axis {
    pub(crate) name: String,
    scale: Scale,
    low: f64,
    high: f64,
    ticks: Option<Vec<(f64, String)>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Scale {
    Linear,
    Logarithmic,
    /// Category `k` is between `k` and `k + 1`.
    Categories,
}

/// Padding at each end, as a share of the length.
const PADDING: f64 = 0.04;

impl Axis {
    /// A linear axis over the range of these values, with padding. Values that are not finite are ignored.
    #[must_use]
    pub fn linear(name: &str, values: impl IntoIterator<Item = f64>) -> Self {
        let (low, high) = range(values.into_iter().filter(|x| x.is_finite())).unwrap_or((0.0, 1.0));
        let padding = if high > low { PADDING * (high - low) } else { 0.5 * low.abs().clamp(0.1, 1e300) };
        Self::between(name, low - padding, high + padding)
    }

    /// A linear axis from 0 to the largest of these values: for bars and densities.
    #[must_use]
    pub fn from_zero(name: &str, values: impl IntoIterator<Item = f64>) -> Self {
        let high = values.into_iter().filter(|x| x.is_finite()).fold(0.0, f64::max);
        Self::between(name, 0.0, high * (1.0 + PADDING))
    }

    /// A logarithmic axis over the range of these values, with padding. Values without a logarithm are ignored.
    #[must_use]
    pub fn logarithmic(name: &str, values: impl IntoIterator<Item = f64>) -> Self {
        let positive = values.into_iter().filter(|x| *x > 0.0 && x.is_finite());
        // Within the range of a double with padding.
        let logarithms = positive.map(|x| x.ln().clamp(-600.0, 600.0));
        let (low, high) = range(logarithms).unwrap_or((0.0, 1.0));
        let padding = if high > low { PADDING * (high - low) } else { 1.0 };
        Self {
            scale: Scale::Logarithmic,
            ..Self::between(name, (low - padding).exp(), (high + padding).exp())
        }
    }

    /// A linear axis from one value to another; from 0 to 1 if that is empty.
    #[must_use]
    pub fn between(name: &str, low: f64, high: f64) -> Self {
        let (low, high) = if (high - low).is_finite() && high > low { (low, high) } else { (0.0, 1.0) };
        Self { name: name.to_owned(), scale: Scale::Linear, low, high, ticks: None }
    }

    /// A category for each name: category `k` is between `k` and `k + 1`. Along the second axis of a plot the first is on top.
    #[must_use]
    pub fn categories(name: &str, names: impl IntoIterator<Item = impl Into<String>>) -> Self {
        let ticks: Vec<_> =
            names.into_iter().enumerate().map(|(k, name)| (k as f64 + 0.5, name.into())).collect();
        let high = ticks.len().max(1) as f64;
        Self { scale: Scale::Categories, ticks: Some(ticks), ..Self::between(name, 0.0, high) }
    }

    /// These ticks instead of round numbers.
    #[must_use]
    pub fn with_ticks(self, ticks: impl IntoIterator<Item = (f64, String)>) -> Self {
        Self { ticks: Some(ticks.into_iter().collect()), ..self }
    }

    /// The lowest and the highest value.
    #[must_use]
    pub fn range(&self) -> (f64, f64) {
        (self.low, self.high)
    }

    /// The relative position of a value: 0 at the lower end, 1 at the upper, and beyond. `None` if it is undefined.
    #[must_use]
    pub fn fraction(&self, value: f64) -> Option<f64> {
        let position = match self.scale {
            Scale::Logarithmic => (value / self.low).ln() / (self.high / self.low).ln(),
            Scale::Linear | Scale::Categories => (value - self.low) / (self.high - self.low),
        };
        position.is_finite().then_some(position)
    }

    pub(crate) fn is_categorical(&self) -> bool {
        self.scale == Scale::Categories
    }

    /// About `count` ticks with their labels.
    #[must_use]
    pub fn ticks(&self, count: usize) -> Vec<(f64, String)> {
        let count = count.max(2);
        if let Some(ticks) = &self.ticks {
            let inside =
                |(at, _): &&(f64, String)| self.fraction(*at).is_some_and(|f| (0.0..=1.0).contains(&f));
            return ticks.iter().filter(inside).cloned().collect();
        }
        if self.scale == Scale::Logarithmic {
            let ticks = self.logarithmic_ticks(count);
            // Within less than a decade there may be too few: linear steps are used then.
            if ticks.len() >= 3 {
                return ticks.into_iter().map(|at| (at, short(at))).collect();
            }
        }
        let (step, first, last) = self.linear_steps(count);
        (0..=(last - first) as usize)
            .map(|k| (first + k as f64) * step)
            .map(|at| (at, with_step(at, step)))
            .collect()
    }

    /// The smallest round step with at most `count + 1` ticks, and the first and last tick in steps.
    fn linear_steps(&self, count: usize) -> (f64, f64, f64) {
        let mut min_step = (self.high - self.low) / (2 * count) as f64;
        loop {
            let step = round_step(min_step);
            let (first, last) = ((self.low / step).ceil(), (self.high / step).floor());
            let steps = last - first;
            // NaN if the range is so close to 0 that the step underflows.
            if steps.is_nan() || steps <= count as f64 {
                return (step, first, last);
            }
            min_step = 1.5 * step;
        }
    }

    /// 1, 2, 5 times powers of ten if `count` allows all, else every n-th power of ten.
    fn logarithmic_ticks(&self, count: usize) -> Vec<f64> {
        let (first, last) = (self.low.log10().floor() as i32, self.high.log10().ceil() as i32);
        let of = |multiples: &'static [f64], every: i32| {
            let powers = (first..=last).filter(move |power| power.rem_euclid(every) == 0);
            let all = powers.flat_map(move |power| multiples.iter().map(move |m| m * power_of_ten(power)));
            all.filter(|at| (self.low..=self.high).contains(at)).collect::<Vec<f64>>()
        };
        let fine = of(&[1.0, 2.0, 5.0], 1);
        if fine.len() <= count + 1 {
            return fine;
        }
        of(&[1.0], ((last - first) as f64 / count as f64).ceil().max(1.0) as i32)
    }
}

fn range(values: impl Iterator<Item = f64>) -> Option<(f64, f64)> {
    values.fold(None, |range: Option<(f64, f64)>, x| {
        Some(range.map_or((x, x), |(low, high)| (low.min(x), high.max(x))))
    })
}

/// By parsing, since 10 to a negative power is then rounded correctly.
fn power_of_ten(power: i32) -> f64 {
    format!("1e{power}").parse().unwrap_or(0.0)
}

/// The smallest of 1, 2, 5 times a power of ten that is at least `min_step`.
fn round_step(min_step: f64) -> f64 {
    let power = power_of_ten(min_step.log10().floor() as i32);
    [1.0, 2.0, 5.0, 10.0].into_iter().map(|k| k * power).find(|step| *step >= min_step).unwrap_or(min_step)
}

/// A multiple of a step, with as many decimals as the step has.
fn with_step(value: f64, step: f64) -> String {
    // Zero may be off by rounding.
    let value = if value.abs() < 1e-9 * step { 0.0 } else { value };
    if !(1e-4..1e6).contains(&step) {
        return short(value);
    }
    let decimals = (-(step * (1.0 + 1e-9)).log10().floor()).max(0.0) as usize;
    grouped(&format!("{value:.decimals$}"))
}

/// A number with at most three significant decimals, and powers of ten beyond six digits.
#[must_use]
pub fn short(value: f64) -> String {
    let size = value.abs();
    if size != 0.0 && !(1e-3..1e6).contains(&size) {
        let text = format!("{value:.1e}");
        return text.replace(".0e", "e").replace('-', "\u{2212}");
    }
    let decimals = match size {
        100.0.. => 0,
        10.0.. => 1,
        0.1.. => 3,
        _ => 4,
    };
    let text = format!("{value:.decimals$}");
    let text = if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
    grouped(text)
}

/// Digits in threes, and a minus sign instead of a hyphen.
fn grouped(text: &str) -> String {
    let (sign, size) = text.strip_prefix('-').map_or(("", text), |size| ("\u{2212}", size));
    let (digits, decimals) = size.find('.').map_or((size, ""), |at| size.split_at(at));
    let mut out = sign.to_owned();
    for (k, digit) in digits.chars().enumerate() {
        if k > 0 && (digits.len() - k) % 3 == 0 {
            out.push(',');
        }
        out.push(digit);
    }
    out + decimals
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(axis: &Axis, count: usize) -> Vec<String> {
        axis.ticks(count).into_iter().map(|(_, label)| label).collect()
    }

    #[test]
    fn ticks_are_round_numbers_with_the_decimals_of_their_step() {
        assert_eq!(labels(&Axis::between("", -3.2, 4.1), 4), ["\u{2212}2", "0", "2", "4"]);
        assert_eq!(labels(&Axis::between("", 104.0, 199.0), 4), ["120", "140", "160", "180"]);
        assert_eq!(labels(&Axis::between("", 0.0, 0.5), 5), ["0.0", "0.1", "0.2", "0.3", "0.4", "0.5"]);
        assert_eq!(labels(&Axis::between("", -0.3, 0.3), 3), ["\u{2212}0.2", "0.0", "0.2"]);
        assert_eq!(labels(&Axis::between("", 0.0, 2500.0), 3), ["0", "1,000", "2,000"]);
        assert_eq!(
            labels(&Axis::between("", 0.0, 3e-7), 3),
            ["0", "1e\u{2212}7", "2e\u{2212}7", "3e\u{2212}7"]
        );
    }

    #[test]
    fn logarithmic_ticks_depend_on_the_decades() {
        let axis = |low, high| Axis::logarithmic("", [low, high]);
        assert_eq!(labels(&axis(1e3, 1e6), 5), ["1,000", "10,000", "100,000", "1e6"]);
        assert_eq!(labels(&axis(0.05, 4.0), 7), ["0.05", "0.1", "0.2", "0.5", "1", "2"]);
        assert_eq!(labels(&axis(0.81, 0.95), 5), ["0.85", "0.90", "0.95"]);
        assert!((3..=6).contains(&labels(&axis(1e-300, 1e300), 5).len()));
    }

    /// The lowest and the highest value are 0.04 / 1.08 from the ends of the axis.
    #[test]
    fn values_have_their_positions() {
        let near = |a: Option<f64>, b: f64| a.is_some_and(|a| (a - b).abs() < 1e-12);
        let padding = 0.04 / 1.08;
        for axis in [Axis::linear("", [1.0, f64::NAN, 100.0]), Axis::logarithmic("", [1.0, -3.0, 100.0])] {
            assert!(
                near(axis.fraction(1.0), padding) && near(axis.fraction(100.0), 1.0 - padding),
                "{axis:?}"
            );
            assert_eq!((axis.fraction(f64::NAN), axis.fraction(f64::INFINITY)), (None, None));
        }
        assert!(near(Axis::logarithmic("", [1.0, 100.0]).fraction(10.0), 0.5));
        assert_eq!(Axis::logarithmic("", [1.0, 100.0]).fraction(0.0), None);
        let names = Axis::categories("", ["a", "b"]);
        assert_eq!((names.fraction(1.5), names.ticks(1).len()), (Some(0.75), 2));
    }

    /// The range is finite and not empty for any values.
    #[test]
    fn any_values_give_a_finite_range() {
        for values in [vec![], vec![f64::NAN], vec![f64::INFINITY], vec![3.0], vec![0.0], vec![-1e308, 1e308]]
        {
            for axis in [
                Axis::linear("", values.clone()),
                Axis::logarithmic("", values.clone()),
                Axis::from_zero("", values),
            ] {
                let (low, high) = axis.range();
                assert!(low.is_finite() && high.is_finite() && low < high, "{axis:?}");
                assert!(axis.ticks(5).len() <= 6);
            }
        }
    }

    #[test]
    fn numbers_are_short() {
        let shown = [0.0, 0.25, 12.0, 1234.5, -1e7, 1.2e-6, 0.0123].map(short);
        assert_eq!(shown, ["0", "0.25", "12", "1,234", "\u{2212}1e7", "1.2e\u{2212}6", "0.0123"]);
    }
}
