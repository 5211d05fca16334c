//! Kernels: plain Rust compiled twice, as it is and for AVX2, with the same results (`portable_equals_avx2`). Only the
//! rows of ChaCha are spelled out in instructions, since compilers lose them otherwise.
//!
//! This is the only file with `unsafe` in it.

/// Eight words side by side, and what ChaCha does to them.
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

pub(crate) trait Kernel {
    /// The work itself, which is vectorised only if everything in it is inlined.
    fn run<R: Row>(self);
}

/// Runs a kernel in the widest form that the processor has.
#[allow(unsafe_code)]
pub(crate) fn run(kernel: impl Kernel) {
    #[cfg(test)]
    if tests::PORTABLE.get() {
        return kernel.run::<[u32; 8]>();
    }
    #[cfg(target_arch = "x86_64")]
    if std::is_x86_feature_detected!("avx2") {
        #[target_feature(enable = "avx2")]
        fn wide(kernel: impl Kernel) {
            kernel.run::<avx2::Avx2Row>();
        }
        // SAFETY: the processor has the feature that `wide` requires.
        return unsafe { wide(kernel) };
    }
    kernel.run::<[u32; 8]>();
}

#[cfg(target_arch = "x86_64")]
#[allow(unsafe_code)]
mod avx2 {
    use super::Row;
    use core::arch::x86_64 as x86;
    use core::ptr::read_volatile;

    #[derive(Clone, Copy)]
    pub(crate) struct Avx2Row(x86::__m256i);

    /// Places that the bytes of four words come from when each is rotated by 16 or 8 bits: one shuffle. They are read
    /// as volatile because the compiler, if it knows them, replaces one shuffle by two.
    static BY_16: Avx2Row = places(0x0504_0706_0100_0302, 0x0d0c_0f0e_0908_0b0a);
    static BY_8: Avx2Row = places(0x0605_0407_0201_0003, 0x0e0d_0c0f_0a09_080b);

    const fn places(low: u64, high: u64) -> Avx2Row {
        // SAFETY: both are 256 plain bits.
        Avx2Row(unsafe { core::mem::transmute::<[u64; 4], x86::__m256i>([low, high, low, high]) })
    }

    // SAFETY of all below: `Avx2Row` is private to this file, which names it only where AVX2 has been detected. No memory is
    // touched but the two statics, and what is transmuted is 256 plain bits on both sides.
    impl Row for Avx2Row {
        #[inline(always)]
        fn add(self, other: Self) -> Self {
            Self(unsafe { x86::_mm256_add_epi32(self.0, other.0) })
        }
        #[inline(always)]
        fn xor_rotate<const BITS: u32>(self, other: Self) -> Self {
            unsafe {
                let x = x86::_mm256_xor_si256(self.0, other.0);
                let shuffle = |places: &'static Self| x86::_mm256_shuffle_epi8(x, read_volatile(places).0);
                Self(match BITS {
                    16 => shuffle(&BY_16),
                    8 => shuffle(&BY_8),
                    _ => {
                        let count = |bits: u32| x86::_mm_cvtsi32_si128(bits as i32);
                        let left = x86::_mm256_sll_epi32(x, count(BITS));
                        x86::_mm256_or_si256(left, x86::_mm256_srl_epi32(x, count(32 - BITS)))
                    }
                })
            }
        }
    }

    impl From<[u32; 8]> for Avx2Row {
        #[inline(always)]
        fn from(words: [u32; 8]) -> Self {
            Self(unsafe { core::mem::transmute::<[u32; 8], x86::__m256i>(words) })
        }
    }

    impl From<Avx2Row> for [u32; 8] {
        #[inline(always)]
        fn from(row: Avx2Row) -> Self {
            unsafe { core::mem::transmute::<x86::__m256i, Self>(row.0) }
        }
    }
}

#[cfg(test)]
mod tests;
#[cfg(test)]
pub(crate) use tests::portable;
