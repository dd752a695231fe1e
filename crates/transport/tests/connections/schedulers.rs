//! What each scheduler does to a whole connection.

use std::cell::RefCell;
use std::rc::Rc;

use crate::common::{CLIENT, MS, Pair, Path, SECOND, SERVER};
use transport::scheduler::Choice;
use transport::{Config, Event, Instant, ReceiveBuffer, SubflowId};

fn named(name: &str) -> Choice {
    Choice::named(name).unwrap()
}

struct Outcome {
    took_ns: u64,
    new_bytes: Vec<u64>,
    sent: u64,
    reinjections: u64,
}

fn transfer(scheduler: Choice, buffer: ReceiveBuffer, paths: Vec<Path>, bytes: u64) -> Outcome {
    let config = Config { scheduler, receive_buffer: buffer, ..Config::default() };
    let count = paths.len();
    let mut pair = Pair::new(1, [config.clone(), config], paths);
    assert!(pair.run_until(SECOND, |p| p.saw(SERVER, Event::Established)));
    // All subflows are there before the data begins.
    pair.run_until(2 * SECOND, |_| false);
    pair.connection(SERVER).offer(2_000);
    pair.run_until(5 * SECOND, |p| p.connection(SERVER).views().iter().filter(|v| v.active).count() == count);
    let begin_ns = pair.now_ns;
    pair.connection(SERVER).offer(bytes);
    pair.connection(SERVER).close(Instant::from_nanos(begin_ns));
    assert!(pair.run_until(600 * SECOND, |p| p.saw(SERVER, Event::Flushed)), "read {:?}", pair.read);
    assert_eq!(pair.read[CLIENT], bytes + 2_000);
    let took_ns = pair.now_ns - begin_ns;
    let subflows: Vec<_> = (0..count as u8).map(SubflowId).collect();
    let new_bytes = subflows.iter().map(|&s| pair.connection(CLIENT).statistics(s).new_bytes_received).collect();
    let statistics: Vec<_> = subflows.iter().map(|&s| pair.connection(SERVER).statistics(s)).collect();
    Outcome {
        took_ns,
        new_bytes,
        sent: statistics.iter().map(|s| s.data_segments_sent).sum(),
        reinjections: statistics.iter().map(|s| s.reinjections).sum(),
    }
}

fn fast_and_slow() -> Vec<Path> {
    // Losses keep the window of the fast path small, so that the slow one is asked, too.
    vec![Path { loss: 5, ..Path::clean(10 * MS) }, Path { rate_bps: 1_000_000, ..Path::clean(150 * MS) }]
}

#[test]
fn each_delivers_everything_also_with_loss_and_a_dead_path() {
    for scheduler in Choice::samples() {
        let mut lossy = Path { loss: 30, ..Path::clean(10 * MS) };
        lossy.dead_ns = vec![(3 * SECOND, 6 * SECOND)];
        let paths = vec![lossy, Path { loss: 30, ..Path::clean(80 * MS) }];
        transfer(scheduler.clone(), ReceiveBuffer::Auto, paths.clone(), 3_000_000);
        transfer(scheduler, ReceiveBuffer::Fixed(60_000), paths, 500_000);
    }
}

#[test]
fn redundancy_sends_everything_twice_and_takes_the_best_of_both() {
    let bytes = 300_000;
    let segments = bytes / 1420;
    let paths = || vec![Path::clean(20 * MS), Path::clean(20 * MS)];
    let one = transfer(named("min-rtt"), ReceiveBuffer::Auto, paths(), bytes);
    let both = transfer(named("redundant"), ReceiveBuffer::Auto, paths(), bytes);
    assert!(both.sent as f64 > 1.8 * segments as f64, "{} of {segments}", both.sent);
    assert!(both.reinjections > segments / 2);
    assert_eq!(one.reinjections, 0);
    // Never slower than one of the paths by itself (10 Mbit/s): the copies cost nothing on the other path.
    assert!(both.took_ns < 400 * MS, "{}", both.took_ns);
}

