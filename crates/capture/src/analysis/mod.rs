//! What captures say about TCP and Multipath TCP: two passes. The first reads packets one by one and keeps 56 bytes of
//! each segment, by connection and place where it was seen; the second puts the legs of a subflow and the subflows of a
//! connection together, and goes through each direction once where it is sent and once where it is received.

mod collect;
mod facts;
mod group;
mod leg;
mod merge;
mod place;
mod received;
pub mod report;
mod sent;
mod spread;
mod survey;

use crate::CaptureError;
use collect::Collector;
use group::{CLIENT, Group, SERVER, Sub};
use leg::Leg;
use place::Places;
use report::{Analysis, Connection, Flow, Series, Stream, Subflow};
use std::io::Read;
use survey::Survey;

/// What is asked for.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options {
    /// Rates and shares count from here on: seconds from the first TCP packet.
    pub from_s: Option<f64>,
    /// Rates and shares count up to here.
    pub to_s: Option<f64>,
}

/// Reads captures that belong together and analyses them.
#[derive(Default)]
pub struct Analyser {
    collector: Collector,
}

impl Analyser {
    /// Reads one capture to its end; several are taken together. `watch` is asked now and then whether to go on, with
    /// the bytes that were captured so far; answers false when it ended that.
    ///
    /// # Errors
    /// [`CaptureError`]; a file that is damaged further on is not an error.
    pub fn read(
        &mut self,
        name: &str,
        source: impl Read,
        watch: &mut dyn FnMut(u64) -> bool,
    ) -> Result<bool, CaptureError> {
        self.collector.read(name, source, watch)
    }

    /// What all of it says.
    #[must_use]
    pub fn finish(self, options: Options) -> Analysis {
        let Collector { mut legs, files, vantages, first_ns, last_ns, .. } = self.collector;
        legs.iter_mut().for_each(Leg::sort);
        let start_ns = first_ns.unwrap_or(0);
        let mut analysis = Analysis {
            files,
            interfaces: vantages,
            start_ns: first_ns,
            duration_s: last_ns.saturating_sub(start_ns) as f64 / 1e9,
            ..Analysis::default()
        };
        let at = |seconds: f64| start_ns.saturating_add((seconds.max(0.0) * 1e9) as u64);
        let window_ns = (options.from_s.map_or(0, at), options.to_s.map_or(u64::MAX, at));
        for group in group::group(&legs) {
            let number = analysis.connections.len() as u32;
            let series = &mut analysis.series;
            analysis
                .connections
                .push(Whole { group: &group, legs: &legs, start_ns, window_ns, number }.connection(series));
        }
        analysis
    }
}

/// One connection on its way to the report.
struct Whole<'a> {
    group: &'a Group,
    legs: &'a [Leg],
    /// Of the captures.
    start_ns: u64,
    window_ns: (u64, u64),
    number: u32,
}

