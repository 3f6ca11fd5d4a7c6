//! Mean and standard deviation from exact sums, so that neither the order of the values nor their partition changes a
//! single bit.
//!
//! A float is a 53-bit integer times a power of two. The integers and their squares are summed without rounding,
//! separately for each power of two; only the result is rounded.

/// The exponent of integers, in the encoding of floats: `m * 2^(exponent - UNIT)`.
const UNIT: usize = 1075;

/// Sums of finite numbers.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Moments {
    /// The exponent of the first group.
    first: usize,
    groups: Vec<ExponentSums>,
}

/// The sums for one exponent.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct ExponentSums {
    count: u64,
    sum: i128,
    /// The low and high 64 bits of the squares, summed separately. Sums of fewer than 2^64 numbers fit.
    squares: (u128, u128),
}

impl ExponentSums {
    #[inline]
    fn add(&mut self, value: i128, count: u64) {
        let square = value.unsigned_abs() * value.unsigned_abs();
        self.count += count;
        self.sum += value * i128::from(count);
        self.squares.0 += u128::from(square as u64) * u128::from(count);
        self.squares.1 += (square >> 64) * u128::from(count);
    }

    /// The sum of squared deviations from the mean: `squares - sum^2 / count`, rounded once.
    fn spread(&self) -> f64 {
        let limbs = |x: u128| [x as u64, (x >> 64) as u64];
        let mut wide = Wide::default();
        for (at, limb) in limbs(self.squares.0).into_iter().enumerate() {
            wide.add(self.count, limb, at);
        }
        for (at, limb) in limbs(self.squares.1).into_iter().enumerate() {
            wide.add(self.count, limb, at + 1);
        }
        let [low, high] = limbs(self.sum.unsigned_abs());
        for (a, b, at) in [(low, low, 0), (low, high, 1), (low, high, 1), (high, high, 2)] {
            wide.sub(a, b, at);
        }
        wide.to_f64() / self.count.max(1) as f64
    }
}

/// A 320-bit integer, least significant limb first.
#[derive(Default)]
struct Wide([u64; 5]);

impl Wide {
    /// Adds `a * b * 2^(64 at)`.
    fn add(&mut self, a: u64, b: u64, at: usize) {
        let mut carry = u128::from(a) * u128::from(b);
        for limb in self.0.iter_mut().skip(at) {
            carry += u128::from(*limb);
            *limb = carry as u64;
            carry >>= 64;
        }
    }

    /// Subtracts `a * b * 2^(64 at)`, which must not exceed the integer.
    fn sub(&mut self, a: u64, b: u64, at: usize) {
        let mut rest = u128::from(a) * u128::from(b);
        for limb in self.0.iter_mut().skip(at) {
            let (less, borrowed) = limb.overflowing_sub(rest as u64);
            *limb = less;
            rest = (rest >> 64) + u128::from(borrowed);
        }
    }

    fn to_f64(&self) -> f64 {
        self.0.iter().rev().fold(0.0, |sum, limb| sum * 2f64.powi(64) + *limb as f64)
    }
}

impl Moments {
    fn group(&mut self, exponent: usize) -> &mut ExponentSums {
        if self.groups.is_empty() {
            self.first = exponent;
        }
        if exponent < self.first {
            self.groups.splice(0..0, std::iter::repeat_n(ExponentSums::default(), self.first - exponent));
            self.first = exponent;
        }
        let index = exponent - self.first;
        if index >= self.groups.len() {
            self.groups.resize(index + 1, ExponentSums::default());
        }
        &mut self.groups[index]
    }

    /// Adds an integer of at most 64 bits, `count` times.
    #[inline]
    pub fn add_integer(&mut self, value: i128, count: u64) {
        self.group(UNIT).add(value, count);
    }

    /// Adds a finite number.
    #[inline]
    pub fn add_float(&mut self, value: f64) {
        let bits = value.to_bits();
        let exponent = (bits >> 52) as usize & 0x7ff;
        let fraction = (bits & ((1 << 52) - 1)) | (u64::from(exponent > 0) << 52);
        let signed = if value.is_sign_negative() { -i128::from(fraction) } else { i128::from(fraction) };
        let exponent = exponent.max(1);
        match exponent.checked_sub(self.first).and_then(|index| self.groups.get_mut(index)) {
            Some(group) => group.add(signed, 1),
            None => self.group(exponent).add(signed, 1),
        }
    }

