//! Delivery of a stream: which subflow brought each byte first, how long bytes waited for earlier ones, and which bytes
//! were acknowledged but appear in no file. Every byte of the stream is counted once, for a subflow or as missed.

use super::group::Group;
use super::leg::Leg;
use super::merge::Merged;
use super::place::Places;
use super::record::Record;
use super::report::Segments;
use super::spread::Durations;
use std::collections::BTreeMap;

/// Largest possible window (RFC 7323 §2.3). An acknowledgment that advances further was misread or belongs to another
/// stream.
const WINDOW: u64 = 1 << 30;

/// Counters of one direction.
#[derive(Debug, Default)]
pub struct Delivered {
    /// Bytes of the stream that each subflow brought first: in total, and in the time window.
    pub by_subflow: Vec<[u64; 2]>,
    /// Payload bytes of all segments, by subflow.
    pub seen: Vec<u64>,
    /// All bytes before this stream offset are delivered.
    pub bytes: u64,
    /// Bytes of these delivered in the time window.
    pub window: u64,
    /// All bytes before this stream offset are acknowledged.
    pub acknowledged: u64,
    /// Bytes acknowledged but absent from the capture: in total, and in the time window.
    pub missed: [u64; 2],
    /// Bytes in the capture beyond `bytes`.
    pub outstanding: u64,
    pub waiting: Durations,
    pub unmapped_bytes: u64,
    /// When the last byte was delivered.
    pub last_ns: Option<u64>,
    /// The longest time without a delivery, and when it ended.
    pub silence_ns: Option<(u64, u64)>,
    pub stall: Stall,
}

/// A receiver that acknowledges data on subflows and leaves the DATA_ACK where it is.
#[derive(Debug, Default)]
pub struct Stall {
    /// Since when what comes next in the stream is there and is not acknowledged.
    since_ns: Option<u64>,
    /// The longest time, and when it ended.
    pub longest_ns: Option<(u64, u64)>,
}

impl Stall {
    /// All bytes before stream offset `bytes` have arrived, those before `acknowledged` are acknowledged.
    fn note(&mut self, (bytes, acknowledged): (u64, u64), has_moved: bool, now_ns: u64) {
        if bytes <= acknowledged {
            self.since_ns = None;
        } else if has_moved || self.since_ns.is_none() {
            self.since_ns = Some(now_ns);
        }
    }

    /// The receiver says that it has all that arrived on a subflow.
    fn heard(&mut self, now_ns: u64) {
        let Some(since_ns) = self.since_ns else { return };
        let stall_ns = now_ns.saturating_sub(since_ns);
        if self.longest_ns.is_none_or(|(longest_ns, _)| stall_ns > longest_ns) {
            self.longest_ns = Some((stall_ns, now_ns));
        }
    }
}

/// Processes the packets of one direction: `side` is the sender's side, `at` the side at which the packets are
/// observed.
pub struct Pass<'a> {
    pub group: &'a Group,
    pub legs: &'a [Leg],
    pub side: usize,
    pub at: usize,
    /// Whether the capture was taken at the receiver. If so, a byte is delivered when all earlier bytes have arrived,
    /// otherwise when it is acknowledged.
    pub in_order: bool,
    pub places: Vec<Places>,
    pub fin: Option<u64>,
    pub connection: u32,
    pub start_ns: u64,
    /// The time window that is counted separately.
    pub window_ns: (u64, u64),
    pub end_ns: u64,
    /// Whether to list each segment.
    pub series: bool,
}

/// Payload of a segment.
#[derive(Clone, Copy, Debug)]
struct Held {
    len: u32,
    offset: u64,
    since_ns: u64,
}

/// Delivers the payload of a subflow in order, as TCP does. Payload that arrives early waits in `held`.
#[derive(Clone, Debug)]
struct Gate {
    /// By relative subflow sequence number.
    held: BTreeMap<u64, Held>,
    expected: u64,
    /// The receiver has everything before this sequence number.
    acknowledged: u64,
}

impl Default for Gate {
    fn default() -> Gate {
        Gate { held: BTreeMap::new(), expected: 1, acknowledged: 0 }
    }
}

impl Gate {
    fn take(&mut self, relative: u64, held: Held) {
        let end = relative + u64::from(held.len);
        if end <= self.expected {
            return;
        }
        // Of two segments with the same beginning, the longer is kept; of equal ones, the first.
        let known = self.held.entry(relative).or_insert(held);
        if known.len < held.len {
            *known = held;
        }
    }

