//! What is measured while a run goes on: samples at regular intervals, and where the counters stood when the warm-up
//! ended, so that the summary can leave it out.

use crate::application::Application;
use crate::description::Description;
use crate::flows::Fabric;
use crate::link_meter::LinkMeter;
use crate::outcome::SubflowSamples;
use crate::transfer::Transfer;
use transport::{Host, Statistics};
use wire::Span;

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
    /// As the counters of subflow `number` of `transfer` stand at `now_ns`.
    pub fn at(now_ns: u64, number: u32, transfer: &Transfer, view: &View) -> SubflowMark {
        let handles = view.fabric.subflows[number as usize].handles;
        let statistics = |side: usize| {
            let handle = handles[side];
            handle.map(|handle| view.hosts[side].connection(handle.connection).statistics(handle.subflow))
        };
        let sender = statistics(transfer.sender).unwrap_or_default();
        let bytes_received = statistics(transfer.receiver()).map_or(0, |receiver| receiver.new_bytes_received);
        let extension_ns = now_ns.saturating_sub(sender.cwnd_integral_until_ns.max(sender.established_ns));
        let extension = if sender.established_ns > 0 { sender.cwnd_segments * extension_ns as f64 } else { 0.0 };
        SubflowMark { sender, bytes_received, cwnd_integral: sender.cwnd_integral_segment_ns + extension }
    }
}

/// What is kept of a subflow from before.
#[derive(Clone, Copy, Default)]
pub struct Kept {
    /// Where it stood at the end of the warm-up; zeros when it came later.
    pub warm: SubflowMark,
    /// Integral of its window when its transfer became complete.
    pub completed_cwnd: Option<f64>,
    /// Bytes that had arrived by it at the last sample.
    sampled_bytes: u64,
}

/// What a probe looks at.
pub struct View<'a> {
    pub hosts: &'a [Host<Span>; 2],
    pub applications: &'a [Application],
    pub transfers: &'a mut [Transfer],
    pub fabric: &'a mut Fabric,
}

/// The measurements of a run.
pub struct Probe {
    sample_ns: Option<u64>,
    /// By subflow; one beyond the end has nothing to keep.
    kept: Vec<Kept>,
    /// Of applications that repeat, the bytes that had arrived over each of their paths at the last sample.
    sampled_paths: Vec<Vec<u64>>,
    pub subflow_samples: SubflowSamples,
    pub links: LinkMeter,
}

impl Probe {
    pub fn new(description: &Description) -> Probe {
        Probe {
            sample_ns: description.sample_ns,
            kept: Vec::new(),
            sampled_paths: Vec::new(),
            links: LinkMeter::new(description),
            subflow_samples: SubflowSamples::default(),
        }
    }

    /// The warm-up ends.
    pub fn warm_up_ends(&mut self, now_ns: u64, view: View) {
        self.links.warm_up_ends(now_ns, &mut view.fabric.links);
        for transfer in view.transfers.iter_mut() {
            transfer.warm_bytes = transfer.bytes_read;
        }
        for transfer in view.transfers.iter() {
            for &number in &transfer.subflows {
                self.kept_mut(number).warm = SubflowMark::at(now_ns, number, transfer, &view);
            }
        }
        view.fabric.measuring = true;
    }

    /// What is kept of subflow `number`.
    pub fn kept(&self, number: u32) -> Kept {
        self.kept.get(number as usize).copied().unwrap_or_default()
    }

    fn kept_mut(&mut self, number: u32) -> &mut Kept {
        let place = number as usize;
        if self.kept.len() <= place {
            self.kept.resize(place + 1, Kept::default());
        }
        &mut self.kept[place]
    }

    /// Subflow `number` has left; another may get its number.
    pub fn release(&mut self, number: u32) {
        if let Some(kept) = self.kept.get_mut(number as usize) {
            *kept = Kept::default();
        }
    }

    /// A transfer became complete.
    pub fn completed(&mut self, now_ns: u64, transfer: usize, view: &View) {
        let transfer = &view.transfers[transfer];
        for &number in &transfer.subflows {
            self.kept_mut(number).completed_cwnd = Some(SubflowMark::at(now_ns, number, transfer, view).cwnd_integral);
        }
    }

