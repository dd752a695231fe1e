//! State of one subflow, and what of it needs no knowledge of the connection.

pub mod close;
mod handshake;
mod path_mtu;
mod readers;
pub mod receive;
mod sender;
mod tail_probe;
pub mod timers;
pub mod transmit;
mod undo;
mod window;

use wire::{Flags, Payload, Segment, Timestamps};

use super::acknowledge::Acknowledging;
use super::detection::Detection;
use super::ecn::Ecn;
use super::fins::Fins;
use super::growth::Growth;
use super::losses::Losses;
use super::notes::Notes;
use super::opening::{Opening, Scales};
use super::pacing::Pacing;
use super::rack::Rack;
use super::rate::RateSampler;
use super::rcv_ssthresh::RcvSsthresh;
use super::recovery::Frto;
use super::reorder::Reorder;
use super::rtt::RttEstimator;
use super::rtt_linux::At;
use super::run::Run;
use super::scoreboard::Scoreboard;
use super::tso::Groups;
use crate::TcpOptions;
use crate::congestion::View;
use crate::ends::Ends;
use crate::names::Tuple;
use crate::numbers::{Ours, SeqNumber, Theirs};
use crate::offset::Offset;
use crate::queue::Sendable;
use crate::statistics::{ReceivedCounts, SentCounts, WaitedCounts};
use crate::time::{Duration, Instant};

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
// Lines of the cache, in order: what data that arrives and acknowledgments touch is in the first three, what a sender of
// data touches is in the first two and in the four that begin with the scoreboard.
#[derive(Debug)]
#[repr(C, align(64))]
pub struct Subflow<P: Sendable> {
    rcv_nxt: u64,
    snd_una: u64,
    snd_nxt: u64,
    /// Sequence number of the segment that the peer's window was taken from last (SND.WL1, RFC 9293 §3.3.1).
    snd_wl1: u64,
    /// The end of what the peer's window of this subflow allows, the largest that it has told (RFC 8684 §3.3.5). Under TCP
    /// the window of the stream is this one, and here stands no limit.
    right: u64,
    /// Initial sequence numbers, ours and the peer's.
    iss: SeqNumber<Ours>,
    irs: SeqNumber<Theirs>,
    /// Ours and the peer's, as in the tuple: every segment has them.
    ports: (u16, u16),
    ts_recent: u32,
    timestamps: bool,
    sack: bool,
    scales: Scales,
    state: State,

    ack: Acknowledging,
    reorder: Reorder<P>,
    /// Place in the stream after the last byte received in order: where data without a mapping continues.
    next_offset: Offset,
    /// The window field as long as nothing comes from the peer, once it was computed.
    unmoved_window: Option<u16>,
    /// The peer's MSS or ours, whichever is less, in bytes; options take from it.
    mss: u32,

    /// Up to where the receive window may go, where the buffer grows.
    rcv_ssthresh: RcvSsthresh,
    /// Smoothed RTT as the receiver of data sees it, from timestamp echoes, in eighths of a microsecond; 0 when unknown.
    receive_rtt: u32,
    /// The timestamp that was echoed last: from each one sample is enough.
    last_echo: u32,
    received: ReceivedCounts,
    /// None as long as nothing was lost, probed for, or marked.
    losses: Option<Box<Losses>>,

    /// The present run of transmissions.
    run: Run,
    board: Scoreboard<P>,
    /// Retransmission, handshake or TIME-WAIT timer.
    timer: Instant,
    retries: u32,
    detection: Detection,
    rtt: RttEstimator,
    sent: SentCounts,
    rack: Rack,
    growth: Growth,

    // What few segments touch.
    ends: Ends,
    ecn: Ecn,
    pacing: Option<Box<Pacing>>,
    /// Where segments leave in groups.
    groups: Option<Box<Groups>>,
    /// For a control that asks for it.
    rate: Option<Box<RateSampler>>,
    fins: Fins,
    opening: Opening,
    /// None as long as nothing waited for what it brought.
    waited: Option<Box<WaitedCounts>>,
    /// It answers a segment that fits nothing (RFC 9293 §3.5.2).
    reset_answer: Option<Box<ResetAnswer>>,
    /// None: the subflow that opened the connection.
    join: Option<Join>,
    local_id: u8,
    remote_id: u8,
    /// Opened by this host.
    active_open: bool,
    backup: bool,
    /// A tail loss probe is to be sent.
    probe_due: bool,
    /// A SYN or SYN/ACK is to be sent.
    syn_due: bool,
    /// A reset is to be sent.
    reset_due: bool,
    notes: Notes,
}

