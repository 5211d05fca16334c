//! What a record says: its weighted score, and the curvature of it.
//!
//! The score of a record is $(y - p)x$ with $p = \sigma(w \cdot x)$. It can be as long as $x$, though at the start, where $p = \frac12$, it is half
//! of that. Times $u = \frac12/\max(p, 1-p)$ it never is longer than half of $x$, and its mean is still 0 at the true weights: $u$ depends
//! on inputs and public weights only, not on the target. The same holds for $v = \min(1, r^2/\lVert x\rVert^2)$. So clipping for privacy costs no
//! bias, which clipping by the length of the score would.

use super::frame::Frame;
use super::{features, weight, write_features};
use crate::matrix::wide_dot;
use crate::symmetric;
use crate::wall::{Geometry, Query};
use reticent_noise::with_wide_vectors;

/// What the last coordinate of curvatures is multiplied with, over $r^2$: small, so that it takes little of the noise of the others.
const LAST: f64 = 0.25;

/// The weighted scores at public weights, $uv(y - p)x$.
pub(super) struct Scores<'a> {
    pub(super) weights: &'a [f64],
    pub(super) radius: f64,
}

impl Scores<'_> {
    /// # Privacy
    /// $|u(y - p)| \le \frac12$ and $\lVert vx\rVert \le r$.
    pub(super) fn geometry(radius: f64) -> Geometry {
        Geometry::Ball { radius: 0.5 * radius }
    }
}

impl Query for Scores<'_> {
    fn width(&self) -> usize {
        self.weights.len()
    }

    fn contribute(&self, record: &[f64], out: &mut [f64]) {
        let target = write_features(record, out);
        score(out, target, self.weights, self.radius, 1.0);
    }
}

/// The same of [centred](Frame) inputs, over their usual length $R$.
pub(super) struct CentredScores<'a> {
    pub(super) weights: &'a [f64],
    pub(super) frame: &'a Frame,
}

impl CentredScores<'_> {
    /// # Privacy
    /// As above with $R$ for $r$, so over $R$ it is a half. That $R$ and the centre are released numbers.
    pub(super) fn geometry() -> Geometry {
        Scores::geometry(1.0)
    }
}

impl Query for CentredScores<'_> {
    fn width(&self) -> usize {
        self.weights.len()
    }

    fn contribute(&self, record: &[f64], out: &mut [f64]) {
        let radius = self.frame.radius;
        let target = self.frame.write_features(record, out);
        score(out, target, self.weights, radius, 1.0 / radius);
    }
}

/// Turns inputs $x$ into $uv(y - p)x$ times a number.
fn score(x: &mut [f64], target: f64, weights: &[f64], radius: f64, by: f64) {
    with_wide_vectors(
        #[inline(always)]
        || {
            let p = sigmoid(wide_dot(x, weights));
            let residual = 0.5 * (target + 1.0) - p;
            let by = by * weight(x, radius) * trust(p) * residual;
            x.iter_mut().for_each(|x| *x *= by);
        },
    );
}

/// How fast the mean of the weighted scores falls: $uv\,p(1-p)\,xx^T$. Last, the variance $u^2v^2p(1-p)$ of a score over
/// $\lVert x\rVert^2$.
pub(super) struct Curvatures<'a> {
    pub(super) weights: &'a [f64],
    pub(super) radius: f64,
}

impl Curvatures<'_> {
    pub(super) fn width(size: usize) -> usize {
        symmetric::width(size) + 1
    }

    /// # Privacy
    /// $u\,p(1-p) \le \frac14$ and $\lVert v\,xx^T\rVert_F = v\lVert x\rVert^2 \le r^2$.
    pub(super) fn geometry(radius: f64) -> Geometry {
        Geometry::Ball { radius: 0.25 * radius * radius * (1.0 + LAST * LAST).sqrt() }
    }

    /// What the last coordinate has to be divided by.
    pub(super) fn last(radius: f64) -> f64 {
        LAST * radius * radius
    }
}

impl Query for Curvatures<'_> {
    fn width(&self) -> usize {
        Self::width(self.weights.len())
    }

    fn contribute(&self, record: &[f64], out: &mut [f64]) {
        let (x, _) = features(record);
        let p = sigmoid(wide_dot(&x, self.weights));
        let by = weight(&x, self.radius) * trust(p);
        let variance = p * (1.0 - p);
        let Some((last, out)) = out.split_last_mut() else { return };
        with_wide_vectors(
            #[inline(always)]
            || outer(&x, by * variance, out),
        );
        *last = by * by * variance * Self::last(self.radius);
    }
}

/// $by\,xx^T$ in isometric coordinates.
#[inline(always)]
pub(super) fn outer(x: &[f64], by: f64, out: &mut [f64]) {
    let mut rest = out;
    for (i, a) in x.iter().enumerate() {
        let (row, after) = rest.split_at_mut(x.len() - i);
        let both = a * by * std::f64::consts::SQRT_2;
        row.iter_mut().zip(&x[i..]).for_each(|(out, b)| *out = both * b);
        row[0] = a * by * a;
        rest = after;
    }
}

/// $u$.
#[inline(always)]
pub(super) fn trust(p: f64) -> f64 {
    0.5 / p.max(1.0 - p)
}

#[inline(always)]
pub(super) fn sigmoid(x: f64) -> f64 {
    let e = (-x.abs()).exp();
    (if x < 0.0 { e } else { 1.0 }) / (1.0 + e)
}
