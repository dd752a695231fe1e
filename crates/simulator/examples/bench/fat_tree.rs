//! The fat tree of Al-Fares 2008: k pods of k/2 edge and k/2 aggregation switches, (k/2)² core switches, and k/2 hosts
//! at each edge switch. On every link, *up* is the direction away from the hosts.

pub struct FatTree {
    k: usize,
}

/// Links from the sending host to the receiving one, and which of them are crossed downwards.
pub struct Route {
    pub links: Vec<usize>,
    pub reversed: Vec<bool>,
}

impl FatTree {
    pub fn new(k: usize) -> FatTree {
        FatTree { k }
    }

    pub fn hosts(&self) -> usize {
        self.k.pow(3) / 4
    }

    /// Number of links: there are as many between edge and aggregation, and between aggregation and core, as there are
    /// hosts.
    pub fn links(&self) -> usize {
        3 * self.hosts()
    }

    fn half(&self) -> usize {
        self.k / 2
    }

    /// The pod and the edge switch of a host.
    fn place(&self, host: usize) -> (usize, usize) {
        (host / self.half().pow(2), host % self.half().pow(2) / self.half())
    }

    fn edge_link(&self, pod: usize, edge: usize, aggregation: usize) -> usize {
        self.hosts() + (pod * self.half() + edge) * self.half() + aggregation
    }

    fn core_link(&self, pod: usize, core: usize) -> usize {
        2 * self.hosts() + pod * self.half().pow(2) + core
    }

    /// The shortest path with this number between two hosts.
    fn route(&self, source: usize, target: usize, number: usize) -> Route {
        let ((pod, edge), (other_pod, other_edge)) = (self.place(source), self.place(target));
        let aggregation = if pod == other_pod { number } else { number / self.half() };
        let (mut up, mut down) = (vec![source], vec![target]);
        if (pod, edge) != (other_pod, other_edge) {
            up.push(self.edge_link(pod, edge, aggregation));
            down.push(self.edge_link(other_pod, other_edge, aggregation));
        }
        if pod != other_pod {
            up.push(self.core_link(pod, number));
            down.push(self.core_link(other_pod, number));
        }
        let reversed = [vec![false; up.len()], vec![true; down.len()]].concat();
        up.extend(down.into_iter().rev());
        Route { links: up, reversed }
    }

    fn route_count(&self, source: usize, target: usize) -> usize {
        let ((pod, edge), (other_pod, other_edge)) = (self.place(source), self.place(target));
        match (pod == other_pod, edge == other_edge) {
            (false, _) => self.half().pow(2),
            (true, false) => self.half(),
            (true, true) => 1,
        }
    }

    /// Draws `count` of the shortest paths, without repetition as long as there are enough.
    pub fn routes(&self, source: usize, target: usize, count: usize) -> Vec<Route> {
        let mut draws = Draws((source as u64) << 32 | 1);
        let numbers = draws.shuffled(self.route_count(source, target));
        numbers.iter().cycle().take(count).map(|&number| self.route(source, target, number)).collect()
    }

    /// The receiver of each host; every host receives from exactly one other.
    pub fn permutation(&self) -> Vec<usize> {
        let mut draws = Draws(0);
        loop {
            let order = draws.shuffled(self.hosts());
            if order.iter().enumerate().all(|(source, &target)| source != target) {
                return order;
            }
        }
    }
}

/// SplitMix64 (Steele, Lea, Flood 2014), so that the benchmark is the same everywhere.
struct Draws(u64);

impl Draws {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((u128::from(z ^ (z >> 31)) * limit as u128) >> 64) as usize
    }

    /// The numbers below `count` in random order.
    fn shuffled(&mut self, count: usize) -> Vec<usize> {
        let mut order: Vec<usize> = (0..count).collect();
        for last in (1..count).rev() {
            order.swap(last, self.below(last + 1));
        }
        order
    }
}
