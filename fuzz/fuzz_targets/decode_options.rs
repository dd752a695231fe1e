//! Any bytes as the option area of a TCP header: no panic, and what decodes is encoded and read again as the same.
#![no_main]

use libfuzzer_sys::fuzz_target;
use wire::{MAX_OPTIONS_LEN, Options};

fuzz_target!(|area: &[u8]| {
    // A TCP header cannot hold more.
    let area = &area[..area.len().min(MAX_OPTIONS_LEN)];
    match Options::decode(area, 20) {
        Ok(options) => {
            let mut again = Vec::new();
            options.encode(&mut again).expect("what was decoded can be encoded");
            assert_eq!(again.len(), options.len());
            assert_eq!(Options::decode(&again, 20).expect("what was encoded can be decoded"), options);
        }
        Err(error) => assert!((20..20 + area.len() + 1).contains(&error.offset), "{error}: not in the option area"),
    }
});
