//! Data that is in order on its subflow and waits at the connection for what precedes it in the stream.

use crate::offset::Offset;
use crate::queue::{Kept, Sendable};
use crate::reassembly::Part;
use crate::slots::Slots;
use crate::time::Instant;

/// What waits, by its place in the stream.
pub type Waiting<P> = Slots<Early<P>>;

/// A piece of the stream that came before what precedes it.
#[derive(Clone, Debug)]
pub struct Early<P> {
    /// Place of its first byte.
    pub at: Offset,
    /// Content.
    pub payload: P,
    /// When it reached this host.
    pub arrived_at: Instant,
    /// The subflow that brought it.
    pub via: u8,
}

/// An [`Early`] in a slot.
#[derive(Debug)]
pub struct EarlySlot<K> {
    kept: K,
    arrived_at: Instant,
    via: u8,
}

impl<P: Sendable> Part for Early<P> {
    type Slot = EarlySlot<P::Kept>;

    #[inline]
    fn at(&self) -> u64 {
        self.at.octets()
    }

    #[inline]
    fn len(&self) -> u64 {
        self.payload.len() as u64
    }

    fn cut(&self, from: u64, to: u64) -> Self {
        let payload = self.payload.slice((from - self.at()) as usize, (to - self.at()) as usize);
        Early { at: Offset::after(from), payload, ..*self }
    }

    fn compact(self) -> Self {
        Early { payload: self.payload.compact(), ..self }
    }

    #[inline]
    fn free_slot() -> Self::Slot {
        EarlySlot { kept: P::Kept::keep(P::empty()), arrived_at: Instant::ZERO, via: 0 }
    }

    #[inline]
    fn fits_slot(&self) -> bool {
        P::Kept::place(&self.payload, self.at()) == self.at()
    }

    #[inline]
    fn into_slot(self) -> Self::Slot {
        EarlySlot { kept: P::Kept::keep(self.payload), arrived_at: self.arrived_at, via: self.via }
    }

    #[inline]
    fn slot_len(slot: &Self::Slot) -> u64 {
        u64::from(slot.kept.len())
    }

    #[inline]
    fn from_slot(slot: Self::Slot, at: u64) -> Self {
        Early { at: Offset::after(at), payload: slot.kept.into_payload(at), arrived_at: slot.arrived_at, via: slot.via }
    }
}
