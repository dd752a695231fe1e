//! The memory of what a Multipath TCP connection holds, counted segment by segment as Linux does where a scenario asks for its
//! receiver: short segments take less. Otherwise each counts as a full one.
//!
//! Linux 6.12, `net/mptcp/protocol.c`: `__mptcp_move_skb`, `mptcp_try_coalesce`, `mptcp_cleanup_rbuf`.

use super::tuning::full_bytes;
use crate::Kernel;
use crate::memory;
use crate::offset::Offset;

/// What an application reads at once.
const CALL_BYTES: u64 = 256 << 10;

/// What is held takes as many full segments as there are pieces, less this.
#[derive(Clone, Debug)]
pub struct HeldMemory {
    mss: u16,
    kernel: Kernel,
    /// Memory that short segments which wait behind a hole leave free, and those that were read at this instant.
    waiting: u64,
    read: u64,
    /// By subflow: the end of what was kept last, and what is left behind it in its buffer.
    kept: Vec<(Offset, u64)>,
    /// Segments that wait in the rest of the buffer before them.
    joined: Vec<Offset>,
    /// What is left behind what was read last, likewise.
    read_tail: u64,
    /// What the present call has read, in bytes.
    call: u64,
    /// Segments that were read at this instant, and the memory that the last one leaves free.
    segments: u64,
    last: u64,
    /// Of these and of `read` what the first call read, if it was not the only one.
    first_call: Option<(u64, u64)>,
    /// The same of all up to the call behind which subflows tell that the window has opened.
    opened: Option<(u64, u64)>,
    /// The window that the last acknowledgment announced, on whichever subflow (`old_wspace`).
    pub told: u64,
}

impl HeldMemory {
    pub fn new(mss: u16, told: u64, kernel: Kernel) -> Self {
        HeldMemory {
            mss,
            kernel,
            waiting: 0,
            read: 0,
            kept: Vec::new(),
            joined: Vec::new(),
            read_tail: 0,
            call: 0,
            segments: 0,
            last: 0,
            first_call: None,
            opened: None,
            told,
        }
    }

    /// A segment of `len` bytes at `at`, which subflow `via` brings, waits behind a hole. A short one finds its place in the rest of the
    /// buffer before it (`skb_try_coalesce`), which mostly came on its own subflow; what comes `in_order` leaves that alone.
    pub fn keep(&mut self, at: Offset, len: u64, via: usize, in_order: bool) {
        if in_order {
            self.waiting += self.spared(len);
            return;
        }
        if self.kept.len() <= via {
            self.kept.resize(via + 1, (Offset::FIRST, 0));
        }
        let (end, tail) = self.kept[via];
        let joins = at == end && len <= tail;
        self.waiting += self.spared_as(len, joins);
        self.kept[via] = (at + len, if joins { tail - len } else { memory::tail_of_packet(self.kernel, len) });
        if joins {
            self.joined.push(at);
        }
    }

    /// One that waited is in order.
    pub fn release(&mut self, at: Offset, len: u64) {
        let joined = self.joined.iter().position(|&joined| joined == at);
        self.waiting = self.waiting.saturating_sub(self.spared_as(len, joined.is_some()));
        if let Some(place) = joined {
            self.joined.swap_remove(place);
        }
    }

    /// Nothing waits.
    pub fn release_all(&mut self) {
        self.waiting = 0;
        self.joined.clear();
    }

    /// The application has read `len` bytes at once; `first`: at this instant. Short ones were in the rest of the buffer before them
    /// (`mptcp_try_coalesce`). Answers how many segments they count as.
    pub fn note_read(&mut self, len: u64, first: bool) -> u32 {
        let joins = !first && len <= self.read_tail;
        self.call = len + if first { 0 } else { self.call };
        let last = len.min(self.mss.into());
        self.read_tail = if joins { self.read_tail - len } else { memory::tail_of_packet(self.kernel, last) };
        if first {
            (self.read, self.segments, self.first_call, self.opened) = (0, 0, None, None);
        }
        let segments = len.div_ceil(self.mss.into()).max(1);
        self.last = self.spared_as(len, joins);
        self.read += self.last;
        self.segments += segments;
        segments as u32
    }

    /// Whether the call goes on, as there is `more`. The rest of a segment that it has no room for belongs to the next.
    pub fn reads_on(&mut self, more: bool) -> bool {
        let goes_on = more && self.call < CALL_BYTES;
        if !goes_on {
            if more && self.first_call.is_none() {
                self.first_call = Some(self.read_to_end(self.call > CALL_BYTES));
            }
            self.call = self.call.saturating_sub(CALL_BYTES);
        }
        goes_on
    }