    /// Skips payload that does not belong to the stream.
    fn pass_over(&mut self, start: u64, end: u64) {
        if start <= self.expected {
            self.expected = self.expected.max(end);
        }
    }

    /// The next payload that is in order.
    fn next(&mut self) -> Option<Held> {
        loop {
            let (&relative, &held) = self.held.first_key_value()?;
            if relative > self.expected.max(self.acknowledged) {
                return None;
            }
            self.held.pop_first();
            let end = relative + u64::from(held.len);
            if end <= self.expected {
                continue;
            }
            // Leave out what was delivered before.
            let known = self.expected.saturating_sub(relative);
            self.expected = end;
            return Some(Held { len: held.len - known as u32, offset: held.offset + known, ..held });
        }
    }
}

impl Pass<'_> {
    pub fn run(self, received: &mut Segments) -> Delivered {
        let mut state = State::new(self.group.subs.len(), self.in_order, self.window_ns);
        let mut places = self.places.clone();
        let mut gates: Vec<Gate> = vec![Gate::default(); places.len()];
        let chosen: Vec<_> = self.group.subs.iter().map(|sub| sub.nearest[self.at].seen).collect();
        for (number, record) in Merged::new(chosen.iter().map(|seen| &self.legs[seen.leg])) {
            let now_ns = record.time_ns;
            let gate = &mut gates[number];
            if (record.from() == chosen[number].client_end) == (self.side == super::group::CLIENT) {
                let Some(content) = places[number].content(&record) else { continue };
                state.out.seen[number] += u64::from(record.len);
                let Some(offset) = content.offset else {
                    state.out.unmapped_bytes += u64::from(record.len);
                    gate.pass_over(content.relative, content.relative + u64::from(record.len));
                    continue;
                };
                let held = Held { len: record.len, offset, since_ns: now_ns };
                if !self.in_order {
                    state.data(number, offset, offset + u64::from(record.len), (now_ns, now_ns));
                    continue;
                }
                gate.take(content.relative, held);
                self.pass_on(&mut state, gate, number, now_ns, received);
                continue;
            }
            if !record.flags.ack() || record.flags.rst() {
                continue;
            }
            // The receiver has what it acknowledges, whether or not the capture contains it.
            let relative = places[number].acknowledged(record.ack);
            gate.acknowledged = gate.acknowledged.max(relative.unwrap_or(0));
            self.pass_on(&mut state, gate, number, now_ns, received);
            let has_all = relative.is_some_and(|relative| relative >= gate.expected);
            if let Some(place) = acknowledged(&mut places[number], &record, relative, !self.group.mptcp) {
                state.acknowledged(self.fin.map_or(place, |fin| place.min(fin)), now_ns);
                if has_all {
                    state.out.stall.heard(now_ns);
                }
            }
        }
        // At the end, payload that waits for bytes missing from the capture is counted as well.
        for (number, gate) in gates.iter_mut().enumerate() {
            gate.acknowledged = u64::MAX;
            self.pass_on(&mut state, gate, number, self.end_ns, received);
        }
        state.finish(self.end_ns)
    }

    /// Moves the in-order payload of a subflow to the stream.
    fn pass_on(&self, state: &mut State, gate: &mut Gate, number: usize, now_ns: u64, received: &mut Segments) {
        while let Some(held) = gate.next() {
            let end = held.offset + u64::from(held.len);
            let new = state.data(number, held.offset, end, (held.since_ns, now_ns));
            if !self.series {
                continue;
            }
            let time_s = now_ns.saturating_sub(self.start_ns) as f64 / 1e9;
            received.push(time_s, self.connection, self.side, number, (held.offset, held.len), new as u32);
        }
    }
}

/// The stream offset before which this packet acknowledges everything.
pub fn acknowledged(places: &mut Places, record: &Record, relative: Option<u64>, plain: bool) -> Option<u64> {
    if plain || (places.unmapped_continue && !record.has.mptcp()) {
        return places.offset(relative?.checked_sub(1)?).map(|place| place + 1);
    }
    places.data_acknowledged(record)
}

/// Data that arrived before it could be delivered.
#[derive(Clone, Copy, Debug)]
struct Early {
    end: u64,
    subflow: usize,
    since_ns: u64,
    /// Whether it was in order on its subflow within the time window.
    in_window: bool,
}

