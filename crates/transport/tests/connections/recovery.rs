//! Loss recovery, seen from outside: what is sent again, and what of it was needless.

use std::sync::{Arc, Mutex};

use crate::common::{CLIENT, Log, MS, Pair, Path, SECOND, SERVER, mptcp_options, transfer};
use transport::congestion::{Ack, Choice, Classic, CongestionControl, Phase, Reno, Sample, View, Window};
use transport::{Config, Event, Instant, LossDetection, Protocol, Receiver, Statistics, SubflowId, TcpOptions};
use wire::MptcpOption;

const SIZE: u64 = 400_000;

fn config(tcp: TcpOptions) -> [Config; 2] {
    let config =
        Config { protocol: Protocol::Tcp, congestion: Choice::named("reno").unwrap(), tcp, ..Config::default() };
    [config.clone(), config]
}

/// The server sends `SIZE` bytes over one path of 50 ms RTT; `drop(nth, time)` says which of its data segments, counted
/// as they are sent, is lost. Answers its statistics and when all was acknowledged.
fn run(tcp: TcpOptions, path: Path, mut drop: impl FnMut(u64, u64) -> bool + 'static) -> (Statistics, u64) {
    let mut pair = Pair::new(1, config(tcp), vec![path]);
    assert!(pair.run_until(SECOND, |p| p.saw(SERVER, Event::Established)));
    let mut sent = 0;
    pair.tap(move |now, side, _, s| {
        if side == SERVER && s.payload.len > 0 {
            sent += 1;
            return !drop(sent, now);
        }
        true
    });
    pair.connection(SERVER).offer(SIZE);
    let now_ns = pair.now_ns;
    pair.connection(SERVER).close(Instant::from_nanos(now_ns));
    assert!(pair.run_until(100 * SECOND, |p| p.saw(SERVER, Event::Flushed)), "read {:?}", pair.read);
    assert_eq!(pair.read[CLIENT], SIZE);
    let at_ns = pair.now_ns;
    (pair.connection(SERVER).statistics(SubflowId(0)), at_ns)
}

fn path() -> Path {
    Path::clean(25 * MS)
}

fn segments() -> u64 {
    SIZE.div_ceil(1448)
}

#[test]
fn one_loss_is_one_retransmission() {
    for loss_detection in [LossDetection::RackTlp, LossDetection::Sack] {
        let tcp = TcpOptions { loss_detection, ..TcpOptions::default() };
        let (s, _) = run(tcp, path(), |nth, _| nth == 60);
        assert_eq!((s.retransmissions, s.timeouts, s.undone), (1, 0, 0), "{loss_detection:?}");
    }
}

#[test]
fn without_sack_a_window_with_several_losses_needs_a_round_trip_for_each() {
    // RFC 6582: one retransmission for each partial acknowledgment, no timeout.
    let tcp = TcpOptions { sack: false, ..TcpOptions::default() };
    let (s, _) = run(tcp, path(), |nth, _| [60, 63, 66].contains(&nth));
    assert_eq!((s.retransmissions, s.timeouts), (3, 0));
}

#[test]
fn a_lost_retransmission_is_found_by_time_and_not_by_counting() {
    // Segment 60 is lost, and so is its first retransmission.
    for (loss_detection, timeouts) in [(LossDetection::RackTlp, 0), (LossDetection::Sack, 1)] {
        let tcp = TcpOptions { loss_detection, ..TcpOptions::default() };
        let mut pair = Pair::new(1, config(tcp), vec![path()]);
        assert!(pair.run_until(SECOND, |p| p.saw(SERVER, Event::Established)));
        let (mut count, mut victim, mut losses) = (0, None, 0);
        pair.tap(move |_, side, _, s| {
            if side != SERVER || s.payload.len == 0 {
                return true;
            }
            count += 1;
            if count == 60 {
                victim = Some(s.seq);
            }
            let lost = victim == Some(s.seq) && losses < 2;
            losses += u32::from(lost);
            !lost
        });
        pair.connection(SERVER).offer(SIZE);
        let now_ns = pair.now_ns;
        pair.connection(SERVER).close(Instant::from_nanos(now_ns));
        assert!(pair.run_until(100 * SECOND, |p| p.saw(SERVER, Event::Flushed)));
        let s = pair.connection(SERVER).statistics(SubflowId(0));
        assert_eq!(s.timeouts, timeouts, "{loss_detection:?}");
    }
}

