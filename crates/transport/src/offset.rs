//! Offsets in a stream of data. They are 64 bits and count from 0, as the sequence numbers of a subflow do, which count from its
//! SYN: both stand in a mapping, a segment under way and a piece out of order, and one taken for the other would be wrong by an
//! octet on the first subflow of a connection and by anything on the others.

use std::ops::{Add, AddAssign, Sub};

/// The offset of an octet in the stream of a connection, whichever subflow carries it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Offset(u64);

impl Offset {
    /// That of the first octet.
    pub const FIRST: Offset = Offset(0);
    /// Behind all that can be written.
    pub const LAST: Offset = Offset(u64::MAX);

    /// The place that so many octets precede.
    #[inline(always)]
    pub const fn after(octets: u64) -> Self {
        Offset(octets)
    }

    /// How many octets precede it.
    #[inline(always)]
    pub const fn octets(self) -> u64 {
        self.0
    }

    /// How far it lies behind `other`; 0 where it does not.
    #[inline(always)]
    pub const fn beyond(self, other: Self) -> u64 {
        self.0.saturating_sub(other.0)
    }

    /// So many octets on, or the last place.
    #[inline(always)]
    pub const fn saturating_add(self, octets: u64) -> Self {
        Offset(self.0.saturating_add(octets))
    }

    /// So many octets on; none where there is no such place.
    pub const fn checked_add(self, octets: u64) -> Option<Self> {
        match self.0.checked_add(octets) {
            Some(place) => Some(Offset(place)),
            None => None,
        }
    }
}

impl Add<u64> for Offset {
    type Output = Self;

    #[inline(always)]
    fn add(self, octets: u64) -> Self {
        Offset(self.0 + octets)
    }
}

impl AddAssign<u64> for Offset {
    #[inline(always)]
    fn add_assign(&mut self, octets: u64) {
        self.0 += octets;
    }
}

impl Sub<u64> for Offset {
    type Output = Self;

    #[inline(always)]
    fn sub(self, octets: u64) -> Self {
        Offset(self.0 - octets)
    }
}

/// The octets from one place to another, which does not lie behind it.
impl Sub for Offset {
    type Output = u64;

    #[inline(always)]
    fn sub(self, other: Self) -> u64 {
        self.0 - other.0
    }
}

impl std::fmt::Debug for Offset {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "@{}", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_have_an_order_and_distances() {
        let (early, late) = (Offset::after(3), Offset::FIRST + 10);
        assert_eq!((late - early, late.beyond(early), early.beyond(late)), (7, 7, 0));
        assert_eq!((late - 7, early.max(late), late.octets()), (early, late, 10));
        assert_eq!((Offset::LAST.saturating_add(1), Offset::LAST.checked_add(1)), (Offset::LAST, None));
    }
}
