//! One release as a dominating pair of distributions $(P, Q)$, cut into bins of privacy loss.
//!
//! The loss is $\ell = \ln(dP/dQ)$ and everything is accounted under $P$. A bin $(\ell_a, \ell_b]$ is known by its
//! $Q$-mass, split between its two edges so that $P$- and $Q$-mass are kept.
//!
//! # Rounding
//! Composition multiplies an error of one release by the number of releases, so two kinds of error are bounded for each
//! bin, whatever its width:
//!
//! - *Mass.* A $P$-mass is right to a few units in the last place. Nothing is a difference of numbers near one:
//!   a bin uses differences of losses, and the shares of its edges add up to one.
//! - *Place.* The computed bins are those of a pair whose losses differ from the true ones by at most
//!   [`Pair::displacement`]. The profile rises with the losses, so shifting all of them up (down) by that much gives an upper
//!   (lower) bound, and after $T$ releases the shift is $T$ times as large.

use crate::gaussian;
use crate::normal::{LN_SQRT_2PI, cdf, density, interval};
use crate::quadrature::Rule;

/// The part of a pair with losses in $(\ell_a, \ell_b]$: its $Q$-mass, split between the edges so that the $P$-mass
/// is $e^{\ell_a}$ times `down` plus $e^{\ell_b}$ times `up`.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Bin {
    /// The $Q$-mass at $\ell_a$.
    pub down: f64,
    /// The $Q$-mass at $\ell_b$.
    pub up: f64,
}

impl Bin {
    /// $Q(\text{bin})$.
    pub(super) fn mass(self) -> f64 {
        self.down + self.up
    }

    /// A bin of this mass with $P-e^{\ell_a}Q$ and $e^{\ell_b}Q-P$ in the ratio of `rise` to `fall`. Only their ratio
    /// is used, so that an error in them moves mass between the edges and changes none.
    fn new(mass: f64, rise: f64, fall: f64) -> Self {
        let (rise, fall) = (rise.max(0.0), fall.max(0.0));
        let share = if rise + fall > 0.0 { rise / (rise + fall) } else { 1.0 };
        Self { down: mass * (1.0 - share), up: mass * share }
    }

    /// Adds an atom of $Q$-mass `q` at a loss within the bin.
    fn add_atom(&mut self, loss: f64, q: f64, la: f64, lb: f64) {
        // ln of the ratio of both edges is lb - la; e^l lies between them.
        let all = (lb - la).exp_m1();
        let share = ((loss - la).exp_m1() / all).clamp(0.0, 1.0);
        self.up += q * share;
        self.down += q * (1.0 - share);
    }
}

/// The unsampled mechanism: a symmetric pair, described by its loss $\lambda$.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Base {
    /// $N(1,\sigma^2)$ against $N(0,\sigma^2)$.
    Gaussian { sigma: f64 },
    /// Laplace of this scale at 1 against the same at 0.
    Laplace { scale: f64 },
    /// Randomised response.
    Pure { epsilon: f64 },
    /// The pair with profile $(e^{\varepsilon/2}-\sqrt\alpha)^2/(e^\varepsilon-1)$: the supremum over $t$ of the profiles
    /// of all generalised randomised responses $p_t(1-\alpha e^{-t})_+$, $p_t = (e^\varepsilon-e^t)/(e^\varepsilon-1)$,
    /// is at $e^{2t}=\alpha e^\varepsilon$; a supremum of profiles is convex, hence the profile of a dominating pair.
    BoundedRange { epsilon: f64 },
}

/// The part of a pair with density $\frac N2 e^{(\lambda-\Lambda)/2}$ under $P$ and $\frac N2 e^{-(\lambda+\Lambda)/2}$
/// under $Q$ for $|\lambda|\le\Lambda$.
#[derive(Clone, Copy)]
struct Spread {
    /// $\Lambda$.
    top: f64,
    /// $N$.
    scale: f64,
}

