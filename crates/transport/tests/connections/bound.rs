//! Data bound to subflows ahead of their windows: what the scheduler `linux` does to a whole connection.

use std::cell::RefCell;
use std::rc::Rc;

use crate::common::{CLIENT, MS, Pair, Path, SECOND, SERVER};
use transport::scheduler::Choice;
use transport::{Config, Event, Instant, ReceiveBuffer, SubflowId, path_manager};

fn pair(paths: Vec<Path>) -> Pair {
    // A receive window that limits nothing.
    let receive_buffer = ReceiveBuffer::Fixed(1 << 20);
    let config = Config { scheduler: Choice::named("linux").unwrap(), receive_buffer, ..Config::default() };
    Pair::new(1, [config.clone(), config], paths)
}

fn new_bytes(p: &mut Pair, subflow: u8) -> u64 {
    p.connection(CLIENT).statistics(SubflowId(subflow)).new_bytes_received
}

/// The whole file is bound before the second subflow stands, though the window is of ten segments.
#[test]
fn a_short_file_stays_on_the_first_path() {
    let mut p = pair(vec![Path::clean(70 * MS), Path::clean(9 * MS)]);
    assert!(p.run_until(SECOND, |p| p.saw(SERVER, Event::Established)));
    p.connection(SERVER).offer(64_000);
    let now_ns = p.now_ns;
    p.connection(SERVER).close(Instant::from_nanos(now_ns));
    assert!(p.run_until(10 * SECOND, |p| p.saw(SERVER, Event::Flushed)));
    assert_eq!((new_bytes(&mut p, 0), new_bytes(&mut p, 1)), (64_000, 0));
}

/// Fresh subflows, whose peer has told its window.
fn after_a_start(paths: Vec<Path>) -> Pair {
    let count = paths.len();
    let mut p = pair(paths);
    assert!(p.run_until(SECOND, |p| p.saw(SERVER, Event::Established)));
    p.connection(SERVER).offer(2_000);
    p.run_until(2 * SECOND, |_| false);
    assert_eq!(p.connection(SERVER).views().iter().filter(|v| v.active && v.cwnd == 10.0).count(), count);
    p
}

/// A subflow's send buffer has 2·10·4352 = 87,040 bytes, its socket's 4096 more. The first write of 64 KiB leaves both
/// room; the third page is full next, 2000 bytes being acknowledged, and fills both. Of the pages 40 bytes describe each of five
/// pieces: the first 2000 bytes, the rest of that page, the second page, what the first write has of the third, and the rest.
#[test]
fn a_send_buffer_bounds_what_is_bound() {
    let mut p = after_a_start(vec![Path::clean(100 * MS)]);
    p.connection(SERVER).offer(1_000_000);
    let until_ns = p.now_ns + 50 * MS;
    p.run_until(until_ns, |_| false);
    let server = p.connection(SERVER);
    let accepted = 3 * 32_768 - 5 * 40;
    assert_eq!(server.bytes_unsent(), 1_002_000 - u64::from(accepted));
    let view = server.views()[0];
    assert_eq!((view.in_flight, view.queued), (10, (accepted - 2_000 - 14_200u32).div_ceil(1420)));
}

/// The first 64 KiB, written at once, go to the first subflow as one burst; there they linger, so that the next ones go
/// to the second.
#[test]
fn what_is_bound_waits_for_its_own_subflow() {
    let mut p = after_a_start(vec![Path::clean(20 * MS), Path::clean(20 * MS)]);
    p.connection(SERVER).offer(100_000);
    let until_ns = p.now_ns + MS;
    p.run_until(until_ns, |_| false);
    let server = p.connection(SERVER);
    assert_eq!(server.bytes_unsent(), 0);
    let (a, b) = (server.views()[0], server.views()[1]);
    assert_eq!((a.in_flight, a.queued), (10, (65_536 - 14_200u32).div_ceil(1420)));
    assert_eq!((b.in_flight, b.queued), (10, (100_000 - 65_536 - 14_200u32).div_ceil(1420)));
}

/// Lengths of the data segments that the server sends once more is written `after_ms` the first 20,000 bytes, and which of them
/// carry PSH.
fn segments_of_two_writes(after_ms: u64) -> (Vec<u32>, Vec<usize>) {
    let mut p = after_a_start(vec![Path::clean(100 * MS)]);
    let log = Rc::new(RefCell::new(Vec::new()));
    let sent = Rc::clone(&log);
    p.tap(move |_, side, _, segment| {
        if side == SERVER && segment.payload.len > 0 {
            sent.borrow_mut().push((segment.payload.len, segment.flags.psh()));
        }
        true
    });
    p.connection(SERVER).offer(20_000);
    if after_ms > 0 {
        let more_ns = p.now_ns + after_ms * MS;
        p.run_until(more_ns, |_| false);
    }
    p.connection(SERVER).offer(20_000);
    p.run_until(5 * SECOND, |_| false);
    assert_eq!(p.read[CLIENT], 42_000);
    let pushed = (0..log.borrow().len()).filter(|&i| log.borrow()[i].1).collect();
    (log.take().into_iter().map(|(len, _)| len).collect(), pushed)
}

