//! The receive window: one for the connection, whatever the number of subflows (RFC 8684 §3.3.1).
//!
//! A buffer of a fixed size is announced whole. Otherwise the window is Linux's: what the memory of the buffer still holds, but no
//! more than the `rcv_ssthresh` of the subflow that announces it ([`crate::tcp::rcv_ssthresh`]).

use super::tuning::Tuning;
use crate::ReceiveBuffer;
use crate::memory;
use crate::offset::Offset;
use crate::tcp::rcv_ssthresh::RcvSsthresh;
use crate::time::Instant;

/// Pieces that wait may be smaller than this on average only if they are few.
const LEAST_MEAN_BYTES: u64 = 128;
/// What the window field can say at most (RFC 7323 §2.3): a peer never sends more ahead, however large the buffer.
const LARGEST_BYTES: u64 = 65_535 << 14;
/// So many in any case.
const MORE_PIECES: u64 = 256;

/// The receive buffer of a connection. Places in the stream count from 0.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct ReceiveWindow {
    /// What the peer may have outstanding: all of a fixed buffer; otherwise the largest `rcv_ssthresh`.
    size: u64,
    /// Bytes the application has read.
    read: u64,
    /// When it read last, and how many pieces since the last segment with data.
    read_last: (Instant, u32),
    /// The largest right edge that was announced: it must not move back (RFC 9293 §3.8.6.2.1).
    announced: Offset,
    /// A buffer that grows; of a fixed one nothing of this is used.
    pub tuning: Option<Tuning>,
    /// The scale of the window field that the peer knows.
    told_scale: u8,
    /// Acknowledgments may tell less than the SYN did.
    syn_forgotten: bool,
    /// So many bytes are taken even beyond the end.
    beyond: u16,
}

/// What is held when a window is announced.
#[derive(Clone, Copy, Debug)]
pub struct Unread {
    /// The first byte that has not arrived.
    pub next: Offset,
    /// Pieces that were not read yet.
    pub pieces: usize,
}

/// What a receiver as Linux's asks of what is held.
#[derive(Clone, Copy, Debug, Default)]
pub struct AsLinux {
    /// The acknowledgment may leave when what came is read.
    pub may_wait: bool,
    /// Each segment is acknowledged at once, unless more than half of the buffer is taken: then no more.
    pub has_budget: bool,
    /// Memory that pieces leave free as they are shorter than full segments, and with what was read at this instant.
    pub spared_bytes: (u64, u64),
    /// What later calls of the application have read at this instant than the first, behind which the acknowledgment leaves: pieces, and
    /// the memory that they leave free.
    pub later: (u64, u64),
}

impl AsLinux {
    /// Whether an acknowledgment that would announce `open` bytes of a buffer of which more than half is taken or not (`tight`) leaves
    /// when what came is read: one would be better then than the last.
    fn waits(&self, read: u32, (open, tight): (u64, bool), rcv_ssthresh: &RcvSsthresh, unit: u64) -> bool {
        let may_wait = self.may_wait && (tight || !self.has_budget) && read > 0;
        may_wait && open.next_multiple_of(unit) < rcv_ssthresh.announced.into()
    }
}

impl ReceiveWindow {
    /// `first` is the window that the SYN announces where the buffer grows.
    pub fn new(buffer: ReceiveBuffer, first: u64, tuning: Tuning) -> Self {
        let (size, tuning, announced) = match buffer {
            ReceiveBuffer::Auto => (first, Some(tuning), Offset::after(first)),
            ReceiveBuffer::Fixed(bytes) => (bytes.min(LARGEST_BYTES), None, Offset::FIRST),
        };
        let (read_last, told_scale, syn_forgotten) = ((Instant::ZERO, 0), 0, false);
        let mut window =
            ReceiveWindow { size, tuning, read: 0, read_last, announced, told_scale, syn_forgotten, beyond: 0 };
        window.told_scale = window.scale();
        window
    }

