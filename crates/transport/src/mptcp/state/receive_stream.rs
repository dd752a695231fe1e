//! The stream that this host receives: what came in order, what waits for bytes before it, the window, the end.

use super::held_memory::HeldMemory;
use super::ready::Ready;
use super::waiting::{Early, Waiting};
use super::window::{AsLinux, ReceiveWindow, Unread};
use crate::offset::Offset;
use crate::queue::Sendable;
use crate::reassembly::Part;
use crate::statistics::DelayHistogram;
use crate::tcp::subflow::Subflow;
use crate::time::{Duration, Instant};
use crate::waits::Waits;

/// The peer's stream.
#[derive(Debug)]
#[repr(C)]
pub struct ReceiveStream<P: Sendable> {
    pub ready: Ready<P>,
    /// The first byte that has not arrived.
    nxt: Offset,
    /// What came before what precedes it in the stream. None as long as nothing did.
    waiting: Option<Box<Waiting<P>>>,
    delays: DelayHistogram,
    pub window: ReceiveWindow,
    /// Where it ends, as the peer's DATA_FIN has it.
    end: Option<Offset>,
    /// Everything before its end has arrived.
    ended: bool,
    /// DATA_ACKs have 4 bytes until data comes.
    pub short_acks: bool,
    /// Every second segment is acknowledged before it is read, as by Linux 6.1's Multipath TCP. Later kernels set `sk_rcvlowat` of subflows to
    /// 0, so that the window counts (`__tcp_ack_snd_check`).
    pub second_at_once: bool,
    /// The receiver is as Linux's: an acknowledgment that is due as two segments have come leaves when they are read, unless the
    /// window can be announced as large as the last (`__tcp_ack_snd_check`, where a subflow's `sk_rcvlowat` says nothing).
    as_linux: bool,
    /// Bytes that had waited were freed, and nobody has asked since what for.
    pub freed: bool,
    /// What takes no room on most connections.
    rare: Option<Box<Rare>>,
}

/// What few connections have.
#[derive(Debug, Default)]
struct Rare {
    /// What bytes that had waited waited for.
    waits: Waits,
    /// The memory of what is held, where it is counted as Linux does.
    memory: Option<HeldMemory>,
}

impl<P: Sendable> ReceiveStream<P> {
    pub fn new(window: ReceiveWindow) -> Self {
        ReceiveStream {
            nxt: Offset::FIRST,
            end: None,
            ended: false,
            short_acks: false,
            second_at_once: false,
            as_linux: false,
            freed: false,
            window,
            ready: Ready::new(),
            waiting: None,
            delays: DelayHistogram::default(),
            rare: None,
        }
    }

    #[inline]
    pub fn nxt(&self) -> Offset {
        self.nxt
    }

    #[inline]
    pub fn ended(&self) -> bool {
        self.ended
    }

    /// Whether something came before what precedes it.
    #[inline(always)]
    pub fn has_hole(&self) -> bool {
        self.waiting.as_ref().is_some_and(|waiting| !waiting.is_empty())
    }

    /// Pieces that wait.
    #[inline(always)]
    fn pieces(&self) -> usize {
        self.waiting.as_ref().map_or(0, |waiting| waiting.len())
    }

    /// Keeps a piece that waits. Answers how many bytes of it are new.
    #[inline(always)]
    fn wait(&mut self, early: Early<P>) -> u64 {
        let (at, len, via, in_order) = (early.at, early.payload.len() as u64, early.via, early.at == self.nxt);
        let new = self.waiting.get_or_insert_with(|| Box::new(Waiting::new())).insert(self.nxt.octets(), early);
        if new == len
            && let Some(memory) = self.counted()
        {
            memory.keep(at, len, via.into(), in_order);
        }
        new
    }

    /// Whether the end is known, or reached.
    #[inline]
    pub fn is_ending(&self) -> bool {
        self.ended || self.end.is_some()
    }

    /// How long what was delivered had waited.
    pub fn delays(&self) -> &DelayHistogram {
        &self.delays
    }

    /// Pieces held.
    pub fn len(&self) -> usize {
        self.ready.len() + self.pieces()
    }

