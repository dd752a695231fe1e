//! What a connection is made with. The defaults are Linux's.

use algorithm::declare::{HOUR, MICROSECOND, MILLISECOND, SECOND, flag, time, whole, word};
use algorithm::{About, Declared, Order, declared, words};

use crate::path_manager::LocalAddress;
use crate::time::Duration;
use crate::{congestion, path_manager, scheduler};

words! {
    /// TCP or Multipath TCP.
    pub enum Protocol {
        /// TCP.
        Tcp = "tcp",
        /// Multipath TCP, version 1 (RFC 8684); falls back to TCP when the peer does not speak it.
        Mptcp = "mptcp",
    }
}

/// Size of the receive buffer; under MPTCP one for all subflows (RFC 8684 §3.3.1).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ReceiveBuffer {
    /// Grows with what the application reads in a round trip, from 64 KiB to 6 MiB.
    Auto,
    /// So many bytes.
    Fixed(u64),
}

words! {
    /// How a sender finds out that a segment is lost.
    pub enum LossDetection {
        /// By time, with tail loss probes (RFC 8985; Linux's default).
        RackTlp = "rack-tlp",
        /// By three segments above it that were selectively acknowledged (RFC 6675).
        Sack = "sack",
        /// By three duplicate acknowledgments (RFC 6582): selective acknowledgments are not offered.
        Newreno = "newreno",
    }
}

words! {
    /// What a window grows by.
    pub enum Growth {
        /// The bytes that an acknowledgment is for (RFC 3465).
        Bytes = "bytes",
        /// One segment for each acknowledgment, whatever it is for.
        Acks = "acks",
    }
}

words! {
    /// What happens to a window that the application does not fill.
    pub enum WindowValidation {
        /// It stays while it was filled lately; a loss reduces it to half of what was in use (RFC 7661).
        Rfc7661 = "rfc7661",
        /// As the kernel does: a loss takes half of the whole window, in whole segments, and a pause halves it for each
        /// retransmission timeout. The scheduler `linux` implies it.
        Linux = "linux",
    }
}

words! {
    /// What a receiver does while data is missing.
    pub enum Receiver {
        /// It acknowledges each segment that comes behind the hole, with the window that it told before.
        Usual = "usual",
        /// As the kernel does: such segments enlarge the window too, and acknowledgments of them wait for each other.
        Linux = "linux",
    }
}

words! {
    /// A version of Linux.
    #[derive(Default)]
    pub enum Kernel {
        /// 6.12, the long-term kernel whose forms are written out.
        #[default]
        V6_12 = "6.12",
        /// 6.1, whose receive window, groups of segments and scheduler are others (docs/validation/linux.md).
        V6_1 = "6.1",
    }
}

words! {
    /// When timers expire.
    pub enum Timers {
        /// To the nanosecond.
        Exact = "exact",
        /// As the kernel's do, at the steps of its wheel.
        Linux = "linux",
    }
}

