//! State of one subflow, and what of it needs no knowledge of the connection.

use wire::{Flags, Payload, SackBlock, SackBlocks, Segment, Timestamps};

use super::acknowledge::{Acknowledging, NEVER};
use super::earned::Earned;
use super::ecn::Ecn;
use super::losses::Losses;
use super::notes::Notes;
use super::pacing::Pacing;
use super::rack::Rack;
use super::rate::RateSampler;
use super::recovery::Frto;
use super::reorder::Reorder;
use super::rtt::RttEstimator;
use super::scoreboard::Scoreboard;
use super::validation::Validation;
use crate::congestion::{View, Window};
use crate::ends::Ends;
use crate::names::Tuple;
use crate::numbers::{Ours, SeqNumber, Theirs};
use crate::offset::Offset;
use crate::queue::Stream;
use crate::statistics::Counts;
use crate::trace::WindowReason;
use crate::{LossDetection, TcpOptions};

/// States of a TCP connection (RFC 9293 §3.3.2). LISTEN is the host's.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum State {
    SynSent,
    SynReceived,
    Established,
    FinWait1,
    FinWait2,
    CloseWait,
    Closing,
    LastAck,
    TimeWait,
    Closed,
}

/// The handshake of MP_JOIN on a subflow (RFC 8684 §3.2).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Join {
    pub local_nonce: u32,
    pub remote_nonce: u32,
    /// The peer has acknowledged the third ACK, so the subflow may carry data.
    pub confirmed: bool,
}

/// A reset in answer to a segment, so made that its sender takes it (RFC 9293 §3.5.2).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ResetAnswer {
    pub seq: u32,
    pub ack: u32,
    pub flags: Flags,
}

impl ResetAnswer {
    /// `<SEQ=SEG.ACK><CTL=RST>`, or where the segment acknowledges nothing `<SEQ=0><ACK=SEG.SEQ+SEG.LEN><CTL=RST,ACK>`;
    /// none to a reset.
    pub fn to<P: Payload>(segment: &Segment<P>) -> Option<Self> {
        let flags = segment.flags;
        if flags.rst() {
            return None;
        }
        Some(if flags.ack() {
            ResetAnswer { seq: segment.ack, ack: 0, flags: Flags::RST }
        } else {
            let len = segment.payload.len() as u32 + u32::from(flags.syn()) + u32::from(flags.fin());
            ResetAnswer { seq: 0, ack: segment.seq.wrapping_add(len), flags: Flags::RST | Flags::ACK }
        })
    }
}

/// A subflow. Sequence numbers are 64 bits and count from the SYN of their direction, which is 0; the first byte of
/// data is 1, as in a data sequence mapping.
// The order of the fields is kept: what nearly every segment touches shares lines of the cache.
#[derive(Debug)]
#[repr(C)]
pub struct Subflow<P: Stream> {
    // What nearly every segment touches.
    pub rcv_nxt: u64,
    pub snd_una: u64,
    pub snd_nxt: u64,
    /// Sequence number of the segment that the peer's window was taken from last (SND.WL1, RFC 9293 §3.3.1).
    pub snd_wl1: u64,
    /// The end of what the peer's window of this subflow allows, the largest that it has told (RFC 8684 §3.3.5). Under TCP
    /// the window of the stream is this one, and here stands no limit.
    pub right: u64,
    /// Initial sequence numbers, ours and the peer's.
    pub(super) iss: SeqNumber<Ours>,
    irs: SeqNumber<Theirs>,
    /// Ours and the peer's, as in the tuple: every segment has them.
    pub ports: (u16, u16),
    ts_recent: u32,
    pub timestamps: bool,
    pub sack: bool,
    pub snd_wscale: u8,
    pub rcv_wscale: u8,
    /// Remembered of [`is_clean`](Self::is_clean): acknowledgments and new data have nothing else to look after.
    pub(super) clean: bool,
    pub state: State,
    /// The peer's MSS or ours, whichever is less, in bytes; options take from it.
    pub mss: u32,
    pub ack: Acknowledging,
    /// The receive window that it has earned, where the buffer grows.
    pub earned: Earned,
    /// Smoothed RTT as the receiver of data sees it, from timestamp echoes; 0 when unknown.
    pub receive_rtt_ns: u64,
    /// Retransmission, handshake or TIME-WAIT timer.
    pub timer_ns: u64,
    /// Data below this sequence number was sent while the window was the limit.
    pub limited_below: u64,
    pub retries: u32,
    pub duplicate_acks: u32,
    pub rtt: RttEstimator,
    pub rack: Rack,
    pub validation: Validation,
    pub board: Scoreboard<P>,
    pub statistics: Counts,
    pub reorder: Reorder<P>,
    /// What arrived twice and is to be reported (D-SACK, RFC 2883).
    pub duplicate: Option<(u64, u64)>,
    /// None as long as nothing was lost, probed for, or marked.
    pub losses: Option<Box<Losses>>,