    /// Acknowledgments may tell less than the SYN did: so may Linux's under Multipath TCP, which takes what they told as the
    /// beginning (`rcv_wnd_sent`, `mptcp_set_rwin`).
    pub fn forget_syn(&mut self) {
        (self.announced, self.syn_forgotten) = (Offset::FIRST, true);
    }

    /// A mapping that begins below the end is taken whole: with checksums nothing of it can be read before all of it is there, so
    /// one that passed the end would keep the window shut for good. Linux sends such: it keeps to the larger of the windows that
    /// its subflows know.
    pub fn take_mappings_whole(&mut self) {
        self.beyond = u16::MAX; // the longest mapping (RFC 8684 §3.3)
    }

    /// The scale that was agreed on: ours, or none where the peer has not offered to scale (RFC 7323 §2.2).
    pub fn agree_scale(&mut self, scale: u8) {
        self.told_scale = scale;
    }

    /// The window scale to offer: the least that lets the whole buffer be announced (RFC 7323 §2.3, at most 14).
    pub fn scale(&self) -> u8 {
        let most = if self.tuning.is_some() { memory::MAX_BYTES } else { self.size };
        (0..14).find(|&s| most >> s <= 0xffff).unwrap_or(14)
    }

    /// The connection is established: the first round trip of reading begins.
    pub fn begin(&mut self, now: Instant) {
        if let Some(tuning) = &mut self.tuning {
            tuning.begin(now);
        }
    }

    /// Size of the window now, bytes.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// Bytes the application has read.
    pub fn bytes_read(&self) -> u64 {
        self.read
    }

    /// Data has come.
    #[inline(always)]
    pub fn note_arrival(&mut self) {
        self.read_last.1 = 0;
    }

    /// The next acknowledgment follows the reading of what came: the buffer is empty.
    pub fn follow_reading(&mut self) {
        self.read_last.1 = 0;
        if let Some(tuning) = &mut self.tuning {
            tuning.tell_change();
        }
    }

    /// The `rcv_ssthresh` of a subflow has grown to `size`.
    pub fn grow(&mut self, size: u64) {
        self.size = self.size.max(size);
    }

    /// The end of what the peer may send.
    pub fn right(&self) -> Offset {
        if self.syn_forgotten && self.tuning.is_some() {
            // What it allowed is taken all the same: the size that the window began with, at least.
            self.announced.max(Offset::after(self.size))
        } else if self.tuning.is_some() {
            self.announced
        } else {
            Offset::after(self.read + self.size).max(self.announced)
        }
    }

    /// Whether the `len` bytes from `at` on lie below that end, or so little beyond that a mapping may have brought them.
    #[inline]
    pub fn allows(&self, at: Offset, len: u64) -> bool {
        // What was announced settles it for every peer that keeps to it.
        let end = at.saturating_add(len);
        end <= self.announced || end <= self.right() + u64::from(self.beyond)
    }

    /// Whether a mapping may begin at `from`.
    pub fn allows_mapping(&self, from: Offset) -> bool {
        self.beyond == 0 || from < self.right()
    }

    /// How many pieces may wait behind a hole: as many as fill the window with segments of [`LEAST_MEAN_BYTES`], and some
    /// more. So what is kept about the pieces takes no more than twice the memory of the window.
    #[inline]
    pub fn allows_pieces(&self, pieces: usize) -> bool {
        (pieces as u64) < MORE_PIECES || (pieces as u64) < MORE_PIECES + self.size / LEAST_MEAN_BYTES
    }

    /// The window field of a segment that acknowledges what has come, and remembers it as announced: of a fixed buffer.
    pub fn announce(&mut self, next: Offset, scale: u8) -> u16 {
        self.tell(next, self.right(), scale)
    }

    fn tell(&mut self, next: Offset, right: Offset, scale: u8) -> u16 {
        let field = (right.beyond(next) >> scale).min(0xffff);
        self.announced = self.announced.max(next + (field << scale));
        field as u16
    }

