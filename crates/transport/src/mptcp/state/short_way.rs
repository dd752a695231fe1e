//! Which subflows may take the short way of `plain.rs`, `behind_hole.rs` and `steady.rs`, and which can have room for data. All of it can be
//! found out anew: it is remembered so that nearly every segment is spared the search.

use crate::scheduler::SubflowSet;

/// What is known to need no look.
#[derive(Clone, Copy, Debug)]
pub struct ShortWay {
    /// Subflows that have nothing to look after but data and acknowledgments in order.
    plain: SubflowSet,
    /// As `plain`, but there may be a hole in what arrived.
    settled: SubflowSet,
    /// As `settled`, but losses may be repaired.
    steady: SubflowSet,
    /// Subflows that can have got room in their windows since none had any.
    roomy: SubflowSet,
    /// Of the configuration: whether there is a short way.
    enabled: bool,
    /// Whether new data may take it: with the default scheduler.
    sends: bool,
}

impl ShortWay {
    pub fn new(enabled: bool, sends: bool) -> Self {
        let none = SubflowSet::default();
        ShortWay {
            plain: none,
            settled: none,
            steady: none,
            roomy: SubflowSet(u64::MAX),
            enabled,
            sends: enabled && sends,
        }
    }

    /// Something else than the plain happens: all is to be found out anew.
    #[inline]
    pub fn unsettle(&mut self) {
        self.plain = SubflowSet::default();
        self.settled = SubflowSet::default();
        self.steady = SubflowSet::default();
        self.roomy = SubflowSet(u64::MAX);
    }

    /// The same of one subflow, which may have got room as well.
    #[inline]
    pub fn doubt(&mut self, r: usize) {
        self.disturb(r);
        self.steady.remove(r);
    }

    /// Losses of the subflow may be repaired now, or not any more.
    #[inline]
    pub fn disturb(&mut self, r: usize) {
        self.plain.remove(r);
        self.settled.remove(r);
    }

    #[inline]
    pub fn is_steady(&self, r: usize) -> bool {
        self.steady.contains(r)
    }

    #[inline]
    pub fn note_steady(&mut self, r: usize) {
        self.steady.insert(r);
    }

    #[inline]
    pub fn enabled(&self) -> bool {
        self.enabled
    }

    #[inline]
    pub fn sends(&self) -> bool {
        self.sends
    }

    #[inline]
    pub fn is_plain(&self, r: usize) -> bool {
        self.plain.contains(r)
    }

    #[inline]
    pub fn note_plain(&mut self, r: usize) {
        self.plain.insert(r);
    }

    #[inline]
    pub fn is_settled(&self, r: usize) -> bool {
        self.settled.contains(r)
    }

    /// Nothing is to be said of the subflow but that it has, or had, a hole.
    #[inline]
    pub fn note_hole(&mut self, r: usize) {
        self.settled.insert(r);
        self.plain.remove(r);
    }

    /// The subflow may have got room.
    #[inline]
    pub fn note_room(&mut self, r: usize) {
        self.roomy.insert(r);
    }

    /// No subflow has room, nor will have without a [note](Self::note_room).
    #[inline]
    pub fn note_full(&mut self) {
        self.roomy = SubflowSet::default();
    }

    /// Subflows that can have room; may name some that do not exist.
    #[inline]
    pub fn roomy(&self) -> SubflowSet {
        self.roomy
    }
}
