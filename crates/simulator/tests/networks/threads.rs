//! One network on several threads: the same outcome, to the last bit, and a reason where it stays on one.

use crate::common::*;
use proptest::prelude::*;
use scenario::Plugins;
use scenario::description::{
    Application, Change, Connection, Description, Limit, Link, Loss, Middlebox, Path, Queue, Way,
};
use simulator::{SimulateError, Threads, simulate_on, windows};

/// Switches in a ring, each with as many hosts. Link `s` goes from switch `s` to the next one, the others from hosts to their
/// switches.
struct Ring {
    switches: usize,
    hosts: usize,
}

impl Ring {
    fn access(&self, host: usize) -> usize {
        self.switches + host
    }

    /// From one host to another, with the ring or against it.
    fn path(&self, from: usize, to: usize, onward: bool) -> Path {
        let (mut at, end) = (from / self.hosts, to / self.hosts);
        let (mut links, mut reversed) = (vec![self.access(from)], vec![false]);
        while at != end {
            let next = if onward { at + 1 } else { at + self.switches - 1 } % self.switches;
            links.push(if onward { at } else { next });
            reversed.push(!onward);
            at = next;
        }
        links.push(self.access(to));
        reversed.push(true);
        Path { name: format!("{from}-{to}-{onward}"), links, reversed }
    }
}

/// Few rates and delays: many things happen at the same nanosecond.
fn any_link() -> impl Strategy<Value = Link> {
    let rate_bps = prop_oneof![Just(10 * MBIT), Just(20 * MBIT), Just(100 * MBIT)];
    let delay_ns = prop_oneof![Just(10_000_u64), Just(100_000), Just(MS), Just(5 * MS)];
    let queue = prop_oneof![
        4 => (2..60_u64).prop_map(|packets| Queue::DropTail { limit: Limit::Packets(packets) }),
        1 => Just(Queue::Red {
            limit: Limit::Packets(60),
            min_packets: 3.0,
            max_packets: 12.0,
            max_probability: 0.1,
            weight: 0.01,
            gentle: true,
            ecn: true,
        }),
    ];
    let loss = prop_oneof![3 => Just(Loss::None), 1 => Just(Loss::Bernoulli { probability: 0.01 })];
    (rate_bps, delay_ns, queue, loss).prop_map(|(rate_bps, delay_ns, queue, loss)| {
        let mut link = lossy(link("", rate_bps, delay_ns, Limit::Packets(1)), loss);
        (link.down.queue, link.up.queue) = (queue.clone(), queue);
        link
    })
}

/// Of a connection: its hosts, whether it takes both ways round, its direction, whether it sends at a rate, ECN, how many, and
/// whether they start at once.
type Drawn = (prop::sample::Index, prop::sample::Index, [bool; 5], u32);

fn any_connections() -> impl Strategy<Value = Vec<Drawn>> {
    let index = any::<prop::sample::Index>;
    prop::collection::vec((index(), index(), any::<[bool; 5]>(), 1..3_u32), 1..8)
}

/// Of a link: when it changes, and whether it dies, gets another rate, or another delay.
fn any_events() -> impl Strategy<Value = Vec<(prop::sample::Index, u64, u8)>> {
    prop::collection::vec((any::<prop::sample::Index>(), 0..200 * MS, 0..3_u8), 0..2)
}

