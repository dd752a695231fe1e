//! The state of a connection and what an application does with it.

use std::collections::VecDeque;

use rand_core::RngCore;
use rand_xoshiro::Xoshiro256PlusPlus;
use wire::Span;

use super::addresses::Addresses;
use super::bound::Bound;
use super::context::SubflowContext;
use super::fallback::Infinite;
use super::ready::Ready;
use super::reinjection::Reinjections;
use super::waiting::Waiting;
use super::window::ReceiveWindow;
use crate::congestion::{Controller, View};
use crate::host::{SubflowId, Tuple};
use crate::path_manager::PathManager;
use crate::plugin::Origin;
use crate::queue::{SendQueue, Stream};
use crate::scheduler::{self, Scheduler, SubflowSet};
use crate::statistics::{DelayHistogram, Statistics};
use crate::tcp::acknowledge::NEVER;
use crate::tcp::subflow::{State, Subflow};
use crate::{Config, Protocol};

/// What happened to a connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Event {
    /// Data can be carried both ways.
    Established,
    /// A subflow can carry data.
    SubflowEstablished(SubflowId),
    /// A subflow is gone.
    SubflowClosed(SubflowId),
    /// The peer sends no more; all it sent can be read.
    EndOfStream,
    /// All that was written, and the end of it, was acknowledged by the peer at the data level.
    Flushed,
    /// Both directions ended in order and every subflow is closed.
    Closed,
    /// Reset by the peer, or given up.
    Aborted,
}

/// Whether MPTCP is spoken.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Mode {
    /// TCP: asked for, or fallen back to.
    Tcp,
    /// MPTCP: offered, or agreed on.
    Mptcp,
}

/// A connection.
// The order of the fields is kept: what nearly every segment touches shares lines of the cache.
#[derive(Debug)]
#[repr(C)]
pub struct Connection<P: Stream> {
    // What nearly every segment touches. Places in the stream count from 0.
    pub(super) subflows: Vec<Subflow<P>>,
    pub(super) views: Vec<View>,
    pub(super) contexts: Vec<SubflowContext<P>>,
    /// Subflows known to have nothing to look after but data and acknowledgments in order: see `plain.rs`.
    pub(super) plain: SubflowSet,
    /// As `plain`, but there may be a hole in what arrived: see `behind_hole.rs`.
    pub(super) settled: SubflowSet,
    /// Subflows that can have got room in their windows since none had any.
    pub(super) roomy: SubflowSet,
    /// Subflows that may have a SYN, a reset, a retransmission or a FIN to send.
    pub(super) attention: SubflowSet,
    /// Subflows with control options to send.
    pub(super) signal_due: SubflowSet,
    /// Subflows that owe an acknowledgment.
    pub(super) ack_due: SubflowSet,
    pub(super) mode: Mode,
    /// Of the configuration: whether the plain case takes its short way.
    pub(super) shortcuts: bool,
    /// Whether new data may: with the default scheduler.
    pub(super) sends_plain: bool,
    /// Of the configuration.
    mss: u16,
    /// New data or reinjections may find a subflow with room.
    pub(super) may_send: bool,
    /// F-RTO may wait for new data on a subflow: see `release_retransmissions`.
    pub(super) frto_waits: bool,
    pub(super) probe_due: bool,
    /// The segment that `transmit` gave last is ECN-capable.
    pub(super) last_is_ect: bool,
    pub(super) established: bool,
    /// The peer has shown that it has our key: DSS arrived (RFC 8684 §3.1).
    pub(super) fully_established: bool,
    /// After fallback: the peer has said that the subflow is the stream, or never spoke MPTCP.
    pub(super) rx_single: bool,
    pub(super) end_received: bool,
    pub(super) fin_acknowledged: bool,
    pub(super) data_fin_sent: bool,
    pub(super) close_requested: bool,
    /// A lower bound of all timers.
    pub(super) next_timeout_ns: u64,
    /// Time of the last call that had one.
    pub(super) clock_ns: u64,
    /// Initial data sequence numbers (RFC 8684 §3.1); the first byte of data is one more.
    pub(super) local_idsn: u64,
    pub(super) remote_idsn: u64,
    /// End of what was written.
    pub(super) write_end: u64,
    /// First byte not acknowledged at the data level.
    pub(super) snd_una: u64,
    /// First byte never sent, nor bound to a subflow to be sent.
    pub(super) snd_nxt: u64,
    /// The peer's window ends here.
    pub(super) snd_right: u64,
    pub(super) rcv_nxt: u64,
    pub(super) window: ReceiveWindow,
    pub(super) ready: Ready<P>,
    /// Retransmission at the data level.
    pub(super) data_timer_ns: u64,
    /// Subflows that carried the first byte not acknowledged at the data level again.
    pub(super) hole_tried: SubflowSet,
    /// Zero-window probe.
    pub(super) probe_timer_ns: u64,
    pub(super) data_backoff: u32,
    pub(super) probe_backoff: u32,
    /// The subflow that the scheduler's burst goes to, and how many segments of it are left.
    pub(super) burst: (usize, u32),
    unadopted: Vec<SubflowId>,
    pub(super) events: VecDeque<Event>,
    pub(super) controller: Controller,
    /// What came before what precedes it in the stream.
    pub(super) waiting: Waiting<P>,
    pub(super) reinjections: Reinjections,
    pub(super) delays: DelayHistogram,

