//! One direction of a connection where it is received: which subflow brought each byte first, and how long bytes waited
//! for those before them.

use super::group::{CLIENT, Group};
use super::leg::{Leg, Record};
use super::merge::Merged;
use super::place::Places;
use super::report::Segments;
use super::spread::Durations;
use std::collections::BTreeMap;

/// What was counted in one direction.
#[derive(Debug, Default)]
pub struct Received {
    /// Bytes that were new, by subflow: in all, and in the window of time.
    pub new_bytes: Vec<[u64; 2]>,
    /// All bytes before this place are there.
    pub in_order: u64,
    /// Of those, how many came in the window of time.
    pub in_order_window: u64,
    /// Bytes acknowledged that the capture does not have.
    pub missed_bytes: u64,
    pub waiting: Durations,
    pub unmapped_bytes: u64,
    /// When the last new byte came.
    pub last_ns: Option<u64>,
}

/// Goes through the packets of one direction: `side` is the sender's.
pub struct Pass<'a> {
    pub group: &'a Group,
    pub legs: &'a [Leg],
    pub side: usize,
    pub places: Vec<Places>,
    pub fin: Option<u64>,
    pub connection: u32,
    pub start_ns: u64,
    /// The window of time that is counted by itself.
    pub window_ns: (u64, u64),
}

/// Content of a segment.
#[derive(Clone, Copy, Debug)]
struct Held {
    len: u32,
    offset: u64,
    since_ns: u64,
}

/// A subflow hands its content over in order, as TCP does: what comes early on it waits here.
#[derive(Clone, Debug)]
struct Gate {
    /// By relative subflow sequence number.
    held: BTreeMap<u64, Held>,
    expected: u64,
    /// The receiver has all before.
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
        // Of two with the same beginning the longer; of the same the one that came first.
        let known = self.held.entry(relative).or_insert(held);
        if known.len < held.len {
            *known = held;
        }
    }

    /// Content that has no place in the stream has come.
    fn pass_over(&mut self, start: u64, end: u64) {
        if start <= self.expected {
            self.expected = self.expected.max(end);
        }
    }

    /// What is in order now.
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
            // What of it has been handed over stays out.
            let known = self.expected.saturating_sub(relative);
            self.expected = end;
            return Some(Held { len: held.len - known as u32, offset: held.offset + known, ..held });
        }
    }
}

struct State {
    out: Received,
    /// What came early: by start, end and when it came.
    early: BTreeMap<u64, (u64, u64)>,
    window_ns: (u64, u64),
}

impl Pass<'_> {
    pub fn run(self, received: &mut Segments) -> Received {
        let receiver = 1 - self.side;
        let mut places = self.places;
        let mut state = State {
            out: Received { new_bytes: vec![[0; 2]; self.group.subs.len()], ..Received::default() },
            early: BTreeMap::new(),
            window_ns: self.window_ns,
        };
        let mut gates: Vec<Gate> = vec![Gate::default(); self.group.subs.len()];
        let mut pending: Option<(u64, u64)> = None;
        let chosen: Vec<_> = self.group.subs.iter().map(|sub| sub.nearest[receiver]).collect();
        for (number, record) in Merged::new(chosen.iter().map(|place| &self.legs[place.seen.leg])) {
            let from_client = usize::from(record.has.backwards()) == chosen[number].seen.client_end;
            let now_ns = record.time_ns;
            // Once the clock has gone on: of one moment, the data may stand after their acknowledgment on another subflow.
            if let Some((place, _)) = pending.take_if(|(_, at_ns)| *at_ns < now_ns) {
                state.acknowledged(place, now_ns);
            }
            if from_client == (self.side == CLIENT) {
                let Some(content) = places[number].content(record) else { continue };
                let Some(offset) = content.offset else {
                    state.out.unmapped_bytes += u64::from(record.len);
                    gates[number].pass_over(content.relative, content.relative + u64::from(record.len));
                    continue;
                };
                gates[number].take(content.relative, Held { len: record.len, offset, since_ns: now_ns });
                while let Some(held) = gates[number].next() {
                    let new = state.data(held.offset, held.offset + u64::from(held.len), (held.since_ns, now_ns));
                    state.out.new_bytes[number][0] += new;
                    if state.in_window(now_ns) {
                        state.out.new_bytes[number][1] += new;
                    }
                    let time_s = now_ns.saturating_sub(self.start_ns) as f64 / 1e9;
                    received.push(time_s, self.connection, self.side, number, (held.offset, held.len), new as u32);
                }
                continue;
            }
            // The receiver has what it acknowledges, whether the capture has it or not.
            if let Some(relative) = places[number].acknowledged(record.ack).filter(|_| record.flags.ack()) {
                gates[number].acknowledged = gates[number].acknowledged.max(relative);
            }
            if let Some(place) = acknowledged(&mut places[number], record, !self.group.mptcp) {
                let place = self.fin.map_or(place, |fin| place.min(fin));
                pending = Some((pending.map_or(place, |(known, _)| known.max(place)), now_ns));
            }
        }
        if let Some((place, at_ns)) = pending {
            state.acknowledged(place, at_ns);
        }
        state.out
    }
}

