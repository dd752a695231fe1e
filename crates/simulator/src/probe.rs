//! What is measured while a run goes on: samples at regular intervals, and where the counters stood when the warm-up
//! ended, so that the summary can leave it out.

use crate::application::Application;
use crate::description::{Change, Description};
use crate::flows::Fabric;
use crate::outcome::{LinkSamples, SubflowSamples};
use network::Counters;
use transport::{Host, Statistics};
use wire::Span;

/// Capacity of one direction of a link, integrated over time: what it could have sent.
#[derive(Clone, Copy)]
struct Capacity {
    rate_bps: u64,
    dead: bool,
    since_ns: u64,
    /// Bits times 10⁹ up to `since_ns`.
    integral: u128,
}

impl Capacity {
    fn until(&self, now_ns: u64) -> u128 {
        let rate_bps = if self.dead { 0 } else { self.rate_bps };
        self.integral + u128::from(rate_bps) * u128::from(now_ns - self.since_ns)
    }

    fn change(&mut self, now_ns: u64, change: &Change) {
        self.integral = self.until(now_ns);
        self.since_ns = now_ns;
        self.rate_bps = change.rate_bps.unwrap_or(self.rate_bps);
        self.dead = change.dead.unwrap_or(self.dead);
    }
}

/// Where the counters of a link's direction stood at some time.
#[derive(Clone, Copy, Default)]
pub struct LinkMark {
    pub counters: Counters,
    /// Bits times 10⁹ that the capacity allowed.
    pub capacity: u128,
}

impl LinkMark {
    /// Bytes sent over what the capacity allowed since `earlier`; 0 when it allowed none.
    pub fn utilization_since(&self, earlier: &LinkMark) -> f64 {
        let allowed = self.capacity - earlier.capacity;
        let sent_bytes = self.counters.sent_bytes - earlier.counters.sent_bytes;
        if allowed == 0 { 0.0 } else { sent_bytes as f64 * 8e9 / allowed as f64 }
    }
}

/// Where the counters of a subflow stood at some time.
#[derive(Clone, Copy, Default)]
pub struct SubflowMark {
    /// The data sender's.
    pub sender: Statistics,
    /// Stream bytes that had arrived first by this subflow.
    pub bytes_received: u64,
    /// Integral of the congestion window, segments × ns, up to the time of the mark.
    pub cwnd_integral: f64,
}

impl SubflowMark {
    /// As the counters of subflow `number` stand at `now_ns`.
    pub fn at(now_ns: u64, number: u32, application: &Application, view: &View) -> SubflowMark {
        let handles = view.fabric.subflows[number as usize].handles;
        let statistics = |side: usize| {
            let handle = handles[side];
            handle.map(|handle| view.hosts[side].connection(handle.connection).statistics(handle.subflow))
        };
        let sender = statistics(application.sender).unwrap_or_default();
        let bytes_received = statistics(application.receiver()).map_or(0, |receiver| receiver.new_bytes_received);
        let extension_ns = now_ns.saturating_sub(sender.cwnd_integral_until_ns.max(sender.established_ns));
        let extension = if sender.established_ns > 0 { sender.cwnd_segments * extension_ns as f64 } else { 0.0 };
        SubflowMark { sender, bytes_received, cwnd_integral: sender.cwnd_integral_segment_ns + extension }
    }
}

/// What a probe looks at.
pub struct View<'a> {
    pub hosts: &'a [Host<Span>; 2],
    pub applications: &'a [Application],
    pub fabric: &'a mut Fabric,
}

/// The measurements of a run.
pub struct Probe {
    sample_ns: Option<u64>,
    capacities: Vec<Capacity>,
    sampled_links: Vec<LinkMark>,
    /// Bytes that had arrived by each subflow at the last sample.
    sampled_subflows: Vec<u64>,
    pub link_samples: LinkSamples,
    pub subflow_samples: SubflowSamples,
    /// Marks at the end of the warm-up: links, subflows, bytes read by each connection. What came later has zeros.
    pub warm_links: Vec<LinkMark>,
    pub warm_subflows: Vec<SubflowMark>,
    pub warm_bytes: Vec<u64>,
    /// Integral of each subflow's window at the completion of its connection.
    pub completed_cwnd: Vec<Option<f64>>,
}

