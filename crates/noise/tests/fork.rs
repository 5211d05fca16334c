//! A source must not draw in a forked child, where it would repeat the parent's noise.
#![cfg(unix)]

use reticent_noise::{NoiseError, NoiseSource, Resolution};
use std::num::NonZeroU64;

fn forked<T>(result: &Result<T, NoiseError>) -> bool {
    matches!(result, Err(NoiseError::Forked { made_in, used_in }) if made_in != used_in)
}

#[test]
fn forked_process_is_refused() {
    let mut source = NoiseSource::from_os().unwrap();
    source.coins().unwrap().bernoulli_dyadic(1); // leave words in the buffers
    source.gaussian(Resolution::Bits23).unwrap().fill(&mut [0; 10]);
    // SAFETY: the child only reads memory and its process id, and ends with `_exit`.
    let child = unsafe { libc::fork() };
    assert!(child >= 0, "fork failed");
    if child == 0 {
        let refused = forked(&source.coins())
            && forked(&source.gaussian(Resolution::Bits23))
            && forked(&source.gaussian(Resolution::Bits40))
            && forked(&source.laplace(NonZeroU64::MIN, NonZeroU64::MIN))
            && forked(&source.sample_key());
        unsafe { libc::_exit(if refused { 0 } else { 1 }) }
    }
    let mut status = 0;
    // SAFETY: `status` outlives the call.
    assert_eq!(unsafe { libc::waitpid(child, &raw mut status, 0) }, child);
    assert!(libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == 0, "the child drew noise");
    assert!(source.coins().is_ok(), "the parent continues");
}
