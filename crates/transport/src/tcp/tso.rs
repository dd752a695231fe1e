//! Segments leave in groups, as Linux hands them to its network device (TCP segmentation offload): the last of a group of
//! several carries PSH, so that a receiver acknowledges it as soon as it has read it, and a group that would be small may wait
//! for the next acknowledgment.
//!
//! Linux 6.12, `net/ipv4/tcp_output.c`: `tcp_tso_autosize` and `tcp_tso_segs` (how many segments a group may have),
//! `tcp_cwnd_test` (at most half of the window), `tcp_tso_should_defer` (whether to wait), `__tcp_transmit_skb` (PSH).

use super::socket_queue::{Edges, MOST_BYTES, SocketQueue, Waiting};
use crate::Kernel;
use crate::congestion::{LEAST_BURST_RATE, Phase, View};
use crate::time::{Duration, Instant};

/// A group holds what leaves in 2^-10 s at the rate of pacing, whether that paces or not (`sk_pacing_shift`).
const RATE_SHIFT: u32 = 10;
/// Near peers get larger groups: as much more as a device takes, halved for each so many microseconds of the shortest round trip
/// (`tcp_tso_rtt_log`, 2^9).
const RTT_STEP_US: u64 = 512;
/// At least (`tcp_min_tso_segs`).
const LEAST_SEGMENTS: u64 = 2;
/// A third of a window does not wait (`tcp_tso_win_divisor`).
const WINDOW_DIVISOR: u64 = 3;
/// Nothing waits for an acknowledgment that is further away, or after a pause of so long.
const PATIENCE: Duration = Duration::from_millis(1);

/// What there is to send on a subflow, and when.
#[derive(Clone, Copy, Debug)]
pub struct Ready {
    pub now: Instant,
    pub edges: Edges,
    /// New bytes that the peer's window allows.
    pub open: u64,
    /// When the oldest outstanding segment was sent.
    pub first_sent_at: Option<Instant>,
    /// Until when pacing holds or held back what follows the last group (`tcp_wstamp_ns`).
    pub paced_until: Instant,
    /// A short segment waits while another is under way (TCP).
    pub nagle: bool,
    /// What a segment holds beside timestamps (`mss_cache`): the options of Multipath TCP, which [`View::mss`] leaves out, do not count
    /// where rates and windows are compared.
    pub segment: u32,
}

/// What a subflow heard of and was given when a group of it was put off: nothing else ends that, unless it is pushed.
type Occasion = (u64, u64, (u32, u64), u64);

/// The groups of a subflow.
#[derive(Clone, Debug, Default)]
pub struct Groups {
    queue: SocketQueue,
    /// A group of Multipath TCP waits since then.
    put_off: Option<Occasion>,
    /// A group of TCP waits.
    waits: bool,
    /// Of TCP: where the last short segment ended (Minshall).
    short_end: u64,
    /// Where a group that is sent again goes on, and how many segments of it have left.
    again: (u64, u64),
    /// When the window had room behind a group.
    had_room_at: Option<Instant>,
    /// Segments of the present group that have not left.
    left: u32,
    /// It has several.
    several: bool,
    /// When a segment left last.
    last_at: Instant,
    /// `last_at` when a pause was last counted, so that each counts once.
    paused_at: Instant,
    /// What was sent when the window was last said to be the limit or not (`cwnd_usage_seq`).
    usage_end: u64,
    /// The rate of pacing since the last acknowledgment, in bytes per second, where it is not what follows from the window: segments that
    /// are lost or were told of counted there, and a timeout leaves it as it is.
    rate: Option<u64>,
    /// The control has set it.
    is_set: bool,
    /// How often the peer told of what came behind a hole.
    told: u64,
    /// Where the buffer ends that the present group of Multipath TCP is of.
    buffer_end: u64,
}

impl Groups {
    /// As this kernel makes them.
    pub fn of(kernel: Kernel) -> Self {
        Groups { queue: SocketQueue::of(kernel), ..Groups::default() }
    }

