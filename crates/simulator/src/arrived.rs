//! A packet that has come to the end of its route.

/// Beside a slot: the segment carries data and left after the warm-up, so that it counts for the loss rate.
pub const COUNTED: u32 = 1 << 31;
/// Beside a slot: the packet arrived with CE (RFC 3168 §5).
pub const MARKED: u32 = 1 << 30;

/// A packet at the end of its route. Take its segment with `Fabric::take`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Arrived {
    /// The slot of its segment, with [`COUNTED`] and [`MARKED`].
    slot: u32,
}

impl Arrived {
    /// The packet of a slot, which may say [`COUNTED`].
    #[inline(always)]
    pub fn new(slot: u32, marked: bool) -> Arrived {
        Arrived { slot: if marked { slot | MARKED } else { slot } }
    }

    /// The slot of its segment.
    #[inline(always)]
    pub fn slot(self) -> u32 {
        self.slot & !(COUNTED | MARKED)
    }

    /// Whether the packet was marked on its way.
    #[inline]
    pub fn is_marked(self) -> bool {
        self.slot & MARKED != 0
    }
}
