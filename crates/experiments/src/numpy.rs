//! The part of NumPy's legacy `RandomState` that generates published data sets.
//!
//! NumPy freezes this stream (NEP 19), so a data set given only as "seed 60" can be reproduced.
//! The generator is MT19937 of Matsumoto and Nishimura, "Mersenne Twister", ACM TOMACS 8(1), 1998.

const LENGTH: usize = 624;
const SHIFT: usize = 397;

/// NumPy's `RandomState` seeded with one integer.
///
/// For replaying published simulations only: it is neither secret nor of good quality.
#[derive(Debug, Clone)]
pub struct RandomState {
    state: [u32; LENGTH],
    next: usize,
    spare_normal: Option<f64>,
}

impl RandomState {
    /// `numpy.random.RandomState(seed)`: the state is the 2002 linear recurrence
    /// `s_i = 1812433253 (s_{i-1} xor (s_{i-1} >> 30)) + i`.
    pub fn new(seed: u32) -> Self {
        let mut state = [seed; LENGTH];
        for i in 1..LENGTH {
            let previous = state[i - 1];
            state[i] = 1_812_433_253_u32.wrapping_mul(previous ^ (previous >> 30)).wrapping_add(i as u32);
        }
        Self { state, next: LENGTH, spare_normal: None }
    }

    fn next_u32(&mut self) -> u32 {
        if self.next == LENGTH {
            self.twist();
        }
        let mut y = self.state[self.next];
        self.next += 1;
        y ^= y >> 11;
        y ^= (y << 7) & 0x9d2c_5680;
        y ^= (y << 15) & 0xefc6_0000;
        y ^ (y >> 18)
    }

    fn twist(&mut self) {
        for i in 0..LENGTH {
            let y = (self.state[i] & 0x8000_0000) | (self.state[(i + 1) % LENGTH] & 0x7fff_ffff);
            let mixed = if y & 1 == 0 { y >> 1 } else { (y >> 1) ^ 0x9908_b0df };
            self.state[i] = self.state[(i + SHIFT) % LENGTH] ^ mixed;
        }
        self.next = 0;
    }

    /// `random_sample()`: uniform on `[0, 1)` in steps of `2^-53`, from the top 27 and 26 bits of two words.
    pub fn random_sample(&mut self) -> f64 {
        let high = f64::from(self.next_u32() >> 5);
        let low = f64::from(self.next_u32() >> 6);
        (high * 67_108_864.0 + low) / 9_007_199_254_740_992.0
    }

    /// `randn()`: Marsaglia's polar method. A pair is made at a time, and its second half is returned first.
    pub fn randn(&mut self) -> f64 {
        if let Some(normal) = self.spare_normal.take() {
            return normal;
        }
        loop {
            let u = 2.0 * self.random_sample() - 1.0;
            let v = 2.0 * self.random_sample() - 1.0;
            let square = u * u + v * v;
            if square < 1.0 && square != 0.0 {
                let scale = (-2.0 * square.ln() / square).sqrt();
                self.spare_normal = Some(scale * u);
                return scale * v;
            }
        }
    }

    /// `randn(rows, columns)`, filled row by row.
    pub fn randn_rows(&mut self, rows: usize, columns: usize) -> Vec<Vec<f64>> {
        (0..rows).map(|_| (0..columns).map(|_| self.randn()).collect()).collect()
    }

    /// `choice(len(weights), p=weights)`: one uniform draw, looked up in the normalised running sum.
    pub fn choice(&mut self, weights: &[f64]) -> usize {
        let uniform = self.random_sample();
        let total: f64 = weights.iter().sum();
        let mut sum = 0.0;
        let below = |weight: &f64| {
            sum += weight;
            sum / total <= uniform
        };
        weights.iter().map(below).take_while(|&is_below| is_below).count()
    }

    /// `permutation(n)`: `shuffle` of `0..n`, from the end; at most $2^{32}$ of them.
    pub fn permutation(&mut self, n: usize) -> Vec<usize> {
        let mut order: Vec<usize> = (0..n).collect();
        for last in (1..n).rev() {
            order.swap(last, self.at_most(last as u32) as usize);
        }
        order
    }

    /// A word masked to the bits of `max`, redrawn until it is at most `max`.
    fn at_most(&mut self, max: u32) -> u32 {
        let mask = u32::MAX >> max.leading_zeros();
        loop {
            let value = self.next_u32() & mask;
            if value <= max {
                return value;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Every figure here was printed by NumPy 2.4.6.

    #[test]
    fn uniforms_equal_numpy_to_the_bit() {
        let mut rng = RandomState::new(60);
        let drawn: Vec<f64> = (0..4).map(|_| rng.random_sample()).collect();
        assert_eq!(drawn, [0.30087333004661876, 0.186945816341878, 0.32318267696821945, 0.6657495702883091]);
        let mut rng = RandomState::new(u32::MAX);
        assert_eq!([rng.random_sample(), rng.random_sample()], [0.0976320289940138, 0.9123828453026218]);
        // 4,000 words: several twists later.
        let mut rng = RandomState::new(5489);
        assert_eq!((0..2000).map(|_| rng.random_sample()).last(), Some(0.367285915131369));
    }

    #[test]
    fn normals_equal_numpy() {
        let mut rng = RandomState::new(60);
        let expected = [
            -0.9217709932130886,
            -0.5863176341977663,
            1.1639991446286069,
            -1.2417239598661545,
            -1.9852302221311717,
        ];
        for normal in expected {
            // The logarithm is the platform's, which may round its last bit differently.
            assert!((rng.randn() - normal).abs() <= 1e-15);
        }
        let mut rng = RandomState::new(5489);
        let last = (0..2001).map(|_| rng.randn()).last().unwrap();
        assert!((last + 0.8206734470933763).abs() <= 1e-15);
    }

    #[test]
    fn choices_equal_numpy() {
        let mut rng = RandomState::new(0);
        let drawn: Vec<usize> = (0..12).map(|_| rng.choice(&[0.25; 4])).collect();
        assert_eq!(drawn, [2, 2, 2, 2, 1, 2, 1, 3, 3, 1, 3, 2]);
        let mut rng = RandomState::new(7);
        let drawn: Vec<usize> = (0..12).map(|_| rng.choice(&[0.2, 0.3, 0.5])).collect();
        assert_eq!(drawn, [0, 2, 1, 2, 2, 2, 2, 0, 1, 1, 2, 2]);
    }

    #[test]
    fn permutations_equal_numpy() {
        assert_eq!(RandomState::new(1).permutation(10), [2, 9, 6, 4, 0, 3, 1, 7, 8, 5]);
        assert_eq!(RandomState::new(0).permutation(10), [2, 8, 4, 9, 1, 6, 7, 3, 0, 5]);
    }
}
