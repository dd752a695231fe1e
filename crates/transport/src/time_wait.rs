//! TIME-WAIT without the connection: what is left to do is to acknowledge the peer's last segments again, to keep the ends
//! from being used too soon, and to let a new connection begin where that is safe (RFC 9293 §3.6.1, RFC 6191).

use std::collections::{BTreeMap, VecDeque};

use wire::{Segment, Timestamps};

use crate::names::Tuple;
use crate::queue::Sendable;
use crate::tcp::subflow::Subflow;
use crate::time::Instant;

/// The ends of closed subflows, the oldest first. There are no more than the limit: then the oldest goes early, as on
/// every system (RFC 9293 §3.6.1 would keep it; memory would then be the peer's to take).
#[derive(Debug)]
pub(crate) struct TimeWait<P> {
    limit: usize,
    places: BTreeMap<Tuple, Resting<P>>,
    /// When each ends. One that begins anew stands here twice; the earlier time then says nothing.
    ends: VecDeque<(Instant, Tuple)>,
}

/// One subflow in TIME-WAIT.
#[derive(Debug)]
pub(crate) struct Resting<P> {
    pub until: Instant,
    /// The last acknowledgment, to be sent again.
    pub ack: Segment<P>,
}

/// What a segment for a subflow in TIME-WAIT calls for.
pub(crate) enum Verdict<P> {
    /// Nothing, or this acknowledgment.
    Answer(Option<Segment<P>>),
    /// It opens a new connection: the old one is no more.
    Open,
}

impl<P: Sendable> TimeWait<P> {
    pub fn new() -> Self {
        TimeWait { limit: 16_384, places: BTreeMap::new(), ends: VecDeque::new() }
    }

    pub fn len(&self) -> usize {
        self.places.len()
    }

    pub fn contains(&self, tuple: &Tuple) -> bool {
        self.places.contains_key(tuple)
    }

    pub fn insert(&mut self, tuple: Tuple, resting: Resting<P>) {
        while self.places.len() >= self.limit {
            self.drop_oldest();
        }
        self.ends.push_back((resting.until, tuple));
        self.places.insert(tuple, resting);
    }

    fn drop_oldest(&mut self) {
        if let Some((end, tuple)) = self.ends.pop_front()
            && self.places.get(&tuple).is_some_and(|resting| resting.until <= end)
        {
            self.places.remove(&tuple);
        }
    }

    /// Forgets those that are over.
    pub fn expire(&mut self, now: Instant) {
        while self.ends.front().is_some_and(|&(end, _)| end <= now) {
            self.drop_oldest();
        }
    }

