//! One release as a dominating pair of distributions $(P, Q)$, cut into bins of privacy loss.
//!
//! The loss is $\ell = \ln(dP/dQ)$ and everything is accounted under $P$. A bin $(\ell_a, \ell_b]$ is known by its
//! $Q$-mass and by how far its $P$-mass lies above $e^{\ell_a}Q$ and below $e^{\ell_b}Q$. Discretisation needs those two
//! differences, and each mechanism computes them without cancellation for bins of any width.

use crate::gaussian;
use crate::normal::{LN_SQRT_2PI, cdf, density, interval};
use crate::quadrature::Rule;

/// The part of a pair with losses in $(\ell_a, \ell_b]$.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Bin {
    /// $Q(\text{bin})$.
    pub mass: f64,
    /// $P(\text{bin}) - e^{\ell_a}Q(\text{bin}) \ge 0$.
    pub rise: f64,
    /// $e^{\ell_b}Q(\text{bin}) - P(\text{bin}) \ge 0$.
    pub fall: f64,
}

/// The unsampled mechanism: a symmetric pair, described by $E = e^{\ell}$ under $Q$.
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

impl Base {
    /// The bin with $E$ in $(E_a, E_b]$; $E_a$ may be negative (then nothing is below it).
    fn bin(self, ea: f64, eb: f64) -> Bin {
        match self {
            Self::Gaussian { sigma } => gaussian_bin(sigma, ea, eb),
            Self::Laplace { scale } => laplace_bin(scale, ea, eb),
            Self::Pure { epsilon } => {
                let truth = 1.0 / (1.0 + (-epsilon).exp());
                let mut bin = Bin::default();
                for (e, q) in [(epsilon.exp(), 1.0 - truth), ((-epsilon).exp(), truth)] {
                    bin.add_atom(e, q, ea, eb);
                }
                bin
            }
            Self::BoundedRange { epsilon } => {
                let (low, high) = ((-0.5 * epsilon).exp(), (0.5 * epsilon).exp());
                // In s = sqrt(E): P(bin) = c (sb - sa), Q(bin) = c (1/sa - 1/sb).
                let (sa, sb) = (ea.max(0.0).sqrt().clamp(low, high), eb.max(0.0).sqrt().clamp(low, high));
                let c = high / epsilon.exp_m1();
                let (width, mass) = (sb - sa, c * (sb - sa) / (sa * sb));
                Bin {
                    mass,
                    rise: c * width * width / sb + (sa * sa - ea) * mass,
                    fall: c * width * width / sa + (eb - sb * sb) * mass,
                }
            }
        }
    }

    /// $P(\ell > t)$ and $Q(\ell > t)$.
    fn tails(self, t: f64) -> (f64, f64) {
        match self {
            Self::Gaussian { sigma } => {
                let z = sigma * t + 0.5 / sigma;
                (cdf(1.0 / sigma - z), cdf(-z))
            }
            Self::Laplace { scale } => {
                let x = 0.5 * (t * scale + 1.0);
                if t >= 1.0 / scale {
                    (0.0, 0.0)
                } else if t < -1.0 / scale {
                    (1.0, 1.0)
                } else {
                    (1.0 - 0.5 * ((x - 1.0) / scale).exp(), 0.5 * (-x / scale).exp())
                }
            }
            Self::Pure { epsilon } => {
                let truth = 1.0 / (1.0 + (-epsilon).exp());
                if t >= epsilon {
                    (0.0, 0.0)
                } else if t >= -epsilon {
                    (truth, 1.0 - truth)
                } else {
                    (1.0, 1.0)
                }
            }
            Self::BoundedRange { epsilon } => {
                let (low, high) = ((-0.5 * epsilon).exp(), (0.5 * epsilon).exp());
                let s = (0.5 * t).exp().clamp(low, high);
                let c = (high - s) / epsilon.exp_m1();
                (high * c, c / s)
            }
        }
    }