    /// What was read, of which the last segment is held until it is read to its end.
    fn read_to_end(&self, is_cut: bool) -> (u64, u64) {
        let (segments, bytes) = if is_cut { (1, self.last) } else { (0, 0) };
        (self.segments - segments, self.read - bytes)
    }

    /// Behind the call that is over subflows tell that the window has opened, whatever the next ones read at this instant.
    pub fn note_opened(&mut self) {
        let up_to = self.read_to_end(self.call > 0);
        self.opened.get_or_insert(up_to);
    }

    /// As [`later`](Self::later), of calls behind that one.
    pub fn later_than_opened(&self) -> (u64, u64) {
        self.opened.map_or((0, 0), |(segments, bytes)| (self.segments - segments, self.read - bytes))
    }

    /// Segments that later calls than the first have read at this instant, and the memory that these leave free.
    pub fn later(&self) -> (u64, u64) {
        self.first_call.map_or((0, 0), |(segments, bytes)| (self.segments - segments, self.read - bytes))
    }

    /// What the next call has read already, when a call is over.
    pub fn read_ahead(&self) -> u64 {
        self.call
    }

    /// Memory that what waits leaves free, and with it what was read at this instant.
    pub fn spared_bytes(&self) -> (u64, u64) {
        (self.waiting, self.waiting + self.read)
    }

    fn spared_as(&self, len: u64, joined: bool) -> u64 {
        if joined { self.whole() } else { self.spared(len) }
    }

    fn whole(&self) -> u64 {
        memory::of_packet(self.kernel, full_bytes(self.mss))
    }

    fn spared(&self, len: u64) -> u64 {
        self.whole().saturating_sub(memory::of_packet(self.kernel, len))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A full segment takes 2,304 bytes, one of 304 bytes 1,280, and one of 21 bytes 960.
    #[test]
    fn short_segments_take_less_memory() {
        let mut held = HeldMemory::new(1448, 0, Kernel::V6_12);
        let keep = |held: &mut HeldMemory, at, len| held.keep(Offset::after(at), len, 1, false);
        keep(&mut held, 1_424, 1_424);
        keep(&mut held, 4_000, 304);
        assert_eq!(held.spared_bytes(), (1_024, 1_024));
        // 144 bytes find place in the 164 behind a full segment, whatever comes in order meanwhile; 21 more do not.
        keep(&mut held, 10_000, 1_424);
        held.keep(Offset::FIRST, 1_424, 1, true);
        held.keep(Offset::after(20_000), 1_424, 0, false);
        keep(&mut held, 11_424, 144);
        keep(&mut held, 11_568, 21);
        assert_eq!(held.spared_bytes().0, 1_024 + 2_304 + 1_344);
        held.release(Offset::after(4_000), 304);
        assert_eq!(held.spared_bytes().0, 2_304 + 1_344);
        held.release(Offset::after(11_424), 144);
        assert_eq!(held.spared_bytes().0, 1_344);
        held.release_all();
        // What was read at this instant counts as the segments that it came in.
        assert_eq!((held.note_read(2_848, true), held.note_read(304, false)), (2, 1));
        assert_eq!(held.spared_bytes(), (0, 1_024));
        assert_eq!((held.note_read(1_424, true), held.spared_bytes()), (1, (0, 0)));
        // 100 bytes were in the 164 behind it; 65 more were not.
        assert_eq!((held.note_read(100, false), held.spared_bytes()), (1, (0, 2_304)));
        assert_eq!((held.note_read(65, false), held.spared_bytes()), (1, (0, 2_304 + 1_344)));
    }

    /// A call takes 262,144 bytes: of the segment in which it ends, here of 2,144, the rest is the next call's.
    #[test]
    fn a_call_ends_within_a_segment() {
        let mut held = HeldMemory::new(1448, 0, Kernel::V6_12);
        held.note_read(261_000, true);
        assert!(held.reads_on(true));
        held.note_read(2_144, false);
        assert_eq!((held.reads_on(true), held.read_ahead()), (false, 1_000));
        held.note_read(1_448, false);
        assert_eq!((held.reads_on(true), held.read_ahead()), (true, 2_448));
        // When there is no more the call is over too, and one at another instant begins anew.
        assert_eq!((held.reads_on(false), held.read_ahead()), (false, 0));
        held.note_read(262_145, true);
        assert_eq!((held.reads_on(false), held.read_ahead()), (false, 1));
        held.note_read(1_448, true);
        assert_eq!((held.reads_on(true), held.read_ahead()), (true, 1_448));
    }
}
