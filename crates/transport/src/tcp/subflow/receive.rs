//! A segment arrives: is it acceptable, what does it say of the window and the round trip, where does its data belong
//! (RFC 9293 §3.10.7.4, RFC 7323, RFC 2018).

use wire::{Compact, Flags, SackBlock, SackBlocks, Segment, Timestamps};

use super::close::TIME_WAIT;
use super::{State, Subflow};
use crate::numbers::SeqNumber;
use crate::offset::Offset;
use crate::queue::Sendable;
use crate::reassembly::{Part, Piece};
use crate::tcp::rcv_ssthresh::RcvSsthresh;
use crate::time::{Duration, Instant};

/// What is to become of a segment that arrives on a synchronised connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// It lies in the window and acknowledges nothing that was never sent: its first octet, and up to where it acknowledges.
    Process { seq: u64, ack: u64 },
    /// It is dropped, and an acknowledgment says what is expected.
    Acknowledge,
    /// It is dropped, and a challenge ACK asks the peer whether it meant it (RFC 5961).
    Challenge,
    /// It is a reset, of exactly this connection.
    Reset,
    /// It is dropped.
    Drop,
}

/// What became of data while a hole is open.
#[derive(Debug)]
pub enum AtHole<P> {
    /// It lies behind the hole.
    Behind,
    /// The first hole is filled, and what fills it is the first of what is held.
    Filled,
    /// It is the next data, and was not held.
    Next(Piece<P>),
}

impl<P: Sendable> Subflow<P> {
    /// A data segment came.
    #[inline(always)]
    pub fn count_data_segment(&mut self) {
        self.received.data_segments += 1;
    }

    /// It brought so many bytes that are new to the stream.
    #[inline(always)]
    pub fn count_new_bytes(&mut self, bytes: u64) {
        self.received.new_bytes += bytes;
    }

    /// Bytes that it brought had waited, for its own data or that of others.
    pub fn count_waited(&mut self, own: bool, byte_ns: u128) {
        let account = self.waited.get_or_insert_default();
        *if own { &mut account.for_own_byte_ns } else { &mut account.for_others_byte_ns } += byte_ns;
    }

    /// Everything up to there was received.
    pub fn receive_to(&mut self, end: u64) {
        self.rcv_nxt = end;
    }

    /// Pieces wait for what is missing before them.
    #[inline(always)]
    pub fn has_pieces(&self) -> bool {
        !self.reorder.is_empty()
    }

    /// How many.
    #[inline(always)]
    pub fn pieces(&self) -> usize {
        self.reorder.len()
    }

    /// The memory of what waits behind a hole, as a receiver like Linux's counts it.
    pub fn waiting_memory(&self) -> Option<u64> {
        self.reorder.memory()
    }

    /// The piece that is next in order, if it is there.
    #[inline]
    pub fn next_piece(&mut self) -> Option<Piece<P>> {
        self.reorder.pop(self.rcv_nxt)
    }

    /// Which of the blocks that a receiver as Linux's reports, from 0 on, what lies between these numbers would join; their number if
    /// none.
    pub fn block_at(&mut self, from: u64, to: u64) -> usize {
        self.reorder.block_at(self.rcv_nxt, from, to)
    }

    /// It reports what lies between these numbers; `new`: the place in the stream of what it holds of that and did not before.
    pub fn keep_block(&mut self, numbers: (u64, u64), new: Option<Offset>) {
        self.reorder.keep(self.rcv_nxt, numbers, new.map(|offset| (offset, self.rcv_ssthresh.kernel)));
    }

    /// Whether all between these numbers waits behind a hole.
    pub fn holds(&self, from: u64, to: u64) -> bool {
        self.reorder.holds(from, to)
    }

    /// The window grows with a segment of `len` bytes, which came with so many waiting, when the next one comes.
    pub fn put_off_growth(&mut self, len: usize, behind: usize) {
        self.reorder.put_off_growth(len, behind);
    }