impl Spread {
    /// $P(\lambda > t)$ and $Q(\lambda > t)$.
    fn tails(self, t: f64) -> (f64, f64) {
        let t = t.clamp(-self.top, self.top);
        let p = -self.scale * (0.5 * (t - self.top)).exp_m1();
        (p, p * (-0.5 * (self.top + t)).exp())
    }

    /// $Q$-mass of $(\lambda_a, \lambda_b]$ and $\ln(P/Q)$ there, which is the middle.
    fn bin(self, a: f64, b: f64) -> (f64, f64) {
        let (a, b) = (a.clamp(-self.top, self.top), b.clamp(-self.top, self.top));
        if b <= a {
            return (0.0, a);
        }
        (self.scale * (-0.5 * (self.top + a)).exp() * -(0.5 * (a - b)).exp_m1(), 0.5 * (a + b))
    }
}

impl Base {
    /// Atoms: $\lambda$, $P$- and $Q$-mass.
    fn atoms(self) -> [(f64, f64, f64); 2] {
        let (top, more, less) = match self {
            Self::Gaussian { .. } | Self::BoundedRange { .. } => (0.0, 0.0, 0.0),
            Self::Laplace { scale } => (1.0 / scale, 0.5, 0.5 * (-1.0 / scale).exp()),
            Self::Pure { epsilon } => {
                let odds = (-epsilon).exp();
                (epsilon, 1.0 / (1.0 + odds), odds / (1.0 + odds))
            }
        };
        [(top, more, less), (-top, less, more)]
    }

    /// The part with a density, of mechanisms other than the Gaussian.
    fn spread(self) -> Option<Spread> {
        match self {
            Self::Gaussian { .. } | Self::Pure { .. } => None,
            Self::Laplace { scale } => Some(Spread { top: 1.0 / scale, scale: 0.5 }),
            Self::BoundedRange { epsilon } => {
                Some(Spread { top: epsilon, scale: -(-epsilon).exp_m1().recip() })
            }
        }
    }

    /// $P(\lambda > t)$ and $Q(\lambda > t)$ without atoms.
    fn smooth_tails(self, t: f64) -> (f64, f64) {
        if let Self::Gaussian { sigma } = self {
            let z = sigma * t + 0.5 / sigma;
            return (cdf(1.0 / sigma - z), cdf(-z));
        }
        self.spread().map_or((0.0, 0.0), |spread| spread.tails(t))
    }

    /// The largest loss, or a loss that a Gaussian exceeds with negligible probability; see [`Pair::displacement`].
    fn extent(self) -> f64 {
        match self {
            Self::Gaussian { sigma } => 1.0 + 80.0 / sigma + 1.0 / (sigma * sigma),
            Self::Laplace { scale } => 1.0 / scale,
            Self::Pure { epsilon } | Self::BoundedRange { epsilon } => epsilon,
        }
    }

    /// $\ln$ of the profile $H_{e^t}(P \Vert Q)$ of the unsampled mechanism, for any real $t$.
    fn log_profile(self, t: f64) -> f64 {
        match self {
            Self::Gaussian { sigma } => gaussian::profile(sigma, t),
            Self::Laplace { scale } => {
                let top = 1.0 / scale;
                if t >= top {
                    f64::NEG_INFINITY
                } else if t >= -top {
                    (-(0.5 * (t - top)).exp_m1()).ln()
                } else {
                    (-t.exp_m1()).ln()
                }
            }
            Self::Pure { epsilon } => {
                if t >= epsilon {
                    f64::NEG_INFINITY
                } else if t >= -epsilon {
                    (-(t - epsilon).exp_m1() / (1.0 + (-epsilon).exp())).ln()
                } else {
                    (-t.exp_m1()).ln()
                }
            }
            Self::BoundedRange { epsilon } => {
                if t >= epsilon {
                    f64::NEG_INFINITY
                } else if t >= -epsilon {
                    // (e^{eps/2} - e^{t/2})^2 / (e^eps - 1), over e^eps in both.
                    2.0 * (-(0.5 * (t - epsilon)).exp_m1()).ln() - (-(-epsilon).exp_m1()).ln()
                } else {
                    (-t.exp_m1()).ln()
                }
            }
        }
    }
}