#[test]
fn round_robin_gives_equal_paths_equal_shares_whatever_their_rtt() {
    // Slow start from ten segments each, so small a transfer never fills a window: turns decide.
    let paths = vec![Path::clean(10 * MS), Path::clean(40 * MS)];
    let turns = transfer(named("round-robin"), ReceiveBuffer::Auto, paths.clone(), 25_000);
    assert!((turns.new_bytes[0] as i64 - turns.new_bytes[1] as i64).abs() <= 2 * 1420 + 2_000, "{:?}", turns.new_bytes);
    let min_rtt = transfer(named("min-rtt"), ReceiveBuffer::Auto, paths, 12_000);
    assert_eq!(min_rtt.new_bytes[1], 0, "the fast path has room for all of it");
}

#[test]
fn a_small_buffer_hurts_min_rtt_and_blest_and_orp_mend_it() {
    // The receive buffer is a few BDPs of the fast path and less than one of the slow: a segment on the slow path stops
    // the fast one until it arrives (Ferlin 2016 §2; Raiciu 2012 §4.2).
    let buffer = ReceiveBuffer::Fixed(60_000);
    let time = |scheduler| transfer(scheduler, buffer, fast_and_slow(), 2_000_000).took_ns;
    let (min_rtt, orp, blest) = (
        time(named("min-rtt")),
        time(Choice::with("min-rtt", [("reinjection", "orp")]).unwrap()),
        time(named("blest")),
    );
    println!("min-rtt {min_rtt}, ORP {orp}, BLEST {blest} ns");
    assert!(orp * 10 < min_rtt * 9, "ORP {orp}, min-rtt {min_rtt}");
    assert!(blest * 10 < min_rtt * 9, "BLEST {blest}, min-rtt {min_rtt}");
    // Neither is better than the fast path can be: 10 Mbit/s.
    let floor_ns = 2_000_000 * 8 * 100;
    assert!(orp > floor_ns && blest > floor_ns);
}

#[test]
fn linux_fills_both_paths() {
    let paths = vec![Path::clean(10 * MS), Path::clean(20 * MS)];
    // A window that is no limit: a receiver that sizes its buffer takes the pause before the data for a round trip, as the kernel
    // does, and keeps its first buffer as long.
    let all = transfer(named("linux"), ReceiveBuffer::Fixed(4_000_000), paths, 5_000_000);
    assert!(all.took_ns < 5_000_000 * 8 * 1000 / 14, "at least 14 of 20 Mbit/s, slow start and all: {}", all.took_ns);
    assert!(all.new_bytes.iter().all(|&n| n > 1_500_000), "{:?}", all.new_bytes);
}

/// Every segment that the server sends in 6 s of an application without an end.
fn endless(scheduler: Choice, paths: Vec<Path>) -> Vec<String> {
    let config = Config { scheduler, ..Config::default() };
    let mut pair = Pair::new(7, [config.clone(), config], paths);
    let log = Rc::new(RefCell::new(Vec::new()));
    let sent = Rc::clone(&log);
    pair.tap(move |now_ns, side, path, segment| {
        sent.borrow_mut().push(format!("{now_ns} {side} {path} {segment:?}"));
        true
    });
    assert!(pair.run_until(SECOND, |p| p.saw(SERVER, Event::Established)));
    pair.connection(SERVER).offer(u64::MAX / 4);
    pair.run_until(6 * SECOND, |_| false);
    log.take()
}

#[test]
fn without_an_end_dmptcp_sends_the_segments_of_min_rtt() {
    // And over one path it is TCP's schedule.
    let unequal = vec![Path { loss: 5, ..Path::clean(10 * MS) }, Path::clean(50 * MS), Path::clean(80 * MS)];
    for paths in [unequal, vec![Path { loss: 5, ..Path::clean(10 * MS) }]] {
        let (one, other) = (endless(named("dmptcp"), paths.clone()), endless(named("min-rtt"), paths));
        assert!(one.len() > 1_000, "{}", one.len());
        assert_eq!(one.iter().zip(&other).position(|(a, b)| a != b), None);
        assert_eq!(one.len(), other.len());
    }
}