fn network(ring: &Ring, mut links: Vec<Link>, drawn: &[Drawn]) -> Description {
    let mut network = description(400 * MS);
    (network.warmup_ns, network.sample_ns, network.through_wire) = (100 * MS, Some(30 * MS), false);
    for (number, link) in links.iter_mut().enumerate() {
        link.name = format!("link-{number}");
    }
    network.links = links;
    let hosts = ring.switches * ring.hosts;
    for (number, (client, server, [both, up, rate, ecn, at_once], count)) in drawn.iter().enumerate() {
        let client = client.index(hosts);
        let server = (client + 1 + server.index(hosts - 1)) % hosts;
        let first = network.paths.len();
        network.paths.push(ring.path(client, server, true));
        if *both {
            network.paths.push(ring.path(client, server, false));
        }
        let paths: Vec<usize> = (first..network.paths.len()).collect();
        let application = if *rate { Application::Rate { rate_bps: 3 * MBIT } } else { Application::Bulk };
        let name = format!("connection-{number}");
        let connection = if *both { mptcp(&name, &paths, application) } else { tcp(&name, first, application) };
        network.connections.push(Connection {
            direction: if *up { Way::Up } else { Way::Down },
            ecn: *ecn,
            count: *count,
            start_ns: [0, if *at_once { 0 } else { 50 * MS }],
            ..connection
        });
    }
    network
}

fn on(threads: usize, description: &Description) -> (String, Threads) {
    let ran = simulate_on(threads, description, &Plugins::default(), &mut |_| true, None);
    let (outcome, threads) = ran.unwrap_or_else(|error| panic!("{error}"));
    (format!("{outcome:?}"), threads)
}

proptest! {
    /// In parts one after another on one thread, which needs no meetings of threads, and so no processors for them.
    #[test]
    fn any_network_has_the_same_outcome_in_any_number_of_parts(
        (switches, hosts, links) in (2..6_usize, 1..4_usize).prop_flat_map(|(switches, hosts)| {
            let links = prop::collection::vec(any_link(), switches * (1 + hosts));
            (Just(switches), Just(hosts), links)
        }),
        connections in any_connections(),
        events in any_events(),
    ) {
        let ring = Ring { switches, hosts };
        let mut network = network(&ring, links, &connections);
        for (link, at_ns, what) in events {
            let link = link.index(network.links.len());
            let unchanged = Change::default();
            match what {
                0 => network.events.extend([event(at_ns, link, dead(true)), event(at_ns + 70 * MS, link, dead(false))]),
                1 => network.events.push(event(at_ns, link, Change { rate_bps: Some(5 * MBIT), ..unchanged })),
                _ => network.events.push(event(at_ns, link, Change { delay_ns: Some(2 * MS), ..unchanged })),
            }
        }
        let whole = format!("{:?}", run(&network));
        for parts in [2, 3, 8] {
            let (outcome, counted) = windows::count(&network, parts).unwrap();
            prop_assert!(counted.parts > 1 && counted.parts as usize <= parts, "{counted:?}");
            prop_assert_eq!(&whole, &format!("{outcome:?}"), "{:?}", counted);
        }
    }
}

/// Everything alike and everything at once: hosts, links, starts. Hundreds of packets come to a queue at the same nanosecond.
#[test]
fn what_happens_at_the_same_moment_has_the_same_order() {
    let ring = Ring { switches: 4, hosts: 4 };
    let links = vec![link("", 10 * MBIT, MS, Limit::Packets(20)); 20];
    let mut network = network(&ring, links, &[]);
    for host in 0..16 {
        let server = (host + 4) % 16;
        network.paths.push(ring.path(host, server, true));
        network.paths.push(ring.path(host, server, false));
        let name = format!("connection-{host}");
        network.connections.push(mptcp(&name, &[2 * host, 2 * host + 1], Application::Bulk));
    }
    let (one, _) = on(1, &network);
    for threads in [2, 4, 8] {
        let (several, used) = on(threads, &network);
        assert_eq!((used.used, used.fewer), (threads, None));
        assert!(one == several, "another outcome on {threads} threads");
        let (counted, _) = windows::count(&network, threads).unwrap();
        assert!(one == format!("{counted:?}"), "another outcome in {threads} parts");
    }
}

