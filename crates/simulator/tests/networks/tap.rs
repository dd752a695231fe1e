//! A tap sees every packet at both ends as bytes, and does not affect the run.

use crate::common::*;
use network::{loss, middlebox};
use scenario::description::{Application, Limit, LossConfig, MiddleboxConfig};
use simulator::{Interface, Tap, simulate_tapped};
use std::sync::{Arc, Mutex};

#[derive(Default)]
struct Seen {
    packets: Vec<(Interface, u64, Vec<u8>)>,
    refuse: bool,
}

struct Watcher(Arc<Mutex<Seen>>);

impl Tap for Watcher {
    fn packet(&mut self, interface: Interface, now_ns: u64, bytes: &[u8]) {
        self.0.lock().unwrap().packets.push((interface, now_ns, bytes.to_vec()));
    }

    fn finish(&mut self) -> Result<(), String> {
        if self.0.lock().unwrap().refuse { Err("the disk is full".into()) } else { Ok(()) }
    }
}

/// Two paths, one of them lossy and behind a NAT.
fn busy() -> scenario::description::Description {
    let lossy = lossy(
        link("b", 5 * MBIT, 30 * MS, Limit::Packets(50)),
        LossConfig::Bernoulli(loss::Bernoulli { probability: 0.01 }),
    );
    let mut description = with_links(description(3 * SECOND), vec![bdp_link("a", 10 * MBIT, 5 * MS), lossy]);
    description.links[1].middleboxes = vec![MiddleboxConfig::Nat(middlebox::nat::Config {})];
    description.connections = vec![mptcp("m", &[0, 1], Application::Bulk), tcp("t", 0, file(100_000))];
    description
}

#[test]
fn a_tap_sees_every_packet_at_both_ends_and_changes_nothing() {
    let seen = Arc::new(Mutex::new(Seen::default()));
    let tapped = simulate_tapped(&busy(), &mut |_| true, Box::new(Watcher(seen.clone()))).unwrap();
    assert_eq!(format!("{tapped:?}"), format!("{:?}", run(&busy())));
    let packets = &seen.lock().unwrap().packets;
    assert!(packets.windows(2).all(|pair| pair[0].1 <= pair[1].1), "in the order of time");
    let server: std::net::IpAddr = "192.0.2.1".parse().unwrap();
    let (mut sent, mut received) = ([0; 2], [0; 2]);
    for (interface, _, bytes) in packets {
        let (header, segment) = wire::decode(bytes).expect("every checksum fits");
        if segment.payload.is_empty() {
            continue;
        }
        // Only the server sends data.
        assert_eq!(header.src, server);
        let counts = if interface.client { &mut received } else { &mut sent };
        counts[interface.path as usize] += 1;
        // The server sees the client behind the NAT under another address.
        let outside = interface.path == 1 && !interface.client;
        assert_eq!(header.dst.to_string().starts_with("10."), !outside, "{header:?}");
    }
    let reported = [0, 1].map(|path| {
        let subflows = tapped.connections.iter().flat_map(|connection| &connection.subflows);
        subflows.filter(|subflow| subflow.path == path).map(|subflow| subflow.segments_sent).sum::<u64>()
    });
    assert_eq!(sent, reported);
    assert_eq!(received.iter().sum::<u64>(), tapped.work.segments_delivered);
    assert!(received[1] < sent[1], "the lossy path lost something");
}

#[test]
fn a_tap_that_fails_is_an_error() {
    let seen = Arc::new(Mutex::new(Seen { refuse: true, ..Seen::default() }));
    let error = simulate_tapped(&busy(), &mut |_| true, Box::new(Watcher(seen))).unwrap_err();
    assert_eq!(error.to_string(), "the packets could not be captured: the disk is full");
}
