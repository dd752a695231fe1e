//! Invariants of every analysis, whatever the capture contains or lacks. A report that violates one of them is wrong
//! and is not returned.

use super::report::{Analysis, Connection, Flow, Stream};

/// An invariant that a report violates.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// Index of the connection.
    pub connection: usize,
    /// The invariant, and the numbers that violate it.
    pub text: String,
}

/// Upper bound of the segment counters in any readable capture. A negative number, wrapped around, would exceed it.
const COUNTER: u64 = 1 << 31;
/// Tolerance for shares and rates, which are computed with rounding.
const ROUNDING: f64 = 1e-9;

/// All violations in a report.
#[must_use]
pub fn violations(analysis: &Analysis) -> Vec<Violation> {
    let mut found = Vec::new();
    for (number, connection) in analysis.connections.iter().enumerate() {
        for (direction, stream) in connection.streams.iter().enumerate() {
            let flows: Vec<&Flow> = connection.subflows.iter().filter_map(|sub| sub.flows.get(direction)).collect();
            let broken = of_stream(stream, &flows).into_iter().chain(of_rate(connection, stream, &flows));
            found.extend(
                broken.map(|text| Violation { connection: number, text: format!("{}: {text}", stream.direction) }),
            );
        }
    }
    found
}

fn of_stream(stream: &Stream, flows: &[&Flow]) -> Vec<String> {
    let sum = |of: fn(&Flow) -> u64| flows.iter().map(|flow| of(flow)).sum::<u64>();
    let mut broken = Vec::new();
    let mut law = |holds: bool, text: &str, numbers: String| {
        if !holds {
            broken.push(format!("{text} ({numbers})"));
        }
    };
    let Stream { bytes, missed_bytes, acknowledged_bytes, window_bytes, .. } = *stream;
    // The missed bytes arrived on the only subflow, or on one of several.
    let unknown = if flows.len() == 1 { 0 } else { missed_bytes };
    let brought = sum(|flow| flow.bytes);
    law(
        brought + unknown == bytes,
        "the subflows' bytes are the stream's, but for those missed",
        format!("{brought} + {unknown}, {bytes}"),
    );
    law(window_bytes <= bytes, "no part is more than the whole", format!("{window_bytes} of {bytes} bytes"));
    law(
        missed_bytes <= acknowledged_bytes,
        "only what is acknowledged can be missed",
        format!("{missed_bytes} missed, {acknowledged_bytes} acknowledged"),
    );
    for flow in flows {
        let Flow { bytes, bytes_seen, .. } = **flow;
        let most = bytes_seen + missed_bytes - unknown;
        law(bytes <= most, "no subflow brings more than it carries", format!("{bytes} of {most} bytes"));
    }
    for (name, of_flows, whole) in [
        ("segments", sum(|flow| flow.segments_sent), stream.segments_sent),
        ("retransmissions", sum(|flow| flow.retransmissions), stream.retransmissions),
        ("reinjections", sum(|flow| flow.reinjections), stream.reinjections),
    ] {
        law(of_flows == whole, "the subflows' counters are the stream's", format!("{name}: {of_flows}, {whole}"));
        law(whole < COUNTER, "a counter is below 2^31", format!("{name}: {whole}"));
    }
    let again = stream.retransmissions + stream.reinjections;
    law(
        again <= stream.segments_sent,
        "no more is sent again than is sent",
        format!("{again} of {} segments", stream.segments_sent),
    );
    broken
}

fn of_rate(connection: &Connection, stream: &Stream, flows: &[&Flow]) -> Vec<String> {
    let mut broken = Vec::new();
    let mut law = |holds: bool, text: &str, numbers: String| {
        if !holds {
            broken.push(format!("{text} ({numbers})"));
        }
    };
    let shares: Vec<f64> = flows.iter().filter_map(|flow| flow.share).collect();
    let whole: f64 = shares.iter().sum();
    let proper = shares.is_empty() || ((whole - 1.0).abs() < ROUNDING && shares.iter().all(|share| *share >= 0.0));
    law(proper, "shares sum to one", format!("{shares:?}"));
    if let Some(goodput_bps) = stream.goodput_bps {
        let (bits, span_s) = (stream.window_bytes as f64 * 8.0, stream.span_s);
        law(
            (goodput_bps * span_s - bits).abs() <= bits * ROUNDING,
            "goodput times its span is what was delivered",
            format!("{goodput_bps} bit/s, {span_s} s, {bits} bits"),
        );
        let least = connection.round_trip_s.unwrap_or(0.0);
        law(
            span_s > 0.0 && span_s >= least,
            "a goodput has a span of at least a round trip",
            format!("{span_s} s, {least} s"),
        );
        // In a time window, a subflow may bring data that is delivered in order only after the window.
        let whole = stream.window_bytes == stream.bytes;
        let of_flows: f64 = flows.iter().filter_map(|flow| flow.goodput_bps).sum();
        law(
            !whole || of_flows <= goodput_bps * (1.0 + ROUNDING) + ROUNDING,
            "the subflows' goodput is no more than the connection's",
            format!("{of_flows} bit/s, {goodput_bps} bit/s"),
        );
    }
    broken
}