    /// Whether a segment may leave now: it belongs to the present group, or begins one.
    pub fn may_send(&mut self, ready: Ready, view: &View) -> bool {
        if self.left > 0 {
            return true;
        }
        self.queue.arrive(ready.now, ready.edges, view);
        let most = self.most(view, ready.segment);
        if self.should_wait(ready, self.queue.first(ready.edges.nxt), view, most) {
            self.queue.look(ready.now, ready.edges.nxt, view);
            if !self.queue.fill_first(ready.now, ready.edges, view) {
                self.waits = true;
                return false;
            }
        }
        self.waits = false;
        let waiting = self.queue.first(ready.edges.nxt);
        // `tcp_grow_skb`, which Linux 6.1 has not, takes the rest of the group from the next buffers.
        let there = if self.queue.kernel == Kernel::V6_1 { waiting.first } else { waiting.bytes };
        let (bytes, mss) = (there.min(ready.open), u64::from(view.mss));
        let short_is_out = ready.nagle && self.short_end > ready.edges.una;
        self.begin(if short_is_out { bytes / mss } else { bytes.div_ceil(mss) }, view, most);
        true
    }

    /// Whether the segment that leaves now may be cut short by the peer's window: the last of a group of several may, if no short one is
    /// under way (`tcp_mss_split_point`).
    pub fn may_be_cut(&self, now: Instant) -> bool {
        self.left == 1 && self.several && self.last_at == now
    }

    /// The same of what a scheduler has bound to a subflow of Multipath TCP; edges are the subflow's.
    pub fn may_send_bound(&mut self, ready: Ready, waiting: Waiting, view: &View) -> bool {
        if self.left > 0 && ready.now == self.last_at {
            return true;
        }
        if std::mem::take(&mut self.left) > 0 {
            // A short segment was held back (Nagle), and is a group of its own (`tcp_mss_split_point`).
            self.note_bound(ready.edges.una, ready.edges.nxt);
        }
        self.buffer_end = ready.edges.nxt + waiting.first;
        let most = self.most(view, ready.segment);
        let end = ready.edges.nxt + waiting.bytes;
        let occasion = (ready.edges.una, end, (view.in_flight, self.told), view.cwnd.to_bits());
        if self.put_off == Some(occasion) || self.should_wait(ready, waiting, view, most) {
            self.put_off = Some(occasion);
            return false;
        }
        let (bytes, mss) = (waiting.first.min(ready.open), u64::from(view.mss));
        self.begin(if waiting.tail_waits { bytes / mss } else { bytes.div_ceil(mss) }, view, most);
        true
    }

    /// What was put off is looked at again.
    pub fn push(&mut self) {
        self.put_off = None;
    }

    /// The most segments of a group that leaves now.
    fn most(&self, view: &View, segment: u32) -> u64 {
        let rate = self.rate.unwrap_or_else(|| pacing_rate(view, view.in_flight.into(), segment));
        most_segments(rate, self.is_set, view)
    }

    /// The rate of pacing, where it is not what follows from the window.
    pub fn rate(&self) -> Option<u64> {
        self.rate
    }

    /// It is this one from now on, or again what follows from the window, unless the control has set it.
    pub fn pace_at(&mut self, rate: Option<u64>) {
        if !self.is_set {
            self.rate = rate;
        }
    }

    /// The control steers.
    pub fn steer(&mut self) {
        self.queue.steered = true;
    }

    /// The control sets it.
    pub fn set_rate(&mut self, rate: f64) {
        (self.rate, self.is_set) = (Some(rate as u64), true);
    }

    /// Whether a group of TCP is put off.
    pub fn waits(&self) -> bool {
        self.waits
    }

    /// Whether the segment that leaves now is the last of its group, if it is of one.
    pub fn ends(&self) -> Option<bool> {
        (self.left > 0).then_some(self.left == 1)
    }

