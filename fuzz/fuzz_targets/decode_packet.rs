//! Any bytes as an IP packet: no panic, and what decodes is encoded and read again as the same.
#![no_main]

use libfuzzer_sys::fuzz_target;
use wire::{Checksums, decode, decode_headers, decode_icmp, decode_with, encode};

fuzz_target!(|packet: &[u8]| {
    _ = decode_icmp(packet);
    let strict = decode(packet);
    let captured = decode_headers(packet);
    let Ok((ip, segment)) = decode_with(packet, Checksums::Ignore) else {
        assert!(strict.is_err(), "what fails without checksums fails with them");
        return;
    };
    let captured = captured.expect("a whole packet has all its headers");
    assert_eq!(captured.ip, ip);
    assert_eq!(captured.payload_len, segment.payload.len());
    assert_eq!(captured.segment.map_payload(<[u8]>::to_vec), segment);
    let mut again = Vec::new();
    encode(&ip, &segment, &mut again).expect("what was decoded can be encoded");
    assert_eq!(again.len(), ip.wire_len() + segment.header_len() + segment.payload.len());
    assert_eq!(decode(&again).expect("what was encoded can be decoded"), (ip, segment));
});
