//! The window that a buffer of automatic size announces, beside the figures of Linux 6.12.

use std::cell::RefCell;
use std::rc::Rc;

use crate::common::{CLIENT, MS, Pair, Path, SECOND, SERVER};
use transport::{Config, Event, Protocol};

fn config(protocol: Protocol) -> Config {
    let congestion = transport::congestion::Choice::named("reno").unwrap();
    Config { protocol, congestion, ..Config::default() }
}

fn path(delay_ns: u64) -> Path {
    Path { rate_bps: 47_500_000, ..Path::clean(delay_ns) }
}

/// The windows that the client's segments on the first path announce, in bytes, in the order in which they leave.
fn told(protocol: Protocol, paths: Vec<Path>, bytes: u64, until_ns: u64) -> Vec<u64> {
    let mut pair = Pair::new(1, [config(protocol), config(protocol)], paths);
    let told = Rc::new(RefCell::new(Vec::new()));
    let log = Rc::clone(&told);
    pair.tap(move |_, from, path, segment| {
        if from == CLIENT && path == 0 && !segment.flags.syn() {
            log.borrow_mut().push(u64::from(segment.window) << 7);
        }
        true
    });
    assert!(pair.run_until(SECOND, |p| p.saw(SERVER, Event::Established)));
    pair.connection(SERVER).offer(bytes);
    pair.run_until(until_ns, |_| false);
    told.take()
}

#[test]
fn mptcp_announces_half_of_its_memory_until_the_application_has_read() {
    // The SYN's 64,240 in units of 128. Segments of 1,420 bytes take 2,304: one half of 131,072 - 2,304 is 64,384. Then the window
    // is what the segments have earned, 64,088 and 2,896 each, up to 157/256 of that memory, 78,971.
    let windows = told(Protocol::Mptcp, vec![path(50 * MS)], 1_000_000, 290 * MS);
    assert_eq!(windows[..8], [64_256, 64_384, 69_888, 72_832, 75_776, 78_592, 78_976, 78_976]);
}

#[test]
fn tcp_counts_the_measured_ratio_at_once() {
    // 1,448 bytes of 2,304 are 160/256: up to 80,480.
    let windows = told(Protocol::Tcp, vec![path(50 * MS)], 1_000_000, 290 * MS);
    assert_eq!(windows[..8], [64_256, 67_072, 69_888, 72_832, 75_776, 78_592, 80_512, 80_512]);
}

#[test]
fn a_second_subflow_brings_one_half_back_and_the_edge_stays() {
    // Linux 6.12 on two paths of 117 and 182 ms, in units of 128 bytes: 502, 503, 546, 534, 523, 512, and 503 from then on. The second
    // acknowledgment has what two segments have earned, 69,880. Then the ratio is one half, as a subflow was opened, and 64,384 are
    // less than what was announced: the edge does not move until they are more.
    let windows = told(Protocol::Mptcp, vec![path(58_300_000), path(91 * MS)], 1_000_000, 340 * MS);
    let units: Vec<u64> = windows.iter().map(|bytes| bytes / 128).collect();
    assert_eq!(units, [502, 503, 546, 534, 523, 512, 503, 503, 503, 503, 503]);
}
