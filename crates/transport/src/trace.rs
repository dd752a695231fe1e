//! A record of why: what a connection decides, told at the places where it decides it.
//!
//! A connection [with a trace](crate::Connection::set_trace) tells a [`Trace`] each [`TraceEvent`]; one without tells nothing and
//! pays nothing. A traced connection sends the same segments at the same times: it only leaves out the short ways
//! ([`TcpOptions::shortcuts`](crate::TcpOptions::shortcuts)), so that every segment passes the places that tell.
//!
//! Serialised, an event is `{"name": …, "data": {…}}`, as an event of qlog (draft-ietf-quic-qlog-main-schema) has it, with the
//! names of fields as here. Times are nanoseconds on the driver's clock, windows are segments, data is bytes. Sequence numbers
//! count from the SYN of their direction, which is 0; `data_offset` counts from the first byte of the stream, which is 0.

use serde::Serialize;

use crate::names::{SubflowId, Tuple};
use crate::time::Instant;

/// Hears what a connection decides.
pub trait Trace: std::fmt::Debug + Send {
    /// Something was decided at `now`.
    fn event(&mut self, now: Instant, event: &TraceEvent);
}

/// Declares the events with their names, and the list of all names.
macro_rules! events {
    ($($(#[doc = $doc:literal])* $name:literal $variant:ident { $($(#[doc = $field_doc:literal])* $field:ident: $type:ty,)* })*) => {
        /// What was decided, or happened.
        #[derive(Clone, PartialEq, Debug, Serialize)]
        #[serde(tag = "name", content = "data")]
        #[allow(missing_docs)]
        pub enum TraceEvent {
            $($(#[doc = $doc])* #[serde(rename = $name)] $variant { $($(#[doc = $field_doc])* $field: $type,)* },)*
        }

        impl TraceEvent {
            /// Each kind: its name in qlog, the names of its fields, and its description.
            pub const KINDS: &'static [(&'static str, &'static [&'static str], &'static str)] =
                &[$(($name, &[$(stringify!($field)),*], concat!($($doc),*)),)*];

            /// Its name in qlog.
            pub fn name(&self) -> &'static str {
                match self { $(TraceEvent::$variant { .. } => $name,)* }
            }
        }
    };
}

events! {
    /// A segment with data or FIN goes out.
    "tcp:segment_sent" SegmentSent {
        subflow: SubflowId,
        seq: u64,
        bytes: u64,
        fin: bool,
        data_offset: u64,
        why: Sent,
        /// With it.
        in_flight_segments: u32,
        cwnd_segments: f64,
    }
    /// A segment counts as lost.
    "tcp:segment_lost" SegmentLost {
        subflow: SubflowId,
        seq: u64,
        bytes: u64,
        data_offset: u64,
        rule: LossRule,
    }
    /// The last loss turns out to have been none, and the window returns (RFC 4015).
    "tcp:loss_spurious" LossSpurious {
        subflow: SubflowId,
        shown_by: Spurious,
    }
    /// Losses are repaired from now on.
    "tcp:recovery_entered" RecoveryEntered {
        subflow: SubflowId,
        after: Recovery,
        /// It is over when all below this sequence number is acknowledged (RFC 6675, RecoveryPoint).
        recovery_point: u64,
    }
    /// All that was under way when recovery began is acknowledged, or nothing was lost after all.
    "tcp:recovery_left" RecoveryLeft {
        subflow: SubflowId,
    }
    /// The congestion window or the slow start threshold has changed.
    "tcp:window_changed" WindowChanged {
        subflow: SubflowId,
        cwnd_segments: f64,
        /// None: there was no loss yet.
        ssthresh_segments: Option<f64>,
        in_flight_segments: u32,
        mss_bytes: u32,
        srtt_ns: u64,
        min_rtt_ns: u64,
        why: WindowReason,
    }
    /// A subflow is in another state (RFC 9293 §3.3.2); the first time, it is there at all.
    "tcp:state_changed" StateChanged {
        subflow: SubflowId,
        state: &'static str,
        /// Address and port.
        local: String,
        remote: String,
    }
    /// A timer was set, cancelled, or has expired. One that is only moved, as with each acknowledgment (RFC 6298 §5.3), is not told.
    "tcp:timer_updated" TimerUpdated {
        /// None: it is the connection's.
        subflow: Option<SubflowId>,
        timer: Timer,
        change: TimerChange,
        /// When it will expire, or was to.
        at_ns: Option<u64>,
    }
    /// The scheduler was asked, and what it answered. A refusal that only repeats the last one is not told.
    "mptcp:scheduled" Scheduled {
        scheduler: &'static str,
        data_offset: u64,
        /// How much may be sent from there on.
        available_bytes: u64,
        /// The data was sent before, by these.
        carried_by: Option<Vec<SubflowId>>,
        decision: Decided,
        /// Those that are to carry it.
        chosen: Vec<SubflowId>,
        reason: Reason,
        /// The subflows that are open.
        candidates: Vec<Candidate>,
    }
    /// Nothing more is sent for now, for another reason than last time.
    "mptcp:paused" Paused {
        why: Pause,
    }
    /// Data that a subflow carries is to be sent by another one too (RFC 8684 §3.3.6).
    "mptcp:reinjection_queued" ReinjectionQueued {
        /// None: no subflow that works carries it.
        from: Option<SubflowId>,
        data_offset: u64,
        bytes: u64,
        why: ReinjectionReason,
    }
    /// Such data goes out.
    "mptcp:reinjected" Reinjected {
        from: Vec<SubflowId>,
        to: SubflowId,
        data_offset: u64,
        bytes: u64,
        why: ReinjectionReason,
    }
    /// The window of a subflow is halved without a loss, because it holds back the others (Raiciu 2012 §4.2).
    "mptcp:penalised" Penalised {
        subflow: SubflowId,
        cwnd_segments: f64,
        ssthresh_segments: Option<f64>,
    }
    /// A data sequence mapping goes out for the first time (RFC 8684 §3.3.1).
    "mptcp:mapping" Mapping {
        subflow: SubflowId,
        /// As in the option.
        dsn: u64,
        ssn: u32,
        bytes: u64,
        data_fin: bool,
    }
    /// The peer has acknowledged data at the data level (RFC 8684 §3.3.2); under TCP with its acknowledgments.
    "mptcp:data_ack" DataAck {
        /// The subflow that it came by; none where a timer or a fallback has moved it.
        subflow: Option<SubflowId>,
        /// All below it has arrived.
        data_offset: u64,
        /// What the peer has room for from there on.
        window_bytes: u64,
    }
    /// An option about addresses or priorities is sent or taken (RFC 8684 §3.3.8, §3.4).
    "mptcp:address" Address {
        subflow: SubflowId,
        option: AddressOption,
        direction: Direction,
        /// None: the subflow itself is meant.
        address_id: Option<u8>,
        address: Option<String>,
        /// What MP_PRIO asks for.
        backup: Option<bool>,
    }
    /// What schedulers are told of a subflow has changed.
    "mptcp:path_state" PathState {
        subflow: SubflowId,
        /// Data may be sent on it.
        active: bool,
        /// A retransmission timer expired, or its address was withdrawn, and nothing was acknowledged since.
        suspected: bool,
        backup: bool,
    }
    /// TCP from now on (RFC 8684 §3.7).
    "mptcp:fallback" Fallback {
        subflow: SubflowId,
        why: FallbackReason,
    }
}

impl TraceEvent {
    /// The subflow that it is about; none: the connection.
    pub fn subflow(&self) -> Option<SubflowId> {
        use TraceEvent as E;
        match self {
            E::SegmentSent { subflow, .. }
            | E::SegmentLost { subflow, .. }
            | E::LossSpurious { subflow, .. }
            | E::RecoveryEntered { subflow, .. }
            | E::RecoveryLeft { subflow }
            | E::WindowChanged { subflow, .. }
            | E::StateChanged { subflow, .. }
            | E::Penalised { subflow, .. }
            | E::Mapping { subflow, .. }
            | E::Address { subflow, .. }
            | E::PathState { subflow, .. }
            | E::Fallback { subflow, .. } => Some(*subflow),
            E::TimerUpdated { subflow, .. } | E::DataAck { subflow, .. } => *subflow,
            E::ReinjectionQueued { from, .. } => *from,
            E::Reinjected { to, .. } => Some(*to),
            E::Scheduled { .. } | E::Paused { .. } => None,
        }
    }
}

/// Declares enumerations that are serialised in snake case, and knows all their names.
macro_rules! words {
    ($($(#[doc = $doc:literal])* $name:ident { $($(#[doc = $word_doc:literal])* $word:ident,)* })*) => {
        $(
            $(#[doc = $doc])*
            #[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
            #[serde(rename_all = "snake_case")]
            pub enum $name {
                $($(#[doc = $word_doc])* $word,)*
            }
        )*
    };
}

words! {
    /// Why a segment goes out.
    Sent {
        /// Its data was never sent.
        New,
        /// It counts as lost.
        Retransmission,
        /// The retransmission timer has expired.
        Timeout,
        /// Its data was sent on another subflow.
        Reinjection,
        /// A tail loss probe (RFC 8985 §7.3).
        Probe,
    }
    /// By which rule a segment counts as lost.
    LossRule {
        /// One sent later was delivered long enough ago (RACK, RFC 8985 §6.2 step 5).
        RackTime,
        /// Enough was delivered beyond it: three duplicate acknowledgments (RFC 5681 §3.2), or what SACK tells in their place
        /// (RFC 6675 §5); or a partial acknowledgment stopped before it (RFC 6582 §3.2).
        DuplicateAcks,
        /// The retransmission timer expired (RFC 6298 §5.4).
        Timeout,
        /// A tail loss probe repaired it, as nobody reports it twice (RFC 8985 §7.4.2).
        TailLossProbe,
    }
    /// What shows that nothing was lost.
    Spurious {
        /// The acknowledgment echoes a timestamp from before the retransmission (Eifel, RFC 3522).
        Timestamps,
        /// Each retransmission was reported as a duplicate (D-SACK, RFC 3708).
        DuplicateSacks,
        /// What was sent only once was acknowledged after a timeout (F-RTO, RFC 5682).
        FRto,
    }
    /// What recovery follows.
    Recovery {
        /// A segment that counts as lost: fast recovery (RFC 6675).
        Loss,
        /// The retransmission timer (RFC 5681 §3.1).
        Timeout,
    }
    /// What has changed a window.
    WindowReason {
        /// The congestion control, after an acknowledgment.
        Acknowledgment,
        /// A loss: the threshold, and the window on its way to it.
        Loss,
        /// Recovery sends as much as was delivered, or less (PRR, RFC 6937).
        Recovery,
        /// Recovery is over: the window is the threshold.
        Recovered,
        /// The retransmission timer.
        Timeout,
        /// The last loss was none.
        Undo,
        /// The peer reports a mark (RFC 3168 §6.1.2).
        Ecn,
        /// It was not used for long (RFC 7661 §4.4.3).
        Validation,
        /// There was nothing to send for longer than a retransmission timeout (RFC 2861, as in Linux), or for long (RFC 7661).
        IdleRestart,
        /// The scheduler halved it.
        Penalty,
        /// A tail loss probe repaired a loss.
        TailLossProbe,
        /// The subflow begins.
        Begin,
    }
    /// Which timer.
    Timer {
        /// Of a SYN, a SYN/ACK, or the third ACK of MP_JOIN.
        Handshake,
        /// RFC 6298.
        Retransmission,
        /// RFC 9293 §3.6.1.
        TimeWait,
        /// RFC 9293 §3.8.6.3.
        DelayedAck,
        /// RACK's (RFC 8985 §6.2).
        Reordering,
        /// Of the tail loss probe (RFC 8985 §7.2).
        Probe,
        /// Of the data level (RFC 8684 §3.3.6).
        DataRetransmission,
        /// Of the probe of a closed window (RFC 9293 §3.8.6.1).
        WindowProbe,
        /// The scheduler asked to be asked again.
        Scheduler,
    }
    /// What became of a timer.
    TimerChange {
        /// It runs.
        Set,
        /// Its time came.
        Expired,
        /// It is not needed any more.
        Cancelled,
    }
    /// What a scheduler answered.
    Decided {
        /// Send the next segment.
        Send,
        /// Bind the next bytes to subflows, whatever their windows.
        Bind,
        /// Bind bytes once more.
        Repeat,
        /// Leave this for later, and ask about new data.
        Pass,
        /// Better wait for a subflow that is full.
        Wait,
        /// No subflow can take anything.
        Blocked,
    }
    /// What tells a choice from the others, by what is known of the candidates.
    Reason {
        /// No other could take it.
        OnlyOne,
        /// Its smoothed round trip is the shortest of those that could.
        ShortestRtt,
        /// An earlier answer allows a burst there.
        Burst,
        /// The scheduler's own rule.
        Rule,
        /// No subflow could.
        NoneCould,
    }
    /// What stands against a candidate.
    Verdict {
        /// Nothing: it was chosen.
        Chosen,
        /// It is in its handshake, or ends.
        NotEstablished,
        /// It does not answer.
        Suspected,
        /// As much is in flight as the congestion window allows.
        WindowFull,
        /// The peer's window of this subflow is closed (RFC 8684 §3.3.5).
        PeerWindow,
        /// Pacing holds it back.
        Paced,
        /// It has carried this data.
        CarriedIt,
        /// It is a backup, and another works.
        Backup,
        /// Its round trip is longer than that of the chosen.
        Slower,
        /// The scheduler's own rule.
        PassedOver,
    }
    /// Why nothing is sent.
    Pause {
        /// All was sent.
        NoData,
        /// The peer's window, the connection's, is closed.
        ConnectionWindow,
        /// It would cut a segment short (RFC 9293 §3.8.6.2.1).
        ShortSegment,
        /// No subflow can take any.
        Blocked,
        /// The scheduler, or Nagle's rule, waits.
        Waits,
    }
    /// Why data is sent again on another subflow.
    ReinjectionReason {
        /// The retransmission timer of the subflow expired.
        SubflowTimeout,
        /// The subflow was reset, given up or closed.
        SubflowFailed,
        /// The peer withdrew the address (RFC 8684 §3.4.2).
        AddressRemoved,
        /// The timer of the data level expired.
        DataTimeout,
        /// A subflow is there again after none was.
        Resumed,
        /// The peer does not acknowledge it at the data level (MP_FAIL, RFC 8684 §3.7).
        ChecksumFailed,
        /// Nothing was heard of the subflow for long (as in Linux).
        Stale,
        /// What waited on the subflow is given back.
        GivenBack,
        /// The scheduler's own: opportunistic or redundant.
        Scheduler,
    }
    /// Options about addresses.
    AddressOption {
        /// RFC 8684 §3.4.1.
        AddAddr,
        /// Its answer.
        AddAddrEcho,
        /// RFC 8684 §3.4.2.
        RemoveAddr,
        /// RFC 8684 §3.3.8.
        MpPrio,
    }
    /// Which way.
    Direction {
        /// To the peer.
        Sent,
        /// From the peer.
        Received,
    }
    /// Why TCP is spoken.
    FallbackReason {
        /// The peer, or the path, has answered MP_CAPABLE without it.
        NotCapable,
        /// SYNs with MP_CAPABLE were not answered (RFC 8684 §3.1).
        NoAnswer,
        /// Both ends opened at once.
        SimultaneousOpen,
        /// Segments came without options, or data without a mapping.
        OptionsLost,
        /// A checksum failed (RFC 8684 §3.7).
        ChecksumFailed,
        /// The peer has sent an infinite mapping.
        InfiniteMapping,
    }
}

/// A subflow as the scheduler saw it.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct Candidate {
    /// Which.
    pub subflow: SubflowId,
    /// Smoothed round-trip time; 0: none yet.
    pub srtt_ns: u64,
    /// Congestion window.
    pub cwnd_segments: f64,
    /// What is in flight.
    pub in_flight_segments: u32,
    /// What the congestion window still allows.
    pub room_segments: u32,
    /// What is bound to it and waits.
    pub queued_segments: u32,
    /// Whether it is a backup.
    pub backup: bool,
    /// What stands against it.
    pub verdict: Verdict,
}

/// The ends of a subflow, as text.
pub(crate) fn ends(tuple: Tuple) -> (String, String) {
    (tuple.local.to_string(), tuple.remote.to_string())
}
