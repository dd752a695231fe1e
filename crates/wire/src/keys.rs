//! Keys, tokens, initial data sequence numbers and HMACs (RFC 8684 §3.1, §3.2, §3.4.1). Keys and nonces are numbers in
//! the order of the wire: the most significant byte is sent first.

use hmac::{Hmac, Mac};
use sha2::{Digest, Sha256};
use std::net::IpAddr;
use subtle::ConstantTimeEq;

/// The token that names a connection in MP_JOIN: the most significant 32 bits of SHA-256 of the key (§3.2).
#[must_use]
pub fn token(key: u64) -> u32 {
    first_u32(&Sha256::digest(key.to_be_bytes()))
}

/// The initial data sequence number: the least significant 64 bits of SHA-256 of the key (§3.1). The first byte of
/// data has this number plus one.
#[must_use]
pub fn idsn(key: u64) -> u64 {
    last_u64(&Sha256::digest(key.to_be_bytes()))
}

/// Whether two HMACs, keys or the like are equal, in constant time.
#[must_use]
pub fn same(a: &[u8], b: &[u8]) -> bool {
    a.ct_eq(b).into()
}

/// Like [`same`], for numbers.
#[must_use]
pub fn same_u64(a: u64, b: u64) -> bool {
    a.ct_eq(&b).into()
}

/// The first 64 bits of SHA-256 of a secret and a message, which is what RFC 6528 §3 requires of a keyed hash. All
/// messages of a kind must have the same length; the truncation also prevents length extension.
#[must_use]
pub fn keyed_hash(secret: &[u8; 32], message: &[u8]) -> u64 {
    let digest = Sha256::new().chain_update(secret).chain_update(message).finalize();
    u64::from_be_bytes(*digest.first_chunk().expect("8 of 32 bytes"))
}

/// HMAC with SHA-256 (RFC 2104), all 256 bits.
#[must_use]
pub fn hmac_sha256(key: &[u8], message: &[u8]) -> [u8; 32] {
    let mut mac = Hmac::<Sha256>::new_from_slice(key).expect("HMAC takes a key of any length");
    mac.update(message);
    mac.finalize().into_bytes().into()
}

/// The HMAC on the third ACK of an MP_JOIN, sent by the host that opens the subflow: the leftmost 160 bits, with key
/// Key-A‖Key-B and message R-A‖R-B (§3.2). The *initiator* is the host that sends the SYN with MP_JOIN, not
/// necessarily the one that opened the connection.
#[must_use]
pub fn join_hmac_ack(initiator_key: u64, responder_key: u64, initiator_nonce: u32, responder_nonce: u32) -> [u8; 20] {
    let mac = join_hmac(initiator_key, responder_key, initiator_nonce, responder_nonce);
    *mac.first_chunk().expect("20 of 32 bytes")
}

/// The HMAC on the SYN/ACK of an MP_JOIN, sent by the host that accepts the subflow: the leftmost 64 bits, with key
/// Key-B‖Key-A and message R-B‖R-A (§3.2). Arguments in the same order as for [`join_hmac_ack`].
#[must_use]
pub fn join_hmac_syn_ack(initiator_key: u64, responder_key: u64, initiator_nonce: u32, responder_nonce: u32) -> u64 {
    let mac = join_hmac(responder_key, initiator_key, responder_nonce, initiator_nonce);
    u64::from_be_bytes(*mac.first_chunk().expect("8 of 32 bytes"))
}

fn join_hmac(own_key: u64, other_key: u64, own_nonce: u32, other_nonce: u32) -> [u8; 32] {
    let message = u64::from(own_nonce) << 32 | u64::from(other_nonce);
    hmac_sha256(&both(own_key, other_key), &message.to_be_bytes())
}

/// The HMAC of ADD_ADDR: the rightmost 64 bits, with the keys of the option's sender and receiver and the message
/// id‖address‖port, the port 0 when absent (§3.4.1).
#[must_use]
pub fn add_addr_hmac(sender_key: u64, receiver_key: u64, id: u8, address: IpAddr, port: Option<u16>) -> u64 {
    let mut message = [0; 19];
    message[0] = id;
    let address_end = match address {
        IpAddr::V4(v4) => {
            message[1..5].copy_from_slice(&v4.octets());
            5
        }
        IpAddr::V6(v6) => {
            message[1..17].copy_from_slice(&v6.octets());
            17
        }
    };
    message[address_end..address_end + 2].copy_from_slice(&port.unwrap_or(0).to_be_bytes());
    last_u64(&hmac_sha256(&both(sender_key, receiver_key), &message[..address_end + 2]))
}

fn both(first: u64, second: u64) -> [u8; 16] {
    (u128::from(first) << 64 | u128::from(second)).to_be_bytes()
}

fn first_u32(digest: &[u8]) -> u32 {
    u32::from_be_bytes(*digest.first_chunk().expect("a digest has more than 4 bytes"))
}

fn last_u64(digest: &[u8]) -> u64 {
    u64::from_be_bytes(*digest.last_chunk().expect("a digest has more than 8 bytes"))
}

/// Version 0 (RFC 6824), which uses SHA-1: only to read old captures.
pub mod v0 {
    use sha1::{Digest, Sha1};

    /// The token: the most significant 32 bits of SHA-1 of the key (RFC 6824 §3.2).
    #[must_use]
    pub fn token(key: u64) -> u32 {
        super::first_u32(&Sha1::digest(key.to_be_bytes()))
    }