declared! {
    /// How TCP behaves, on each subflow. The defaults are Linux's.
    #[serde(default)]
    pub struct TcpOptions {
        /// `"rack-tlp"` (RFC 8985), `"sack"` (RFC 6675) or `"newreno"` (RFC 6582; SACK is not offered)
        loss_detection: LossDetection = word("loss_detection", "rack-tlp", LossDetection::WORDS),
        /// segments (RFC 6928)
        initial_window: u32 = whole("initial_window", 10, [1, 1000]),
        /// segments at which the first slow start ends at the latest; `"none"`: at the first loss (RFC 5681 §3.1), or when
        /// CUBIC's HyStart++ ends it
        initial_ssthresh: Option<u32> = whole("initial_ssthresh", 1, [1, 1_000_000]).or_none(),
        /// segments beyond which no congestion window grows, as ns-2's `window_`; `"none"`: no such limit
        max_window: Option<u32> = whole("max_window", 1, [1, 1_000_000]).or_none(),
        /// what an acknowledgment counts for where windows grow: `"bytes"`, those that it is for (RFC 3465), or `"acks"`, one
        /// segment whatever it is for, as in Linux before 3.13, so that receivers that acknowledge every second segment halve
        /// the growth
        growth: Growth = word("growth", "bytes", Growth::WORDS),
        /// what happens to a window that the application does not fill: `"rfc7661"`, or `"linux"`, where a loss takes half of the
        /// whole window, in whole segments, and a pause halves it for each retransmission timeout. The scheduler `linux`
        /// implies the latter
        window_validation: WindowValidation = word("window_validation", "rfc7661", WindowValidation::WORDS),
        /// spread segments over the round trip, in groups of a millisecond as Linux does
        pacing: bool = flag("pacing", false),
        /// send segments in the groups in which Linux hands them to its network device (segmentation offload), of TCP and of
        /// Multipath TCP with the scheduler `linux`: the last of a group carries PSH, and a small group may wait for the next
        /// acknowledgment. Of the latter, segments also have the kernel's size: DATA_ACKs have 4 bytes until data comes
        tso: bool = flag("tso", false),
        /// what a receiver does, above all while data is missing: `"usual"` acknowledges each segment that comes behind the hole, with the
        /// window that it told before; with `"linux"` the window grows with such segments, and when three were acknowledged, the
        /// next wait up to 1.1 ms for each other. A SYN/ACK is acknowledged before data leaves. Every second segment is acknowledged after
        /// it was read if the window would otherwise shrink, and Multipath TCP counts the memory of each segment it holds. The delay of an acknowledgment, at first
        /// `ack_delay`, follows the pauses between segments. What a sender takes from such
        /// acknowledgments is the kernel's too: with the scheduler `linux` it may go beyond the window of Multipath TCP, and what does is lost
        /// for the receiver
        receiver: Receiver = word("receiver", "usual", Receiver::WORDS),
        /// when the sender's timers expire, of TCP and of Multipath TCP: `"exact"`, or `"linux"`, where the kernel's come late by up to 8 ms,
        /// and by up to 64 ms when they wait for half a second or more. Its round trips are whole microseconds, and its timeout counts with the
        /// largest deviation in a round trip. A SYN is sent again four times at the same interval before `syn_retries` times at doubled ones
        timers: Timers = word("timers", "exact", Timers::WORDS),
        /// the version of Linux that `tso`, `receiver`, `timers` and the scheduler `linux` follow. With `"6.1"` half of a receive buffer's memory
        /// counts as data whatever segments come, where 6.12 measures it; a group of segments ends with what was written to one buffer, and
        /// the scheduler is asked again after each; each SYN that is sent again doubles the interval, and none is without MP_CAPABLE. The
        /// engines that run Linux refuse `"6.1"` where another kernel runs
        kernel: Kernel = word("kernel", "6.12", Kernel::WORDS),
        /// hold back a short segment while data is outstanding (RFC 9293 §3.7.4)
        nagle: bool = flag("nagle", true),
        /// offer timestamps (RFC 7323)
        timestamps: bool = flag("timestamps", true),
        /// detect spurious timeouts with F-RTO (RFC 5682)
        frto: bool = flag("frto", true),
        /// after an ECN mark keep 80 % of the window (RFC 8511); needs `ecn = true`
        abe: bool = flag("abe", false),
        /// minimum retransmission timeout (RFC 6298 §2.4 says 1 s)
        rto_min_ns: u64 = time("rto_min", 200 * MILLISECOND, [MICROSECOND, HOUR]),
        /// retransmission timeout before the first measurement (RFC 6298 §2.1; 3 s in RFC 2988, and in Linux before 3.1)
        rto_initial_ns: u64 = time("rto_initial", SECOND, [MICROSECOND, HOUR]),
        /// maximum retransmission timeout (RFC 6298 §2.5)
        rto_max_ns: u64 = time("rto_max", 120 * SECOND, [MICROSECOND, 24 * HOUR]),
        /// whether the timeout doubles with each consecutive expiry (RFC 6298 §5.5)
        rto_backoff: bool = flag("rto_backoff", true),
        /// data segments per acknowledgment (RFC 9293 §3.8.6.3: at most 2)
        segments_per_ack: u32 = whole("segments_per_ack", 2, [1, 255]),
        /// maximum delay of an acknowledgment (RFC 9293: below 500 ms)
        ack_delay_ns: u64 = time("ack_delay", 40 * MILLISECOND, [0, SECOND / 2]),
        /// segments at the start that are acknowledged at once. As in Linux, segments that let the receive window grow add to
        /// them, and data sent with PSH is acknowledged as soon as it is read, except by a host that sends data in reply. With 0,
        /// none of this applies, and the window grows with the buffer
        quick_acks: u32 = whole("quick_acks", 16, [0, 1_000_000]),
        /// retransmissions of the same data before the subflow is closed (RFC 9293 §3.8.3, R2)
        retries: u32 = whole("retries", 15, [0, 255]),
        /// retransmissions of a SYN
        syn_retries: u32 = whole("syn_retries", 6, [0, 255]),
        /// retransmissions of a SYN with MP_CAPABLE before the client tries without it (RFC 8684 §3.1;
        /// `net.mptcp.syn_retrans_before_tcp_fallback` of Linux)
        mptcp_syn_retries: u32 = whole("mptcp_syn_retries", 2, [0, 255]),
        fixed {
            /// Offer explicit congestion notification (RFC 3168).
            ecn: bool = false,
            /// Offer selective acknowledgments (RFC 2018), unless [`LossDetection::Newreno`] says no.
            sack: bool = true,
            /// Without SACK, only the first acknowledgment of a part of what a recovery repairs restarts the retransmission timer:
            /// where many segments were lost a timeout ends it (RFC 6582 §3.2 step 3, "Impatient"). Otherwise each of them does
            /// ("Slow-but-Steady", §4), as in Linux; the RFC holds neither for the better one.
            impatient: bool = false,
            /// Retransmissions of the same data after which the application hears of it (RFC 9293 §3.8.3, R1, "at least 3"; Linux: 3).
            r1: u32 = 3,
            /// Remember which subflows are usual and which senders clean, so that most tests are left out. Results do not depend on it: for tests of
            /// that.
            shortcuts: bool = true,
        }
    }
}