    /// The next piece, and whether [`opens`](Self::opens) is to be asked.
    #[inline]
    pub fn read(&mut self, now: Instant) -> Option<(P, bool)> {
        let payload = self.ready.pop()?;
        let len = payload.len() as u64;
        let pieces = if self.as_linux { self.count_read(now, len) } else { 1 };
        let may_open = self.window.read(now, (len, pieces), self.nxt);
        Some((payload, may_open))
    }

    /// Whether more is read by the same call of Linux's Multipath TCP, at whose end it looks at its window and buffer
    /// (`mptcp_recvmsg`).
    #[inline(always)]
    pub fn reads_on(&mut self) -> bool {
        self.as_linux && self.reads_on_as_linux()
    }

    #[cold]
    fn reads_on_as_linux(&mut self) -> bool {
        let more = !self.ready.is_empty();
        self.counted().is_some_and(|memory| memory.reads_on(more))
    }

    /// How many segments count as read.
    #[cold]
    fn count_read(&mut self, now: Instant, len: u64) -> u32 {
        let first = self.window.read_at(now) == 0;
        self.counted().map_or(1, |memory| memory.note_read(len, first))
    }

    /// Whether the peer should be told at once that the window opened.
    pub fn opens(&mut self, mss: u16) -> bool {
        self.window.opens(self.held(0), self.spared_bytes().0, mss)
    }

    /// The same of one subflow of Linux: whether its own window, now that all is read, is twice what is `left` of the one that it told
    /// (`__tcp_cleanup_rbuf`).
    pub fn opens_on(&self, subflow: &Subflow<P>, left: u64) -> bool {
        let Some(tuning) = &self.window.tuning else { return false };
        let rcv_ssthresh = subflow.rcv_ssthresh();
        let held = (self.len() as u64, self.unread(), self.spared_bytes().0);
        let (open, _) = tuning.open_when_read(held, rcv_ssthresh, 1 << subflow.scales().ours());
        let room = tuning.room();
        2 * left <= room.ratio.data(room.memory.into()) && open > 0 && open >= 2 * left
    }

    /// Subflows are to tell that what was read has opened the window.
    pub fn note_opened(&mut self) {
        if let Some(memory) = self.counted() {
            memory.note_opened();
        }
    }

    /// The memory of what is held, where it is counted.
    #[inline(always)]
    fn counted(&mut self) -> Option<&mut HeldMemory> {
        if self.as_linux { self.rare.as_mut()?.memory.as_mut() } else { None }
    }

    fn memory(&self) -> Option<&HeldMemory> {
        self.rare.as_ref()?.memory.as_ref()
    }

    /// The receiver is as Linux's; `memory`: of Multipath TCP.
    pub fn be_linux(&mut self, memory: Option<HeldMemory>) {
        self.as_linux = true;
        if memory.is_some() {
            self.rare.get_or_insert_default().memory = memory;
        }
    }

    /// Bytes that calls of the application which are over have read.
    pub fn read_by_calls(&self) -> u64 {
        self.window.bytes_read() - self.memory().map_or(0, HeldMemory::read_ahead)
    }

    /// Whether memory is counted as Linux's Multipath TCP does.
    pub fn counts_memory(&self) -> bool {
        self.memory().is_some()
    }

    /// What bytes waited for, if any did.
    pub fn waits(&self) -> Option<&Waits> {
        self.rare.as_ref().map(|rare| &rare.waits)
    }

    /// As [`waits`](Self::waits), to be changed.
    pub fn waits_mut(&mut self) -> Option<&mut Waits> {
        self.rare.as_mut().map(|rare| &mut rare.waits)
    }

    /// Whether the application has read all there is. For Linux's Multipath TCP what waits behind a hole is there too
    /// (`mptcp_cleanup_rbuf`).
    pub fn is_all_read(&self) -> bool {
        self.len() == 0 && !(self.counts_memory() && self.has_hole())
    }

    /// Whether Linux's Multipath TCP has twice the room that it announced last: then each subflow looks whether it is to acknowledge
    /// (`mptcp_cleanup_rbuf`). `owing`: the subflow whose acknowledgment has left by then, for Linux.
    pub fn has_twice(&self, now: Instant, owing: Option<&Subflow<P>>) -> bool {
        let told = self.memory().map(|memory| owing.and_then(|s| self.will_tell(now, s)).unwrap_or(memory.told));
        told.zip(self.window.room_beside(self.held(0), self.spared_bytes().0))
            .is_some_and(|(told, room)| room >= 2 * told)
    }

