//! The contribution of one record to each release.

use crate::jobs::Named;
use crate::math::symmetric;
use crate::math::vector::wide_dot;
use crate::math::vector::{dot, sigmoid};
use crate::model::logistic::columns::numbers;
use crate::model::logistic::frame::Frame;
use crate::model::logistic::{features, weight, write_features};
use crate::wall::{Geometry, Query, QuerySpec};
use reticent_noise::with_wide_vectors;
use serde::{Deserialize, Serialize};
use std::borrow::Borrow;

/// The largest square of the last coordinate of a curvature's vector, over that of the others: small, so that it takes little of the clipping norm.
const LAST: f64 = 0.1;

/// The bound $c$ of residuals where it is not a choice of the plan.
pub(super) const RESIDUAL_BOUND: f64 = 0.5;

/// The weighted scores at public weights, $uv(y - p)x$.
#[derive(Serialize, Deserialize)]
pub(crate) struct Scores<W> {
    pub(super) weights: W,
    pub(super) radius: f64,
    /// $c$.
    pub(super) bound: f64,
}

impl Scores<()> {
    /// # Privacy
    /// $|u(y - p)| \le c$ and $\lVert vx\rVert \le r$.
    pub(super) fn geometry(radius: f64, bound: f64) -> Geometry {
        Geometry::Ball { radius: bound * radius }
    }
}

impl<W> Named for Scores<W> {
    const NAME: &'static str = "logistic-scores";
}

impl<W: AsRef<[f64]> + Serialize + Sync> Query for Scores<W> {
    fn width(&self) -> usize {
        self.weights.as_ref().len()
    }

    fn contribute(&self, record: &[f64], out: &mut [f64]) {
        let target = write_features(record, out);
        score(out, target, self.weights.as_ref(), (self.radius, self.bound), 1.0);
    }

    fn spec(&self) -> Option<QuerySpec> {
        QuerySpec::of(self)
    }
}

/// Weighted scores of [centred](Frame) inputs, over their typical length $R$.
#[derive(Serialize, Deserialize)]
pub(crate) struct CentredScores<W, F> {
    pub(super) weights: W,
    pub(super) frame: F,
}

impl CentredScores<(), ()> {
    /// # Privacy
    /// As above with $R$ for $r$ and a bound of a half, so over $R$ it is that. $R$ and the centre are released numbers.
    pub(super) fn geometry() -> Geometry {
        Scores::geometry(1.0, RESIDUAL_BOUND)
    }
}

impl<W, F> Named for CentredScores<W, F> {
    const NAME: &'static str = "logistic-centred-scores";
}

impl<W, F> Query for CentredScores<W, F>
where
    W: AsRef<[f64]> + Serialize + Sync,
    F: Borrow<Frame> + Serialize + Sync,
{
    fn width(&self) -> usize {
        self.weights.as_ref().len()
    }

    fn contribute(&self, record: &[f64], out: &mut [f64]) {
        let frame = self.frame.borrow();
        let target = frame.write_features(record, out);
        score(out, target, self.weights.as_ref(), (frame.radius, RESIDUAL_BOUND), 1.0 / frame.radius);
    }

    fn spec(&self) -> Option<QuerySpec> {
        QuerySpec::of(self)
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
#[derive(Serialize, Deserialize)]
pub(crate) struct Curvatures<W> {
    pub(super) weights: W,
    pub(super) radius: f64,
    /// $c$.
    pub(super) bound: f64,
}

impl Curvatures<()> {
    pub(super) fn width_of(size: usize) -> usize {
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

impl<W> Named for Curvatures<W> {
    const NAME: &'static str = "logistic-curvatures";
}

impl<W: AsRef<[f64]> + Serialize + Sync> Query for Curvatures<W> {
    fn width(&self) -> usize {
        self.weights.as_ref().len() + 1
    }

    fn contribute(&self, record: &[f64], out: &mut [f64]) {
        let Some((last, x)) = out.split_last_mut() else { return };
        write_features(record, x);
        let p = sigmoid(wide_dot(x, self.weights.as_ref()));
        let by = weight(x, self.radius) * score_weight(p, self.bound);
        let root = (by * p * (1.0 - p)).sqrt();
        x.iter_mut().for_each(|x| *x *= root);
        *last = root * (by * Curvatures::last(self.radius)).sqrt();
    }

    fn spec(&self) -> Option<QuerySpec> {
        QuerySpec::of(self)
    }
}

/// The weight $u = \min(1, c/\max(p, 1 - p))$ of a score, for a bound $c$ of residuals between a half and 1.
#[inline(always)]
pub(super) fn score_weight(p: f64, bound: f64) -> f64 {
    (bound / p.max(1.0 - p)).min(1.0)
}

/// The vector whose outer product has the weighted products of centred inputs; the square of its last coordinate is the weight of the record.
#[derive(Serialize, Deserialize)]
pub(crate) struct Products<F> {
    pub(super) frame: F,
}

impl<F> Named for Products<F> {
    const NAME: &'static str = "logistic-products";
}

impl<F: Borrow<Frame> + Serialize + Sync> Query for Products<F> {
    fn width(&self) -> usize {
        self.frame.borrow().centre.len()
    }

    fn contribute(&self, record: &[f64], out: &mut [f64]) {
        let frame = self.frame.borrow();
        frame.write_features(record, out);
        let Some((last, z)) = out.split_last_mut() else { return };
        let unit = Products::unit(frame);
        let counts = (unit / dot(z, z).max(1e-300)).min(1.0);
        let root = (counts / unit).sqrt();
        z.iter_mut().for_each(|z| *z *= root);
        *last = Products::last(counts);
    }

    fn spec(&self) -> Option<QuerySpec> {
        QuerySpec::of(self)
    }
}

/// Inputs by class, weighted: the positive parts and, of numeric columns, the negative parts, so that all are
/// non-negative.
#[derive(Serialize, Deserialize)]
pub(crate) struct ClassSums<C> {
    pub(super) columns: C,
    pub(super) radius: f64,
}

impl ClassSums<()> {
    pub(super) fn width_of(columns: &[usize]) -> usize {
        2 * (1 + columns.iter().sum::<usize>() + numbers(columns).count())
    }

    /// # Privacy
    /// One class is 0, and in the other $\lVert vx\rVert \le r$. Attacked by `statistics_stay_within_their_clipping_norm`.
    pub(super) fn geometry(radius: f64) -> Geometry {
        Geometry::NonNegativeBall { radius }
    }
}

impl<C> Named for ClassSums<C> {
    const NAME: &'static str = "logistic-class-sums";
}

impl<C: AsRef<[usize]> + Serialize + Sync> Query for ClassSums<C> {
    fn width(&self) -> usize {
        ClassSums::width_of(self.columns.as_ref())
    }

    fn contribute(&self, record: &[f64], out: &mut [f64]) {
        let (x, target) = features(record);
        let by = weight(&x, self.radius);
        let half = out.len() / 2;
        let (high, low) = out[if target > 0.0 { 0 } else { half }..][..half].split_at_mut(x.len());
        high.iter_mut().zip(&x).for_each(|(out, x)| *out = by * x.max(0.0));
        low.iter_mut().zip(numbers(self.columns.as_ref())).for_each(|(out, k)| *out = by * (-x[k]).max(0.0));
    }

    fn spec(&self) -> Option<QuerySpec> {
        QuerySpec::of(self)
    }
}
