//! Analysis of captures of TCP and Multipath TCP, in two passes. The first reads packets one by one and keeps about ten
//! bytes of each, by pair of ends and observation point. The second groups legs into subflows and subflows into
//! connections, and processes each direction twice: as seen near its sender and near its receiver.

mod collect;
mod delivery;
mod facts;
mod group;
mod kinship;
pub mod laws;
mod leg;
mod log;
mod merge;
mod place;
mod points;
mod record;
pub mod report;
mod sent;
mod spread;
mod survey;
mod twice;

use crate::CaptureError;
use collect::Collector;
use group::{CLIENT, Group, SERVER, Sub};
use leg::Leg;
use log::Log;
use report::{Analysis, Clock, Connection, Flow, Series, Stream, Subflow};
use sent::Sent;
use std::io::Read;
use survey::Survey;

/// Minimum time span for a rate, regardless of the round-trip time.
const SHORTEST_NS: u64 = 1_000_000;

/// Options of an analysis.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options {
    /// Beginning of the time window for rates and shares, in seconds from the first TCP packet.
    pub from_s: Option<f64>,
    /// End of the time window for rates and shares.
    pub to_s: Option<f64>,
    /// Whether to list every segment ([`Series`]), which takes 100 bytes per segment.
    pub series: bool,
}

/// Reads related captures and analyses them together.
#[derive(Default)]
pub struct Analyser {
    collector: Collector,
}

impl Analyser {
    /// Reads one capture to its end. Several captures are analysed together. `watch` is called from time to time with
    /// the number of captured bytes so far and returns whether to continue. Returns false if `watch` stopped the
    /// reading.
    ///
    /// # Errors
    /// [`CaptureError`]. A file that is damaged further on is not an error.
    pub fn read(
        &mut self,
        name: &str,
        source: impl Read,
        watch: &mut dyn FnMut(u64) -> bool,
    ) -> Result<bool, CaptureError> {
        self.collector.read(name, source, watch)
    }

    /// The analysis of everything read.
    #[must_use]
    pub fn finish(self, options: Options) -> Analysis {
        let Collector { logs, files, points, .. } = self.collector;
        let (mut logs, points) = points::unite(logs, points);
        let clocks = points::clocks(&logs, points.len());
        logs.iter_mut().for_each(|log| log.records.shift_ns = clocks[log.point as usize].saturating_neg());
        let ahead = (0..).zip(&clocks).filter(|(_, ahead_ns)| **ahead_ns != 0);
        let clocks = ahead.map(|(interface, ns)| Clock { interface, ahead_s: *ns as f64 / 1e9 }).collect();
        let legs: Vec<Leg> = logs.into_iter().flat_map(Log::legs).collect();
        let spans = || legs.iter().filter_map(|leg| leg.records.span_ns());
        let first_ns = spans().map(|(first_ns, _)| first_ns).min();
        let start_ns = first_ns.unwrap_or(0);
        let last_ns = spans().map(|(_, last_ns)| last_ns).max().unwrap_or(0);
        let mut analysis = Analysis {
            files,
            interfaces: points.into_iter().map(|point| point.name).collect(),
            start_ns: first_ns,
            duration_s: last_ns.saturating_sub(start_ns) as f64 / 1e9,
            clocks,
            ..Analysis::default()
        };
        let at = |seconds: f64| start_ns.saturating_add((seconds.max(0.0) * 1e9) as u64);
        let window_ns = (options.from_s.map_or(0, at), options.to_s.map_or(u64::MAX, at));
        for group in group::group(&legs) {
            let number = analysis.connections.len() as u32;
            let mut series = Series::default();
            let whole = Whole { group: &group, legs: &legs, start_ns, window_ns, number, series: options.series };
            analysis.connections.push(whole.connection(&mut series));
            if options.series {
                analysis.series.append(series);
            }
        }
        analysis
    }
}

/// One connection while its report is made.
struct Whole<'a> {
    group: &'a Group,
    legs: &'a [Leg],
    /// Start of the captures.
    start_ns: u64,
    window_ns: (u64, u64),
    number: u32,
    series: bool,
}