    /// What an acknowledgment that Linux's Multipath TCP owes on `subflow` announces, if it leaves before what came is read.
    #[cold]
    pub fn will_tell(&self, now: Instant, subflow: &Subflow<P>) -> Option<u64> {
        let (open, waits) = self.would_announce(now, subflow, 0);
        (!waits).then(|| open.max(self.window.announced_beyond(self.nxt)))
    }

    /// Whether an acknowledgment on `subflow` of a receiver as Linux's would announce no less than the last one did. Of a fixed buffer it
    /// is not looked at.
    #[cold]
    pub fn tells_no_less(&self, now: Instant, subflow: &Subflow<P>) -> bool {
        let Some(tuning) = &self.window.tuning else { return false };
        let behind = if tuning.shared { 0 } else { subflow.pieces() };
        self.would_announce(now, subflow, behind).0 >= subflow.rcv_ssthresh().announced.into()
    }

    fn would_announce(&self, now: Instant, subflow: &Subflow<P>, behind: usize) -> (u64, bool) {
        let (held, linux, unit) = (self.held(behind), self.linux(now, subflow), 1 << subflow.scales().ours());
        self.window.would_announce(now, held, linux, subflow.rcv_ssthresh(), unit)
    }

    fn linux(&self, now: Instant, subflow: &Subflow<P>) -> AsLinux {
        let ack = subflow.acknowledging();
        let (may_wait, has_budget) = (ack.is_due_by_count(now) && !self.second_at_once, ack.has_budget());
        let later = self.memory().map_or((0, 0), HeldMemory::later);
        // Short ones behind a hole of TCP, whose buffer the subflow shares.
        let short = self.window.tuning.as_ref().filter(|tuning| !tuning.shared).zip(subflow.waiting_memory());
        let short = short.map_or(0, |(tuning, memory)| tuning.spared(subflow.pieces() as u64, memory));
        let spared = self.spared_bytes();
        AsLinux { may_wait, has_budget, spared_bytes: (spared.0 + short, spared.1 + short), later }
    }

    /// Bytes that came in order and were not read.
    pub fn unread(&self) -> u64 {
        self.nxt.octets().saturating_sub(self.window.bytes_read())
    }

    /// What is held, with so many pieces of the subflow.
    #[inline]
    fn held(&self, behind: usize) -> Unread {
        Unread { next: self.nxt, pieces: self.len() + behind }
    }

    /// The window field of a segment on `subflow`.
    #[inline(always)]
    pub fn announce(&mut self, now: Instant, subflow: &mut Subflow<P>) -> u16 {
        let scale = subflow.scales().ours();
        let Some(tuning) = &self.window.tuning else { return self.window.announce(self.nxt, scale) };
        // Under Multipath TCP what waits on a subflow does not count.
        let held = self.held(if tuning.shared { 0 } else { subflow.pieces() });
        // Of a host that only sends, nothing moves the window.
        let nothing_came = self.nxt == Offset::FIRST && held.pieces == 0;
        if nothing_came && let Some(window) = subflow.unmoved_window() {
            return window;
        }
        let steady = !tuning.shared || subflow.rcv_ssthresh().told == 0;
        let (window, tight) = if self.as_linux {
            self.announce_as_linux(now, held, subflow)
        } else {
            let (rcv_nxt, rcv_ssthresh) = subflow.announced_window();
            self.window.announce_growing::<false>(now, held, AsLinux::default(), scale, rcv_nxt, rcv_ssthresh)
        };
        if tight {
            subflow.spend_budget();
        }
        subflow.keep_window((nothing_came && steady).then_some(window));
        window
    }

    #[cold]
    fn announce_as_linux(&mut self, now: Instant, held: Unread, subflow: &mut Subflow<P>) -> (u16, bool) {
        let (scale, mut linux) = (subflow.scales().ours(), self.linux(now, subflow));
        let mut held = held;
        if self.window.follows_reading(now)
            && let Some(memory) = self.memory()
        {
            let (segments, bytes) = memory.later_than_opened();
            held.pieces += segments as usize;
            linux.spared_bytes.0 += bytes;
        }
        let (rcv_nxt, rcv_ssthresh) = subflow.announced_window();
        let (window, tight) = self.window.announce_growing::<true>(now, held, linux, scale, rcv_nxt, rcv_ssthresh);
        let announced = rcv_ssthresh.announced.into();
        if let Some(memory) = self.counted() {
            memory.told = announced;
        }
        (window, tight)
    }

