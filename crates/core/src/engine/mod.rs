//! The engines, and the traits that models meet them in. Variational Bayes is in [`vb`]; the rest is expectation propagation.
//!
//! The posterior is approximated by $q \propto p_0 \prod_n f_n$ in an exponential family. A *site* $f_n$ is what makes the
//! approximation match the moments of the *tilted* distribution $q_{-n}\,p(x_n|\theta)$, where the *cavity* $q_{-n}$ is $q$ without
//! that site. In natural parameters products are sums, and the engines differ in which sites they keep:
//!
//! | engine | keeps | private |
//! |---|---|---|
//! | [`ep`](fn@ep), [`Ep`] | a site for each record | no |
//! | [`adf`] | the product of all, and never removes one | no |
//! | [`sep`](fn@sep) | the average site $f$, so that $q = p_0 f^N$ | yes: sites are clipped and summed behind the wall |
//!
//! # Citation
//! Minka, "Expectation propagation for approximate Bayesian inference", UAI 2001; Li, Hernandez-Lobato, Turner, "Stochastic
//! expectation propagation", NeurIPS 2015; Vinaroz, Park, "Differentially private stochastic expectation propagation",
//! TMLR 2022.

pub mod conjugate;
mod ep;
mod noise;
mod plan;
mod sep;
pub mod tempered;
mod unbiased;
mod validate;
pub mod vb;

pub use ep::{Ep, adf, adf_pass, ep};
pub use noise::{Block, Noise};
pub use plan::{SepPlan, Simulate};
pub(crate) use plan::{exact_delta, gdp_mu};
use reticent_noise::with_wide_vectors;
pub(crate) use sep::clip;
pub use sep::{Average, Coordinates, Damping, Fit, Phase, Sep, sep};
pub use unbiased::UnbiasedClip;

/// A model whose sites can be matched by moments, in a family with flat natural parameters.
pub trait SiteModel: Sync {
    /// What sites need to know of a cavity, worked out once for all records that share it.
    type Cavity: Default + Sync;

    /// Natural parameters of the whole model.
    fn width(&self) -> usize;

    /// Those of the prior.
    fn prior(&self) -> &[f64];

    /// Prepares a cavity that is a density.
    fn condition(&self, natural: &[f64], cavity: &mut Self::Cavity);

    /// Prepares the cavity that a share `kept` of the likelihood part makes with the prior, [projected](Self::project) if need be: how
    /// many parts of it had to be moved. `natural` is room for its natural parameters, for models that need it.
    fn leave_out(
        &self,
        likelihood: &[f64],
        kept: f64,
        natural: &mut [f64],
        cavity: &mut Self::Cavity,
    ) -> u64 {
        with_wide_vectors(
            #[inline(always)]
            || {
                let parts = likelihood.iter().zip(self.prior());
                natural
                    .iter_mut()
                    .zip(parts)
                    .for_each(|(x, (likelihood, prior))| *x = prior + kept * likelihood);
            },
        );
        let moved = self.project(natural);
        self.condition(natural, cavity);
        moved
    }

    /// The same, with the covariance of the noise in the likelihood part: models that can tell what of it is noise prepare the
    /// cavity that knows it, so that sites are about weights that noise has not led astray.
    fn leave_out_noisy(
        &self,
        likelihood: &[f64],
        _noise: &Noise,
        kept: f64,
        natural: &mut [f64],
        cavity: &mut Self::Cavity,
    ) -> u64 {
        self.leave_out(likelihood, kept, natural, cavity)
    }

    /// Writes the natural parameters of a record's site to `out`, which holds zeros. A site that does not exist is NaN; the
    /// wall makes it nothing.
    fn site(&self, cavity: &Self::Cavity, record: &[f64], out: &mut [f64]);

    /// The same in [centred](Self::centre) coordinates, for models that need not go through natural parameters.
    fn site_centred(&self, cavity: &Self::Cavity, record: &[f64], out: &mut [f64]) {
        self.site(cavity, record, out);
        self.centre(cavity, out);
    }

    /// Moves natural parameters to the nearest density, in place; how many parts of it had to be moved.
    fn project(&self, natural: &mut [f64]) -> u64;

    /// Turns natural parameters into centred coordinates: for a Gaussian $(\lambda, P) \mapsto (\lambda - P m, P)$ with the mean $m$
    /// of the cavity. Linear, and the identity for models without such coordinates.
    fn centre(&self, _cavity: &Self::Cavity, _natural: &mut [f64]) {}

    /// The inverse of [`centre`](Self::centre).
    fn uncentre(&self, _cavity: &Self::Cavity, _centred: &mut [f64]) {}

    /// $s$, if [`uncentre`](Self::uncentre) is $x_k \leftarrow x_k + s_k x_{n+k}$ for the first $n$ coordinates and the identity for those
    /// after the first $2n$: noise goes that way faster.
    fn shear<'a>(&self, _cavity: &'a Self::Cavity) -> Option<&'a [f64]> {
        None
    }

    /// Groups of coordinates, leaving out none, that [`centre`](Self::centre) mixes with no others.
    fn blocks(&self) -> Vec<Block> {
        (0..self.width()).map(|k| Block::from(k..k + 1)).collect()
    }
}