impl Whole<'_> {
    fn connection(&self, series: &mut Series) -> Connection {
        let Whole { group, legs, .. } = *self;
        let seconds = |time_ns: u64| time_ns.saturating_sub(self.start_ns) as f64 / 1e9;
        let surveys = [CLIENT, SERVER].map(|side| survey::survey(group, legs, side));
        let events = facts::events(group, legs, &surveys, &seconds);
        let fallback = facts::fallback(group, legs, &surveys, &seconds);
        let fallen = fallback.is_some();
        let sent = [CLIENT, SERVER].map(|side| {
            let places = surveys[side].places_at(side, group.mptcp, fallen);
            let (connection, start_ns, series_too) = (self.number, self.start_ns, self.series);
            let fin = surveys[side].fin;
            let pass = sent::Pass { group, legs, side, places, fin, connection, start_ns, series: series_too };
            pass.run(&mut series.sent, &mut series.acks)
        });
        let handshakes = group.subs.iter().filter_map(|sub| legs[sub.nearest[sub.opened_by].seen.leg].handshake_ns());
        // Without a handshake, the observation point is unknown. The times until the answers of either side are parts
        // of the round trip, and their sum is the whole.
        let answers = sent.each_ref().map(|sent| sent.subflows.iter().filter_map(|counts| counts.rtt.least_ns()).min());
        let round_trip_ns = handshakes.min().or_else(|| Some(answers[CLIENT]? + answers[SERVER]?)).filter(|&ns| ns > 0);
        let (mut subflows, mut streams) = (Vec::new(), Vec::new());
        for (number, sub) in group.subs.iter().enumerate() {
            subflows.push(self.subflow(sub, facts::subflow_closing(&events, number), &seconds));
        }
        for (side, sent) in [CLIENT, SERVER].into_iter().zip(sent) {
            let (stream, flows) = self.stream(side, &surveys[side], (sent, fallen, round_trip_ns), series);
            streams.push(stream);
            for (subflow, flow) in subflows.iter_mut().zip(flows) {
                subflow.flows.push(flow);
            }
        }
        let first = subflows.first();
        let token = |side: usize| group.token(side).map(|token| format!("{token:08x}"));
        Connection {
            protocol: if group.mptcp { "mptcp" } else { "tcp" },
            version: group.version,
            complete: group.complete,
            client: first.map_or(String::new(), |sub| sub.client.clone()),
            server: first.map_or(String::new(), |sub| sub.server.clone()),
            client_token: token(CLIENT),
            server_token: token(SERVER),
            checksum: group.checksum,
            start_s: subflows.iter().map(|sub| sub.start_s).reduce(f64::min).unwrap_or(0.0),
            end_s: subflows.iter().map(|sub| sub.end_s).reduce(f64::max).unwrap_or(0.0),
            fallback,
            round_trip_s: round_trip_ns.map(|rtt_ns| rtt_ns as f64 / 1e9),
            closing: facts::closing(group, &events),
            streams,
            subflows,
            events,
        }
    }

    fn subflow(&self, sub: &Sub, closing: String, seconds: &dyn Fn(u64) -> f64) -> Subflow {
        let of_legs = || sub.legs.iter().map(|seen| &self.legs[seen.leg]);
        let at = |side: usize| {
            let seen = sub.nearest[side].seen;
            let end = if side == CLIENT { seen.client_end } else { 1 - seen.client_end };
            self.legs[seen.leg].tuple[end].to_string()
        };
        let ids = sub.join.map_or([None, None], |join| join.address_ids);
        let opener = &self.legs[sub.nearest[sub.opened_by].seen.leg];
        Subflow {
            client: at(CLIENT),
            server: at(SERVER),
            opened_by: facts::name(sub.opened_by),
            start_s: seconds(sub.start_ns),
            end_s: of_legs()
                .filter_map(|leg| leg.records.span_ns())
                .map(|(_, last_ns)| seconds(last_ns))
                .fold(0.0, f64::max),
            resets: of_legs().map(|leg| leg.ends.iter().map(|end| u64::from(end.resets)).sum()).max().unwrap_or(0),
            address_ids: if sub.opened_by == CLIENT { ids } else { [ids[1], ids[0]] },
            backup: sub.join.is_some_and(|join| join.backup),
            join_hmac: facts::join_hmac(self.group, sub),
            handshake_rtt_s: opener.handshake_ns().map(|rtt_ns| rtt_ns as f64 / 1e9),
            seen_at: of_legs().map(|leg| leg.point).collect(),
            closing,
            flows: Vec::new(),
        }
    }

    fn stream(
        &self,
        side: usize,
        survey: &Survey,
        (sent, fallen, round_trip_ns): (Sent, bool, Option<u64>),
        series: &mut Series,
    ) -> (Stream, Vec<Flow>) {
        let Whole { group, legs, start_ns, number: connection, window_ns, .. } = *self;
        let direction = if side == CLIENT { "up" } else { "down" };
        let there = |at: usize| group.subs.iter().all(|sub| sub.nearest[at].is_there);
        let (by_sender, in_order) = (there(side), there(1 - side));
        let at = if in_order { 1 - side } else { side };
        let spans = group.subs.iter().flat_map(|sub| &sub.legs).filter_map(|seen| legs[seen.leg].records.span_ns());
        let end_ns = spans.map(|(_, last_ns)| last_ns).max().unwrap_or(0);
        let places = survey.places_at(at, group.mptcp, fallen);
        let pass = delivery::Pass {
            group,
            legs,
            side,
            at,
            in_order,
            places,
            fin: survey.fin,
            connection,
            start_ns,
            window_ns,
            end_ns,
            series: self.series,
        };
        let mut delivered = pass.run(&mut series.received);
        if let [only] = &mut delivered.by_subflow[..] {
            // With a single subflow, the missing bytes must have arrived on it.
            only[0] += delivered.missed[0];
            only[1] += delivered.missed[1];
        }
        // The connection is active from its first packet to its last new byte, within the time window.
        let first_ns = group.subs.iter().map(|sub| sub.start_ns).min().unwrap_or(0).max(window_ns.0);
        let span_ns = delivered.last_ns.map_or(0, |last_ns| last_ns.min(window_ns.1).saturating_sub(first_ns));
        let span_s = span_ns as f64 / 1e9;
        let long_enough = span_ns >= round_trip_ns.unwrap_or(0).max(SHORTEST_NS);
        let rate = |bytes: u64| long_enough.then(|| bytes as f64 * 8.0 / span_s);
        let brought: u64 = delivered.by_subflow.iter().map(|[_, window]| window).sum();
        let flows: Vec<Flow> = sent
            .subflows
            .into_iter()
            .zip(delivered.by_subflow.iter().zip(&delivered.seen))
            .map(|(counts, (&[bytes, window], &bytes_seen))| Flow {
                direction,
                bytes,
                window_bytes: window,
                goodput_bps: rate(window),
                share: (brought > 0).then(|| window as f64 / brought as f64),
                segments_sent: counts.segments,
                bytes_sent: counts.bytes,
                bytes_seen,
                retransmissions: counts.retransmissions,
                reinjections: counts.reinjections,
                reordered: counts.reordered,
                timeouts: by_sender.then_some(counts.timeouts),
                rtt: counts.rtt.spread(),
            })
            .collect();
        let stall_ns = delivered.stall.longest_ns.filter(|_| in_order);
        let sum = |of: fn(&Flow) -> u64| flows.iter().map(of).sum();
        let stream = Stream {
            direction,
            bytes: delivered.bytes,
            window_bytes: delivered.window,
            span_s,
            goodput_bps: rate(delivered.window),
            acknowledged_bytes: delivered.acknowledged,
            outstanding_bytes: delivered.outstanding,
            segments_sent: sum(|flow| flow.segments_sent),
            retransmissions: sum(|flow| flow.retransmissions),
            reinjections: sum(|flow| flow.reinjections),
            data_ack_rtt: if by_sender { sent.data_ack_rtt.spread() } else { None },
            out_of_order_delay: if in_order { delivered.waiting.spread() } else { None },
            missed_bytes: delivered.missed[0],
            unmapped_bytes: delivered.unmapped_bytes,
            longest_silence_s: delivered.silence_ns.map(|(silence_ns, _)| silence_ns as f64 / 1e9),
            silence_end_s: delivered.silence_ns.map(|(_, end_ns)| end_ns.saturating_sub(start_ns) as f64 / 1e9),
            longest_data_ack_stall_s: stall_ns.map(|(stall_ns, _)| stall_ns as f64 / 1e9),
            data_ack_stall_end_s: stall_ns.map(|(_, end_ns)| end_ns.saturating_sub(start_ns) as f64 / 1e9),
            timeouts: by_sender.then(|| sum(|flow| flow.timeouts.unwrap_or(0))),
        };
        (stream, flows)
    }
}
