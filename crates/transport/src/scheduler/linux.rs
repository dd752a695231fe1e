//! The scheduler of Linux 5.19 and later ("default" of the upstream kernel).

use super::{Context, Decision, Demand, PacketScheduler, SubflowSet, usable};
use crate::algorithm::{About, Algorithm, Capability, Given, Make};
use crate::congestion::View;
use crate::plugin::Origin;

/// The subflow whose data would linger least: the least of the memory it holds, sent and unacknowledged or not sent yet,
/// over its pacing rate. Then up to 64 KiB go there before it is asked again. Backups only when no other works.
///
/// New data is bound to the subflow ahead of its window (`mptcp/bound.rs`), and [`Linger`] chooses where. As a
/// [`PacketScheduler`], for data that another subflow carried, only those with room are asked.
#[derive(Debug, Default)]
pub struct Linux;

impl Algorithm for Linux {
    const ABOUT: About = About::new("linux", "the smallest linger time, in bursts of 64 KiB", "Linux 5.19 and later")
        .with(Capability::BindsAhead)
        .with(Capability::InKernel);
}

impl Make for Linux {
    fn make(_: &Given, _: &Origin) -> Self {
        Linux
    }
}

/// 64 KiB less the largest headers.
const BURST_BYTES: u64 = 65_423;
/// Below so many segments a buffer is not dimensioned.
const FEWEST_SEGMENTS: f64 = 10.0;
/// Headers and management of a packet in memory, before its size is rounded up to a power of two.
const PACKET_HEAD_BYTES: u64 = 640;
/// Management that is not rounded.
const PACKET_FRAME_BYTES: u64 = 256;
/// What a buffer of data costs besides the data.
const OVERHEAD_BYTES: u64 = PACKET_HEAD_BYTES + PACKET_FRAME_BYTES;
/// Largest payload of one buffer of data.
const WHOLE_BYTES: u64 = 1 << 16;
/// `tcp_wmem`: the largest send buffer.
const MAX_BUFFER_BYTES: u64 = 4 << 20;

/// Pacing rate in bytes/s: twice (in slow start, below half of ssthresh) or 1.2 times the window over the smoothed RTT.
fn pace(v: &View) -> f64 {
    let factor = if v.cwnd < v.ssthresh / 2.0 { 2.0 } else { 1.2 };
    let window = v.cwnd.max(f64::from(v.in_flight));
    factor * window * f64::from(v.mss) / v.srtt_s()
}

/// The memory of a subflow's send buffer, in bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct SendBuffer {
    /// In use.
    pub held_bytes: u64,
    /// Data is bound to the subflow while it holds less.
    pub limit_bytes: u64,
    /// The subflow is heard of.
    pub open: bool,
}

/// The size that a send buffer is given: twice the window of segments in memory, at least ten (`tcp_sndbuf_expand`). `mss`
/// without options.
#[must_use]
pub fn buffer_limit(cwnd: f64, mss: u32) -> u64 {
    let segment = (u64::from(mss) + PACKET_HEAD_BYTES).next_power_of_two() + PACKET_FRAME_BYTES;
    (2 * cwnd.max(FEWEST_SEGMENTS) as u64 * segment).min(MAX_BUFFER_BYTES)
}

/// Memory that data takes: what waits in buffers of 64 KiB, what was sent in smaller ones, each of as much as is paced out
/// in a millisecond, of two segments at least (`tcp_tso_autosize`).
#[must_use]
pub fn memory(sent_bytes: u64, waiting_bytes: u64, v: &View) -> u64 {
    let at_once = ((pace(v) / 1024.0) as u64).clamp(2 * u64::from(v.mss), WHOLE_BYTES);
    let buffers = sent_bytes.div_ceil(at_once) + waiting_bytes.div_ceil(WHOLE_BYTES);
    sent_bytes + waiting_bytes + OVERHEAD_BYTES * buffers
}