#[test]
fn a_lost_tail_is_repaired_by_a_probe() {
    // The last two segments are lost: the probe after two RTTs, and RACK after it, take less than a timeout would, and
    // the window is halved instead of starting anew (RFC 8985 §7). Of a single lost one the probe takes the place of the
    // timeout: it must allow for a delayed ACK.
    let last = segments();
    let (s, _) = run(TcpOptions::default(), path(), move |nth, _| nth == last);
    assert_eq!((s.timeouts, s.probes), (0, 1));
    let lost = move |nth, _| nth == last || nth == last - 1;
    let (s, with_probe) = run(TcpOptions::default(), path(), lost);
    assert_eq!((s.timeouts, s.probes), (0, 1));
    let tcp = TcpOptions { loss_detection: LossDetection::Sack, ..TcpOptions::default() };
    let (s, with_timeout) = run(tcp, path(), lost);
    assert_eq!((s.timeouts, s.probes), (1, 0));
    assert!(with_probe + 50 * MS < with_timeout, "{with_probe} {with_timeout}");
}

#[test]
fn a_clean_path_sees_no_retransmission_and_no_probe() {
    let (s, _) = run(TcpOptions::default(), path(), |_, _| false);
    assert_eq!((s.retransmissions, s.timeouts, s.probes, s.undone), (0, 0, 0, 0));
    assert_eq!(s.data_segments_sent, segments());
}

#[test]
fn a_stall_is_no_loss() {
    // Everything is held up for 600 ms, then arrives: the timeout was spurious, and the window returns. With timestamps
    // the first ACK shows it (Eifel, RFC 3522); without, F-RTO (RFC 5682); without both nobody notices.
    let stalled = || Path { stall_ns: vec![(200 * MS, 800 * MS)], ..path() };
    for (timestamps, frto, undone) in [(true, false, 1), (false, true, 1), (false, false, 0)] {
        // Without tail loss probes, which would find out by D-SACK.
        let tcp = TcpOptions { timestamps, frto, loss_detection: LossDetection::Sack, ..TcpOptions::default() };
        let (s, _) = run(tcp, stalled(), |_, _| false);
        assert!(s.timeouts >= 1, "{timestamps} {frto}: {s:?}");
        assert_eq!(s.undone.min(1), undone, "{timestamps} {frto}: {s:?}");
        if undone == 1 {
            assert!(s.retransmissions <= 4, "{timestamps} {frto}: {s:?}");
        }
    }
}

#[test]
fn mild_reordering_costs_little() {
    // Segments overtake each other within 8 ms, less than a quarter of the RTT: RACK waits, counting does not.
    let jitter = || Path { jitter_ns: 8 * MS, ..path() };
    let (rack, _) = run(TcpOptions::default(), jitter(), |_, _| false);
    let tcp = TcpOptions { loss_detection: LossDetection::Sack, ..TcpOptions::default() };
    let (counting, _) = run(tcp, jitter(), |_, _| false);
    assert!(rack.retransmissions * 4 < counting.retransmissions, "{rack:?} {counting:?}");
    assert!(counting.undone > 0, "needless recoveries are undone: {counting:?}");
}

thread_local! {
    /// Losses and timeouts that a control was told of.
    static TOLD: std::cell::Cell<(u32, u32)> = const { std::cell::Cell::new((0, 0)) };
}

/// Reno that is told of the round-trip times: how many, and how many of them during fast recovery.
#[derive(Debug)]
struct Sampled(Classic<Reno>, Arc<Mutex<Vec<Sample>>>);

impl CongestionControl for Sampled {
    fn name(&self) -> &'static str {
        "sampled"
    }

    fn wants_samples(&self) -> bool {
        true
    }

    fn on_sample(&mut self, group: &[View], r: usize, sample: &Sample) {
        assert_eq!(sample.recovering, group[r].phase == Phase::Recovery);
        self.1.lock().unwrap().push(*sample);
    }

    fn on_ack(&mut self, group: &[View], r: usize, ack: &Ack) -> Window {
        if let Some(rtt) = ack.rtt {
            let last = *self.1.lock().unwrap().last().unwrap();
            assert_eq!((last.rtt, last.now), (rtt, ack.now), "told before");
        }
        self.0.on_ack(group, r, ack)
    }

    fn on_loss(&mut self, group: &[View], r: usize, now: Instant) -> f64 {
        self.0.on_loss(group, r, now)
    }

    fn on_timeout(&mut self, group: &[View], r: usize, now: Instant) -> f64 {
        self.0.on_timeout(group, r, now)
    }
}

#[test]
fn a_control_that_asks_for_it_hears_of_every_round_trip_time_also_in_recovery() {
    let heard = Arc::new(Mutex::new(Vec::new()));
    let shared = Arc::clone(&heard);
    let [mut client, _] = config(TcpOptions::default());
    client.congestion = Choice::custom("sampled", move |_| Box::new(Sampled(Classic::new(Reno), Arc::clone(&shared))));
    let mut pair = Pair::new(1, [client.clone(), client], vec![path()]);
    assert!(pair.run_until(SECOND, |p| p.saw(SERVER, Event::Established)));
    let mut count = 0;
    pair.tap(move |_, side, _, s| {
        count += u32::from(side == SERVER && s.payload.len > 0);
        !(side == SERVER && s.payload.len > 0 && count == 60)
    });
    pair.connection(SERVER).offer(400_000);
    let now_ns = pair.now_ns;
    pair.connection(SERVER).close(Instant::from_nanos(now_ns));
    assert!(pair.run_until(20 * SECOND, |p| p.saw(SERVER, Event::Flushed)));
    let heard = heard.lock().unwrap();
    let recovering = heard.iter().filter(|sample| sample.recovering).count();
    assert!(recovering > 5 && heard.len() > 100, "{recovering} of {}", heard.len());
    assert!(heard.is_sorted_by_key(|sample| sample.now));
}

