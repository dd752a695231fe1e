//! What a loss leaves of a window that the application does not fill (RFC 7661), and what the kernel leaves of it.

use std::cell::Cell;
use std::rc::Rc;

use crate::common::{CLIENT, MS, Pair, Path, SECOND, SERVER};
use transport::{Config, Event, Instant, Protocol, SubflowId, TcpOptions, WindowValidation};

/// The window before and after a loss, in segments: slow start over 60 segments opens it, and then one of twelve segments
/// that are sent by themselves is lost.
fn around_a_loss(window_validation: WindowValidation) -> (f64, f64) {
    let congestion = transport::congestion::Choice::named("reno").unwrap();
    let tcp = TcpOptions { window_validation, ..TcpOptions::default() };
    let config = Config { protocol: Protocol::Tcp, congestion, tcp, ..Config::default() };
    let mut pair = Pair::new(1, [config.clone(), config], vec![Path { rate_bps: 100_000_000, ..Path::clean(20 * MS) }]);
    let lose = Rc::new(Cell::new(false));
    let next = Rc::clone(&lose);
    pair.tap(move |_, from, _, segment| from == CLIENT || segment.payload.len == 0 || !next.replace(false));
    assert!(pair.run_until(SECOND, |p| p.saw(SERVER, Event::Established)));
    pair.connection(SERVER).offer(60 * 1448);
    pair.run_until(SECOND, |p| p.read[CLIENT] == 60 * 1448);
    // Forty rounds of twelve segments do not fill the window; after a second what was in flight before no longer counts.
    let mut read = 60 * 1448;
    for round in 0..40 {
        lose.set(round == 39);
        read += 12 * 1448;
        pair.connection(SERVER).offer(12 * 1448);
        let until_ns = pair.now_ns + 45 * MS;
        let before = pair.connection(SERVER).views()[0].cwnd;
        pair.run_until(until_ns, |_| false);
        if round == 39 {
            pair.run_until(until_ns + SECOND, |p| p.read[CLIENT] == read);
            return (before, pair.connection(SERVER).views()[0].ssthresh);
        }
    }
    unreachable!()
}

#[test]
fn a_loss_takes_half_of_what_was_in_use_or_as_in_linux_of_the_window() {
    let (window, left) = around_a_loss(WindowValidation::Linux);
    assert!(window > 30.0, "{window}");
    assert_eq!(left, (window / 2.0).floor(), "half of the window, in whole segments");
    let (window, left) = around_a_loss(WindowValidation::Rfc7661);
    assert!(window > 30.0, "{window}");
    assert!((4.0..=7.0).contains(&left), "half of the twelve segments in flight, less what is sent again: {left}");
}

/// The bandwidth that BBR knows, in bit/s, after a transfer that fills 10 Mbit/s and twenty segments one by one, each in a
/// round trip of its own.
fn bandwidth_after_pauses(scheduler: &str) -> f64 {
    let congestion = transport::congestion::Choice::with("bbr", [("variant", "linux")]).unwrap();
    let scheduler = transport::scheduler::Choice::named(scheduler).unwrap();
    let config = Config { congestion, scheduler, ..Config::default() };
    let mut pair = Pair::new(1, [config.clone(), config], vec![Path { rate_bps: 10_000_000, ..Path::clean(20 * MS) }]);
    assert!(pair.run_until(SECOND, |p| p.saw(SERVER, Event::Established)));
    pair.connection(SERVER).offer(1_000_000);
    pair.run_until(3 * SECOND, |p| p.read[CLIENT] == 1_000_000);
    for _ in 0..20 {
        pair.connection(SERVER).offer(1_000);
        let until_ns = pair.now_ns + 50 * MS;
        pair.run_until(until_ns, |_| false);
    }
    let (mut columns, now_ns) = ([0.0; 8], pair.now_ns);
    pair.connection(SERVER).show(SubflowId(0), Instant::from_nanos(now_ns), &mut columns);
    columns[0]
}

/// Samples of a pause say less than the path can do, and Linux's Multipath TCP does not know: one segment of 1,000 bytes, which
/// counts as a whole one of 1,448, between sending and a delayed acknowledgment is all that is left after ten rounds.
#[test]
fn pauses_are_forgotten_bandwidth_only_as_in_linux() {
    let heard = bandwidth_after_pauses("min-rtt");
    assert!((8.5e6..=10e6).contains(&heard), "{heard}");
    let bandwidth = bandwidth_after_pauses("linux");
    assert!((1.5e5..=2.9e5).contains(&bandwidth), "{bandwidth}");
}