    // What few do.
    ends: Ends,
    pub ecn: Ecn,
    pub pacing: Option<Box<Pacing>>,
    /// For a control that asks for it.
    pub rate: Option<Box<RateSampler>>,
    /// Sequence number of the peer's FIN.
    pub fin_at: Option<u64>,
    pub syn_sent_ns: u64,
    /// It answers a segment that fits nothing (RFC 9293 §3.5.2).
    pub reset_answer: Option<Box<ResetAnswer>>,
    /// None: the subflow that opened the connection.
    pub join: Option<Join>,
    /// The window field of the last acknowledgment.
    pub last_window: u16,
    pub local_id: u8,
    pub remote_id: u8,
    /// Opened by this host.
    pub active_open: bool,
    pub backup: bool,
    /// The peer offered window scaling.
    pub peer_scales: bool,
    pub detection: LossDetection,
    /// See [`TcpOptions::shortcuts`].
    pub(super) shortcuts: bool,
    /// See [`TcpOptions::impatient`].
    pub impatient: bool,
    /// The control sets the window with each delivery, in recovery too.
    pub steered: bool,
    /// A tail loss probe is to be sent.
    pub probe_due: bool,
    /// A SYN or SYN/ACK is to be sent.
    pub syn_due: bool,
    pub fin_requested: bool,
    pub fin_sent: bool,
    /// A reset is to be sent.
    pub reset_due: bool,
    pub notes: Notes,
}

impl<P: Stream> Subflow<P> {
    /// How many bytes at its beginning nearly every segment touches.
    pub const HOT_BYTES: usize = std::mem::offset_of!(Subflow<P>, ends);

    pub fn new(tuple: Tuple, iss: u32, mss: u16, options: &TcpOptions) -> Self {
        Subflow {
            ends: tuple.into(),
            ports: (tuple.local.port(), tuple.remote.port()),
            local_id: 0,
            remote_id: 0,
            state: State::SynSent,
            active_open: true,
            join: None,
            backup: false,
            iss: SeqNumber::initial(iss),
            irs: SeqNumber::sent(0),
            sack: options.offers_sack(),
            timestamps: options.timestamps,
            peer_scales: false,
            last_window: 0,
            snd_wscale: 0,
            clean: false,
            shortcuts: options.shortcuts,
            rcv_wscale: 0,
            mss: u32::from(mss),
            ts_recent: 0,
            snd_una: 0,
            snd_nxt: 0,
            board: Scoreboard::new(),
            rtt: RttEstimator::new(options),
            detection: options.loss_detection,
            impatient: options.impatient,
            rack: Rack::new(),
            ecn: Ecn::default(),
            pacing: options.pacing.then(Box::default),
            rate: None,
            steered: false,
            probe_due: false,
            duplicate_acks: 0,
            timer_ns: NEVER,
            retries: 0,
            syn_due: false,
            syn_sent_ns: 0,
            fin_requested: false,
            fin_sent: false,
            reset_due: false,
            reset_answer: None,
            limited_below: 0,
            validation: Validation::new(options.initial_window),
            rcv_nxt: 0,
            snd_wl1: 0,
            right: 0,
            receive_rtt_ns: 0,
            reorder: Reorder::new(),
            fin_at: None,
            duplicate: None,
            ack: Acknowledging::new(options),
            earned: Earned::whole(mss),
            statistics: Counts::default(),
            losses: None,
            notes: Notes::default(),
        }
    }

    /// Its ends.
    pub fn tuple(&self) -> Tuple {
        self.ends.tuple()
    }

    /// It has other ends.
    pub fn set_tuple(&mut self, tuple: Tuple) {
        self.ends = tuple.into();
        self.ports = (tuple.local.port(), tuple.remote.port());
    }

    /// Data may be sent on it.
    pub fn can_send(&self) -> bool {
        matches!(self.state, State::Established | State::CloseWait)
            && !self.fin_requested
            && self.join.is_none_or(|j| j.confirmed)
    }

    /// Past its handshake and not yet gone.
    pub fn is_synchronised(&self) -> bool {
        !matches!(self.state, State::SynSent | State::SynReceived | State::Closed)
    }

    /// The peer's first sequence number, from its SYN.
    pub fn learn_irs(&mut self, irs: SeqNumber<Theirs>) {
        self.irs = irs;
    }

    /// The place of the octet with this sequence number of the peer.
    #[inline]
    pub fn their_seq(&self, seq: u32) -> u64 {
        SeqNumber::sent(seq).place(self.irs, self.rcv_nxt)
    }

