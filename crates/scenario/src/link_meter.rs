//! Measures links: samples at regular intervals, and totals that exclude the warm-up. For engines in virtual time and
//! in real time.

use crate::convert;
use crate::description::Description;
use crate::outcome;
use crate::outcome::LinkSamples;
use application::fraction;
use network::{Counters, Link, Trace};
use std::sync::Arc;

/// Bits per opportunity of a trace: a packet of 1,500 bytes.
const OPPORTUNITY_BITS: u128 = 8 * (Trace::OPPORTUNITY_BYTES - Trace::FRAME_BYTES) as u128;

/// Capacity of one direction of a link, integrated over time: the amount it could have sent.
struct Capacity {
    rate_bps: u64,
    /// The trace in place of the rate, if there is one.
    trace: Option<Arc<Trace>>,
    dead: bool,
    since_ns: u64,
    /// Bits times 10⁹ up to `since_ns`.
    integral: u128,
}

impl Capacity {
    fn until(&self, now_ns: u64) -> u128 {
        if let Some(trace) = self.trace.as_ref().filter(|_| !self.dead) {
            let opportunities = trace.opportunities_until(now_ns) - trace.opportunities_until(self.since_ns);
            return self.integral + opportunities * OPPORTUNITY_BITS * 1_000_000_000;
        }
        let rate_bps = if self.dead { 0 } else { self.rate_bps };
        self.integral + u128::from(rate_bps) * u128::from(now_ns - self.since_ns)
    }

    fn change(&mut self, now_ns: u64, change: &network::Change) {
        self.integral = self.until(now_ns);
        self.since_ns = now_ns;
        self.rate_bps = change.rate_bps.unwrap_or(self.rate_bps);
        self.dead = change.dead.unwrap_or(self.dead);
    }
}

/// Snapshot of the counters of a link's direction.
#[derive(Clone, Copy, Default)]
struct Mark {
    counters: Counters,
    /// Capacity so far, in bits times 10⁹.
    capacity: u128,
}

impl Mark {
    /// Bytes sent since `earlier` divided by the capacity since then; 0 if there was none.
    fn utilization_since(&self, earlier: &Mark) -> f64 {
        let allowed = self.capacity - earlier.capacity;
        let sent_bytes = self.counters.sent_bytes - earlier.counters.sent_bytes;
        if allowed == 0 { 0.0 } else { sent_bytes as f64 * 8e9 / allowed as f64 }
    }
}

/// The measurements of all links of a description: the directions down and up of each.
pub struct LinkMeter {
    capacities: Vec<Capacity>,
    /// Snapshots at the last sample, if samples are taken.
    sampled: Vec<Mark>,
    /// Snapshots at the end of the warm-up.
    warm: Vec<Mark>,
    samples: LinkSamples,
    /// For each direction, the stage before it, whose queue and drops count as the link's.
    before: Vec<Option<u32>>,
}

impl LinkMeter {
    /// Creates the meter at time 0.
    pub fn new(description: &Description) -> LinkMeter {
        let traces = convert::traces(description);
        let directions = description.links.iter().flat_map(|link| [&link.down, &link.up]);
        let capacities: Vec<Capacity> = directions
            .map(|direction| Capacity {
                rate_bps: direction.rate_bps,
                trace: direction.trace.map(|number| Arc::clone(&traces[number])),
                dead: false,
                since_ns: 0,
                integral: 0,
            })
            .collect();
        LinkMeter {
            sampled: vec![Mark::default(); if description.sample_ns.is_some() { capacities.len() } else { 0 }],
            warm: vec![Mark::default(); capacities.len()],
            capacities,
            samples: LinkSamples::default(),
            before: convert::stages(description).iter().map(|&[before, _]| before).collect(),
        }
    }

    /// Reports a change of link direction `link`, from which on its capacity is counted anew.
    pub fn change(&mut self, now_ns: u64, link: usize, change: &network::Change) {
        self.capacities[link].change(now_ns, change);
    }

    /// Ends the warm-up.
    pub fn warm_up_ends<T: Copy + Default>(&mut self, now_ns: u64, links: &mut [Link<T>]) {
        for number in 0..self.capacities.len() {
            self.warm[number] = self.mark(now_ns, number, links);
        }
        links.iter_mut().for_each(|link| link.reset_max(now_ns));
    }

    /// Adds one row for each direction of a link.
    pub fn sample<T: Copy + Default>(&mut self, now_ns: u64, links: &mut [Link<T>]) {
        for number in 0..self.capacities.len() {
            let mark = self.mark(now_ns, number, links);
            let earlier = std::mem::replace(&mut self.sampled[number], mark);
            let (mut packets, mut bytes) = links[number].queue(now_ns);
            if let Some(stage) = self.before[number] {
                let (more_packets, more_bytes) = links[stage as usize].queue(now_ns);
                (packets, bytes) = (packets + more_packets, bytes + more_bytes);
            }
            let lost = mark.counters.lost_packets() - earlier.counters.lost_packets();
            let samples = &mut self.samples;
            samples.time_s.push(now_ns as f64 / 1e9);
            samples.link.push(number as u32);
            samples.queue_packets.push(packets);
            samples.queue_bytes.push(bytes);
            samples.utilization.push(mark.utilization_since(&earlier));
            samples.drops.push(u32::try_from(lost).unwrap_or(u32::MAX));
        }
    }

    /// The rows of the outcome, from `warmup_ns` to `end_ns`, and the samples.
    pub fn finish<T: Copy + Default>(
        self,
        warmup_ns: u64,
        end_ns: u64,
        links: &mut [Link<T>],
    ) -> (Vec<outcome::Link>, LinkSamples) {
        let rows = (0..self.capacities.len()).map(|number| {
            let mark = self.mark(end_ns, number, links);
            let (now, warm) = (&mark.counters, &self.warm[number].counters);
            let drops = now.lost_packets() - warm.lost_packets();
            outcome::Link {
                link: number / 2,
                down: number % 2 == 0,
                utilization: mark.utilization_since(&self.warm[number]),
                loss_rate: fraction(drops, now.arrived_packets - warm.arrived_packets + waiting(warm)),
                drops,
                queue_mean_packets: (now.queue_packet_ns - warm.queue_packet_ns) as f64 / (end_ns - warmup_ns) as f64,
                queue_max_packets: now.queue_max_packets,
                bytes_sent: now.sent_bytes,
                dead_bytes: now.dead_bytes,
            }
        });
        (rows.collect(), self.samples)
    }

    fn mark<T: Copy + Default>(&self, now_ns: u64, number: usize, links: &mut [Link<T>]) -> Mark {
        let mut counters = links[number].counters(now_ns);
        if let Some(stage) = self.before[number] {
            counters = counters.behind(&links[stage as usize].counters(now_ns));
        }
        Mark { counters, capacity: self.capacities[number].until(now_ns) }
    }
}

/// Number of packets in the queue. Those that wait at the end of the warm-up may be lost later.
fn waiting(counters: &Counters) -> u64 {
    let dropped = counters.dropped_full + counters.dropped_early + counters.dropped_dead;
    counters.arrived_packets - dropped - counters.sent_packets
}
