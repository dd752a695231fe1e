use super::*;
use scenario::description::{Connection, Limit, Link, Loss, Named, Path, Protocol, Queue, Tcp};

const MBIT: u64 = 1_000_000;
const MS: u64 = 1_000_000;

fn link(name: &str, rate_bps: u64, delay_ns: u64) -> Link {
    let direction = description::Direction {
        rate_bps,
        trace: None,
        delay_ns,
        queue: Queue::DropTail { limit: Limit::Packets(10) },
        loss: Loss::None,
        shaper: None,
        disorder: None,
    };
    Link {
        name: name.into(),
        medium: None,
        down: direction.clone(),
        up: direction,
        middleboxes: Vec::new(),
        metered: None,
    }
}

fn bulk(path: usize) -> Connection {
    let named = |name: &str| Named { name: name.into(), parameters: serde_json::Map::new() };
    Connection {
        name: format!("c{path}"),
        count: 1,
        paths: vec![path],
        protocol: Protocol::Tcp,
        congestion: named("reno"),
        scheduler: named("min-rtt"),
        path_manager: named("default"),
        application: Application::Bulk,
        direction: Way::Up,
        start_ns: [0, 0],
        stop_ns: None,
        mss_bytes: 1460,
        receive_buffer_bytes: None,
        ecn: false,
        checksum: false,
        tcp: Tcp::default(),
    }
}

/// Four clients and four servers, each on a link of its own, with one link of so much delay between two switches.
fn dumbbell(delay_ns: u64) -> Description {
    let mut links = vec![link("long", 100 * MBIT, delay_ns)];
    let (mut paths, mut connections) = (Vec::new(), Vec::new());
    for flow in 0..4 {
        links.push(link(&format!("client-{flow}"), 100 * MBIT, MS));
        links.push(link(&format!("server-{flow}"), 100 * MBIT, MS));
        let over = vec![links.len() - 2, 0, links.len() - 1];
        paths.push(Path { name: format!("p{flow}"), links: over, reversed: Vec::new() });
        connections.push(bulk(flow));
    }
    Description {
        duration_ns: 1,
        seed: 0,
        warmup_ns: 0,
        sample_ns: None,
        through_wire: false,
        traces: Vec::new(),
        media: Vec::new(),
        links,
        paths,
        connections,
        events: Vec::new(),
    }
}

#[test]
fn two_halves_meet_at_the_link_between_them() {
    let division = divide(&dumbbell(20 * MS), 2).unwrap();
    // 40 bytes at 100 Mbit/s take 3.2 µs.
    assert_eq!((division.parts, division.lookahead_ns), (2, 20 * MS + 3_200));
    let client = division.links[1][0];
    assert_eq!(division.ends, vec![[client, 1 - client]; 4]);
    assert!(division.links.iter().enumerate().all(|(link, [from, to])| (from != to) == (link < 2)), "{division:?}");
}

#[test]
fn where_a_link_leads_is_where_the_next_ones_begin() {
    for wanted in 2..12 {
        let description = dumbbell(MS);
        let division = divide(&description, wanted).unwrap();
        assert!(division.parts as usize <= wanted);
        for (kind, connection) in description.connections.iter().enumerate() {
            for (down, [from, to]) in [(false, [0, 1]), (true, [1, 0])] {
                let mut at = division.ends[kind][from];
                for direction in description.paths[connection.paths[0]].crossed(down) {
                    let [begin, end] = division.links[direction as usize];
                    assert_eq!(begin, at);
                    at = end;
                }
                assert_eq!(at, division.ends[kind][to]);
            }
        }
        let cut = division.links.iter().zip(0..).filter(|([from, to], _)| from != to);
        let shortest = cut.map(|(_, direction)| shortest_ns(of(&description, direction))).min();
        assert_eq!(shortest, Some(division.lookahead_ns));
    }
}

#[test]
fn parts_have_about_as_much_to_do() {
    // Sixteen pairs of hosts that have nothing in common.
    let mut description = dumbbell(MS);
    (description.links, description.paths, description.connections) = Default::default();
    for pair in 0..16 {
        description.links.push(link(&format!("l{pair}"), 10 * MBIT, MS));
        description.paths.push(Path { name: format!("p{pair}"), links: vec![pair], reversed: Vec::new() });
        description.connections.push(bulk(pair));
    }
    let division = divide(&description, 4).unwrap();
    let mut ends = [0; 4];
    division.ends.iter().flatten().for_each(|&part| ends[part as usize] += 1);
    assert!(division.parts == 4 && ends.iter().all(|&ends| (6..=10).contains(&ends)), "{ends:?}");
}

#[test]
fn a_stage_stays_with_its_link() {
    let mut description = dumbbell(MS);
    let disorder = description::Disorder { jitter_ns: MS, reorder: 0.0, by_ns: 0, duplicate: 0.0 };
    description.links[0].up.disorder = Some(disorder);
    let division = divide(&description, 2).unwrap();
    // The packet is on the link and in its stage without a moment between, so neither direction of it can be cut.
    let [from, to] = division.links[1];
    assert_eq!((from, division.links[division.links.len() - 1]), (to, [from, to]));
}