impl Probe {
    pub fn new(description: &Description) -> Probe {
        let directions = description.links.iter().flat_map(|link| [&link.down, &link.up]);
        let capacities: Vec<Capacity> = directions
            .map(|direction| Capacity { rate_bps: direction.rate_bps, dead: false, since_ns: 0, integral: 0 })
            .collect();
        Probe {
            sample_ns: description.sample_ns,
            sampled_links: vec![LinkMark::default(); capacities.len()],
            warm_links: vec![LinkMark::default(); capacities.len()],
            capacities,
            sampled_subflows: Vec::new(),
            link_samples: LinkSamples::default(),
            subflow_samples: SubflowSamples::default(),
            warm_subflows: Vec::new(),
            warm_bytes: Vec::new(),
            completed_cwnd: Vec::new(),
        }
    }

    /// Link direction `link` changes: what its capacity allows is counted anew from here.
    pub fn change(&mut self, now_ns: u64, link: usize, change: &Change) {
        self.capacities[link].change(now_ns, change);
    }

    /// As link direction `link` stands.
    pub fn link_mark(&self, now_ns: u64, link: usize, fabric: &mut Fabric) -> LinkMark {
        LinkMark { counters: fabric.links[link].counters(now_ns), capacity: self.capacities[link].until(now_ns) }
    }

    /// The warm-up ends.
    pub fn warm_up_ends(&mut self, now_ns: u64, view: View) {
        for link in 0..self.capacities.len() {
            self.warm_links[link] = self.link_mark(now_ns, link, view.fabric);
            view.fabric.links[link].reset_max(now_ns);
        }
        self.warm_subflows = (0..view.fabric.subflows.len() as u32)
            .map(|number| {
                let connection = view.fabric.subflows[number as usize].connection;
                SubflowMark::at(now_ns, number, &view.applications[connection as usize], &view)
            })
            .collect();
        self.warm_bytes = view.applications.iter().map(|application| application.bytes_read).collect();
        view.fabric.measuring = true;
    }

    /// A connection became complete.
    pub fn completed(&mut self, now_ns: u64, connection: usize, view: &View) {
        let application = &view.applications[connection];
        for &number in &application.subflows {
            if self.completed_cwnd.len() <= number as usize {
                self.completed_cwnd.resize(number as usize + 1, None);
            }
            let mark = SubflowMark::at(now_ns, number, application, view);
            self.completed_cwnd[number as usize] = Some(mark.cwnd_integral);
        }
    }

    /// One row for each direction of a link, and for each subflow of a connection that was not complete before the
    /// interval that ends at `now_ns`.
    pub fn sample(&mut self, now_ns: u64, view: View) {
        let Some(sample_ns) = self.sample_ns else { return };
        let time_s = now_ns as f64 / 1e9;
        for link in 0..self.capacities.len() {
            let mark = self.link_mark(now_ns, link, view.fabric);
            let earlier = std::mem::replace(&mut self.sampled_links[link], mark);
            let (packets, bytes) = view.fabric.links[link].queue(now_ns);
            let lost = mark.counters.lost_packets() - earlier.counters.lost_packets();
            let samples = &mut self.link_samples;
            samples.time_s.push(time_s);
            samples.link.push(link as u32);
            samples.queue_packets.push(packets);
            samples.queue_bytes.push(bytes);
            samples.utilization.push(mark.utilization_since(&earlier));
            samples.drops.push(u32::try_from(lost).unwrap_or(u32::MAX));
        }
        self.sampled_subflows.resize(view.fabric.subflows.len(), 0);
        for (connection, application) in view.applications.iter().enumerate() {
            if application.completion_ns.is_some_and(|at_ns| at_ns < now_ns - sample_ns) {
                continue;
            }
            for (position, &number) in application.subflows.iter().enumerate() {
                let mark = SubflowMark::at(now_ns, number, application, &view);
                let earlier = std::mem::replace(&mut self.sampled_subflows[number as usize], mark.bytes_received);
                let srtt_ns = mark.sender.srtt_ns;
                let samples = &mut self.subflow_samples;
                samples.time_s.push(time_s);
                samples.connection.push(connection as u32);
                samples.subflow.push(position as u32);
                samples.goodput_bps.push((mark.bytes_received - earlier) as f64 * 8e9 / sample_ns as f64);
                samples.cwnd_segments.push(mark.sender.cwnd_segments);
                samples.srtt_s.push(if srtt_ns == 0 { f64::NAN } else { srtt_ns as f64 / 1e9 });
                samples.in_flight_segments.push(mark.sender.in_flight_segments);
            }
        }
    }
}
