//! What one interface saw of one TCP connection: a *leg*. The same subflow has as many legs as interfaces saw it.

use std::net::SocketAddr;
use wire::{Captured, DataNumber, Dss, Flags, MpCapable, MpJoin, MptcpOption, Version0};

/// One packet, as much as is needed once it has gone by. Times are nanoseconds.
#[derive(Clone, Copy, Debug)]
pub struct Record {
    pub time_ns: u64,
    /// As on the wire, when `has` says that there is a mapping; so too the next.
    pub dsn: u64,
    pub data_ack: u64,
    pub seq: u32,
    pub ack: u32,
    pub ssn: u32,
    pub len: u32,
    pub map_len: u16,
    /// As on the wire, without its scale.
    pub window: u16,
    pub flags: Flags,
    pub has: Has,
}

/// What a record has of a DSS, and which way it went.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Has(u16);

macro_rules! bits {
    ($($name:ident $set:ident $bit:expr;)*) => { impl Has { $(
        pub const fn $name(self) -> bool { self.0 & $bit != 0 }
        pub const fn $set(&mut self) { self.0 |= $bit; }
    )* } };
}
bits! {
    // From the second of the leg's ends to the first.
    backwards set_backwards 1;
    mapping set_mapping 2;
    long_dsn set_long_dsn 4;
    data_ack set_data_ack 8;
    long_data_ack set_long_data_ack 16;
    data_fin set_data_fin 32;
    // Any MPTCP option.
    mptcp set_mptcp 64;
}

impl Record {
    pub fn dsn(&self) -> DataNumber {
        if self.has.long_dsn() { DataNumber::Long(self.dsn) } else { DataNumber::Short(self.dsn as u32) }
    }

    pub fn data_ack(&self) -> Option<DataNumber> {
        let number = if self.has.long_data_ack() {
            DataNumber::Long(self.data_ack)
        } else {
            DataNumber::Short(self.data_ack as u32)
        };
        self.has.data_ack().then_some(number)
    }

    /// Sequence number of the first byte of content: a SYN stands before it.
    pub fn content_seq(&self) -> u32 {
        self.seq.wrapping_add(u32::from(self.flags.syn()))
    }
}

/// An MPTCP option other than DSS, and what it stood on.
#[derive(Clone, Debug)]
pub struct Signal {
    pub time_ns: u64,
    pub backwards: bool,
    pub option: MptcpOption,
    pub flags: Flags,
}

/// What was seen of each of the two ends.
#[derive(Clone, Debug, Default)]
pub struct End {
    /// Sequence number of its SYN.
    pub isn: Option<u32>,
    pub syn_ns: Option<u64>,
    /// The window scale on its SYN.
    pub window_scale: Option<u8>,
    pub fin_ns: Option<u64>,
    pub rst_ns: Option<u64>,
}

/// What one interface saw of one TCP connection.
#[derive(Debug)]
pub struct Leg {
    /// Where it was seen, an index into the vantage points.
    pub vantage: u32,
    /// The second of its name there, or a later one.
    pub generation: u32,
    /// In the order of their addresses.
    pub tuple: [SocketAddr; 2],
    pub ends: [End; 2],
    /// The end that sent the first SYN; where none was seen, the one that sent the first packet.
    pub opener: usize,
    /// When the opener acknowledged the SYN/ACK first.
    pub third_ns: Option<u64>,
    pub records: Vec<Record>,
    pub signals: Vec<Signal>,
    sorted: bool,
}

impl Leg {
    pub fn new(vantage: u32, generation: u32, tuple: [SocketAddr; 2], opener: usize) -> Leg {
        Leg {
            vantage,
            generation,
            tuple,
            ends: [End::default(), End::default()],
            opener,
            third_ns: None,
            records: Vec::new(),
            signals: Vec::new(),
            sorted: true,
        }
    }