    /// The same of one between these numbers that is sent again, with what is lost behind it in its buffer (`__tcp_retransmit_skb`).
    pub fn ends_again(&mut self, (seq, end): (u64, u64), lost_follows: bool, view: &View, segment: u32) -> bool {
        let count = if self.again.0 == seq { self.again.1 + 1 } else { 1 };
        let ends = !lost_follows || count >= self.most(view, segment) || self.queue.sent.ends_at(end);
        self.again = (if ends { 0 } else { end }, count);
        ends
    }

    /// The peer tells of what it has beyond `una` (SACK).
    pub fn tell(&mut self, una: u64, blocks: impl Iterator<Item = (u64, u64)>, mss: u64) {
        self.told += 1;
        self.queue.sent.tell(una, blocks, mss);
    }

    /// How often it did.
    pub fn times_told(&self) -> u64 {
        self.told
    }

    /// Data is written while nothing is under way: since when, if that is not known yet.
    pub fn pause(&mut self) -> Option<Instant> {
        let new = self.paused_at != self.last_at;
        self.paused_at = self.last_at;
        new.then_some(self.last_at)
    }

    /// The segment that begins at `seq` is sent again, with those behind it in its group for which there is room.
    pub fn send_again(&mut self, now: Instant, seq: u64, view: &View, segment: u32) {
        self.last_at = now;
        let most = free(view).min(self.most(view, segment));
        self.queue.sent.send_again(seq, most, view.mss.into());
    }

    /// The last segment, which begins at `seq`, is sent again as a probe.
    pub fn probe(&mut self, now: Instant, seq: u64) {
        self.last_at = now;
        self.queue.sent.cut(seq);
    }

    /// A group of the present buffer has left, up to `nxt`.
    fn note_bound(&mut self, una: u64, nxt: u64) {
        self.queue.sent.push(nxt, self.buffer_end);
        self.queue.sent.acknowledge(una);
    }

    /// Of at most so many segments that are `there`.
    fn begin(&mut self, there: u64, view: &View, most: u64) {
        let half = (view.cwnd as u64 / 2).max(1);
        self.left = most.min(half).min(free(view)).min(there).max(1) as u32;
        self.several = self.left > 1;
    }

    /// A new segment has left, between these places of the stream. Answers whether it carries PSH: it ends a group of several, or a
    /// buffer that was pushed.
    pub fn sent(&mut self, now: Instant, (from, nxt): (u64, u64), view: &View) -> bool {
        self.last_at = now;
        self.left = self.left.saturating_sub(1);
        if nxt - from < view.mss.into() {
            self.short_end = nxt;
        }
        self.left == 0 && (self.queue.sent(now, nxt, view) || self.several)
    }

    /// The same of what was bound to a subflow of Multipath TCP, up to `nxt` of its numbers: whether it ends a group of several.
    pub fn sent_bound(&mut self, now: Instant, (una, nxt): (u64, u64), view: &View) -> bool {
        self.last_at = now;
        self.left = self.left.saturating_sub(1);
        if self.left == 0 {
            self.note_bound(una, nxt);
            if free(view) > 0 {
                self.had_room_at = Some(now);
            }
        }
        self.left == 0 && self.several
    }

    /// Whether a group is complete, behind which the growth of the window is to be looked at; and whether all that was under way when that
    /// was done last is acknowledged up to `una`.
    pub fn round_is_over(&self, una: u64) -> Option<bool> {
        (self.left == 0).then_some(una >= self.usage_end)
    }

    /// It was looked at with all sent up to `nxt`.
    pub fn begin_round(&mut self, nxt: u64) {
        self.usage_end = nxt;
    }

    /// Whether the window had room behind a group of this instant: then the send buffer may grow (`tcp_event_new_data_sent`,
    /// `tcp_should_expand_sndbuf`).
    pub fn had_room(&self, now: Instant) -> bool {
        self.had_room_at == Some(now)
    }