/// The bin of $\lambda$ in $(\lambda_a, \lambda_b]$, between the ratios `ea` and `eb`; `ea` may be negative where
/// $\lambda_a$ is $-\infty$.
fn gaussian_bin(sigma: f64, (la, lb): (f64, f64), (ea, eb): (f64, f64)) -> Bin {
    // Under Q, z is standard normal and the ratio is exp((z - 1/(2 sigma)) / sigma).
    let standardise = |lambda: f64| sigma * lambda + 0.5 / sigma;
    let (za, zb) = (standardise(la), standardise(lb));
    if zb <= -39.0 || za >= 39.0 || zb <= za {
        return Bin::default();
    }
    let change = (zb - za) * (1.0 / sigma).max(za.abs()).max(zb.abs()).max(1.0);
    if (zb - za) * (1.0 / sigma).max(1.0) <= 0.75 {
        // The ratio over that at the lower edge, less 1: from 0 to `widest` across the bin.
        let widest = ((zb - za) / sigma).exp_m1();
        let (mut mass, mut rise, mut fall) = (0.0, 0.0, 0.0);
        for (z, w) in panels(za, zb, change) {
            let weight = w * density(z);
            let above = ((z - za) / sigma).exp_m1();
            mass += weight;
            rise += weight * above;
            fall += weight * (widest - above);
        }
        return Bin::new(mass, rise, fall);
    }
    let (q, p) = (interval(za, zb), interval(za - 1.0 / sigma, zb - 1.0 / sigma));
    Bin::new(q, p - ea * q, eb * q - p)
}

/// Nodes and weights on $[a, b]$ for an integrand whose logarithm changes by about `change`: the rule with eight points has an
/// error below $10^{-17}$ up to a change of 2.
fn panels(a: f64, b: f64, change: f64) -> impl Iterator<Item = (f64, f64)> {
    let count = (0.5 * change).ceil().max(1.0);
    let (rule, width) = (Rule::short(change), (b - a) / count);
    (0..count as u32).flat_map(move |i| {
        let start = a + width * f64::from(i);
        rule.on(start, start + width)
    })
}

/// The dominating pair of a sampled release.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Pair {
    /// A record is there or not, and is included with probability `rate`: $P = (1-q)B_0 + qB_1$, $Q = B_0$
    /// with base pair $(B_1, B_0)$. Both directions are accounted (Zhu, Dong, Wang 2022, Theorem 11).
    Poisson { base: Base, rate: f64 },
    /// Exactly a share `rate` of the records is in the batch, one is exchanged. The profile
    /// $h(\alpha) = q\,H_{1+(\alpha-1)/q}(B_1\Vert B_0)$ for $\alpha\ge1$ and $h(\alpha) = 1-\alpha+\alpha h(1/\alpha)$
    /// below (Balle, Barthe, Gaboardi 2018, Theorem 10) is convex, hence that of a dominating pair, which composes
    /// (Zhu, Dong, Wang 2022). Above 0 its losses are those of [`Pair::Poisson`]; below they mirror them; the rest
    /// of the mass has loss 0.
    Fixed { base: Base, rate: f64 },
    /// One record of a Poisson sample is exchanged, Gaussian noise:
    /// $P = (1-q)N(0)+qN(+\frac12)$, $Q = (1-q)N(0)+qN(-\frac12)$ in units of the replace-one sensitivity.
    ///
    /// *Why it dominates.* Given all other coins the pair is $(1-q)N(0)+qN(v)$, $(1-q)N(0)+qN(v')$ with
    /// $\lVert v\rVert,\lVert v'\rVert\le\frac12$, and profiles are jointly convex. By advanced joint convexity its
    /// profile is $q\,E_Z[(e^{X} - a - b\,e^{Y})_+]$ up to constants, with $X=v\cdot Z$, $Y=v'\cdot Z$ Gaussian. By
    /// Price's theorem the derivative in $\mathrm{Cov}(X,Y)$ is $E[\partial_X\partial_Y(\cdot)_+]\le0$, so antipodal
    /// directions are worst; lengthening $v$ orthogonally to $v'$ can only raise the profile (data processing), and
    /// turning it back to the antipode raises it again. So $v=-v'$ of full length is worst at every $\alpha$.
    Substitution { sigma: f64, rate: f64 },
}