    /// A segment for one of them; none when there is none with these ends.
    pub fn receive(&mut self, now: Instant, tuple: Tuple, segment: &Segment<P>) -> Option<Verdict<P>> {
        let resting = self.places.get(&tuple)?;
        let (flags, last) = (segment.flags, &resting.ack);
        let ahead = segment.seq.wrapping_sub(last.ack) as i32;
        if flags.rst() {
            return Some(Verdict::Answer(None)); // it must not end TIME-WAIT (RFC 1337 §3)
        }
        if flags.syn() && !flags.ack() {
            // RFC 6191 §2: a new connection, if its timestamp or its sequence number is above all of the old one.
            let newer = match (segment.options.timestamps, last.options.timestamps) {
                (Some(new), Some(old)) => (new.value.wrapping_sub(old.echo) as i32) > 0 || ahead > 0,
                _ => ahead > 0,
            };
            if newer {
                self.places.remove(&tuple);
                return Some(Verdict::Open);
            }
        } else if segment.payload.is_empty() && !flags.fin() && !flags.syn() {
            return Some(Verdict::Answer(None)); // a bare acknowledgment asks nothing
        }
        let mut answer = last.clone();
        if let Some(timestamps) = &mut answer.options.timestamps {
            *timestamps = Timestamps { value: Subflow::<P>::ts_now(now), ..*timestamps };
        }
        Some(Verdict::Answer(Some(answer)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wire::{Flags, Options, Span};

    const MINUTE: u64 = 60_000_000_000;

    fn tuple(port: u16) -> Tuple {
        Tuple { local: ([10, 0, 0, 1], port).into(), remote: ([10, 0, 0, 2], 80).into() }
    }

    fn segment(seq: u32, ack: u32, flags: Flags, ts: u32) -> Segment<Span> {
        let timestamps = Some(Timestamps { value: ts, echo: 77 });
        Segment { seq, ack, flags, options: Options { timestamps, ..Options::default() }, ..Segment::default() }
    }

    fn waiting() -> TimeWait<Span> {
        let mut all = TimeWait::new();
        // The last acknowledgment: of everything before 5,000, and of timestamp 77.
        all.insert(tuple(1), Resting { until: Instant::from_nanos(MINUTE), ack: segment(900, 5_000, Flags::ACK, 3) });
        all
    }

    #[test]
    fn a_fin_that_comes_again_is_acknowledged_again() {
        let mut all = waiting();
        let fin = segment(4_999, 900, Flags::FIN | Flags::ACK, 77);
        let Some(Verdict::Answer(Some(answer))) = all.receive(Instant::from_secs(2), tuple(1), &fin) else {
            panic!("no answer")
        };
        assert_eq!((answer.seq, answer.ack, answer.flags), (900, 5_000, Flags::ACK));
        assert_eq!(answer.options.timestamps, Some(Timestamps { value: 2_000, echo: 77 }));
        assert!(all.receive(Instant::ZERO, tuple(2), &fin).is_none(), "not for other ends");
    }

    #[test]
    fn a_reset_or_a_bare_acknowledgment_changes_nothing() {
        let mut all = waiting();
        for flags in [Flags::RST, Flags::RST | Flags::ACK, Flags::ACK] {
            let verdict = all.receive(Instant::ZERO, tuple(1), &segment(5_000, 900, flags, 78));
            assert!(matches!(verdict, Some(Verdict::Answer(None))), "{flags:?}");
        }
        assert!(all.contains(&tuple(1)));
    }

    #[test]
    fn a_new_connection_may_begin_only_above_the_old_one() {
        for (seq, ts, opens) in [(5_001, 77, true), (4_000, 78, true), (4_000, 77, false), (4_000, 70, false)] {
            let mut all = waiting();
            let verdict = all.receive(Instant::ZERO, tuple(1), &segment(seq, 0, Flags::SYN, ts));
            assert_eq!(matches!(verdict, Some(Verdict::Open)), opens, "{seq} {ts}");
            assert_eq!(all.contains(&tuple(1)), !opens);
        }
    }

    #[test]
    fn they_end_in_time_and_are_never_more_than_the_limit() {
        let mut all: TimeWait<Span> = TimeWait { limit: 3, ..TimeWait::new() };
        for port in 1..=5 {
            let until = u64::from(port) * MINUTE;
            all.insert(tuple(port), Resting { until: Instant::from_nanos(until), ack: segment(0, 0, Flags::ACK, 0) });
        }
        let there = |all: &TimeWait<Span>| (1..=5).filter(|&port| all.contains(&tuple(port))).collect::<Vec<_>>();
        assert_eq!((there(&all), all.len()), (vec![3, 4, 5], 3));
        all.expire(Instant::from_nanos(4 * MINUTE));
        assert_eq!(there(&all), [5]);
        // The ends of one that was replaced are not those of its successor.
        all.insert(tuple(5), Resting { until: Instant::from_nanos(9 * MINUTE), ack: segment(0, 0, Flags::ACK, 0) });
        all.expire(Instant::from_nanos(6 * MINUTE));
        assert_eq!(there(&all), [5]);
        all.expire(Instant::from_nanos(9 * MINUTE));
        assert_eq!((there(&all), all.ends.len()), (vec![], 0));
    }
}
