//! Which subflows have nothing to look after but data and acknowledgments, and which can have room for new data. Both can be
//! found out anew: they are remembered so that nearly every segment is spared the search.

use crate::scheduler::SubflowSet;

/// What is remembered.
#[derive(Clone, Copy, Debug)]
pub struct Usual {
    known: SubflowSet,
    /// Subflows that can have got room in their windows since none had any; may name some that do not exist.
    roomy: SubflowSet,
    /// Of the configuration: whether anything is remembered.
    enabled: bool,
    /// The default scheduler decides about new data.
    smallest_rtt: bool,
}

impl Usual {
    pub fn new(enabled: bool, smallest_rtt: bool) -> Self {
        Usual {
            known: SubflowSet::default(),
            roomy: SubflowSet(u64::MAX),
            enabled,
            smallest_rtt: enabled && smallest_rtt,
        }
    }

    /// Something changed that is no matter of data and acknowledgments.
    #[inline]
    pub fn forget(&mut self) {
        self.known = SubflowSet::default();
        self.roomy = SubflowSet(u64::MAX);
    }

    /// The same of one subflow.
    #[inline]
    pub fn forget_of(&mut self, r: usize) {
        self.known.remove(r);
    }

    /// Whether subflow `r` is known to be usual.
    #[inline]
    pub fn knows(&self, r: usize) -> bool {
        self.known.contains(r)
    }

    /// Subflow `r` is usual.
    #[inline]
    pub fn note(&mut self, r: usize) {
        self.known.insert(r);
    }

    #[inline]
    pub fn enabled(&self) -> bool {
        self.enabled
    }

    /// Whether new data goes where the round trip is shortest, without another question.
    #[inline]
    pub fn takes_smallest_rtt(&self) -> bool {
        self.smallest_rtt
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

    #[inline]
    pub fn roomy(&self) -> SubflowSet {
        self.roomy
    }
}