    // What few do.
    pub(super) config: Config,
    pub(super) initiator: bool,
    pub(super) local_key: u64,
    pub(super) remote_key: Option<u64>,
    pub(super) rng: Xoshiro256PlusPlus,
    /// DSS checksums are in use.
    pub(super) checksum: bool,
    /// After fallback: the subflow that is the stream.
    pub(super) tcp_subflow: usize,
    /// After fallback: what we say of it.
    pub(super) infinite: Option<Infinite>,
    pub(super) addresses: Addresses,
    /// A subflow waits for a sign of life because its address was withdrawn.
    pub(super) removals: bool,
    pub(super) scheduler: Scheduler,
    pub(super) path_manager: PathManager,
    pub(super) queue: P::Queue,
    /// What waits on subflows, under the scheduler `linux`.
    pub(super) bound: Option<Box<Bound>>,
    pub(super) flushed: bool,
    /// When something at the level of MPTCP is due: the earliest of the timers that `control_timer` looks at.
    pub(super) control_timer_ns: u64,
    /// The path manager wants to be asked then.
    pub(super) path_timer_ns: u64,
    /// No subflow is left; the connection is given up then.
    pub(super) interrupted_until_ns: u64,
    pub(super) data_fin_due: bool,
    /// Retransmissions on all subflows so far.
    pub(super) retransmissions: u64,
    /// Opportunistic retransmission went this far.
    pub(super) orp_sent_to: u64,
    /// No penalty before this time.
    pub(super) next_penalty_ns: u64,
    /// The scheduler asked to be asked again then.
    pub(super) wait_until_ns: u64,
    /// Place of the peer's DATA_FIN, which is the length of its stream.
    pub(super) data_fin_at: Option<u64>,
    pub(super) over: bool,
}

impl<P: Stream> Connection<P> {
    /// How many bytes at its beginning nearly every segment touches.
    pub(crate) const HOT_BYTES: usize = std::mem::offset_of!(Connection<P>, config);

    pub(super) fn new(config: Config, initiator: bool, key: u64, rng: Xoshiro256PlusPlus) -> Self {
        let mode = match config.protocol {
            Protocol::Tcp => Mode::Tcp,
            Protocol::Mptcp => Mode::Mptcp,
        };
        let binds = mode == Mode::Mptcp && matches!(config.scheduler, scheduler::Choice::Linux);
        let origin = Origin::new(initiator, &rng);
        Connection {
            initiator,
            mode,
            shortcuts: config.tcp.shortcuts,
            sends_plain: config.tcp.shortcuts && matches!(config.scheduler, scheduler::Choice::MinRtt),
            mss: config.mss,
            local_key: key,
            remote_key: None,
            local_idsn: wire::keys::idsn(key),
            remote_idsn: 0,
            fully_established: false,
            established: false,
            rng,
            checksum: config.checksum,
            tcp_subflow: 0,
            rx_single: mode == Mode::Tcp,
            infinite: None,
            addresses: Addresses::default(),
            removals: false,
            subflows: Vec::new(),
            contexts: Vec::new(),
            views: Vec::new(),
            controller: Controller::new(&config.congestion, &origin),
            scheduler: Scheduler::new(&config.scheduler, &origin),
            path_manager: PathManager::new(&config.path_manager, &origin),
            unadopted: Vec::new(),
            queue: P::Queue::default(),
            write_end: 0,
            snd_una: 0,
            snd_nxt: 0,
            bound: binds.then(Box::default),
            snd_right: 0,
            close_requested: false,
            fin_acknowledged: false,
            flushed: false,
            reinjections: Reinjections::default(),
            attention: SubflowSet::default(),
            plain: SubflowSet::default(),
            settled: SubflowSet::default(),
            roomy: SubflowSet(u64::MAX),
            ack_due: SubflowSet::default(),
            may_send: false,
            frto_waits: false,
            signal_due: SubflowSet::default(),
            control_timer_ns: NEVER,
            path_timer_ns: NEVER,
            interrupted_until_ns: NEVER,
            data_fin_due: false,
            data_fin_sent: false,
            data_timer_ns: NEVER,
            data_backoff: 0,
            hole_tried: SubflowSet::default(),
            probe_timer_ns: NEVER,
            probe_backoff: 0,
            probe_due: false,
            retransmissions: 0,
            orp_sent_to: 0,
            next_penalty_ns: 0,
            burst: (0, 0),
            wait_until_ns: NEVER,
            rcv_nxt: 0,
            ready: Ready::new(),
            waiting: Waiting::new(),
            data_fin_at: None,
            end_received: false,
            window: ReceiveWindow::new(config.receive_buffer),
            delays: DelayHistogram::default(),
            events: VecDeque::new(),
            over: false,
            clock_ns: 0,
            last_is_ect: false,
            next_timeout_ns: NEVER,
            config,
        }
    }

