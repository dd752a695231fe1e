//! One direction of a connection at its sender: new data, retransmissions (the same subflow sequence numbers),
//! reinjections (the same data sequence numbers under other subflow sequence numbers, usually on another subflow), and
//! the delays of acknowledgments.

use super::delivery::acknowledged;
use super::group::{CLIENT, Group};
use super::leg::Leg;
use super::merge::Merged;
use super::place::{Content, Places};
use super::record::Record;
use super::report::{Acks, Segments};
use super::spread::Durations;
use std::collections::{BTreeMap, VecDeque};

/// Maximum duration of network reordering if no handshake shows the round-trip time.
const REORDERING_NS: u64 = 3_000_000;

/// Maximum number of holes remembered per subflow.
const HOLES: usize = 256;

/// Largest possible window (RFC 7323 §2.3).
const WINDOW: u64 = 1 << 30;

/// Lower bound of retransmission timeouts in practice. An earlier retransmission has another cause.
const TIMEOUT_NS: u64 = 100_000_000;

/// Counters of a subflow.
#[derive(Clone, Debug, Default)]
pub struct Counts {
    pub segments: u64,
    pub bytes: u64,
    pub retransmissions: u64,
    pub reinjections: u64,
    pub reordered: u64,
    pub timeouts: u64,
    pub rtt: Durations,
}

/// Counters of one direction.
#[derive(Debug, Default)]
pub struct Sent {
    pub subflows: Vec<Counts>,
    pub data_ack_rtt: Durations,
    /// All bytes before this stream offset are acknowledged.
    pub acknowledged: u64,
}

/// How the payload of a segment was sent.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    New,
    Retransmission,
    Reinjection,
}

struct Subflow {
    places: Places,
    client_end: usize,
    at_sender: bool,
    /// One more than the highest relative sequence number sent.
    sent: u64,
    acknowledged: u64,
    /// For segments sent once: the end and the time of sending.
    outstanding: VecDeque<(u64, u64)>,
    /// Segments up to here give no RTT sample because one of them was retransmitted (Karn's algorithm).
    ambiguous: u64,
    /// Data missing below `sent` if the capture was not taken at the sender: start, end, and when later data was seen.
    holes: Vec<(u64, u64, u64)>,
    reordering_ns: u64,
    /// Time of the last packet in either direction.
    heard_ns: u64,
    /// Round-trip time of the first packets.
    round_trip_ns: u64,
}

/// Processes the packets of one direction; `side` is the sender's side.
pub struct Pass<'a> {
    pub group: &'a Group,
    pub legs: &'a [Leg],
    pub side: usize,
    pub places: Vec<Places>,
    /// End of the stream. Acknowledgments beyond it cover the DATA_FIN or FIN.
    pub fin: Option<u64>,
    pub connection: u32,
    pub start_ns: u64,
    /// Whether to list each segment.
    pub series: bool,
}

impl Pass<'_> {
    pub fn run(self, sent: &mut Segments, acks: &mut Acks) -> Sent {
        let mut state = State::new(&self);
        let chosen: Vec<_> = self.group.subs.iter().map(|sub| sub.nearest[self.side].seen).collect();
        let seconds = |time_ns: u64| time_ns.saturating_sub(self.start_ns) as f64 / 1e9;
        for (number, record) in Merged::new(chosen.iter().map(|seen| &self.legs[seen.leg])) {
            let from_client = record.from() == state.subflows[number].client_end;
            let heard_ns = std::mem::replace(&mut state.subflows[number].heard_ns, record.time_ns);
            if from_client == (self.side == CLIENT) {
                let Some(content) = state.subflows[number].places.content(&record) else { continue };
                let kind = state.data(number, &record, content, heard_ns);
                if let Some(offset) = content.offset.filter(|_| self.series) {
                    sent.push(
                        seconds(record.time_ns),
                        self.connection,
                        self.side,
                        number,
                        (offset, record.len),
                        kind as u32,
                    );
                }
            } else if record.flags.ack() && !record.flags.rst() && state.ack(number, &record, self.fin) && self.series {
                let window = self.legs[chosen[number].leg].window_bytes(&record);
                let place = (state.out.acknowledged, window);
                acks.push(seconds(record.time_ns), self.connection, self.side, number, place);
            }
        }
        state.out
    }
}

