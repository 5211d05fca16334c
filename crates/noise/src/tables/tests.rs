use super::*;
use num_bigint::BigInt;

/// 400-bit fixed point, independent of the arithmetic under test.
pub(crate) mod exact {
    use num_bigint::BigInt;
    use std::sync::LazyLock;

    pub const BITS: u32 = 400;

    pub fn one() -> BigInt {
        BigInt::from(1) << BITS
    }

    pub fn ratio(numerator: u128, bits: u32) -> BigInt {
        (BigInt::from(numerator) << BITS) >> bits
    }

    fn arctan_inverse(n: u32) -> BigInt {
        let (mut power, mut sum, mut k) = (one() / n, BigInt::from(0), 0u32);
        while power != BigInt::from(0) {
            let term = &power / (2 * k + 1);
            sum += if k % 2 == 0 { term } else { -term };
            power /= n * n;
            k += 1;
        }
        sum
    }

    /// e^-y by its series at y/2^12, squared twelve times.
    pub fn exp_neg(y: &BigInt) -> BigInt {
        let small: BigInt = y >> 12u32;
        let (mut term, mut sum) = (one(), one());
        for k in 1..80u32 {
            term = -((term * &small) >> BITS) / k;
            sum += &term;
        }
        (0..12).fold(sum, |x, _| (&x * &x) >> BITS)
    }

    /// 1/(32 sqrt(2 pi)), with pi by Machin's formula.
    static SCALE: LazyLock<BigInt> = LazyLock::new(|| {
        let twice_pi: BigInt = 32 * arctan_inverse(5) - 8 * arctan_inverse(239);
        let square: BigInt = (BigInt::from(1) << (3 * BITS)) / twice_pi;
        square.sqrt() / 32
    });

    /// D(x) for x in units of 2^-128.
    pub fn density(x: &BigInt) -> BigInt {
        let x: BigInt = x << (BITS - 128);
        let y: BigInt = (&x * &x) >> BITS;
        (&*SCALE * exp_neg(&(y / 8192))) >> BITS
    }

    pub fn cell_density(h: usize, s: u128) -> BigInt {
        density(&((BigInt::from(h) << 128) + s))
    }

    /// P(|N| < h/64) = 2 phi(z) (z + z^3/3 + z^5/15 + ...), all terms positive.
    pub fn mass_below(h: usize) -> BigInt {
        let z: BigInt = one() * h / 64;
        let (mut term, mut sum, mut n) = (z, BigInt::from(0), 1u32);
        while term != BigInt::from(0) {
            sum += &term;
            n += 2;
            term = term * h * h / (4096 * n);
        }
        let twice_phi: BigInt = cell_density(h, 0) * 64;
        (twice_phi * sum) >> BITS
    }
}

struct Counts {
    slots: Vec<u64>,
    flat: Vec<u64>,
    triangles: Vec<u64>,
    left: u64,
    remaining: u64,
}

fn counts(tables: &Tables) -> Counts {
    let mut c = Counts {
        slots: vec![0; CELLS],
        flat: vec![0; CELLS],
        triangles: vec![0; CELLS],
        left: 0,
        remaining: 0,
    };
    for &slot in &tables.slots {
        *if slot == RARE { &mut c.left } else { &mut c.slots[usize::from(slot)] } += 1;
    }
    for &part in &tables.parts {
        let cell = usize::from(part & !TRIANGLE);
        *match part {
            REMAINDER => &mut c.remaining,
            _ if part & TRIANGLE != 0 => &mut c.triangles[cell],
            _ => &mut c.flat[cell],
        } += 1;
    }
    c
}

