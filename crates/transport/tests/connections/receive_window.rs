//! The window that a buffer of automatic size announces, beside the figures of Linux 6.12.

use std::cell::RefCell;
use std::rc::Rc;

use crate::common::{CLIENT, MS, Pair, Path, SECOND, SERVER};
use transport::{Config, Event, Protocol};

fn config(protocol: Protocol) -> Config {
    let congestion = transport::congestion::Choice::named("reno").unwrap();
    Config { protocol, congestion, ..Config::default() }
}

/// The windows that the client's segments announce, in bytes, in the order in which they leave.
fn told(protocol: Protocol, bytes: u64, until_ns: u64) -> Vec<u64> {
    let path = Path { rate_bps: 100_000_000, ..Path::clean(50 * MS) };
    let mut pair = Pair::new(1, [config(protocol), config(protocol)], vec![path]);
    let told = Rc::new(RefCell::new(Vec::new()));
    let log = Rc::clone(&told);
    pair.tap(move |_, from, _, segment| {
        if from == CLIENT && !segment.flags.syn() {
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
    let windows = told(Protocol::Mptcp, 1_000_000, 290 * MS);
    assert_eq!(windows[..8], [64_256, 64_384, 69_888, 72_832, 75_776, 78_592, 78_976, 78_976]);
}

#[test]
fn tcp_counts_the_measured_ratio_at_once() {
    // 1,448 bytes of 2,304 are 160/256: up to 80,480.
    let windows = told(Protocol::Tcp, 1_000_000, 290 * MS);
    assert_eq!(windows[..8], [64_256, 67_072, 69_888, 72_832, 75_776, 78_592, 80_512, 80_512]);
}
