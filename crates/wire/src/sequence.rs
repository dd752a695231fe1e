//! Numbers truncated to 32 bits on the wire (RFC 8684 §3.3.1, §3.3.2; RFC 9293 §3.4).

use crate::DataNumber;

/// The 64-bit number whose lower 32 bits are `value` and which lies nearest to `reference`, modulo 2^64: the answer is
/// in `reference - 2^31 ..= reference + 2^31 - 1`; at exactly half the space it is the lower one. `reference` is a
/// number of the same space known to be near, for instance the next data sequence number expected. The space wraps:
/// near 0 the answer may be close to 2^64.
#[inline]
#[must_use]
pub const fn expand32(reference: u64, value: u32) -> u64 {
    // The difference in 32 bits, read as signed, is the distance.
    reference.wrapping_add_signed(value.wrapping_sub(reference as u32) as i32 as i64)
}

impl DataNumber {
    /// All 64 bits: as sent, or the number nearest to `reference` (see [`expand32`]).
    #[inline]
    #[must_use]
    pub const fn expand(self, reference: u64) -> u64 {
        match self {
            DataNumber::Short(value) => expand32(reference, value),
            DataNumber::Long(value) => value,
        }
    }

    /// The number truncated to its lower 32 bits.
    #[inline]
    #[must_use]
    pub const fn short(number: u64) -> Self {
        DataNumber::Short(number as u32)
    }

    /// Bytes it takes on the wire: 4 or 8.
    #[inline]
    #[must_use]
    pub const fn wire_len(self) -> usize {
        match self {
            DataNumber::Short(_) => 4,
            DataNumber::Long(_) => 8,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_number_just_after_the_wrap_lies_after_the_reference() {
        assert_eq!(expand32(0x0000_0001_ffff_fff0, 0x0000_0010), 0x0000_0002_0000_0010);
    }

    #[test]
    fn a_number_just_before_the_wrap_lies_before_the_reference() {
        assert_eq!(expand32(0x0000_0002_0000_0010, 0xffff_fff0), 0x0000_0001_ffff_fff0);
    }

    #[test]
    fn at_half_the_space_the_lower_number_is_taken() {
        assert_eq!(expand32(0x5_0000_0000, 0x8000_0000), 0x4_8000_0000);
        assert_eq!(expand32(0x5_0000_0000, 0x7fff_ffff), 0x5_7fff_ffff);
    }

    #[test]
    fn the_64_bit_space_wraps_too() {
        assert_eq!(expand32(5, 0xffff_ffff), u64::MAX);
        assert_eq!(expand32(u64::MAX, 3), 3);
    }

    #[test]
    fn a_long_number_ignores_the_reference() {
        assert_eq!(DataNumber::Long(7).expand(u64::MAX), 7);
    }

    proptest! {
        #[test]
        fn any_number_within_half_the_space_is_found_again(reference: u64, distance in i32::MIN..=i32::MAX) {
            let number = reference.wrapping_add_signed(i64::from(distance));
            prop_assert_eq!(expand32(reference, number as u32), number);
        }

        #[test]
        fn the_lower_bits_are_kept_and_no_candidate_is_nearer(reference: u64, value: u32) {
            let number = expand32(reference, value);
            prop_assert_eq!(number as u32, value);
            let distance = |candidate: u64| candidate.wrapping_sub(reference).min(reference.wrapping_sub(candidate));
            prop_assert!(distance(number) <= distance(number.wrapping_add(1 << 32)));
            prop_assert!(distance(number) <= distance(number.wrapping_sub(1 << 32)));
        }
    }
}
