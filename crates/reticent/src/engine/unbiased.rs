use super::{Block, SiteModel};

/// A model of two classes whose centred sites are scaled to a norm before they reach the wall, by a factor that does not
/// depend on the class.
///
/// In centred coordinates at the cavity mean $m$ the first part of a site is the score $g_y\,\partial a/\partial w$ of the record, and
/// $\sum_y p(y|x, m)\,g_y = 0$: scores have no expectation where the fit ends. A clip that looks at the class shortens the
/// surprising one more than the other. The expectation of what is left is not 0, so that the fit ends elsewhere, by a distance
/// that neither more records nor a larger budget makes smaller. With the factor
///
/// $$\omega(x) = \min\Bigl(1, \frac{c}{\max_y \lVert s_y(x)\rVert}\Bigr)$$
///
/// the expectation stays 0 for every clipping norm $c$: the estimate is that of a likelihood in which the record has the
/// weight $\omega(x)$. Its information $\sum\omega I$ is at most that of the whole likelihood, and the variance of its score,
/// $\sum\omega^2 I$, is at most its information, so that the stated variance is not too small.
///
/// # Privacy
/// None is claimed: the wall clips whatever it is given.
///
/// # Citation
/// Künsch, Stefanski, Carroll, "Conditionally unbiased bounded-influence estimation in general regression models, with
/// applications to generalized linear models", JASA 1989.
#[derive(Debug)]
pub struct UnbiasedClip<'a, M> {
    model: &'a M,
    norm: f64,
}

impl<'a, M: SiteModel> UnbiasedClip<'a, M> {
    /// With this clipping norm. The last number of a record is its class: 1 or -1.
    #[must_use]
    pub fn new(model: &'a M, norm: f64) -> Self {
        Self { model, norm }
    }

    /// The norm of the longer of the sites that a record has with either class, with the site of its own class in `out`.
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

fn norm(x: &[f64]) -> f64 {
    x.iter().map(|x| x * x).sum::<f64>().sqrt()
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
    fn site(&self, cavity: &M::Cavity, record: &[f64], out: &mut [f64]) {
        self.model.site(cavity, record, out);
    }
    fn site_centred(&self, cavity: &M::Cavity, record: &[f64], out: &mut [f64]) {
        let longest = Self::longest(self.model, cavity, record, out);
        if longest > self.norm {
            out.iter_mut().for_each(|x| *x *= self.norm / longest);
        }
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
