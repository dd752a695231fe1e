//! Middleboxes on the routes: under which addresses a segment comes to which chain of boxes, and whose is what comes
//! out. A description without boxes has none of this.
//!
//! A chain stands at a link's end on the server's side, and all paths over the link share it. A path has *places*: the
//! client's end, what lies behind its first chain, and so on to the server's end. At each of them a subflow has two
//! ends, which differ from place to place where a NAT is between them; they are learnt from what goes up.

use crate::SimulateError;
use crate::arrived::Arrived;
use network::Ecn;
use network::middlebox::{Chain, Ends, Transit, Way};
use scenario::chains;
use scenario::description::Description;
use std::collections::{BTreeMap, VecDeque};
use wire::Span;

/// Entries of routes from here on are crossings of chains, twice their number and 1 for those on the way down; below
/// are links, which are targets of events.
pub const FIRST_CROSSING: u32 = crate::event_queue::TARGET_LIMIT as u32;

/// Where a path meets a chain.
#[derive(Clone, Copy)]
pub struct Crossing {
    chain: u32,
    /// The place of the path on the client's side of it; the next one is on the server's side.
    place: u32,
    /// Where the routes up and down have it.
    positions: [u8; 2],
}

/// All chains of a run.
pub struct Boxes {
    chains: Vec<Chain<Span>>,
    crossings: Vec<Crossing>,
    /// The crossings of each path in their order up.
    of_path: Vec<Vec<u32>>,
    /// Of each subflow the crossings of its path, and its ends at each place as far as they are known.
    subflows: Vec<(Vec<u32>, Vec<Option<Ends>>)>,
    /// Subflow and crossing by the ends that something has that leaves a chain this way.
    by_ends: BTreeMap<(u32, Way, Ends), (u32, u32)>,
    /// By flow, the ECN field of what a chain may be holding.
    held_ecn: BTreeMap<u32, Ecn>,
    /// When the next entry in the event queue fires; `u64::MAX` without one.
    pub timer_ns: u64,
    /// What came out at the end of a route and waits for its host.
    pub arrived: VecDeque<Arrived>,
    /// Segments that went in and that came out.
    pub entered: u64,
    pub left: u64,
    /// What went wrong in a place that cannot say so.
    pub error: Option<Box<SimulateError>>,
}

/// The crossing number of an entry of a route, and the way.
const fn decoded(entry: u32) -> (u32, Way) {
    let number = entry - FIRST_CROSSING;
    (number / 2, if number.is_multiple_of(2) { Way::Up } else { Way::Down })
}

/// A segment that left a chain: its subflow, and where in the route of its way it is.
pub struct Left {
    pub subflow: u32,
    pub position: u8,
    pub transit: Transit<Span>,
    pub ecn: Ecn,
    /// Whether it stands for one that counts for the loss rate.
    pub counted: bool,
}

impl Boxes {
    /// The chains of a description; none when no link has boxes.
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

    /// Adds the chain of `link` as the next one of `path` in the up direction; returns the
    /// entries of its routes up and down.
    pub fn add_crossing(&mut self, path: usize, link: usize) -> [u32; 2] {
        let number = self.crossings.len() as u32;
        let place = self.of_path[path].len() as u32;
        self.crossings.push(Crossing { chain: link as u32, place, positions: [0; 2] });
        self.of_path[path].push(number);
        [FIRST_CROSSING + 2 * number, FIRST_CROSSING + 2 * number + 1]
    }

    /// Where in its route an entry stands.
    pub fn set_position(&mut self, entry: u32, position: usize) {
        let (number, way) = decoded(entry);
        // Validation keeps routes short enough.
        self.crossings[number as usize].positions[way as usize] = position as u8;
    }

    /// A new subflow, or another one with an old number: its ends at the client.
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

    /// The subflow has left. What is still held of it will belong to nobody.
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

    /// The ends of a subflow as the server sees them; `None` before anything of it came there.
    pub fn server_ends(&self, number: u32) -> Option<Ends> {
        self.subflows[number as usize].1.last().copied().flatten()
    }

    /// A segment of `subflow` comes to the crossing that a route's `entry` stands for. Adds what leaves to `out`.
    pub fn cross(&mut self, now_ns: u64, entry: u32, subflow: u32, packet: (Segment, Ecn, bool), out: &mut Vec<Left>) {
        let (number, way) = decoded(entry);
        let crossing = self.crossings[number as usize];
        let (segment, ecn, counted) = packet;
        let near = crossing.place as usize + usize::from(way == Way::Down);
        let places = &self.subflows[subflow as usize].1;
        // Nothing comes down before something went up, so its ends are known.
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

    /// When [`Self::timeout`] is due; `u64::MAX` when nothing is held.
    pub fn next_timeout_ns(&self) -> u64 {
        self.chains.iter().filter_map(Chain::next_timeout_ns).min().unwrap_or(u64::MAX)
    }

    /// Lets out what is held no longer.
    pub fn timeout(&mut self, now_ns: u64, out: &mut Vec<Left>) {
        for chain in 0..self.chains.len() {
            if self.chains[chain].next_timeout_ns().is_none_or(|due_ns| due_ns > now_ns) {
                continue;
            }
            let mut transits = Vec::new();
            self.chains[chain].handle_timeout(now_ns, &mut transits);
            for transit in transits {
                // Whose subflow has left needs it no more.
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
