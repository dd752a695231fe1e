//! What the application has written and Linux has not sent lies in buffers of up to 64 KiB, whose ends decide whether a small
//! group of segments waits ([`super::tso`]).
//!
//! Linux 6.12: `tcp_sendmsg_locked` fills the last buffer up to `tcp_xmit_size_goal` and begins another while the socket's memory
//! and TCP_NOTSENT_LOWAT allow (`sk_stream_memory_free`); `sk_stream_write_space` wakes the application; `tcp_sndbuf_expand`.

use std::collections::VecDeque;

use super::sent_buffers::SentBuffers;
use crate::Kernel;
use crate::congestion::View;
use crate::time::Instant;

/// Below so many segments a buffer is not dimensioned.
const FEWEST_SEGMENTS: f64 = 10.0;
/// Headers and management of a packet in memory, before its size is rounded up to a power of two.
pub const PACKET_HEAD_BYTES: u64 = 640;
/// Management that is not rounded.
pub const PACKET_FRAME_BYTES: u64 = 256;
/// What a device takes at once (`GSO_LEGACY_MAX_SIZE` less `MAX_TCP_HEADER` and 1).
pub const MOST_BYTES: u64 = 65_536 - 321;
/// What the programs of the engine `linux` write at once, and how much they leave unsent (TCP_NOTSENT_LOWAT).
pub const WRITE_BYTES: u64 = 65_536;
pub const UNSENT_BYTES: u64 = 131_072;
/// What a buffer takes besides its data: `struct sk_buff`, `struct skb_shared_info`, and the room for headers
/// (`GRO_MAX_HEAD_PAD`, aligned).
const OVERHEAD_BYTES: u64 = 256 + 320 + 384;
/// The same of Linux 6.1: `MAX_TCP_HEADER` and `struct skb_shared_info` lie in 1,024 bytes.
const OLDER_OVERHEAD_BYTES: u64 = 256 + 1024;
/// The most memory: `tcp_wmem`, as the engines that run Linux set it.
const MOST_MEMORY_BYTES: u64 = 16 << 20;

/// What a buffer of this kernel takes besides its data.
pub fn overhead_bytes(kernel: Kernel) -> u64 {
    if kernel == Kernel::V6_1 { OLDER_OVERHEAD_BYTES } else { OVERHEAD_BYTES }
}

/// Edges of the stream when a group may leave, in bytes from its beginning, and the peer's window.
#[derive(Clone, Copy, Debug)]
pub struct Edges {
    /// Acknowledged.
    pub una: u64,
    /// Sent.
    pub nxt: u64,
    /// Written, were the socket's memory no limit.
    pub end: u64,
    /// All of the peer's window.
    pub window: u64,
}

/// Buffers of data that have not left, the first of them partly perhaps.
#[derive(Clone, Copy, Debug)]
pub struct Waiting {
    /// All bytes.
    pub bytes: u64,
    /// Those of the first buffer.
    pub first: u64,
    /// How many there are.
    pub buffers: usize,
    /// None follows the first or will, and it gets no more data.
    pub closed: bool,
    /// Its last segment would be short and wait (Nagle), were it the last of all: a group ends before it (`tcp_mss_split_point`).
    pub tail_waits: bool,
}

/// A buffer that is not wholly sent.
#[derive(Clone, Copy, Debug)]
struct Buffer {
    end: u64,
    /// Its last segment carries PSH.
    pushed: bool,
}

/// How far the application writes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Until {
    /// Until the socket is full.
    Full,
    /// Or until the only unsent buffer is: then a group of it leaves (`tcp_push_one`). What the kernel is asked to send otherwise waits.
    FirstFull,
    /// Or until the kernel is asked to send, as nothing waits at the beginning.
    Sending,
}

/// The buffers of a socket.
#[derive(Clone, Debug, Default)]
pub struct SocketQueue {
    /// What the socket has taken.
    written: u64,
    /// Up to where the kernel was asked to send (`pushed_seq`).
    pushed: u64,
    unsent: VecDeque<Buffer>,
    /// What was sent and not wholly acknowledged.
    pub sent: SentBuffers,
    /// The memory of the socket.
    limit_bytes: u64,
    /// The control steers.
    pub steered: bool,
    /// Whose socket it is.
    pub kernel: Kernel,
    /// The application waits.
    full: bool,
    /// There is room for it again.
    woken: bool,
    /// Since then: it writes when the kernel has sent what an acknowledgment allows.
    woken_at: Instant,
    /// What it has not written of what it wanted to write at once.
    rest: u64,
    una: u64,
    largest_window: u64,
}

