//! Kernels: plain Rust compiled for the baseline, for AVX2 and for AVX-512, with the same results (`portable_equals_wide`). Only
//! the rows of ChaCha use intrinsics, since compilers do not vectorise them reliably. This is the only file with `unsafe` code.

/// Eight words side by side, with the operations of ChaCha.
pub(crate) trait Row: Copy + From<[u32; 8]> + Into<[u32; 8]> {
    fn add(self, other: Self) -> Self;
    fn xor_rotate<const BITS: u32>(self, other: Self) -> Self;
}

impl Row for [u32; 8] {
    #[inline(always)]
    fn add(self, other: Self) -> Self {
        std::array::from_fn(|lane| self[lane].wrapping_add(other[lane]))
    }
    #[inline(always)]
    fn xor_rotate<const BITS: u32>(self, other: Self) -> Self {
        std::array::from_fn(|lane| (self[lane] ^ other[lane]).rotate_left(BITS))
    }
}

/// Work that is faster with wide vectors, if everything in it is inlined.
pub(crate) trait Kernel {
    fn run<R: Row>(self);
}

impl<F: FnOnce()> Kernel for F {
    #[inline(always)]
    fn run<R: Row>(self) {
        self();
    }
}

/// Runs `work` with the widest vectors that the processor has, if everything in it is inlined. Results do not depend on it.
pub fn with_wide_vectors(work: impl FnOnce()) {
    run(work);
}

/// Runs a kernel in the widest form that the processor has.
#[allow(unsafe_code)]
pub(crate) fn run(kernel: impl Kernel) {
    #[cfg(test)]
    if tests::MAX.get() == tests::Width::Portable {
        return kernel.run::<[u32; 8]>();
    }
    #[cfg(target_arch = "x86_64")]
    if std::is_x86_feature_detected!("avx2") && std::is_x86_feature_detected!("fma") {
        #[target_feature(enable = "avx2,fma")]
        fn wide(kernel: impl Kernel) {
            kernel.run::<avx2::Avx2Row>();
        }
        #[target_feature(enable = "avx512dq,avx512vl,fma")]
        fn wider(kernel: impl Kernel) {
            kernel.run::<avx2::Avx2Row>();
        }
        let all = std::is_x86_feature_detected!("avx512dq") && std::is_x86_feature_detected!("avx512vl");
        #[cfg(test)]
        let all = all && tests::MAX.get() == tests::Width::All;
        // SAFETY: the processor has the features that each requires, and avx512f, which those two imply.
        return unsafe { if all { wider(kernel) } else { wide(kernel) } };
    }
    kernel.run::<[u32; 8]>();
}

#[cfg(target_arch = "x86_64")]
#[allow(unsafe_code)]
mod avx2 {
    use core::arch::x86_64::*;
    use core::{mem::transmute, ptr::read_volatile};

    #[derive(Clone, Copy)]
    pub(crate) struct Avx2Row(__m256i);

    /// Byte shuffles that rotate each word by 16 or 8 bits. They are read as volatile because the compiler, given the
    /// constants, replaces one shuffle by two.
    static BY_16: Avx2Row = shuffle(0x0504_0706_0100_0302, 0x0d0c_0f0e_0908_0b0a);
    static BY_8: Avx2Row = shuffle(0x0605_0407_0201_0003, 0x0e0d_0c0f_0a09_080b);

    // SAFETY of all below: this file uses `Avx2Row` only in `wide` and `wider`, which run where AVX2 has been detected. Only the
    // two statics are read through a pointer, and both sides of a transmutation are 256 plain bits.

    const fn shuffle(low: u64, high: u64) -> Avx2Row {
        Avx2Row(unsafe { transmute::<[u64; 4], __m256i>([low, high, low, high]) })
    }

    impl super::Row for Avx2Row {
        #[inline(always)]
        fn add(self, other: Self) -> Self {
            Self(unsafe { _mm256_add_epi32(self.0, other.0) })
        }
        #[inline(always)]
        fn xor_rotate<const BITS: u32>(self, other: Self) -> Self {
            unsafe {
                let x = _mm256_xor_si256(self.0, other.0);
                Self(match BITS {
                    16 => _mm256_shuffle_epi8(x, read_volatile(&BY_16).0),
                    12 => _mm256_or_si256(_mm256_slli_epi32::<12>(x), _mm256_srli_epi32::<20>(x)),
                    8 => _mm256_shuffle_epi8(x, read_volatile(&BY_8).0),
                    7 => _mm256_or_si256(_mm256_slli_epi32::<7>(x), _mm256_srli_epi32::<25>(x)),
                    _ => unreachable!("ChaCha has no such rotation"),
                })
            }
        }
    }

    impl From<[u32; 8]> for Avx2Row {
        #[inline(always)]
        fn from(words: [u32; 8]) -> Self {
            Self(unsafe { transmute::<[u32; 8], __m256i>(words) })
        }
    }

    impl From<Avx2Row> for [u32; 8] {
        #[inline(always)]
        fn from(row: Avx2Row) -> Self {
            unsafe { transmute::<__m256i, Self>(row.0) }
        }
    }
}

#[cfg(test)]
pub(crate) mod tests;
