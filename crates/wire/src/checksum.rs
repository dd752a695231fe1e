//! The ones-complement sum of RFC 1071: TCP's checksum, and the DSS checksum over a mapping (RFC 8684 §3.3.1).

use crate::Payload;

/// Payload bytes generated at a time: a span generates its bytes only when they are needed.
const CHUNK: usize = 256;

/// A running ones-complement sum of 16-bit words. Parts may be of any length: a word may span two of them.
///
/// The sum does not depend on the order of bytes in a word (RFC 1071 §2B), so words are read in the order that costs
/// nothing on most machines, and the result is swapped at the end.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct OnesComplement {
    sum: u64,
    odd: bool,
}

impl OnesComplement {
    pub(crate) fn add(&mut self, mut bytes: &[u8]) {
        if self.odd {
            let Some((&low, rest)) = bytes.split_first() else { return };
            self.sum += u64::from(low) << 8;
            self.odd = false;
            bytes = rest;
        }
        // 2^16 is 1 modulo 2^16 - 1, so 32-bit words may be summed and folded at the end.
        let mut words = bytes.chunks_exact(4);
        for word in &mut words {
            self.sum += u64::from(u32::from_le_bytes([word[0], word[1], word[2], word[3]]));
        }
        let mut halves = words.remainder().chunks_exact(2);
        for half in &mut halves {
            self.sum += u64::from(u16::from_le_bytes([half[0], half[1]]));
        }
        if let [high] = halves.remainder() {
            self.sum += u64::from(*high);
            self.odd = true;
        }
        self.sum = (self.sum & 0xffff_ffff) + (self.sum >> 32);
    }

    pub(crate) fn add_payload<P: Payload>(&mut self, payload: &P) {
        let mut chunk = [0; CHUNK];
        let mut at = 0;
        while at < payload.len() {
            let part = &mut chunk[..CHUNK.min(payload.len() - at)];
            payload.read_at(at, part);
            self.add(part);
            at += part.len();
        }
    }

    /// The complement of the sum: what a checksum field holds.
    pub(crate) fn finish(self) -> u16 {
        let mut sum = self.sum;
        while sum > 0xffff {
            sum = (sum & 0xffff) + (sum >> 16);
        }
        !(sum as u16).swap_bytes()
    }
}

/// The DSS checksum of one mapping, fed with the mapping's data in order, which may arrive in several segments.
///
/// It covers a pseudo-header and the data (RFC 8684 §3.3.1): the data sequence number in 64 bits, also when
/// the option carries 32; the relative subflow sequence number; the data-level length, a DATA_FIN counted; zero.
/// A DATA_FIN's octet is not data. The infinite mapping (length 0) has no checksum: its field is 0.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DssChecksum(OnesComplement);

impl DssChecksum {
    /// Starts with the pseudo-header. `dsn` is expanded to 64 bits; `ssn` and `len` as in the option.
    #[must_use]
    pub fn new(dsn: u64, ssn: u32, len: u16) -> Self {
        let mut sum = OnesComplement::default();
        sum.add(&dsn.to_be_bytes());
        sum.add(&ssn.to_be_bytes());
        sum.add(&len.to_be_bytes());
        DssChecksum(sum)
    }

    /// Adds the next part of the data. Allocates nothing.
    pub fn add<P: Payload>(&mut self, payload: &P) {
        self.0.add_payload(payload);
    }

    /// The value of the option's checksum field.
    #[must_use]
    pub fn finish(self) -> u16 {
        self.0.finish()
    }

    /// Whether `checksum`, taken from an option, is right.
    #[must_use]
    pub fn matches(self, checksum: u16) -> bool {
        let mut sum = self.0;
        sum.odd = false; // an odd last byte is padded with a zero
        sum.add(&checksum.to_be_bytes());
        sum.finish() == 0
    }
}

/// The DSS checksum of a mapping whose data is all in `payload`. See [`DssChecksum`] for what it covers.
#[must_use]
pub fn dss_checksum<P: Payload>(dsn: u64, ssn: u32, len: u16, payload: &P) -> u16 {
    let mut sum = DssChecksum::new(dsn, ssn, len);
    sum.add(payload);
    sum.finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Span;
    use proptest::prelude::*;

    /// RFC 1071 §3: the words 0001 f203 f4f5 f6f7 sum to ddf2.
    #[test]
    fn the_example_of_rfc_1071() {
        let mut sum = OnesComplement::default();
        sum.add(&[0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7]);
        assert_eq!(sum.finish(), !0xddf2);
    }

    /// The words, and the sum so far: 0102, 0304 → 0406, 0506 → 090c, 0708 → 1014 (DSN); 0000, 0009 → 101d (subflow
    /// sequence number); 0003 → 1020 (length); 0000; 6162 → 7182, 6300 → d482 ("abc").
    #[test]
    fn a_mapping_worked_by_hand() {
        assert_eq!(dss_checksum(0x0102_0304_0506_0708, 9, 3, &b"abc".to_vec()), !0xd482);
    }

    /// A lone DATA_FIN: length 1, subflow sequence number 0, no data. ffff+ffff+ffff+fffe+0001 folds to ffff.
    #[test]
    fn a_lone_data_fin_has_a_checksum_of_its_pseudo_header() {
        assert_eq!(dss_checksum(u64::MAX - 1, 0, 1, &Vec::new()), 0);
        assert!(DssChecksum::new(u64::MAX - 1, 0, 1).matches(0));
    }

    proptest! {
        #[test]
        fn a_span_and_its_bytes_have_the_same_checksum(offset in 0..u64::MAX / 2, len in 0..3000_u32, dsn: u64, ssn: u32) {
            let span = Span { offset, len };
            let mut bytes = vec![0; len as usize];
            span.write_to(&mut bytes);
            let checksum = dss_checksum(dsn, ssn, len as u16, &span);
            prop_assert_eq!(checksum, dss_checksum(dsn, ssn, len as u16, &bytes));
            // RFC 1071's own definition, two bytes at a time.
            let mut all: Vec<u8> = dsn.to_be_bytes().to_vec();
            all.extend(ssn.to_be_bytes());
            all.extend((len as u16).to_be_bytes());
            all.extend(&bytes);
            let mut sum: u32 = all.chunks(2).map(|w| u32::from(w[0]) << 8 | w.get(1).map_or(0, |b| u32::from(*b))).sum();
            while sum > 0xffff { sum = (sum & 0xffff) + (sum >> 16) }
            prop_assert_eq!(checksum, !(sum as u16));
        }

        #[test]
        fn data_in_parts_gives_the_same_sum(data: Vec<u8>, cuts in prop::collection::vec(0..64_usize, 0..8)) {
            let mut sum = DssChecksum::new(1, 2, data.len() as u16);
            let mut rest = &data[..];
            for cut in cuts {
                let (part, after) = rest.split_at(cut.min(rest.len()));
                sum.add(&part.to_vec());
                rest = after;
            }
            sum.add(&rest.to_vec());
            let whole = dss_checksum(1, 2, data.len() as u16, &data);
            prop_assert_eq!(sum.finish(), whole);
            prop_assert!(sum.matches(whole));
            prop_assert!(!sum.matches(whole ^ 1));
        }
    }
}