impl Pair {
    /// Whether the pair equals its mirror image, so that one direction suffices.
    pub(super) fn is_symmetric(self) -> bool {
        match self {
            Self::Poisson { rate, .. } => rate == 1.0,
            Self::Fixed { .. } | Self::Substitution { .. } => true,
        }
    }

    /// The bin of losses in $(\ell_a, \ell_b]$. For [`Pair::Fixed`] only losses above 0.
    pub(super) fn bin(self, la: f64, lb: f64) -> Bin {
        let (base, rate) = match self {
            Self::Poisson { base, rate } | Self::Fixed { base, rate } => (base, rate),
            Self::Substitution { sigma, rate } => return substitution_bin(sigma, rate, la, lb),
        };
        // e^l - 1 = q (E - 1) is linear in E, so the shares of the edges are those of the base.
        let (a, b) = (base_loss(la, rate), base_loss(lb, rate));
        if let Base::Gaussian { sigma } = base {
            let ratio = |l: f64, lambda: f64| {
                if lambda.is_finite() { lambda.exp() } else { 1.0 + l.exp_m1() / rate }
            };
            return gaussian_bin(sigma, (a, b), (ratio(la, a), ratio(lb, b)));
        }
        let mut bin = Bin::default();
        for (loss, _, q) in self.atoms() {
            if q > 0.0 && la < loss && loss <= lb {
                bin.add_atom(loss, q, la, lb);
            }
        }
        if let Some(spread) = base.spread() {
            let (mass, middle) = spread.bin(a, b);
            bin.add_atom(sampled_loss(middle, rate).clamp(la, lb), mass, la, lb);
        }
        bin
    }

    /// Atoms: loss, $P$- and $Q$-mass. The same losses decide which bin and which tail an atom belongs to, so that
    /// none is counted twice or not at all.
    fn atoms(self) -> [(f64, f64, f64); 2] {
        match self {
            Self::Poisson { base, rate } | Self::Fixed { base, rate } => base
                .atoms()
                .map(|(lambda, p, q)| (sampled_loss(lambda, rate), rate * p + (1.0 - rate) * q, q)),
            Self::Substitution { .. } => [(0.0, 0.0, 0.0); 2],
        }
    }

    /// $P(\ell > t)$ and $Q(\ell > t)$. For [`Pair::Fixed`] only $t \ge 0$.
    pub(super) fn tails(self, t: f64) -> (f64, f64) {
        match self {
            Self::Poisson { base, rate } | Self::Fixed { base, rate } => {
                let (p, q) = base.smooth_tails(base_loss(t, rate));
                let smooth = (rate * p + (1.0 - rate) * q, q);
                self.atoms()
                    .iter()
                    .filter(|atom| atom.0 > t)
                    .fold(smooth, |(p, q), atom| (p + atom.1, q + atom.2))
            }
            Self::Substitution { sigma, rate } => {
                let z = substitution_place(sigma, rate, t);
                let (plain, near, far) = (cdf(-z), cdf(0.5 / sigma - z), cdf(-0.5 / sigma - z));
                ((1.0 - rate) * plain + rate * near, (1.0 - rate) * plain + rate * far)
            }
        }
    }