    /// With which segment the window is still to grow.
    pub fn take_growth(&mut self) -> Option<(usize, usize)> {
        self.reorder.take_growth()
    }

    /// An acknowledgment reports only what came twice last (RFC 2883 §4, 1; `tcp_data_queue`).
    pub fn forget_duplicate(&mut self) {
        self.reorder.take_duplicate();
    }

    /// The next acknowledgment reports that this came twice (RFC 2883 §4).
    pub fn note_duplicate(&mut self, (from, to): (u64, u64)) {
        self.reorder.note_duplicate(from, to);
    }

    /// The next acknowledgments report the blocks that there are.
    pub fn freeze_blocks(&mut self) {
        self.reorder.freeze(self.rcv_nxt);
    }

    /// How many acknowledgments have told of the first hole, this one too.
    pub fn tell_hole(&mut self) -> u8 {
        self.reorder.tell(self.rcv_nxt)
    }

    /// Data came in order: whether an acknowledgment is due now, and when at the latest.
    #[inline(always)]
    pub fn owe_for_data(&mut self, now: Instant, len: u64) -> (bool, Instant) {
        self.ack.data_in_order(now, len, self.rcv_ssthresh.longest);
        (self.ack.now, self.ack.deadline)
    }

    /// Acknowledgments are delayed as Linux's are, whose round trip is known.
    pub fn delay_as_linux(&mut self) {
        self.ack.delay_as_linux(self.rtt.srtt, self.rtt.base_rto());
    }

    /// Data fills a hole, for Linux.
    pub fn note_hole_filled(&mut self, now: Instant) {
        self.ack.hole_filled(now);
    }

    /// The same of data at a hole, whose acknowledgment may wait for so long.
    pub fn owe_at_hole(&mut self, now: Instant, wait: Duration) -> (bool, Instant) {
        self.ack.data_at_hole(now, wait);
        (self.ack.now, self.ack.deadline)
    }

    /// A segment goes out that acknowledges all that came.
    #[inline(always)]
    pub fn note_acknowledged(&mut self) {
        self.ack.sent();
    }

    /// An acknowledgment is due now.
    #[inline(always)]
    pub fn acknowledge_now(&mut self) {
        self.ack.now = true;
    }

    /// The application has read everything. Answers whether an acknowledgment is due now.
    pub fn acknowledge_read(&mut self, now: Instant) -> bool {
        self.ack.read_all(now)
    }

    /// One is due as the application has read so much.
    pub fn acknowledge_opened(&mut self, now: Instant) {
        self.ack.due_by_reading(now);
    }

    /// What came last came with PSH.
    pub fn note_push(&mut self) {
        self.ack.pushed = true;
    }

    /// No more quick acknowledgments.
    pub fn spend_budget(&mut self) {
        self.ack.spend_budget();
    }

    /// The window that may be announced first.
    pub fn begin_window(&mut self, window: RcvSsthresh) {
        self.rcv_ssthresh = window;
    }

    /// A segment came in order: whether the window grows with it.
    pub fn grow_window(&mut self, len: u64, mss: u16) -> bool {
        let behind = self.reorder.memory().ok_or(self.reorder.len());
        let grew = self.rcv_ssthresh.arrived(len, behind, mss);
        self.note_growth(grew)
    }

    /// A segment came behind a hole, beside so many others: whether the window grows with it.
    pub fn grow_window_behind_hole(&mut self, len: u64, behind: usize, mss: u16) -> bool {
        let grew = self.rcv_ssthresh.arrived_behind_hole(len, self.reorder.memory().ok_or(behind), mss);
        self.note_growth(grew)
    }

    fn note_growth(&mut self, grew: bool) -> bool {
        if grew {
            self.ack.window_grew();
        }
        grew
    }

    /// The receive buffer has so much memory, for so much data.
    pub fn follow_buffer(&mut self, memory: u64, data: u64) {
        self.rcv_ssthresh.follow(memory, data);
        if self.state == State::SynSent && self.rcv_ssthresh.counts_short {
            self.rcv_ssthresh.keep_none_in_reserve();
        }
    }