impl TcpOptions {
    /// What the options say of themselves.
    pub const ABOUT: About = About::new("tcp", "how TCP behaves, at both ends and on each subflow", "RFC 9293")
        .parameters(TcpOptions::PARAMETERS)
        .orders(&[Order::at_most("rto_min", "rto_max")]);

    /// The least retransmission timeout.
    pub fn rto_min(&self) -> Duration {
        Duration::from_nanos(self.rto_min_ns)
    }

    /// The greatest retransmission timeout.
    pub fn rto_max(&self) -> Duration {
        Duration::from_nanos(self.rto_max_ns)
    }

    /// The first so many retransmissions of a SYN do not back off, and are none of those that end the attempt
    /// (`tcp_syn_linear_timeouts` of Linux 6.5 and later, which has 4).
    pub fn linear_syns(&self) -> u32 {
        if self.timers == Timers::Linux && self.kernel == Kernel::V6_12 { 4 } else { 0 }
    }

    /// After so many retransmissions of a SYN with MP_CAPABLE the client tries without it. Linux 6.1 never does
    /// (`mptcp_active_detect_blackhole` came later).
    pub fn capable_syns(&self) -> u32 {
        if self.timers == Timers::Linux && self.kernel == Kernel::V6_1 { u32::MAX } else { self.mptcp_syn_retries }
    }

    /// Whether selective acknowledgments are offered.
    pub fn offers_sack(&self) -> bool {
        self.sack && self.loss_detection != LossDetection::Newreno
    }
}

impl Default for TcpOptions {
    fn default() -> Self {
        TcpOptions::new()
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

/// What a host whose paths the kernel's path manager manages does, whatever that wants.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct KernelPaths {
    /// Subflows beside the first one that may be open. The first is not counted, open or not.
    pub extra_subflows: u8,
    /// From this number on local ids are of addresses without an endpoint. On the wire they are numbered in the order of their
    /// first use.
    pub first_without_endpoint: u8,
    /// The ports on which joins are accepted beside that of the connection, which a client does not listen on.
    pub ports: Vec<u16>,
    /// An announcement without an echo is repeated after this time.
    pub announce_again_ns: u64,
    /// Or after the retransmission timeout, doubled each time, if that is sooner.
    pub announce_by_rto: bool,
    /// How often it is repeated.
    pub announce_repeats: u32,
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
    /// What the kernel's path manager bounds and repeats; none where another one manages the paths.
    pub kernel_paths: Option<KernelPaths>,
    /// The addresses that connections accepted with it have, in place of those of [`Host::set_addresses`](crate::Host::set_addresses);
    /// with none, those.
    pub addresses: Vec<LocalAddress>,
    /// Ask for DSS checksums (RFC 8684 §3.3.1); they are used when either side asks.
    pub checksum: bool,
    /// Accept joins to the address that the peer knows from the first subflow. False sets the flag C of MP_CAPABLE
    /// (RFC 8684 §3.1), for a host behind a load balancer.
    pub join_first_address: bool,
    /// All subflows are opened at once, with keys that both ends know beforehand. Outside RFC 8684: for comparing with
    /// simulators that do so. The first path must not be slower than the others, nor change addresses.
    pub joins_at_once: bool,
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
            kernel_paths: None,
            addresses: Vec::new(),
            checksum: false,
            join_first_address: true,
            joins_at_once: false,
            keep_without_subflow_ns: 60_000_000_000,
            ip: IpFields::default(),
            tcp: TcpOptions::default(),
        }
    }
}