    pub(super) fn draw_u32(&mut self) -> u32 {
        self.rng.next_u32()
    }

    /// Enters a subflow with its view; it gets the next id.
    pub(super) fn add_subflow(&mut self, mut subflow: Subflow<P>) -> usize {
        if self.bound.is_some() {
            subflow.validation.become_linux();
        }
        let r = self.subflows.len();
        let options_len = crate::mptcp::transmit::data_options_len(self.mode, subflow.timestamps);
        let mut view =
            View::new(f64::from(self.config.tcp.initial_window), subflow.mss.saturating_sub(options_len as u32).max(1));
        view.backup = subflow.backup;
        view.ssthresh = self.config.tcp.initial_ssthresh.map_or(f64::INFINITY, f64::from);
        // Mostly there is one: places for more would be most of an idle connection's memory.
        self.subflows.reserve_exact(1);
        self.subflows.push(subflow);
        self.unsettle();
        self.contexts.reserve_exact(1);
        self.contexts.push(SubflowContext::new());
        self.views.reserve_exact(1);
        self.views.push(view);
        self.unadopted.push(SubflowId(r as u8));
        self.attention.insert(r);
        r
    }

    /// Where what segments touch of a subflow stands in memory, and how many bytes it takes.
    #[inline]
    pub(crate) fn memory_of(&self, subflow: SubflowId) -> Option<(*const u8, usize)> {
        let place = std::ptr::from_ref(self.subflows.get(usize::from(subflow.0))?);
        Some((place.cast(), std::mem::offset_of!(Subflow<P>, tuple)))
    }

    pub(crate) fn take_unadopted(&mut self) -> Vec<SubflowId> {
        std::mem::take(&mut self.unadopted)
    }

    pub(crate) fn has_unadopted(&self) -> bool {
        !self.unadopted.is_empty()
    }

    /// The token that names this connection to peers that join; none for TCP.
    pub(crate) fn local_token(&self) -> Option<u32> {
        (self.mode == Mode::Mptcp).then(|| wire::keys::token(self.local_key))
    }

    /// The key that the token and the initial data sequence number come from; drawn for TCP too.
    pub(crate) fn local_key(&self) -> u64 {
        self.local_key
    }

    /// Lowers the time at which the driver must call again.
    pub(super) fn wake_by(&mut self, at_ns: u64) {
        self.next_timeout_ns = self.next_timeout_ns.min(at_ns);
    }

    /// Appends to the stream. What is written after [`close`](Self::close) is ignored.
    pub fn write(&mut self, payload: P) {
        if !self.close_requested {
            self.write_end = self.write_end.saturating_add(self.queue.push(payload));
            self.may_send = true;
        }
    }

    /// The next piece of the stream from the peer, in order.
    pub fn read(&mut self) -> Option<P> {
        let payload = self.ready.pop()?;
        if self.window.read(payload.len() as u64, self.rcv_nxt, self.mss) {
            self.acknowledge_everywhere();
        }
        if self.window.round_is_over(self.clock_ns) {
            // The slowest subflow's round trip: the buffer must hold what the others deliver in the meantime.
            let rtt_ns = self.subflows.iter().map(|s| s.receive_rtt_ns).max().unwrap_or(0);
            self.window.next_round(self.clock_ns, rtt_ns, self.config.mss);
        }
        Some(payload)
    }

    pub(super) fn acknowledge_everywhere(&mut self) {
        for (r, subflow) in self.subflows.iter_mut().enumerate() {
            if subflow.is_synchronised() {
                subflow.ack.now = true;
                self.ack_due.insert(r);
            }
        }
    }

    /// Whether there is something to [read](Self::read) or to [hear of](Self::poll_event).
    #[inline]
    #[must_use]
    pub fn has_news(&self) -> bool {
        !self.ready.is_empty() || !self.events.is_empty()
    }

    /// What happened since the last call, in order.
    pub fn poll_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    /// Whether the packet of the segment that [`transmit`](Self::transmit) gave last is to be sent as ECN-capable,
    /// ECT(0) (RFC 3168 §5).
    #[must_use]
    pub fn last_is_ect(&self) -> bool {
        self.last_is_ect
    }