    /// The next octet expected, and the window that is announced from there on.
    #[inline(always)]
    pub fn announced_window(&mut self) -> (u64, &mut RcvSsthresh) {
        (self.rcv_nxt, &mut self.rcv_ssthresh)
    }

    /// What is left of the window that was told last (`tcp_receive_window`), of a receiver as Linux's.
    pub fn window_left(&self) -> u64 {
        u64::from(self.rcv_ssthresh.announced).saturating_sub(self.ack.pending_bytes())
    }

    /// The window field as long as nothing comes from the peer, once it was computed.
    #[inline(always)]
    pub fn unmoved_window(&self) -> Option<u16> {
        self.unmoved_window
    }

    /// It stays the same as long as nothing comes; none: it may change.
    #[inline(always)]
    pub fn keep_window(&mut self, window: Option<u16>) {
        self.unmoved_window = window;
    }

    /// What was told of the window.
    pub fn told_window(&self) -> (RcvSsthresh, Option<u16>) {
        (self.rcv_ssthresh, self.unmoved_window)
    }

    /// Nothing else was told.
    pub fn have_told(&mut self, (window, unmoved): (RcvSsthresh, Option<u16>)) {
        (self.rcv_ssthresh, self.unmoved_window) = (window, unmoved);
    }

    /// The peer's window of this subflow ends there.
    pub fn set_window_edge(&mut self, right: u64) {
        self.right = right;
    }

    /// Packets are marked where queues are long, by agreement.
    #[inline(always)]
    pub fn has_ecn(&self) -> bool {
        self.ecn.enabled
    }

    /// The packet that is about to be received was marked.
    pub fn congestion_experienced(&mut self) {
        self.ecn.congestion_experienced();
    }

    /// Data came, marked or not: whether that is to be acknowledged at once.
    pub fn note_ecn_of_data(&mut self) -> bool {
        self.ecn.data_arrived(self.rcv_nxt, self.ack.is_pending())
    }

    /// Whether the peer tells of a mark that calls for less.
    pub fn is_marked(&mut self, flags: Flags) -> bool {
        self.ecn.arrived(flags, self.snd_una, self.snd_nxt)
    }

    /// The flags of a segment that goes out.
    #[inline]
    pub fn ecn_flags(&mut self, new_data: bool) -> Flags {
        self.ecn.flags(new_data)
    }

    /// What is to be acknowledged before a packet with another mark, and the flags for it.
    pub fn take_ecn_before(&mut self) -> Option<(u64, Flags)> {
        self.ecn.take_before()
    }

    /// The place of the octet with this sequence number of the peer.
    #[inline]
    pub fn their_seq(&self, seq: u32) -> u64 {
        SeqNumber::sent(seq).place(self.their_number(0), self.rcv_nxt)
    }

    /// The place of an acknowledgment, or of a SACK edge, of ours.
    #[inline]
    pub fn our_seq(&self, ack: u32) -> u64 {
        SeqNumber::acknowledged(ack).place(self.our_number(0), self.snd_una)
    }

