use crate::chacha::{ChaCha, Rounds};
use crate::coins::Stream;
use crate::gaussian::Generator;
use crate::{Coins, Gaussian, Laplace, NoiseError, Resolution, SampleKey};
use std::num::NonZeroU64;
use std::process;
use zeroize::Zeroizing;

/// The origin of the seed of a source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Provenance {
    /// The operating system's entropy.
    OperatingSystem,
    /// A seed fixed by the caller, for tests: anyone with the seed can remove the noise.
    FixedSeed,
}

/// The noise of one process.
///
/// # Privacy
/// A 256-bit key from the operating system drives one `ChaCha` stream for each purpose, with distinct nonces: no two
/// kinds of draws share a block, and the noise is indistinguishable from random unless `ChaCha` is broken. A source can be
/// neither copied nor printed, nor can its generators be swapped for those of another, since callers only borrow handles. Its key
/// and buffers are wiped when it is dropped, except for copies that the compiler leaves on the stack; wiping buffers sooner
/// would gain nothing while the key is in memory. In a forked process every kind of draw is
/// [refused](NoiseError::Forked): the child would repeat the parent's noise, which would cancel in the difference of
/// their releases. It is not reseeded because the privacy budget was forked too. Attacked by `streams_never_meet` and
/// `forked_process_is_refused`.
#[cfg_attr(
    not(feature = "insecure-test-seed"),
    doc = "\nA default build has no fixed seeds:\n\n```compile_fail,E0599",
    doc = "reticent_noise::NoiseSource::insecure_from_seed(1);\n```"
)]
pub struct NoiseSource {
    provenance: Provenance,
    made_in: u32,
    /// All generators are on the heap, so that moving the source leaves no copy of the key behind.
    coarse: Box<Generator>,
    fine: Box<Generator>,
    laplace: Box<Stream>,
    coins: Box<Stream>,
    keys: Box<Stream>,
}

impl NoiseSource {
    /// A source seeded by the operating system.
    pub fn from_os() -> Result<Self, NoiseError> {
        Self::from_os_with(Rounds::default())
    }

    /// A source seeded by the operating system, with the given number of rounds.
    pub fn from_os_with(rounds: Rounds) -> Result<Self, NoiseError> {
        let mut root = Zeroizing::new([0; 32]);
        getrandom::fill(&mut *root)?;
        Ok(Self::new(&root, rounds, Provenance::OperatingSystem))
    }

    /// **Not private.** The same draws for the same seed, on every machine.
    #[cfg(any(test, feature = "insecure-test-seed"))]
    pub fn insecure_from_seed(seed: u64) -> Self {
        let mut root = [0; 32];
        root[..8].copy_from_slice(&seed.to_le_bytes());
        Self::new(&root, Rounds::default(), Provenance::FixedSeed)
    }

    fn new(root: &[u8; 32], rounds: Rounds, provenance: Provenance) -> Self {
        let key = Zeroizing::new(std::array::from_fn(|i| u32::from_le_bytes(root.as_chunks().0[i])));
        let stream = |purpose| ChaCha::new(&key, purpose, rounds);
        let gaussian =
            |resolution, main, side| Box::new(Generator::new(resolution, stream(main), stream(side)));
        Self {
            provenance,
            made_in: process::id(),
            coarse: gaussian(Resolution::Bits23, b"main  23", b"side  23"),
            fine: gaussian(Resolution::Bits40, b"main  40", b"side  40"),
            laplace: Box::new(Stream::new(stream(b"laplace "))),
            coins: Box::new(Stream::new(stream(b"sampling"))),
            keys: Box::new(Stream::new(stream(b"keys    "))),
        }
    }

    /// The origin of the seed; a fixed seed carries no guarantee.
    pub fn provenance(&self) -> Provenance {
        self.provenance
    }

    /// The lattice Gaussian. Each resolution is a stream of its own.
    pub fn gaussian(&mut self, resolution: Resolution) -> Result<Gaussian<'_>, NoiseError> {
        self.check_process()?;
        Ok(Gaussian(if resolution == Resolution::Bits23 { &mut self.coarse } else { &mut self.fine }))
    }

    /// The discrete Laplace of scale $p/q$ in lattice units.
    pub fn laplace(&mut self, p: NonZeroU64, q: NonZeroU64) -> Result<Laplace<'_>, NoiseError> {
        self.check_process()?;
        Ok(Laplace { p, q, coins: Coins(&mut self.laplace) })
    }

    /// Random choices for sampling records.
    pub fn coins(&mut self) -> Result<Coins<'_>, NoiseError> {
        self.check_process()?;
        Ok(Coins(&mut self.coins))
    }

    /// The key of another Poisson sample.
    pub fn sample_key(&mut self) -> Result<SampleKey, NoiseError> {
        self.check_process()?;
        Ok(SampleKey::new(std::array::from_fn(|_| self.keys.u64() as u32)))
    }

    /// A fork leaves one thread in the child, the one that forked; handles borrowed by other threads are never used
    /// there. So one check of the process id per borrow suffices, unless a thread forks during its own draws.
    fn check_process(&self) -> Result<(), NoiseError> {
        let (made_in, used_in) = (self.made_in, process::id());
        if made_in == used_in { Ok(()) } else { Err(NoiseError::Forked { made_in, used_in }) }
    }
}

#[cfg(test)]
mod tests;
