//! Numbers as they stand on the wire. Inside, the octets of a subflow and of a stream have places: 64 bits that count from 0,
//! do not wrap and are compared as they are. On the wire they have numbers that begin anywhere and wrap, which have no
//! order. A number of ours is none of the peer's: the parameter tells who sends the octets that it counts, and each field
//! of a segment that arrives is read as what it is.

use std::marker::PhantomData;

use wire::{DataNumber, expand32};

use crate::offset::Offset;

/// This host sends the octets.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ours {}

/// The peer sends them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Theirs {}

/// A sequence number of TCP, modulo 2³² (RFC 9293 §3.4).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SeqNumber<Sender>(u32, PhantomData<Sender>);

/// A data sequence number, modulo 2⁶⁴ (RFC 8684 §3.3.1).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Dsn<Sender>(u64, PhantomData<Sender>);

impl SeqNumber<Theirs> {
    /// Of a segment that arrived.
    #[inline]
    pub const fn sent(seq: u32) -> Self {
        SeqNumber(seq, PhantomData)
    }
}

impl SeqNumber<Ours> {
    /// The first of a subflow.
    pub const fn initial(iss: u32) -> Self {
        SeqNumber(iss, PhantomData)
    }

    /// An acknowledgment that arrived, or an edge of its SACK blocks.
    #[inline]
    pub const fn acknowledged(ack: u32) -> Self {
        SeqNumber(ack, PhantomData)
    }
}

impl<Sender> SeqNumber<Sender> {
    /// That of the octet so many places further on.
    #[inline]
    pub const fn plus(self, places: u64) -> Self {
        SeqNumber(self.0.wrapping_add(places as u32), PhantomData)
    }

    /// How far it lies behind `other`; before it where that is negative.
    #[inline]
    pub const fn distance_from(self, other: Self) -> i32 {
        self.0.wrapping_sub(other.0) as i32
    }

    /// The place of its octet, `initial` being that of place 0: of all that have this number the one nearest to `near`. Those
    /// far below 0 are huge.
    #[inline]
    pub const fn place(self, initial: Self, near: u64) -> u64 {
        expand32(near, self.0.wrapping_sub(initial.0))
    }

    /// As it stands in the header.
    #[inline]
    pub const fn on_wire(self) -> u32 {
        self.0
    }
}

impl Dsn<Theirs> {
    /// Of a mapping that arrived.
    #[inline]
    pub const fn mapped(dsn: u64) -> Self {
        Dsn(dsn, PhantomData)
    }
}

impl Dsn<Ours> {
    /// A DATA_ACK that arrived, or an MP_FAIL.
    #[inline]
    pub const fn acknowledged(data_ack: u64) -> Self {
        Dsn(data_ack, PhantomData)
    }
}

impl<Sender> Dsn<Sender> {
    /// The first of a stream, which follows from the sender's key; that of its first octet of data is one higher.
    pub fn initial(key: u64) -> Self {
        Dsn(wire::keys::idsn(key), PhantomData)
    }

    /// Of the numbers that may have been cut to this the nearest to `reference`.
    pub const fn nearest(number: DataNumber, reference: Self) -> Self {
        Dsn(number.expand(reference.0), PhantomData)
    }

    /// That of the octet so many places further on.
    #[inline]
    pub const fn plus(self, places: u64) -> Self {
        Dsn(self.0.wrapping_add(places), PhantomData)
    }

    /// That of the octet at a place, this being that of the first one.
    #[inline]
    pub const fn at(self, place: Offset) -> Self {
        Dsn(self.0.wrapping_add(place.octets()), PhantomData)
    }

    /// The place of its octet, `first` being that of the first one. That of a number far below is huge.
    #[inline]
    pub const fn place(self, first: Self) -> Offset {
        Offset::after(self.0.wrapping_sub(first.0))
    }

    /// As it stands in an option, in 8 bytes.
    #[inline]
    pub const fn on_wire(self) -> u64 {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn numbers_wrap_and_places_do_not() {
        let initial = SeqNumber::initial(0xffff_fff0);
        assert_eq!(initial.plus(0x20).on_wire(), 0x10);
        assert_eq!(SeqNumber::acknowledged(0x10).place(initial, 0x18), 0x20);
        // After 4 GiB the same number is another place.
        assert_eq!(SeqNumber::acknowledged(0x10).place(initial, 0x1_0000_0000), 0x1_0000_0020);
        assert_eq!(SeqNumber::acknowledged(0x10).distance_from(initial), 0x20);
        assert_eq!(initial.distance_from(SeqNumber::acknowledged(0x10)), -0x20);
        // One octet before the first: far behind everything.
        assert_eq!(initial.plus(u64::MAX).place(initial, 0), u64::MAX);
    }

    #[test]
    fn a_data_sequence_number_of_four_bytes_is_that_nearest_to_what_is_expected() {
        let first = Dsn::mapped(0x7_ffff_ff00);
        let number = Dsn::nearest(DataNumber::Short(0x40), first);
        assert_eq!((number.on_wire(), number.place(first).octets()), (0x8_0000_0040, 0x140));
        let far = Dsn::nearest(DataNumber::Long(0x40), first).place(first);
        assert_eq!(far.octets(), 0x40_u64.wrapping_sub(0x7_ffff_ff00));
    }

    proptest! {
        #[test]
        fn a_place_is_found_again_by_its_number(initial: u32, place in 0..u64::MAX / 2, off in -0x7fff_ffff_i64..=0x8000_0000) {
            let initial = SeqNumber::initial(initial);
            let near = place.saturating_add_signed(off);
            prop_assert_eq!(initial.plus(place).place(initial, near), place);
            let first = Dsn::<Ours>::initial(place);
            let place = Offset::after(place);
            prop_assert_eq!(first.at(place).place(first), place);
        }
    }
}