    /// Groups that were sent and are not wholly acknowledged up to `una`.
    pub fn unacknowledged(&self, una: u64) -> u64 {
        self.queue.sent.beyond(una) as u64 + u64::from(self.left > 0 && self.several)
    }

    fn should_wait(&self, ready: Ready, waiting: Waiting, view: &View, most: u64) -> bool {
        let mss = u64::from(ready.segment);
        let limit = ready.open.min(free(view) * mss);
        let window = ready.edges.window.min(view.cwnd as u64 * mss);
        let Waiting { first, buffers, closed, .. } = waiting;
        if first <= view.mss.into()
            || view.phase != Phase::Open
            || ready.now > self.last_at.max(ready.paced_until) + PATIENCE
            || limit >= most * mss
            || (buffers > 1 && limit >= first) // a buffer that gets no more data goes whole
            || (closed && limit > first)
            || limit >= window / WINDOW_DIVISOR
        {
            return false;
        }
        let Some(first_sent_at) = ready.first_sent_at else { return false };
        first_sent_at + view.srtt <= ready.now + PATIENCE.min(view.srtt / 2)
    }
}

/// Segments for which the congestion window has room.
fn free(view: &View) -> u64 {
    (view.cwnd as u64).saturating_sub(view.in_flight.into())
}

/// The rate of pacing that follows from the window when so many segments are outstanding, in bytes per second
/// (`tcp_update_pacing_rate`).
pub fn pacing_rate(view: &View, outstanding: u64, segment: u32) -> u64 {
    let percent = if view.cwnd < (view.ssthresh / 2.0).floor() { 200 } else { 120 };
    let cwnd = (view.cwnd as u64).max(outstanding);
    match view.srtt {
        Duration::ZERO => u64::MAX,
        srtt => (u128::from(u64::from(segment) * cwnd * percent) * 10_000_000 / u128::from(srtt.as_nanos())) as u64,
    }
}

