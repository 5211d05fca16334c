use super::{Block, Coordinates, Noise, SiteModel, Sites};
use crate::jobs::Named;
use crate::math::vector::norm;
use crate::wall::{Geometry, Query, QuerySpec};
use serde::{Deserialize, Serialize};

/// A model of two classes whose centred sites are scaled to a norm before the wall, by a factor that does not depend
/// on the class.
///
/// In centred coordinates at the cavity mean $m$ the first part of a site is the score $g_y\,\partial a/\partial w$ of the record, and
/// $\sum_y p(y|x, m)\,g_y = 0$: scores have expectation 0 at the solution. A clip that depends on the class shortens
/// the less probable class more. The expectation of the clipped score is then not 0, so the fit has a bias that
/// neither more records nor a larger budget reduces. With the factor
///
/// $$\omega(x) = \min\Bigl(1, \frac{c}{\max_y \lVert s_y(x)\rVert}\Bigr)$$
///
/// the expectation stays 0 for every clipping norm $c$: the estimate is that of a likelihood in which the record has
/// the weight $\omega(x)$. Its information $\sum\omega I$ is at most that of the full likelihood, and the variance of
/// its score, $\sum\omega^2 I$, is at most its information, so the stated variance is not too small.
///
/// # Privacy
/// No privacy is claimed: the wall clips whatever it receives.
///
/// # Citation
/// Künsch, Stefanski, Carroll, "Conditionally unbiased bounded-influence estimation in general regression models, with
/// applications to generalized linear models", JASA 1989.
#[derive(Debug, Serialize)]
pub struct UnbiasedClip<'a, M> {
    model: &'a M,
    norm: f64,
}

impl<'a, M: SiteModel> UnbiasedClip<'a, M> {
    /// Scales sites to this clipping norm. The last number of a record is its class: 1 or -1.
    #[must_use]
    pub fn new(model: &'a M, norm: f64) -> Self {
        Self { model, norm }
    }

    /// The model of the sites.
    pub(crate) fn model(&self) -> &M {
        self.model
    }

    /// The larger norm of the two sites that a record has with either class, with the site of its own class in `out`.
    pub(crate) fn longest(model: &M, cavity: &M::Cavity, record: &[f64], out: &mut [f64]) -> f64 {
        model.site_centred(cavity, record, out);
        let mut other = record.to_vec();
        if let Some(class) = other.last_mut() {
            *class = if *class > 0.0 { -1.0 } else { 1.0 };
        }
        let mut opposite = vec![0.0; out.len()];
        model.site_centred(cavity, &other, &mut opposite);
        norm(out).max(norm(&opposite))
    }
}

impl<M: SiteModel> SiteModel for UnbiasedClip<'_, M> {
    type Cavity = M::Cavity;

    fn width(&self) -> usize {
        self.model.width()
    }
    fn prior(&self) -> &[f64] {
        self.model.prior()
    }
    fn condition(&self, natural: &[f64], cavity: &mut M::Cavity) {
        self.model.condition(natural, cavity);
    }
    fn leave_out(&self, likelihood: &[f64], kept: f64, natural: &mut [f64], cavity: &mut M::Cavity) -> u64 {
        self.model.leave_out(likelihood, kept, natural, cavity)
    }
    fn leave_out_noisy(
        &self,
        likelihood: &[f64],
        noise: &Noise,
        kept: f64,
        natural: &mut [f64],
        cavity: &mut M::Cavity,
    ) -> u64 {
        self.model.leave_out_noisy(likelihood, noise, kept, natural, cavity)
    }
    fn site(&self, cavity: &M::Cavity, record: &[f64], out: &mut [f64]) {
        self.model.site(cavity, record, out);
    }
    fn site_centred(&self, cavity: &M::Cavity, record: &[f64], out: &mut [f64]) {
        let longest = Self::longest(self.model, cavity, record, out);
        if longest > self.norm {
            out.iter_mut().for_each(|x| *x *= self.norm / longest);
        }
    }
    fn sites_spec(sites: &Sites<'_, Self>) -> Option<QuerySpec> {
        M::clipped_sites_spec(sites)
    }
    fn project(&self, natural: &mut [f64]) -> u64 {
        self.model.project(natural)
    }
    fn centre(&self, cavity: &M::Cavity, natural: &mut [f64]) {
        self.model.centre(cavity, natural);
    }
    fn uncentre(&self, cavity: &M::Cavity, centred: &mut [f64]) {
        self.model.uncentre(cavity, centred);
    }
    fn shear<'a>(&self, cavity: &'a M::Cavity) -> Option<&'a [f64]> {
        self.model.shear(cavity)
    }
    fn blocks(&self) -> Vec<Block> {
        self.model.blocks()
    }
}

