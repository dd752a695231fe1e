//! The state of a connection and what an application does with it.

mod add_addr;
pub(crate) mod at_once;
mod checksum;
mod close;
mod data;
mod data_level;
mod dispatch;
mod fallback;
#[cfg(test)]
mod fixture;
mod handshake;
mod icmp;
mod join;
mod linux_receiver;
mod linux_windows;
mod mp_fail;
mod mp_fastclose;
mod mp_prio;
pub(super) mod outgoing;
mod own_window;
mod paths;
mod plan;
mod probe;
mod receive;
mod reinject;
mod remove_addr;
mod reset;
mod signal;
mod smallest_rtt;
mod stale;
mod timers;
mod tracing;
mod transmit;
mod tuning;

use std::collections::VecDeque;
use std::sync::Arc;

use wire::{Flags, IcmpKind, Span};

use super::first_windows::{counted_mss, first_rcv_ssthresh, first_receive_window, first_window};
use super::state::addresses::Addresses;
use super::state::context::SubflowContext;
use super::state::control::ControlTimers;
use super::state::data_level::DataLevel;
use super::state::due::Due;
use super::state::ending::{AbortReason, Ending};
use super::state::fallback::Fallback;
use super::state::held_memory::HeldMemory;
use super::state::keys::{DataNumbers, Keys};
use super::state::plan::SendPlan;
use super::state::receive_stream::ReceiveStream;
use super::state::reinjection::Reinjections;
use super::state::send_stream::SendStream;
use super::state::silence::Silence;
use super::state::stream_timers::StreamTimers;
use super::state::tracing::Tracing;
use super::state::usual::Usual;
use crate::algorithm::Capability;
use crate::congestion::{CongestionControl, Controller, View};
use crate::names::{SubflowId, Tuple};
use crate::path_manager::PathManager;
use crate::plugin::Origin;
use crate::queue::Sendable;
use crate::scheduler::{PacketScheduler, Repair, Scheduler, SubflowSet};
use crate::secrets::Secrets;
use crate::statistics::{DelayHistogram, Statistics};
use crate::tcp::losses::Losses;
use crate::tcp::subflow::{State, Subflow};
use crate::time::Instant;
use crate::time_wait::Resting;
use crate::waits::{Sending, WaitByteNs};
use crate::{Config, IpFields, Kernel, Receiver, WindowValidation};

/// How many subflows a connection can have in its life, those that are gone counted: each that was established keeps its
/// id and its counters, and sets of them are words of the machine. The ids of failed joins are given out again. One more is not opened; one that the peer opens is refused with
/// MP_TCPRST "lack of resources", and without T, for trying again would not help (RFC 8684 §3.6). How many are open at
/// once is [`Config::max_subflows`](crate::Config::max_subflows).
pub const SUBFLOW_LIMIT: usize = u64::BITS as usize;

/// What happened to a connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Event {
    /// Data can be carried both ways.
    Established,
    /// A subflow can carry data.
    SubflowEstablished(SubflowId),
    /// A subflow is gone.
    SubflowClosed(SubflowId),
    /// ICMP tells of trouble with a segment of a subflow, which ends nothing (RFC 9293 §3.9.2.2): each kind once until it is
    /// heard of.
    SoftError(SubflowId, IcmpKind),
    /// The peer has not answered what was sent again on a subflow so often that something is wrong (RFC 9293 §3.8.3, R1).
    Unresponsive(SubflowId),
    /// The peer sends no more; all it sent can be read.
    EndOfStream,
    /// All that was written, and the end of it, was acknowledged by the peer at the data level.
    Flushed,
    /// Both directions ended in order and every subflow is closed.
    Closed,
    /// Reset by the peer, or given up; [`Connection::abort_reason`] tells why.
    Aborted,
}

/// A connection.
// The order of the fields is kept: what nearly every segment touches stands first, in as few lines of the cache as may be. No
// connection begins with a line: a host's list of them grows in place as long as its alignment is the allocator's.
#[derive(Debug)]
#[repr(C)]
pub struct Connection<P: Sendable> {
    subflows: Vec<Subflow<P>>,
    views: Vec<View>,
    /// A lower bound of all timers.
    next_timeout: Instant,
    /// Time of the last call that had one.
    clock: Instant,

