//! A complete description of what is to be simulated. Python parses, fills in defaults and validates the scenario
//! file (docs/scenario-format.md) and hands over this: no default stands here, every quantity is in its base unit.

pub use application::{Arrivals, Content as Application, Size};
use serde::Deserialize;

/// One scenario, complete.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Description {
    /// Virtual time at which the run ends.
    pub duration_ns: u64,
    /// Seed of the scenario; every seed, 0 too, is one.
    pub seed: u64,
    /// What `measure.warmup` leaves out of rates and losses.
    pub warmup_ns: u64,
    /// Distance of samples; none are taken when absent.
    pub sample_ns: Option<u64>,
    /// Encode, decode and compare every segment that is sent.
    pub through_wire: bool,
    /// Traces that directions of links name: the texts of files in Mahimahi's format.
    pub traces: Vec<String>,
    /// Half-duplex media that links may share.
    pub media: Vec<Medium>,
    /// Links.
    pub links: Vec<Link>,
    /// Paths over links.
    pub paths: Vec<Path>,
    /// Connections.
    pub connections: Vec<Connection>,
    /// Changes of links, in any order.
    pub events: Vec<Event>,
}

/// A half-duplex medium: of the directions of the links on it, one sends at a time (`network::Medium`).
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Medium {
    /// Name in the scenario.
    pub name: String,
    /// What directions with packets get the same of.
    pub share: Share,
    /// Airtime that an aggregate takes beside its packets.
    pub overhead_ns: u64,
    /// Packets in an aggregate at most.
    pub aggregate_packets: u32,
    /// No packet of an aggregate begins so long after the first one.
    pub longest_ns: u64,
}

/// What a medium gives equally.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
pub enum Share {
    /// Turns to send an aggregate.
    Frames,
    /// Time.
    Airtime,
}

/// A link with its two directions.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Link {
    /// Name in the scenario.
    pub name: String,
    /// The medium that both directions share, an index into `media`.
    pub medium: Option<usize>,
    /// From the server's side to the client's.
    pub down: Direction,
    /// From the client's side to the server's.
    pub up: Direction,
    /// Boxes at its end on the server's side, the one nearest to the client first. What goes up passes them after the
    /// link, what goes down before it.
    pub middleboxes: Vec<Middlebox>,
    /// What its traffic costs; absent: nothing.
    #[serde(default)]
    pub metered: Option<Metered>,
}

/// What the traffic of a link costs. Only `backup` changes what happens.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Metered {
    /// Price of 10⁹ bytes, in whatever currency.
    pub price_per_gb: f64,
    /// What the price or the contract holds for.
    pub cap_bytes: Option<u64>,
    /// Whether subflows from clients' addresses on this link are backups.
    pub backup: bool,
}

/// One direction of a link.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Direction {
    /// Capacity; 0 where there is a trace.
    pub rate_bps: u64,
    /// What it can send and when, an index into `traces`.
    pub trace: Option<usize>,
    /// Propagation delay.
    pub delay_ns: u64,
    /// Queue discipline.
    pub queue: Queue,
    /// Loss on the wire.
    pub loss: Loss,
    /// A token bucket before it.
    pub shaper: Option<Shaper>,
    /// What happens to the times and the order of packets behind it.
    pub disorder: Option<Disorder>,
}

/// A token bucket in front of a link (`network::BucketConfig`).
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Shaper {
    /// What it lets through on average.
    pub rate_bps: u64,
    /// What it lets through at once.
    pub burst_bytes: u64,
    /// Whether packets without tokens are dropped in place of queued.
    pub polices: bool,
    /// Where they are queued.
    pub queue: Queue,
}

/// Jitter, reordering and duplicates behind a link (`network::DisorderConfig`).
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Disorder {
    /// Every packet takes up to this longer; none overtakes another by it.
    pub jitter_ns: u64,
    /// Probability that a packet is held back.
    pub reorder: f64,
    /// How long.
    pub by_ns: u64,
    /// Probability that a packet comes twice.
    pub duplicate: f64,
}