    /// The initial data sequence number: the least significant 64 bits of SHA-1 of the key (RFC 6824 §3.1).
    #[must_use]
    pub fn idsn(key: u64) -> u64 {
        super::last_u64(&Sha1::digest(key.to_be_bytes()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hex(bytes: &[u8]) -> String {
        bytes.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    #[test]
    fn tokens_and_idsns_agree_with_linux() {
        for (key, expected_token, expected_idsn) in [
            (1, 0xcd26_6215, 0x19ec_5090_83d0_0a50),
            (2, 0xcd04_a475, 0x8865_40e5_dce7_7f70),
            (0x0102_0304_0506_0708, 0x6684_0dda, 0xf5a1_01d3_d29d_6f72),
        ] {
            assert_eq!((token(key), idsn(key)), (expected_token, expected_idsn), "key {key:#x}");
        }
    }

    /// SHA-1 by Python's hashlib of the bytes 0000000000000001: cb473678976f425d6ec1339838f11011007ad27d, and of
    /// 0102030405060708: dd5783bcf1e9002bc00ad5b83a95ed6e4ebb4ad5.
    #[test]
    fn version_0_takes_the_ends_of_sha1() {
        assert_eq!((v0::token(1), v0::idsn(1)), (0xcb47_3678, 0x38f1_1011_007a_d27d));
        let key = 0x0102_0304_0506_0708;
        assert_eq!((v0::token(key), v0::idsn(key)), (0xdd57_83bc, 0x3a95_ed6e_4ebb_4ad5));
    }

    /// The digests are those of Python's hmac, of the concatenations that RFC 8684 §3.2 prints:
    /// e19ad4ac22d51c2f064d49662431bc8f9d6b3a296b01db7d… with A's key and number first, 0fce2597e55e87ef… with B's.
    #[test]
    fn the_two_sides_of_a_join_concatenate_in_their_own_order() {
        let (key_a, key_b, r_a, r_b) = (0x0102_0304_0506_0708, 0x1112_1314_1516_1718, 0x2122_2324, 0x3132_3334);
        assert_eq!(hex(&join_hmac_ack(key_a, key_b, r_a, r_b)), "e19ad4ac22d51c2f064d49662431bc8f9d6b3a29");
        assert_eq!(join_hmac_syn_ack(key_a, key_b, r_a, r_b), 0x0fce_2597_e55e_87ef);
    }

    /// By Python's hmac: key‖key as above; 05‖0a000201‖0000 and 06‖20010db8…01‖1f90.
    #[test]
    fn an_announcement_is_signed_over_id_address_and_port() {
        let (key_a, key_b) = (0x0102_0304_0506_0708, 0x1112_1314_1516_1718);
        let v4 = add_addr_hmac(key_a, key_b, 5, "10.0.2.1".parse().unwrap(), None);
        assert_eq!(v4, 0x1e13_5713_deee_8926);
        let v6 = add_addr_hmac(key_a, key_b, 6, "2001:db8::1".parse().unwrap(), Some(8080));
        assert_eq!(v6, 0x918b_d9ae_95aa_f90d_u64);
    }

    #[test]
    fn comparison_finds_a_difference_in_any_place() {
        let one = [0x5a; 20];
        assert!(same(&one, &one) && same_u64(9, 9));
        for bit in 0..160 {
            let mut other = one;
            other[bit / 8] ^= 1 << (bit % 8);
            assert!(!same(&one, &other), "bit {bit}");
        }
        assert!((0..64).all(|bit| !same_u64(9, 9 ^ (1 << bit))));
        assert!(!same(&one, &one[..19]));
    }

    #[test]
    fn hmac_agrees_with_the_linux_self_test() {
        assert_eq!(
            hex(&hmac_sha256(b"0b0b0b0b0b0b0b0b", b"48692054")),
            "8385e24fb4235ac37556b6b886db106284a1da671699f46db1f235ec622dcafa"
        );
    }

    /// RFC 4231 §4.2 to §4.8; case 5 is given there truncated to 128 bits.
    #[test]
    fn hmac_agrees_with_rfc_4231() {
        let counting: Vec<u8> = (1..=25).collect();
        let cases: [(&[u8], &[u8], &str); 7] = [
            (&[0x0b; 20], b"Hi There", "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7"),
            (
                b"Jefe",
                b"what do ya want for nothing?",
                "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843",
            ),
            (&[0xaa; 20], &[0xdd; 50], "773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe"),
            (&counting, &[0xcd; 50], "82558a389a443c0ea4cc819899f2083a85f0faa3e578f8077a2e3ff46729665b"),
            (&[0x0c; 20], b"Test With Truncation", "a3b6167473100ee06e0c796c2955552b"),
            (
                &[0xaa; 131],
                b"Test Using Larger Than Block-Size Key - Hash Key First",
                "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54",
            ),
            (
                &[0xaa; 131],
                b"This is a test using a larger than block-size key and a larger than block-size data. The key needs \
                  to be hashed before being used by the HMAC algorithm.",
                "9b09ffa71b942fcb27635fbcd5b0e944bfdc63644f0713938a7f51535c3a35e2",
            ),
        ];
        for (key, message, expected) in cases {
            assert!(hex(&hmac_sha256(key, message)).starts_with(expected));
        }
    }
}
