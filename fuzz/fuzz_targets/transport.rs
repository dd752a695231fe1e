//! Any bytes as what a peer, an application and the clock do to a host: no panic, and bounded memory.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| conformance::any_bytes::play(bytes));