/// The most a queue holds. The arriving packet counts; a queue with nothing in it accepts any packet.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum Limit {
    /// Bytes, headers included.
    Bytes(u64),
    /// Packets.
    Packets(u64),
}

/// A queue discipline.
#[derive(Clone, Debug, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Queue {
    /// First in, first out; what does not fit is dropped.
    DropTail {
        /// The most it holds.
        limit: Limit,
    },
    /// Random early detection (Floyd & Jacobson 1993), with the "gentle" slope between max and twice max.
    Red {
        /// The most it holds.
        limit: Limit,
        /// Lower threshold of the average queue, in packets.
        min_packets: f64,
        /// Upper threshold, in packets.
        max_packets: f64,
        /// Drop probability at the upper threshold.
        max_probability: f64,
        /// Weight of a new sample in the average.
        weight: f64,
        /// Whether the probability rises linearly from `max_probability` to 1 between max and twice max.
        gentle: bool,
        /// Whether ECN-capable packets are marked instead of dropped early.
        ecn: bool,
    },
    /// Controlled delay (RFC 8289).
    Codel {
        /// The most it holds.
        limit: Limit,
        /// The wait that is acceptable as a standing queue.
        target_ns: u64,
        /// How long the wait may stay above it.
        interval_ns: u64,
        /// With no more than this behind the head nothing is dropped: one packet of the largest size.
        mtu_bytes: u32,
        /// Whether ECN-capable packets are marked instead of dropped.
        ecn: bool,
    },
    /// A queue for each flow, with controlled delay (RFC 8290).
    FqCodel {
        /// The most that all queues hold together.
        limit: Limit,
        /// As of CoDel.
        target_ns: u64,
        /// As of CoDel.
        interval_ns: u64,
        /// As of CoDel.
        mtu_bytes: u32,
        /// Values of the hash over flows.
        queues: u16,
        /// Bytes that a queue may send in a round.
        quantum_bytes: u32,
        /// Whether ECN-capable packets are marked instead of dropped.
        ecn: bool,
    },
    /// As `FqCodel`, with equal shares for hosts (Høiland-Jørgensen, Täht, Morton 2018). A host is one end of a kind of
    /// connections.
    Cake {
        /// The most that all queues hold together.
        limit: Limit,
        /// As of CoDel.
        target_ns: u64,
        /// As of CoDel.
        interval_ns: u64,
        /// As of CoDel.
        mtu_bytes: u32,
        /// How many queues there are, in sets of eight.
        queues: u16,
        /// Bytes that a host may send in a round.
        quantum_bytes: u32,
        /// Whether ECN-capable packets are marked instead of dropped.
        ecn: bool,
    },
    /// Proportional integral controller enhanced (RFC 8033).
    Pie {
        /// The most it holds.
        limit: Limit,
        /// The queueing delay that it holds.
        target_ns: u64,
        /// Time between two updates of the drop probability.
        update_ns: u64,
        /// How long a burst may pass after a calm time.
        max_burst_ns: u64,
        /// Weight of the distance from the target.
        alpha_per_s: f64,
        /// Weight of the growth since the last update.
        beta_per_s: f64,
        /// Behind no more than two packets of this size nothing is dropped.
        mtu_bytes: u32,
        /// Whether ECN-capable packets are marked instead of dropped.
        ecn: bool,
    },
    /// Two queues with coupled signals, the short one for packets with ECT(1) (RFC 9332).
    #[serde(rename = "dualpi2")]
    DualPi2 {
        /// The most that both hold together.
        limit: Limit,
        /// The queueing delay of the classic queue.
        target_ns: u64,
        /// Time between two updates of the probability.
        update_ns: u64,
        /// Weight of the distance from the target.
        alpha_per_s: f64,
        /// Weight of the growth since the last update.
        beta_per_s: f64,
        /// Marking probability of the short queue over the root of the classic one.
        coupling: f64,
        /// The wait from which the short queue marks.
        step_ns: u64,
        /// Fraction of the bytes that the classic queue gets while both have packets.
        classic_share: f64,
    },
}