/// The place in the stream before which this packet acknowledges all.
fn acknowledged(places: &mut Places, record: &Record, plain: bool) -> Option<u64> {
    if !record.flags.ack() || record.flags.rst() {
        return None;
    }
    if plain || (places.unmapped_continue && !record.has.mptcp()) {
        let relative = places.acknowledged(record.ack)?;
        return places.offset(relative.checked_sub(1)?).map(|place| place + 1);
    }
    places.data_acknowledged(record)
}

impl State {
    fn in_window(&self, now_ns: u64) -> bool {
        (self.window_ns.0..self.window_ns.1).contains(&now_ns)
    }

    /// Takes a part of the stream in, which came at `since_ns` and is in order on its subflow at `now_ns`; answers how
    /// many bytes of it are new.
    fn data(&mut self, start: u64, end: u64, (since_ns, now_ns): (u64, u64)) -> u64 {
        let mut new = 0;
        let mut at = start.max(self.out.in_order);
        // What lies before and reaches into it.
        if let Some((_, &(known_end, _))) = self.early.range(..=at).next_back() {
            at = at.max(known_end);
        }
        while at < end {
            let next = self.early.range(at..).next().map(|(&start, &(end, _))| (start, end));
            let (gap_end, resume) = match next {
                Some((next_start, next_end)) if next_start < end => (next_start, next_end),
                _ => (end, end),
            };
            if at < gap_end {
                new += gap_end - at;
                self.early.insert(at, (gap_end, since_ns));
            }
            at = resume;
        }
        if new > 0 {
            self.out.last_ns = Some(now_ns);
            self.deliver(now_ns);
        }
        new
    }

    /// Delivers what has come in order.
    fn deliver(&mut self, now_ns: u64) {
        let before = self.out.in_order;
        while let Some((&start, &(end, since_ns))) = self.early.first_key_value() {
            if start > self.out.in_order {
                break;
            }
            self.out.waiting.add(now_ns.saturating_sub(since_ns), end - start);
            self.out.in_order = self.out.in_order.max(end);
            self.early.pop_first();
        }
        if self.in_window(now_ns) {
            self.out.in_order_window += self.out.in_order - before;
        }
    }

    /// The receiver has all before `place`: what the capture does not have of it, it has missed.
    fn acknowledged(&mut self, place: u64, now_ns: u64) {
        while self.out.in_order < place {
            let next = self.early.first_key_value().map_or(place, |(&start, _)| start.min(place));
            self.out.missed_bytes += next - self.out.in_order;
            if self.in_window(now_ns) {
                self.out.in_order_window += next - self.out.in_order;
            }
            self.out.in_order = next;
            self.deliver(now_ns);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state() -> State {
        State { out: Received::default(), early: BTreeMap::new(), window_ns: (0, u64::MAX) }
    }

    #[test]
    fn bytes_wait_for_those_before_them() {
        let mut state = state();
        assert_eq!(state.data(0, 10, (1, 1)), 10);
        assert_eq!(state.data(20, 30, (2, 2)), 10);
        assert_eq!(state.data(25, 40, (3, 3)), 10);
        assert_eq!(state.data(5, 50, (7, 7)), 20);
        assert_eq!((state.out.in_order, state.early.len()), (50, 0));
        // Ten of them waited 5, ten 4, the others not at all.
        let spread = state.out.waiting.spread().unwrap();
        assert_eq!((spread.count, spread.mean_s), (50, 90.0 / 50.0 / 1e9));
    }

    #[test]
    fn what_is_acknowledged_was_there() {
        let mut state = state();
        state.data(10, 20, (1, 1));
        state.data(30, 40, (1, 1));
        state.acknowledged(35, 2);
        assert_eq!((state.out.in_order, state.out.missed_bytes), (40, 20));
        state.acknowledged(50, 3);
        assert_eq!((state.out.in_order, state.out.missed_bytes), (50, 30));
    }
}