    due: Due,
    usual: Usual,

    level: DataLevel,
    established: bool,
    initiator: bool,
    ending: Ending,
    fallback: Fallback,
    /// What happened and was not told yet; mostly nothing.
    #[expect(clippy::box_collection, reason = "mostly there is none")]
    events: Option<Box<VecDeque<Event>>>,
    numbers: DataNumbers,
    /// Subflows that the host has not entered yet.
    unadopted: SubflowSet,

    timers: StreamTimers,
    tx: SendStream<P>,
    rx: ReceiveStream<P>,
    // Here ends what data that arrives touches.
    /// What waits on subflows; none as long as the scheduler binds nothing ahead.
    plan: Option<Box<SendPlan>>,
    /// The subflows that the scheduler's burst goes to, and how many segments of it are left.
    burst: (SubflowSet, u32),
    controller: Controller,
    reinjections: Reinjections,

    // What few do.
    /// The ends of joins that failed, and the ids that they had.
    #[expect(clippy::box_collection, reason = "hardly any connection has some")]
    reclaimed: Option<Box<Vec<(Tuple, SubflowId)>>>,
    /// Shared by all connections that were made with it.
    config: Arc<Config>,
    contexts: Vec<SubflowContext<P>>,
    keys: Keys,
    secrets: Secrets,
    addresses: Addresses,
    scheduler: Scheduler,
    path_manager: PathManager,
    /// Of subflows, where losses are repaired as in Linux.
    silence: Option<Box<Silence>>,
    control: ControlTimers,
    /// Subflows that their own windows keep from sending.
    narrow: SubflowSet,
    /// Who hears what is decided, and what was told.
    trace: Option<Box<Tracing>>,
}

impl<P: Sendable> Connection<P> {
    /// How many bytes at its beginning nearly every segment touches.
    pub(crate) const HOT_BYTES: usize = std::mem::offset_of!(Connection<P>, config);

    pub(super) fn new(mut config: Arc<Config>, initiator: bool, key: u64, secrets: Secrets) -> Self {
        let level = DataLevel::of(config.protocol);
        // A scalable control without marks would know losses only.
        if config.congestion.has(Capability::Scalable) && !config.tcp.ecn {
            Arc::make_mut(&mut config).tcp.ecn = true;
        }
        let origin = Origin::new(initiator, secrets.generator());
        let scheduler = config.scheduler.make(&origin);
        let as_linux = level.is_multipath() && scheduler.repair() == Repair::Kernel;
        let mut rx = ReceiveStream::new(first_receive_window(&config, initiator));
        rx.short_acks = as_linux && config.tcp.tso;
        if config.tcp.receiver == Receiver::Linux {
            let memory = || HeldMemory::new(counted_mss(&config), first_window(&config, initiator), config.tcp.kernel);
            rx.be_linux(level.is_multipath().then(memory));
            rx.second_at_once = level.is_multipath() && config.tcp.kernel == Kernel::V6_1;
        }
        let checksum = level.is_multipath() && config.checksum;
        let mut connection = Connection {
            subflows: Vec::new(),
            views: Vec::new(),
            contexts: Vec::new(),
            usual: Usual::new(config.tcp.shortcuts, scheduler.is_smallest_rtt() && !config.tcp.tso),
            due: Due::default(),
            fallback: Fallback::new(!level.is_multipath(), config.checksum),
            level,
            ending: Ending::default(),
            established: false,
            next_timeout: Instant::NEVER,
            clock: Instant::ZERO,
            numbers: DataNumbers::new(key),
            tx: SendStream::new(),
            rx,
            timers: StreamTimers::new(),
            burst: (SubflowSet::default(), 0),
            unadopted: SubflowSet::default(),
            reclaimed: None,
            events: None,
            controller: config.congestion.make(&origin),
            reinjections: Reinjections::default(),
            initiator,
            keys: Keys { local: key, remote: None },
            secrets,
            addresses: Addresses::default(),
            scheduler,
            path_manager: config.path_manager.make(&origin),
            plan: None,
            silence: as_linux.then(|| Box::new(Silence::new(config.tcp.receiver == Receiver::Linux))),
            control: ControlTimers::new(),
            narrow: SubflowSet::default(),
            trace: None,
            config,
        };
        if checksum {
            connection.require_checksum();
        }
        connection
    }