impl<P: Sendable> Subflow<P> {
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
            scales: Scales::default(),
            mss: u32::from(mss),
            ts_recent: 0,
            snd_una: 0,
            snd_nxt: 0,
            run: Run::new(),
            board: Scoreboard::new(),
            rtt: RttEstimator::new(options),
            rack: Rack::new(),
            ecn: Ecn::default(),
            pacing: options.pacing.then(Box::default),
            groups: options.tso.then(|| Box::new(Groups::of(options.kernel))),
            rate: None,
            probe_due: false,
            detection: Detection::new(options),
            timer: Instant::NEVER,
            retries: 0,
            syn_due: false,
            opening: Opening::default(),
            reset_due: false,
            reset_answer: None,
            growth: Growth::new(options),
            rcv_nxt: 0,
            snd_wl1: 0,
            right: 0,
            receive_rtt: 0,
            last_echo: 0,
            reorder: Reorder::new(),
            fins: Fins::default(),
            next_offset: Offset::FIRST,
            ack: Acknowledging::new(options),
            rcv_ssthresh: RcvSsthresh::whole(mss),
            unmoved_window: None,
            received: ReceivedCounts::default(),
            sent: SentCounts::default(),
            waited: None,
            losses: None,
            notes: Notes::default(),
        }
    }

    /// Its ends.
    pub fn tuple(&self) -> Tuple {
        self.ends.tuple()
    }

    /// Ports, ours and the peer's.
    #[inline(always)]
    pub fn ports(&self) -> (u16, u16) {
        self.ports
    }

    /// It has other ends.
    pub fn set_tuple(&mut self, tuple: Tuple) {
        self.ends = tuple.into();
        self.ports = (tuple.local.port(), tuple.remote.port());
    }

    /// Whether nothing but data and acknowledgments is to be looked after: neither handshake nor closing, nor ECN.
    pub fn is_usual(&self) -> bool {
        self.state == State::Established
            && !self.fins.is_requested()
            && self.fins.theirs().is_none()
            && self.sack
            && !self.ecn.enabled
            && self.join.is_none_or(|j| j.confirmed)
    }

    /// Data may be sent on it.
    pub fn can_send(&self) -> bool {
        matches!(self.state, State::Established | State::CloseWait)
            && !self.fins.is_requested()
            && self.join.is_none_or(|j| j.confirmed)
    }

    /// Past its handshake and not yet gone.
    pub fn is_synchronised(&self) -> bool {
        !matches!(self.state, State::SynSent | State::SynReceived | State::Closed)
    }

    /// Neither gone nor only waiting for stray segments; it may not be past its handshake yet.
    pub fn is_open(&self) -> bool {
        !matches!(self.state, State::Closed | State::TimeWait)
    }

    /// The peer's first sequence number, from its SYN.
    pub fn learn_irs(&mut self, irs: SeqNumber<Theirs>) {
        self.irs = irs;
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

    /// Place in the stream after the last byte received in order.
    #[inline(always)]
    pub fn next_offset(&self) -> Offset {
        self.next_offset
    }

    /// What comes next in order continues the stream there.
    pub fn continue_at(&mut self, offset: Offset) {
        self.next_offset = offset;
    }

    /// `len` bytes came in order at `seq`, which are at `offset` of the stream.
    #[inline(always)]
    pub fn advance(&mut self, seq: u64, offset: Offset, len: u64) {
        self.rcv_nxt = seq + len;
        self.next_offset = offset + len;
    }

    /// The present run of transmissions.
    #[inline(always)]
    pub fn run(&self) -> Run {
        self.run
    }

    /// The run of transmissions is this one.
    pub fn set_run(&mut self, run: Run) {
        self.run = run;
    }

    /// Data at `offset` of the stream goes out at `seq` for the first time.
    #[inline(always)]
    pub fn note_run(&mut self, seq: u64, offset: Offset) {
        self.run.sent(seq, offset);
    }

    /// New bytes that the window of this subflow allows.
    #[inline]
    pub fn open(&self) -> u64 {
        self.right.saturating_sub(self.snd_nxt)
    }

    /// RFC 7323's clock: milliseconds.
    pub fn ts_now(now: Instant) -> u32 {
        now.as_millis() as u32
    }

    /// The peer's timestamps on its SYN.
    pub fn learn_timestamps(&mut self, timestamps: Option<Timestamps>) {
        self.timestamps &= timestamps.is_some();
        self.ts_recent = timestamps.map_or(0, |t| t.value);
    }

    /// The timestamps of a segment sent now.
    pub fn timestamps_now(&self, now: Instant) -> Option<Timestamps> {
        self.timestamps.then(|| self.own_timestamps(now))
    }

    /// As [`timestamps_now`](Self::timestamps_now), where timestamps are in use.
    #[inline]
    pub fn own_timestamps(&self, now: Instant) -> Timestamps {
        Timestamps { value: Self::ts_now(now), echo: self.ts_recent }
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

    #[cold]
    fn take_rare_rtt(&mut self, now: Instant, rtt: Duration) {
        self.rtt.sample_rarely(rtt, At { now, una: self.snd_una, nxt: self.snd_nxt });
    }

    /// Takes an RTT sample.
    pub fn take_rtt(&mut self, now: Instant, rtt: Duration, view: &mut View) {
        let rtt = rtt.max(Duration::NANOSECOND); // controls divide by it
        if self.rtt.is_rare() {
            self.take_rare_rtt(now, rtt);
        } else {
            self.rtt.sample(rtt);
        }
        self.rack.sampled = true;
        view.srtt = self.rtt.srtt;
        view.rttvar = self.rtt.rttvar;
        view.min_rtt = self.rtt.min_rtt;
    }
}

/// What tests of other rooms begin with.
#[cfg(test)]
impl<P: Sendable> Subflow<P> {
    pub fn pretend_acknowledged(&mut self, una: u64) {
        self.snd_una = una;
    }

    pub fn pretend_srtt(&mut self, srtt: Duration) {
        self.rtt.srtt = srtt;
    }

    pub fn form_groups(&mut self) {
        self.groups = Some(Box::default());
    }
}

/// For the tests of the rooms beside this one: established, with initial sequence numbers 1,000 and 5,000; nothing was sent or
/// received yet.
#[cfg(test)]
pub fn established(options: &TcpOptions) -> Subflow<wire::Span> {
    let end = |port| std::net::SocketAddr::from(([10, 0, 0, 1], port));
    let mut subflow = Subflow::new(Tuple { local: end(1), remote: end(2) }, 1_000, 1_460, options);
    subflow.learn_irs(SeqNumber::sent(5_000));
    (subflow.state, subflow.rcv_nxt, subflow.snd_una, subflow.snd_nxt, subflow.right) =
        (State::Established, 1, 1, 1, u64::MAX);
    subflow
}