    /// As [`announce`](Self::announce), of a buffer that grows, for a subflow that expects `seq` next; and whether more than half
    /// of the buffer is taken. `LINUX`: the receiver is as Linux's; otherwise nothing of `linux` is asked.
    pub fn announce_growing<const LINUX: bool>(
        &mut self,
        now: Instant,
        held: Unread,
        linux: AsLinux,
        scale: u8,
        seq: u64,
        rcv_ssthresh: &mut RcvSsthresh,
    ) -> (u16, bool) {
        let Some(tuning) = &self.tuning else { return (self.announce(held.next, scale), false) };
        let unit = 1u64 << scale;
        let (mut open, mut tight) = self.open_unread::<LINUX>(now, held, linux.spared_bytes, rcv_ssthresh, unit);
        if LINUX && linux.waits(self.read_at(now), (open, tight), rcv_ssthresh, unit) {
            let unread = held.next.octets().saturating_sub(self.read);
            let held = (held.pieces as u64 + linux.later.0, unread, linux.spared_bytes.0 + linux.later.1);
            (open, tight) = tuning.open_when_read(held, rcv_ssthresh, unit);
        }
        // Rounded up, as Linux does. Under TCP the window does not shrink; under Multipath TCP only its first acknowledgment, which has
        // no DSS, keeps to what the SYN told.
        let open = open.max(rcv_ssthresh.told.saturating_sub(seq));
        let right = held.next + ((open + unit - 1) & !(unit - 1));
        // That one knows nothing of what the other subflows told, where the SYN is forgotten.
        let shared = tuning.shared;
        let alone = shared && rcv_ssthresh.told > 0 && self.syn_forgotten;
        let right = if alone { right } else { self.announced.max(right) };
        let field = self.tell(held.next, right, scale);
        rcv_ssthresh.told = if shared { 0 } else { seq + right.beyond(held.next) };
        if LINUX {
            rcv_ssthresh.announced = right.beyond(held.next).min(u32::MAX.into()) as u32;
        }
        (field, tight)
    }

    /// What an acknowledgment announces of a buffer that grows, which leaves before the application has read what it acknowledges; as
    /// [`Tuning::open`]. `spared`: without what was read at this instant, and with it.
    #[inline(always)]
    fn open_unread<const LINUX: bool>(
        &self,
        now: Instant,
        held: Unread,
        spared: (u64, u64),
        rcv_ssthresh: &RcvSsthresh,
        unit: u64,
    ) -> (u64, bool) {
        let Some(tuning) = &self.tuning else { return (0, false) };
        let read = self.read_at(now);
        let unread = held.next.octets().saturating_sub(self.read);
        let spared = if read > 0 { spared.1 } else { spared.0 };
        let (pieces, spared_bytes) = (held.pieces as u64 + u64::from(read), if LINUX { spared } else { 0 });
        tuning.open(tuning.room_at(now), (pieces, unread, spared_bytes), rcv_ssthresh, unit)
    }

    /// What an acknowledgment of a receiver as Linux's would announce of a buffer that grows, in bytes, and whether it would wait until
    /// what came is read.
    #[cold]
    pub fn would_announce(
        &self,
        now: Instant,
        held: Unread,
        linux: AsLinux,
        rcv_ssthresh: &RcvSsthresh,
        unit: u64,
    ) -> (u64, bool) {
        let open = self.open_unread::<true>(now, held, linux.spared_bytes, rcv_ssthresh, unit);
        (open.0.next_multiple_of(unit), linux.waits(self.read_at(now), open, rcv_ssthresh, unit))
    }

    /// The right edge that was announced, to [go back](Self::have_announced) to.
    pub fn told_edge(&self) -> Offset {
        self.announced
    }

    /// For Linux's Multipath TCP the window of a segment without DATA_ACK is of its subflow only (`mptcp_set_rwin`).
    pub fn have_announced(&mut self, edge: Offset) {
        self.announced = edge;
    }