    /// Adds the numbers of another sum.
    pub fn merge(&mut self, other: &Moments) {
        for (exponent, their) in (other.first..).zip(&other.groups).filter(|(_, group)| group.count > 0) {
            let own = self.group(exponent);
            own.count += their.count;
            own.sum += their.sum;
            own.squares.0 += their.squares.0;
            own.squares.1 += their.squares.1;
        }
    }

    /// The sum, rounded once, as a float and the power of two to multiply it with.
    fn sum(&self) -> (f64, i32) {
        // In units of the least power of two, as the two's complement.
        let mut limbs = vec![0u64; self.groups.len() / 64 + 4];
        for (shift, group) in self.groups.iter().enumerate().filter(|(_, group)| group.sum != 0) {
            let sign = if group.sum < 0 { u64::MAX } else { 0 };
            let bits = group.sum.cast_unsigned();
            let digits = [0, bits as u64, (bits >> 64) as u64].into_iter().chain(std::iter::repeat(sign));
            let above = [bits as u64, (bits >> 64) as u64].into_iter().chain(std::iter::repeat(sign));
            let mut carry = 0;
            for (limb, (low, high)) in limbs[shift / 64..].iter_mut().zip(digits.zip(above)) {
                let digit = ((u128::from(high) << 64 | u128::from(low)) << (shift % 64) >> 64) as u64;
                let sum = u128::from(*limb) + u128::from(digit) + carry;
                (*limb, carry) = (sum as u64, sum >> 64);
            }
        }
        let is_negative = limbs.last().is_some_and(|limb| limb >> 63 == 1);
        if is_negative {
            let mut carry = true;
            for limb in &mut limbs {
                (*limb, carry) = (!*limb).overflowing_add(u64::from(carry));
            }
        }
        let Some(top) = limbs.iter().rposition(|limb| *limb > 0) else { return (0.0, 0) };
        let below = |i: usize| top.checked_sub(i).map_or(0, |at| limbs[at]);
        let zeros = limbs[top].leading_zeros();
        let leading = ((u128::from(limbs[top]) << 64 | u128::from(below(1))) << zeros >> 64) as u64;
        // The other bits only decide whether the number is half way between two floats.
        let has_more = below(1) << zeros > 0 || limbs[..top.saturating_sub(1)].iter().any(|limb| *limb > 0);
        let float = (leading | u64::from(has_more)) as f64;
        let exponent = 64 * top as i32 - zeros as i32 + self.first as i32 - UNIT as i32;
        (if is_negative { -float } else { float }, exponent)
    }

    /// The sum of integers, exactly; `None` without numbers.
    pub fn sum_of_integers(&self) -> Option<i128> {
        let group = UNIT.checked_sub(self.first).and_then(|index| self.groups.get(index));
        group.filter(|group| group.count > 0).map(|group| group.sum)
    }

    /// The sum of floats, rounded once; `None` without numbers.
    pub fn sum_of_floats(&self) -> Option<f64> {
        let (sum, power) = self.sum();
        self.groups.iter().any(|group| group.count > 0).then(|| scaled(sum, power))
    }

    /// The mean and the population standard deviation; `None` without numbers.
    pub fn mean_and_std(&self) -> Option<(f64, f64)> {
        let groups: Vec<(usize, &ExponentSums)> = (self.first..).zip(&self.groups).filter(|(_, group)| group.count > 0).collect();
        let last = groups.last()?.0;
        // In units of the largest power of two, so that no square overflows.
        let unit = |exponent: usize| 2f64.powi(-i32::try_from(last - exponent).unwrap_or(i32::MAX));
        let count = groups.iter().map(|(_, group)| group.count).sum::<u64>() as f64;
        let (sum, power) = self.sum();
        let scale = i32::try_from(last).unwrap_or(0) - UNIT as i32;
        let mean = scaled(sum / count, power - scale);
        let spread = |(exponent, group): &(usize, &ExponentSums)| {
            let apart = group.sum as f64 * unit(*exponent) / group.count as f64 - mean;
            group.spread() * unit(*exponent) * unit(*exponent) + group.count as f64 * apart * apart
        };
        let std = (groups.iter().map(spread).sum::<f64>() / count).sqrt();
        Some((scaled(sum / count, power), scaled(std, scale)))
    }
}

