//! Random numbers: every component that draws has a generator of its own, derived from the scenario's seed and the
//! component's name. So a component that is added, or that draws more, changes no other's draws.

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{RngCore, SeedableRng};
use sha2::{Digest, Sha256};

/// The generator of the component called `name`, for example `link/wifi/down`: its state is SHA-256 of the seed
/// (eight bytes, least significant first) followed by the name. Seed 0 is a seed like any other.
pub fn generator(seed: u64, name: &str) -> Xoshiro256PlusPlus {
    let state = Sha256::new().chain_update(seed.to_le_bytes()).chain_update(name.as_bytes()).finalize();
    Xoshiro256PlusPlus::from_seed(state.into())
}

/// A time drawn uniformly from `[range_ns[0], range_ns[1]]`, both ends included. Multiplying a 64-bit draw by the
/// range's length and keeping the upper word is uneven by less than length / 2^64.
pub fn uniform_ns(generator: &mut Xoshiro256PlusPlus, range_ns: [u64; 2]) -> u64 {
    let count = u128::from(range_ns[1] - range_ns[0]) + 1;
    range_ns[0] + ((u128::from(generator.next_u64()) * count) >> 64) as u64
}

/// An exponentially distributed number of mean 1, by inversion of a uniform draw of 53 bits.
pub fn exponential(generator: &mut Xoshiro256PlusPlus) -> f64 {
    // From (0, 1]: the logarithm of 0 is none.
    let uniform = ((generator.next_u64() >> 11) + 1) as f64 / (1_u64 << 53) as f64;
    -uniform.ln()
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
        // Binomial(50000, 1/5): standard deviation 89; five of them.
        assert!(counts.iter().all(|&count| (count as i32 - 10_000).abs() < 447), "{counts:?}");
        assert_eq!(uniform_ns(&mut generator, [7, 7]), 7);
        // The whole range of the type does not overflow.
        uniform_ns(&mut generator, [0, u64::MAX]);
    }
}