/// Reno that says what it was told.
#[derive(Debug)]
struct Told(Classic<Reno>);

impl CongestionControl for Told {
    fn name(&self) -> &'static str {
        "told"
    }

    fn on_ack(&mut self, group: &[View], r: usize, ack: &Ack) -> Window {
        self.0.on_ack(group, r, ack)
    }

    fn on_loss(&mut self, group: &[View], r: usize, now: Instant) -> f64 {
        TOLD.set((TOLD.get().0 + 1, TOLD.get().1));
        self.0.on_loss(group, r, now)
    }

    fn on_timeout(&mut self, group: &[View], r: usize, now: Instant) -> f64 {
        assert_eq!(group[r].phase, Phase::Recovery);
        TOLD.set((TOLD.get().0, TOLD.get().1 + 1));
        self.0.on_timeout(group, r, now)
    }
}

#[test]
fn a_timeout_during_fast_recovery_is_a_timeout_for_the_control_too() {
    // Segment 60 and its first retransmission are lost: by counting alone (RFC 6675) only the timer finds out.
    let tcp = TcpOptions { loss_detection: LossDetection::Sack, ..TcpOptions::default() };
    let [mut client, _] = config(tcp);
    client.congestion = Choice::custom("told", |_| Box::new(Told(Classic::new(Reno))));
    let mut pair = Pair::new(1, [client.clone(), client], vec![path()]);
    assert!(pair.run_until(SECOND, |p| p.saw(SERVER, Event::Established)));
    let (mut count, mut victim, mut losses) = (0, None, 0);
    pair.tap(move |_, side, _, s| {
        if side != SERVER || s.payload.len == 0 {
            return true;
        }
        count += 1;
        if count == 60 {
            victim = Some(s.seq);
        }
        let hit = victim == Some(s.seq) && losses < 2;
        losses += u32::from(hit);
        !hit
    });
    pair.connection(SERVER).offer(SIZE);
    let mut ssthresh = Vec::new();
    pair.run_until(10 * SECOND, |p| {
        let now = p.connection(SERVER).views()[0].ssthresh;
        if ssthresh.last() != Some(&now) {
            ssthresh.push(now);
        }
        p.read[CLIENT] == SIZE
    });
    assert_eq!(pair.read[CLIENT], SIZE);
    assert_eq!(TOLD.get(), (1, 1), "a loss, then a timeout");
    assert_eq!(pair.connection(SERVER).statistics(SubflowId(0)).timeouts, 1);
    // Infinite; half the window; half of that.
    assert_eq!(ssthresh.len(), 3, "{ssthresh:?}");
    assert_eq!(ssthresh[2], (ssthresh[1] / 2.0).max(2.0));
}

/// The first data is lost. Whoever opened the connection knows from the next that the peer has its keys (RFC 8684 §3.1). Linux waits for
/// the first, and its acknowledgments of the other nine and of the probe, with the keys and timestamps, have no room for SACK: 20 of 40
/// octets and 12. A timeout follows, which the acknowledgment of all undoes: most was never sent again (`tcp_process_loss`).
#[test]
fn linux_repeats_its_keys_until_the_first_data() {
    for (receiver, expected) in [(Receiver::Usual, (0, true, (0, 0))), (Receiver::Linux, (9 + 1, false, (1, 1)))] {
        let mut config = Config::default();
        config.tcp.receiver = receiver;
        let mut pair = Pair::new(1, [config.clone(), config], vec![Path::clean(10 * MS)]);
        let (mut lost, told) = (false, Log::default());
        let seen = told.clone();
        pair.tap(move |_, side, _, s| {
            if side == CLIENT && lost {
                let capable = mptcp_options(s).iter().any(|o| matches!(o, MptcpOption::MpCapable(_)));
                seen.borrow_mut().push((capable, !s.options.sack.is_empty()));
            }
            let first = side == SERVER && s.payload.len > 0 && !lost;
            lost |= first;
            !first
        });
        transfer(&mut pair, SERVER, 40_000);
        let told = told.borrow();
        let capable = told.iter().filter(|(capable, _)| *capable).count();
        let statistics = pair.connection(SERVER).statistics(SubflowId(0));
        assert_eq!((capable, told[0].1, (statistics.timeouts, statistics.undone)), expected, "{told:?}");
        assert!(told.iter().all(|(capable, sack)| !(*capable && *sack)));
    }
}