    /// The packet that is about to be received on `subflow` was marked: CE (RFC 3168 §5). To be called before the
    /// segment is handed over. Panics when there is no such subflow.
    pub fn congestion_experienced(&mut self, subflow: SubflowId) {
        self.subflows[subflow.0 as usize].ecn.congestion_experienced();
    }

    /// When [`handle_timeout`](Self::handle_timeout) wants to be called: never later than needed, at times earlier.
    /// `u64::MAX`: not at all.
    #[must_use]
    pub fn next_timeout_ns(&self) -> u64 {
        self.next_timeout_ns
    }

    /// Whether MPTCP was asked for and TCP is spoken.
    #[must_use]
    pub fn is_fallback(&self) -> bool {
        self.config.protocol == Protocol::Mptcp && self.mode == Mode::Tcp
    }

    /// Whether the connection is over: closed in order, reset or given up.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.over
    }

    /// Whether nothing of the connection will be missed: it is over, has nothing left to read, to tell or to send, and
    /// every subflow is past its TIME-WAIT (RFC 9293 §3.6.1).
    #[must_use]
    pub fn is_forgettable(&self) -> bool {
        let gone = |s: &Subflow<P>| s.state == State::Closed && !s.reset_due && !s.ack.now;
        self.over && self.ready.is_empty() && self.events.is_empty() && self.subflows.iter().all(gone)
    }

    /// How many subflows there are or were.
    #[must_use]
    pub fn subflow_count(&self) -> usize {
        self.subflows.len()
    }

    /// The ends of a subflow. Panics when there is no such subflow.
    #[must_use]
    pub fn tuple(&self, subflow: SubflowId) -> Tuple {
        self.subflows[subflow.0 as usize].tuple
    }

    /// What a scheduler sees of the subflows.
    #[must_use]
    pub fn views(&self) -> &[View] {
        &self.views
    }

    /// Counters and present state of a subflow. Panics when there is no such subflow.
    #[must_use]
    pub fn statistics(&self, subflow: SubflowId) -> Statistics {
        let (s, v) = (&self.subflows[subflow.0 as usize], &self.views[subflow.0 as usize]);
        Statistics {
            cwnd_segments: v.cwnd,
            srtt_ns: v.srtt_ns,
            in_flight_segments: v.in_flight,
            rtt_sum_ns: s.rtt.sum_ns,
            rtt_samples: s.rtt.samples,
            ..s.statistics
        }
    }

    /// How long the bytes delivered so far waited at this host for those before them.
    #[must_use]
    pub fn out_of_order_delays(&self) -> &DelayHistogram {
        &self.delays
    }

    /// Bytes delivered in order so far, read or waiting to be read.
    #[must_use]
    pub fn bytes_in_order(&self) -> u64 {
        self.rcv_nxt
    }

    /// Bytes that were written and the peer has not acknowledged at the data level, sent or not.
    #[must_use]
    pub fn bytes_unacknowledged(&self) -> u64 {
        self.write_end - self.snd_una
    }

    /// Bytes that were written and not sent yet.
    #[must_use]
    pub fn bytes_unsent(&self) -> u64 {
        self.write_end - self.snd_nxt
    }

    /// Takes back what was written and never sent: the stream ends at what was sent. To be followed by
    /// [`close`](Self::close).
    pub fn withdraw(&mut self) {
        self.write_end = self.snd_nxt;
    }

    /// How many things the connection keeps whose number a peer can influence: segments in either direction, mappings,
    /// options to send, addresses. Its memory grows with them and with nothing else.
    #[must_use]
    pub fn items_held(&self) -> usize {
        let subflows = self.subflows.iter().map(|s| s.board.outstanding() as usize + s.reorder.len());
        let own = self.ready.len() + self.waiting.len() + self.reinjections.len() + self.addresses.len();
        let own = own + self.bound.as_ref().map_or(0, |b| b.len());
        subflows.chain(self.contexts.iter().map(SubflowContext::items_held)).fold(own, usize::saturating_add)
    }

    pub(super) fn finish(&mut self, event: Event) {
        if !self.over {
            self.over = true;
            self.events.push_back(event);
            self.data_timer_ns = NEVER;
            self.probe_timer_ns = NEVER;
            self.interrupted_until_ns = NEVER;
            self.path_timer_ns = NEVER;
        }
    }

    pub(super) fn all_subflows_closed(&self) -> bool {
        self.subflows.iter().all(|s| matches!(s.state, State::Closed | State::TimeWait))
    }
}

impl Connection<Span> {
    /// The application offers so many bytes more; `u64::MAX` is a stream without end.
    pub fn offer(&mut self, bytes: u64) {
        if !self.close_requested {
            self.write_end = self.write_end.saturating_add(bytes);
            self.may_send = true;
        }
    }
}
