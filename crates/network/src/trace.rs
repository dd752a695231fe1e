//! The capacity of a link as a trace in Mahimahi's format, in place of a constant rate.
//!
//! R. Netravali et al., "Mahimahi: Accurate Record-and-Replay for HTTP", USENIX ATC 2015; the format is that of its
//! `mm-link` (and before it of `cellsim` in Winstein et al., "Stochastic Forecasts Achieve High Throughput and Low
//! Delay over Cellular Networks", NSDI 2013). Each line is a non-negative integer, in non-decreasing order: a time in
//! milliseconds at which the link can send once. A time on several lines stands for as many opportunities. The trace
//! begins at the link's time 0 and repeats with its last time as the period.
//!
//! Exactly as in Mahimahi:
//!
//! - An opportunity sends up to 1,504 bytes ([`Trace::OPPORTUNITY_BYTES`]), and a packet takes 4 bytes more than its
//!   size ([`Trace::FRAME_BYTES`]), because Mahimahi counts the header that a TUN device adds: one packet of 1,500
//!   bytes per opportunity, or several small ones.
//! - A packet that an opportunity does not complete continues with the following ones and departs with the last. (One
//!   of more than 1,500 bytes, which Mahimahi rejects, takes several.)
//! - The rest of an opportunity goes to the next packet if that packet is in the queue by then. Otherwise it is lost:
//!   nothing is saved up. A packet that arrives exactly at the time of an opportunity is too late for it.

use std::fmt;

/// Nanoseconds per unit of the format.
const NS_PER_MS: u64 = 1_000_000;

/// The sending opportunities of a link, which repeat.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trace {
    /// Times in nanoseconds from the beginning of a period, non-decreasing; the last is the period.
    times_ns: Box<[u64]>,
}

/// An error in a line of a trace, or in the whole trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TraceError {
    /// Number of the line, from 1; for the whole trace, that of the last line.
    pub line: usize,
    /// The value found.
    pub found: String,
    /// The value expected.
    pub expected: &'static str,
}

impl fmt::Display for TraceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: found {}, expected {}", self.line, self.found, self.expected)
    }
}

impl std::error::Error for TraceError {}

impl Trace {
    /// Bytes that one opportunity sends.
    pub const OPPORTUNITY_BYTES: u32 = 1_504;
    /// Bytes that each packet takes in addition to its size.
    pub const FRAME_BYTES: u32 = 4;

    /// Reads the text of a trace file.
    ///
    /// # Errors
    /// The first line that is not a time or is less than its predecessor; a trace that is empty or has length 0.
    pub fn parse(text: &str) -> Result<Self, TraceError> {
        let mut times_ns = Vec::new();
        let error = |line, found, expected| TraceError { line, found, expected };
        for (line, word) in (1..).zip(text.lines()) {
            let digits = !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_digit());
            if !digits {
                return Err(error(line, shown(word), "a time in whole milliseconds, alone on its line"));
            }
            let time_ns = word.parse().ok().and_then(|time_ms: u64| time_ms.checked_mul(NS_PER_MS));
            let Some(time_ns) = time_ns else {
                return Err(error(line, shown(word), "a time of at most 18446744073709 ms"));
            };
            if times_ns.last().is_some_and(|&last_ns| time_ns < last_ns) {
                let found = format!("{word} after {}", times_ns[times_ns.len() - 1] / NS_PER_MS);
                return Err(error(line, found, "a time not before that of the line above"));
            }
            times_ns.push(time_ns);
        }
        match times_ns.last() {
            None => Err(error(1, "nothing".to_string(), "at least one time in whole milliseconds")),
            Some(0) => Err(error(times_ns.len(), "0".to_string(), "a last time above 0, for it is the period")),
            Some(_) => Ok(Self { times_ns: times_ns.into_boxed_slice() }),
        }
    }

    /// The period in nanoseconds.
    #[must_use]
    pub fn period_ns(&self) -> u64 {
        self.times_ns[self.times_ns.len() - 1]
    }

    /// Number of opportunities per period.
    #[must_use]
    pub fn opportunities(&self) -> usize {
        self.times_ns.len()
    }

    /// Mean rate for packets of 1,500 bytes over a period, in bits per second, rounded down, at least 1.
    #[must_use]
    pub fn mean_rate_bps(&self) -> u64 {
        let bits = self.times_ns.len() as u128 * 8 * u128::from(Self::OPPORTUNITY_BYTES - Self::FRAME_BYTES);
        let rate_bps = bits * 1_000_000_000 / u128::from(self.period_ns());
        u64::try_from(rate_bps).unwrap_or(u64::MAX).max(1)
    }

    /// Number of opportunities after time 0 up to and including `time_ns`. Those at time 0 cannot be used.
    #[must_use]
    pub fn opportunities_until(&self, time_ns: u64) -> u128 {
        let (periods, into_ns) = (time_ns / self.period_ns(), time_ns % self.period_ns());
        let up_to = |limit_ns| self.times_ns.partition_point(|&at_ns| at_ns <= limit_ns) as u128;
        u128::from(periods) * self.times_ns.len() as u128 + up_to(into_ns) - up_to(0)
    }

    pub(crate) const fn times_ns(&self) -> &[u64] {
        &self.times_ns
    }
}