struct State {
    out: Delivered,
    in_order: bool,
    /// Data that arrived beyond the delivered offset, by its start.
    early: BTreeMap<u64, Early>,
    /// Data delivered without appearing in the capture: start, end, and whether it was delivered in the time window.
    gaps: BTreeMap<u64, (u64, bool)>,
    /// One more than the highest stream offset that arrived.
    highest: u64,
    first_ns: Option<u64>,
    window_ns: (u64, u64),
}

impl State {
    fn new(subflows: usize, in_order: bool, window_ns: (u64, u64)) -> State {
        State {
            out: Delivered { by_subflow: vec![[0; 2]; subflows], seen: vec![0; subflows], ..Delivered::default() },
            in_order,
            early: BTreeMap::new(),
            gaps: BTreeMap::new(),
            highest: 0,
            first_ns: None,
            window_ns,
        }
    }

    fn in_window(&self, now_ns: u64) -> bool {
        (self.window_ns.0..=self.window_ns.1).contains(&now_ns)
    }

    fn credit(&mut self, subflow: usize, bytes: u64, in_window: bool) {
        self.out.by_subflow[subflow][0] += bytes;
        self.out.by_subflow[subflow][1] += if in_window { bytes } else { 0 };
    }

    /// Adds a part of the stream that arrived at `since_ns` and is in order on its subflow at `now_ns`. Returns how
    /// many of its bytes are new.
    fn data(&mut self, subflow: usize, start: u64, end: u64, (since_ns, now_ns): (u64, u64)) -> u64 {
        let mut new = self.fill(subflow, start, end.min(self.out.bytes));
        self.highest = self.highest.max(end);
        let mut at = start.max(self.out.bytes);
        let in_window = self.in_window(now_ns);
        // Skip what an earlier part that reaches into this one covers.
        if let Some((_, known)) = self.early.range(..=at).next_back() {
            at = at.max(known.end);
        }
        while at < end {
            let next = self.early.range(at..).next().map(|(&start, known)| (start, known.end));
            let (gap_end, resume) = match next {
                Some((next_start, next_end)) if next_start < end => (next_start, next_end),
                _ => (end, end),
            };
            if at < gap_end {
                new += gap_end - at;
                self.early.insert(at, Early { end: gap_end, subflow, since_ns, in_window });
            }
            at = resume;
        }
        if self.in_order {
            self.deliver(now_ns);
            self.out.stall.note((self.out.bytes, self.out.acknowledged), false, now_ns);
        }
        new
    }

    /// Data believed missing has arrived, because of another clock or another order in the file.
    fn fill(&mut self, subflow: usize, start: u64, end: u64) -> u64 {
        let mut filled = 0;
        while let Some((&from, &(to, in_window))) = self.gaps.range(..end).next_back()
            && start < to.min(end)
        {
            self.gaps.remove(&from);
            let (low, high) = (from.max(start), to.min(end));
            for (left, right) in [(from, low), (high, to)] {
                if left < right {
                    self.gaps.insert(left, (right, in_window));
                }
            }
            self.credit(subflow, high - low, in_window);
            self.out.waiting.add(0, high - low);
            filled += high - low;
        }
        filled
    }

    /// Reports that the receiver has everything before `place`.
    fn acknowledged(&mut self, place: u64, now_ns: u64) {
        if place > self.out.acknowledged && place <= self.highest.max(self.out.acknowledged) + WINDOW {
            self.out.acknowledged = place;
            self.deliver(now_ns);
            self.out.stall.note((self.out.bytes, place), true, now_ns);
        }
    }

    /// Delivers all data that can be delivered: up to the acknowledged offset, and what arrived in order.
    fn deliver(&mut self, now_ns: u64) {
        let before = self.out.bytes;
        let in_window = self.in_window(now_ns);
        let target = self.out.acknowledged;
        loop {
            let at = self.out.bytes;
            match self.early.first_key_value().map(|(&start, &piece)| (start, piece)) {
                Some((start, piece)) if start <= at => {
                    let to = if self.in_order { piece.end } else { piece.end.min(target) };
                    if to <= at {
                        break;
                    }
                    self.early.pop_first();
                    if to < piece.end {
                        self.early.insert(to, piece);
                    }
                    self.credit(piece.subflow, to - at, piece.in_window);
                    self.out.waiting.add(now_ns.saturating_sub(piece.since_ns), to - at);
                    self.out.bytes = to;
                }
                next if at < target => {
                    let to = next.map_or(target, |(start, _)| start.min(target));
                    self.miss(at, to, in_window);
                    self.out.bytes = to;
                }
                _ => break,
            }
        }
        let advanced = self.out.bytes - before;
        if advanced > 0 {
            self.out.window += if in_window { advanced } else { 0 };
            self.hear(now_ns);
            self.out.last_ns = Some(now_ns);
        }
    }