    /// Enters a subflow with its view; it gets the next id, or when there is none that of a join that failed.
    pub(super) fn add_subflow(&mut self, mut subflow: Subflow<P>) -> usize {
        let kernel = self.repair() == Repair::Kernel;
        let linux = kernel || self.config.tcp.window_validation == WindowValidation::Linux;
        subflow.serve(self.controller.feedback(), linux, kernel);
        subflow.begin_window(first_rcv_ssthresh(&self.config, subflow.is_active_open()));
        subflow.tell_control(self.controller.wants_samples(), self.config.congestion.has(Capability::Scalable));
        let r = self.subflows.len();
        let initial_window = subflow.bounded(self.config.tcp.initial_window.into());
        let mut view = View::new(initial_window, self.segment_octets(&subflow));
        view.backup = subflow.is_backup();
        view.ssthresh = self.config.tcp.initial_ssthresh.map_or(f64::INFINITY, f64::from);
        if r == SUBFLOW_LIMIT
            && let Some(reused) = self.reusable_id()
        {
            return self.reuse_id(reused, subflow, view);
        }
        // Mostly there is one: places for more would be most of an idle connection's memory.
        self.subflows.reserve_exact(1);
        self.subflows.push(subflow);
        self.usual.forget();
        self.contexts.reserve_exact(1);
        self.contexts.push(SubflowContext::new());
        self.views.reserve_exact(1);
        self.views.push(view);
        self.unadopted.insert(r);
        self.due.attention.insert(r);
        r
    }

    /// Puts a subflow in the place of a join that failed.
    #[cold]
    fn reuse_id(&mut self, r: usize, mut subflow: Subflow<P>, view: View) -> usize {
        subflow.go_on_counting(&mut self.subflows[r]);
        let old = std::mem::replace(&mut self.subflows[r], subflow);
        self.reclaimed.get_or_insert_default().push((old.tuple(), SubflowId(r as u8)));
        self.contexts[r] = SubflowContext::new();
        self.views[r] = view;
        self.narrow.remove(r);
        self.usual.forget();
        self.unadopted.insert(r);
        self.due.attention.insert(r);
        r
    }

    /// The ends of failed joins whose ids other subflows have now.
    pub(crate) fn take_reclaimed(&mut self) -> Vec<(Tuple, SubflowId)> {
        self.reclaimed.take().map_or_else(Vec::new, |reclaimed| *reclaimed)
    }

    /// Where what segments touch of a subflow stands in memory, and how many bytes it takes.
    #[inline]
    pub(crate) fn memory_of(&self, subflow: SubflowId) -> Option<(*const u8, usize)> {
        let place = std::ptr::from_ref(self.subflows.get(usize::from(subflow.0))?);
        Some((place.cast(), Subflow::<P>::HOT_BYTES))
    }

    pub(crate) fn next_unadopted(&mut self) -> Option<SubflowId> {
        self.unadopted.pop().map(|r| SubflowId(r as u8))
    }

    pub(crate) fn has_unadopted(&self) -> bool {
        self.unadopted.0 != 0
    }

    /// The key that the token and the initial data sequence number come from; drawn for TCP too.
    pub(crate) fn local_key(&self) -> u64 {
        self.keys.local
    }

    /// Lowers the time at which the driver must call again.
    #[inline(always)]
    pub(super) fn wake_by(&mut self, at: Instant) {
        self.next_timeout = self.next_timeout.min(at);
    }

    /// The driver must call again then, and not before.
    pub(super) fn wake_at(&mut self, at: Instant) {
        self.next_timeout = at;
    }

    /// Whether this host began the connection.
    pub(super) fn is_initiator(&self) -> bool {
        self.initiator
    }

    pub(super) fn set_established(&mut self) {
        self.established = true;
    }

