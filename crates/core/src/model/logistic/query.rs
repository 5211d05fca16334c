//! The contribution of one record to each release.

use crate::math::symmetric;
use crate::math::vector::wide_dot;
use crate::math::vector::{dot, sigmoid};
use crate::model::logistic::columns::numbers;
use crate::model::logistic::frame::Frame;
use crate::model::logistic::{features, weight, write_features};
use crate::wall::{Geometry, Query};
use reticent_noise::with_wide_vectors;

/// The largest square of the last coordinate of a curvature's vector, over that of the others: small, so that it takes little of the clipping norm.
const LAST: f64 = 0.1;

/// The bound $c$ of residuals where it is not a choice of the plan.
pub(super) const RESIDUAL_BOUND: f64 = 0.5;

/// The weighted scores at public weights, $uv(y - p)x$.
pub(super) struct Scores<'a> {
    pub(super) weights: &'a [f64],
    pub(super) radius: f64,
    /// $c$.
    pub(super) bound: f64,
}

impl Scores<'_> {
    /// # Privacy
    /// $|u(y - p)| \le c$ and $\lVert vx\rVert \le r$.
    pub(super) fn geometry(radius: f64, bound: f64) -> Geometry {
        Geometry::Ball { radius: bound * radius }
    }
}

impl Query for Scores<'_> {
    fn width(&self) -> usize {
        self.weights.len()
    }

    fn contribute(&self, record: &[f64], out: &mut [f64]) {
        let target = write_features(record, out);
        score(out, target, self.weights, (self.radius, self.bound), 1.0);
    }
}

/// Weighted scores of [centred](Frame) inputs, over their typical length $R$.
pub(super) struct CentredScores<'a> {
    pub(super) weights: &'a [f64],
    pub(super) frame: &'a Frame,
}

impl CentredScores<'_> {
    /// # Privacy
    /// As above with $R$ for $r$ and a bound of a half, so over $R$ it is that. $R$ and the centre are released numbers.
    pub(super) fn geometry() -> Geometry {
        Scores::geometry(1.0, RESIDUAL_BOUND)
    }
}

impl Query for CentredScores<'_> {
    fn width(&self) -> usize {
        self.weights.len()
    }

    fn contribute(&self, record: &[f64], out: &mut [f64]) {
        let radius = self.frame.radius;
        let target = self.frame.write_features(record, out);
        score(out, target, self.weights, (radius, RESIDUAL_BOUND), 1.0 / radius);
    }
}

/// Turns inputs $x$ into $uv(y - p)x$ times a number.
fn score(x: &mut [f64], target: f64, weights: &[f64], (radius, bound): (f64, f64), by: f64) {
    with_wide_vectors(
        #[inline(always)]
        || {
            let p = sigmoid(wide_dot(x, weights));
            let residual = 0.5 * (target + 1.0) - p;
            let by = by * weight(x, radius) * score_weight(p, bound) * residual;
            x.iter_mut().for_each(|x| *x *= by);
        },
    );
}

/// The vector whose outer product is the slope of the mean of the weighted scores, $uv\,p(1-p)\,xx^T$. The square of its last coordinate is the
/// variance $u^2v^2p(1-p)$ of a score over $\lVert x\rVert^2$; products of that coordinate with others are not used.
pub(super) struct Curvatures<'a> {
    pub(super) weights: &'a [f64],
    pub(super) radius: f64,
    /// $c$.
    pub(super) bound: f64,
}

impl Curvatures<'_> {
    pub(super) fn width(size: usize) -> usize {
        symmetric::width(size + 1)
    }

    /// # Privacy
    /// $u\,p(1-p) \le \frac14$, $v\lVert x\rVert^2 \le r^2$ and $u^2v^2p(1-p) \le \frac14$.
    pub(super) fn geometry(radius: f64) -> Geometry {
        Geometry::Outer { radius: 0.5 * radius * (1.0 + LAST).sqrt() }
    }

    /// The divisor of the square of the last coordinate.
    pub(super) fn last(radius: f64) -> f64 {
        LAST * radius * radius
    }
}

impl Query for Curvatures<'_> {
    fn width(&self) -> usize {
        self.weights.len() + 1
    }

    fn contribute(&self, record: &[f64], out: &mut [f64]) {
        let Some((last, x)) = out.split_last_mut() else { return };
        write_features(record, x);
        let p = sigmoid(wide_dot(x, self.weights));
        let by = weight(x, self.radius) * score_weight(p, self.bound);
        let root = (by * p * (1.0 - p)).sqrt();
        x.iter_mut().for_each(|x| *x *= root);
        *last = root * (by * Self::last(self.radius)).sqrt();
    }
}

/// The weight $u = \min(1, c/\max(p, 1 - p))$ of a score, for a bound $c$ of residuals between a half and 1.
#[inline(always)]
pub(super) fn score_weight(p: f64, bound: f64) -> f64 {
    (bound / p.max(1.0 - p)).min(1.0)
}

/// The vector whose outer product has the weighted products of centred inputs; the square of its last coordinate is the weight of the record.
pub(super) struct Products<'a> {
    pub(super) frame: &'a Frame,
}

impl Query for Products<'_> {
    fn width(&self) -> usize {
        self.frame.centre.len()
    }

    fn contribute(&self, record: &[f64], out: &mut [f64]) {
        self.frame.write_features(record, out);
        let Some((last, z)) = out.split_last_mut() else { return };
        let unit = Self::unit(self.frame);
        let counts = (unit / dot(z, z).max(1e-300)).min(1.0);
        let root = (counts / unit).sqrt();
        z.iter_mut().for_each(|z| *z *= root);
        *last = Self::last(counts);
    }
}

/// Inputs by class, weighted: the positive parts and, of numeric columns, the negative parts, so that all are
/// non-negative.
pub(super) struct ClassSums<'a> {
    pub(super) columns: &'a [usize],
    pub(super) radius: f64,
}

impl ClassSums<'_> {
    pub(super) fn width(columns: &[usize]) -> usize {
        2 * (1 + columns.iter().sum::<usize>() + numbers(columns).count())
    }

    /// # Privacy
    /// One class is 0, and in the other $\lVert vx\rVert \le r$. Attacked by `statistics_stay_within_their_clipping_norm`.
    pub(super) fn geometry(radius: f64) -> Geometry {
        Geometry::NonNegativeBall { radius }
    }
}

impl Query for ClassSums<'_> {
    fn width(&self) -> usize {
        Self::width(self.columns)
    }

    fn contribute(&self, record: &[f64], out: &mut [f64]) {
        let (x, target) = features(record);
        let by = weight(&x, self.radius);
        let half = out.len() / 2;
        let (high, low) = out[if target > 0.0 { 0 } else { half }..][..half].split_at_mut(x.len());
        high.iter_mut().zip(&x).for_each(|(out, x)| *out = by * x.max(0.0));
        low.iter_mut().zip(numbers(self.columns)).for_each(|(out, k)| *out = by * (-x[k]).max(0.0));
    }
}
