//! The workloads W1 to W5 and W7. W6, ten thousand short transfers through Python, is in tools/bench.

use crate::fat_tree;
use network::queue;
use scenario::description::{
    Application, Connection, Description, Direction, Limit, Link, LossConfig, Named, Path, Protocol, QueueConfig,
    TcpOptions, Way,
};

pub const NAMES: &str = "w1 to w5, w7, w3-htsim, w4-htsim, idle-N, in-flight";

/// Of a full packet of 1500 bytes under MPTCP, the share that is content: 20 octets of IP, 20 of TCP, 12 of timestamps and
/// 28 of DSS are not.
pub const MPTCP_SHARE: f64 = 1420.0 / 1500.0;

const MS: u64 = 1_000_000;

pub struct Workload {
    /// Virtual time that a run takes unless another is asked for.
    pub seconds: f64,
    /// What all receivers together could get in bits per second, headers counted. Without it the fullest link tells how
    /// well the network is used.
    pub optimum_bps: Option<f64>,
    links: Vec<Link>,
    paths: Vec<Path>,
    connections: Vec<Connection>,
}

impl Workload {
    /// What is to be simulated; a fifth of the time is warm-up. It is taken out, so that it is not in memory twice.
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

/// Connections that stand and say nothing after their first segment: what memory one takes.
fn idle(count: u32) -> Workload {
    let links = vec![bdp_link("bottleneck", 10_000_000_000, 100 * MS)];
    let paths = one_link_paths(&links);
    let application = Application::Rate { rate_bps: 1 };
    let connections = vec![Connection { application, ..connection("idle", count, &[0], Protocol::Tcp) }];
    Workload { seconds: 2.0, optimum_bps: None, links, paths, connections }
}

/// A connection in slow start on a path of two seconds that never fills: what memory a segment in flight takes.
fn in_flight() -> Workload {
    let links = vec![bdp_link("far", 40_000_000_000, 2_000 * MS)];
    let paths = one_link_paths(&links);
    let receive_buffer_bytes = Some(1_000_000_000);
    let connections =
        vec![Connection { receive_buffer_bytes, start_ns: [0, 0], ..connection("far", 1, &[0], Protocol::Tcp) }];
    Workload { seconds: 28.0, optimum_bps: None, links, paths, connections }
}

/// Two disjoint paths, RTT 20 ms, ten Reno flows on each and one MPTCP connection with LIA over both.
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

/// Reno flows, each with a link of its own on either side of the one that all share, ten times as fast: six hops for a data
/// packet and its acknowledgment. All of the RTT is on the shared link.
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

/// What the hosts of a fat tree have of their own.
struct Hosts {
    /// The most packets in a host's own queue.
    queue_packets: u64,
    /// Where the first slow start of a subflow ends at the latest, in segments.
    initial_ssthresh: Option<u32>,
}

const SWITCH_QUEUE_PACKETS: u64 = 100;

/// A queue as in the switches, and a slow start that ends where something is lost (RFC 5681 §3.1).
const AS_SWITCHES: Hosts = Hosts { queue_packets: SWITCH_QUEUE_PACKETS, initial_ssthresh: None };

/// As in htsim: nothing is lost at the sending host, and slow start ends at 100 segments. (There each subflow has a queue of
/// its own at the host, without a limit; eight windows of 100 segments fit into this one.)
const AS_HTSIM: Hosts = Hosts { queue_packets: 1_000, initial_ssthresh: Some(100) };

/// Every host of a fat tree sends to one other and receives from one, over eight subflows with LIA.
fn fat_tree_permutation(k: usize, seconds: f64, hosts: Hosts) -> Workload {
    const RATE_BPS: u64 = 100_000_000;
    // Never the limit: htsim, which this is held against, has no receive window.
    const RECEIVE_BUFFER_BYTES: u64 = 16_000_000;
    let tree = fat_tree::FatTree::new(k);
    let way = |queue_packets| direction(RATE_BPS, 1_000, Limit::Packets(queue_packets));
    let link = |number: usize| {
        // The first links are those of the hosts.
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
    let bdp_bytes = rate_bps / 8 * rtt_ns / 1_000_000_000;
    let direction = direction(rate_bps, rtt_ns / 2, Limit::Bytes(bdp_bytes));
    Link {
        name: name.into(),
        down: direction.clone(),
        up: direction,
        middleboxes: Vec::new(),
        medium: None,
        metered: None,
    }
}

fn direction(rate_bps: u64, delay_ns: u64, limit: Limit) -> Direction {
    Direction {
        rate_bps,
        trace: None,
        delay_ns,
        queue: QueueConfig::DropTail(queue::drop_tail::Config { limit }),
        loss: LossConfig::None,
        shaper: None,
        disorder: None,
    }
}

fn one_link_paths(links: &[Link]) -> Vec<Path> {
    let path = |(n, link): (usize, &Link)| Path { name: link.name.clone(), links: vec![n], reversed: Vec::new() };
    links.iter().enumerate().map(path).collect()
}

/// Bulk downloads that begin within the first second.
fn connection(name: &str, count: u32, paths: &[usize], protocol: Protocol) -> Connection {
    let named = |name: &str| Named { name: name.into(), parameters: serde_json::Map::new() };
    let (congestion, path_manager) = match protocol {
        Protocol::Tcp => ("reno", "default"),
        Protocol::Mptcp => ("lia", "fullmesh"),
    };
    Connection {
        name: name.into(),
        count,
        paths: paths.to_vec(),
        protocol,
        congestion: named(congestion),
        scheduler: named("min-rtt"),
        path_manager: named(path_manager),
        application: Application::Bulk,
        direction: Way::Down,
        start_ns: [0, 1_000 * MS],
        stop_ns: None,
        mss_bytes: 1460,
        receive_buffer_bytes: None,
        ecn: false,
        checksum: false,
        tcp: TcpOptions::default(),
    }
}