    /// $P(\ell \le t)$ and $Q(\ell \le t)$, with full precision where they are small. Not for [`Pair::Fixed`].
    pub(super) fn below(self, t: f64) -> (f64, f64) {
        match self {
            Self::Poisson { base, rate } | Self::Fixed { base, rate } => {
                // The base is symmetric.
                let (q, p) = base.smooth_tails(-base_loss(t, rate));
                let smooth = (rate * p + (1.0 - rate) * q, q);
                self.atoms()
                    .iter()
                    .filter(|atom| atom.0 <= t)
                    .fold(smooth, |(p, q), atom| (p + atom.1, q + atom.2))
            }
            Self::Substitution { .. } => {
                let (p, q) = self.tails(-t);
                (q, p)
            }
        }
    }

    /// Losses beyond this count as infinite: up to it neither $e^\lambda$ nor a $Q$-mass leaves the range of a double.
    pub(super) fn largest_loss(self) -> f64 {
        match self {
            Self::Poisson { base, rate } | Self::Fixed { base, rate } => {
                let place = match base {
                    Base::Gaussian { sigma } => ((38.0 - 0.5 / sigma) / sigma).max(1.0),
                    _ => f64::INFINITY,
                };
                sampled_loss(place.min(LARGEST_LOSS), rate)
            }
            Self::Substitution { sigma, rate } => {
                let shift = 0.5 / sigma;
                (38.0 * shift - 0.5 * shift * shift + rate.ln()).clamp(1.0, LARGEST_LOSS)
            }
        }
    }

    /// The largest loss of all, in either direction; infinite for Gaussian noise.
    pub(super) fn pure_epsilon(self) -> f64 {
        match self {
            Self::Poisson { base: Base::Gaussian { .. }, .. }
            | Self::Fixed { base: Base::Gaussian { .. }, .. }
            | Self::Substitution { .. } => f64::INFINITY,
            // By Jensen's inequality the other direction is not larger.
            Self::Poisson { base, rate } | Self::Fixed { base, rate } => sampled_loss(base.extent(), rate),
        }
    }

    /// A bound on the error of the place of a loss between `bottom` and `top`: of the rounding of atoms, of edges and of the
    /// shares of edges.
    ///
    /// With $u$ the unit of rounding, $\lambda$ is known to $4u|\lambda|$ and $\ell$ to $4u|\ell|$; through
    /// $d\ell/d\lambda = 1-(1-q)e^{-\ell} \le 1$, which rises with $\ell$, the first is an error in $\ell$ that
    /// is largest at the top for $\lambda>0$, and at most $12u|\ell|$ for $\lambda<0$ since there
    /// $|\lambda|\,d\ell/d\lambda\le3|\ell|$. A share that is wrong by $4u$ of its bin moves $\ell$ by no more
    /// than $4u$ of the width of the bin. Gaussian bins are found in $z=\sigma\lambda+1/2\sigma$, $|z|\le39$, to
    /// $4u(|z|+1/\sigma)$, and their probabilities to $4u$. All of it has room for a factor of two.
    pub(super) fn displacement(self, bottom: f64, top: f64) -> f64 {
        let reach = bottom.abs().max(top.abs()) + (top - bottom);
        let slope = |extent: f64, rate: f64| {
            if rate == 1.0 { extent } else { extent * (1.0 - (1.0 - rate) * (-top).exp()) }
        };
        let moved = match self {
            Self::Poisson { base, rate } | Self::Fixed { base, rate } => slope(base.extent(), rate),
            Self::Substitution { sigma, rate } => {
                // dl/dz = (A + B)/2 sigma with A <= 1 - (1 - q)/(1 - q + q c y), largest at the top.
                let y = rate * (0.5 / sigma * substitution_place(sigma, rate, top)).min(700.0).exp();
                4.0 * y / (1.0 - rate + y) * Base::Gaussian { sigma }.extent()
            }
        };
        8.0 * f64::EPSILON * (3.0 * reach + moved)
    }