    /// Whether a SYN from this end begins another connection between the same two ends.
    pub fn is_over_for(&self, from: usize, packet: &Captured) -> bool {
        let begins = packet.segment.flags.syn() && !packet.segment.flags.ack();
        begins && !self.records.is_empty() && self.ends[from].isn.is_none_or(|isn| isn != packet.segment.seq)
    }

    /// Takes a packet in that came from the end `from`.
    pub fn add(&mut self, time_ns: u64, from: usize, packet: Captured) {
        let segment = packet.segment;
        let flags = segment.flags;
        let mut has = Has::default();
        if from == 1 {
            has.set_backwards();
        }
        let end = &mut self.ends[from];
        if flags.syn() && end.isn.is_none() {
            (end.isn, end.syn_ns) = (Some(segment.seq), Some(time_ns));
            end.window_scale = segment.options.rare.as_ref().and_then(|rare| rare.window_scale);
            if !flags.ack() {
                self.opener = from;
            } else if self.ends[1 - from].isn.is_none() {
                self.opener = 1 - from;
            }
        }
        let end = &mut self.ends[from];
        if flags.fin() {
            end.fin_ns.get_or_insert(time_ns);
        }
        if flags.rst() {
            end.rst_ns.get_or_insert(time_ns);
        }
        let answered = self.ends[1 - self.opener].syn_ns.is_some();
        if from == self.opener && answered && flags.ack() && !flags.syn() && !flags.rst() {
            self.third_ns.get_or_insert(time_ns);
        }
        let mut record = Record {
            time_ns,
            dsn: 0,
            data_ack: 0,
            seq: segment.seq,
            ack: segment.ack,
            ssn: 0,
            len: packet.payload_len as u32,
            map_len: 0,
            window: segment.window,
            flags,
            has,
        };
        if let Some(dss) = &segment.options.dss {
            note_dss(&mut record, dss);
        }
        if let Some(rare) = segment.options.rare {
            for option in rare.mptcp {
                record.has.set_mptcp();
                // The first data of a connection may be mapped by the third ACK's MP_CAPABLE (RFC 8684 §3.1).
                if let MptcpOption::MpCapable(MpCapable { sender_key: Some(key), data: Some((len, _)), .. }) = option {
                    (record.dsn, record.ssn, record.map_len) = (wire::keys::idsn(key).wrapping_add(1), 1, len);
                    record.has.set_mapping();
                    record.has.set_long_dsn();
                }
                self.signals.push(Signal { time_ns, backwards: from == 1, option, flags });
            }
        }
        self.sorted &= self.records.last().is_none_or(|last| last.time_ns <= time_ns);
        self.records.push(record);
    }

    /// The window that a record announces, in bytes; none where a SYN was not seen, which has the scale (RFC 7323 §2.2).
    pub fn window_bytes(&self, record: &Record) -> Option<u64> {
        let from = usize::from(record.has.backwards());
        if record.flags.syn() {
            return Some(u64::from(record.window));
        }
        let (own, other) = (&self.ends[from], &self.ends[1 - from]);
        own.isn.and(other.isn)?;
        // Scales count only when both SYNs have one; one above 14 is taken as 14 (§2.3).
        let scale = own.window_scale.filter(|_| other.window_scale.is_some()).unwrap_or(0).min(14);
        Some(u64::from(record.window) << scale)
    }

    /// Puts the records in the order of their times, where the capture has them in another.
    pub fn sort(&mut self) {
        if !self.sorted {
            self.records.sort_by_key(|record| record.time_ns);
            self.signals.sort_by_key(|signal| signal.time_ns);
            self.sorted = true;
        }
    }

    /// How near to the opener it was seen, 0 to 1: which part of the handshake's time passed between SYN and SYN/ACK.
    /// None where the handshake was not seen.
    pub fn nearness(&self) -> Option<f64> {
        let (syn, answer) = (self.ends[self.opener].syn_ns?, self.ends[1 - self.opener].syn_ns?);
        let (first, second) = (answer.saturating_sub(syn), self.third_ns?.saturating_sub(answer));
        (first + second > 0).then(|| first as f64 / (first + second) as f64)
    }