    /// A call begins.
    #[inline(always)]
    pub(super) fn set_clock(&mut self, now: Instant) {
        self.clock = now;
    }

    /// Time of the last call that had one.
    pub(super) fn clock(&self) -> Instant {
        self.clock
    }

    /// Appends to the stream. What is written after [`close`](Self::close) is ignored.
    pub fn write(&mut self, payload: P) {
        if !self.ending.is_requested() {
            self.tx.write(payload);
            self.due.data = true;
        }
    }

    /// Says how many bytes the application will have written in all before it [closes](Self::close). Schedulers that look at
    /// what is left of a flow need it where the data is written bit by bit; it binds nobody, and may be said again.
    pub fn set_flow_size(&mut self, bytes: u64) {
        self.tx.announce(bytes);
    }

    /// The next piece of the stream from the peer, in order.
    pub fn read(&mut self) -> Option<P> {
        let (payload, may_open) = self.rx.read(self.clock)?;
        if self.rx.reads_on() {
            return Some(payload);
        }
        if may_open && self.reading_opens() {
            self.acknowledge_everywhere();
        }
        let grew = self.rx.window.round_is_over(self.clock) && self.tune_window(self.clock);
        if grew && self.rx.counts_memory() {
            self.acknowledge_opened();
        }
        if self.due.pushed.0 != 0 && (self.rx.is_all_read() || self.has_twice() || grew && self.rx.counts_memory()) {
            self.acknowledge_pushed();
        }
        Some(payload)
    }

    /// Whether the peer should be told at once that reading has opened the window. Linux looks at each subflow: an acknowledgment that is
    /// due has left before.
    #[cold]
    fn reading_opens(&mut self) -> bool {
        let left_before = self.config.tcp.receiver == Receiver::Linux && self.due.acks.0 != 0;
        if self.rx.counts_memory() {
            if self.has_twice() {
                self.acknowledge_opened();
            }
            return false;
        }
        if left_before {
            self.acknowledge_opened();
            return false;
        }
        self.rx.opens(self.config.mss)
    }

    /// Whether Linux's Multipath TCP has read so much that each subflow looks whether it is to tell of it.
    #[cold]
    fn has_twice(&self) -> bool {
        let mut owing = self.due.acks;
        let owing = owing.pop().filter(|_| !self.due.is_read);
        self.rx.has_twice(self.clock, owing.map(|r| &self.subflows[r]))
    }

    /// Linux has read much, or the buffer has grown: each subflow looks whether it is to tell of that (`tcp_cleanup_rbuf`).
    #[cold]
    fn acknowledge_opened(&mut self) {
        let (owing, is_read) = (self.due.acks, self.due.is_read);
        for r in 0..self.subflows.len() {
            let subflow = &mut self.subflows[r];
            let owes = owing.contains(r);
            if owes && is_read {
                continue; // it does so
            }
            // What leaves behind the reading anyway tells of it.
            let told = if owes { self.rx.will_tell(self.clock, subflow) } else { Some(subflow.window_left()) };
            if !subflow.is_synchronised() || !told.is_some_and(|told| self.rx.opens_on(subflow, told)) {
                continue;
            }
            if owes {
                self.due.twice = Some(r as u8);
            } else {
                subflow.acknowledge_opened(self.clock);
                self.due.acks.insert(r);
                self.due.pushed.insert(r);
            }
            self.due.is_read = true;
            self.rx.note_opened();
        }
    }