/// The choice for new data (`mptcp_subflow_get_send`).
#[derive(Clone, Debug, Default)]
pub struct Linger {
    /// Mean pacing rate of each subflow in bytes/s, over what was bound to it; 0: nothing yet.
    paces: Vec<f64>,
}

impl Linger {
    /// Where the next data goes, and how many bytes; `window_bytes` is what the peer allows, more than 0. None: the one
    /// where it would linger least has its buffer full, and no other is asked.
    pub fn choose(&mut self, group: &[View], buffers: &[SendBuffer], window_bytes: u64) -> Option<(usize, u64)> {
        self.paces.resize(group.len().max(self.paces.len()), 0.0);
        let works = |r: usize| group[r].active && buffers[r].open;
        let only_backups = !(0..group.len()).any(|r| works(r) && !group[r].backup);
        let mut best: Option<(usize, f64)> = None;
        for (r, v) in group.iter().enumerate().filter(|&(r, v)| works(r) && (only_backups || !v.backup)) {
            if self.paces[r] == 0.0 {
                self.paces[r] = pace(v);
            }
            let linger_s = buffers[r].held_bytes as f64 / self.paces[r];
            if best.is_none_or(|(_, least_s)| linger_s < least_s) {
                best = Some((r, linger_s));
            }
        }
        let (r, _) = best.filter(|&(r, _)| buffers[r].held_bytes < buffers[r].limit_bytes)?;
        let (burst, held) = (BURST_BYTES.min(window_bytes), buffers[r].held_bytes);
        self.paces[r] = (self.paces[r] * held as f64 + pace(&group[r]) * burst as f64) / (held + burst) as f64;
        Some((r, burst))
    }
}

