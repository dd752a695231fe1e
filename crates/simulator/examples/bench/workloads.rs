//! The workloads W1 to W5 and W7. W6, ten thousand short transfers through Python, is in tools/bench.

use crate::fat_tree;
use parts::{MS, SECOND, direction, mptcp, tcp};
use scenario::description::{Application, Connection, Description, Limit, Link, Path, Protocol, TcpOptions, Way};

#[path = "../../tests/networks/common/parts.rs"]
mod parts;

pub const NAMES: &str = "w1 to w5, w7, w3-htsim, w4-htsim, idle-N, in-flight";

/// Share of payload in a full MPTCP packet of 1500 bytes: 20 bytes are IP, 20 TCP, 12 timestamps and 28 DSS.
pub const MPTCP_SHARE: f64 = 1420.0 / 1500.0;

pub struct Workload {
    /// Virtual duration of a run by default.
    pub seconds: f64,
    /// Maximum total rate of all receivers in bits per second, headers included. If absent, utilisation is that of the
    /// fullest link.
    pub optimum_bps: Option<f64>,
    links: Vec<Link>,
    paths: Vec<Path>,
    connections: Vec<Connection>,
}

impl Workload {
    /// Takes the description out, so that it is not in memory twice. The first fifth of the time is warm-up.
    pub fn description(&mut self, seconds: f64) -> Description {
        let duration_ns = (seconds * 1e9) as u64;
        Description {
            duration_ns,
            seed: 1,
            warmup_ns: duration_ns / 5,
            sample_ns: None,
            through_wire: false,
            traces: Vec::new(),
            media: Vec::new(),
            links: std::mem::take(&mut self.links),
            paths: std::mem::take(&mut self.paths),
            connections: std::mem::take(&mut self.connections),
            events: Vec::new(),
        }
    }
}

pub fn workload(name: &str) -> Option<Workload> {
    Some(match name {
        "w1" => two_paths(100_000_000, 60.0),
        "w2" => two_paths(20_000_000, 300.0),
        "w3" => fat_tree_permutation(8, 5.0, AS_SWITCHES),
        "w4" => fat_tree_permutation(16, 2.0, AS_SWITCHES),
        "w3-htsim" => fat_tree_permutation(8, 5.0, AS_HTSIM),
        "w4-htsim" => fat_tree_permutation(16, 2.0, AS_HTSIM),
        "w5" => dumbbell(10, 100_000_000, 20 * MS, 60.0),
        "w7" => crowd(10_000, 10_000_000_000, 100 * MS, 4.0),
        "in-flight" => in_flight(),
        _ => idle(name.strip_prefix("idle-")?.parse().ok()?),
    })
}

/// Connections that are idle after their first segment, to measure the memory of a connection.
fn idle(count: u32) -> Workload {
    let links = vec![bdp_link("bottleneck", 10_000_000_000, 100 * MS)];
    let paths = one_link_paths(&links);
    let application = Application::Rate { rate_bps: 1 };
    let connections = vec![Connection { application, ..connection("idle", count, &[0], Protocol::Tcp) }];
    Workload { seconds: 2.0, optimum_bps: None, links, paths, connections }
}

/// A connection in slow start on a path with an RTT of two seconds that it never fills, to measure the memory of a
/// segment in flight.
fn in_flight() -> Workload {
    let links = vec![bdp_link("far", 40_000_000_000, 2_000 * MS)];
    let paths = one_link_paths(&links);
    let receive_buffer_bytes = Some(1_000_000_000);
    let connections =
        vec![Connection { receive_buffer_bytes, start_ns: [0, 0], ..connection("far", 1, &[0], Protocol::Tcp) }];
    Workload { seconds: 28.0, optimum_bps: None, links, paths, connections }
}

/// Two disjoint paths with an RTT of 20 ms, ten Reno flows on each, and one MPTCP connection with LIA over both.
fn two_paths(rate_bps: u64, seconds: f64) -> Workload {
    let links = ["one", "two"].map(|name| bdp_link(name, rate_bps, 20 * MS)).to_vec();
    let paths = one_link_paths(&links);
    let connections = vec![
        connection("mptcp", 1, &[0, 1], Protocol::Mptcp),
        connection("tcp-one", 10, &[0], Protocol::Tcp),
        connection("tcp-two", 10, &[1], Protocol::Tcp),
    ];
    Workload { seconds, optimum_bps: None, links, paths, connections }
}

