//! State of one subflow, and what of it needs no knowledge of the connection.

use wire::{Payload, SackBlock, SackBlocks, Segment, Timestamps, expand32};

use super::acknowledge::{Acknowledging, NEVER};
use super::recovery::Recovery;
use super::rtt::RttEstimator;
use super::scoreboard::{Delivered, Scoreboard};
use crate::TcpOptions;
use crate::congestion::{Ack, Controller, Phase, View, Window};
use crate::host::Tuple;
use crate::reassembly::Reassembly;
use crate::statistics::Statistics;

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

/// Subflow sequence numbers `[from, to)` are the stream from `offset` on (RFC 8684 §3.3.1).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MapRange {
    pub from: u64,
    pub to: u64,
    pub offset: u64,
}

/// A subflow. Sequence numbers are 64 bits and count from the SYN of their direction, which is 0; the first byte of
/// data is 1, as in a data sequence mapping.
#[derive(Debug)]
pub struct Subflow<P> {
    pub tuple: Tuple,
    pub local_id: u8,
    pub remote_id: u8,
    pub state: State,
    /// Opened by this host.
    pub active_open: bool,
    /// None: the subflow that opened the connection.
    pub join: Option<Join>,
    pub backup: bool,
    /// Initial sequence numbers, ours and the peer's.
    pub iss: u32,
    pub irs: u32,

    pub sack: bool,
    pub timestamps: bool,
    /// The peer offered window scaling.
    pub peer_scales: bool,
    pub snd_wscale: u8,
    pub rcv_wscale: u8,
    /// The peer's MSS or ours, whichever is less, in bytes; options take from it.
    pub mss: u32,
    ts_recent: u32,

    pub snd_una: u64,
    pub snd_nxt: u64,
    pub board: Scoreboard<P>,
    pub rtt: RttEstimator,
    pub recovery: Recovery,
    pub duplicate_acks: u32,
    /// Retransmission, handshake or TIME-WAIT timer.
    pub timer_ns: u64,
    pub retries: u32,
    /// A SYN or SYN/ACK is to be sent.
    pub syn_due: bool,
    pub syn_sent_ns: u64,
    pub fin_requested: bool,
    pub fin_sent: bool,
    /// A reset is to be sent.
    pub reset_due: bool,
    /// Its sequence number, when it answers a segment (RFC 9293 §3.10.7.1).
    pub reset_seq: Option<u32>,
    /// Data below this sequence number was sent while the window was the limit.
    limited_below: u64,

    pub rcv_nxt: u64,
    /// Smoothed RTT as the receiver of data sees it, from timestamp echoes; 0 when unknown.
    pub receive_rtt_ns: u64,
    pub reorder: Reassembly<P>,
    /// Data sequence mappings that reach beyond the segment they came with.
    pub mappings: Vec<MapRange>,
    /// Sequence number of the peer's FIN.
    pub fin_at: Option<u64>,
    pub ack: Acknowledging,
    pub statistics: Statistics,
}