/// The most segments of a group at a rate in bytes per second, which a control may have set.
pub fn most_segments(rate: u64, is_set: bool, view: &View) -> u64 {
    let near =
        MOST_BYTES.checked_shr((view.min_rtt.as_micros() / RTT_STEP_US).min(u32::MAX.into()) as u32).unwrap_or(0);
    let bytes = (rate >> RATE_SHIFT).saturating_add(near).min(MOST_BYTES);
    let least = if is_set && rate < LEAST_BURST_RATE { 1 } else { LEAST_SEGMENTS };
    (bytes / u64::from(view.mss)).max(least)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn view(cwnd: f64, in_flight: u32, srtt_ms: u64) -> View {
        View {
            in_flight,
            srtt: Duration::from_millis(srtt_ms),
            min_rtt: Duration::from_millis(srtt_ms),
            ..View::new(cwnd, 1_448)
        }
    }

    fn ready(now: Instant) -> Ready {
        let edges = Edges { una: 0, nxt: 0, end: 1 << 20, window: 1 << 20 };
        Ready {
            now,
            edges,
            open: 1 << 20,
            first_sent_at: None,
            paced_until: Instant::ZERO,
            nagle: true,
            segment: 1_448,
        }
    }

    #[test]
    fn a_group_is_what_leaves_in_a_thousandth_of_a_second() {
        // 1,448 · 40 · 2 / 0.1 s = 1,158,400 bytes/s: 1,131 in 2^-10 s, less than a segment.
        let at = |view: &View, outstanding| super::most_segments(pacing_rate(view, outstanding, 1_448), false, view);
        let most_segments = |view: &View| at(view, 0);
        assert_eq!(most_segments(&view(40.0, 0, 100)), 2);
        // 1,448 · 400 · 2 / 0.05 s = 23,168,000: 22,625 bytes are 15 segments; at 1.2 times the rate 13,575, which are 9.
        assert_eq!(most_segments(&view(400.0, 0, 50)), 15);
        assert_eq!(most_segments(&View { ssthresh: 400.0, ..view(400.0, 0, 50) }), 9);
        // A peer at 1 ms: 1,000 / 512 = 1, so that half of 65,215 bytes comes to 2,828 (1,448 · 1 · 2 / 0.001 s): 24 segments.
        assert_eq!(most_segments(&view(1.0, 0, 1)), 24);
        assert_eq!(most_segments(&view(10.0, 0, 0)), 45, "no round trip is known: all that a device takes");
        // In a recovery those that are lost count too: 290 · 1,448 · 1.2 / 0.112 s = 4,499,142 bytes/s, 4,393 in 2^-10 s.
        let recovering = View { phase: Phase::Recovery, ssthresh: 200.0, ..view(200.0, 150, 112) };
        assert_eq!((at(&recovering, 150), at(&recovering, 290)), (2, 3));
    }

    /// Segments that leave now, and whether each ends a group of several.
    fn leave(groups: &mut Groups, view: &mut View, mut ready: Ready) -> Vec<bool> {
        let mut left = Vec::new();
        while view.in_flight < view.cwnd as u32 && groups.may_send(ready, view) {
            view.in_flight += 1;
            ready.edges.nxt += 1_448;
            left.push(groups.sent(ready.now, (ready.edges.nxt - 1_448, ready.edges.nxt), view));
        }
        left
    }

    #[test]
    fn the_last_of_a_group_of_several_is_pushed() {
        let first = leave(&mut Groups::default(), &mut view(5.0, 0, 100), ready(Instant::from_millis(9)));
        assert_eq!(first, [false, true, false, true, false], "two, two and the rest");
        let small = leave(&mut Groups::default(), &mut view(3.0, 0, 100), ready(Instant::from_millis(9)));
        assert_eq!(small, [false, false, false], "half of three segments is one");
        // When the window is 64,256 bytes a buffer has 22 segments; one leaves and another is written: 23 are more than its half.
        let narrow = Ready {
            edges: Edges { window: 64_256, ..ready(Instant::from_millis(9)).edges },
            ..ready(Instant::from_millis(9))
        };
        let one_by_one = leave(&mut Groups::default(), &mut view(3.0, 0, 100), narrow);
        assert_eq!(one_by_one, [false, false, false]);
        let mut groups = Groups::default();
        let mut pushed = Vec::new();
        for n in 0..45 {
            let mut ready = narrow;
            ready.edges.nxt = n * 1_448;
            assert!(groups.may_send(ready, &view(3.0, 2, 100)), "{n}");
            if groups.sent(Instant::from_millis(9), (n * 1_448, (n + 1) * 1_448), &view(3.0, 3, 100)) {
                pushed.push(n + 1);
            }
        }
        assert_eq!(pushed, [23], "one by one");
        let mut short = ready(Instant::from_millis(9));
        short.edges.end = 1_500;
        let (mut groups, wide) = (Groups::default(), view(40.0, 0, 100));
        assert!(groups.may_send(short, &wide) && !groups.sent(Instant::from_millis(9), (0, 1_448), &wide));
        assert!(groups.sent(Instant::from_millis(9), (1_448, 1_500), &wide), "a full segment and 52 bytes are a group");
    }

    /// The application has filled a socket whose window is 400.
    fn written(kernel: Kernel) -> Groups {
        let mut groups = Groups::of(kernel);
        for at in [Instant::ZERO, Instant::from_nanos(1)] {
            groups.queue.arrive(at, ready(at).edges, &view(400.0, 0, 50));
        }
        groups
    }

    /// The first buffer has 45 segments, of which two are left; the window has room for many.
    #[test]
    fn a_group_of_linux_6_1_ends_with_its_buffer() {
        let rest = |kernel| {
            let mut groups = written(kernel);
            let now = Instant::from_millis(9);
            let edges = Edges { nxt: 43 * 1_448, ..ready(now).edges };
            groups.queue.sent(now, edges.nxt, &view(400.0, 43, 50));
            assert!(groups.may_send(Ready { edges, ..ready(now) }, &view(400.0, 43, 50)));
            groups.left
        };
        assert_eq!((rest(Kernel::V6_1), rest(Kernel::V6_12)), (2, 15));
    }

    #[test]
    fn a_small_group_waits_for_an_acknowledgment_that_is_near() {
        // Groups of 15; room for four segments of 400, and the oldest was sent 49.5 ms ago where a round trip takes 50.
        let mut groups = written(Kernel::V6_12);
        groups.last_at = Instant::from_nanos(99_500_000);
        let waits = |groups: &Groups, view: &View, first_sent_at: Instant| {
            let ready = Ready { first_sent_at: Some(first_sent_at), ..ready(Instant::from_millis(100)) };
            !groups.clone().may_send(ready, view)
        };
        let full = view(400.0, 396, 50);
        assert!(waits(&groups, &full, Instant::from_nanos(50_500_000)));
        assert!(waits(&groups, &full, Instant::from_millis(51)), "1 ms away");
        assert!(!waits(&groups, &full, Instant::from_nanos(51_000_001)), "too far away");
        assert!(!waits(&groups, &view(400.0, 385, 50), Instant::from_nanos(50_500_000)), "room for a whole group");
        assert!(!waits(&groups, &view(11.0, 7, 1), Instant::from_nanos(99_500_000)), "a third of the window");
        assert!(
            !waits(
                &Groups { last_at: Instant::from_nanos(98_999_999), ..groups.clone() },
                &full,
                Instant::from_nanos(50_500_000)
            ),
            "a pause of more than 1 ms"
        );
        assert!(!waits(&groups, &View { phase: Phase::Recovery, ..full }, Instant::from_nanos(50_500_000)));
        assert!(
            !waits(&Groups { left: 1, ..groups.clone() }, &full, Instant::from_nanos(50_500_000)),
            "a group goes whole"
        );
        // Buffers hold 45 segments: from the 41st on, four segments are all that is left of the first.
        let at = |nxt: u64| {
            let mut ready =
                Ready { first_sent_at: Some(Instant::from_nanos(50_500_000)), ..ready(Instant::from_millis(100)) };
            ready.edges.nxt = nxt * 1_448;
            groups.clone().may_send(ready, &full)
        };
        assert_eq!((at(40), at(41), at(42)), (false, true, true));
    }

    /// 20 MB/s are 19,531 bytes in 2^-10 s, 13 segments, whatever follows from the window; one leaves at a time below 1.2 Mbit/s.
    #[test]
    fn a_control_sets_the_rate_of_groups() {
        let mut groups = Groups::default();
        let segments = |groups: &mut Groups, rate| {
            groups.set_rate(rate);
            groups.pace_at(Some(1_000_000_000));
            groups.most(&view(400.0, 0, 50), 1_448)
        };
        assert_eq!([20e6, 150e3, 149e3].map(|rate| segments(&mut groups, rate)), [13, 2, 1]);
    }

    /// Of four lost segments behind each other the third ends a buffer; groups are of two at most, or of all where the rate is high.
    /// Nothing is said of segments that are of no group, as of Multipath TCP with another scheduler than Linux's.
    #[test]
    fn what_is_sent_again_leaves_in_groups_too() {
        let ends = |rate| {
            let mut groups = Groups::default();
            assert_eq!(groups.ends(), None);
            groups.set_rate(rate);
            groups.queue.sent.push(3 * 1_448, 0);
            groups.queue.sent.push(9 * 1_448, 0);
            let view = view(40.0, 0, 100);
            [0, 1, 2, 3].map(|n| groups.ends_again((n * 1_448, (n + 1) * 1_448), n < 3, &view, 1_448))
        };
        assert_eq!((ends(1e6), ends(20e6)), ([false, true, true, true], [false, false, true, true]));
    }

    /// A pause counts from when pacing let the next group go (`tcp_wstamp_ns`).
    #[test]
    fn a_group_waits_up_to_a_millisecond_behind_pacing() {
        let mut groups = written(Kernel::V6_12);
        groups.last_at = Instant::from_millis(97);
        let mut goes = |paced_until_ms| {
            let first_sent_at = Some(Instant::from_nanos(50_500_000));
            let paced_until = Instant::from_millis(paced_until_ms);
            let ready = Ready { first_sent_at, paced_until, ..ready(Instant::from_millis(100)) };
            (
                groups.clone().may_send(ready, &view(400.0, 396, 50)),
                groups.may_send(ready, &view(400.0, 396, 50)),
                groups.waits(),
            )
        };
        assert_eq!(goes(99), (false, false, true), "and that is no pause of the application");
        assert_eq!(goes(98), (true, true, false));
    }

    /// The window has room for a segment and 280 bytes, which leave together; another short one waits until those are acknowledged.
    #[test]
    fn the_peers_window_cuts_the_last_segment_of_a_group() {
        let (mut groups, view, now) = (Groups::default(), view(40.0, 0, 100), Instant::from_millis(9));
        let at = |nxt, una| Ready { edges: Edges { una, nxt, ..ready(now).edges }, open: 1_728, ..ready(now) };
        assert!(groups.may_send(at(0, 0), &view) && !groups.may_be_cut(now));
        assert!(!groups.sent(now, (0, 1_448), &view) && groups.may_be_cut(now));
        assert!(groups.sent(now, (1_448, 1_728), &view));
        assert!(groups.may_send(at(1_728, 0), &view));
        groups.sent(now, (1_728, 3_176), &view);
        assert!(!groups.may_be_cut(now), "a short one is under way");
        let eager = Ready { nagle: false, ..at(3_176, 0) };
        let mut other = groups.clone();
        assert!(
            other.may_send(eager, &view) && !other.sent(now, (3_176, 4_624), &view) && other.may_be_cut(now),
            "TCP_NODELAY"
        );
        assert!(groups.may_send(at(3_176, 1_728), &view));
        groups.sent(now, (3_176, 4_624), &view);
        assert!(groups.may_be_cut(now));
    }

    /// 22 segments of 1,424 bytes are the first buffer, and more follows.
    fn waiting() -> Waiting {
        Waiting { bytes: 60_000, first: 22 * 1_424, buffers: 2, closed: false, tail_waits: false }
    }

    #[test]
    fn what_is_bound_leaves_in_groups_and_a_small_one_waits_for_news_of_its_subflow() {
        // Multipath TCP's options take 24 bytes, which its rate does not know of: 1,448 · 211 · 1.2 / 0.05 s are 7,160 bytes in
        // 2^-10 s, five segments of 1,424; by 1,424 they would be 7,042, four.
        let view = |cwnd: f64, in_flight| View {
            ssthresh: cwnd,
            in_flight,
            srtt: Duration::from_millis(50),
            min_rtt: Duration::from_millis(50),
            ..View::new(cwnd, 1_424)
        };
        let ready = |cwnd: f64, in_flight, segment| {
            let mut groups = Groups::default();
            let ready = Ready { segment, ..ready(Instant::from_millis(100)) };
            assert!(groups.may_send_bound(ready, waiting(), &view(cwnd, in_flight)));
            groups.left
        };
        assert_eq!((ready(211.0, 100, 1_448), ready(211.0, 100, 1_424)), (5, 4));
        // Room for two of four, and the oldest was sent 49.5 ms ago of 50: it waits, until something else is heard or bound.
        let mut groups = Groups { last_at: Instant::from_nanos(99_500_000), ..Groups::default() };
        let at = |ns: u64| Ready {
            first_sent_at: Some(Instant::from_nanos(50_500_000)),
            ..super::tests::ready(Instant::from_nanos(ns))
        };
        let full = view(190.0, 188);
        assert!(!groups.may_send_bound(at(100_000_000), waiting(), &full));
        assert!(!groups.may_send_bound(at(200_000_000), waiting(), &full), "nothing was heard of it");
        let mut pushed = groups.clone();
        pushed.push();
        assert!(pushed.may_send_bound(at(200_000_000), waiting(), &full), "the application has written");
        let more = Waiting { bytes: 61_424, ..waiting() };
        assert!(groups.may_send_bound(at(200_000_000), more, &full), "more is bound, and the pause was long");
        let mut told = Groups { last_at: groups.last_at, ..Groups::default() };
        assert!(
            !told.may_send_bound(at(100_500_000), waiting(), &full)
                && !told.may_send_bound(at(200_000_000), waiting(), &full)
        );
        told.tell(0, std::iter::empty(), 1_448);
        assert!(told.may_send_bound(at(200_000_000), waiting(), &full), "the peer has told of more");
        // Of a segment and a short one only the first leaves, and the other 5 ms later: two groups.
        let (mut groups, room) = (Groups::default(), view(190.0, 180));
        let short = Waiting { bytes: 1_520, first: 1_520, buffers: 1, closed: false, tail_waits: false };
        assert!(groups.may_send_bound(at(300_000_000), short, &room));
        groups.sent_bound(Instant::from_nanos(300_000_000), (0, 1_424), &room);
        assert_eq!((groups.left, groups.unacknowledged(0)), (1, 1));
        let mut later = at(305_000_000);
        later.edges.nxt = 1_424;
        assert!(groups.may_send_bound(
            later,
            Waiting { bytes: 96, first: 96, buffers: 1, closed: false, tail_waits: false },
            &room
        ));
        groups.sent_bound(Instant::from_nanos(305_000_000), (0, 1_520), &room);
        assert_eq!(groups.unacknowledged(0), 2);
    }

    /// Room for two segments, behind which 1,520 bytes wait that have 3 ms to the next acknowledgment: a buffer that may get more data
    /// waits for it, one that is closed goes. What is left of a segment stays where an earlier short one is under way (Nagle).
    #[test]
    fn a_buffer_that_is_closed_does_not_wait_and_its_short_tail_may() {
        let view = View {
            ssthresh: 190.0,
            in_flight: 188,
            srtt: Duration::from_millis(50),
            min_rtt: Duration::from_millis(50),
            ..View::new(190.0, 1_424)
        };
        let (now, sent_at) = (Instant::from_millis(100), Some(Instant::from_nanos(50_500_000)));
        let left = |closed, tail_waits| {
            let mut groups = Groups { last_at: Instant::from_nanos(99_500_000), ..Groups::default() };
            let waiting = Waiting { bytes: 1_520, first: 1_520, buffers: 1, closed, tail_waits };
            let goes = groups.may_send_bound(Ready { first_sent_at: sent_at, ..ready(now) }, waiting, &view);
            goes.then_some(groups.left)
        };
        assert_eq!([left(false, false), left(true, false), left(true, true)], [None, Some(2), Some(1)]);
    }

    #[test]
    fn room_behind_a_group_is_noted_and_groups_are_counted_until_they_are_acknowledged() {
        let (now, mut groups) = (Instant::from_millis(9), Groups::default());
        let mut view = view(4.0, 0, 100);
        let mut pushed = Vec::new();
        for n in 1..=4 {
            let mut ready = ready(now);
            ready.edges.nxt = (n - 1) * 1_448;
            assert!(groups.may_send_bound(ready, waiting(), &view));
            view.in_flight += 1;
            pushed.push((groups.sent_bound(now, (0, n * 1_448), &view), groups.had_room(now)));
        }
        assert_eq!(pushed, [(false, false), (true, true), (false, true), (true, true)], "behind the first group");
        assert_eq!((groups.unacknowledged(0), groups.unacknowledged(2 * 1_448)), (2, 1));
        assert!(!groups.had_room(Instant::from_millis(10)));
    }
}