/// Sites of such a model, read from a job.
#[derive(Deserialize)]
#[serde(bound = "M: Deserialize<'de>, M::Cavity: Deserialize<'de>")]
pub(crate) struct OwnedClippedSites<M: SiteModel> {
    model: OwnedClip<M>,
    cavity: M::Cavity,
    factor: Vec<f64>,
    coordinates: Coordinates,
    clip: Option<Geometry>,
}

#[derive(Deserialize)]
struct OwnedClip<M> {
    model: M,
    norm: f64,
}

impl<M: ClippedName + SiteModel> Named for OwnedClippedSites<M> {
    const NAME: &'static str = M::CLIPPED;
}

/// A model with a name for its sites if they are clipped without bias.
pub(crate) trait ClippedName {
    /// The name in the registry of queries.
    const CLIPPED: &'static str;
}

impl<M: ClippedName> Named for UnbiasedClip<'_, M> {
    const NAME: &'static str = M::CLIPPED;
}

impl<M: SiteModel> Query for OwnedClippedSites<M> {
    fn width(&self) -> usize {
        self.model.model.width()
    }

    fn contribute(&self, record: &[f64], out: &mut [f64]) {
        let Self { model, cavity, factor, coordinates, clip } = self;
        let model = UnbiasedClip::new(&model.model, model.norm);
        Sites { model: &model, cavity, factor, coordinates: *coordinates, clip: clip.as_ref() }
            .contribute(record, out);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::clip;
    use crate::family::{Covariance, Moments};
    use crate::model::Prediction;
    use crate::model::linear::{Linear, LinearCavity, Response};
    use crate::wall::Geometry;

    const NORM: f64 = 0.7;

    /// Scores of both classes, weighted by their probabilities at the cavity mean, for a record whose sites are
    /// longer than the clipping norm.
    fn expected_score(clipped: impl Fn(&Linear, &LinearCavity, &[f64], &mut [f64])) -> f64 {
        let model = Linear::new(2, 1.0, Covariance::Full, Response::Probit).unwrap();
        let narrow = (0..9).map(|k| if k % 4 == 0 { 1e-9 } else { 0.0 }).collect();
        let mean = vec![0.8, -0.4, 0.2];
        let score = 0.9 * mean[0] - 0.5 * mean[1] + mean[2];
        let natural = model.family().natural(&Moments { mean, covariance: narrow }).unwrap();
        let mut cavity = LinearCavity::default();
        model.condition(&natural, &mut cavity);
        let term = |class: f64| {
            let mut out = vec![0.0; model.width()];
            clipped(&model, &cavity, &[0.9, -0.5, class], &mut out);
            assert!(norm(&out) <= NORM * (1.0 + 1e-12));
            let probability =
                Prediction { mean: class * score, variance: 0.0, noise_variance: 1.0 }.positive();
            probability * out[2]
        };
        term(1.0) + term(-1.0)
    }

    /// A factor common to both classes keeps the expectation 0; clipping each class separately does not.
    #[test]
    fn clipped_scores_have_no_expectation() {
        let unbiased = expected_score(|model, cavity, record, out| {
            UnbiasedClip::new(model, NORM).site_centred(cavity, record, out);
        });
        let biased = expected_score(|model, cavity, record, out| {
            model.site_centred(cavity, record, out);
            clip(&Geometry::Ball { radius: NORM }, out);
        });
        assert!(unbiased.abs() < 1e-7, "{unbiased}");
        assert!(biased.abs() > 0.05, "{biased}");
    }

    /// Sites shorter than the clipping norm are unchanged.
    #[test]
    fn short_sites_are_not_clipped() {
        let model = Linear::new(1, 1.0, Covariance::Full, Response::Probit).unwrap();
        let mut cavity = LinearCavity::default();
        model.condition(model.prior(), &mut cavity);
        let [mut found, mut expected] = [(); 2].map(|()| vec![0.0; model.width()]);
        UnbiasedClip::new(&model, 100.0).site_centred(&cavity, &[0.5, 1.0], &mut found);
        model.site_centred(&cavity, &[0.5, 1.0], &mut expected);
        assert_eq!(found, expected);
    }
}