    /// $\ln\delta(\varepsilon)$ of one release, $\varepsilon\ge0$, the worse of both directions.
    pub(super) fn log_profile(self, epsilon: f64) -> f64 {
        match self {
            Self::Poisson { base, rate } => {
                let removed = rate.ln() + base.log_profile(amplified(epsilon, rate));
                // Q against P: with c = 1 - e^eps (1-q), c H_{q e^eps / c}(B_0 || B_1), zero when c <= 0.
                let c = rate - epsilon.exp_m1() * (1.0 - rate);
                let added = if c <= 0.0 {
                    f64::NEG_INFINITY
                } else {
                    c.ln() + base.log_profile(epsilon + (rate / c).ln())
                };
                removed.max(added)
            }
            Self::Fixed { base, rate } => rate.ln() + base.log_profile(amplified(epsilon, rate)),
            Self::Substitution { sigma, rate } => substitution_log_profile(sigma, rate, epsilon),
        }
    }
}

/// Losses of the base beyond this count as infinite; $e^{600}$ is still a double.
const LARGEST_LOSS: f64 = 600.0;

/// $\ln(1-q+qe^\lambda)$ with full relative precision.
fn sampled_loss(lambda: f64, rate: f64) -> f64 {
    if rate == 1.0 {
        lambda
    } else if lambda > 700.0 {
        // Without overflow; on a grid this is infinite.
        lambda + rate.ln()
    } else if lambda < -0.69 && rate > 0.5 {
        (1.0 - rate + rate * lambda.exp()).ln()
    } else {
        (rate * lambda.exp_m1()).ln_1p()
    }
}

/// The inverse, $\ln(1+(e^\ell-1)/q)$, or $-\infty$ below the least loss.
fn base_loss(loss: f64, rate: f64) -> f64 {
    if rate == 1.0 {
        return loss;
    }
    if loss > 30.0 {
        return loss - rate.ln() + (-(1.0 - rate) * (-loss).exp()).ln_1p();
    }
    // Near -ln(1 - q) the difference below is exact; nearer to 0 the quotient has full relative precision.
    let lambda = if loss < -0.69 {
        ((loss.exp() - (1.0 - rate)) / rate).max(0.0).ln()
    } else {
        (loss.exp_m1() / rate).max(-1.0).ln_1p()
    };
    if lambda.is_nan() { f64::NEG_INFINITY } else { lambda }
}

/// $\ln(1+(e^\varepsilon-1)/q)$.
fn amplified(epsilon: f64, rate: f64) -> f64 {
    if epsilon > 30.0 { epsilon - rate.ln() } else { (epsilon.exp_m1() / rate).ln_1p() }
}

/// Where the loss of the substitution pair equals `t`, in units of the noise. With $y = e^{z/2\sigma}$ and
/// $c = e^{-1/8\sigma^2}$, $e^\ell = (1-q+qcy)/(1-q+qc/y)$ is a quadratic equation in $y$.
fn substitution_place(sigma: f64, rate: f64, t: f64) -> f64 {
    let c = (-0.125 / (sigma * sigma)).exp();
    let k = 0.5 * (1.0 - rate) * t.exp_m1() / (rate * c);
    let root = (k * k + t.exp()).sqrt();
    let y = if k >= 0.0 { k + root } else { t.exp() / (root - k) };
    2.0 * sigma * y.ln()
}

/// The integral of $P - e^\varepsilon Q$, which is positive, over the losses above $\varepsilon$.
fn substitution_log_profile(sigma: f64, rate: f64, epsilon: f64) -> f64 {
    let shift = 0.5 / sigma;
    let start = substitution_place(sigma, rate, epsilon);
    let panels = ((start.max(shift) + 10.0 - start) * shift.max(1.0)).ceil().max(1.0);
    let width = (start.max(shift) + 10.0 - start) / panels;
    // Relative to the density at the start, so that a tiny delta has full precision.
    let reference = 0.5 * start.max(0.0).powi(2);
    let log_c = -0.5 * shift * shift;
    let excess = |z: f64| {
        let (p, q) = (rate * (log_c + z * shift).exp(), rate * (log_c - z * shift).exp());
        p - epsilon.exp() * q - (1.0 - rate) * epsilon.exp_m1()
    };
    let panel = |i: usize| {
        let a = start + width * i as f64;
        let nodes = Rule::short(1.0).on(a, a + width);
        nodes.map(|(z, w)| w * (reference - 0.5 * z * z).exp() * excess(z).max(0.0)).sum::<f64>()
    };
    (0..panels as usize).map(panel).sum::<f64>().ln() - reference - LN_SQRT_2PI
}

