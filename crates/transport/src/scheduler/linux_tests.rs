//! The scheduler of Linux, with numbers worked by hand.

use super::super::Counters;
use super::*;
use crate::time::Duration;

fn view(cwnd: f64, srtt_ms: u64, in_flight: u32) -> View {
    View { cwnd, ssthresh: 1.0, srtt: Duration::from_millis(srtt_ms), in_flight, active: true, ..View::new(10.0, 1420) }
}

fn choose(group: &[View]) -> Option<(usize, u32)> {
    let again = Demand::Reinjection { tried: SubflowSet::default() };
    match Linux::default().choose(again, group, &Context::default()) {
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

fn buffers<const N: usize>(held: [u64; N]) -> [SendBuffer; N] {
    held.map(|held_bytes| SendBuffer { held_bytes, limit_bytes: 87_040, open: true })
}

#[test]
fn new_data_goes_where_it_lingers_least_whatever_the_window() {
    // 1.2·10·1420 B/20 ms = 852 kB/s and 170.4 kB/s: 60 kB linger 70.4 ms there, 20 kB 117.4 ms here.
    let group = [view(10.0, 20, 10), view(10.0, 100, 1)];
    let choose = |held: [u64; 2]| Linger::default().choose(&exact(&group), &buffers(held), 1 << 20);
    assert_eq!(choose([60_000, 20_000]), Some((0, 65_428)));
    // 11.9 kB linger 70 ms.
    assert_eq!(choose([60_000, 11_900]), Some((1, 65_428)));
    // The least lingering one is full: the other is not asked.
    assert_eq!(choose([87_040, 30_000]), None);
    assert_eq!(choose([87_041, 17_000]), Some((1, 65_428)));
    // Equal: the first. The peer's window bounds a burst.
    assert_eq!(Linger::default().choose(&exact(&group), &buffers([0; 2]), 3_000), Some((0, 3_000)));
}

#[test]
fn rates_are_means_over_what_was_bound() {
    let mut l = Linger::default();
    let mut group = [view(10.0, 20, 10), view(10.0, 100, 10)];
    assert_eq!(l.choose(&exact(&group), &buffers([34_572, 80_000]), 1 << 20), Some((0, 65_428)));
    // Half the window is half the rate: (852·34,572 + 426·65,428)/100,000 = 573.3 kB/s from the next burst on.
    group[0].cwnd = 5.0;
    group[0].in_flight = 5;
    assert_eq!(l.choose(&exact(&group), &buffers([34_572, 80_000]), 1 << 20), Some((0, 65_428)));
    assert!((l.paces[0] - 573_277.0).abs() < 1.0, "{}", l.paces[0]);
}

fn exact(group: &[View]) -> Rates<'_> {
    Rates { group, kernel: None }
}

/// As the kernel counts, 1,448 bytes a segment and whole segments: 1,448·10·1.2/20 ms = 868,800 B/s, whatever is above ten.
#[test]
fn rates_of_groups_are_whole() {
    let counters = [Counters { paced_bytes: 1_448, ..Counters::default() }];
    let context = Context { subflows: &counters, ..Context::default() };
    let of = |cwnd| {
        let group = [view(cwnd, 20, 10)];
        Rates { group: &group, kernel: Some(&context) }.of(0)
    };
    assert_eq!([of(10.0), of(10.9), of(11.0)], [868_800.0, 868_800.0, 955_680.0]);
    // (868,800·34,572 + 434,401·65,428)/100,000 = 584,581.4
    let rates = Rates { group: &[], kernel: Some(&context) };
    assert_eq!(rates.mean((868_800.0, 34_572), (434_401.0, 65_428)).to_bits(), 584_581_f64.to_bits());
}

/// A connection of two subflows whose segments leave in groups; windows of ten segments, 20 and 100 ms.
struct Played {
    scheduler: Linux,
    counters: [Counters; 2],
    group: [View; 2],
    una: u64,
    sent: u64,
    window: u64,
    now: Instant,
}

impl Played {
    fn new() -> Self {
        let counters =
            Counters { paced_bytes: 1_448, segment_bytes: 1_460, groups: Some((0, false)), ..Counters::default() };
        Played {
            scheduler: Linux::default(),
            counters: [counters; 2],
            group: [view(10.0, 20, 9), view(10.0, 100, 0)],
            una: 0,
            sent: 0,
            window: 1 << 20,
            now: Instant::from_millis(1),
        }
    }

    fn ask<T>(&mut self, what: impl FnOnce(&mut Linux, &[View], &Context) -> T) -> T {
        let context = Context {
            now: self.now,
            place: self.sent,
            acknowledged_bytes: self.una,
            sent_bytes: self.sent,
            available_bytes: self.window,
            free_window_bytes: self.window,
            unsent_bytes: 1 << 20,
            subflows: &self.counters,
            ..Context::default()
        };
        what(&mut self.scheduler, &self.group, &context)
    }

    /// The subflow that the next data is bound to.
    fn bind(&mut self) -> Option<usize> {
        match self.ask(|linux, group, context| linux.choose(Demand::New, group, context)) {
            Decision::Bind { mut on, bytes } => {
                let r = on.pop()?;
                self.counters[r].queued_bytes += bytes;
                (self.sent, self.window) = (self.sent + bytes, self.window - bytes);
                Some(r)
            }
            _ => None,
        }
    }

    fn idles(&mut self) -> bool {
        self.ask(|linux, group, context| matches!(linux.when_idle(group, context), Decision::Pass))
    }
}

/// Two pages go to the first; the second is next, and the first has room in its window: that is used before the second gets a page
/// (`mptcp_push_release`), or nothing comes of it.
#[test]
fn one_subflow_sends_what_it_may_before_the_next_gets_data() {
    let mut played = Played::new();
    assert_eq!([played.bind(), played.bind(), played.bind()], [Some(0), Some(0), None]);
    assert!(played.scheduler.drains && played.idles());
    assert_eq!(played.bind(), Some(1));
    let mut full = Played::new();
    full.group[0].in_flight = 10;
    assert_eq!([full.bind(), full.bind(), full.bind()], [Some(0), Some(0), Some(1)]);
}

/// The window is closed behind what was bound: the least lingering subflow was tried. Once, until something is bound or written.
#[test]
fn who_would_be_next_is_told_when_the_window_is_full() {
    let mut played = Played::new();
    played.window = 32_728;
    assert_eq!(played.bind(), Some(0));
    let dry = |linux: &mut Linux, group: &[View], context: &Context| {
        linux.when_dry(group, context);
        linux.next_if_open()
    };
    let next = Some(Next { on: 1, pushed: true });
    assert_eq!([played.ask(dry), played.ask(dry)], [next, next], "each write tries, also behind what has left");
    played.now = Instant::from_millis(2);
    assert_eq!(played.ask(dry), None);
}

/// An acknowledgment on the first has data bound to the second, which has no room to send it: whether the application writes on was
/// looked at before that. Not so where something has left, or a buffer has grown.
#[test]
fn the_application_is_woken_by_what_was_bound_before() {
    let woken = |sends: bool, acknowledged: usize| {
        let mut played = Played::new();
        (played.group[0].in_flight, played.group[1].in_flight, played.window) = (10, 10, 32_728);
        assert_eq!(played.bind(), Some(0));
        played.ask(|linux, group, context| linux.when_dry(group, context));
        assert!(played.scheduler.pages.full);
        played.window = 1 << 20;
        let unbound = played.scheduler.pages.unbound(played.sent);
        played.now = Instant::from_millis(2);
        played.counters[acknowledged].heard += 1_424;
        let to = 1 - acknowledged;
        played.scheduler.burst = Some((to, 1 << 20));
        for r in 0..2 {
            played.counters[r].queued_bytes = 0; // there is room in its send buffer
        }
        while played.scheduler.pages.unbound(played.sent) * 2 >= unbound {
            assert_eq!(played.bind(), Some(to));
        }
        played.una = played.sent;
        if sends {
            played.counters[to].segments_sent += 1;
        }
        played.idles();
        !played.scheduler.pages.full
    };
    assert_eq!([woken(false, 0), woken(true, 0)], [false, true]);
}

/// A buffer grows with the window when the peer tells of what came behind a hole, too (`tcp_check_space`).
#[test]
fn what_is_told_of_a_hole_makes_the_buffer_grow() {
    let limit = |heard| {
        let mut played = Played::new();
        assert_eq!(played.bind(), Some(0));
        played.scheduler.pages.full = true;
        played.group[0].cwnd = 100.0;
        played.counters[0].heard += heard;
        played.idles();
        played.scheduler.limits.bytes(0)
    };
    assert!(limit(1) > limit(0), "{} {}", limit(1), limit(0));
}

/// The first would linger least, and its buffer is full. When something of it has left there would be room; but nothing is asked again
/// at this instant unless another acknowledgment comes.
#[test]
fn a_choice_that_was_refused_is_not_made_again_at_the_same_instant() {
    let refused = || {
        let mut played = Played::new();
        played.scheduler.linger.paces = vec![1e12, 1.0];
        (played.group[0].in_flight, played.group[1].in_flight) = (10, 10);
        played.counters[0].queued_bytes = 1 << 20;
        played.counters[1].queued_bytes = 1_424;
        assert_eq!([played.bind(), played.bind()], [None, None], "the application writes until its buffer is full");
        played.counters[0].queued_bytes = 0;
        played
    };
    let mut played = refused();
    assert_eq!(played.bind(), None);
    played.now = Instant::from_millis(2);
    assert_eq!(played.bind(), Some(0));
    let mut acknowledged = refused();
    acknowledged.counters[0].heard += 1_424;
    assert_eq!(acknowledged.bind(), Some(0));
}

/// Linux 6.1 asks again behind each buffer of 31,328 bytes, and a burst goes on where it was when the socket was dry: of 65,428 bytes the
/// first page leaves 32,700.
#[test]
fn a_burst_of_linux_6_1_goes_buffer_by_buffer_and_outlives_the_push() {
    let mut played = Played::new();
    for counters in &mut played.counters {
        counters.next_buffer_bytes = Some(31_328);
    }
    (played.group[0].in_flight, played.group[1].in_flight) = (10, 10);
    assert_eq!((played.bind(), played.sent), (Some(0), 31_328));
    assert_eq!((played.bind(), played.sent), (Some(0), 32_728), "the rest of the page");
    played.ask(|linux, group, context| linux.when_dry(group, context));
    played.now = Instant::from_millis(2);
    assert_eq!(played.scheduler.burst, Some((0, 32_700)));
    assert_eq!((played.bind(), played.scheduler.burst), (Some(0), Some((0, 1_372))));
    // All is bound, and the application writes: what is left of the burst comes before another choice.
    played.scheduler.burst = Some((1, 5_000));
    played.sent += played.scheduler.pages.unbound(played.sent);
    played.una = played.sent;
    for counters in &mut played.counters {
        counters.queued_bytes = 0;
    }
    assert_eq!((played.bind(), played.scheduler.burst), (Some(1), Some((1, 0))));
    // The largest send buffer is the socket's; later kernels have the sum of all, and 4,096.
    assert_eq!(played.scheduler.limits.socket_bytes(Kernel::V6_1), 87_040);
    assert_eq!(played.scheduler.limits.socket_bytes(Kernel::V6_12), 2 * 87_040 + 4_096);
}

#[test]
fn backups_and_silent_subflows_wait() {
    let backup = View { backup: true, ..view(10.0, 20, 0) };
    let group = [backup, view(10.0, 500, 10)];
    assert_eq!(Linger::default().choose(&exact(&group), &buffers([0, 60_000]), 1 << 20), Some((1, 65_428)));
    let [free, full] = buffers([0, 60_000]);
    let silent = SendBuffer { open: false, ..full };
    assert_eq!(Linger::default().choose(&exact(&group), &[free, silent], 1 << 20), Some((0, 65_428)));
}