/// Random loss on the wire.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Loss {
    /// None.
    None,
    /// Each packet independently.
    Bernoulli {
        /// Probability of loss, in [0, 1].
        probability: f64,
    },
    /// Two states; the transition is drawn before each packet, then the loss in the state reached.
    GilbertElliott {
        /// Probability to go from good to bad.
        good_to_bad: f64,
        /// Probability to go from bad to good.
        bad_to_good: f64,
        /// Loss probability in the good state.
        loss_good: f64,
        /// Loss probability in the bad state.
        loss_bad: f64,
    },
    /// The last packet of every so many.
    Periodic {
        /// Packets from one loss to the next.
        every_packets: u64,
    },
}

/// A box that does not leave segments as they are (`network::middlebox`).
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Middlebox {
    /// Takes the options of Multipath TCP away.
    Strip {
        /// From which segments.
        on: Stripped,
        /// Of one way only.
        way: Option<Way>,
    },
    /// Translates clients' addresses and ports.
    Nat,
    /// Gives each connection other initial sequence numbers.
    SequenceRewriting {
        /// Whether SACK blocks are rewritten too.
        sack: bool,
    },
    /// Cuts segments.
    Splitting {
        /// The most content of a part; at least 1.
        max_bytes: u16,
    },
    /// Puts two segments into one, with the options of the first.
    Coalescing {
        /// How long the first waits for the second.
        hold_ns: u64,
        /// The most content of the two.
        max_bytes: u16,
    },
    /// Replaces one byte of each connection's stream by others.
    PayloadRewriting {
        /// Of which way.
        way: Way,
        /// Which byte; the first has number 0.
        at_byte: u32,
        /// By how many bytes more than one; at least −1.
        growth_bytes: i32,
    },
    /// Acknowledges data before the receiver has it.
    ProactiveAcks,
    /// Ends connections by resets in the names of both ends.
    ResetInjection {
        /// After how many bytes of content, both ways together.
        after_bytes: u64,
    },
    /// Drops SYNs with options of Multipath TCP.
    SynFilter {
        /// Only those with MP_CAPABLE.
        capable_only: bool,
    },
    /// Lets connections be made and swallows what they carry.
    Captive {
        /// From then on.
        from_ns: u64,
        /// Until then, if it ends.
        until_ns: Option<u64>,
    },
}

/// From which segments options are stripped.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
pub enum Stripped {
    /// SYN and SYN/ACK.
    Syn,
    /// All with content.
    Data,
    /// All but SYN and SYN/ACK.
    NotSyn,
    /// All.
    All,
}

/// A path: links from the client's side to the server's, by index.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Path {
    /// Name in the scenario.
    pub name: String,
    /// Indices into `links`.
    pub links: Vec<usize>,
    /// Which of them are crossed from their far end: there client to server is the direction down. Empty, or one for
    /// each of `links`.
    pub reversed: Vec<bool>,
}

impl Path {
    /// The directions of links that a packet crosses, in its order: link `l` of the description is `2 l` down and
    /// `2 l + 1` up. `down`: from the server's side to the client's.
    pub fn crossed(&self, down: bool) -> Vec<u32> {
        let upwards = self.links.iter().enumerate().map(|(position, &link)| {
            let reversed = self.reversed.get(position).copied().unwrap_or(false);
            2 * link as u32 + u32::from(!reversed)
        });
        if down { upwards.rev().map(|direction| direction ^ 1).collect() } else { upwards.collect() }
    }
}