impl SocketQueue {
    /// Of a socket of this kernel.
    pub fn of(kernel: Kernel) -> Self {
        SocketQueue { kernel, ..SocketQueue::default() }
    }

    /// What the application has written by now that it heard of the last room, before an acknowledgment brings more.
    pub fn arrive(&mut self, now: Instant, edges: Edges, view: &View) {
        if self.limit_bytes == 0 {
            self.limit_bytes = self.limit(view);
            (self.woken, self.woken_at, self.largest_window) = (true, now, edges.window);
            self.write(edges, view, Until::Sending);
        } else if now != self.woken_at {
            self.write(edges, view, Until::Full);
        } else if self.rest > 0 && edges.una == 0 && (self.pushed == 0 || self.written <= edges.nxt) {
            self.write(edges, view, Until::Sending);
        }
        self.una = edges.una;
        self.largest_window = self.largest_window.max(edges.window);
        self.sent.acknowledge(self.una);
    }

    /// What has not left.
    pub fn first(&self, nxt: u64) -> Waiting {
        let first = self.unsent.front().map_or(0, |buffer| buffer.end.saturating_sub(nxt));
        let bytes = self.written.saturating_sub(nxt);
        Waiting { bytes, first, buffers: self.unsent.len(), closed: false, tail_waits: false }
    }

    /// A group has left, up to `nxt`. Answers whether a buffer that was pushed ends in it.
    pub fn sent(&mut self, now: Instant, nxt: u64, view: &View) -> bool {
        self.sent.push(nxt, 0);
        let pushed = self.drop_sent(nxt);
        self.look(now, nxt, view);
        pushed
    }

    /// Whether the application is woken (`tcp_check_space`): the socket's memory grows where the congestion window is not full
    /// (`tcp_should_expand_sndbuf`); then two thirds of it suffice, and half of what may be unsent.
    pub fn look(&mut self, now: Instant, nxt: u64, view: &View) {
        if !self.full || self.woken {
            return;
        }
        if f64::from(view.in_flight) < view.cwnd.floor() {
            self.limit_bytes = self.limit_bytes.max(self.limit(view));
        }
        let held = self.held();
        self.woken = held < self.limit_bytes
            && self.limit_bytes - held >= held / 2
            && 2 * self.written.saturating_sub(nxt) < UNSENT_BYTES;
        self.woken_at = now;
    }

    /// Where the application was woken at this instant: it writes until the buffer that is to be sent next is full. Answers whether
    /// it is; then a group of it leaves without waiting (`tcp_push_one`), and what that took is filled up again.
    pub fn fill_first(&mut self, now: Instant, edges: Edges, view: &View) -> bool {
        now == self.woken_at && (self.woken || self.rest > 0) && self.write(edges, view, Until::FirstFull)
    }

    fn limit(&self, view: &View) -> u64 {
        buffer_limit(self.steered, view.cwnd, view.mss, MOST_MEMORY_BYTES)
    }

    fn drop_sent(&mut self, nxt: u64) -> bool {
        let mut pushed = false;
        while let Some(buffer) = self.unsent.front().filter(|buffer| buffer.end <= nxt) {
            pushed |= buffer.pushed;
            self.unsent.pop_front();
        }
        self.written = self.written.max(nxt);
        pushed
    }

    /// The kernel is asked to send what is written (`tcp_push`).
    fn push(&mut self) {
        self.pushed = self.written;
        if let Some(last) = self.unsent.back_mut() {
            last.pushed = true;
        }
    }

    /// The memory that data takes.
    fn held(&self) -> u64 {
        self.written.saturating_sub(self.una)
            + overhead_bytes(self.kernel) * (self.sent.beyond(self.una) + self.unsent.len()) as u64
    }

