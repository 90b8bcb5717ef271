//! Finite fields, one of every prime power: GF(p^m) as the polynomials over the numbers modulo p,
//! modulo one that has no factors. An element is a number whose digits to the base p are its
//! coefficients.

use alloc::vec;
use alloc::vec::Vec;

#[derive(Debug)]
pub(super) struct Field {
    order: u32,
    prime: u32,
    /// The powers of an element that yields all but zero.
    powers: Vec<u32>,
    /// Which power an element is; nothing is said of zero.
    logarithms: Vec<u32>,
    minus_one: u32,
}

/// The prime and the exponent, if `number` is a power of a prime.
pub(super) fn prime_power(number: u32) -> Option<(u32, u32)> {
    let mut factors = (2..).take_while(|&it| u64::from(it) * u64::from(it) <= number.into());
    let prime = factors.find(|it| number.is_multiple_of(*it)).unwrap_or(number);
    let (mut rest, mut exponent) = (number, 0);
    while prime > 1 && rest.is_multiple_of(prime) {
        rest /= prime;
        exponent += 1;
    }
    (rest == 1 && exponent > 0).then_some((prime, exponent))
}

impl Field {
    /// The field of so many elements, if there is one.
    pub(super) fn of(order: u32) -> Option<Self> {
        let (prime, degree) = prime_power(order)?;
        let modulus = irreducible(prime, degree);
        // Every element but zero is a power of some: so each has an inverse.
        let powers = (1..order).find_map(|generator| {
            let next = |&it: &u32| Some(product(it, generator, prime, &modulus));
            let powers = core::iter::successors(Some(1), next).take(order as usize - 1);
            let powers: Vec<u32> = powers.collect();
            let returns = powers[1..].contains(&1) || powers.contains(&0);
            (!returns).then_some(powers)
        });
        let powers = powers.expect("a field has an element that yields all others");
        let mut logarithms = vec![0; order as usize];
        for (exponent, &element) in (0..).zip(&powers) {
            logarithms[element as usize] = exponent;
        }
        Some(Self { order, prime, powers, logarithms, minus_one: prime - 1 })
    }

    pub(super) fn add(&self, one: u32, other: u32) -> u32 {
        let (mut one, mut other) = (one, other);
        let (mut sum, mut place) = (0, 1);
        while one > 0 || other > 0 {
            sum += (one + other) % self.prime * place;
            (one, other, place) = (one / self.prime, other / self.prime, place * self.prime);
        }
        sum
    }

    pub(super) fn negate(&self, it: u32) -> u32 {
        self.multiply(it, self.minus_one)
    }

    pub(super) fn multiply(&self, one: u32, other: u32) -> u32 {
        if one == 0 || other == 0 {
            return 0;
        }
        let sum = self.logarithms[one as usize] + self.logarithms[other as usize];
        self.powers[(sum % (self.order - 1)) as usize]
    }

    /// The inverse of `it`, which is not zero.
    pub(super) fn invert(&self, it: u32) -> u32 {
        let exponent = self.order - 1 - self.logarithms[it as usize];
        self.powers[(exponent % (self.order - 1)) as usize]
    }
}

/// The coefficients of a polynomial, lowest first.
fn digits(mut number: u32, base: u32) -> Vec<u32> {
    let mut digits = Vec::new();
    while number > 0 {
        digits.push(number % base);
        number /= base;
    }
    digits
}

fn number(digits: &[u32], base: u32) -> u32 {
    digits.iter().rev().fold(0, |sum, digit| sum * base + digit)
}

/// Adds so many times `other`.
fn add_scaled(to: &mut Vec<u32>, other: &[u32], times: u32, prime: u32) {
    to.resize(to.len().max(other.len()), 0);
    for (digit, other) in to.iter_mut().zip(other) {
        *digit = (*digit + other * times) % prime;
    }
}

/// The remainder of a polynomial after division by a monic one.
fn remainder(mut of: Vec<u32>, by: &[u32], prime: u32) -> Vec<u32> {
    while of.len() >= by.len() {
        let first = of[of.len() - 1];
        let shift = of.len() - by.len();
        for (digit, other) in of[shift..].iter_mut().zip(by) {
            *digit = (*digit + other * (prime - first)) % prime;
        }
        of.pop();
    }
    of
}

fn product(one: u32, other: u32, prime: u32, modulus: &[u32]) -> u32 {
    let (one, other) = (digits(one, prime), digits(other, prime));
    let mut product = vec![0; one.len() + other.len()];
    for (shift, &digit) in one.iter().enumerate() {
        let mut shifted = vec![0; shift];
        shifted.extend(&other);
        add_scaled(&mut product, &shifted, digit, prime);
    }
    number(&remainder(product, modulus, prime), prime)
}

/// The first polynomial of that degree, with 1 as first coefficient, that no smaller one divides.
fn irreducible(prime: u32, degree: u32) -> Vec<u32> {
    let of_degree = |degree: u32| {
        let count = prime.pow(degree);
        (0..count).map(move |rest| digits(count + rest, prime))
    };
    let mut candidates = of_degree(degree);
    let found = candidates.find(|candidate| {
        let mut smaller = (1..=degree / 2).flat_map(of_degree);
        !smaller.any(|it| remainder(candidate.clone(), &it, prime).iter().all(|&digit| digit == 0))
    });
    found.expect("there is one of every degree")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_smallest_polynomials_without_factors_are_those_of_the_tables() {
        for (prime, degree, expected) in [
            (2, 2, &[1, 1, 1][..]),
            (2, 3, &[1, 1, 0, 1]),
            (3, 2, &[1, 0, 1]),
            (2, 4, &[1, 1, 0, 0, 1]),
            (3, 3, &[1, 2, 0, 1]),
        ] {
            assert_eq!(irreducible(prime, degree), expected, "{prime}^{degree}");
        }
    }

    #[test]
    fn fields_are_fields() {
        for order in [2, 3, 4, 5, 7, 8, 9, 16, 25, 27] {
            let field = Field::of(order).unwrap();
            let all = || 0..order;
            for a in all() {
                assert_eq!(field.add(a, field.negate(a)), 0);
                assert_eq!((field.add(a, 0), field.multiply(a, 1)), (a, a));
                assert!(a == 0 || field.multiply(a, field.invert(a)) == 1, "{a} in {order}");
                for b in all() {
                    assert_eq!(field.multiply(a, b), field.multiply(b, a));
                    for c in all() {
                        let (sum, ab) = (field.add(b, c), field.multiply(a, b));
                        let apart = field.add(ab, field.multiply(a, c));
                        assert_eq!(field.multiply(a, sum), apart, "{a} {b} {c} in {order}");
                    }
                }
            }
        }
        assert_eq!(Field::of(9).unwrap().multiply(3, 3), 2, "x² is −1");
    }

    #[test]
    fn prime_powers_are_told_from_other_numbers() {
        let such: Vec<u32> = (0..33).filter(|&it| prime_power(it).is_some()).collect();
        assert_eq!(such, [2, 3, 4, 5, 7, 8, 9, 11, 13, 16, 17, 19, 23, 25, 27, 29, 31, 32]);
        assert_eq!(prime_power(729), Some((3, 6)));
    }
}
