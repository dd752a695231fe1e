//! What a connection is made with. The defaults are Linux's.

use crate::{congestion, path_manager, scheduler};

/// TCP or Multipath TCP.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Protocol {
    /// TCP.
    Tcp,
    /// Multipath TCP, version 1 (RFC 8684); falls back to TCP when the peer does not speak it.
    Mptcp,
}

/// Size of the receive buffer; under MPTCP one for all subflows (RFC 8684 §3.3.1).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ReceiveBuffer {
    /// Grows with what the application reads in a round trip, from 64 KiB to 6 MiB.
    Auto,
    /// So many bytes.
    Fixed(u64),
}

/// How a sender finds out that a segment is lost, when the peer has SACK.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LossDetection {
    /// By time, with tail loss probes (RFC 8985; Linux's default).
    RackTlp,
    /// By three segments above it that were selectively acknowledged (RFC 6675).
    Sack,
}

/// What happens to a window that the application does not fill.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WindowValidation {
    /// It stays while it was filled lately; a loss reduces it to half of what was in use (RFC 7661).
    Rfc7661,
    /// As the kernel does: a loss takes half of the whole window, in whole segments, and a pause halves it for each
    /// retransmission timeout. The scheduler `linux` implies it.
    Linux,
}

/// How TCP behaves, on each subflow.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TcpOptions {
    /// How loss is found.
    pub loss_detection: LossDetection,
    /// Find out spurious timeouts by forward RTO-recovery (RFC 5682).
    pub frto: bool,
    /// Hold back a short segment while data is outstanding (Nagle; RFC 9293 §3.7.4).
    pub nagle: bool,
    /// Spread segments over the round trip instead of sending bursts: at twice the window per smoothed RTT in slow
    /// start, at 1.2 times in avoidance (as Linux paces).
    pub pacing: bool,
    /// Offer explicit congestion notification (RFC 3168).
    pub ecn: bool,
    /// A window reduced because of a mark keeps four fifths (ABE, RFC 8511), not what a loss leaves.
    pub abe: bool,
    /// Offer selective acknowledgments (RFC 2018).
    pub sack: bool,
    /// Offer timestamps (RFC 7323).
    pub timestamps: bool,
    /// Initial window in segments (RFC 6928: 10).
    pub initial_window: u32,
    /// Slow start threshold at the start in segments. None: arbitrarily high, as RFC 5681 §3.1 has it unless the path is
    /// known.
    pub initial_ssthresh: Option<u32>,
    /// What happens to a window that is not filled.
    pub window_validation: WindowValidation,
    /// Lower bound of the retransmission timeout. Linux: 200 ms; RFC 6298 §2.4 says 1 s.
    pub rto_min_ns: u64,
    /// Upper bound of the retransmission timeout (RFC 6298 §2.5: at least 60 s).
    pub rto_max_ns: u64,
    /// The timeout doubles with each that follows without progress (RFC 6298 §5.5).
    pub rto_backoff: bool,
    /// Segments of data per acknowledgment when all is well ("b"; RFC 9293 §3.8.6.3: at most 2).
    pub segments_per_ack: u32,
    /// Longest time that an acknowledgment is held back (RFC 9293: below 500 ms; Linux: 40 ms).
    pub ack_delay_ns: u64,
    /// Segments at the start of a connection that are acknowledged at once, so that the peer's slow start is not held
    /// back (Linux's quick-ACK). Segments that let the window grow add to them, and what was pushed is acknowledged when it
    /// is read. 0: nothing of this.
    pub quick_acks: u32,
    /// Without SACK, only the first acknowledgment of a part of what a recovery repairs restarts the retransmission timer: where
    /// many segments were lost a timeout ends it (RFC 6582 §3.2 step 3, "Impatient"). Otherwise each of them does ("Slow-but-Steady", §4), as
    /// in Linux, and so by default here like everything else; the RFC holds neither for the better one.
    pub impatient: bool,
    /// Retransmissions of the same data after which the application hears of it (RFC 9293 §3.8.3, R1, "at least 3"; Linux: 3).
    pub r1: u32,
    /// Retransmissions of the same data before a subflow is given up (RFC 9293 §3.8.3, R2; Linux: 15).
    pub retries: u32,
    /// Retransmissions of a SYN before the attempt is given up (Linux: 6).
    pub syn_retries: u32,
    /// Handle segments in order the short way. Without it all is slower and nothing different: for tests of that.
    pub shortcuts: bool,
}