    /// Everything has been read, or there is much room: what came with PSH is acknowledged now. Its sender may have nothing else to send before it
    /// is (Linux: `tcp_cleanup_rbuf`).
    #[cold]
    fn acknowledge_pushed(&mut self) {
        let mut pushed = std::mem::take(&mut self.due.pushed);
        if self.rx.counts_memory() && !self.due.is_read {
            // One that waits for the reading has its turn among those that come of it.
            let mut owing = self.due.acks;
            while let Some(r) = owing.pop() {
                if self.rx.will_tell(self.clock, &self.subflows[r]).is_none() {
                    self.due.pushed.insert(r);
                }
            }
        }
        while let Some(r) = pushed.pop() {
            let twice = self.due.twice == Some(r as u8);
            let left_before = self.due.acks.contains(r) && (twice || !self.due.is_read);
            // Of Linux the buffer of the subflow must be empty, what waits behind a hole included.
            if self.config.tcp.receiver == Receiver::Linux && self.subflows[r].has_pieces() {
                continue;
            }
            if self.subflows[r].is_synchronised() && self.subflows[r].acknowledge_read(self.clock) {
                self.due.acks.insert(r);
                if self.config.tcp.receiver == Receiver::Linux && !left_before {
                    self.due.pushed.insert(r);
                }
            }
        }
        self.due.is_read = self.due.pushed.0 != 0 || self.due.twice.is_some();
        if self.due.is_read {
            self.rx.note_opened();
        }
    }

    /// Subflow `r` acknowledges, at once or by then.
    #[inline(always)]
    fn owe_by(&mut self, r: usize, (due, deadline): (bool, Instant)) {
        self.due.acks.0 |= u64::from(due) << r;
        self.wake_by(deadline);
    }

    /// Subflow `r` acknowledges at once.
    #[inline]
    pub(super) fn owe_acknowledgment(&mut self, r: usize) {
        self.subflows[r].acknowledge_now();
        self.due.acks.insert(r);
    }

    pub(super) fn acknowledge_everywhere(&mut self) {
        for r in 0..self.subflows.len() {
            if self.subflows[r].is_synchronised() {
                self.owe_acknowledgment(r);
            }
        }
    }

    /// Whether there is something to [read](Self::read) or to [hear of](Self::poll_event).
    #[inline]
    pub fn has_news(&self) -> bool {
        !self.rx.ready.is_empty() || self.events.is_some()
    }

    /// Whether [`transmit`](Self::transmit) may have a segment to send.
    #[inline]
    pub fn has_due(&self) -> bool {
        !self.due.is_nothing()
    }

    /// What happened since the last call, in order.
    pub fn poll_event(&mut self) -> Option<Event> {
        let event = self.events.as_mut()?.pop_front();
        if self.events.as_ref().is_some_and(|events| events.is_empty()) {
            self.events = None; // the next may be long in coming
        }
        event
    }

    /// Something that the application is to hear of.
    #[cold]
    pub(super) fn report(&mut self, event: Event) {
        self.events.get_or_insert_default().push_back(event);
    }

    /// The packet that is about to be received on `subflow` was marked: CE (RFC 3168 §5). To be called before the
    /// segment is handed over. Panics when there is no such subflow.
    pub fn congestion_experienced(&mut self, subflow: SubflowId) {
        self.subflows[subflow.0 as usize].congestion_experienced();
    }

    /// What the IP headers of its packets are to say.
    pub fn ip_fields(&self) -> IpFields {
        self.config.ip
    }

    /// Changes that from now on (RFC 9293, SHLD-21). Panics when there is no such code point, or nothing would arrive.
    pub fn set_ip_fields(&mut self, fields: IpFields) {
        assert!(fields.dscp < 64 && fields.hop_limit > 0, "{fields:?}");
        Arc::make_mut(&mut self.config).ip = fields;
    }

    /// Whether a short segment waits while data is outstanding (Nagle), from now on (RFC 9293, MUST-17).
    pub fn set_nagle(&mut self, nagle: bool) {
        Arc::make_mut(&mut self.config).tcp.nagle = nagle;
        self.due.data = true;
    }

    /// How often the same data is sent again before a subflow is given up (R2), from now on (RFC 9293, MUST-21).
    pub fn set_retries(&mut self, retries: u32) {
        Arc::make_mut(&mut self.config).tcp.retries = retries;
    }

    /// What [`read`](Self::read) would answer, which stays to be read.
    pub fn peek(&self) -> Option<&P> {
        self.rx.ready.first()
    }

    /// Something that the application is to hear of once, however often it happens before it asks.
    #[cold]
    pub(super) fn tell_once(&mut self, event: Event) {
        if self.events.as_ref().is_none_or(|events| !events.contains(&event)) {
            self.report(event);
        }
    }

