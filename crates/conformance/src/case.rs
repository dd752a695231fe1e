//! A case as it was read from its file.

use std::net::{IpAddr, SocketAddr};

use crate::icmp::Icmp;

/// What a case is played to.
#[derive(Clone, Copy, PartialEq, Eq, Debug, PartialOrd, Ord)]
pub enum Who {
    /// Our transport.
    Transport,
    /// The Linux kernel.
    Linux,
}

impl Who {
    /// As files and tables call it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Who::Transport => "transport",
            Who::Linux => "linux",
        }
    }
}

/// A case.
#[derive(Clone, Debug)]
pub struct Case {
    /// Its file below the folder of cases, without the ending: `tcp/listen/rst`.
    pub name: String,
    /// The requirement: `RFC 9293 §3.10.7.2 MUST`, with the identifiers of its rows in the table of requirements.
    pub requirement: String,
    /// The requirement in a sentence.
    pub says: String,
    /// Who is known to depart from it, and why.
    pub departs: Vec<(Who, String)>,
    /// To whom it cannot be played, and why.
    pub cannot: Vec<(Who, String)>,
    /// How the host is made.
    pub settings: Settings,
    /// What is done and expected, in order.
    pub steps: Vec<Step>,
}

/// Configuration of the host, where it differs from the default.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Multipath TCP.
    pub mptcp: bool,
    /// It asks for checksums (MP_CAPABLE, flag A).
    pub checksum: bool,
    /// Options that it offers.
    pub sack: bool,
    /// Timestamps.
    pub timestamps: bool,
    /// Nagle's algorithm.
    pub nagle: bool,
    /// Bytes of its receive buffer; `None`: it grows automatically.
    pub buffer: Option<u64>,
    /// The maximum segment size that it announces.
    pub mss: u16,
    /// Whether it takes joins to the address of the first subflow; else it sets C.
    pub join_first_address: bool,
    /// Its further addresses, with their ids.
    pub addresses: Vec<(u8, IpAddr)>,
    /// Whether it opens subflows by itself.
    pub joins: bool,
    /// The peer's initial sequence number.
    pub iss: u32,
    /// How often a SYN goes out again.
    pub syn_retries: u32,
    /// How often data goes out again.
    pub retries: u32,
    /// ECN.
    pub ecn: bool,
    /// Time to live of its packets.
    pub ttl: u8,
    /// Their differentiated services code point.
    pub dscp: u8,
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            mptcp: false,
            checksum: false,
            sack: true,
            timestamps: true,
            nagle: false,
            buffer: None,
            mss: 1460,
            join_first_address: true,
            addresses: Vec::new(),
            joins: false,
            iss: 1_000,
            syn_retries: 6,
            retries: 15,
            ecn: false,
            ttl: 64,
            dscp: 0,
        }
    }
}

/// One line.
#[derive(Clone, Debug)]
pub struct Step {
    /// Its number in the file.
    pub line: usize,
    /// The line itself.
    pub text: String,
    /// When.
    pub when: When,
    /// What.
    pub what: What,
}

/// When something is done or must happen, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    /// At the time of the previous line: what is expected happens at once.
    Now,
    /// Between these times since the beginning.
    At(u64, u64),
    /// Between these times after the step before.
    After(u64, u64),
}

/// What is done or expected.
#[derive(Clone, Debug)]
pub enum What {
    /// The two ends of a flow: the peer's, the host's. A port of 0 is not known yet: the host opens the flow.
    Flow(usize, SocketAddr, SocketAddr),
    /// The peer sends.
    Send(usize, Vec<Field>),
    /// A router tells of a segment of the host.
    Icmp(usize, Icmp),
    /// The host must send, or may.
    Expect {
        /// The flow.
        flow: usize,
        /// What the segment must be.
        fields: Vec<Field>,
        /// Nothing is wrong without it.
        optional: bool,
    },
    /// Until then the host sends nothing.
    Silence,
    /// Until then it may send anything.
    Anything,
    /// What the host's application does.
    Do(Action),
    /// What the host's application must see.
    See(Sight),
}

