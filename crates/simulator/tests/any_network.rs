//! Property: over any network that lets something through, every file arrives whole, and no packet is lost from the
//! books (the simulator checks at the end of each run that sent = delivered + lost + in flight).

mod common;
use common::*;
use proptest::prelude::*;
use simulator::description::{Change, Connection, Description, Event, Limit, Link, Loss, Path, Protocol, Queue, Way};

/// At most 3 %, or bursts of less on average: a path may cross six lossy links there and back, and a connection whose
/// seven SYNs are all lost is given up, as it should be.
fn loss() -> impl Strategy<Value = Loss> {
    prop_oneof![
        2 => Just(Loss::None),
        2 => (0.0..0.03).prop_map(|probability| Loss::Bernoulli { probability }),
        1 => (0.0..0.01, 0.3..1.0, 0.0..0.01, 0.0..0.5).prop_map(|(good_to_bad, bad_to_good, loss_good, loss_bad)| {
            Loss::GilbertElliott { good_to_bad, bad_to_good, loss_good, loss_bad }
        }),
    ]
}

fn queue() -> impl Strategy<Value = Queue> {
    prop_oneof![
        (1..60_u64).prop_map(|packets| Queue::DropTail { limit: Limit::Packets(packets) }),
        (0..60_000_u64).prop_map(|bytes| Queue::DropTail { limit: Limit::Bytes(bytes) }),
        (1.0..10.0, 1.0..30.0, any::<bool>()).prop_map(|(min_packets, width, gentle)| Queue::Red {
            limit: Limit::Packets(60),
            min_packets,
            max_packets: min_packets + width,
            max_probability: 0.1,
            weight: 0.01,
            gentle,
            ecn: gentle,
        }),
    ]
}

fn any_link() -> impl Strategy<Value = Link> {
    let direction = || {
        (100_000..30_000_000_u64, 0..200 * MS, queue(), loss()).prop_map(|(rate_bps, delay_ns, queue, loss)| {
            simulator::description::Direction { rate_bps, trace: None, delay_ns, queue, loss }
        })
    };
    (direction(), direction()).prop_map(|(down, up)| Link { name: String::new(), down, up, middleboxes: Vec::new() })
}

fn any_connection() -> impl Strategy<Value = Connection> {
    let size = prop_oneof![0..3000_u64, 0..150_000_u64];
    let mss = prop_oneof![3 => Just(1460_u16), 1 => 200..9000_u16];
    let buffer = prop_oneof![3 => Just(None), 1 => (2000..100_000_u64).prop_map(Some)];
    let paths = prop::collection::vec(0..4_usize, 1..4);
    (size, mss, buffer, paths, any::<bool>(), any::<bool>(), 0..3 * SECOND, 1..4_u32).prop_map(
        |(size_bytes, mss_bytes, receive_buffer_bytes, paths, multipath, up, start_ns, count)| {
            let mut connection = mptcp("", &paths, file(size_bytes));
            if !multipath {
                connection.protocol = Protocol::Tcp;
                connection.paths.truncate(1);
            }
            Connection {
                mss_bytes,
                receive_buffer_bytes,
                ecn: !up,
                count,
                direction: if up { Way::Up } else { Way::Down },
                start_ns: [0, start_ns],
                ..connection
            }
        },
    )
}

/// A change, and for one that kills a link its return within five seconds.
fn any_events() -> impl Strategy<Value = Vec<Event>> {
    let unchanged = Change { dead: None, rate_bps: None, delay_ns: None, loss: None };
    let one = (0..10 * SECOND, 0..3_usize, any::<(bool, bool)>(), 0..4, 1..5 * SECOND, 100_000..30_000_000_u64, loss());
    prop::collection::vec(one, 0..8).prop_map(move |events| {
        let mut all = Vec::new();
        for (at_ns, link, (down, up), what, later_ns, rate_bps, loss) in events {
            let mut push = |at_ns, set| all.push(Event { at_ns, link, down, up, set });
            match what {
                0 => {
                    push(at_ns, dead(true));
                    push(at_ns + later_ns, dead(false));
                }
                1 => push(at_ns, Change { rate_bps: Some(rate_bps), ..unchanged }),
                2 => push(at_ns, Change { delay_ns: Some(later_ns / 25), ..unchanged }),
                _ => push(at_ns, Change { loss: Some(loss), ..unchanged }),
            }
        }
        all
    })
}

fn any_network() -> impl Strategy<Value = Description> {
    let links = prop::collection::vec(any_link(), 3);
    let paths = prop::collection::vec(prop::collection::vec(0..3_usize, 1..4), 4);
    let connections = prop::collection::vec(any_connection(), 1..5);
    (any::<u64>(), links, paths, connections, any_events()).prop_map(|(seed, links, paths, connections, events)| {
        let mut network = description(7200 * SECOND);
        network.seed = seed;
        network.links = links;
        network.paths = paths.into_iter().map(|links| Path { name: "p".into(), links, reversed: Vec::new() }).collect();
        network.connections = connections;
        network.links.iter_mut().enumerate().for_each(|(n, link)| link.name = format!("l{n}"));
        network.connections.iter_mut().enumerate().for_each(|(n, connection)| connection.name = format!("c{n}"));
        network.events = events;
        network
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn every_file_arrives_whole(network in any_network()) {
        let outcome = run(&network);
        for connection in &outcome.connections {
            let kind = &network.connections[connection.kind];
            let simulator::description::Application::File { size_bytes } = kind.application else { unreachable!() };
            prop_assert_eq!(connection.bytes_delivered, size_bytes, "{} number {}", &kind.name, connection.index);
            prop_assert!(connection.completion_s.is_some());
            let shares: f64 = connection.subflows.iter().filter_map(|subflow| subflow.share).sum();
            prop_assert!(size_bytes == 0 || (shares - 1.0).abs() < 1e-9, "shares add up to {}", shares);
        }
        prop_assert!(outcome.links.iter().all(|link| link.loss_rate.is_none_or(|rate| (0.0..=1.0).contains(&rate))));
        prop_assert!(outcome.links.iter().all(|link| (0.0..=1.0).contains(&link.utilization)));
    }
}