    /// What was announced beyond `next`, in bytes.
    pub fn announced_beyond(&self, next: Offset) -> u64 {
        self.announced.beyond(next)
    }

    /// Whether a round trip has passed since the size of a buffer that grows was last looked at.
    #[inline]
    pub fn round_is_over(&self, now: Instant) -> bool {
        self.tuning.as_ref().is_some_and(|t| t.round_is_over(now))
    }

    /// The application has read a piece of `len` bytes. Answers whether [`opens`](Self::opens) is to be asked.
    #[inline]
    pub fn read(&mut self, now: Instant, (len, pieces): (u64, u32), next: Offset) -> bool {
        self.read += len;
        self.read_last = (now, if self.read_last.0 == now { self.read_last.1 + pieces } else { pieces });
        self.size >= 2 * self.announced.beyond(next)
    }

    /// The room beside what is held, where the buffer grows.
    pub fn room_beside(&self, held: Unread, spared_bytes: u64) -> Option<u64> {
        let unread = held.next.octets().saturating_sub(self.read);
        let tuning = self.tuning.as_ref()?;
        Some(tuning.free(tuning.room(), held.pieces as u64, unread, spared_bytes))
    }

    /// How many pieces the application has read at this instant.
    #[inline]
    pub fn read_at(&self, now: Instant) -> u32 {
        if self.read_last.0 == now { self.read_last.1 } else { 0 }
    }

    /// Whether an acknowledgment now follows what was read at this instant.
    pub fn follows_reading(&self, now: Instant) -> bool {
        self.read_last == (now, 0)
    }