/// Of the first 20,000 bytes ten segments leave at once and 5,800 bytes wait. What is written then is another buffer: the fifth
/// segment of the first has 120 bytes, and so has the last of the second. Written together they are one buffer.
#[test]
fn a_segment_ends_where_its_buffer_was_closed() {
    let (mut closed, mut whole) = (vec![1420; 14], vec![1420; 28]);
    closed.push(120);
    closed.extend([1420; 14]);
    closed.push(120);
    assert_eq!(segments_of_two_writes(10), (closed, vec![14, 29]));
    whole.push(240);
    assert_eq!(segments_of_two_writes(0), (whole, vec![28]));
}

/// A path that dies takes what waits on it to nobody: after five periods without a word the others carry it.
#[test]
fn what_waits_on_a_dead_path_goes_to_the_other() {
    let dead = Path { dead_ns: vec![(1_100 * MS, 3_600 * SECOND)], ..Path::clean(20 * MS) };
    let mut p = pair(vec![dead, Path::clean(30 * MS)]);
    assert!(p.run_until(SECOND, |p| p.saw(SERVER, Event::Established)));
    p.connection(SERVER).offer(2_000);
    p.run_until(1_090 * MS, |_| false);
    p.connection(SERVER).offer(400_000);
    let now_ns = p.now_ns;
    p.connection(SERVER).close(Instant::from_nanos(now_ns));
    assert!(p.run_until(60 * SECOND, |p| p.saw(SERVER, Event::Flushed)), "read {:?}", p.read);
    assert_eq!(p.read[CLIENT], 402_000);
}

/// When, in milliseconds after `offers[0]`, the server's first segment of data leaves on path `on`. It writes `bytes` at each of the
/// times; path `dead` does not answer from the first on.
fn first_data_ms(offers: &[(u64, u64)], dead: usize, on: usize) -> u64 {
    let mut paths = vec![Path::clean(20 * MS), Path::clean(30 * MS)];
    paths[dead].dead_ns = vec![(2 * SECOND, 3_600 * SECOND)];
    let mut p = after_a_start(paths);
    let seen = Rc::new(RefCell::new(None));
    let first = Rc::clone(&seen);
    p.tap(move |now_ns, side, path, segment| {
        if side == SERVER && path == on && segment.payload.len > 0 {
            first.borrow_mut().get_or_insert(now_ns);
        }
        true
    });
    for &(at_ms, bytes) in offers {
        p.run_until(2 * SECOND + at_ms * MS, |_| false);
        p.connection(SERVER).offer(bytes);
    }
    p.run_until(4 * SECOND, |_| false);
    let at_ns = seen.borrow().expect("no data on that path");
    (at_ns - 2 * SECOND) / MS
}

/// The data level's timer runs as long as a subflow waited when the scheduler last had data: at the first write none did, which
/// gives the least retransmission timeout, 200 ms.
#[test]
fn a_page_that_a_dead_path_took_goes_out_again_after_the_least_timeout() {
    assert_eq!(first_data_ms(&[(0, 10_000)], 0, 1), 200);
}

/// The same when the subflow is closed by hand.
#[test]
fn what_waits_on_a_closed_subflow_goes_to_the_other() {
    let mut p = pair(vec![Path::clean(20 * MS), Path::clean(30 * MS)]);
    assert!(p.run_until(SECOND, |p| p.saw(SERVER, Event::Established)));
    p.connection(SERVER).offer(2_000);
    p.run_until(SECOND, |_| false);
    p.connection(SERVER).offer(150_000);
    let now_ns = p.now_ns;
    p.connection(SERVER)
        .act(Instant::from_nanos(now_ns), path_manager::PathAction::Close { local_id: 0, remote_id: 0 });
    p.connection(SERVER).close(Instant::from_nanos(now_ns));
    assert!(p.run_until(60 * SECOND, |p| p.saw(SERVER, Event::Flushed)), "read {:?}", p.read);
    assert_eq!(p.read[CLIENT], 152_000);
    let again: u64 = (0..2).map(|r| p.connection(SERVER).statistics(SubflowId(r)).reinjections).sum();
    assert_eq!(again, 0, "what was never sent is not sent again");
}