impl<P: Payload> Subflow<P> {
    pub fn new(tuple: Tuple, iss: u32, mss: u16, options: &TcpOptions) -> Self {
        Subflow {
            tuple,
            local_id: 0,
            remote_id: 0,
            state: State::SynSent,
            active_open: true,
            join: None,
            backup: false,
            iss,
            irs: 0,
            sack: options.sack,
            timestamps: options.timestamps,
            peer_scales: false,
            snd_wscale: 0,
            rcv_wscale: 0,
            mss: u32::from(mss),
            ts_recent: 0,
            snd_una: 0,
            snd_nxt: 0,
            board: Scoreboard::new(),
            rtt: RttEstimator::new(options),
            recovery: Recovery::default(),
            duplicate_acks: 0,
            timer_ns: NEVER,
            retries: 0,
            syn_due: false,
            syn_sent_ns: 0,
            fin_requested: false,
            fin_sent: false,
            reset_due: false,
            reset_seq: None,
            limited_below: 0,
            rcv_nxt: 0,
            receive_rtt_ns: 0,
            reorder: Reassembly::new(),
            mappings: Vec::new(),
            fin_at: None,
            ack: Acknowledging::new(options),
            statistics: Statistics::default(),
        }
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

    /// The 64-bit number of a sequence number of the peer.
    pub fn their_seq(&self, seq: u32) -> u64 {
        expand32(self.rcv_nxt, seq.wrapping_sub(self.irs))
    }

    /// The 64-bit number of an acknowledgment, or of a SACK edge, of ours.
    pub fn our_seq(&self, ack: u32) -> u64 {
        expand32(self.snd_una, ack.wrapping_sub(self.iss))
    }

    /// Segments believed to be in the network. Without SACK each duplicate ACK stands for one that left it.
    pub fn pipe(&self) -> u32 {
        let gone = if self.sack { 0 } else { self.duplicate_acks };
        self.board.pipe().saturating_sub(gone)
    }

    /// RFC 7323's clock: milliseconds.
    fn ts_now(now_ns: u64) -> u32 {
        (now_ns / 1_000_000) as u32
    }

    /// The timestamps of a segment sent now.
    pub fn timestamps_now(&self, now_ns: u64) -> Option<Timestamps> {
        self.timestamps.then(|| Timestamps { value: Self::ts_now(now_ns), echo: self.ts_recent })
    }

    /// The peer's timestamps on its SYN.
    pub fn learn_timestamps(&mut self, timestamps: Option<Timestamps>) {
        self.timestamps &= timestamps.is_some();
        self.ts_recent = timestamps.map_or(0, |t| t.value);
    }

    /// RFC 7323 §5.3: false when the segment is older than what was seen (PAWS); else keeps its timestamp to echo.
    pub fn check_timestamps(&mut self, seq: u64, timestamps: Option<Timestamps>) -> bool {
        if let (true, Some(t)) = (self.timestamps, timestamps) {
            if (t.value.wrapping_sub(self.ts_recent) as i32) < 0 {
                return false;
            }
            if seq <= self.rcv_nxt {
                self.ts_recent = t.value;
            }
        }
        true
    }

    /// Learns the round trip from the timestamp that a data segment echoes, in milliseconds: all that a pure receiver
    /// knows of it (RFC 7323 §4).
    pub fn take_echo(&mut self, timestamps: Option<Timestamps>, now_ns: u64) {
        let Some(t) = timestamps.filter(|t| self.timestamps && t.echo != 0) else { return };
        let ms = Self::ts_now(now_ns).wrapping_sub(t.echo);
        if ms < 1 << 20 {
            let rtt_ns = u64::from(ms.max(1)) * 1_000_000;
            let old_ns = self.receive_rtt_ns;
            self.receive_rtt_ns = if old_ns == 0 { rtt_ns } else { (7 * old_ns + rtt_ns) / 8 };
        }
    }

    /// SACK blocks for a segment with `room` bytes of option space left.
    pub fn sack_blocks(&self, room: usize) -> SackBlocks {
        let mut blocks = SackBlocks::default();
        if self.sack && !self.reorder.is_empty() {
            for (left, right) in self.reorder.blocks().take(SackBlocks::fitting(room)) {
                let wire = |n: u64| self.irs.wrapping_add(n as u32);
                blocks.push(SackBlock { left: wire(left), right: wire(right) });
            }
        }
        blocks
    }

    /// Restarts the retransmission timer (RFC 6298 §5.1–5.3).
    pub fn restart_timer(&mut self, now_ns: u64) {
        self.timer_ns = if self.board.is_empty() { NEVER } else { now_ns + self.rtt.rto_ns() };
    }

    /// The window kept the transport from sending more.
    pub fn note_limited(&mut self) {
        self.limited_below = self.snd_nxt;
    }

    /// When this subflow wants attention.
    pub fn deadline_ns(&self) -> u64 {
        self.timer_ns.min(self.ack.deadline_ns)
    }

    /// The acknowledgment of a segment: scoreboard, RTT, recovery and window. `group[r]` is this subflow's view.
    /// Answers what was delivered.
    pub fn acknowledged(
        &mut self,
        now_ns: u64,
        segment: &Segment<P>,
        group: &mut [View],
        r: usize,
        controller: &mut Controller,
    ) -> Delivered {
        let ack = self.our_seq(segment.ack);
        let (una_before, pipe_before) = (self.snd_una, group[r].in_flight);
        let mut delivered = Delivered::default();
        self.board.acknowledge(ack, now_ns, &mut delivered);
        if ack > self.snd_una {
            self.snd_una = ack;
            self.retries = 0;
            self.rtt.backoff = 0;
            group[r].potentially_failed = false;
        }
        if self.sack {
            let blocks = segment.options.sack;
            if !blocks.is_empty() {
                let (una, iss) = (self.snd_una, self.iss);
                let expand = |n: u32| expand32(una, n.wrapping_sub(iss));
                self.board.selectively_acknowledge(blocks.as_slice(), expand, now_ns, &mut delivered);
            }
        } else if delivered.advanced {
            self.duplicate_acks = self.duplicate_acks.saturating_sub(delivered.segments - 1);
        } else if segment.payload.is_empty() && !self.board.is_empty() && ack == self.snd_una {
            self.duplicate_acks += 1;
        }
        if let Some(rtt_ns) = delivered.rtt_ns {
            self.take_rtt(rtt_ns, &mut group[r]);
        }
        if delivered.advanced {
            self.restart_timer(now_ns);
        }
        group[r].bytes_since_loss += delivered.bytes;
        self.recover(now_ns, &delivered, group, r, controller);
        group[r].in_flight = self.pipe();
        if group[r].phase != Phase::Recovery && delivered.segments > 0 {
            let limited = una_before < self.limited_below
                || (group[r].in_slow_start() && group[r].cwnd < 2.0 * f64::from(pipe_before));
            let ack = Ack {
                now_ns,
                acked_segments: delivered.bytes as f64 / f64::from(group[r].mss),
                rtt_ns: delivered.last_rtt_ns,
                cwnd_limited: limited,
            };
            let window = controller.on_ack(group, r, &ack);
            self.set_window(now_ns, window, &mut group[r]);
        }
        delivered
    }

    /// Takes an RTT sample.
    pub fn take_rtt(&mut self, rtt_ns: u64, view: &mut View) {
        self.rtt.sample(rtt_ns);
        view.srtt_ns = self.rtt.srtt_ns;
        view.rttvar_ns = self.rtt.rttvar_ns;
        view.min_rtt_ns = self.rtt.min_rtt_ns;
    }

    fn recover(
        &mut self,
        now_ns: u64,
        delivered: &Delivered,
        group: &mut [View],
        r: usize,
        controller: &mut Controller,
    ) {
        let over = self.snd_una >= self.recovery.point;
        match group[r].phase {
            Phase::Open => {}
            // RFC 6675 §5.1 and RFC 5681 §3.2 step 6: the window deflates to ssthresh.
            Phase::Recovery if over => {
                group[r].phase = Phase::Open;
                self.duplicate_acks = 0;
                let ssthresh = group[r].ssthresh;
                self.set_window(now_ns, Window { cwnd: ssthresh, ssthresh }, &mut group[r]);
            }
            Phase::Loss if over => {
                group[r].phase = Phase::Open;
                self.duplicate_acks = 0;
            }
            Phase::Recovery if !self.sack && delivered.advanced => {
                self.board.mark_first_lost(); // RFC 6582 §3.2 step 3, partial acknowledgment
            }
            Phase::Recovery | Phase::Loss => {}
        }
        if self.sack {
            self.board.find_losses(DUP_THRESH);
        } else if self.duplicate_acks >= DUP_THRESH && group[r].phase == Phase::Open {
            self.board.mark_first_lost();
        }
        let mut first = false;
        if group[r].phase == Phase::Open && self.board.has_unrepaired() {
            // RecoverFS as RFC 9937 §6.1 mends it: without what was delivered before this acknowledgment.
            let flight = self.board.outstanding() - self.board.sacked() + delivered.segments;
            let ssthresh = controller.on_loss(group, r, now_ns);
            self.recovery = Recovery::begin(self.snd_nxt, flight);
            let view = &mut group[r];
            view.phase = Phase::Recovery;
            view.ssthresh = ssthresh;
            view.bytes_between_losses = std::mem::take(&mut view.bytes_since_loss);
            first = true;
        }
        if group[r].phase == Phase::Recovery {
            let ssthresh = group[r].ssthresh;
            let cwnd = self.recovery.window(delivered.segments, self.pipe(), ssthresh, delivered.advanced, first);
            self.set_window(now_ns, Window { cwnd, ssthresh }, &mut group[r]);
        }
    }

    /// The retransmission timer expired with data outstanding (RFC 6298 §5.4–5.6, RFC 5681 §3.1).
    pub fn timed_out(&mut self, now_ns: u64, group: &mut [View], r: usize, controller: &mut Controller) {
        // The threshold falls once for each window in which something was lost, not again for a retransmission
        // that is lost too (RFC 5681 §3.1, below equation 4).
        let fresh = match group[r].phase {
            Phase::Open => true,
            Phase::Recovery => false,
            Phase::Loss => self.retries == 0,
        };
        if fresh {
            group[r].ssthresh = controller.on_timeout(group, r, now_ns);
            let view = &mut group[r];
            view.bytes_between_losses = std::mem::take(&mut view.bytes_since_loss);
        }
        self.board.mark_all_lost();
        self.duplicate_acks = 0;
        self.recovery.point = self.snd_nxt;
        group[r].phase = Phase::Loss;
        group[r].potentially_failed = true;
        group[r].in_flight = self.pipe();
        let ssthresh = group[r].ssthresh;
        self.set_window(now_ns, Window { cwnd: 1.0, ssthresh }, &mut group[r]);
        self.statistics.timeouts += 1;
        self.retries += 1;
        self.rtt.backoff += 1;
        self.restart_timer(now_ns);
    }

    /// Sets the window and keeps its mean over time.
    pub fn set_window(&mut self, now_ns: u64, window: Window, view: &mut View) {
        self.statistics.extend_cwnd(view.cwnd, now_ns);
        view.cwnd = window.cwnd;
        view.ssthresh = window.ssthresh;
    }
}

/// RFC 6675 §2: DupThresh.
const DUP_THRESH: u32 = 3;