    /// From the SYN to the third packet of the handshake: a round trip, wherever it was seen.
    pub fn handshake_ns(&self) -> Option<u64> {
        Some(self.third_ns?.saturating_sub(self.ends[self.opener].syn_ns?))
    }

    /// Signals that came from the end `from`.
    pub fn signals_of(&self, from: usize) -> impl Iterator<Item = &Signal> {
        self.signals.iter().filter(move |signal| usize::from(signal.backwards) == from)
    }

    /// The first MP_CAPABLE of each end: version and what keys it has.
    pub fn capable(&self, from: usize) -> Option<Capable> {
        let mut found: Option<Capable> = None;
        for signal in self.signals_of(from) {
            let (version, flags, sender, receiver) = match &signal.option {
                MptcpOption::MpCapable(MpCapable { version, flags, sender_key, receiver_key, .. }) => {
                    (*version, *flags, *sender_key, *receiver_key)
                }
                MptcpOption::Version0(Version0::MpCapable { flags, sender_key, receiver_key }) => {
                    (0, *flags, Some(*sender_key), *receiver_key)
                }
                _ => continue,
            };
            let on_syn = signal.flags.syn();
            let capable = found.get_or_insert(Capable { version, flags, sender_key: None, receiver_key: None, on_syn });
            capable.sender_key = capable.sender_key.or(sender);
            capable.receiver_key = capable.receiver_key.or(receiver);
        }
        found
    }

    /// The MP_JOIN of the handshake, as far as it was seen.
    pub fn join(&self) -> Option<Join> {
        let mut join = Join::default();
        let mut any = false;
        for signal in &self.signals {
            let MptcpOption::MpJoin(option) = &signal.option else { continue };
            any = true;
            match option {
                MpJoin::Syn { backup, address_id, token, nonce } => {
                    join.token = Some(*token);
                    join.nonces[0] = Some(*nonce);
                    join.address_ids[0] = Some(*address_id);
                    join.backup |= *backup;
                }
                MpJoin::SynAck { backup, address_id, hmac, nonce } => {
                    join.nonces[1] = Some(*nonce);
                    join.address_ids[1] = Some(*address_id);
                    join.hmac_syn_ack = Some(*hmac);
                    join.backup |= *backup;
                }
                MpJoin::Ack { hmac } => join.hmac_ack = Some(*hmac),
            }
        }
        any.then_some(join)
    }
}

/// The MP_CAPABLE options of one end, taken together.
#[derive(Clone, Copy, Debug)]
pub struct Capable {
    pub version: u8,
    pub flags: u8,
    pub sender_key: Option<u64>,
    pub receiver_key: Option<u64>,
    /// Whether the first stood on a SYN.
    pub on_syn: bool,
}

/// The MP_JOIN options of a handshake, taken together; opener first.
#[derive(Clone, Copy, Debug, Default)]
pub struct Join {
    pub token: Option<u32>,
    pub nonces: [Option<u32>; 2],
    pub address_ids: [Option<u8>; 2],
    pub hmac_syn_ack: Option<u64>,
    pub hmac_ack: Option<[u8; 20]>,
    pub backup: bool,
}

fn note_dss(record: &mut Record, dss: &Dss) {
    record.has.set_mptcp();
    if dss.data_fin {
        record.has.set_data_fin();
    }
    let wide = |number| match number {
        DataNumber::Short(number) => (u64::from(number), false),
        DataNumber::Long(number) => (number, true),
    };
    if let Some(number) = dss.data_ack {
        let (number, long) = wide(number);
        record.data_ack = number;
        record.has.set_data_ack();
        if long {
            record.has.set_long_data_ack();
        }
    }
    if let Some(mapping) = dss.mapping {
        let (number, long) = wide(mapping.dsn);
        (record.dsn, record.ssn, record.map_len) = (number, mapping.ssn, mapping.len);
        record.has.set_mapping();
        if long {
            record.has.set_long_dsn();
        }
    }
}