struct State {
    subflows: Vec<Subflow>,
    /// The parts of the stream that were sent: end by start.
    pieces: BTreeMap<u64, u64>,
    /// Unacknowledged data by end: start, time of sending, and whether it was sent only once.
    outstanding: BTreeMap<u64, (u64, u64, bool)>,
    out: Sent,
    /// One more than the highest stream offset sent.
    highest: u64,
    plain: bool,
}

impl State {
    fn new(pass: &Pass) -> State {
        let subflows = pass.group.subs.iter().zip(&pass.places).map(|(sub, places)| {
            let place = sub.nearest[pass.side];
            let leg = &pass.legs[place.seen.leg];
            Subflow {
                places: places.clone(),
                client_end: place.seen.client_end,
                at_sender: place.is_there,
                sent: 1,
                acknowledged: 1,
                outstanding: VecDeque::new(),
                ambiguous: 0,
                holes: Vec::new(),
                reordering_ns: leg.handshake_ns().map_or(REORDERING_NS, |rtt| rtt / 2),
                heard_ns: 0,
                round_trip_ns: leg.handshake_ns().unwrap_or(0),
            }
        });
        State {
            subflows: subflows.collect(),
            pieces: BTreeMap::new(),
            outstanding: BTreeMap::new(),
            out: Sent { subflows: vec![Counts::default(); pass.group.subs.len()], ..Sent::default() },
            highest: 0,
            plain: !pass.group.mptcp,
        }
    }

    fn data(&mut self, number: usize, record: &Record, content: Content, heard_ns: u64) -> Kind {
        let len = u64::from(record.len);
        let (start, end) = (content.relative, content.relative + len);
        let subflow = &mut self.subflows[number];
        let repeated = subflow.is_repeated(start, end, record.time_ns);
        let counts = &mut self.out.subflows[number];
        counts.segments += 1;
        counts.bytes += len;
        counts.reordered += u64::from(repeated == Some(false));
        let repeated = repeated == Some(true);
        if repeated {
            counts.retransmissions += 1;
            // Timeout: no packet for longer than a round trip, then a retransmission of the first unacknowledged
            // segment.
            let silent_ns = record.time_ns.saturating_sub(heard_ns);
            let timer_ns = TIMEOUT_NS.max(subflow.round_trip_ns + subflow.round_trip_ns / 2);
            let first = start <= subflow.acknowledged && end > subflow.acknowledged;
            counts.timeouts += u64::from(subflow.at_sender && first && silent_ns >= timer_ns);
            subflow.ambiguous = subflow.ambiguous.max(subflow.sent);
        } else if subflow.at_sender {
            subflow.outstanding.push_back((end, record.time_ns));
        }
        subflow.sent = subflow.sent.max(end);
        let at_sender = subflow.at_sender;
        let Some(offset) = content.offset else {
            return if repeated { Kind::Retransmission } else { Kind::New };
        };
        self.highest = self.highest.max(offset + len);
        let anew = self.carry(offset, offset + len);
        let before = !anew && !repeated;
        if at_sender {
            if anew {
                self.outstanding.insert(offset + len, (offset, record.time_ns, true));
            } else {
                // Data sent twice: the acknowledgment does not show which copy it is for.
                let twice = self.outstanding.range_mut(offset + 1..).take_while(|(_, known)| known.0 < offset + len);
                twice.for_each(|(_, known)| known.2 = false);
            }
        }
        self.out.subflows[number].reinjections += u64::from(before);
        match (repeated, before) {
            (true, _) => Kind::Retransmission,
            (_, true) => Kind::Reinjection,
            _ => Kind::New,
        }
    }

    /// Marks a part of the stream as sent. Returns whether no byte of it had been sent before.
    fn carry(&mut self, start: u64, end: u64) -> bool {
        let mut anew = true;
        let mut covered = start;
        // Merge it with the parts that overlap or touch it.
        let (mut from, mut to) = (start, end);
        if let Some((&known, &known_end)) = self.pieces.range(..=start).next_back()
            && known_end >= start
        {
            if known_end >= end {
                return false;
            }
            anew &= known_end == start;
            from = known;
            to = to.max(known_end);
            covered = known_end;
        }
        while let Some((&known, &known_end)) = self.pieces.range(covered.max(from + 1)..=end).next() {
            anew &= known >= end;
            to = to.max(known_end);
            self.pieces.remove(&known);
        }
        self.pieces.insert(from, to);
        anew
    }