impl Whole<'_> {
    fn connection(&self, series: &mut Series) -> Connection {
        let Whole { group, legs, .. } = *self;
        let seconds = |time_ns: u64| time_ns.saturating_sub(self.start_ns) as f64 / 1e9;
        let surveys = [CLIENT, SERVER].map(|side| survey::survey(group, legs, side));
        let events = facts::events(group, legs, &surveys, &seconds);
        let fallback = facts::fallback(group, legs, &surveys, &seconds);
        let (mut subflows, mut streams) = (Vec::new(), Vec::new());
        for (number, sub) in group.subs.iter().enumerate() {
            subflows.push(self.subflow(number, sub, facts::subflow_closing(&events, number), &seconds));
        }
        for side in [CLIENT, SERVER] {
            let (stream, flows) = self.stream(side, &surveys[side], fallback.is_some(), series);
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
            closing: facts::closing(group, &events),
            streams,
            subflows,
            events,
        }
    }

    fn subflow(&self, _number: usize, sub: &Sub, closing: String, seconds: &dyn Fn(u64) -> f64) -> Subflow {
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
            end_s: of_legs().filter_map(|leg| leg.records.last()).map(|last| seconds(last.time_ns)).fold(0.0, f64::max),
            address_ids: if sub.opened_by == CLIENT { ids } else { [ids[1], ids[0]] },
            backup: sub.join.is_some_and(|join| join.backup),
            join_hmac: facts::join_hmac(self.group, sub),
            handshake_rtt_s: opener.handshake_ns().map(|rtt_ns| rtt_ns as f64 / 1e9),
            seen_at: of_legs().map(|leg| leg.vantage).collect(),
            closing,
            flows: Vec::new(),
        }
    }

    /// Follows each subflow of one direction where `at` sees it.
    fn places(&self, side: usize, at: usize, survey: &Survey, fallen: bool) -> Vec<Places> {
        let unmapped_continue = !self.group.mptcp || fallen;
        let base = if self.group.mptcp { survey.base } else { Some(0) };
        self.group
            .subs
            .iter()
            .map(|sub| {
                let seen = sub.nearest[at].seen;
                Places::new(survey::isn(&self.legs[seen.leg], seen.client_end, side), base, unmapped_continue)
            })
            .collect()
    }

    fn stream(&self, side: usize, survey: &Survey, fallen: bool, series: &mut Series) -> (Stream, Vec<Flow>) {
        let Whole { group, legs, start_ns, number: connection, window_ns } = *self;
        let direction = if side == CLIENT { "up" } else { "down" };
        let (places, fin) = (self.places(side, side, survey, fallen), survey.fin);
        let sent = sent::Pass { group, legs, side, places, fin, connection, start_ns };
        let sent = sent.run(&mut series.sent, &mut series.acks);
        let places = self.places(side, 1 - side, survey, fallen);
        let received = received::Pass { group, legs, side, places, fin, connection, start_ns, window_ns };
        let received = received.run(&mut series.received);
        let there = |at: usize| group.subs.iter().all(|sub| sub.nearest[at].is_there);
        let (by_sender, by_receiver) = (there(side), there(1 - side));
        // Active from its first packet to its last new byte, as far as that lies in the window.
        let first_ns = group.subs.iter().map(|sub| sub.start_ns).min().unwrap_or(0);
        let end_ns = received.last_ns.unwrap_or(first_ns).saturating_add(1).min(window_ns.1);
        let span_s = end_ns.saturating_sub(first_ns.max(window_ns.0)) as f64 / 1e9;
        let rate = |bytes: u64| (span_s > 0.0).then(|| bytes as f64 * 8.0 / span_s);
        let in_window: u64 = received.new_bytes.iter().map(|[_, window]| window).sum();
        let flows: Vec<Flow> = sent
            .subflows
            .into_iter()
            .zip(&received.new_bytes)
            .map(|(counts, &[bytes, window])| Flow {
                direction,
                bytes,
                goodput_bps: rate(window),
                share: (in_window > 0).then(|| window as f64 / in_window as f64),
                segments_sent: counts.segments,
                bytes_sent: counts.bytes,
                retransmissions: counts.retransmissions,
                reinjections: counts.reinjections,
                reordered: counts.reordered,
                rtt: counts.rtt.spread(),
            })
            .collect();
        let sum = |of: fn(&Flow) -> u64| flows.iter().map(of).sum();
        let stream = Stream {
            direction,
            bytes: if by_receiver { received.in_order } else { sent.acknowledged },
            goodput_bps: rate(received.in_order_window),
            segments_sent: sum(|flow| flow.segments_sent),
            retransmissions: sum(|flow| flow.retransmissions),
            reinjections: sum(|flow| flow.reinjections),
            data_ack_rtt: if by_sender { sent.data_ack_rtt.spread() } else { None },
            out_of_order_delay: if by_receiver { received.waiting.spread() } else { None },
            missed_bytes: received.missed_bytes,
            unmapped_bytes: received.unmapped_bytes,
        };
        (stream, flows)
    }
}
