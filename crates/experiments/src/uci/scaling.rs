//! From units of the data to those of a method, and back.

use super::set::{Bounds, Data};

/// An affine map for each column; the target is last.
#[derive(Debug, Clone)]
pub(super) struct Scaling {
    /// Offset and scale of each column.
    columns: Vec<(f64, f64)>,
    /// Whether records are moved into $[-1, 1]$.
    clamped: bool,
}

/// Deviations from the mean that become 1, if moments are assumed to be public.
const DEVIATIONS: f64 = 4.0;

impl Scaling {
    /// By public bounds: they become -1 and 1.
    pub(super) fn by_bounds(bounds: &[Bounds]) -> Self {
        let column = |&(low, high): &Bounds| ((low + high) / 2.0, (high - low) / 2.0);
        Self { columns: bounds.iter().map(column).collect(), clamped: true }
    }

    /// To mean 0 and deviation 1 on these rows. **Not private.**
    pub(super) fn by_moments(data: &Data, rows: &[usize]) -> Self {
        let n = rows.len() as f64;
        let column = |k: usize| {
            let mean = rows.iter().map(|&row| data.row(row)[k]).sum::<f64>() / n;
            let variance = rows.iter().map(|&row| (data.row(row)[k] - mean).powi(2)).sum::<f64>() / n;
            // A constant column: rounding may leave a tiny deviation.
            (mean, if variance.sqrt() > 1e-9 * mean.abs() { variance.sqrt() } else { 1.0 })
        };
        Self { columns: (0..data.width()).map(column).collect(), clamped: false }
    }

    /// The same as bounds, of four deviations. **Not private**, unless moments are public.
    pub(super) fn by_public_moments(data: &Data, rows: &[usize]) -> Self {
        let mut scaling = Self::by_moments(data, rows);
        scaling.columns.iter_mut().for_each(|(_, unit)| *unit *= DEVIATIONS);
        Self { clamped: true, ..scaling }
    }

    /// The unit of the target.
    pub(super) fn unit(&self) -> f64 {
        self.columns[self.columns.len() - 1].1
    }

    /// A row, as far as it is given: of inputs, or of inputs and target.
    pub(super) fn of(&self, row: &[f64]) -> Vec<f64> {
        let scaled = row.iter().zip(&self.columns).map(|(x, (centre, unit))| (x - centre) / unit);
        if self.clamped { scaled.map(|x| x.clamp(-1.0, 1.0)).collect() } else { scaled.collect() }
    }

    /// A scaled target, not clamped.
    pub(super) fn target(&self, target: f64) -> f64 {
        let (centre, unit) = self.columns[self.columns.len() - 1];
        (target - centre) / unit
    }
}

#[cfg(test)]
mod tests {
    use super::super::Set;
    use super::*;

    #[test]
    fn bounds_become_one_and_moments_are_those_of_the_rows() {
        let bounds = Set::Power.bounds();
        let scaling = Scaling::by_bounds(bounds);
        let ends = |of: fn(&Bounds) -> f64| bounds.iter().map(of).collect::<Vec<_>>();
        assert!(scaling.of(&ends(|b| b.0)).iter().all(|x| (x + 1.0).abs() < 1e-12));
        assert!(scaling.of(&ends(|b| b.1 + 100.0)).iter().all(|x| *x == 1.0));
        assert!(scaling.target(600.0) > 1.0);

        // Values 0, 2 and 100, of which the last is not a training row; the second column is constant.
        let rows = [0.0, 2.0, 100.0].map(|x| [x, 7.0, x, x, x]);
        let data = Data { set: Set::Power, values: rows.concat() };
        let scaling = Scaling::by_moments(&data, &[0, 1]);
        assert_eq!(scaling.of(data.row(1)), [1.0, 0.0, 1.0, 1.0, 1.0]);
        assert_eq!(scaling.of(data.row(2))[0], 99.0);
        let public = Scaling::by_public_moments(&data, &[0, 1]);
        assert_eq!((public.of(data.row(1))[0], public.of(data.row(2))[0], public.unit()), (0.25, 1.0, 4.0));
    }
}