/// `x * 2^scale`, where the power alone may exceed float64.
fn scaled(x: f64, scale: i32) -> f64 {
    x * 2f64.powi(scale / 2) * 2f64.powi(scale - scale / 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(numbers: &[f64]) -> Moments {
        let mut moments = Moments::default();
        numbers.iter().for_each(|x| moments.add_float(*x));
        moments
    }

    #[test]
    fn nothing_is_lost_to_rounding() {
        assert_eq!(of(&[]).mean_and_std(), None);
        assert_eq!(of(&[1.0, 2.0, 3.0, 4.0]).mean_and_std(), Some((2.5, 1.25f64.sqrt())));
        assert_eq!(of(&[1e16, 1.0, -1e16]).mean_and_std().unwrap().0, 1.0 / 3.0);
        assert_eq!(of(&[1e308, 1e308, -1e308]).mean_and_std().unwrap().0, 1e308 / 3.0);
        assert_eq!(of(&[5e-324, 5e-324]).mean_and_std(), Some((5e-324, 0.0)));
        // Sums that nearly cancel, as math.fsum of Python gives them.
        assert_eq!(of(&[1.0, -0.75, -0.24999999999999997]).mean_and_std().unwrap().0, 9.25185853854297e-18);
        let near = [0.3721591016935546, -0.24287935724932574, -0.12887604602835243];
        assert_eq!(of(&near).mean_and_std().unwrap().0, 0.00013456613862547484);
        assert_eq!(of(&near.map(|x| -x)).mean_and_std().unwrap().0, -0.00013456613862547484);
        assert_eq!(of(&[1e300, -1e300, 2.5, 1e-300]).mean_and_std().unwrap().0, 0.625);
        assert_eq!(of(&[1e300, -1e300]).mean_and_std().unwrap().0, 0.0);
        // Unix timestamps one second apart.
        let times: Vec<f64> = (0..1001).map(|i| 1.7e15 + f64::from(i)).collect();
        let (mean, std) = of(&times).mean_and_std().unwrap();
        assert_eq!(mean, 1.7e15 + 500.0);
        assert!((std - (1001f64 * 1001.0 - 1.0).sqrt() / 12f64.sqrt()).abs() < 1e-9, "{std}");
        let mut extremes = Moments::default();
        extremes.add_integer(i128::from(u64::MAX), 1 << 40);
        extremes.add_integer(0, 1 << 40);
        assert_eq!(extremes.mean_and_std(), Some((2f64.powi(63), 2f64.powi(63))));
        assert_eq!(extremes.sum_of_integers(), Some(i128::from(u64::MAX) << 40));
    }

    #[test]
    fn sums_are_rounded_once() {
        for (numbers, sum) in [
            (&[][..], None),
            (&[0.1; 10][..], Some(1.0)),
            (&[1e16, 1.0, -1e16], Some(1.0)),
            (&[1e308, 1e308, -1e308], Some(1e308)),
            (&[1e308, 1e308], Some(f64::INFINITY)),
            (&[5e-324, 5e-324], Some(1e-323)),
            (&[1.0, -1.0], Some(0.0)),
        ] {
            assert_eq!(of(numbers).sum_of_floats(), sum, "{numbers:?}");
        }
        assert_eq!(of(&[]).sum_of_integers(), None);
    }

    #[test]
    fn parts_and_order_change_nothing() {
        let numbers: Vec<f64> = (0..500).map(|i| (f64::from(i) * 0.37).sin() * 10f64.powi(i % 40 - 20)).collect();
        let whole = of(&numbers);
        let mut parts = Moments::default();
        numbers.rchunks(7).for_each(|part| parts.merge(&of(part)));
        assert_eq!(parts.mean_and_std(), whole.mean_and_std());
    }
}
