//! Random numbers. Each component that draws has its own generator, derived from the scenario's seed and the
//! component's name. A component that is added, or that draws more, therefore does not change the draws of any other.

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{RngCore, SeedableRng};
use sha2::{Digest, Sha256};

/// The generator of the component called `name`, for example `link/wifi/down`. Its state is the SHA-256 hash of the
/// seed (eight bytes, little-endian) followed by the name. Seed 0 is not special.
pub fn generator(seed: u64, name: &str) -> Xoshiro256PlusPlus {
    let state = Sha256::new().chain_update(seed.to_le_bytes()).chain_update(name.as_bytes()).finalize();
    Xoshiro256PlusPlus::from_seed(state.into())
}

/// Draws a time uniformly from `[range_ns[0], range_ns[1]]`, both ends included. The range's length times a 64-bit draw
/// is computed and its upper word kept, which biases the result by less than length / 2^64.
pub fn uniform_ns(generator: &mut Xoshiro256PlusPlus, range_ns: [u64; 2]) -> u64 {
    let count = u128::from(range_ns[1] - range_ns[0]) + 1;
    range_ns[0] + ((u128::from(generator.next_u64()) * count) >> 64) as u64
}

/// Draws from the exponential distribution with mean 1, by inversion of a uniform 53-bit draw.
pub fn exponential(generator: &mut Xoshiro256PlusPlus) -> f64 {
    // The draw is from (0, 1] because ln 0 is not finite.
    let uniform = ((generator.next_u64() >> 11) + 1) as f64 / (1_u64 << 53) as f64;
    -ln(uniform)
}

/// The natural logarithm, with the same bits on every machine; the platform's may differ.
pub fn ln(x: f64) -> f64 {
    libm::log(x)
}

/// e to the power x, with the same bits on every machine (see [`ln`]).
pub fn exp(x: f64) -> f64 {
    libm::exp(x)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_state_is_the_digest_of_seed_and_name() {
        // SHA-256 of eight zero bytes, as `head -c 8 /dev/zero | sha256sum` prints it:
        // af5570f5a1810b7af78caf4bc70a660f0df51e42baf91d4de5b2328de0e83dfc
        let mut state = [0; 32];
        let digits = "af5570f5a1810b7af78caf4bc70a660f0df51e42baf91d4de5b2328de0e83dfc";
        for (i, byte) in state.iter_mut().enumerate() {
            *byte = u8::from_str_radix(&digits[2 * i..2 * i + 2], 16).unwrap();
        }
        assert_eq!(generator(0, ""), Xoshiro256PlusPlus::from_seed(state));
    }

    /// Arguments for which libraries differ. The expected values are those of FreeBSD's algorithm, computed by a
    /// separate program; glibc 2.36 differs by one unit in the last place.
    #[test]
    fn logarithms_and_powers_are_the_same_on_every_machine() {
        for (x, ln) in [
            (0x3fe9_ac27_d8f1_6ae0, 0xbfcc_3352_1a7b_8f90),
            (0x3fe8_59cd_7ed4_d57c, 0xbfd1_7ba4_74fd_4552),
            (0x3fb9_999d_236b_3aa0, 0xc002_6bb0_a0a3_e654),
        ] {
            assert_eq!(self::ln(f64::from_bits(x)).to_bits(), ln);
        }
        for (x, exp) in [
            (0x4028_0b49_cefa_afae, 0x4104_4f77_cd15_33e0),
            (0x4012_b7bf_04e3_6fcf, 0x405a_ed6b_ad16_aa8c),
            (0x403a_c66b_7410_7b31, 0x4258_bb3b_dc38_a58a_u64),
        ] {
            assert_eq!(self::exp(f64::from_bits(x)).to_bits(), exp);
        }
    }

    #[test]
    fn seed_and_name_both_matter() {
        let draw = |seed, name| generator(seed, name).next_u64();
        assert_eq!(draw(1, "link/a/down"), draw(1, "link/a/down"));
        assert_ne!(draw(1, "link/a/down"), draw(2, "link/a/down"));
        assert_ne!(draw(1, "link/a/down"), draw(1, "link/a/up"));
    }

    #[test]
    fn a_drawn_time_covers_its_range_evenly() {
        let mut generator = generator(3, "test");
        let mut counts = [0_u32; 5];
        for _ in 0..50_000 {
            counts[(uniform_ns(&mut generator, [10, 14]) - 10) as usize] += 1;
        }
        // Binomial(50000, 1/5) has a standard deviation of 89; the bound is five of them.
        assert!(counts.iter().all(|&count| (count as i32 - 10_000).abs() < 447), "{counts:?}");
        assert_eq!(uniform_ns(&mut generator, [7, 7]), 7);
        // The full range of the type does not overflow.
        uniform_ns(&mut generator, [0, u64::MAX]);
    }
}