    /// Processes an acknowledgment. Returns whether it acknowledges new data of the stream.
    fn ack(&mut self, number: usize, record: &Record, fin: Option<u64>) -> bool {
        let now_ns = record.time_ns;
        let subflow = &mut self.subflows[number];
        let mut newest = None;
        let relative = subflow.places.acknowledged(record.ack);
        if let Some(relative) = relative.filter(|&relative| relative > subflow.acknowledged) {
            subflow.acknowledged = relative;
            while let Some(&(end, time_ns)) = subflow.outstanding.front().filter(|(end, _)| *end <= relative) {
                newest = (end > subflow.ambiguous).then_some(time_ns);
                subflow.outstanding.pop_front();
            }
            if let Some(time_ns) = newest {
                let rtt_ns = now_ns.saturating_sub(time_ns);
                self.out.subflows[number].rtt.add(rtt_ns, 1);
                if subflow.round_trip_ns == 0 {
                    subflow.round_trip_ns = rtt_ns;
                }
            }
        }
        let place = acknowledged(&mut subflow.places, record, relative, self.plain);
        let Some(place) = place.map(|place| fin.map_or(place, |fin| place.min(fin))) else { return false };
        if place <= self.out.acknowledged || place > self.out.acknowledged.max(self.highest) + WINDOW {
            return false;
        }
        self.out.acknowledged = place;
        while let Some((&end, &(_, time_ns, once))) = self.outstanding.first_key_value() {
            if end > place {
                break;
            }
            if once {
                self.out.data_ack_rtt.add(now_ns.saturating_sub(time_ns), 1);
            }
            self.outstanding.pop_first();
        }
        true
    }
}

impl Subflow {
    /// Whether a segment is a retransmission on this subflow: `None` if it is new, false if it was only reordered.
    fn is_repeated(&mut self, start: u64, end: u64, now_ns: u64) -> Option<bool> {
        if start >= self.sent {
            if start > self.sent && !self.at_sender {
                // A hole that stays open was lost for good, or the capture missed the packets that filled it.
                if self.holes.len() == HOLES {
                    self.holes.remove(0);
                }
                self.holes.push((self.sent, start, now_ns));
            }
            return None;
        }
        if self.at_sender {
            return Some(true);
        }
        // Observed after the point of loss or reordering: a segment that fills a hole soon was only reordered.
        let Some(at) = self.holes.iter().position(|&(from, to, _)| from < end && start < to) else { return Some(true) };
        let (from, to, since_ns) = self.holes.swap_remove(at);
        for left in [(from, start.max(from), since_ns), (end.min(to), to, since_ns)] {
            if left.0 < left.1 {
                self.holes.push(left);
            }
        }
        Some(now_ns.saturating_sub(since_ns) > self.reordering_ns)
    }
}

impl Segments {
    pub(super) fn push(
        &mut self,
        time_s: f64,
        connection: u32,
        side: usize,
        subflow: usize,
        (offset, length): (u64, u32),
        note: u32,
    ) {
        self.time_s.push(time_s);
        self.connection.push(connection);
        self.direction.push(side as u8);
        self.subflow.push(subflow as u32);
        self.offset.push(offset);
        self.length.push(length);
        self.note.push(note);
    }
}

impl Acks {
    fn push(
        &mut self,
        time_s: f64,
        connection: u32,
        side: usize,
        subflow: usize,
        (offset, window): (u64, Option<u64>),
    ) {
        self.time_s.push(time_s);
        self.connection.push(connection);
        self.direction.push(side as u8);
        self.subflow.push(subflow as u32);
        self.offset.push(offset);
        self.window.push(window.map_or(f64::NAN, |bytes| bytes as f64));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_sent_is_known_piece_by_piece() {
        let mut pieces = State {
            subflows: Vec::new(),
            pieces: BTreeMap::new(),
            outstanding: BTreeMap::new(),
            out: Sent::default(),
            highest: 0,
            plain: false,
        };
        // New parts: the beginning, one after a gap, and the gap itself. The three then form one part.
        for (start, end, anew) in
            [(0, 10, true), (20, 30, true), (10, 20, true), (5, 6, false), (29, 31, false), (31, 40, true)]
        {
            assert_eq!(pieces.carry(start, end), anew, "{start}..{end}");
        }
        assert_eq!(pieces.pieces, BTreeMap::from([(0, 40)]));
        assert!(pieces.carry(50, 60) && pieces.carry(70, 80) && !pieces.carry(45, 90));
        assert_eq!(pieces.pieces, BTreeMap::from([(0, 40), (45, 90)]));
    }
}