impl PacketScheduler for Linux {
    fn name(&self) -> &'static str {
        "linux"
    }

    fn choose(&mut self, demand: Demand, group: &[View], _context: &Context) -> Decision {
        let tried = match demand {
            Demand::New => SubflowSet::default(),
            Demand::Reinjection { tried } => tried,
        };
        let only_backups = !group.iter().any(|v| v.active && !v.potentially_failed && !v.backup);
        let candidates = (0..group.len()).filter(|&r| usable(&group[r]) && (only_backups || !group[r].backup));
        let linger_s = |v: &View| f64::from(v.in_flight + v.queued) * f64::from(v.mss) / pace(v);
        let key = |r: usize| (tried.contains(r), linger_s(&group[r]));
        let best = candidates.min_by(|&a, &b| {
            let (a, b) = (key(a), key(b));
            a.0.cmp(&b.0).then(a.1.total_cmp(&b.1))
        });
        best.map_or(Decision::Blocked, |r| Decision::Send {
            on: SubflowSet::one(r),
            burst: (BURST_BYTES as u32 / group[r].mss.max(1)).max(1),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn view(cwnd: f64, srtt_ms: u64, in_flight: u32) -> View {
        View { cwnd, ssthresh: 1.0, srtt_ns: srtt_ms * 1_000_000, in_flight, active: true, ..View::new(10.0, 1420) }
    }

    fn choose(group: &[View]) -> Option<(usize, u32)> {
        match Linux.choose(Demand::New, group, &Context::default()) {
            Decision::Send { mut on, burst } => on.pop().map(|r| (r, burst)),
            _ => None,
        }
    }

    #[test]
    fn the_least_lingering_subflow_gets_a_burst() {
        // linger = in flight · srtt / (1.2 · cwnd): 5·20/(1.2·10) = 8.3 ms against 1·100/(1.2·20) = 4.2 ms.
        assert_eq!(choose(&[view(10.0, 20, 5), view(20.0, 100, 1)]), Some((1, 46)));
        // 2·20/12 = 3.3 ms wins over the 4.2 ms.
        assert_eq!(choose(&[view(10.0, 20, 2), view(20.0, 100, 1)]), Some((0, 46)));
    }

    #[test]
    fn full_and_failed_subflows_are_not_asked() {
        let failed = View { potentially_failed: true, ..view(10.0, 20, 0) };
        assert_eq!(choose(&[view(10.0, 20, 10), failed]), None);
        assert_eq!(choose(&[failed, view(10.0, 500, 9)]), Some((1, 46)));
    }

    #[test]
    fn buffers_worked_by_hand() {
        // 1460 + 640 is rounded up to 4096; with 256 more, ten segments twice are the kernel's well-known 87040 bytes.
        assert_eq!(buffer_limit(10.0, 1460), 87_040);
        assert_eq!(buffer_limit(4.0, 1460), 87_040);
        assert_eq!(buffer_limit(60.9, 1460), 2 * 60 * 4352);
        assert_eq!(buffer_limit(10_000.0, 1460), 4 << 20);
        // 1.2·10·1420 B/100 ms are 166 B in a 1024th of a second: two segments at a time, each with 896 bytes beside them.
        let slow = view(10.0, 100, 0);
        assert_eq!(memory(3 * 1420, 0, &slow), 3 * 1420 + 2 * 896);
        assert_eq!(memory(0, 100_000, &slow), 100_000 + 2 * 896);
        // 1.2·500·1420 B/20 ms are 41,601 B.
        assert_eq!(memory(50_000, 0, &view(500.0, 20, 0)), 50_000 + 2 * 896);
    }

    fn buffer(held_bytes: u64) -> SendBuffer {
        SendBuffer { held_bytes, limit_bytes: 87_040, open: true }
    }

    #[test]
    fn new_data_goes_where_it_lingers_least_whatever_the_window() {
        // 1.2·10·1420 B/20 ms = 852 kB/s and 170.4 kB/s: 60 kB linger 70.4 ms there, 20 kB 117.4 ms here.
        let group = [view(10.0, 20, 10), view(10.0, 100, 1)];
        let choose = |held: [u64; 2]| Linger::default().choose(&group, &held.map(buffer), 1 << 20);
        assert_eq!(choose([60_000, 20_000]), Some((0, 65_423)));
        // 11.9 kB linger 70 ms.
        assert_eq!(choose([60_000, 11_900]), Some((1, 65_423)));
        // The least lingering one is full: the other is not asked.
        assert_eq!(choose([87_040, 30_000]), None);
        assert_eq!(choose([87_041, 17_000]), Some((1, 65_423)));
        // Equal: the first. The peer's window bounds a burst.
        assert_eq!(Linger::default().choose(&group, &[buffer(0); 2], 3_000), Some((0, 3_000)));
    }

    #[test]
    fn rates_are_means_over_what_was_bound() {
        let mut l = Linger::default();
        let mut group = [view(10.0, 20, 10), view(10.0, 100, 10)];
        assert_eq!(l.choose(&group, &[buffer(34_577), buffer(80_000)], 1 << 20), Some((0, 65_423)));
        // Half the window is half the rate: (852·34,577 + 426·65,423)/100,000 = 573.3 kB/s from the next burst on.
        group[0].cwnd = 5.0;
        group[0].in_flight = 5;
        assert_eq!(l.choose(&group, &[buffer(34_577), buffer(80_000)], 1 << 20), Some((0, 65_423)));
        assert!((l.paces[0] - 573_298.0).abs() < 1.0, "{}", l.paces[0]);
    }

    #[test]
    fn backups_and_silent_subflows_wait() {
        let backup = View { backup: true, ..view(10.0, 20, 0) };
        let group = [backup, view(10.0, 500, 10)];
        assert_eq!(Linger::default().choose(&group, &[buffer(0), buffer(60_000)], 1 << 20), Some((1, 65_423)));
        let silent = SendBuffer { open: false, ..buffer(60_000) };
        assert_eq!(Linger::default().choose(&group, &[buffer(0), silent], 1 << 20), Some((0, 65_423)));
    }
}