/// A dumbbell of Reno flows. Each flow has its own access link on either side of the shared link, ten times as fast:
/// six hops for a data packet and its acknowledgment. The shared link has all of the RTT.
fn dumbbell(flows: usize, rate_bps: u64, rtt_ns: u64, seconds: f64) -> Workload {
    let mut links = vec![bdp_link("bottleneck", rate_bps, rtt_ns)];
    let (mut paths, mut connections) = (Vec::new(), Vec::new());
    for flow in 0..flows {
        let access = direction(10 * rate_bps, 0, Limit::Packets(1000));
        for side in ["client", "server"] {
            links.push(Link {
                name: format!("{side}-{flow}"),
                down: access.clone(),
                up: access.clone(),
                middleboxes: Vec::new(),
                metered: None,
                medium: None,
            });
        }
        let over = vec![links.len() - 2, 0, links.len() - 1];
        paths.push(Path { name: format!("path-{flow}"), links: over, reversed: Vec::new() });
        connections.push(connection(&format!("reno-{flow}"), 1, &[flow], Protocol::Tcp));
    }
    Workload { seconds, optimum_bps: None, links, paths, connections }
}

/// Many Reno flows over one link.
fn crowd(flows: u32, rate_bps: u64, rtt_ns: u64, seconds: f64) -> Workload {
    let links = vec![bdp_link("bottleneck", rate_bps, rtt_ns)];
    let paths = one_link_paths(&links);
    let connections = vec![connection("reno", flows, &[0], Protocol::Tcp)];
    Workload { seconds, optimum_bps: None, links, paths, connections }
}

/// Parameters of the hosts of a fat tree.
struct Hosts {
    /// Capacity of a host's own queue, in packets.
    queue_packets: u64,
    /// Initial ssthresh of a subflow, in segments.
    initial_ssthresh: Option<u32>,
}

const SWITCH_QUEUE_PACKETS: u64 = 100;

/// Queues as in the switches, and slow start until the first loss (RFC 5681 §3.1).
const AS_SWITCHES: Hosts = Hosts { queue_packets: SWITCH_QUEUE_PACKETS, initial_ssthresh: None };

/// As in htsim: no loss at the sending host, and slow start ends at 100 segments. (In htsim each subflow has its own
/// unlimited queue at the host; this queue holds eight windows of 100 segments.)
const AS_HTSIM: Hosts = Hosts { queue_packets: 1_000, initial_ssthresh: Some(100) };

/// Every host of a fat tree sends to one other host and receives from one, over eight subflows with LIA.
fn fat_tree_permutation(k: usize, seconds: f64, hosts: Hosts) -> Workload {
    const RATE_BPS: u64 = 100_000_000;
    // Large enough never to be the limit, as htsim, the reference, has no receive window.
    const RECEIVE_BUFFER_BYTES: u64 = 16_000_000;
    let tree = fat_tree::FatTree::new(k);
    let way = |queue_packets| direction(RATE_BPS, 1_000, Limit::Packets(queue_packets));
    let link = |number: usize| {
        // The first links are the hosts'.
        let up = way(if number < tree.hosts() { hosts.queue_packets } else { SWITCH_QUEUE_PACKETS });
        Link {
            name: format!("link-{number}"),
            down: way(SWITCH_QUEUE_PACKETS),
            up,
            middleboxes: Vec::new(),
            metered: None,
            medium: None,
        }
    };
    let links: Vec<Link> = (0..tree.links()).map(link).collect();
    let (mut paths, mut connections) = (Vec::new(), Vec::new());
    for (source, target) in tree.permutation().into_iter().enumerate() {
        let first = paths.len();
        for (number, route) in tree.routes(source, target, 8).into_iter().enumerate() {
            let name = format!("host-{source}/{number}");
            paths.push(Path { name, links: route.links, reversed: route.reversed });
        }
        let over: Vec<usize> = (first..paths.len()).collect();
        let name = format!("host-{source}");
        let start_ns = [0, 10 * MS];
        let (direction, receive_buffer_bytes) = (Way::Up, Some(RECEIVE_BUFFER_BYTES));
        let bulk = connection(&name, 1, &over, Protocol::Mptcp);
        let tcp = TcpOptions { initial_ssthresh: hosts.initial_ssthresh, ..TcpOptions::default() };
        connections.push(Connection { direction, start_ns, receive_buffer_bytes, tcp, ..bulk });
    }
    let optimum_bps = Some(tree.hosts() as f64 * RATE_BPS as f64);
    Workload { seconds, optimum_bps, links, paths, connections }
}

/// A link whose queue holds one bandwidth-delay product.
fn bdp_link(name: &str, rate_bps: u64, rtt_ns: u64) -> Link {
    parts::bdp_link(name, rate_bps, rtt_ns / 2)
}

fn one_link_paths(links: &[Link]) -> Vec<Path> {
    let path = |(n, link): (usize, &Link)| Path { name: link.name.clone(), links: vec![n], reversed: Vec::new() };
    links.iter().enumerate().map(path).collect()
}

/// Bulk downloads that start within the first second.
fn connection(name: &str, count: u32, paths: &[usize], protocol: Protocol) -> Connection {
    let bulk = match protocol {
        Protocol::Tcp => tcp(name, paths[0], Application::Bulk),
        Protocol::Mptcp => mptcp(name, paths, Application::Bulk),
    };
    Connection { count, start_ns: [0, SECOND], ..bulk }
}
