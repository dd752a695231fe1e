//! Middleboxes on links: checks what RFC 8684 §3.7 and "How hard can it be?" (Raiciu 2012) say about Multipath TCP
//! behind each. Applications check the offset of every byte, and every segment is encoded and decoded.

use crate::common::*;
use network::middlebox::Stripped;
use network::{loss, middlebox, queue};
use scenario::description::{Connection, Description, Limit, LossDetection, MiddleboxConfig, QueueConfig, Way};
use scenario::outcome::Outcome;

const SIZE_BYTES: u64 = 1_500_000;

/// Two paths of 10 Mbit/s with `boxes` on the first link, or on both.
fn boxed(boxes: &[MiddleboxConfig], links: usize, connection: Connection) -> Description {
    let each = |name: &str, delay_ms| link(name, 10 * MBIT, delay_ms * MS, Limit::Packets(40));
    let mut description = with_links(description(60 * SECOND), vec![each("a", 10), each("b", 15)]);
    for link in &mut description.links[..links] {
        link.middleboxes = boxes.to_vec();
    }
    description.connections = vec![connection];
    description
}

fn download(paths: &[usize]) -> Connection {
    Connection { checksum: true, ..mptcp("m", paths, file(SIZE_BYTES)) }
}

fn whole(description: &Description) -> Outcome {
    let outcome = run(description);
    for connection in &outcome.connections {
        assert_eq!(connection.bytes_delivered, SIZE_BYTES);
        assert!(connection.completion_s.is_some());
    }
    outcome
}

/// Runs over one path and over two, in each direction. Returns (fell back, share of the second path).
fn all(boxes: &[MiddleboxConfig], links: usize) -> Vec<(bool, f64)> {
    let mut found = Vec::new();
    for paths in [&[0][..], &[0, 1]] {
        for direction in [Way::Down, Way::Up] {
            let outcome = whole(&boxed(boxes, links, Connection { direction, ..download(paths) }));
            let connection = &outcome.connections[0];
            let second = connection.subflows.get(1).and_then(|subflow| subflow.share).unwrap_or(0.0);
            found.push((connection.fallback, second));
        }
    }
    found
}

/// Neither falls back, and the second path carries a share of the data.
fn assert_unharmed(found: &[(bool, f64)]) {
    assert!(found.iter().all(|&(fallback, _)| !fallback), "{found:?}");
    assert!(found[2..].iter().all(|&(_, second)| second > 0.1), "{found:?}");
}

#[test]
fn boxes_that_multipath_tcp_was_designed_for_do_not_harm_it() {
    for boxes in [
        vec![MiddleboxConfig::Nat(middlebox::nat::Config {})],
        vec![MiddleboxConfig::SequenceRewriting(middlebox::sequence_rewriting::Config { sack: true })],
        vec![MiddleboxConfig::Splitting(middlebox::splitting::Config { max_bytes: 500 })],
        vec![
            MiddleboxConfig::Nat(middlebox::nat::Config {}),
            MiddleboxConfig::SequenceRewriting(middlebox::sequence_rewriting::Config { sack: true }),
            MiddleboxConfig::Splitting(middlebox::splitting::Config { max_bytes: 700 }),
        ],
    ] {
        assert_unharmed(&all(&boxes, 2));
    }
}

#[test]
fn options_stripped_from_syns_make_it_tcp() {
    for on in [Stripped::Syn, Stripped::All] {
        for way in [None, Some(Way::Down), Some(Way::Up)] {
            let found = all(&[MiddleboxConfig::Strip(middlebox::Strip { on, way })], 2);
            assert!(found.iter().all(|&(fallback, second)| fallback && second == 0.0), "{on:?} {way:?} {found:?}");
        }
    }
}

#[test]
fn options_stripped_from_the_second_path_leave_it_out() {
    for on in [Stripped::Syn, Stripped::All] {
        let mut description =
            boxed(&[MiddleboxConfig::Strip(middlebox::Strip { on, way: None })], 1, download(&[1, 0]));
        for direction in [Way::Down, Way::Up] {
            description.connections[0].direction = direction;
            let connection = &whole(&description).connections[0];
            assert!(!connection.fallback);
            assert!((connection.subflows[0].share.unwrap() - 1.0).abs() < 1e-9, "{:?}", connection.subflows);
        }
    }
}