    /// The place of an acknowledgment, or of a SACK edge, of ours.
    #[inline]
    pub fn our_seq(&self, ack: u32) -> u64 {
        SeqNumber::acknowledged(ack).place(self.iss, self.snd_una)
    }

    /// The sequence number of a place that the peer sends.
    #[inline(always)]
    pub fn their_number(&self, place: u64) -> SeqNumber<Theirs> {
        self.irs.plus(place)
    }

    /// The sequence number of a place that we send.
    #[inline(always)]
    pub fn our_number(&self, place: u64) -> SeqNumber<Ours> {
        self.iss.plus(place)
    }

    /// The peer has acknowledged up to `ack` and has room for `window` bytes from there on. An acknowledgment that was
    /// overtaken is known by nothing, so that the edge never moves back.
    #[inline(always)]
    pub fn hear_window(&mut self, ack: u64, window: u64) {
        self.right = self.right.max(ack + window);
    }

    /// New bytes that the window of this subflow allows.
    #[inline]
    pub fn open(&self) -> u64 {
        self.right.saturating_sub(self.snd_nxt)
    }

    /// Segments believed to be in the network. Without SACK each duplicate ACK stands for one that left it.
    pub fn pipe(&self) -> u32 {
        let gone = if self.sack { 0 } else { self.duplicate_acks };
        self.board.pipe().saturating_sub(gone)
    }

    /// RFC 7323's clock: milliseconds.
    pub fn ts_now(now_ns: u64) -> u32 {
        (now_ns / 1_000_000) as u32
    }

    /// The timestamps of a segment sent now.
    pub fn timestamps_now(&self, now_ns: u64) -> Option<Timestamps> {
        self.timestamps.then(|| self.own_timestamps(now_ns))
    }

    /// As [`timestamps_now`](Self::timestamps_now), where timestamps are in use.
    #[inline]
    pub fn own_timestamps(&self, now_ns: u64) -> Timestamps {
        Timestamps { value: Self::ts_now(now_ns), echo: self.ts_recent }
    }

