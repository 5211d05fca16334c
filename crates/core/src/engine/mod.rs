//! The inference engines, and the traits that models implement for them. Variational Bayes is in [`vb`]; the others
//! are variants of expectation propagation.
//!
//! The posterior is approximated by $q \propto p_0 \prod_n f_n$ in an exponential family. A *site* $f_n$ makes the
//! approximation match the moments of the *tilted* distribution $q_{-n}\,p(x_n|\theta)$, where the *cavity* $q_{-n}$
//! is $q$ without that site. In natural parameters products are sums, and the engines differ in the sites that they
//! keep:
//!
//! | engine | keeps | private |
//! |---|---|---|
//! | [`ep`](fn@ep), [`Ep`] | a site for each record | no |
//! | [`adf`] | the product of all sites, none of which is removed | no |
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

use crate::wall::QuerySpec;
pub use ep::{Ep, adf, adf_pass, ep};
pub use noise::{Block, Noise};
pub(crate) use plan::exact_delta;
pub use plan::gdp_mu;
pub use plan::{SepPlan, Simulate};
use reticent_noise::with_wide_vectors;
pub use sep::{Average, Coordinates, Damping, Fit, Phase, Sep, Sites, sep};
pub(crate) use sep::{OwnedSites, clip};
pub use unbiased::UnbiasedClip;
pub(crate) use unbiased::{ClippedName, OwnedClippedSites};

/// A model with sites by moment matching, in a family with flat natural parameters.
pub trait SiteModel: Sync {
    /// Functions of the cavity that sites need, computed once for all records that share it.
    type Cavity: Default + Sync;

    /// Number of natural parameters of the model.
    fn width(&self) -> usize;

    /// Natural parameters of the prior.
    fn prior(&self) -> &[f64];

    /// Prepares a proper cavity.
    fn condition(&self, natural: &[f64], cavity: &mut Self::Cavity);

    /// Prepares the cavity of the prior and a share `kept` of the likelihood part, [projected](Self::project) to a
    /// proper density if necessary. Returns the number of projected parts. `natural` is working memory for its
    /// natural parameters.
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

    /// As [`leave_out`](Self::leave_out), given the covariance of the noise in the likelihood part: models that can
    /// separate noise from information prepare a noise-aware cavity, so that sites are computed at denoised weights.
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

    /// Writes the natural parameters of a record's site to `out`, which holds zeros. A site that does not exist is
    /// NaN, which contributes nothing.
    fn site(&self, cavity: &Self::Cavity, record: &[f64], out: &mut [f64]);

    /// The site in [centred](Self::centre) coordinates, for models that compute it without natural parameters.
    fn site_centred(&self, cavity: &Self::Cavity, record: &[f64], out: &mut [f64]) {
        self.site(cavity, record, out);
        self.centre(cavity, out);
    }

    /// Projects natural parameters to the nearest proper density, in place. Returns the number of projected parts.
    fn project(&self, natural: &mut [f64]) -> u64;

    /// Turns natural parameters into centred coordinates: for a Gaussian $(\lambda, P) \mapsto (\lambda - P m, P)$
    /// with the mean $m$ of the cavity. It is linear, and the identity for models without such coordinates.
    fn centre(&self, _cavity: &Self::Cavity, _natural: &mut [f64]) {}

    /// The inverse of [`centre`](Self::centre).
    fn uncentre(&self, _cavity: &Self::Cavity, _centred: &mut [f64]) {}

    /// The shear $s$, if [`uncentre`](Self::uncentre) is $x_k \leftarrow x_k + s_k x_{n+k}$ for the first $n$
    /// coordinates and the identity after the first $2n$. It makes propagating the noise faster.
    fn shear<'a>(&self, _cavity: &'a Self::Cavity) -> Option<&'a [f64]> {
        None
    }

    /// Sites as data, which another process can compute; `None` if only this one can.
    fn sites_spec(_sites: &Sites<'_, Self>) -> Option<QuerySpec>
    where
        Self: Sized,
    {
        None
    }

    /// As [`sites_spec`](Self::sites_spec), for sites [clipped without bias](UnbiasedClip).
    fn clipped_sites_spec(_sites: &Sites<'_, UnbiasedClip<'_, Self>>) -> Option<QuerySpec>
    where
        Self: Sized,
    {
        None
    }

    /// A partition of the coordinates into groups that [`centre`](Self::centre) does not mix.
    fn blocks(&self) -> Vec<Block> {
        (0..self.width()).map(|k| Block::from(k..k + 1)).collect()
    }
}
