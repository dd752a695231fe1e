//! What one interface saw of one TCP connection: a *leg*. A subflow has one leg per observation point.

use super::record::{Noted, Record, Records, What};
use std::iter::Peekable;
use std::net::SocketAddr;
use wire::{Flags, MpCapable, MpJoin, MptcpOption, Version0};

/// An MPTCP option other than DSS, and the packet that carried it.
#[derive(Clone, Debug)]
pub struct Signal {
    pub time_ns: u64,
    pub backwards: bool,
    pub option: MptcpOption,
    pub flags: Flags,
}

/// Observations of one end.
#[derive(Clone, Debug, Default)]
pub struct End {
    /// Sequence number of its SYN.
    pub isn: Option<u32>,
    /// When its SYN was first and last seen.
    pub syn_ns: Option<(u64, u64)>,
    /// Number of SYNs.
    pub syns: u32,
    /// The window scale on the SYN.
    pub window_scale: Option<u8>,
    pub fin_ns: Option<u64>,
    pub rst_ns: Option<u64>,
    pub resets: u32,
}

/// What one interface saw of one TCP connection.
#[derive(Debug)]
pub struct Leg {
    /// Index of the observation point.
    pub point: u32,
    /// Distinguishes connections that used the same ports at this point one after another.
    pub generation: u32,
    /// In the order of the addresses.
    pub tuple: [SocketAddr; 2],
    pub ends: [End; 2],
    /// The end that sent the first SYN or, if none was captured, the first packet.
    pub opener: usize,
    /// When the opener first acknowledged the SYN/ACK.
    pub third_ns: Option<u64>,
    pub records: Records,
    pub signals: Vec<Signal>,
}

impl Leg {
    pub fn new(point: u32, generation: u32, tuple: [SocketAddr; 2]) -> Leg {
        Leg {
            point,
            generation,
            tuple,
            ends: [End::default(), End::default()],
            opener: 0,
            third_ns: None,
            records: Records::default(),
            signals: Vec::new(),
        }
    }

    /// Fills in what the records, in time order, say about the two ends. `first` is the index in `noted` of the first
    /// record.
    pub fn fill(&mut self, records: &Records, first: u32, noted: &mut Peekable<impl Iterator<Item = Noted>>) {
        for (number, record) in (first..).zip(records.iter()) {
            if number == first {
                self.opener = record.from();
            }
            if record.flags.0 & !(Flags::ACK.0 | Flags::PSH.0) != 0 || self.third_ns.is_none() {
                self.handshake_and_end(&record);
            }
            while let Some(Noted { what, .. }) = noted.next_if(|noted| noted.record == number) {
                match what {
                    What::WindowScale(scale) => {
                        let end = &mut self.ends[record.from()];
                        end.window_scale = end.window_scale.or(Some(scale));
                    }
                    What::Option(option) => {
                        let backwards = record.has.backwards();
                        self.signals.push(Signal { time_ns: record.time_ns, backwards, option, flags: record.flags });
                    }
                }
            }
        }
    }

    fn handshake_and_end(&mut self, record: &Record) {
        let (time_ns, from, flags) = (record.time_ns, record.from(), record.flags);
        let end = &mut self.ends[from];
        if flags.syn() && end.isn.is_none_or(|isn| isn == record.seq) {
            let is_first = end.isn.is_none();
            end.isn = Some(record.seq);
            end.syn_ns = Some((end.syn_ns.map_or(time_ns, |(first, _)| first), time_ns));
            end.syns += 1;
            if is_first && !flags.ack() {
                self.opener = from;
            } else if is_first && self.ends[1 - from].isn.is_none() {
                self.opener = 1 - from;
            }
        }
        let end = &mut self.ends[from];
        if flags.fin() {
            end.fin_ns.get_or_insert(time_ns);
        }
        if flags.rst() {
            end.rst_ns.get_or_insert(time_ns);
            end.resets += 1;
        }
        let answered = self.ends[1 - self.opener].syn_ns.is_some();
        if from == self.opener && answered && flags.ack() && !flags.syn() && !flags.rst() {
            self.third_ns.get_or_insert(time_ns);
        }
    }

    /// The window that a record announces, in bytes; `None` if a SYN, which carries the scale, was not captured (RFC
    /// 7323 §2.2).
    pub fn window_bytes(&self, record: &Record) -> Option<u64> {
        let from = record.from();
        if record.flags.syn() {
            return Some(u64::from(record.window));
        }
        let (own, other) = (&self.ends[from], &self.ends[1 - from]);
        own.isn.and(other.isn)?;
        // Window scaling applies only if both SYNs carry the option. A shift count above 14 counts as 14 (§2.3).
        let scale = own.window_scale.filter(|_| other.window_scale.is_some()).unwrap_or(0).min(14);
        Some(u64::from(record.window) << scale)
    }

    /// Distance of the observation point from the opener, from 0 to 1: the fraction of the handshake's time that passed
    /// between SYN and SYN/ACK. `None` if the handshake was not captured.
    pub fn nearness(&self) -> Option<f64> {
        let ((_, syn), (answer, _)) = (self.ends[self.opener].syn_ns?, self.ends[1 - self.opener].syn_ns?);
        let (first, second) = (answer.saturating_sub(syn), self.third_ns?.saturating_sub(answer));
        (first + second > 0).then(|| first as f64 / (first + second) as f64)
    }

    /// Time from the SYN to the third packet of the handshake: one round trip, regardless of the observation point.
    /// `None` if either SYN was sent twice, because it is unknown which one was answered (Karn's algorithm).
    pub fn handshake_ns(&self) -> Option<u64> {
        let (opener, other) = (&self.ends[self.opener], &self.ends[1 - self.opener]);
        let once = opener.syns == 1 && other.syns == 1;
        Some(self.third_ns?.saturating_sub(opener.syn_ns.filter(|_| once)?.0))
    }

    /// Signals sent by the end `from`.
    pub fn signals_of(&self, from: usize) -> impl Iterator<Item = &Signal> {
        self.signals.iter().filter(move |signal| usize::from(signal.backwards) == from)
    }

    /// The MP_CAPABLE options of an end, merged: the version and the keys.
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

    /// The MP_JOIN options of the handshake, as far as they were captured.
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

/// The MP_CAPABLE options of one end, merged.
#[derive(Clone, Copy, Debug)]
pub struct Capable {
    pub version: u8,
    pub flags: u8,
    pub sender_key: Option<u64>,
    pub receiver_key: Option<u64>,
    /// Whether the first was on a SYN.
    pub on_syn: bool,
}

/// The MP_JOIN options of a handshake, merged; opener first.
#[derive(Clone, Copy, Debug, Default)]
pub struct Join {
    pub token: Option<u32>,
    pub nonces: [Option<u32>; 2],
    pub address_ids: [Option<u8>; 2],
    pub hmac_syn_ack: Option<u64>,
    pub hmac_ack: Option<[u8; 20]>,
    pub backup: bool,
}