/// A line as shown in an error: quoted, and truncated if long.
fn shown(word: &str) -> String {
    let mut start: String = word.chars().take(40).collect();
    if start.len() < word.len() {
        start.push('…');
    }
    format!("{start:?}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_trace_is_its_times_and_its_last_one_is_the_period() {
        for text in ["0\n3\n3\n10\n", "0\r\n3\r\n3\r\n10"] {
            let trace = Trace::parse(text).unwrap();
            assert_eq!(trace.times_ns(), [0, 3_000_000, 3_000_000, 10_000_000]);
            assert_eq!((trace.period_ns(), trace.opportunities()), (10_000_000, 4));
            // 4 packets of 12,000 bits in 10 ms.
            assert_eq!(trace.mean_rate_bps(), 4_800_000);
        }
    }

    #[test]
    fn opportunities_are_counted_over_periods() {
        // At 3, 3 and 10 ms, and again at the beginning of the next period.
        let trace = Trace::parse("0\n3\n3\n10\n").unwrap();
        for (time_us, count) in [(0, 0), (2_999, 0), (3_000, 2), (9_999, 2), (10_000, 4), (12_999, 4), (13_000, 6)] {
            assert_eq!(trace.opportunities_until(time_us * 1_000), count, "{time_us} us");
        }
        assert_eq!(trace.opportunities_until(1_000_000_000), 400);
    }

    #[test]
    fn an_error_names_the_line_what_was_found_and_what_would_do() {
        let whole = "a time in whole milliseconds, alone on its line";
        for (text, line, found, expected) in [
            ("", 1, "nothing", "at least one time in whole milliseconds"),
            ("0\n0\n", 2, "0", "a last time above 0, for it is the period"),
            ("1\n\n2\n", 2, "\"\"", whole),
            ("1\n 2\n", 2, "\" 2\"", whole),
            ("1\n+2\n", 2, "\"+2\"", whole),
            ("1\n2.5\n", 2, "\"2.5\"", whole),
            ("-1\n", 1, "\"-1\"", whole),
            ("5\n7\n6\n", 3, "6 after 7", "a time not before that of the line above"),
            ("18446744073710\n", 1, "\"18446744073710\"", "a time of at most 18446744073709 ms"),
            ("99999999999999999999999\n", 1, "\"99999999999999999999999\"", "a time of at most 18446744073709 ms"),
        ] {
            let error = Trace::parse(text).unwrap_err();
            assert_eq!(error, TraceError { line, found: found.to_string(), expected });
            assert_eq!(error.to_string(), format!("line {line}: found {found}, expected {expected}"));
        }
        let long = Trace::parse(&"x".repeat(10_000)).unwrap_err();
        assert_eq!(long.found, format!("\"{}…\"", "x".repeat(40)));
    }

    proptest! {
        #[test]
        fn any_text_is_a_trace_or_an_error(text in "([0-9]{1,3}|.{0,4})(\n([0-9]{1,20}|.{0,3})){0,6}\n?") {
            if let Ok(trace) = Trace::parse(&text) {
                prop_assert!(trace.times_ns().is_sorted() && trace.period_ns() > 0 && trace.mean_rate_bps() > 0);
                prop_assert_eq!(trace.opportunities(), text.lines().count());
            }
        }

        #[test]
        fn what_is_written_is_read(mut times_ms in prop::collection::vec(0_u64..5_000, 1..50)) {
            times_ms.sort_unstable();
            let text: String = times_ms.iter().map(|time_ms| format!("{time_ms}\n")).collect();
            match Trace::parse(&text) {
                Ok(trace) => {
                    let read_ms: Vec<u64> = trace.times_ns().iter().map(|time_ns| time_ns / NS_PER_MS).collect();
                    prop_assert_eq!(read_ms, times_ms);
                }
                Err(_) => prop_assert_eq!(times_ms.last(), Some(&0)),
            }
        }
    }
}