/// `count` independent connections of one kind.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Connection {
    /// Name in the scenario.
    pub name: String,
    /// How many.
    pub count: u32,
    /// Indices into `paths`; the first opens the connection.
    pub paths: Vec<usize>,
    /// TCP or MPTCP.
    pub protocol: Protocol,
    /// Congestion control.
    pub congestion: Named,
    /// Scheduler.
    pub scheduler: Named,
    /// Path manager.
    pub path_manager: Named,
    /// What is sent.
    pub application: Application,
    /// Which way the data goes.
    pub direction: Way,
    /// Start, drawn uniformly from `[start_ns[0], start_ns[1]]` for each of the `count`; equal when not random.
    pub start_ns: [u64; 2],
    /// When the sender stops offering data; the connection then closes in order.
    pub stop_ns: Option<u64>,
    /// Maximum segment size as announced (TCP options take from it).
    pub mss_bytes: u16,
    /// Receive buffer; absent: automatic.
    pub receive_buffer_bytes: Option<u64>,
    /// Whether both ends offer explicit congestion notification (RFC 3168).
    pub ecn: bool,
    /// Whether both ends ask for DSS checksums (RFC 8684 §3.3.1).
    pub checksum: bool,
    /// How TCP behaves at both ends, on each subflow.
    pub tcp: Tcp,
}

impl Connection {
    /// The client's addresses, by number, whose path begins with a link: those that an event of the link concerns.
    pub fn addresses_on<'c>(&'c self, description: &'c Description, link: usize) -> impl Iterator<Item = u8> + 'c {
        let begins = move |&path: &usize| description.paths[path].links.first() == Some(&link);
        (0..).zip(&self.paths).filter(move |&(_, path)| begins(path)).map(|(id, _)| id)
    }

    /// Whether subflows from the client's address of this number are backups, because its path begins with a link that is
    /// metered so.
    pub fn is_backup(&self, description: &Description, address: usize) -> bool {
        let first = self.paths.get(address).and_then(|&path| description.paths[path].links.first());
        first.is_some_and(|&link| description.links[link].metered.is_some_and(|metered| metered.backup))
    }

    /// Whether one of its paths ends with an event.
    pub fn loses_path(&self, description: &Description, event: &Event) -> bool {
        event.set.ends_paths() && self.paths.iter().any(|&path| description.paths[path].links.contains(&event.link))
    }

    /// When its paths end, in order.
    pub fn path_ends_ns(&self, description: &Description) -> Vec<u64> {
        let ends = description.events.iter().filter(|event| self.loses_path(description, event));
        let mut at_ns: Vec<u64> = ends.map(|event| event.at_ns).collect();
        at_ns.sort_unstable();
        at_ns
    }

    /// What its applications are.
    pub fn kind(&self) -> application::Kind<'_> {
        application::Kind {
            name: &self.name,
            count: self.count,
            content: self.application.clone(),
            sender: self.direction.sender(),
            start_ns: self.start_ns,
            stop_ns: self.stop_ns,
        }
    }
}

/// How TCP behaves; see [`transport::TcpOptions`].
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct Tcp {
    /// How a sender finds out that a segment is lost.
    pub loss_detection: LossDetection,
    /// Forward RTO-recovery (RFC 5682).
    pub frto: bool,
    /// Nagle's algorithm.
    pub nagle: bool,
    /// Segments are spread over the round trip.
    pub pacing: bool,
    /// A window reduced because of a mark keeps four fifths (RFC 8511).
    pub abe: bool,
    /// Timestamps (RFC 7323).
    pub timestamps: bool,
    /// Initial window in segments; at least 1.
    pub initial_window: u32,
    /// Slow start threshold at the start in segments, at least 1; without it arbitrarily high.
    pub initial_ssthresh: Option<u32>,
    /// What happens to a window that is not filled.
    #[serde(default = "rfc7661")]
    pub window_validation: WindowValidation,
    /// Lower bound of the retransmission timeout; above 0 and at most the upper one.
    pub rto_min_ns: u64,
    /// Its upper bound.
    pub rto_max_ns: u64,
    /// It doubles with each timeout that follows without progress (RFC 6298 §5.5).
    #[serde(default = "yes")]
    pub rto_backoff: bool,
    /// Segments of data per acknowledgment; at least 1.
    pub segments_per_ack: u32,
    /// Longest time that an acknowledgment is held back.
    pub ack_delay_ns: u64,
    /// Segments at the start that are acknowledged at once.
    pub quick_acks: u32,
    /// Retransmissions of the same data before a subflow is given up.
    pub retries: u32,
    /// Retransmissions of a SYN before the attempt is given up.
    pub syn_retries: u32,
    /// Retransmissions of a SYN with MP_CAPABLE before it goes without.
    #[serde(default = "two")]
    pub mptcp_syn_retries: u32,
}