    /// First to fifth of RFC 9293 §3.10.7.4: sequence number, RST, SYN and ACK, with `open` octets of room.
    pub fn judge(&mut self, now: Instant, segment: &Segment<P>, open: u64) -> Verdict {
        let seq = self.their_seq(segment.seq);
        let len = segment.payload.len() as u64 + u64::from(segment.flags.fin()) + u64::from(segment.flags.syn());
        // First: is it in the window (§3.4)? Numbers far below 0 have wrapped to huge ones.
        let limit = self.rcv_nxt + open;
        // An empty segment at the very edge is one too: when both directions have filled their windows, all ACKs stand
        // there, and refusing them would be a deadlock (§3.10.7.4's allowance for a window of zero). So is a FIN that closes
        // the stream there: it needs no room. A reset is not held against the timestamps (RFC 7323 §5.3 R1).
        let fin_only = segment.payload.is_empty() && segment.flags.fin();
        let edge = limit + u64::from(fin_only);
        let acceptable =
            if len == 0 { self.rcv_nxt <= seq && seq <= limit } else { seq < edge && seq + len > self.rcv_nxt };
        if !acceptable || !(segment.flags.rst() || self.is_recent(segment.options.timestamps)) {
            return self.refuse(now, seq, segment, len);
        }
        // Second and fourth: RST and SYN, with the challenge ACK of RFC 5961 §3.2, §4.2; also with MP_FASTCLOSE, as Linux does.
        if segment.flags.rst() {
            return if seq == self.rcv_nxt { Verdict::Reset } else { Verdict::Challenge };
        }
        if segment.flags.syn() {
            return Verdict::Challenge;
        }
        // Fifth: the ACK field.
        if !segment.flags.ack() {
            return Verdict::Drop;
        }
        let ack = self.our_seq(segment.ack);
        if ack > self.snd_nxt {
            return Verdict::Challenge;
        }
        // Not before: else one forged segment would make PAWS drop all that follow.
        self.keep_timestamp(seq, segment.options.timestamps);
        Verdict::Process { seq, ack }
    }

    /// A segment that is not acceptable. Data, and a probe from just below the window, are answered. Other empty segments are
    /// only now and then: two ends that disagree would answer each other for ever (RFC 5961 §7 limits such ACKs for the same
    /// reason).
    #[cold]
    fn refuse(&mut self, now: Instant, seq: u64, segment: &Segment<P>, len: u64) -> Verdict {
        if segment.flags.rst() {
            return Verdict::Drop;
        }
        if len == 0 && seq.wrapping_add(1) != self.rcv_nxt {
            return Verdict::Challenge;
        }
        let data = segment.payload.len() as u64;
        if data > 0 && seq < self.rcv_nxt && seq + data <= self.rcv_nxt {
            self.reorder.note_duplicate(seq, seq + data);
            self.ack.duplicate_came(seq + data == self.rcv_nxt);
        }
        if self.state == State::TimeWait && segment.flags.fin() {
            // Our last ACK was lost, and the time begins anew (RFC 9293 §3.10.7.4, eighth).
            self.timer = now + TIME_WAIT;
        }
        Verdict::Acknowledge
    }

    /// As [`judge`](Self::judge), for data or an acknowledgment that lies at or beyond what is expected and acknowledges what
    /// was sent: its first octet, how far that lies ahead of the first one missing, and up to where it acknowledges. None: it is
    /// something else.
    #[inline(always)]
    pub fn judge_plain(&self, segment: &Compact<P>) -> Option<(u64, u64, u64)> {
        let ahead = SeqNumber::sent(segment.seq).distance_from(self.their_number(self.rcv_nxt));
        let acked = SeqNumber::acknowledged(segment.ack).distance_from(self.our_number(self.snd_una));
        if !segment.flags.is_plain() || (ahead | acked) < 0 {
            return None;
        }
        let (ahead, acked) = (u64::from(ahead as u32), u64::from(acked as u32));
        let (seq, ack) = (self.rcv_nxt + ahead, self.snd_una + acked);
        if ack > self.snd_nxt || !self.is_recent(segment.timestamps()) { None } else { Some((seq, ahead, ack)) }
    }

    /// Whether the window of a segment counts, which it then does. It is taken from no segment that is older than the last: not
    /// from further back, nor of an acknowledgment that was overtaken (RFC 9293 §3.10.7.4, SND.WL1; SND.WL2 is never above
    /// SND.UNA).
    #[inline(always)]
    pub fn is_window_fresh(&mut self, seq: u64, ack: u64) -> bool {
        let fresh = seq >= self.snd_wl1 && ack >= self.snd_una;
        if fresh {
            self.snd_wl1 = seq;
        }
        fresh
    }