#[test]
fn options_stripped_after_the_handshake_make_it_fall_back_or_close_the_subflow() {
    for on in [Stripped::NotSyn, Stripped::Data] {
        let found = all(&[MiddleboxConfig::Strip(middlebox::Strip { on, way: None })], 2);
        assert!(found[..2].iter().all(|&(fallback, _)| fallback), "{on:?} {found:?}");
        // If the other path is unaffected, the data uses it.
        for direction in [Way::Down, Way::Up] {
            let connection = Connection { direction, ..download(&[1, 0]) };
            let connection =
                &whole(&boxed(&[MiddleboxConfig::Strip(middlebox::Strip { on, way: None })], 1, connection))
                    .connections[0];
            assert!(!connection.fallback);
            assert!(connection.subflows[0].share.unwrap() > 0.9, "{:?}", connection.subflows);
        }
    }
}

#[test]
fn coalesced_segments_lose_a_mapping() {
    let boxes = [MiddleboxConfig::Coalescing(middlebox::coalescing::Config { hold_ns: 2 * MS, max_bytes: 9000 })];
    let found = all(&boxes, 1);
    assert!(found[..2].iter().all(|&(fallback, _)| fallback), "the only subflow falls back: {found:?}");
    for direction in [Way::Down, Way::Up] {
        let connection = Connection { direction, ..download(&[1, 0]) };
        let connection = &whole(&boxed(&boxes, 1, connection)).connections[0];
        assert!(!connection.fallback && connection.subflows[0].share.unwrap() > 0.9, "{:?}", connection.subflows);
    }
}

#[test]
fn changed_content_is_found_by_the_checksum() {
    for growth_bytes in [-1, 0, 7] {
        for way in [Way::Down, Way::Up] {
            let boxes = [MiddleboxConfig::PayloadRewriting(middlebox::payload_rewriting::Config {
                way,
                at_byte: 50_000,
                growth_bytes,
            })];
            // On one of two subflows: the subflow is closed and the data uses the other one.
            let connection = Connection { direction: way, ..download(&[1, 0]) };
            let outcome = whole(&boxed(&boxes, 1, connection));
            assert!(!outcome.connections[0].fallback);
            assert!(outcome.connections[0].subflows[0].share.unwrap() > 0.8);
            // On the only subflow: fallback to TCP, which does not notice. The rewritten bytes are delivered.
            let connection = Connection { direction: way, ..download(&[0]) };
            let outcome = run(&boxed(&boxes, 1, connection));
            let delivered = SIZE_BYTES.wrapping_add_signed(i64::from(growth_bytes));
            assert_eq!((outcome.connections[0].bytes_delivered, outcome.connections[0].fallback), (delivered, true));
            assert!(outcome.connections[0].completion_s.is_some());
        }
    }
}

#[test]
fn tcp_delivers_what_a_rewriter_made_of_it() {
    for growth_bytes in [-1, 0, 7] {
        for at_byte in [0, 50_000, SIZE_BYTES as u32 - 1] {
            let boxes = [MiddleboxConfig::PayloadRewriting(middlebox::payload_rewriting::Config {
                way: Way::Down,
                at_byte,
                growth_bytes,
            })];
            let outcome = run(&boxed(&boxes, 1, tcp("t", 0, file(SIZE_BYTES))));
            let delivered = SIZE_BYTES.wrapping_add_signed(i64::from(growth_bytes));
            assert_eq!(outcome.connections[0].bytes_delivered, delivered, "{growth_bytes} at {at_byte}");
            assert!(outcome.connections[0].completion_s.is_some(), "{growth_bytes} at {at_byte}");
        }
    }
}