    /// $P(\ell \le t)$ and $Q(\ell \le t)$: by symmetry the tails at $-t$, atoms there included.
    fn below(self, t: f64) -> (f64, f64) {
        let (p, q) = self.tails((-t).next_down());
        (q, p)
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

impl Bin {
    /// Adds the atom with ratio `e` and $Q$-mass `q` if it lies in $(E_a, E_b]$.
    fn add_atom(&mut self, e: f64, q: f64, ea: f64, eb: f64) {
        if ea < e && e <= eb {
            self.mass += q;
            self.rise += (e - ea) * q;
            self.fall += (eb - e) * q;
        }
    }
}

fn gaussian_bin(sigma: f64, ea: f64, eb: f64) -> Bin {
    // Under Q, z is standard normal and E = exp((z - 1/(2 sigma)) / sigma).
    let standardise = |e: f64| if e > 0.0 { sigma * e.ln() + 0.5 / sigma } else { f64::NEG_INFINITY };
    let (za, zb) = (standardise(ea), standardise(eb));
    if zb <= -39.0 || za >= 39.0 {
        return Bin::default();
    }
    let change = (zb - za) * (1.0 / sigma).max(za.abs()).max(zb.abs()).max(1.0);
    if (zb - za) * (1.0 / sigma).max(1.0) <= 0.75 {
        let mut bin = Bin::default();
        // E / ea - 1, from 0 to `widest` across the bin.
        let widest = ((zb - za) / sigma).exp_m1();
        for (z, w) in Rule::short(change).on(za, zb) {
            let weight = w * density(z);
            let above = ((z - za) / sigma).exp_m1();
            bin.mass += weight;
            bin.rise += weight * ea * above;
            bin.fall += weight * ea * (widest - above);
        }
        return bin;
    }
    let (q, p) = (interval(za, zb), interval(za - 1.0 / sigma, zb - 1.0 / sigma));
    Bin { mass: q, rise: (p - ea * q).max(0.0), fall: (eb * q - p).max(0.0) }
}

fn laplace_bin(scale: f64, ea: f64, eb: f64) -> Bin {
    let top = (1.0 / scale).exp();
    let mut bin = Bin::default();
    bin.add_atom(1.0 / top, 0.5, ea, eb);
    bin.add_atom(top, 0.5 / top, ea, eb);
    // Between the atoms E = exp((2x - 1)/b) and Q has density exp(-x/b)/2b, so in r = sqrt(E):
    // P(bin) = (rb - ra)/2k and Q(bin) = (1/ra - 1/rb)/2k with k = e^{1/2b}.
    let k = (0.5 / scale).exp();
    let (ra, rb) = (ea.max(0.0).sqrt().clamp(1.0 / k, k), eb.max(0.0).sqrt().clamp(1.0 / k, k));
    let (width, c) = (rb - ra, 0.5 / k);
    let mass = c * width / (ra * rb);
    bin.mass += mass;
    bin.rise += c * width * width / rb + (ra * ra - ea) * mass;
    bin.fall += c * width * width / ra + (eb - rb * rb) * mass;
    bin
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
        match self {
            Self::Poisson { base, rate } | Self::Fixed { base, rate } => {
                // e^l - 1 = q (E - 1)
                let bin = base.bin(1.0 + la.exp_m1() / rate, 1.0 + lb.exp_m1() / rate);
                Bin { mass: bin.mass, rise: rate * bin.rise, fall: rate * bin.fall }
            }
            Self::Substitution { sigma, rate } => substitution_bin(sigma, rate, la, lb),
        }
    }

    /// $P(\ell > t)$ and $Q(\ell > t)$. For [`Pair::Fixed`] only $t \ge 0$.
    pub(super) fn tails(self, t: f64) -> (f64, f64) {
        match self {
            Self::Poisson { base, rate } | Self::Fixed { base, rate } => {
                let e = 1.0 + t.exp_m1() / rate;
                let (p, q) = if e <= 0.0 {
                    (1.0, 1.0)
                } else if t > 30.0 {
                    // ln E without overflow.
                    base.tails(t - rate.ln())
                } else {
                    base.tails(e.ln())
                };
                (rate * p + (1.0 - rate) * q, q)
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
                let e = 1.0 + t.exp_m1() / rate;
                let (p, q) = if e <= 0.0 { (0.0, 0.0) } else { base.below(e.ln()) };
                (rate * p + (1.0 - rate) * q, q)
            }
            Self::Substitution { .. } => {
                let (p, q) = self.tails(-t);
                (q, p)
            }
        }
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
        let mut bin = Bin::default();
        for (z, w) in Rule::short(change).on(za, zb) {
            let weight = w * density(z);
            let y = (z * shift).exp();
            let (p, q) = (rate * c * y, rate * c / y);
            bin.mass += weight * (1.0 - rate + q);
            bin.rise += weight * (p - la.exp() * q - (1.0 - rate) * la.exp_m1());
            bin.fall += weight * ((1.0 - rate) * lb.exp_m1() + lb.exp() * q - p);
        }
        return bin;
    }
    let plain = (1.0 - rate) * interval(za, zb);
    let p = plain + rate * interval(za - shift, zb - shift);
    let q = plain + rate * interval(za + shift, zb + shift);
    Bin { mass: q, rise: (p - la.exp() * q).max(0.0), fall: (lb.exp() * q - p).max(0.0) }
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
                q += bin.mass;
                p += edge[0].exp() * bin.mass + bin.rise;
                let p_from_above = edge[1].exp() * bin.mass - bin.fall;
                let p_from_below = edge[0].exp() * bin.mass + bin.rise;
                assert!(
                    (p_from_above - p_from_below).abs() <= 1e-12 * p_from_below + 1e-18,
                    "{pair:?} {edge:?}"
                );
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