fn substitution_bin(sigma: f64, rate: f64, la: f64, lb: f64) -> Bin {
    let (za, zb) = (substitution_place(sigma, rate, la), substitution_place(sigma, rate, lb));
    if zb <= -39.0 || za >= 39.0 {
        return Bin::default();
    }
    let shift = 0.5 / sigma;
    let change = (zb - za) * shift.max(za.abs()).max(zb.abs()).max(1.0);
    if (zb - za) * shift.max(1.0) <= 0.75 {
        let c = (-0.125 / (sigma * sigma)).exp();
        let (mut mass, mut rise, mut fall) = (0.0, 0.0, 0.0);
        for (z, w) in panels(za, zb, change) {
            let weight = w * density(z);
            let y = (z * shift).exp();
            let (p, q) = (rate * c * y, rate * c / y);
            mass += weight * (1.0 - rate + q);
            rise += weight * (p - la.exp() * q - (1.0 - rate) * la.exp_m1());
            fall += weight * ((1.0 - rate) * lb.exp_m1() + lb.exp() * q - p);
        }
        return Bin::new(mass, rise, fall);
    }
    let plain = (1.0 - rate) * interval(za, zb);
    let near = rate * interval(za - shift, zb - shift);
    let far = rate * interval(za + shift, zb + shift);
    let rise = near - la.exp() * far - plain * la.exp_m1();
    let fall = plain * lb.exp_m1() + lb.exp() * far - near;
    Bin::new(plain + far, rise, fall)
}

#[cfg(test)]
mod tests {
    use super::*;

    const BASES: [Base; 8] = [
        Base::Gaussian { sigma: 0.3 },
        Base::Gaussian { sigma: 1.0 },
        Base::Gaussian { sigma: 30.0 },
        Base::Laplace { scale: 0.5 },
        Base::Laplace { scale: 4.0 },
        Base::Pure { epsilon: 1.5 },
        Base::BoundedRange { epsilon: 0.2 },
        Base::BoundedRange { epsilon: 3.0 },
    ];

    fn pairs() -> Vec<Pair> {
        let mut pairs = Vec::new();
        for base in BASES {
            for rate in [1e-6, 0.01, 0.4, 1.0] {
                pairs.push(Pair::Poisson { base, rate });
                pairs.push(Pair::Fixed { base, rate });
            }
        }
        for sigma in [0.3, 1.0, 10.0] {
            pairs.extend([1e-6, 0.01, 0.4, 1.0].map(|rate| Pair::Substitution { sigma, rate }));
        }
        pairs
    }

    /// Bins tile the tails: $Q$-mass and, through `rise`, $P$-mass.
    #[test]
    fn bins_add_up_to_the_tails() {
        for pair in pairs() {
            let (bottom, top) = (1e-9, 3.0);
            let edges: Vec<f64> =
                (0..=300).map(|i| bottom + (top - bottom) * (f64::from(i) / 300.0).powi(6)).collect();
            let (mut p, mut q) = (0.0, 0.0);
            for edge in edges.windows(2) {
                let bin = pair.bin(edge[0], edge[1]);
                assert!(bin.down >= 0.0 && bin.up >= 0.0, "{pair:?} {edge:?}");
                q += bin.mass();
                p += edge[0].exp() * bin.down + edge[1].exp() * bin.up;
            }
            let ((p0, q0), (p1, q1)) = (pair.tails(bottom), pair.tails(top));
            assert!((p - (p0 - p1)).abs() < 1e-11, "{pair:?}: {p} {}", p0 - p1);
            assert!((q - (q0 - q1)).abs() < 1e-11, "{pair:?}: {q} {}", q0 - q1);
            let below = pair.below(bottom);
            assert!((below.0 + p0 - 1.0).abs() < 1e-14 && (below.1 + q0 - 1.0).abs() < 1e-14, "{pair:?}");
        }
    }