/// Path 0 is an access link with the proxy, followed by a core link. The proxy's acknowledgments carry no DATA_ACK, so
/// data acknowledged by one shows that the path does not support MPTCP (RFC 8684 §3.7).
#[test]
fn a_proxy_that_acknowledges_makes_the_only_subflow_fall_back_and_closes_another() {
    for direction in [Way::Down, Way::Up] {
        for paths in [&[0][..], &[0, 1], &[1, 0]] {
            let mut description = boxed(
                &[MiddleboxConfig::ProactiveAcks(middlebox::proactive_acks::Config {})],
                1,
                Connection { direction, ..download(paths) },
            );
            description.links.push(link("core", 100 * MBIT, 5 * MS, Limit::Packets(100)));
            description.paths[0].links.push(2);
            if paths == [1, 0] {
                // Data acknowledged by the proxy and lost after it is reinjected on the other path.
                let lossy = scenario::description::LossConfig::Bernoulli(loss::Bernoulli { probability: 0.05 });
                match direction {
                    Way::Down => description.links[0].down.loss = lossy,
                    Way::Up => description.links[2].up.loss = lossy,
                }
            } else {
                // TCP over a proxy that keeps no data cannot recover from losses after the proxy.
                description.links[0].down.queue =
                    QueueConfig::DropTail(queue::drop_tail::Config { limit: Limit::Packets(10_000) });
                description.links[2].up.queue =
                    QueueConfig::DropTail(queue::drop_tail::Config { limit: Limit::Packets(10_000) });
            }
            let connection = &whole(&description).connections[0];
            assert_eq!(connection.fallback, paths[0] == 0, "{direction:?} {paths:?} {connection:?}");
            assert!(connection.subflows[0].share.unwrap() > 0.9, "{direction:?} {paths:?} {connection:?}");
        }
    }
}

#[test]
fn a_reset_closes_the_subflow_and_not_the_connection() {
    let boxes = [MiddleboxConfig::ResetInjection(middlebox::reset_injection::Config { after_bytes: 100_000 })];
    for direction in [Way::Down, Way::Up] {
        for paths in [[0, 1], [1, 0]] {
            let connection = Connection { direction, ..download(&paths) };
            let outcome = whole(&boxed(&boxes, 1, connection));
            let of_link = outcome.connections[0].subflows.iter().find(|subflow| subflow.path == 0).unwrap();
            assert!(of_link.share.unwrap() < 0.1, "{of_link:?}");
            assert!(!outcome.connections[0].fallback);
        }
    }
    // TCP has no other acknowledgments.
    let outcome = run(&boxed(&boxes, 1, tcp("t", 0, file(SIZE_BYTES))));
    assert!(outcome.connections[0].completion_s.is_none() && outcome.connections[0].bytes_delivered <= 100_000);
}

#[test]
fn many_short_connections_through_all_boxes_leave_nothing_behind() {
    let boxes = [
        MiddleboxConfig::Strip(middlebox::Strip { on: Stripped::Syn, way: Some(Way::Up) }),
        MiddleboxConfig::Nat(middlebox::nat::Config {}),
        MiddleboxConfig::Coalescing(middlebox::coalescing::Config { hold_ns: 3 * MS, max_bytes: 3000 }),
    ];
    let mut description = boxed(&boxes, 1, download(&[1, 0]));
    description.links[0].down.loss =
        scenario::description::LossConfig::Bernoulli(loss::Bernoulli { probability: 0.05 });
    description.connections[0].application =
        scenario::description::Application::Requests { size_bytes: 20_000, limit_ns: None };
    let outcome = run(&description);
    let transfers = outcome.connections[0].transfers.as_ref().unwrap();
    assert!(transfers.begun > 200 && transfers.completion_s.len() as u64 >= transfers.begun - 1, "{}", transfers.begun);
    assert!(transfers.size_bytes.iter().all(|&size_bytes| size_bytes == 20_000));
}

/// The three kinds of loss detection over a lossy link: the file arrives, and without SACK more slowly than with it.
#[test]
fn options_of_tcp_reach_the_transport() {
    let goodput = |change: &dyn Fn(&mut scenario::description::TcpOptions)| {
        let mut connection = tcp("t", 0, file(SIZE_BYTES));
        change(&mut connection.tcp);
        let mut description = boxed(&[], 0, connection);
        description.links[0].down.loss =
            scenario::description::LossConfig::Bernoulli(loss::Bernoulli { probability: 0.02 });
        whole(&description).connections[0].completion_s.unwrap()
    };
    let rack = goodput(&|_| {});
    let newreno = goodput(&|tcp| tcp.loss_detection = LossDetection::Newreno);
    let sack = goodput(&|tcp| tcp.loss_detection = LossDetection::Sack);
    assert!(newreno > 1.05 * rack && newreno > 1.05 * sack, "{rack} {sack} {newreno}");
    let patient = goodput(&|tcp| (tcp.loss_detection, tcp.rto_min_ns) = (LossDetection::Newreno, SECOND));
    assert!(patient > newreno, "{patient} {newreno}");
}
