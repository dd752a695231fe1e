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
        let chosen: Vec<_> = self.group.subs.iter().map(|sub| sub.nearest[receiver]).collect();
        for (number, record) in Merged::new(chosen.iter().map(|place| &self.legs[place.seen.leg])) {
            let from_client = usize::from(record.has.backwards()) == chosen[number].seen.client_end;
            let now_ns = record.time_ns;
            if from_client == (self.side == CLIENT) {
                let Some(content) = places[number].content(record) else { continue };
                let Some(offset) = content.offset else {
                    state.out.unmapped_bytes += u64::from(record.len);
                    continue;
                };
                let new = state.data(offset, offset + u64::from(record.len), now_ns);
                state.out.new_bytes[number][0] += new;
                if state.in_window(now_ns) {
                    state.out.new_bytes[number][1] += new;
                }
                let time_s = now_ns.saturating_sub(self.start_ns) as f64 / 1e9;
                received.push(time_s, self.connection, self.side, number, (offset, record.len), new as u32);
            } else if let Some(place) = acknowledged(&mut places[number], record, !self.group.mptcp) {
                state.acknowledged(self.fin.map_or(place, |fin| place.min(fin)), now_ns);
            }
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

    /// Takes a part of the stream in; answers how many bytes of it are new.
    fn data(&mut self, start: u64, end: u64, now_ns: u64) -> u64 {
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
                self.early.insert(at, (gap_end, now_ns));
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
        assert_eq!(state.data(0, 10, 1), 10);
        assert_eq!(state.data(20, 30, 2), 10);
        assert_eq!(state.data(25, 40, 3), 10);
        assert_eq!(state.data(5, 50, 7), 20);
        assert_eq!((state.out.in_order, state.early.len()), (50, 0));
        // Ten of them waited 5, ten 4, the others not at all.
        let spread = state.out.waiting.spread().unwrap();
        assert_eq!((spread.count, spread.mean_s), (50, 90.0 / 50.0 / 1e9));
    }

    #[test]
    fn what_is_acknowledged_was_there() {
        let mut state = state();
        state.data(10, 20, 1);
        state.data(30, 40, 1);
        state.acknowledged(35, 2);
        assert_eq!((state.out.in_order, state.out.missed_bytes), (40, 20));
        state.acknowledged(50, 3);
        assert_eq!((state.out.in_order, state.out.missed_bytes), (50, 30));
    }
}