impl Default for TcpOptions {
    fn default() -> Self {
        TcpOptions {
            loss_detection: LossDetection::RackTlp,
            frto: true,
            nagle: true,
            pacing: false,
            ecn: false,
            abe: false,
            sack: true,
            timestamps: true,
            initial_window: 10,
            initial_ssthresh: None,
            window_validation: WindowValidation::Rfc7661,
            rto_min_ns: 200_000_000,
            rto_max_ns: 120_000_000_000,
            rto_backoff: true,
            segments_per_ack: 2,
            ack_delay_ns: 40_000_000,
            quick_acks: 16,
            impatient: false,
            r1: 3,
            retries: 15,
            syn_retries: 6,
            shortcuts: true,
        }
    }
}

/// What the IP headers of a connection's packets say. Whoever writes them asks [`Connection::ip_fields`](crate::Connection::ip_fields)
/// (RFC 9293 §3.9.2).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct IpFields {
    /// Time to live, or hop limit of IPv6; at least 1.
    pub hop_limit: u8,
    /// Differentiated services code point (RFC 2474), 6 bits.
    pub dscp: u8,
}

impl Default for IpFields {
    fn default() -> Self {
        IpFields { hop_limit: 64, dscp: 0 }
    }
}

/// What a connection is made with.
#[derive(Clone, Debug)]
pub struct Config {
    /// TCP or MPTCP.
    pub protocol: Protocol,
    /// Maximum segment size announced and used, in bytes; options take from it.
    pub mss: u16,
    /// Receive buffer.
    pub receive_buffer: ReceiveBuffer,
    /// Congestion control.
    pub congestion: congestion::Choice,
    /// Packet scheduler.
    pub scheduler: scheduler::Choice,
    /// Path manager.
    pub path_manager: path_manager::Choice,
    /// Most subflows of a connection that are open at once.
    pub max_subflows: u8,
    /// Ask for DSS checksums (RFC 8684 §3.3.1); they are used when either side asks.
    pub checksum: bool,
    /// Accept joins to the address that the peer knows from the first subflow. False sets the flag C of MP_CAPABLE
    /// (RFC 8684 §3.1), for a host behind a load balancer.
    pub join_first_address: bool,
    /// All subflows are opened at once, with keys that both ends know beforehand. Outside RFC 8684: for comparing with
    /// simulators that do so. The first path must not be slower than the others, nor change addresses.
    pub joins_at_once: bool,
    /// Retransmissions of a SYN with MP_CAPABLE before it goes without (RFC 8684 §3.1 leaves the number open; Linux:
    /// 2).
    pub capable_syn_retries: u32,
    /// How long a connection without a subflow is kept for a new one to join ("break before make").
    pub keep_without_subflow_ns: u64,
    /// Of its packets.
    pub ip: IpFields,
    /// TCP.
    pub tcp: TcpOptions,
}

impl Default for Config {
    fn default() -> Self {
        Config {
            protocol: Protocol::Mptcp,
            mss: 1460,
            receive_buffer: ReceiveBuffer::Auto,
            congestion: congestion::Choice::named("lia").expect("in the table"),
            scheduler: scheduler::Choice::named("min-rtt").expect("in the table"),
            path_manager: path_manager::Choice::named("fullmesh").expect("in the table"),
            max_subflows: 8,
            checksum: false,
            join_first_address: true,
            joins_at_once: false,
            capable_syn_retries: 2,
            keep_without_subflow_ns: 60_000_000_000,
            ip: IpFields::default(),
            tcp: TcpOptions::default(),
        }
    }
}