/// What descriptions that do not say it mean.
fn yes() -> bool {
    true
}

/// What descriptions that do not say how often a SYN keeps MP_CAPABLE mean.
fn two() -> u32 {
    2
}

/// What descriptions that do not say what becomes of unfilled windows mean.
fn rfc7661() -> WindowValidation {
    WindowValidation::Rfc7661
}

/// What happens to a window that is not filled; see [`transport::WindowValidation`].
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
pub enum WindowValidation {
    /// RFC 7661.
    Rfc7661,
    /// As the kernel does.
    Linux,
}

/// How a sender finds out that a segment is lost.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
pub enum LossDetection {
    /// RFC 8985.
    RackTlp,
    /// RFC 6675.
    Sack,
    /// RFC 6582: selective acknowledgments are not offered.
    Newreno,
}

/// The transport's own, for descriptions that are written in Rust.
impl Default for Tcp {
    fn default() -> Self {
        let options = transport::TcpOptions::default();
        Tcp {
            loss_detection: LossDetection::RackTlp,
            frto: options.frto,
            nagle: options.nagle,
            pacing: options.pacing,
            abe: options.abe,
            timestamps: options.timestamps,
            initial_window: options.initial_window,
            initial_ssthresh: options.initial_ssthresh,
            window_validation: rfc7661(),
            rto_min_ns: options.rto_min_ns,
            rto_max_ns: options.rto_max_ns,
            rto_backoff: options.rto_backoff,
            segments_per_ack: options.segments_per_ack,
            ack_delay_ns: options.ack_delay_ns,
            quick_acks: options.quick_acks,
            retries: options.retries,
            syn_retries: options.syn_retries,
            mptcp_syn_retries: two(),
        }
    }
}

/// An algorithm by its name, with its parameters.
#[derive(Clone, Debug, Deserialize)]
pub struct Named {
    /// Name as in `mptcplab list`.
    pub name: String,
    /// Parameters that the name takes.
    #[serde(flatten)]
    pub parameters: serde_json::Map<String, serde_json::Value>,
}

/// Transport protocol.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
pub enum Protocol {
    /// TCP.
    Tcp,
    /// Multipath TCP version 1.
    Mptcp,
}

/// Which way the data goes.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
pub enum Way {
    /// Server to client.
    Down,
    /// Client to server.
    Up,
}

impl Way {
    /// The end that sends.
    pub fn sender(self) -> usize {
        match self {
            Way::Up => application::CLIENT,
            Way::Down => application::SERVER,
        }
    }
}

/// A change of a link at a moment.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Event {
    /// When.
    pub at_ns: u64,
    /// Index into `links`.
    pub link: usize,
    /// Whether the server-to-client direction changes.
    pub down: bool,
    /// Whether the client-to-server direction changes.
    pub up: bool,
    /// What changes.
    pub set: Change,
}

impl Change {
    /// Whether the paths over the link end with it.
    pub fn ends_paths(&self) -> bool {
        self.dead == Some(true) || self.address == Some(false)
    }
}

/// What an event sets; what is absent stays.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Change {
    /// True: the link is dead: packets that arrive and those still in the queue are lost. False: it works again.
    pub dead: Option<bool>,
    /// New capacity, for the packets still in the queue too.
    pub rate_bps: Option<u64>,
    /// New propagation delay, for packets that have not left the queue yet; a shorter one overtakes nothing.
    pub delay_ns: Option<u64>,
    /// New random loss.
    pub loss: Option<Loss>,
    /// New rate of the shaper before it; 0 lets everything pass.
    #[serde(default)]
    pub shaper_bps: Option<u64>,
    /// False: clients whose path begins with this link lose their address on it; true: they have it again.
    #[serde(default)]
    pub address: Option<bool>,
    /// True: clients whose path begins with this link ask for it to be a backup (MP_PRIO); false: no longer.
    #[serde(default)]
    pub backup: Option<bool>,
}
