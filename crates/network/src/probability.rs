//! An event of fixed probability, drawn without floating-point arithmetic.

use rand_core::RngCore;

/// 2⁵³: a draw is a multiple of 2⁻⁵³ in [0, 1), from the upper 53 bits of a random word.
const ONE: u64 = 1 << 53;

/// A probability, as the number of the 2⁵³ equally likely draws for which the event happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Probability(u64);

impl Probability {
    /// `p` in [0, 1]. Scaling by a power of two is exact; a draw u is less than p if and only if its integer is less
    /// than ⌈2⁵³·p⌉.
    #[inline]
    pub(crate) fn new(p: f64) -> Self {
        debug_assert!((0.0..=1.0).contains(&p), "a probability from 0 to 1, not {p}");
        Self((p * ONE as f64).ceil() as u64)
    }

    /// Draws whether the event happens. Certain and impossible events draw nothing.
    #[inline]
    pub(crate) fn happens(self, rng: &mut impl RngCore) -> bool {
        if self.0 == 0 {
            return false;
        }
        self.0 >= ONE || rng.next_u64() >> 11 < self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand_core::SeedableRng;
    use rand_xoshiro::Xoshiro256PlusPlus;

    /// A generator that always returns the same word.
    struct Constant(u64);

    impl RngCore for Constant {
        fn next_u32(&mut self) -> u32 {
            unreachable!("only words of 64 bits are drawn")
        }
        fn next_u64(&mut self) -> u64 {
            self.0
        }
        fn fill_bytes(&mut self, _: &mut [u8]) {
            unreachable!("only words of 64 bits are drawn")
        }
    }

    #[test]
    fn same_answer_as_the_comparison_of_floats() {
        for p in [1e-300, 1e-9, 0.01, 1.0 / 3.0, 0.5, 0.999, 1.0 - f64::EPSILON / 2.0] {
            let mut rng = Xoshiro256PlusPlus::seed_from_u64(3);
            let mut floats = rng.clone();
            for _ in 0..2_000 {
                let draw = (floats.next_u64() >> 11) as f64 * (1.0 / ONE as f64);
                assert_eq!(Probability::new(p).happens(&mut rng), draw < p);
            }
        }
    }

    #[test]
    fn thresholds_are_exact() {
        assert_eq!(Probability::new(0.5), Probability(ONE / 2));
        // Of the draws 0, 2⁻⁵³, 2·2⁻⁵³, …, two are below 1.5·2⁻⁵³.
        assert_eq!(Probability::new(1.5 / ONE as f64), Probability(2));
        assert_eq!(Probability::new(1.0), Probability(ONE));
    }

    #[test]
    fn a_draw_equal_to_the_probability_is_not_below_it() {
        let happens = |word| Probability::new(0.5).happens(&mut Constant(word));
        assert!(!happens(1 << 63), "the draw is 0.5");
        assert!(happens((1 << 63) - 1), "the draw is 0.5 − 2⁻⁵³");
        assert!(Probability::new(f64::MIN_POSITIVE).happens(&mut Constant(0)), "the draw is 0");
    }

    #[test]
    fn the_certain_and_the_impossible_draw_nothing() {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(0);
        let untouched = rng.clone();
        assert!(!Probability::new(0.0).happens(&mut rng));
        assert!(Probability::new(1.0).happens(&mut rng));
        assert_eq!(rng, untouched);
    }
}
