use thiserror::Error;

/// Why noise was refused. No variant depends on, or shows, a private value.
#[derive(Debug, Error)]
#[allow(missing_docs, reason = "each message describes its variant and fields")]
pub enum NoiseError {
    #[error("the operating system gave no entropy: {0}; hint: nothing was drawn, it is safe to try again")]
    Entropy(#[from] getrandom::Error),
    #[error("noise source of process {made_in} used in process {used_in}; hint: make a source after forking")]
    Forked { made_in: u32, used_in: u32 },
    #[error("{sums} sums cannot be released into {outputs} outputs")]
    Lengths { sums: usize, outputs: usize },
    #[error("the lattice step must be positive and finite, not {0}")]
    Step(f64),
    #[error("cannot choose {size} of {population} without replacement")]
    Subset { size: usize, population: usize },
}