    /// Whether the window of a segment is news for a sender as Linux's whatever it says: it acknowledges something, or lies further on
    /// than the last whose window counted (`tcp_may_update_window`).
    #[inline(always)]
    pub fn renews_window(&self, seq: u64, ack: u64) -> bool {
        ack > self.snd_una || seq > self.snd_wl1
    }

    /// The peer has acknowledged up to `ack` and has room for `window` bytes from there on. An acknowledgment that was
    /// overtaken is known by nothing, so that the edge never moves back.
    #[inline(always)]
    pub fn hear_window(&mut self, ack: u64, window: u64) {
        self.right = self.right.max(ack + window);
    }

    /// RFC 7323 §5.3 R1: whether the segment is not older than what was seen (PAWS).
    #[inline]
    pub fn is_recent(&self, timestamps: Option<Timestamps>) -> bool {
        timestamps.is_none_or(|t| !self.timestamps || (t.value.wrapping_sub(self.ts_recent) as i32) >= 0)
    }

    /// §5.3 R3: keeps the timestamp of a segment that is taken, to echo it.
    #[inline]
    pub fn keep_timestamp(&mut self, seq: u64, timestamps: Option<Timestamps>) {
        if let (true, Some(t)) = (self.timestamps && seq <= self.rcv_nxt, timestamps) {
            self.ts_recent = t.value;
        }
    }

    /// Learns the round trip from the timestamp that a segment with `len` octets of data echoes, in milliseconds: all that a
    /// pure receiver knows of it (RFC 7323 §4). As Linux does (`tcp_rcv_rtt_measure_ts`, `tcp_rcv_rtt_update`): the first
    /// segment with an echo tells, if it is a full-sized one; others have waited for it at the sender. A shorter round trip
    /// holds at once, of a longer one an eighth counts. One that the clock does not show counts as a millisecond, where Linux
    /// has only what filling the window took (`tcp_rcv_rtt_measure`). Answers whether it was shorter.
    #[inline]
    pub fn take_echo(&mut self, timestamps: Option<Timestamps>, len: u64, now: Instant) -> bool {
        let Some(t) = timestamps.filter(|t| self.timestamps && t.echo != self.last_echo) else { return false };
        self.last_echo = t.echo;
        len >= u64::from(self.rcv_ssthresh.longest) && self.learn_receive_rtt(Self::ts_now(now).wrapping_sub(t.echo))
    }

    /// The fourth ACK of an MP_JOIN echoes what the first data will echo again, and Linux takes a round trip from no echo twice: of what waited
    /// for the scheduler nothing is learned.
    pub fn pass_echo(&mut self, timestamps: Option<Timestamps>) {
        self.last_echo = timestamps.filter(|_| self.timestamps).map_or(self.last_echo, |t| t.echo);
    }

    /// As [`take_echo`](Self::take_echo), from every segment: of a subflow of Multipath TCP.
    #[inline]
    pub fn take_each_echo(&mut self, timestamps: Option<Timestamps>, now: Instant) {
        if let Some(t) = timestamps.filter(|t| self.timestamps && t.echo != 0) {
            self.learn_receive_rtt(Self::ts_now(now).wrapping_sub(t.echo));
        }
    }

    fn learn_receive_rtt(&mut self, ms: u32) -> bool {
        if ms >= 1 << 19 {
            return false;
        }
        let (sample, old) = (1_000 * ms.max(1), self.receive_rtt);
        let shorter = old == 0 || 8 * sample < old;
        self.receive_rtt = if shorter { 8 * sample } else { old - (old >> 3) + sample };
        shorter
    }

    /// The round trip as the receiver of data knows it, in whole microseconds; 0: not known.
    pub fn receive_rtt(&self) -> Duration {
        Duration::from_micros((self.receive_rtt >> 3).into())
    }

    /// Data of so many octets came while a hole is open, or opens one. `room`: more pieces may be held.
    #[inline]
    pub fn take_at_hole(&mut self, piece: Piece<P>, room: bool) -> AtHole<P> {
        let next = self.rcv_nxt;
        if piece.at > next {
            // One that finds no place is as if it had been lost.
            if room {
                self.reorder.insert(next, piece);
            }
            AtHole::Behind
        } else if self.reorder.passes(next, piece.len()) {
            AtHole::Next(piece)
        } else {
            self.reorder.insert_first(next, piece);
            AtHole::Filled
        }
    }

