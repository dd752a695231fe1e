//! Divides a network into parts that can be simulated on threads of their own: by switches and hosts, at links over which a
//! packet takes some time.
//!
//! A *node* is where packets go from one link to the next without time passing: a switch, or a host with its connections'
//! ends. Descriptions name links and paths, not nodes, but two links of which one follows the other on a path meet at one.
//! What one part does can be felt in another only after a packet has been sent over a link between them: the shortest such
//! time is the *look-ahead*, in which no part need know of the others.

mod elements;
mod graph;
mod obstacles;

use elements::{Elements, Sets};
use graph::Graph;
use scenario::convert;
use scenario::description::{self, Application, Description, Way};
use wire::{IPV4_HEADER_LEN, TCP_HEADER_LEN};

/// No packet is shorter.
const SHORTEST_BITS: u64 = 8 * (IPV4_HEADER_LEN + TCP_HEADER_LEN) as u64;
/// A division is even enough when the part with most to do has no more than this times the mean.
const EVEN: f64 = 1.2;

/// Which part simulates what.
#[derive(Clone, PartialEq, Debug)]
pub struct Division {
    pub parts: u32,
    /// In virtual time.
    pub lookahead_ns: u64,
    /// Of each direction of a link, and of each stage, the part that has its queue, and the part that it leads to.
    pub links: Vec<[u32; 2]>,
    /// Of each kind of connections, the parts of the client's and the server's end.
    pub ends: Vec<[u32; 2]>,
}

/// What a direction of a link has to carry, about, in any unit.
fn loads(description: &Description) -> Vec<f64> {
    let rate = |direction: usize| match of(description, direction) {
        way if way.trace.is_some() => f64::MAX,
        way => way.rate_bps.max(1) as f64,
    };
    let used = || {
        description
            .connections
            .iter()
            .flat_map(|connection| connection.paths.iter().map(move |&path| (connection, &description.paths[path])))
    };
    let downwards = |connection: &description::Connection| connection.direction == Way::Down;
    let mut users = vec![0.0; 2 * description.links.len()];
    for (connection, path) in used() {
        let crossed = path.crossed(downwards(connection));
        crossed.iter().for_each(|&direction| users[direction as usize] += f64::from(connection.count));
    }
    let mut loads = vec![0.0; users.len()];
    for (connection, path) in used() {
        let crossed = path.crossed(downwards(connection));
        let fair = crossed.iter().map(|&direction| rate(direction as usize) / users[direction as usize]);
        let fair = fair.fold(f64::MAX, f64::min);
        let each = match connection.application {
            Application::Rate { rate_bps } => fair.min(rate_bps as f64 / connection.paths.len() as f64),
            _ => fair,
        };
        let all = each * f64::from(connection.count);
        for &direction in &crossed {
            loads[direction as usize] += all;
            // An acknowledgment for every second packet.
            loads[direction as usize ^ 1] += all / 2.0;
        }
    }
    loads
}

fn of(description: &Description, direction: usize) -> &description::Direction {
    let link = &description.links[direction / 2];
    if direction.is_multiple_of(2) { &link.down } else { &link.up }
}

/// The shortest time that a packet takes over a direction of a link.
fn shortest_ns(way: &description::Direction) -> u64 {
    let sending_ns = match way.trace {
        Some(_) => 0,
        None => SHORTEST_BITS.saturating_mul(1_000_000_000) / way.rate_bps.max(1),
    };
    way.delay_ns.saturating_add(sending_ns)
}

/// Divides the network into `wanted` parts, or as many as there can be.
///
/// # Errors
/// Why it has to stay whole.
pub fn divide(description: &Description, wanted: usize) -> Result<Division, String> {
    obstacles::none(description)?;
    let directions = 2 * description.links.len();
    let elements = Elements { directions };
    let mut sets = Sets((0..elements.end(description.connections.len(), 0) as u32).collect());
    for (kind, connection) in description.connections.iter().enumerate() {
        for &path in &connection.paths {
            for (down, sides) in [(false, [0, 1]), (true, [1, 0])] {
                let crossed = description.paths[path].crossed(down);
                let mut at = elements.end(kind, sides[0]);
                for direction in crossed {
                    sets.unite(at, direction as usize);
                    at = elements.far(direction as usize);
                }
                sets.unite(at, elements.end(kind, sides[1]));
            }
        }
    }
    let stages = convert::stages(description);
    let mut times_ns = Vec::new();
    for (direction, of_direction) in stages.iter().enumerate() {
        sets.unite(direction, elements.far(direction ^ 1));
        let time_ns = shortest_ns(of(description, direction));
        let changes = description.events.iter().any(|event| event.link == direction / 2);
        let whole = changes || *of_direction != [None; 2] || !obstacles::can_be_cut(of(description, direction));
        times_ns.push(if whole { 0 } else { time_ns });
    }
    let loads = loads(description);
    let mut longest: Vec<u64> = times_ns.iter().copied().filter(|&time_ns| time_ns > 0).collect();
    longest.sort_unstable();
    longest.dedup();
    // A few look-aheads to try, the longest first: the longer it is, the more can be done between two meetings of the threads.
    let step = longest.len().div_ceil(16).max(1);
    let mut best: Option<(f64, Division)> = None;
    for &least_ns in longest.iter().rev().step_by(step).chain(longest.first()) {
        let mut sets = Sets(sets.0.clone());
        (0..directions)
            .filter(|&direction| times_ns[direction] < least_ns)
            .for_each(|direction| sets.unite(direction, elements.far(direction)));
        let graph = Graph::new(&mut sets, &elements, &loads);
        let (part_of, unevenness) = graph.parts(wanted);
        let parts = 1 + part_of.iter().copied().max().unwrap_or(0);
        if parts < 2 || best.as_ref().is_some_and(|(least, _)| *least <= unevenness) {
            continue;
        }
        let mut part = |element: usize| part_of[graph.node(sets.of(element))];
        let mut links: Vec<[u32; 2]> =
            (0..directions).map(|direction| [part(direction), part(elements.far(direction))]).collect();
        let of_stages = (0..directions).flat_map(|direction| stages[direction].map(|stage| (stage, direction)));
        for (stage, direction) in of_stages.filter_map(|(stage, direction)| Some((stage? as usize, direction))) {
            if links.len() <= stage {
                links.resize(stage + 1, [0; 2]);
            }
            links[stage] = links[direction];
        }
        let ends =
            (0..description.connections.len()).map(|kind| [0, 1].map(|side| part(elements.end(kind, side)))).collect();
        let cut = (0..directions).filter(|&direction| links[direction][0] != links[direction][1]);
        // Without a link between two parts, all that one can feel of another is the end of the run.
        let lookahead_ns = cut.map(|direction| times_ns[direction]).min().unwrap_or(u64::MAX);
        best = Some((unevenness, Division { parts, lookahead_ns, links, ends }));
        if unevenness <= EVEN {
            break;
        }
    }
    best.map(|(_, division)| division)
        .ok_or_else(|| "no link divides it into parts between which a packet takes some time".to_owned())
}

#[cfg(test)]
mod tests;