    /// The closed-form profile equals $P(\ell>\varepsilon)-e^\varepsilon Q(\ell>\varepsilon)$.
    #[test]
    fn profiles_are_the_tails() {
        for pair in pairs() {
            for epsilon in [1e-3, 0.1, 0.7, 2.0] {
                let (p, q) = pair.tails(epsilon);
                let direct = p - epsilon.exp() * q;
                let closed = pair.log_profile(epsilon).exp();
                assert!(closed >= direct - 1e-13, "{pair:?} {epsilon}: {closed} {direct}");
                if pair.is_symmetric() {
                    assert!((closed - direct).abs() < 1e-12, "{pair:?} {epsilon}: {closed} {direct}");
                }
            }
        }
    }

    /// The bounded-range profile is the supremum over generalised randomised responses.
    #[test]
    fn bounded_range_profile_is_the_envelope() {
        let epsilon = 1.3f64;
        let base = Base::BoundedRange { epsilon };
        for x in [-1.2f64, -0.5, 0.0, 0.4, 1.2] {
            let response = |t: f64| {
                let p = (epsilon.exp() - t.exp()) / epsilon.exp_m1();
                p * (1.0 - (x - t).exp()).max(0.0) + (1.0 - p) * (1.0 - (x - t + epsilon).exp()).max(0.0)
            };
            let best = (0..=10_000).map(|i| response(epsilon * f64::from(i) / 10_000.0)).fold(0.0, f64::max);
            assert!((base.log_profile(x).exp() - best).abs() < 1e-7, "{x}");
        }
    }

    /// The worst case claimed for [`Pair::Substitution`] has a larger profile than other directions and lengths.
    #[test]
    fn antipodal_records_are_the_worst_substitution() {
        // The profile of (1-q)N(0)+qN(v) against (1-q)N(0)+qN(w) in the plane, on a grid.
        let profile = |rate: f64, v: [f64; 2], w: [f64; 2], epsilon: f64| {
            let h = 0.05;
            let mut sum = 0.0;
            for i in -200..=200 {
                for j in -200..=200 {
                    let x = [f64::from(i) * h, f64::from(j) * h];
                    let at = |c: [f64; 2]| density(x[0] - c[0]) * density(x[1] - c[1]);
                    let p = (1.0 - rate) * at([0.0; 2]) + rate * at(v);
                    let q = (1.0 - rate) * at([0.0; 2]) + rate * at(w);
                    sum += h * h * (p - epsilon.exp() * q).max(0.0);
                }
            }
            sum
        };
        for (rate, sigma) in [(0.1, 0.5), (0.5, 0.4), (0.9, 1.0)] {
            let r = 0.5 / sigma;
            for epsilon in [0.05, 0.4] {
                let worst = Pair::Substitution { sigma, rate }.log_profile(epsilon).exp();
                let claimed = profile(rate, [r, 0.0], [-r, 0.0], epsilon);
                assert!((worst - claimed).abs() < 1e-3 * worst, "{worst} {claimed}");
                for k in 0..6 {
                    let angle = f64::from(k) * std::f64::consts::PI / 6.0;
                    for length in [0.5 * r, r] {
                        let w = [length * angle.cos(), length * angle.sin()];
                        assert!(profile(rate, [r, 0.0], w, epsilon) <= worst * (1.0 + 1e-3));
                        assert!(profile(rate, w, [r, 0.0], epsilon) <= worst * (1.0 + 1e-3));
                    }
                }
            }
        }
    }
}
