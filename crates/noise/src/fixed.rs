//! 128-bit fixed-point evaluation of $e^{-y}$ to a few units of $2^{-128}$.

/// $\lfloor ab / 2^{128} \rfloor$.
pub(crate) fn mul_high(a: u128, b: u128) -> u128 {
    let low = |x: u128| x & u128::from(u64::MAX);
    let (cross, other) = ((a >> 64) * low(b), low(a) * (b >> 64));
    let carry = ((low(a) * low(b)) >> 64) + low(cross) + low(other);
    (a >> 64) * (b >> 64) + (cross >> 64) + (other >> 64) + (carry >> 64)
}

/// The degree at which the truncation error of [`exp_neg`] is below its rounding error.
pub(crate) const FULL_DEGREE: usize = 24;

/// $e^{-y}$ for $0 \le y \le 1/4$, argument and result in units of $2^{-128}$ (1 is `u128::MAX`), by Horner's rule on
/// $\sum_{k \le n} (-y)^k/k!$ for degree $n$.
///
/// A step rounds its coefficient and its product down, by less than one unit each, and multiplies the error so far by
/// $y \le 1/4$: the sum of all is below $2/(1 - 1/4) < 3$ units. The truncation error is below $y^{n+1}/(n+1)!$, which is
/// less than $2^{-133}$ for [`FULL_DEGREE`].
#[inline]
pub(crate) fn exp_neg(y: u128, degree: usize) -> u128 {
    const TERMS: [u128; FULL_DEGREE + 1] = {
        let (mut terms, mut k) = ([u128::MAX; FULL_DEGREE + 1], 1);
        while k <= FULL_DEGREE {
            terms[k] = terms[k - 1] / k as u128;
            k += 1;
        }
        terms
    };
    debug_assert!(y <= 1 << 126);
    TERMS[..=degree].iter().rev().fold(0, |sum, term| term - mul_high(y, sum))
}