#[test]
fn dmptcp_keeps_a_short_file_on_the_fast_path_and_spreads_a_long_one() {
    // From a window of ten: 10 + 20 + 40 + 80 + 160 segments before one has come back on the slow path.
    let paths = || vec![Path { rate_bps: 100_000_000, ..Path::clean(10 * MS) }, Path::clean(50 * MS)];
    let short = transfer(named("dmptcp"), ReceiveBuffer::Auto, paths(), 100_000);
    assert_eq!(short.new_bytes[1], 0, "{:?}", short.new_bytes);
    let all = transfer(named("min-rtt"), ReceiveBuffer::Auto, paths(), 100_000);
    assert!(all.new_bytes[1] > 0, "{:?}", all.new_bytes);
    let slow = vec![Path { rate_bps: 2_000_000, ..Path::clean(10 * MS) }, Path::clean(50 * MS)];
    let long = transfer(named("dmptcp"), ReceiveBuffer::Auto, slow, 8_000_000);
    assert!(long.new_bytes[1] > 2_000_000, "{:?}", long.new_bytes);
}

#[test]
fn what_waits_for_the_fast_path_goes_on_when_it_dies_in_the_middle() {
    let linux = ["ecf", "otias"].map(|name| Choice::with(name, [("variant", "linux")]).unwrap());
    for scheduler in ["dmptcp", "ecf", "otias", "daps", "sttf"].map(named).into_iter().chain(linux) {
        let dies = Path { dead_ns: vec![(2_060 * MS, 4_000 * SECOND)], ..Path::clean(10 * MS) };
        let found = transfer(scheduler.clone(), ReceiveBuffer::Auto, vec![dies, Path::clean(50 * MS)], 150_000);
        // A timeout of 200 ms and slow start over 100 ms.
        assert!(found.took_ns < 3 * SECOND, "{scheduler:?}: {} ms", found.took_ns / MS);
        assert!(found.new_bytes[1] > 50_000, "{scheduler:?}: {:?}", found.new_bytes);
    }
}

#[test]
fn without_a_size_dmptcp_online_is_no_slower_than_the_worse_of_the_size_known_and_the_fast_path_alone() {
    // Dong 2018's paths: §4.2.2 and figures 27 and 28, figure 8, WLAN with 3G. 5 %: a segment on the slow path may be last.
    let networks = [[(8, 20), (8, 40)], [(8, 20), (8, 100)], [(100, 20), (100, 80)], [(8, 20), (2, 150)]];
    for network in networks {
        let paths = network.map(|(mbps, rtt_ms)| Path { rate_bps: mbps * 1_000_000, ..Path::clean(rtt_ms / 2 * MS) });
        for bytes in [16_000, 64_000, 256_000, 1_000_000, 8_000_000] {
            let took = |name, paths: &[Path]| transfer(named(name), ReceiveBuffer::Auto, paths.to_vec(), bytes).took_ns;
            let (online, known) = (took("dmptcp-online", &paths), took("dmptcp", &paths));
            let worse = known.max(took("min-rtt", &paths[..1]));
            assert!(online * 100 <= worse * 105, "{network:?} {bytes}: {online} against {worse} ns");
        }
    }
}

#[test]
fn without_a_size_a_short_flow_stays_on_the_fast_path_and_a_long_one_uses_both() {
    let paths = || vec![Path { rate_bps: 8_000_000, ..Path::clean(10 * MS) }, Path::clean(50 * MS)];
    let short = transfer(named("dmptcp-online"), ReceiveBuffer::Auto, paths(), 64_000);
    assert_eq!(short.new_bytes[1], 0, "{:?}", short.new_bytes);
    let long = transfer(named("dmptcp-online"), ReceiveBuffer::Auto, paths(), 8_000_000);
    assert!(long.new_bytes[1] > 2_000_000, "{:?}", long.new_bytes);
}