    /// When [`handle_timeout`](Self::handle_timeout) wants to be called: never later than needed, at times earlier.
    /// `u64::MAX`: not at all.
    pub fn next_timeout(&self) -> Instant {
        self.next_timeout
    }

    /// Whether what arrives when a timer expires is to be received first. As in Linux, where acknowledgments of paced segments come with
    /// the same gaps as the timer of pacing (`NET_RX_SOFTIRQ`, `HRTIMER_SOFTIRQ`; its other timers run before both, which matters to
    /// the nanosecond only).
    pub fn receives_before_timers(&self) -> bool {
        self.config.tcp.tso
    }

    /// Whether the connection is over: closed in order, reset or given up.
    pub fn is_over(&self) -> bool {
        self.ending.has_finished()
    }

    /// Why the connection was aborted; none while it was not.
    pub fn abort_reason(&self) -> Option<AbortReason> {
        let aborted = self.ending.has_finished() && !(self.ending.is_flushed() && self.rx.ended());
        aborted.then(|| self.ending.cause().unwrap_or(AbortReason::Local))
    }

    /// Whether the connection has no subflow left and waits for one.
    pub fn is_interrupted(&self) -> bool {
        self.control.is_interrupted()
    }

    /// The state of a subflow by its name in RFC 9293 §3.3.2. Panics when there is no such subflow.
    pub fn state(&self, subflow: SubflowId) -> &'static str {
        match self.subflows[subflow.0 as usize].state() {
            State::SynSent => "SYN-SENT",
            State::SynReceived => "SYN-RECEIVED",
            State::Established => "ESTABLISHED",
            State::FinWait1 => "FIN-WAIT-1",
            State::FinWait2 => "FIN-WAIT-2",
            State::CloseWait => "CLOSE-WAIT",
            State::Closing => "CLOSING",
            State::LastAck => "LAST-ACK",
            State::TimeWait => "TIME-WAIT",
            State::Closed => "CLOSED",
        }
    }

    /// Whether nothing of the connection will be missed: it is over, has nothing left to read, to tell or to send, and
    /// every subflow is past its TIME-WAIT (RFC 9293 §3.6.1).
    pub fn is_forgettable(&self) -> bool {
        self.is_over_unless(|subflow| subflow.state() != State::Closed)
    }

    /// Whether data could be carried both ways, once.
    #[inline]
    pub fn is_established(&self) -> bool {
        self.established
    }

    /// As [`is_forgettable`](Self::is_forgettable), but for subflows in TIME-WAIT.
    pub fn is_at_rest(&self) -> bool {
        self.is_over_unless(Subflow::is_open)
    }

    /// It is over, nothing is left to read or to tell, and no subflow `matters` or has an answer to give.
    fn is_over_unless(&self, matters: fn(&Subflow<P>) -> bool) -> bool {
        self.ending.has_finished()
            && self.rx.ready.is_empty()
            && self.events.is_none()
            && !self.subflows.iter().any(|subflow| matters(subflow) || subflow.owes_answer())
    }

    /// What its subflows in TIME-WAIT still have to say.
    pub(crate) fn take_resting(&mut self, now: Instant) -> Vec<(Tuple, Resting<P>)> {
        let resting = (0..self.subflows.len()).filter(|&r| self.subflows[r].state() == State::TimeWait);
        let resting: Vec<usize> = resting.collect();
        let rest = |r: usize| {
            let seq = self.subflows[r].snd_nxt();
            let ack = self.segment(now, r, seq, Flags::ACK);
            (self.subflows[r].tuple(), Resting { until: self.subflows[r].timer(), ack })
        };
        resting.into_iter().map(rest).collect()
    }

    /// How many subflows there are or were.
    pub fn subflow_count(&self) -> usize {
        self.subflows.len()
    }

    /// The ends of a subflow. Panics when there is no such subflow.
    pub fn tuple(&self, subflow: SubflowId) -> Tuple {
        self.subflows[subflow.0 as usize].tuple()
    }

    /// What a scheduler sees of the subflows.
    pub fn views(&self) -> &[View] {
        &self.views
    }

    /// When the retransmission timeouts of a subflow were, in order.
    pub fn timeout_times(&self, subflow: SubflowId) -> &[Instant] {
        self.subflows[subflow.0 as usize].losses().map_or(&[], |losses| &losses.timeout_times)
    }

    /// From now on the first data sent again on another subflow counts as the first: a path has just ended.
    pub fn watch_reinjections(&mut self) {
        self.subflows.iter_mut().for_each(|subflow| subflow.watch_reinjections());
    }

    /// When data was first sent again on another subflow since then.
    pub fn first_reinjection_at(&self) -> Option<Instant> {
        let all = self.subflows.iter().filter_map(|subflow| subflow.losses());
        all.map(|losses| losses.first_reinjection_at).filter(|&at| !at.is_zero()).min()
    }

    /// Counters and present state of a subflow. Panics when there is no such subflow.
    pub fn statistics(&self, subflow: SubflowId) -> Statistics {
        let (s, v) = (&self.subflows[subflow.0 as usize], &self.views[subflow.0 as usize]);
        let lost = s.losses();
        let of = |count: fn(&Losses) -> u64| lost.map_or(0, count);
        let waited = s.waited();
        Statistics {
            cwnd_segments: v.cwnd,
            srtt_ns: v.srtt.as_nanos(),
            in_flight_segments: v.in_flight,
            rtt_sum_ns: s.rtt().sum_ns,
            rtt_samples: s.rtt().samples,
            data_segments_sent: s.sent().data_segments,
            retransmissions: s.sent().retransmissions,
            timeouts: of(|losses| losses.timeouts),
            undone: of(|losses| losses.undone),
            marks: of(|losses| losses.marks),
            probes: of(|losses| losses.probes),
            reinjections: of(|losses| losses.reinjections),
            first_reinjection_ns: of(|losses| losses.first_reinjection_at.as_nanos()),
            established_ns: s.sent().established_at.as_nanos(),
            cwnd_integral_segment_ns: s.sent().cwnd_integral_segment_ns,
            cwnd_integral_until_ns: s.sent().cwnd_integral_until.as_nanos(),
            new_bytes_received: s.received().new_bytes,
            data_segments_received: s.received().data_segments,
            others_waited_byte_ns: waited.for_others_byte_ns,
            own_waited_byte_ns: waited.for_own_byte_ns,
        }
    }

    /// The congestion control's own numbers of a subflow, in the order of the columns of its choice; the others are left as
    /// they are. Panics when there is no such subflow.
    pub fn show(&self, subflow: SubflowId, now: Instant, columns: &mut [f64]) {
        self.controller.show(&self.views, subflow.0 as usize, now, columns);
    }

    /// How long the bytes delivered so far waited at this host for those before them.
    pub fn out_of_order_delays(&self) -> &DelayHistogram {
        self.rx.delays()
    }

    /// Whether bytes that had waited were freed since [`attribute`](Self::attribute) was called.
    #[inline]
    pub fn has_freed(&self) -> bool {
        self.rx.freed
    }

    /// The segment that freed them had been sent for this reason.
    pub fn attribute(&mut self, sending: Sending) {
        self.rx.freed = false;
        if let Some(waits) = self.rx.waits_mut() {
            waits.close(sending);
        }
    }

    /// Why this end last sent what has this sequence number on the wire. A driver asks as it sends a segment that is not known
    /// to be new, and keeps the answer beside it: later the same data may have been sent once more.
    pub fn decision_on(&self, subflow: SubflowId, seq: u32) -> Sending {
        let subflow = &self.subflows[subflow.0 as usize];
        subflow.board().sending_of(subflow.our_seq(seq))
    }

    /// What bytes waited at this host for `subflow`, in byte·ns, by the reason for which it was sent. All subflows together
    /// made bytes wait as long as [`out_of_order_delays`](Self::out_of_order_delays) says.
    pub fn waited(&self, subflow: SubflowId) -> WaitByteNs {
        self.rx.waits().map(|waits| waits.of(subflow.0 as usize)).unwrap_or_default()
    }

    /// Bytes delivered in order so far, read or waiting to be read.
    pub fn bytes_in_order(&self) -> u64 {
        self.rx.nxt().octets()
    }

    /// Bytes that were written and the peer has not acknowledged at the data level, sent or not.
    pub fn bytes_unacknowledged(&self) -> u64 {
        self.tx.end() - self.tx.una()
    }

    /// Bytes that were written and not sent yet.
    pub fn bytes_unsent(&self) -> u64 {
        self.tx.unsent()
    }

    /// Takes back what was written and never sent: the stream ends at what was sent. To be followed by
    /// [`close`](Self::close).
    pub fn withdraw(&mut self) {
        self.tx.withdraw();
    }

    /// How many things the connection keeps whose number a peer can influence: segments in either direction, mappings,
    /// options to send, addresses. Its memory grows with them and with nothing else.
    pub fn items_held(&self) -> usize {
        let subflows = self.subflows.iter().map(|s| s.items_held());
        let own = self.rx.len() + self.reinjections.len() + self.addresses.len();
        let own = own + self.plan.as_ref().map_or(0, |plan| plan.len());
        subflows.chain(self.contexts.iter().map(SubflowContext::items_held)).fold(own, usize::saturating_add)
    }

    pub(super) fn finish(&mut self, event: Event) {
        if self.ending.set_finished() {
            self.report(event);
            self.timers.stop();
            self.control.stop();
        }
    }

    /// The id of a join that came to nothing: no data went over it, and no congestion control has heard of it. A peer that
    /// opens subflows and never completes them must not use up the ids.
    pub(super) fn reusable_id(&self) -> Option<usize> {
        let failed = |r: &usize| {
            let subflow = &self.subflows[*r];
            let lived = !subflow.sent().established_at.is_zero() || subflow.received().data_segments > 0;
            subflow.state() == State::Closed && subflow.join().is_some() && !lived && !subflow.owes_reset()
        };
        (1..self.subflows.len()).find(failed)
    }

    /// The timers of the data level, and of the scheduler.
    pub(super) fn own_timers(&self) -> [Instant; 3] {
        [self.timers.retransmit_at(), self.timers.probe_at(), self.control.scheduler_at()]
    }

    pub(super) fn learn_key(&mut self, key: u64) {
        self.keys.remote = Some(key);
        self.numbers.learn(key);
    }

    /// Whether handshake and closing, fallback, checksums, ECN and the peer's windows have no say on subflow `r`. What this
    /// depends on changes with a call of `usual.forget`, or with a segment that is received whole.
    #[inline(never)]
    fn is_usual(&self, r: usize) -> bool {
        self.is_level_usual(r)
            && !self.ending.is_read_closed()
            && !self.narrow.contains(r)
            && self.subflows[r].is_usual()
            && self.contexts[r].held.is_none()
            && self.is_established()
            && self.contexts[r].removal_at().is_never()
            && !self.rx.is_ending()
            && self.usual.enabled()
    }

    /// As [`is_usual`](Self::is_usual), from memory where it is known.
    #[inline]
    pub(super) fn is_known_usual(&mut self, r: usize) -> bool {
        if self.usual.knows(r) {
            debug_assert!(self.is_usual(r));
            return true;
        }
        let usual = self.is_usual(r);
        if usual {
            self.usual.note(r);
        }
        usual
    }
}

impl Connection<Span> {
    /// The application offers so many bytes more; `u64::MAX` is a stream without end.
    pub fn offer(&mut self, bytes: u64) {
        if !self.ending.is_requested() {
            self.tx.offer(bytes);
            self.due.data = true;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// In lines of 64 bytes: data that arrives touches the first seven. The eighth has the end of the stream and the buffer's round.
    #[test]
    fn what_data_touches_stands_in_front_and_an_idle_end_is_small() {
        type End = Connection<Span>;
        assert!(std::mem::offset_of!(End, plan) <= 8 * 64, "{}", std::mem::offset_of!(End, plan));
        let each = size_of::<Subflow<Span>>() + size_of::<SubflowContext<Span>>() + size_of::<View>();
        let idle = size_of::<End>() + each;
        assert!(idle <= 1_840, "{idle} bytes");
    }
}