    /// Memory that what waits leaves free, and with it what was read at this instant.
    fn spared_bytes(&self) -> (u64, u64) {
        self.memory().map_or((0, 0), |memory| memory.spared_bytes())
    }

    /// The stream ends at `end`. What lies behind what was received already is nonsense; the latest word holds.
    pub fn note_end(&mut self, end: Offset) {
        if !self.ended && end >= self.nxt {
            self.end = Some(end);
        }
    }

    /// Whether everything before the end has arrived, and it was not known yet.
    #[inline(always)]
    pub fn is_complete(&self) -> bool {
        !self.ended && self.end == Some(self.nxt)
    }

    pub fn note_ended(&mut self) {
        self.ended = true;
    }

    /// Whether bytes at `place` are the next ones and nothing waits behind them.
    #[inline(always)]
    pub fn is_next(&self, place: Offset) -> bool {
        place == self.nxt && !self.has_hole()
    }

    /// Appends bytes that [are the next](Self::is_next) and did not wait.
    #[inline(always)]
    pub fn extend(&mut self, payload: P) {
        let len = payload.len() as u64;
        self.delays.add(Duration::ZERO, len);
        self.nxt += len;
        self.window.note_arrival();
        self.ready.push(payload);
    }

    /// Keeps bytes that lie behind others still missing, and within the window, unless there are too many pieces. Answers how
    /// many of them are new.
    #[inline(always)]
    pub fn keep(&mut self, early: Early<P>) -> u64 {
        self.window.note_arrival();
        if self.window.allows_pieces(self.pieces()) { self.wait(early) } else { 0 }
    }

    /// Bytes find their place, wherever that is. What they and those they free had waited goes to the account of the
    /// `subflow` that brought them.
    pub fn place(&mut self, now: Instant, early: Early<P>, subflow: &mut Subflow<P>) {
        let Some(early) = early.above(self.nxt.octets()) else { return };
        self.window.note_arrival();
        if self.ended {
            return; // nothing follows the end
        }
        let (at, len, via) = (early.at, early.payload.len() as u64, early.via);
        let next = at == self.nxt;
        // Beyond the window nothing is kept; the peer was not allowed to send it. Nor is what comes in too small pieces. The next
        // bytes were looked at before: after a fallback the peer counts the window from what its subflow has acknowledged.
        if !(next || self.window.allows(at, len) && self.window.allows_pieces(self.pieces())) {
            return;
        }
        let new = if next && self.waiting.as_mut().is_none_or(|w| w.is_empty() || w.pass(at.octets(), len)) {
            self.append(now, via, early, subflow);
            len
        } else {
            self.wait(early)
        };
        subflow.count_new_bytes(new);
        if next && self.has_hole() {
            while let Some(early) = self.waiting.as_mut().and_then(|waiting| waiting.pop(self.nxt.octets())) {
                if let Some(memory) = self.counted() {
                    memory.release(early.at, early.payload.len() as u64);
                }
                self.append(now, via, early, subflow);
            }
            if !self.has_hole()
                && let Some(memory) = self.counted()
            {
                memory.release_all();
            }
        }
    }

    /// The next bytes of the stream; subflow `via` has just brought them, or what they waited for.
    #[inline(always)]
    fn append(&mut self, now: Instant, via: u8, early: Early<P>, subflow: &mut Subflow<P>) {
        let (waited, len) = (now - early.arrived_at, early.payload.len() as u64);
        self.delays.add(waited, len);
        if !waited.is_zero() {
            let byte_ns = u128::from(waited.as_nanos()) * u128::from(len);
            subflow.count_waited(early.via == via, byte_ns);
            self.rare.get_or_insert_default().waits.add(via, byte_ns);
            self.freed = true;
        }
        self.nxt = early.at + len;
        self.ready.push(early.payload);
    }
}