    /// The application writes. Answers whether it stopped because the kernel sends meanwhile.
    fn write(&mut self, edges: Edges, view: &View, until: Until) -> bool {
        self.drop_sent(edges.nxt);
        if !std::mem::take(&mut self.woken) && (self.full || self.written >= edges.end) {
            return false;
        }
        self.full = false;
        let mss = u64::from(view.mss);
        let goal = ((self.largest_window / 2).min(MOST_BYTES) / mss).max(1) * mss;
        while self.written < edges.end {
            let mut begins = self.rest == 0;
            let mut left = if begins { WRITE_BYTES.min(edges.end - self.written) } else { self.rest };
            self.rest = 0;
            while left > 0 {
                let from = self.unsent.len().checked_sub(2).map_or(edges.nxt, |before| self.unsent[before].end);
                let mut room = self.unsent.back().map_or(0, |last| goal.saturating_sub(last.end - from));
                if room == 0 {
                    if self.held() >= self.limit_bytes || self.written - edges.nxt >= UNSENT_BYTES {
                        self.full = true;
                        if !begins {
                            self.push();
                        }
                        return false;
                    }
                    self.unsent.push_back(Buffer { end: self.written, pushed: false });
                    room = goal;
                }
                let taken = room.min(left);
                self.written += taken;
                left -= taken;
                if let Some(last) = self.unsent.back_mut() {
                    // What a write before this one pushed goes on.
                    *last = Buffer { end: self.written, pushed: last.pushed && !begins };
                }
                begins = false;
                // A full buffer, when half of the largest window was written since (`forced_push`).
                if left > 0 && self.written > self.pushed + self.largest_window / 2 {
                    self.push();
                    if until == Until::Sending {
                        self.rest = left;
                        return true;
                    }
                } else if left > 0 && until != Until::Full && self.unsent.len() == 1 {
                    self.rest = left;
                    return true;
                }
            }
            self.push();
        }
        false
    }
}