/// What an application does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Waits for a connection.
    Listen,
    /// Opens one.
    Connect,
    /// Writes this many bytes.
    Write(u64),
    /// Reads this many bytes, or all.
    Read(Option<u64>),
    /// Ends its direction; reading goes on.
    Shutdown,
    /// Closes both directions.
    Close,
    /// Gives up.
    Abort,
    /// Announces the address of this id.
    Announce(u8),
    /// Takes it back.
    Withdraw(u8),
    /// Gives its packets this differentiated services code point from now on.
    Dscp(u8),
    /// Makes subflow 0 a backup, or not.
    Backup(bool),
    /// Opens a subflow between the addresses of these ids, its own and the peer's.
    Join(u8, u8),
}

/// What an application sees.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Sight {
    /// The state of a flow (RFC 9293 §3.3.2).
    State(usize, String),
    /// This many bytes can be read.
    Readable(u64),
    /// The peer's stream has ended and all of it was read.
    End,
    /// The connection was reset, refused or given up; any of them if none is named.
    Aborted(Option<String>),
    /// Nothing ended the connection.
    Open,
    /// It was told of a soft error.
    SoftError,
    /// It was told that the peer does not answer.
    Unresponsive,
    /// Multipath TCP is spoken.
    Mptcp,
    /// It is not.
    Tcp,
    /// Data can be carried, or could once.
    Established,
    /// No connection was made.
    Unestablished,
    /// All that was written was acknowledged.
    Flushed,
}

/// A number: a field of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Number {
    /// This one.
    Exactly(i64),
    /// Any from the first to the last.
    Between(i64, i64),
    /// Whatever it is.
    Any,
}

/// One word of a segment.
#[derive(Clone, Debug, PartialEq)]
pub enum Field {
    /// Control bits.
    Flags(u8),
    /// A reset, with ACK or without.
    Reset,
    /// Sequence number, counted from the sender's SYN, which is 0.
    Seq(Number),
    /// Acknowledgment number, counted from the receiver's SYN.
    Ack(Number),
    /// Window, not scaled.
    Win(Number),
    /// Bytes of data.
    Len(Number),
    /// Place in the stream of its first byte, from 0, where numbers do not tell it.
    At(u64),
    /// Urgent pointer.
    Urg(Number),
    /// Time to live of the packet.
    Ttl(Number),
    /// Its differentiated services code point.
    Dscp(Number),
    /// Maximum segment size.
    Mss(Number),
    /// Window scale.
    Wscale(Number),
    /// SACK permitted.
    SackOk,
    /// Timestamps: value and echo.
    Ts(Number, Option<Number>),
    /// Blocks.
    Sack(Vec<(i64, i64)>),
    /// An option of Multipath TCP.
    Mptcp(Mptcp),
    /// No such option, or no option of Multipath TCP.
    Without(String),
    /// These bytes in place of options.
    Raw(Vec<u8>),
    /// The checksum of TCP is wrong.
    BadChecksum,
    /// The bytes differ from those of the stream.
    Altered,
}

/// An option of Multipath TCP: its name and its fields.
#[derive(Clone, Debug, PartialEq)]
pub struct Mptcp {
    /// `capable`, `join`, `dss`, ….
    pub kind: &'static str,
    /// Names with or without values.
    pub parts: Vec<(&'static str, Part)>,
}

/// What a part of an option is.
#[derive(Clone, Debug, PartialEq)]
pub enum Part {
    /// It is there.
    Set,
    /// A number.
    Number(Number),
    /// A word.
    Word(String),
}

impl Mptcp {
    /// The part of this name.
    #[must_use]
    pub fn part(&self, name: &str) -> Option<&Part> {
        self.parts.iter().find(|(n, _)| *n == name).map(|(_, part)| part)
    }

    /// Whether it is named.
    #[must_use]
    pub fn has(&self, name: &str) -> bool {
        self.part(name).is_some()
    }

    /// Its number, when it is named with one.
    #[must_use]
    pub fn number(&self, name: &str) -> Option<Number> {
        match self.part(name) {
            Some(Part::Number(number)) => Some(*number),
            _ => None,
        }
    }

    /// The number that is sent: that of the file, or this one.
    #[must_use]
    pub fn value(&self, name: &str, otherwise: i64) -> i64 {
        match self.number(name) {
            Some(Number::Exactly(value)) => value,
            _ => otherwise,
        }
    }

    /// Its word, when it is named with one.
    #[must_use]
    pub fn word(&self, name: &str) -> Option<&str> {
        match self.part(name) {
            Some(Part::Word(word)) => Some(word),
            _ => None,
        }
    }
}