    fn miss(&mut self, from: u64, to: u64, in_window: bool) {
        match self.gaps.range_mut(..from).next_back() {
            Some((_, (end, within))) if *end == from && *within == in_window => *end = to,
            _ => {
                self.gaps.insert(from, (to, in_window));
            }
        }
    }

    /// Ends a silence: bytes were delivered, or the connection ended.
    fn hear(&mut self, now_ns: u64) {
        let Some(last_ns) = self.out.last_ns.filter(|_| self.first_ns.is_some()) else {
            self.first_ns = Some(now_ns);
            return;
        };
        let silence_ns = now_ns.saturating_sub(last_ns);
        if self.out.silence_ns.is_none_or(|(longest_ns, _)| silence_ns > longest_ns) {
            self.out.silence_ns = Some((silence_ns, now_ns));
        }
    }

    fn finish(mut self, end_ns: u64) -> Delivered {
        self.out.outstanding = self.early.iter().map(|(start, piece)| piece.end - start).sum();
        if self.out.outstanding > 0 && self.first_ns.is_some() {
            self.hear(end_ns);
        }
        for (start, (end, in_window)) in &self.gaps {
            self.out.missed[0] += end - start;
            self.out.missed[1] += if *in_window { end - start } else { 0 };
        }
        self.out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state() -> State {
        State::new(1, true, (0, u64::MAX))
    }

    #[test]
    fn bytes_wait_for_those_before_them() {
        let mut state = state();
        assert_eq!(state.data(0, 0, 10, (1, 1)), 10);
        assert_eq!(state.data(0, 20, 30, (2, 2)), 10);
        assert_eq!(state.data(0, 25, 40, (3, 3)), 10);
        assert_eq!(state.data(0, 5, 50, (7, 7)), 20);
        assert_eq!((state.out.bytes, state.early.len()), (50, 0));
        // Ten of them waited 5 ns, ten 4 ns, the others not at all. Nothing was delivered between 1 and 7 ns.
        let out = state.finish(9);
        assert_eq!((out.by_subflow[0], out.silence_ns), ([50, 50], Some((6, 7))));
        let spread = out.waiting.spread().unwrap();
        assert_eq!((spread.count, spread.mean_s), (50, 90.0 / 50.0 / 1e9));
    }

    #[test]
    fn what_is_acknowledged_was_there() {
        let mut state = state();
        state.data(0, 10, 20, (1, 1));
        state.data(0, 30, 40, (1, 1));
        state.acknowledged(35, 2);
        assert_eq!((state.out.bytes, state.gaps.len()), (40, 2));
        state.acknowledged(50, 3);
        // Missing data arrives later after all, as in a file with another clock.
        assert_eq!(state.data(0, 5, 12, (4, 4)), 5);
        // This acknowledgment belongs to another stream.
        state.acknowledged(50 + (2 << 30), 5);
        let out = state.finish(6);
        assert_eq!((out.bytes, out.missed, out.by_subflow[0]), (50, [25, 25], [25, 25]));
    }

    #[test]
    fn a_data_ack_that_does_not_move_is_a_stall() {
        let mut state = state();
        state.data(0, 0, 10, (1, 1));
        state.out.stall.heard(4);
        state.acknowledged(10, 5);
        // Nothing is there to acknowledge: what comes next is missing.
        state.data(0, 20, 30, (6, 6));
        state.out.stall.heard(50);
        state.data(0, 10, 20, (60, 60));
        state.acknowledged(15, 70);
        // Since the last step, not since the arrival; sent again, it is no news.
        state.data(0, 10, 20, (75, 75));
        state.out.stall.heard(90);
        state.acknowledged(30, 95);
        state.out.stall.heard(200);
        assert_eq!(state.finish(300).stall.longest_ns, Some((20, 90)));
    }

    #[test]
    fn at_the_sender_an_acknowledgment_delivers() {
        let mut state = State::new(2, false, (0, u64::MAX));
        state.data(0, 0, 1000, (1, 1));
        state.data(1, 1000, 3000, (2, 2));
        state.data(0, 1000, 2000, (3, 3));
        assert_eq!(state.out.bytes, 0);
        state.acknowledged(1500, 4);
        let out = state.finish(5);
        assert_eq!((out.bytes, out.by_subflow, out.outstanding), (1500, vec![[1000; 2], [500; 2]], 1500));
    }
}