/// Three SYNs of 60 bytes, which take 480 µs on links of 1 Mbit/s and 50 µs. The first two follow one another on a link of their own, so the second is the
/// next to arrive there when the first has, at 530 µs; the third begins on another link at 480 µs. Both come to the shared
/// queue at 1,010 µs, the third first: it has been the next on its link for longer. The second entered its link at 400 µs,
/// but that counts for nothing while the first is under way, although that one arrives in the same window of the parts.
#[test]
fn a_packet_behind_another_counts_from_the_arrival_of_that_one() {
    const US: u64 = 1_000;
    let mut network = description(50 * MS);
    network.links = ["own", "other", "shared"].map(|name| link(name, MBIT, 50 * US, Limit::Packets(100))).to_vec();
    for (name, own, start_ns) in [("first", 0, 0), ("second", 0, 400 * US), ("third", 1, 480 * US)] {
        let path = network.paths.len();
        network.paths.push(Path { name: name.into(), links: vec![own, 2], reversed: vec![false, false] });
        let bulk = tcp(name, path, Application::Bulk);
        network.connections.push(Connection { direction: Way::Up, start_ns: [start_ns; 2], ..bulk });
    }
    let whole = run(&network);
    let established = |number: usize| whole.connections[number].establishment_s;
    assert!(established(2) < established(1), "{:?} {:?}", established(2), established(1));
    for parts in 2..5 {
        let (outcome, counted) = windows::count(&network, parts).unwrap();
        assert!(counted.parts > 1 && counted.lookahead_ns == 370 * US, "{counted:?}");
        assert!(format!("{whole:?}") == format!("{outcome:?}"), "another outcome in {} parts", counted.parts);
    }
}

fn two_hosts() -> Description {
    let mut network = with_links(description(SECOND), vec![bdp_link("a", 10 * MBIT, 5 * MS)]);
    network.connections = vec![tcp("t", 0, Application::Bulk)];
    network
}

#[test]
fn client_and_server_can_be_on_threads_of_their_own() {
    let network = two_hosts();
    let (one, whole) = on(1, &network);
    let (two, threads) = on(2, &network);
    assert_eq!((whole.used, threads.used), (1, 2));
    assert_eq!(one, two);
    let (eight, threads) = on(8, &network);
    assert_eq!(one, eight);
    assert_eq!((threads.used, threads.fewer.as_deref()), (2, Some("it falls into 2 parts")));
}

#[test]
fn what_cannot_be_divided_stays_on_one_thread_with_the_reason() {
    let changed = |change: fn(&mut Description)| {
        let mut network = two_hosts();
        change(&mut network);
        network
    };
    let cases = [
        (
            changed(|n| n.events = vec![event(MS, 0, Change { delay_ns: Some(MS), ..Change::default() })]),
            "no link divides it",
        ),
        (changed(|n| n.links[0].middleboxes = vec![Middlebox::Nat]), "middleboxes on link «a»"),
        (changed(|n| n.connections[0].application = file(10_000)), "connection «t» sends something else"),
        (changed(|n| n.connections[0].stop_ns = Some(MS)), "connection «t» stops"),
        (changed(|n| n.connections[0].congestion = named("bbr")), "draws random numbers"),
        (
            changed(|n| {
                // 40 bytes take less than a nanosecond.
                n.links[0] = link("a", 1_000_000_000_000, 0, Limit::Packets(100));
                n.duration_ns = MS / 10;
            }),
            "no link divides it",
        ),
    ];
    for (network, reason) in cases {
        let (outcome, threads) = on(4, &network);
        assert_eq!(threads.used, 1);
        assert!(threads.fewer.as_ref().is_some_and(|fewer| fewer.contains(reason)), "{threads:?}, not {reason}");
        assert_eq!(outcome, on(1, &network).0);
    }
}

#[test]
fn a_run_that_is_to_stop_stops_on_all_threads() {
    let mut network = two_hosts();
    (network.duration_ns, network.through_wire) = (1_000 * SECOND, false);
    // Which thread hears of it first is a matter of chance.
    for _ in 0..20 {
        let stopped = simulate_on(2, &network, &Plugins::default(), &mut |_| false, None);
        assert!(matches!(stopped, Err(SimulateError::Stopped { .. })));
    }
}
