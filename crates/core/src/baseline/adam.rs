/// The Adam optimiser: step sizes do not depend on the scale of the gradient.
///
/// # Citation
/// Kingma, Ba, "Adam: a method for stochastic optimization", ICLR 2015.
#[derive(Debug, Clone)]
pub struct Adam {
    first: Vec<f64>,
    second: Vec<f64>,
    steps: i32,
}

/// The default decay rates of the moments.
const DECAY: (f64, f64) = (0.9, 0.999);

impl Adam {
    /// The initial state for this many weights.
    #[must_use]
    pub fn new(width: usize) -> Self {
        Self { first: vec![0.0; width], second: vec![0.0; width], steps: 0 }
    }

    /// Takes a step along the negative gradient.
    pub fn step(&mut self, weights: &mut [f64], gradient: &[f64], rate: f64) {
        self.steps += 1;
        let bias = (1.0 - DECAY.0.powi(self.steps), 1.0 - DECAY.1.powi(self.steps));
        let moments = self.first.iter_mut().zip(&mut self.second);
        for ((weight, g), (first, second)) in weights.iter_mut().zip(gradient).zip(moments) {
            *first += (1.0 - DECAY.0) * (g - *first);
            *second += (1.0 - DECAY.1) * (g * g - *second);
            *weight -= rate * (*first / bias.0) / ((*second / bias.1).sqrt() + 1e-8);
        }
    }
}
