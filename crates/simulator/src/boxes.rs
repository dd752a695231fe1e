//! Middleboxes on routes: which addresses a segment has when it enters a chain of middleboxes, and which subflow a
//! segment that leaves the chain belongs to. Unused if the description has no middleboxes.
//!
//! A chain is at the server-side end of a link and is shared by all paths over the link. A path has *places*: the
//! client's end, the place after its first chain, and so on to the server's end. A subflow has two ends (address and
//! port) at each place. They differ between places if a NAT lies between, and are learned from the segments that travel
//! up.

use crate::SimulateError;
use crate::arrived::Arrived;
use network::Ecn;
use network::middlebox::{Chain, Ends, Transit, Way};
use scenario::chains;
use scenario::description::Description;
use std::collections::{BTreeMap, VecDeque};
use wire::Span;

/// Route entries from this number on are crossings of chains: twice the crossing's number, plus 1 on the way down.
/// Lower entries are links, which are event targets.
pub const FIRST_CROSSING: u32 = crate::event_queue::TARGET_LIMIT as u32;

/// A path's crossing of a chain.
#[derive(Clone, Copy)]
pub struct Crossing {
    chain: u32,
    /// The place of the path on the chain's client side. The next place is on its server side.
    place: u32,
    /// Its positions in the routes up and down.
    positions: [u8; 2],
}

/// All chains of a run.
pub struct Boxes {
    chains: Vec<Chain<Span>>,
    crossings: Vec<Crossing>,
    /// Crossings of each path, in the order up.
    of_path: Vec<Vec<u32>>,
    /// For each subflow, the crossings of its path and its ends at each place, as far as known.
    subflows: Vec<(Vec<u32>, Vec<Option<Ends>>)>,
    /// Subflow and crossing by chain, direction, and the ends of a segment that leaves the chain.
    by_ends: BTreeMap<(u32, Way, Ends), (u32, u32)>,
    /// By flow, the ECN field of segments that a chain may hold.
    held_ecn: BTreeMap<u32, Ecn>,
    /// When the next event in the queue fires, or `u64::MAX`.
    pub timer_ns: u64,
    /// Segments that reached the end of their routes and wait for their host.
    pub arrived: VecDeque<Arrived>,
    /// Number of segments that entered chains and left them.
    pub entered: u64,
    pub left: u64,
    /// An error from a function that cannot return it.
    pub error: Option<Box<SimulateError>>,
}

/// The crossing of a route entry, and the direction.
const fn decoded(entry: u32) -> (u32, Way) {
    let number = entry - FIRST_CROSSING;
    (number / 2, if number.is_multiple_of(2) { Way::Up } else { Way::Down })
}

/// A segment that left a chain, with its subflow and its position in the route.
pub struct Left {
    pub subflow: u32,
    pub position: u8,
    pub transit: Transit<Span>,
    pub ecn: Ecn,
    /// Whether it stands for a segment that counts for the loss rate.
    pub counted: bool,
}

impl Boxes {
    /// The chains of a description; `None` if no link has middleboxes.
    pub fn new(description: &Description) -> Option<Boxes> {
        if description.links.iter().all(|link| link.middleboxes.is_empty()) {
            return None;
        }
        Some(Boxes {
            chains: chains::of(description),
            crossings: Vec::new(),
            of_path: vec![Vec::new(); description.paths.len()],
            subflows: Vec::new(),
            by_ends: BTreeMap::new(),
            held_ecn: BTreeMap::new(),
            timer_ns: u64::MAX,
            arrived: VecDeque::new(),
            entered: 0,
            left: 0,
            error: None,
        })
    }

    /// Adds the chain of `link` as the next crossing of `path` in the up direction. Returns the entries for its routes
    /// up and down.
    pub fn add_crossing(&mut self, path: usize, link: usize) -> [u32; 2] {
        let number = self.crossings.len() as u32;
        let place = self.of_path[path].len() as u32;
        self.crossings.push(Crossing { chain: link as u32, place, positions: [0; 2] });
        self.of_path[path].push(number);
        [FIRST_CROSSING + 2 * number, FIRST_CROSSING + 2 * number + 1]
    }

    /// Sets the position of an entry in its route.
    pub fn set_position(&mut self, entry: u32, position: usize) {
        let (number, way) = decoded(entry);
        // Validation limits the length of routes.
        self.crossings[number as usize].positions[way as usize] = position as u8;
    }

    /// Registers a new subflow, which may reuse a number, with its ends at the client.
    pub fn open(&mut self, number: u32, path: u32, ends: Ends) {
        let crossings = self.of_path[path as usize].clone();
        let mut places = vec![None; crossings.len() + 1];
        places[0] = Some(ends);
        let place = number as usize;
        if self.subflows.len() <= place {
            self.subflows.resize(place + 1, (Vec::new(), Vec::new()));
        }
        self.subflows[place] = (crossings, places);
    }