/// The size that a send buffer is given: twice the window of segments in memory, or three times where the control steers, as BBR does
/// (`bbr_sndbuf_expand`); at least ten, up to the largest (`tcp_sndbuf_expand`). `mss` without options.
pub fn buffer_limit(steered: bool, cwnd: f64, mss: u32, largest_bytes: u64) -> u64 {
    let segment = (u64::from(mss) + PACKET_HEAD_BYTES).next_power_of_two() + PACKET_FRAME_BYTES;
    let windows = if steered { 3 } else { 2 };
    (windows * cwnd.max(FEWEST_SEGMENTS) as u64 * segment).min(largest_bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: u64 = 1_448;

    fn view(cwnd: f64, in_flight: u32) -> View {
        View { in_flight, ..View::new(cwnd, MSS as u32) }
    }

    /// A socket of 4 MB that has sent ten segments in groups of two, of a window of 64,256 bytes: 22 segments are its half.
    fn opened() -> (SocketQueue, Edges) {
        let mut queue = SocketQueue::default();
        let mut edges = Edges { una: 0, nxt: 0, end: 4_000_000, window: 64_256 };
        let at_first = Instant::from_nanos(1);
        for (group, end) in [22.0, 24.0, 24.0, 24.0, 24.0].into_iter().enumerate() {
            queue.arrive(at_first, edges, &view(10.0, 2 * group as u32));
            assert_eq!(segments(&queue), [end], "{group}");
            edges.nxt += 2 * MSS;
            queue.sent(at_first, edges.nxt, &view(10.0, 2 * group as u32 + 2));
        }
        queue.arrive(Instant::from_nanos(2), edges, &view(10.0, 10));
        (queue, edges)
    }

    fn segments(queue: &SocketQueue) -> Vec<f64> {
        queue.unsent.iter().map(|buffer| buffer.end as f64 / MSS as f64).collect()
    }

    #[test]
    fn limits_worked_by_hand() {
        // 1460 + 640 is rounded up to 4096; with 256 more, ten segments twice are the kernel's well-known 87040 bytes.
        assert_eq!(buffer_limit(false, 10.0, 1460, 4 << 20), 87_040);
        assert_eq!(buffer_limit(false, 4.0, 1460, 4 << 20), 87_040);
        assert_eq!(buffer_limit(false, 60.9, 1460, 4 << 20), 2 * 60 * 4352);
        assert_eq!(buffer_limit(true, 60.9, 1460, 4 << 20), 3 * 60 * 4352, "bbr_sndbuf_expand");
        assert_eq!(buffer_limit(false, 10_000.0, 1460, 4 << 20), 4 << 20);
        assert_eq!(buffer_limit(false, 10_000.0, 1460, 16 << 20), 16 << 20);
    }

    /// Ten segments that are not acknowledged, in groups of two, and three buffers behind them: 8 · 960 bytes beside the data, or 8 · 1,280.
    #[test]
    fn a_packet_of_an_older_kernel_takes_more_memory() {
        let (queue, _) = opened();
        let older = SocketQueue { kernel: Kernel::V6_1, ..queue.clone() };
        assert_eq!((queue.held(), older.held()), (110_048 + 8 * 960, 110_048 + 8 * 1_280));
    }

    /// Worked by hand from the first packets of Linux 6.12.117 over 25 Mbit/s and 109 ms.
    #[test]
    fn buffers_end_where_the_kernels_do() {
        let (mut queue, mut edges) = opened();
        // The first group leaves as soon as the first buffer is full, which then takes two segments more. 24 are more than half of
        // the window: the kernel sends what it may. Of ten, 14 are left in that buffer, which takes eight.
        assert_eq!((segments(&queue), queue.full, queue.written), (vec![32.0, 54.0, 76.0], true, 110_048));
        // The first buffer is the one that was pushed. The second ends 54 - 45.3 segments after the first 65,536 bytes, which pushed
        // what the next bytes went on; the third when half of the window was written since, and the application has to wait.
        let pushed: Vec<bool> = queue.unsent.iter().map(|buffer| buffer.pushed).collect();
        assert_eq!((pushed, queue.pushed), (vec![true, false, true], 110_048));
        for group in 6..=28 {
            assert_eq!(queue.sent(Instant::from_nanos(2), group * 2 * MSS, &view(10.0, 10)), group == 16);
        }
        assert!(!queue.woken, "87,040 bytes are too few for 76 segments and their buffers");
        // 24 segments are acknowledged and the window is 34: it is not filled when 56 have left, and the memory becomes
        // 2 · 34 · 4,352. The tail has 18 segments left, and holds 27 from there on: 79,488 / 2.
        (edges.una, edges.nxt, edges.window) = (24 * MSS, 56 * MSS, 79_488);
        queue.arrive(Instant::from_nanos(3), edges, &view(34.0, 30));
        queue.sent(Instant::from_nanos(3), 58 * MSS, &view(34.0, 32));
        assert_eq!((queue.woken, queue.limit_bytes), (true, 295_936));
        edges.nxt = 58 * MSS;
        queue.arrive(Instant::from_nanos(3), edges, &view(34.0, 34));
        assert_eq!(segments(&queue), [76.0], "the application has not run yet");
        queue.arrive(Instant::from_nanos(4), edges, &view(34.0, 34));
        assert_eq!(segments(&queue), [85.0, 112.0, 139.0, 166.0]);
        let waiting = queue.first(58 * MSS);
        assert_eq!((waiting.bytes, waiting.first, waiting.buffers), (108 * MSS, 27 * MSS, 4));
        // 64 KiB are left when 122 have been sent; a window of 150,016 bytes allows buffers of 45.
        edges.window = 150_016;
        for nxt in (60..=122).step_by(2) {
            edges.una = (nxt / 2 - 5) * MSS;
            edges.nxt = nxt * MSS - 2 * MSS;
            queue.arrive(Instant::from_nanos(nxt), edges, &view(66.0, 64));
            queue.sent(Instant::from_nanos(nxt), nxt * MSS, &view(66.0, 66));
            assert_eq!(queue.woken, nxt == 122, "{nxt}");
        }
        edges.nxt = 122 * MSS;
        queue.arrive(Instant::from_nanos(123), edges, &view(66.0, 66));
        assert_eq!(segments(&queue), [139.0, 184.0, 229.0]);
    }

    /// Worked by hand from Linux 6.12.117 over 42 Mbit/s and 20.6 ms: of four segments that the window allows three leave as a group,
    /// and the fourth by itself, as the application fills the buffer before it writes on.
    #[test]
    fn who_fills_the_first_buffer_sends_a_group_of_it() {
        let (mut queue, mut edges) = opened();
        for group in 6..=27 {
            queue.sent(Instant::from_nanos(2), group * 2 * MSS, &view(10.0, 10));
        }
        (edges.una, edges.nxt, edges.window) = (24 * MSS, 54 * MSS, 80_512);
        let now = Instant::from_nanos(3);
        queue.arrive(now, edges, &view(34.0, 30));
        assert!(!queue.fill_first(now, edges, &view(34.0, 30)), "nobody is woken");
        queue.sent(now, 57 * MSS, &view(34.0, 33));
        edges.nxt = 57 * MSS;
        assert!(queue.fill_first(now, edges, &view(34.0, 33)));
        assert_eq!(segments(&queue), [84.0], "27 segments from what was sent on");
        queue.sent(now, 58 * MSS, &view(34.0, 34));
        edges.nxt = 58 * MSS;
        assert!(queue.fill_first(now, edges, &view(34.0, 34)), "what that took is filled up");
        assert_eq!(segments(&queue), [85.0]);
        queue.arrive(Instant::from_nanos(4), edges, &view(34.0, 34));
        assert_eq!(segments(&queue), [85.0, 112.0, 139.0, 166.0], "the rest when nothing more can leave");
    }
}
