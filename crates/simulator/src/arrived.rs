//! A packet that has reached the end of its route.

/// Flag on a slot: the segment carries data and was sent after the warm-up, so that it counts for the loss rate.
pub const COUNTED: u32 = 1 << 31;
/// Flag on a slot: the packet arrived with CE (RFC 3168 §5).
pub const MARKED: u32 = 1 << 30;

/// A packet at the end of its route. `Fabric::take` returns its segment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Arrived {
    /// The slot of its segment, with the flags [`COUNTED`] and [`MARKED`].
    slot: u32,
}

impl Arrived {
    /// The packet in `slot`, which may have the flag [`COUNTED`].
    #[inline(always)]
    pub fn new(slot: u32, marked: bool) -> Arrived {
        Arrived { slot: if marked { slot | MARKED } else { slot } }
    }

    /// The slot of its segment.
    #[inline(always)]
    pub fn slot(self) -> u32 {
        self.slot & !(COUNTED | MARKED)
    }

    /// Whether the packet was marked CE on its way.
    #[inline]
    pub fn is_marked(self) -> bool {
        self.slot & MARKED != 0
    }
}