    /// Whether there is anything to report in SACK blocks.
    #[inline(always)]
    pub fn has_blocks(&self) -> bool {
        self.sack && (self.has_usual_blocks() || self.fins.theirs().is_some())
    }

    /// As [`has_blocks`](Self::has_blocks), where SACK is in use and no FIN has come.
    #[inline(always)]
    pub fn has_usual_blocks(&self) -> bool {
        self.reorder.has_blocks()
    }

    /// SACK blocks for a segment with `room` bytes of option space left: a duplicate first (RFC 2883 §4), then what
    /// arrived out of order. `blocks` is empty before.
    #[inline]
    pub fn sack_blocks(&mut self, room: usize, blocks: &mut SackBlocks) {
        let fitting = SackBlocks::fitting(room);
        if !self.sack || fitting == 0 {
            return;
        }
        let irs = self.their_number(0);
        let wire = |place: u64| irs.plus(place).on_wire();
        if let Some((left, right)) = self.reorder.take_duplicate() {
            blocks.push(SackBlock { left: wire(left), right: wire(right) });
        }
        // A FIN takes a sequence number and is reported like data.
        let mut fin = self.fins.theirs();
        self.reorder.report(self.rcv_nxt, fitting - blocks.len(), |(left, right)| {
            let joined = fin.take_if(|fin| *fin == right);
            blocks.push(SackBlock { left: wire(left), right: wire(right + u64::from(joined.is_some())) });
        });
        if let Some(fin) = fin
            && blocks.len() < fitting
        {
            blocks.push(SackBlock { left: wire(fin), right: wire(fin + 1) });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::established;
    use super::*;
    use crate::TcpOptions;
    use crate::offset::Offset;
    use wire::{Flags, Span};

    const NOW: Instant = Instant::from_millis(7);

    fn end() -> Subflow<Span> {
        let mut end = established(&TcpOptions { timestamps: false, ..TcpOptions::default() });
        end.snd_nxt = 201;
        end
    }

    /// A segment of `len` octets; 5,001 is expected next, and 1,001 to 1,201 may be acknowledged.
    fn segment(seq: u32, ack: u32, len: u32, flags: Flags) -> Segment<Span> {
        Segment { seq, ack, flags, payload: Span { offset: 0, len }, ..Segment::default() }
    }

    #[test]
    fn what_is_not_acceptable_is_answered_or_dropped() {
        let judge = |seq, ack, len, flags| end().judge(NOW, &segment(seq, ack, len, flags), 1_000);
        let process = |seq, ack| Verdict::Process { seq, ack };
        assert_eq!(judge(5_001, 1_101, 100, Flags::ACK), process(1, 101));
        assert_eq!(judge(5_501, 1_001, 1_000, Flags::ACK), process(501, 1), "a part lies in the window");
        assert_eq!(judge(6_001, 1_001, 0, Flags::ACK), process(1_001, 1), "an empty one at its edge");
        assert_eq!(judge(6_001, 1_001, 0, Flags::ACK | Flags::FIN), process(1_001, 1), "a FIN needs no room");
        assert_eq!(judge(6_001, 1_001, 1, Flags::ACK), Verdict::Acknowledge, "data beyond the window");
        assert_eq!(judge(4_901, 1_001, 100, Flags::ACK), Verdict::Acknowledge, "data from before");
        assert_eq!(judge(5_000, 1_001, 0, Flags::ACK), Verdict::Acknowledge, "a probe from just below the window");
        assert_eq!(judge(4_000, 1_001, 0, Flags::ACK), Verdict::Challenge);
        assert_eq!(judge(5_001, 1_202, 0, Flags::ACK), Verdict::Challenge, "it acknowledges what was never sent");
        assert_eq!(judge(5_001, 1_001, 0, Flags::SYN), Verdict::Challenge);
        assert_eq!(judge(5_001, 0, 0, Flags::RST), Verdict::Reset);
        assert_eq!(judge(5_002, 0, 0, Flags::RST), Verdict::Challenge, "RFC 5961 §3.2");
        assert_eq!(judge(4_000, 0, 0, Flags::RST), Verdict::Drop);
        assert_eq!(judge(5_001, 1_001, 10, Flags::PSH), Verdict::Drop, "without an ACK");
    }

    #[test]
    fn data_that_comes_twice_is_reported_and_a_fin_in_time_wait_begins_it_anew() {
        let mut end = end();
        end.rcv_nxt = 301;
        assert_eq!(end.judge(NOW, &segment(5_101, 1_001, 100, Flags::ACK), 1_000), Verdict::Acknowledge);
        assert!(end.has_usual_blocks());
        let mut blocks = SackBlocks::default();
        end.sack_blocks(40, &mut blocks);
        assert_eq!(blocks.as_slice(), [SackBlock { left: 5_101, right: 5_201 }]);
        (end.state, end.timer) = (State::TimeWait, NOW);
        assert_eq!(end.judge(NOW, &segment(5_300, 1_001, 0, Flags::ACK | Flags::FIN), 1_000), Verdict::Acknowledge);
        assert_eq!(end.timer, NOW + TIME_WAIT);
    }

    #[test]
    fn a_plain_segment_is_judged_as_any_other() {
        let mut end = end();
        end.snd_una = 101;
        let plain = |seq, ack, flags| {
            let compact = Compact { seq, ack, flags, payload: Span { offset: 0, len: 10 }, ..Compact::default() };
            end.judge_plain(&compact)
        };
        assert_eq!(plain(5_001, 1_201, Flags::ACK), Some((1, 0, 201)));
        assert_eq!(plain(5_011, 1_101, Flags::ACK | Flags::PSH), Some((11, 10, 101)));
        assert_eq!(plain(5_000, 1_101, Flags::ACK), None, "below what is expected");
        assert_eq!(plain(5_001, 1_100, Flags::ACK), None, "an acknowledgment that was overtaken");
        assert_eq!(plain(5_001, 1_202, Flags::ACK), None, "of what was never sent");
        assert_eq!(plain(5_001, 1_101, Flags::ACK | Flags::FIN), None);
    }

    #[test]
    fn the_window_of_an_older_segment_does_not_count() {
        let mut end = end();
        assert!(end.is_window_fresh(11, 101));
        end.snd_una = 101;
        assert!(!end.is_window_fresh(1, 201), "from further back");
        assert!(!end.is_window_fresh(11, 1), "an acknowledgment that was overtaken");
        assert!(end.is_window_fresh(11, 101), "as new as the last");
    }

    #[test]
    fn old_timestamps_are_refused_and_only_those_in_order_are_kept() {
        let mut end = established(&TcpOptions::default());
        let stamps = |value| Some(Timestamps { value, echo: 0 });
        end.learn_timestamps(stamps(50));
        end.keep_timestamp(2, stamps(60));
        assert!(end.is_recent(stamps(50)), "the one behind a hole was not kept");
        end.keep_timestamp(1, stamps(60));
        assert!(!end.is_recent(stamps(59)) && end.is_recent(stamps(60)) && end.is_recent(None));
        assert_eq!(end.own_timestamps(NOW), Timestamps { value: 7, echo: 60 });
    }

    #[test]
    fn every_segment_of_multipath_tcp_tells_the_round_trip_to_the_receiver() {
        let mut end = established(&TcpOptions::default());
        let stamps = |echo| Some(Timestamps { value: 0, echo });
        end.take_each_echo(stamps(3), Instant::from_millis(7));
        assert_eq!(end.receive_rtt(), Duration::from_millis(4));
        end.take_each_echo(stamps(8), Instant::from_millis(20));
        end.take_each_echo(stamps(0), Instant::from_millis(20));
        assert_eq!(end.receive_rtt(), Duration::from_nanos((7 * 4_000_000 + 12_000_000) / 8));
        end.take_each_echo(stamps(8), Instant::from_millis(21));
        assert_eq!(end.receive_rtt(), Duration::from_nanos((7 * 5_000_000 + 13_000_000) / 8));
    }

    #[test]
    fn the_first_full_sized_segment_with_an_echo_tells_the_round_trip_to_the_receiver() {
        let mut end = established(&TcpOptions::default());
        let mut take = |echo, len, now_ms: u64| {
            end.take_echo(Some(Timestamps { value: 0, echo }), len, Instant::from_millis(now_ms));
            end.receive_rtt()
        };
        assert_eq!(take(0, 1_448, 3), Duration::ZERO, "nothing was echoed");
        assert_eq!(take(4, 1_448, 44), Duration::from_millis(40));
        assert_eq!(take(4, 1_448, 68), Duration::from_millis(40), "of one echo only the first");
        assert_eq!(take(5, 1_448, 69), Duration::from_millis(43), "(7 · 40 + 64) / 8");
        assert_eq!(take(6, 100, 36), Duration::from_millis(43), "a short segment waited for others");
        assert_eq!(take(6, 1_448, 36), Duration::from_millis(43), "and the echo has been seen");
        assert_eq!(take(7, 1_448, 37), Duration::from_millis(30), "a shorter one holds at once");
        // 240,000 - 30,000 + 31,000 eighths of a microsecond are 30,125 µs, without its half in the next: 30,234 µs.
        assert_eq!(take(8, 1_448, 39), Duration::from_nanos(30_125_000));
        assert_eq!(take(9, 1_448, 40), Duration::from_nanos(30_234_000));
        assert_eq!(take(41, 1_448, 41), Duration::from_millis(1), "less than a millisecond");
    }

    /// Linux 6.12: the first data on an MP_JOIN echoes what its fourth ACK echoed, 91 ms earlier, of a path of 36 ms.
    #[test]
    fn what_the_fourth_ack_echoed_tells_no_round_trip() {
        let rtt = |fourth: bool| {
            let mut end = established(&TcpOptions::default());
            let stamps = Some(Timestamps { value: 0, echo: 182 });
            if fourth {
                end.pass_echo(stamps);
            }
            end.take_echo(stamps, 1_424, Instant::from_millis(273));
            end.receive_rtt()
        };
        assert_eq!((rtt(true), rtt(false)), (Duration::ZERO, Duration::from_millis(91)));
    }

    #[test]
    fn data_waits_behind_a_hole_until_that_is_filled() {
        let mut end = end();
        let piece = |at: u64, len| Piece {
            at,
            payload: Span { offset: at - 1, len },
            offset: Offset::after(at - 1),
            arrived_at: Instant::ZERO,
        };
        assert!(matches!(end.take_at_hole(piece(601, 600), true), AtHole::Behind));
        assert!(matches!(end.take_at_hole(piece(1_801, 600), false), AtHole::Behind), "there is no room for it");
        let mut blocks = SackBlocks::default();
        end.sack_blocks(40, &mut blocks);
        assert_eq!(blocks.as_slice(), [SackBlock { left: 5_601, right: 6_201 }]);
        let AtHole::Next(next) = end.take_at_hole(piece(1, 600), true) else { panic!("it fills the hole") };
        end.rcv_nxt = next.end();
        assert_eq!(end.reorder.pop(end.rcv_nxt).map(|piece| (piece.at, piece.end())), Some((601, 1_201)));
        assert!(end.reorder.is_empty());
        end.rcv_nxt = 1_201;
        end.take_at_hole(piece(1_301, 100), true);
        assert!(matches!(end.take_at_hole(piece(1_201, 100), true), AtHole::Filled));
        assert_eq!(end.reorder.pop(end.rcv_nxt).map(|piece| piece.end()), Some(1_301));
        assert!(!end.reorder.is_empty());
    }
}