    /// Whether the peer should be told at once that the window opened: when it at least doubles and by a segment or half the
    /// buffer (RFC 9293 §3.8.6.2.2), as far as the field can tell: an acknowledgment with the same window would be a duplicate.
    pub fn opens(&mut self, held: Unread, spared_bytes: u64, mss: u16) -> bool {
        let known = self.announced.beyond(held.next);
        let room = match self.room_beside(held, spared_bytes) {
            None => self.right().beyond(held.next),
            Some(room) => room.min(self.size),
        };
        let open = (room >> self.told_scale).min(0xffff) << self.told_scale;
        let opened = open > known && open >= 2 * known && open - known >= u64::from(mss).min(self.size / 2).max(1);
        if opened {
            self.follow_reading();
        }
        opened
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fixed() -> ReceiveWindow {
        ReceiveWindow::new(ReceiveBuffer::Fixed(10_000), 0, Tuning::new(1460, true))
    }

    /// Reads 1,000 bytes when all up to `next` has come.
    fn read(w: &mut ReceiveWindow, next: u64) -> bool {
        let next = Offset::after(next);
        w.read(Instant::from_nanos(1), (1_000, 1), next) && w.opens(Unread { next, pieces: 0 }, 0, 1460)
    }

    #[test]
    fn the_right_edge_never_moves_back() {
        let mut w = fixed();
        assert_eq!(w.scale(), 0);
        assert_eq!(w.announce(Offset::after(0), 0), 10_000);
        assert_eq!(w.announce(Offset::after(4_000), 0), 6_000);
        assert!(!read(&mut w, 4_000));
        assert_eq!(w.announce(Offset::after(4_000), 0), 7_000);
    }

    #[test]
    fn a_closed_window_that_opens_is_announced() {
        let mut w = fixed();
        assert_eq!(w.announce(Offset::after(0), 0), 10_000);
        assert_eq!(w.announce(Offset::after(10_000), 0), 0);
        assert!(!read(&mut w, 10_000), "not for less than a segment");
        assert!(read(&mut w, 10_000));
        assert_eq!(w.announce(Offset::after(10_000), 0), 2_000);
    }

    /// Linux 6.12 on the side that answers: its SYN told 65,160 bytes, and its first segment of data 64,088, which are 501 units of
    /// 128.
    #[test]
    fn an_acknowledgment_may_tell_less_than_the_syn_but_what_that_allowed_is_taken() {
        let told = |forget: bool| {
            let mut w = ReceiveWindow::new(ReceiveBuffer::Auto, 65_160, Tuning::new(1448, true));
            if forget {
                w.forget_syn();
            }
            let mut rcv_ssthresh = RcvSsthresh::new(1448, 65_160);
            rcv_ssthresh.told = 0;
            let held = Unread { next: Offset::FIRST, pieces: 0 };
            let (field, _) =
                w.announce_growing::<false>(Instant::from_nanos(1), held, AsLinux::default(), 7, 1, &mut rcv_ssthresh);
            (field, w.allows(Offset::FIRST, 65_160), w.allows(Offset::FIRST, 65_161))
        };
        assert_eq!(told(true), (501, true, false));
        assert_eq!(told(false), (509, true, false));
    }

    /// Linux 6.12 on the side that opens: the last of an MP_JOIN's handshake tells 64,256 bytes, when 79,488 are allowed.
    #[test]
    fn an_acknowledgment_without_dss_tells_of_its_subflow_only() {
        let told = |forget: bool| {
            let mut w = ReceiveWindow::new(ReceiveBuffer::Auto, 64_240, Tuning::new(1448, true));
            if forget {
                w.forget_syn();
            }
            w.announced = Offset::after(79_488);
            let mut rcv_ssthresh = RcvSsthresh::new(1448, 64_240);
            let held = Unread { next: Offset::FIRST, pieces: 0 };
            let (first, _) =
                w.announce_growing::<false>(Instant::from_nanos(1), held, AsLinux::default(), 7, 1, &mut rcv_ssthresh);
            (
                first,
                w.announce_growing::<false>(Instant::from_nanos(1), held, AsLinux::default(), 7, 1, &mut rcv_ssthresh)
                    .0,
            )
        };
        assert_eq!((told(true), told(false)), ((502, 621), (621, 621)));
    }

    /// 65,535 · 2¹⁴ bytes are the most that a peer can be told: a larger buffer is as good as one of this size.
    #[test]
    fn a_buffer_beyond_what_can_be_announced_is_no_larger() {
        for bytes in [1 << 30, 1 << 40, u64::MAX] {
            let mut w = ReceiveWindow::new(ReceiveBuffer::Fixed(bytes), 0, Tuning::new(1460, true));
            assert_eq!((w.size(), w.scale()), (65_535 << 14, 14));
            assert_eq!(w.announce(Offset::after(0), 14), 65_535);
        }
    }

    /// Linux 6.12: the buffer holds 65,536 bytes and the last acknowledgment told all of them. The second of two segments has come
    /// and is not read yet: 2,304 of 131,072 bytes are taken, so 64,384 bytes could be announced.
    #[test]
    fn the_second_segments_acknowledgment_waits_for_its_reading_where_the_window_would_shrink() {
        let told = |may_wait: bool, announced: u32| {
            let mut w = ReceiveWindow::new(ReceiveBuffer::Auto, 64_240, Tuning::new(1448, true));
            w.read(Instant::from_nanos(1), (1_424, 1), Offset::after(1_424));
            let mut rcv_ssthresh = RcvSsthresh::new(1448, 0);
            (rcv_ssthresh.bytes, rcv_ssthresh.announced) = (1 << 20, announced);
            let held = Unread { next: Offset::after(1_424), pieces: 0 };
            let linux = AsLinux { may_wait, ..AsLinux::default() };
            let (field, _) = w.announce_growing::<true>(Instant::from_nanos(1), held, linux, 7, 1, &mut rcv_ssthresh);
            (field, rcv_ssthresh.announced, w.room_beside(held, 0))
        };
        assert_eq!(told(true, 65_536), (512, 65_536, Some(65_536)));
        assert_eq!(told(true, 64_384), (503, 64_384, Some(65_536)), "no smaller than the last: it leaves at once");
        assert_eq!(told(false, 65_536), (503, 64_384, Some(65_536)), "and so does one that has another reason");
    }
}