    /// Removes a subflow. Segments of it that a chain still holds will be dropped.
    pub fn release(&mut self, number: u32) {
        let (crossings, places) = std::mem::take(&mut self.subflows[number as usize]);
        for crossing in crossings.iter().map(|&crossing| self.crossings[crossing as usize]) {
            let sides = [(Way::Down, crossing.place), (Way::Up, crossing.place + 1)];
            for (way, ends) in sides.map(|(way, place)| (way, places[place as usize])) {
                if let Some(ends) = ends {
                    self.by_ends.remove(&(crossing.chain, way, ends));
                }
            }
        }
        self.held_ecn.remove(&(2 * number));
        self.held_ecn.remove(&(2 * number + 1));
    }

    /// The ends of a subflow as seen by the server; `None` until a segment of it arrives there.
    pub fn server_ends(&self, number: u32) -> Option<Ends> {
        self.subflows[number as usize].1.last().copied().flatten()
    }

    /// Processes a segment of `subflow` at the crossing that `entry` stands for. Segments that leave are added to
    /// `out`.
    pub fn cross(&mut self, now_ns: u64, entry: u32, subflow: u32, packet: (Segment, Ecn, bool), out: &mut Vec<Left>) {
        let (number, way) = decoded(entry);
        let crossing = self.crossings[number as usize];
        let (segment, ecn, counted) = packet;
        let near = crossing.place as usize + usize::from(way == Way::Down);
        let places = &self.subflows[subflow as usize].1;
        // Nothing travels down before something has travelled up, so the ends are known.
        let ends = places[near].or(places[0]).expect("a subflow has ends at its client");
        let mut transits = Vec::new();
        let chain = &mut self.chains[crossing.chain as usize];
        chain.process(now_ns, Transit { way, ends, segment }, &mut transits);
        let holds = chain.next_timeout_ns().is_some();
        let flow = 2 * subflow + way as u32;
        let joined = self.held_ecn.remove(&flow).map_or(ecn, |held| if held == Ecn::Ce { held } else { ecn });
        let passes = transits.iter().any(|transit| transit.way == way);
        if holds {
            self.held_ecn.insert(flow, if passes { ecn } else { joined });
        }
        self.entered += 1;
        let mut counted = counted;
        for transit in transits {
            let same_way = transit.way == way;
            let counts = counted && same_way && transit.segment.payload.len > 0;
            counted &= !counts;
            let ecn = if same_way { joined } else { Ecn::NotEct };
            out.push(self.leave(number, subflow, transit, ecn, counts));
        }
    }

    /// When [`Self::timeout`] is due, or `u64::MAX` if nothing is held.
    pub fn next_timeout_ns(&self) -> u64 {
        self.chains.iter().filter_map(Chain::next_timeout_ns).min().unwrap_or(u64::MAX)
    }

    /// Releases the segments whose holding time is over.
    pub fn timeout(&mut self, now_ns: u64, out: &mut Vec<Left>) {
        for chain in 0..self.chains.len() {
            if self.chains[chain].next_timeout_ns().is_none_or(|due_ns| due_ns > now_ns) {
                continue;
            }
            let mut transits = Vec::new();
            self.chains[chain].handle_timeout(now_ns, &mut transits);
            for transit in transits {
                // A segment of a removed subflow is dropped.
                let Some(&(subflow, crossing)) = self.by_ends.get(&(chain as u32, transit.way, transit.ends)) else {
                    continue;
                };
                let ecn = self.held_ecn.remove(&(2 * subflow + transit.way as u32)).unwrap_or_default();
                out.push(self.leave(crossing, subflow, transit, ecn, false));
            }
        }
    }

    fn leave(&mut self, number: u32, subflow: u32, transit: Transit<Span>, ecn: Ecn, counted: bool) -> Left {
        self.left += 1;
        let crossing = self.crossings[number as usize];
        if transit.way == Way::Up {
            let places = &mut self.subflows[subflow as usize].1;
            let [near, far] = [crossing.place as usize, crossing.place as usize + 1];
            if places[far] != Some(transit.ends) {
                places[far] = Some(transit.ends);
                let inside = places[near].expect("what leaves upwards came from below");
                self.by_ends.insert((crossing.chain, Way::Down, inside), (subflow, number));
                self.by_ends.insert((crossing.chain, Way::Up, transit.ends), (subflow, number));
            }
        }
        let position = crossing.positions[transit.way as usize] + 1;
        Left { subflow, position, transit, ecn, counted }
    }
}

type Segment = wire::Segment<Span>;
