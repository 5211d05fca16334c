use crate::budget::{Adjacency, Privacy};
use crate::engine::exact_delta;
use crate::wall::PlanError;
use reticent_accounting::{Event, Method, Sampling, calibrate, composition, gaussian};

/// How the noise of repeated releases is calibrated for a budget, to compare methods of accounting. Whichever is
/// used, the wall prices the releases by its tightest bound.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Composition {
    /// The tightest bound: mostly privacy loss distributions.
    Tight,
    /// Renyi divergences, known as the moments accountant.
    Moments,
    /// Each release made private and amplified separately, then strong composition.
    Strong,
}

impl Composition {
    /// The noise multiplier of `steps` Gaussian releases with this sampling.
    ///
    /// For strong composition half of delta is its slack, and the other half is split among the releases. Sampling a
    /// share $v$ of the records
    /// makes an $(\varepsilon, \delta)$ release $(\ln(1 + v(e^\varepsilon - 1)), v\delta)$ private.
    ///
    /// # Citation
    /// Dwork, Roth, "The algorithmic foundations of differential privacy", Theorem 3.20; Balle, Barthe, Gaboardi, "Privacy amplification
    /// by subsampling", NeurIPS 2018.
    ///
    /// # Errors
    /// [`PlanError`] if no accountant bounds the cost.
    pub fn noise_multiplier(
        self,
        sampling: Sampling,
        steps: u64,
        privacy: &Privacy,
    ) -> Result<f64, PlanError> {
        let (epsilon, delta) = (privacy.epsilon(), exact_delta(privacy));
        let method = match self {
            Self::Tight => Method::Auto,
            Self::Moments => Method::Rdp,
            Self::Strong => return Ok(strong(sampling, steps, epsilon, delta)?),
        };
        // Gaussian releases about all records compose exactly, in closed form.
        if self == Self::Tight && matches!(sampling, Sampling::None | Sampling::Pass) {
            let single = gaussian::noise_multiplier(epsilon, delta)?;
            return Ok(single * (steps as f64).sqrt() * (1.0 + 1e-6));
        }
        let event = |sigma| Event::gaussian(sigma, sampling).repeat(steps);
        let adjacency: Adjacency = privacy.adjacency();
        Ok(calibrate::noise_multiplier(event, adjacency, epsilon, delta, method)? * (1.0 + 1e-6))
    }
}

fn strong(
    sampling: Sampling,
    steps: u64,
    epsilon: f64,
    delta: f64,
) -> Result<f64, reticent_accounting::Error> {
    let (mut low, mut high) = (0.0, epsilon);
    for _ in 0..100 {
        let middle = 0.5 * (low + high);
        if composition::strong(middle, steps, 0.5 * delta)? <= epsilon {
            low = middle;
        } else {
            high = middle;
        }
    }
    let rate = sampling.rate();
    let amplified = (low.exp_m1() / rate).ln_1p();
    gaussian::noise_multiplier(amplified, (0.5 * delta / (steps as f64 * rate)).min(0.5))
}
