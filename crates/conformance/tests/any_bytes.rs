//! A short, always equal run of what the fuzz target `transport` does for long.

use conformance::any_bytes::play;
use rand_core::{RngCore, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

#[test]
fn any_bytes_do_a_host_no_harm() {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(14);
    for case in 0..3_000_u32 {
        let mut bytes = vec![0; (random.next_u32() % 2_000) as usize];
        random.fill_bytes(&mut bytes);
        if let Some(first) = bytes.first_mut() {
            *first = (case % 64) as u8;
        }
        play(&bytes);
    }
}