    /// The peer's timestamps on its SYN.
    pub fn learn_timestamps(&mut self, timestamps: Option<Timestamps>) {
        self.timestamps &= timestamps.is_some();
        self.ts_recent = timestamps.map_or(0, |t| t.value);
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

    /// Learns the round trip from the timestamp that a data segment echoes, in milliseconds: all that a pure receiver
    /// knows of it (RFC 7323 §4).
    pub fn take_echo(&mut self, timestamps: Option<Timestamps>, now_ns: u64) {
        let Some(t) = timestamps.filter(|t| self.timestamps && t.echo != 0) else { return };
        let ms = Self::ts_now(now_ns).wrapping_sub(t.echo);
        if ms < 1 << 20 {
            let rtt_ns = u64::from(ms.max(1)) * 1_000_000;
            let old_ns = self.receive_rtt_ns;
            self.receive_rtt_ns = if rtt_ns < old_ns || old_ns == 0 { rtt_ns } else { (7 * old_ns + rtt_ns) / 8 };
        }
    }

    /// Whether there is anything to report in SACK blocks.
    #[inline(always)]
    pub fn has_blocks(&self) -> bool {
        self.sack && (self.has_usual_blocks() || self.fin_at.is_some())
    }

    /// As [`has_blocks`](Self::has_blocks), where SACK is in use and no FIN has come.
    #[inline(always)]
    pub fn has_usual_blocks(&self) -> bool {
        self.duplicate.is_some() || !self.reorder.is_empty()
    }

    /// SACK blocks for a segment with `room` bytes of option space left: a duplicate first (RFC 2883 §4), then what
    /// arrived out of order. `blocks` is empty before.
    #[inline]
    pub fn sack_blocks(&mut self, room: usize, blocks: &mut SackBlocks) {
        let fitting = SackBlocks::fitting(room);
        if !self.sack || fitting == 0 {
            return;
        }
        let irs = self.irs;
        let wire = |place: u64| irs.plus(place).on_wire();
        if let Some((left, right)) = self.duplicate.take() {
            blocks.push(SackBlock { left: wire(left), right: wire(right) });
        }
        // A FIN takes a sequence number and is reported like data.
        let mut fin = self.fin_at;
        self.reorder.report(fitting - blocks.len(), |(left, right)| {
            let joined = fin.take_if(|fin| *fin == right);
            blocks.push(SackBlock { left: wire(left), right: wire(right + u64::from(joined.is_some())) });
        });
        if let Some(fin) = fin
            && blocks.len() < fitting
        {
            blocks.push(SackBlock { left: wire(fin), right: wire(fin + 1) });
        }
    }

    /// All below this sequence number was sent when the last recovery, or timeout, began.
    #[inline]
    pub fn recovery_point(&self) -> u64 {
        self.losses.as_ref().map_or(0, |losses| losses.recovery.point)
    }

    /// Where F-RTO stands.
    pub fn frto(&self) -> Frto {
        self.losses.as_ref().map_or(Frto::Off, |losses| losses.frto)
    }

    /// A segment goes out, which counts in a recovery.
    #[inline(always)]
    pub fn note_transmission(&mut self) {
        if let Some(losses) = &mut self.losses {
            losses.recovery.sent += 1;
        }
    }

    /// Restarts the retransmission timer (RFC 6298 §5.1–5.3).
    pub fn restart_timer(&mut self, now_ns: u64) {
        self.timer_ns = if self.board.is_empty() { NEVER } else { now_ns + self.rtt.rto_ns() };
    }

    /// The window kept the transport from sending more.
    pub fn note_limited(&mut self) {
        self.limited_below = self.snd_nxt;
    }

    /// Data goes out with nothing under way: how much the window is worth after the pause (RFC 7661 §4.4.3).
    pub fn resume(&mut self, now_ns: u64, view: &mut View) {
        if self.steered {
            return;
        }
        let window = if self.validation.is_linux() {
            self.validation.restarted(now_ns, self.rtt.rto_ns(), view)
        } else {
            self.validation.resumed(now_ns, view)
        };
        if let Some(window) = window {
            self.notes.window(WindowReason::IdleRestart);
            self.set_window(now_ns, window, view);
        }
    }

    /// New data at `offset` of the stream, a FIN, or both go out for the first time. The answer is their first sequence number.
    #[inline(always)]
    pub fn send_new(&mut self, now_ns: u64, (offset, payload, fin): (Offset, &P, bool), view: &mut View) -> u64 {
        let (seq, len) = (self.snd_nxt, payload.len() as u64);
        debug_assert!(len == 0 || seq + len <= self.right, "beyond the window of this subflow");
        if self.board.is_empty() {
            self.resume(now_ns, view);
        }
        self.ack.data_sent(now_ns);
        self.snd_nxt = seq + len + u64::from(fin);
        self.board.push(seq, offset, payload.clone(), fin, now_ns);
        self.statistics.data_segments_sent += u64::from(len > 0);
        if self.timer_ns == NEVER {
            self.restart_timer(now_ns);
        }
        seq
    }

    /// The sender's account of a segment that has just gone out for the first time. Answers whether it is clean, and whether the
    /// congestion window has room for more.
    #[inline(always)]
    pub fn first_sent(&mut self, now_ns: u64, view: &mut View) -> (bool, bool) {
        let clean = self.clean;
        if clean {
            debug_assert!(self.is_clean(view));
            view.in_flight = self.board.outstanding();
        } else {
            self.note_transmission();
            view.in_flight = self.pipe();
        }
        let has_room = view.has_room();
        if !has_room {
            self.note_limited(); // whatever the other subflows do: this window was used up (RFC 7661)
        }
        if clean {
            self.rack.arm_probe(now_ns, view.srtt_ns, view.in_flight, self.timer_ns);
        } else {
            self.arm_probe(now_ns, view);
        }
        (clean, has_room)
    }

    /// When a sender wants attention for what it has just sent or heard; `clean`, as it was then.
    #[inline(always)]
    pub fn sender_deadline_ns(&self, clean: bool) -> u64 {
        if clean { self.timer_ns.min(self.rack.probe_ns) } else { self.deadline_ns() }
    }

    /// When this subflow wants attention.
    pub fn deadline_ns(&self) -> u64 {
        let paced_ns = self.pacing.as_ref().map_or(NEVER, |pacing| pacing.deadline_ns());
        self.timer_ns.min(self.ack.deadline_ns).min(self.rack.timer_ns).min(self.rack.probe_ns).min(paced_ns)
    }

    /// Takes an RTT sample.
    pub fn take_rtt(&mut self, rtt_ns: u64, view: &mut View) {
        self.rtt.sample(rtt_ns.max(1)); // controls divide by it
        self.rack.sampled = true;
        view.srtt_ns = self.rtt.srtt_ns;
        view.rttvar_ns = self.rtt.rttvar_ns;
        view.min_rtt_ns = self.rtt.min_rtt_ns;
    }

    /// Sets the window and keeps its mean over time.
    pub fn set_window(&mut self, now_ns: u64, window: Window, view: &mut View) {
        self.set_cwnd(now_ns, window.cwnd, view);
        view.ssthresh = window.ssthresh;
    }

    /// As [`set_window`](Self::set_window), without the threshold.
    pub fn set_cwnd(&mut self, now_ns: u64, cwnd: f64, view: &mut View) {
        self.statistics.extend_cwnd(view.cwnd, now_ns);
        view.cwnd = cwnd;
    }
}