    /// One row for each direction of a link, and for each subflow (of an application that repeats: each path) of a
    /// connection that was not complete before the interval that ends at `now_ns`.
    pub fn sample(&mut self, now_ns: u64, view: View) {
        let Some(sample_ns) = self.sample_ns else { return };
        self.links.sample(now_ns, &mut view.fabric.links);
        self.sampled_paths.resize_with(view.applications.len(), Vec::new);
        for (connection, application) in view.applications.iter().enumerate() {
            if application.completion_ns(view.transfers).is_some_and(|at_ns| at_ns < now_ns - sample_ns) {
                continue;
            }
            if application.content.repeats() {
                self.sample_paths(now_ns, connection, application, &view);
                continue;
            }
            let transfer = application.transfers.first().map(|&number| &view.transfers[number as usize]);
            for (position, &number) in transfer.iter().flat_map(|transfer| transfer.subflows.iter().enumerate()) {
                let Some(transfer) = transfer else { continue };
                let mark = SubflowMark::at(now_ns, number, transfer, &view);
                let earlier = std::mem::replace(&mut self.kept_mut(number).sampled_bytes, mark.bytes_received);
                let mut now = Now::default();
                now.add(&mark);
                self.subflow_sample(now_ns, [connection, position], mark.bytes_received - earlier, &now);
            }
        }
    }

    /// The transfers of an application together, path by path: bytes of all, windows and what is in flight of those that
    /// are not complete, and the mean of their RTTs.
    fn sample_paths(&mut self, now_ns: u64, connection: usize, application: &Application, view: &View) {
        let position = |path| application.tallies.iter().position(|tally| tally.path == path);
        let mut bytes: Vec<u64> = application.tallies.iter().map(|tally| tally.all_bytes).collect();
        let mut now = vec![Now::default(); bytes.len()];
        for transfer in application.transfers.iter().map(|&number| &view.transfers[number as usize]) {
            for &number in &transfer.subflows {
                let Some(place) = position(view.fabric.subflows[number as usize].path) else { continue };
                let mark = SubflowMark::at(now_ns, number, transfer, view);
                bytes[place] += mark.bytes_received;
                if transfer.completion_ns.is_none() {
                    now[place].add(&mark);
                }
            }
        }
        for (place, (&bytes, now)) in bytes.iter().zip(&now).enumerate() {
            let sampled = &mut self.sampled_paths[connection];
            sampled.resize(sampled.len().max(place + 1), 0);
            let earlier = std::mem::replace(&mut sampled[place], bytes);
            self.subflow_sample(now_ns, [connection, place], bytes - earlier, now);
        }
    }

    fn subflow_sample(&mut self, now_ns: u64, [connection, subflow]: [usize; 2], bytes: u64, now: &Now) {
        let sample_ns = self.sample_ns.unwrap_or(1);
        let samples = &mut self.subflow_samples;
        samples.time_s.push(now_ns as f64 / 1e9);
        samples.connection.push(connection as u32);
        samples.subflow.push(subflow as u32);
        samples.goodput_bps.push(bytes as f64 * 8e9 / sample_ns as f64);
        samples.cwnd_segments.push(now.cwnd_segments);
        samples.srtt_s.push(if now.measured == 0 { f64::NAN } else { now.srtt_ns as f64 / now.measured as f64 / 1e9 });
        samples.in_flight_segments.push(now.in_flight_segments);
    }
}

/// The present state of one subflow, or of several together.
#[derive(Clone, Copy, Default)]
struct Now {
    cwnd_segments: f64,
    in_flight_segments: u32,
    /// Sum over those that have a smoothed RTT, and how many they are.
    srtt_ns: u64,
    measured: u64,
}

impl Now {
    fn add(&mut self, mark: &SubflowMark) {
        self.cwnd_segments += mark.sender.cwnd_segments;
        self.in_flight_segments += mark.sender.in_flight_segments;
        self.srtt_ns += mark.sender.srtt_ns;
        self.measured += u64::from(mark.sender.srtt_ns > 0);
    }
}