/// All conditions for the exactness of the sampler with these tables; `Err` names the one that fails.
fn certify(tables: &Tables) -> Result<(), String> {
    let c = counts(tables);
    let unit = SLOT_BITS + PART_BITS;
    let slack = BigInt::from(1) << (exact::BITS - 190);
    let d: Vec<BigInt> = (0..=CELLS).map(|h| exact::cell_density(h, 0)).collect();
    let require = |holds: bool, what: &str, h: usize| {
        if holds { Ok(()) } else { Err(format!("cell {h}: {what}")) }
    };
    let (mut left_over, mut cumulated) = (BigInt::from(0), 0u64);
    let mut wrong = BigInt::from(0);
    for h in 0..CELLS {
        let cell = &tables.cells[h];
        let part = |n: u64| exact::ratio(u128::from(c.left * n), unit);
        let slots = exact::ratio(u128::from(c.slots[h]), SLOT_BITS);
        let (flat, triangles) = (part(c.flat[h]), part(c.triangles[h]));
        // |D'| = x D / 4096 has its extremes over a cell at the ends.
        let (left, right): (BigInt, BigInt) = (&d[h] * h / 4096, &d[h + 1] * (h + 1) / 4096);
        require(&slots + &flat <= d[h + 1], "rectangles stick out", h)?;
        require(2 * &triangles <= *(&left).min(&right), "triangles stick out", h)?;
        let top = &d[h + 1] - &slots - &flat + (&left).max(&right) - 2 * &triangles;
        let envelope = exact::ratio(u128::from(cell.envelope), 72);
        require(top <= envelope, "the envelope is too low", h)?;
        let taper = 2 * c.left * c.triangles[h];
        let covered = (c.slots[h] << PART_BITS) + c.left * c.flat[h] + taper;
        require(u64::from(cell.taper) == taper, "taper differs from the parts", h)?;
        require(u64::from(cell.covered) == covered, "covered differs from the counts", h)?;
        cumulated += cell.envelope;
        require(tables.cumulated[h] == cumulated, "sums of envelopes", h)?;
        let off = exact::ratio(cell.density, 128) - &d[h];
        let off = BigInt::from(off.magnitude().clone());
        require(off < exact::ratio(GUARD, 128), "density", h)?;
        wrong += off;
        // The bounds above, once more, by brute force.
        for s in (0..=4u128).filter(|_| h % 31 == 0) {
            let at = |n: &BigInt| n * (4 - s) / 4;
            let r = exact::density(&((BigInt::from(4 * h) + s) << 126u32))
                - &slots
                - &flat
                - at(&(2 * &triangles));
            require(r >= -slack.clone() && r <= envelope, "remainder out of its envelope", h)?;
        }
        left_over += exact::mass_below(h + 1) - exact::mass_below(h) - slots - flat - triangles;
    }
    let tail = exact::one() - exact::mass_below(CELLS);
    require(tail < exact::ratio(1, 125), "13 sigma tail", CELLS)?;
    // The terms of TV_PER_DRAW: the densities, 4 units more in each cell, and the tail.
    let total = wrong + exact::ratio(4 * CELLS as u128, 128) + &tail;
    require(total < exact::ratio(1, 113), "total variation", CELLS)?;
    let mass = exact::ratio(u128::from(c.left * c.remaining), unit);
    let off = mass - left_over - tail;
    require(BigInt::from(off.magnitude().clone()) < slack, "the pieces do not add up to one", CELLS)?;
    for (i, &h) in tables.guide.iter().enumerate() {
        let first = tables.cumulated.partition_point(|&c| c <= (i as u64) << 56);
        require(usize::from(h) == first, "guide", first)?;
    }
    Ok(())
}

#[test]
fn certificate_of_the_tables() {
    assert_eq!(certify(&TABLES), Ok(()));
    let c = counts(&TABLES);
    // The rates quoted in the documentation.
    assert!(c.left as f64 / (TABLES.slots.len() as f64) < 0.0136, "{} slots left", c.left);
    assert!(c.remaining as f64 / (TABLES.parts.len() as f64) < 0.07, "{} parts remain", c.remaining);
}

#[test]
fn the_certificate_can_fail() {
    let reject = |what: &str, change: fn(&mut Tables)| {
        let mut tables = Tables::build();
        change(&mut tables);
        let error = certify(&tables).expect_err(what);
        assert!(error.contains(what), "{what}: {error}");
    };
    reject("rectangles stick out", |t| t.slots[16_000] = 0);
    reject("envelope is too low", |t| t.cells[40].envelope -= t.cells[40].envelope / 4);
    reject("covered differs", |t| t.cells[3].covered += 1);
    reject("taper differs", |t| t.cells[100].taper += 1);
    reject("density", |t| t.cells[7].density += 1 << 11);
    reject("guide", |t| t.guide[9] += 1);
    reject("sums of envelopes", |t| t.cumulated[9] += 1);
}
