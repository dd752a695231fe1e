//! The memory of Linux's send buffers, which bounds what the scheduler [`Linux`](super::Linux) binds.

use super::Context;
use crate::congestion::View;
use crate::tcp::pacing::factor;
use crate::tcp::socket_queue::{PACKET_FRAME_BYTES, PACKET_HEAD_BYTES};
use crate::tcp::tso::pacing_rate;

/// What a buffer of data costs besides the data.
const OVERHEAD_BYTES: u64 = PACKET_HEAD_BYTES + PACKET_FRAME_BYTES;
/// Largest payload of one buffer that was sent.
const WHOLE_BYTES: u64 = 1 << 16;
/// One MiB.
pub(super) const MIB: f64 = 1_048_576.0;
/// `tcp_wmem`: the largest send buffer, as the kernel has it by default.
pub(super) const MAX_BUFFER_MIB: f64 = 4.0;

/// Pacing rate in bytes/s.
pub(super) fn pace(v: &View) -> f64 {
    let window = v.cwnd.max(f64::from(v.in_flight));
    factor(v) * window * f64::from(v.mss) / v.srtt_s()
}

/// At which rate the buffers of subflows are emptied, in bytes/s.
pub(super) struct Rates<'a> {
    pub group: &'a [View],
    /// Rates are as the kernel counts them, in whole segments and bytes. Otherwise they are exact.
    pub kernel: Option<&'a Context<'a>>,
}

impl Rates<'_> {
    pub fn of(&self, r: usize) -> f64 {
        let view = &self.group[r];
        match self.kernel {
            Some(context) => {
                let counters = context.counters(r);
                let follows = || pacing_rate(view, view.in_flight.into(), counters.paced_bytes);
                counters.pace_bytes.unwrap_or_else(follows) as f64
            }
            None => pace(view),
        }
    }

    /// The mean of two rates over so many bytes each.
    pub fn mean(&self, (one, one_bytes): (f64, u64), (other, other_bytes): (f64, u64)) -> f64 {
        let mean = (one * one_bytes as f64 + other * other_bytes as f64) / (one_bytes + other_bytes) as f64;
        if self.kernel.is_some() { mean.floor() } else { mean }
    }
}

/// The memory of a subflow's send buffer, in bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct SendBuffer {
    /// In use.
    pub held_bytes: u64,
    /// Data is bound to the subflow while it holds less.
    pub limit_bytes: u64,
    /// The subflow is heard of.
    pub open: bool,
}

/// Memory that data takes: what waits, so many bytes in so many buffers, and what was sent in smaller ones, each of as much as is paced out
/// in a millisecond, of two segments at least (`tcp_tso_autosize`).
pub(super) fn memory(sent_bytes: u64, (waiting_bytes, waiting_buffers): (u64, u64), v: &View) -> u64 {
    // Two segments of more than half of `WHOLE_BYTES` leave together all the same.
    let at_once = ((pace(v) / 1024.0) as u64).min(WHOLE_BYTES).max(2 * u64::from(v.mss));
    let buffers = sent_bytes.div_ceil(at_once) + waiting_buffers;
    sent_bytes + waiting_bytes + OVERHEAD_BYTES * buffers
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::Duration;

    fn view(cwnd: f64, srtt_ms: u64) -> View {
        View { cwnd, ssthresh: 1.0, srtt: Duration::from_millis(srtt_ms), active: true, ..View::new(10.0, 1420) }
    }

    #[test]
    fn memory_worked_by_hand() {
        // 1.2·10·1420 B/100 ms are 166 B in a 1024th of a second: two segments at a time, each with 896 bytes beside them.
        let slow = view(10.0, 100);
        assert_eq!(memory(3 * 1420, (0, 0), &slow), 3 * 1420 + 2 * 896);
        // A first window of 64,384 bytes was bound in buffers of 31,240, 31,240 and 1,904 bytes. Ten segments of the first have
        // left, in pairs.
        assert_eq!(memory(14_200, (17_040 + 31_240 + 1_904, 3), &slow), 64_384 + (5 + 3) * 896);
        // 1.2·500·1420 B/20 ms are 41,601 B.
        assert_eq!(memory(50_000, (0, 0), &view(500.0, 20)), 50_000 + 2 * 896);
        // Two segments of 40,000 B are more than a buffer's 65,536 B, and leave together: 100,000 B in two buffers.
        let jumbo = View { cwnd: 10.0, srtt: Duration::from_millis(100), active: true, ..View::new(10.0, 40_000) };
        assert_eq!(memory(100_000, (0, 0), &jumbo), 100_000 + 2 * 896);
    }
}
