//! From counters to the outcome of a run.

use crate::application::Application;
use crate::outcome::{Connection, Link, Outcome, Subflow, Work};
use crate::probe::{Probe, SubflowMark, View};
use network::Counters;

/// The part of the run in which a connection was active and measured.
#[derive(Clone, Copy)]
struct Window {
    from_ns: u64,
    to_ns: u64,
}

impl Window {
    fn of(application: &Application, warmup_ns: u64, end_ns: u64) -> Window {
        Window {
            from_ns: application.start_ns.max(warmup_ns),
            to_ns: application.completion_ns.map_or(end_ns, |completion_ns| completion_ns.min(end_ns)),
        }
    }

    /// Per second of the window; `None` when it has no length.
    fn rate(self, amount: f64) -> Option<f64> {
        (self.to_ns > self.from_ns).then(|| amount * 1e9 / (self.to_ns - self.from_ns) as f64)
    }
}

/// `part` of `whole`; `None` when there is nothing to take a part of.
fn fraction(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}

/// Packets in the queue. Those that waited when the warm-up ended may be lost after it.
fn waiting(counters: &Counters) -> u64 {
    let dropped = counters.dropped_full + counters.dropped_early + counters.dropped_dead;
    counters.arrived_packets - dropped - counters.sent_packets
}

/// The outcome at `end_ns`. `events` is how many there were.
pub fn outcome(probe: Probe, view: View, warmup_ns: u64, end_ns: u64, events: u64) -> Outcome {
    let connections = (0..view.applications.len())
        .map(|number| connection(number, &probe, &view, Window::of(&view.applications[number], warmup_ns, end_ns)))
        .collect();
    let span_ns = end_ns - warmup_ns;
    let links = (0..view.fabric.links.len())
        .map(|direction| {
            let mark = probe.link_mark(end_ns, direction, view.fabric);
            let (now, warm) = (&mark.counters, &probe.warm_links[direction].counters);
            let drops = now.lost_packets() - warm.lost_packets();
            Link {
                link: direction / 2,
                down: direction % 2 == 0,
                utilization: mark.utilization_since(&probe.warm_links[direction]),
                loss_rate: fraction(drops, now.arrived_packets - warm.arrived_packets + waiting(warm)),
                drops,
                queue_mean_packets: (now.queue_packet_ns - warm.queue_packet_ns) as f64 / span_ns as f64,
                queue_max_packets: now.queue_max_packets,
            }
        })
        .collect();
    let work =
        Work { packet_hops: view.fabric.packet_hops, segments_delivered: view.fabric.segments_delivered, events };
    Outcome { connections, links, subflow_samples: probe.subflow_samples, link_samples: probe.link_samples, work }
}

fn connection(number: usize, probe: &Probe, view: &View, window: Window) -> Connection {
    let application = &view.applications[number];
    let warm_bytes = probe.warm_bytes.get(number).copied().unwrap_or(0);
    let counted: Vec<Counted> =
        application.subflows.iter().map(|&subflow| Counted::of(subflow, application, probe, view, window)).collect();
    let arrived = counted.iter().map(Counted::bytes).sum();
    // The receiving end knows how long bytes waited for those before them; any of its subflows leads to it.
    let receiver = application
        .subflows
        .iter()
        .find_map(|&subflow| view.fabric.subflows[subflow as usize].handles[application.receiver()])
        .map(|handle| view.hosts[application.receiver()].connection(handle.connection));
    let delay = receiver.map(|receiver| receiver.out_of_order_delays());
    Connection {
        kind: application.kind as usize,
        index: application.index,
        start_s: application.start_ns as f64 / 1e9,
        goodput_bps: window.rate((application.bytes_read - warm_bytes) as f64 * 8.0),
        bytes_delivered: application.bytes_read,
        completion_s: application.completion_ns.map(|at_ns| (at_ns - application.start_ns) as f64 / 1e9),
        out_of_order_delay_mean_s: delay.and_then(|delay| delay.mean_s()),
        out_of_order_delay_p95_s: delay.and_then(|delay| delay.quantile_s(0.95)),
        fallback: receiver.is_some_and(|receiver| receiver.is_fallback()),
        subflows: counted.iter().map(|counted| counted.row(arrived, window)).collect(),
    }
}

/// What a subflow has counted: now, and when the warm-up ended.
struct Counted {
    path: usize,
    now: SubflowMark,
    warm: SubflowMark,
    /// Data segments sent and lost since the warm-up.
    data: [u64; 2],
}

impl Counted {
    fn of(number: u32, application: &Application, probe: &Probe, view: &View, window: Window) -> Counted {
        let mut now = SubflowMark::at(window.to_ns, number, application, view);
        if let Some(integral) = probe.completed_cwnd.get(number as usize).copied().flatten() {
            now.cwnd_integral = integral;
        }
        // The flow that leads away from the sender carries the data: up (even) from the client, down (odd) from the server.
        let data = &view.fabric.flows[2 * number as usize + application.sender];
        Counted {
            path: view.fabric.subflows[number as usize].path as usize,
            now,
            warm: probe.warm_subflows.get(number as usize).copied().unwrap_or_default(),
            data: [data.data_sent, data.data_lost],
        }
    }

    /// New bytes that arrived since the warm-up.
    fn bytes(&self) -> u64 {
        self.now.bytes_received - self.warm.bytes_received
    }

    /// `arrived` is what arrived by all subflows of the connection.
    fn row(&self, arrived: u64, window: Window) -> Subflow {
        let (now, warm) = (&self.now.sender, &self.warm.sender);
        let rtt_samples = now.rtt_samples - warm.rtt_samples;
        let rtt_sum_ns = now.rtt_sum_ns - warm.rtt_sum_ns;
        let established = Window { from_ns: window.from_ns.max(now.established_ns), to_ns: window.to_ns };
        let cwnd_integral = self.now.cwnd_integral - self.warm.cwnd_integral;
        let [data_sent, data_lost] = self.data;
        Subflow {
            path: self.path,
            goodput_bps: window.rate(self.bytes() as f64 * 8.0),
            share: fraction(self.bytes(), arrived),
            segments_sent: now.data_segments_sent,
            retransmissions: now.retransmissions,
            timeouts: now.timeouts,
            reinjections: now.reinjections,
            loss_rate: fraction(data_lost, data_sent),
            rtt_mean_s: (rtt_samples > 0).then(|| rtt_sum_ns as f64 / rtt_samples as f64 / 1e9),
            cwnd_mean_segments: (now.established_ns > 0).then(|| established.rate(cwnd_integral / 1e9)).flatten(),
        }
    }
}
