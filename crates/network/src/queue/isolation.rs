//! Cake's isolation of flows and hosts: the queue of each flow, and how much a host's flows may send per round.
//!
//! T. Høiland-Jørgensen, D. Täht, J. Morton, "Piece of CAKE: A Comprehensive Queue Management Solution for Home Gateways",
//! IEEE LANMAN 2018, arXiv:1804.07617, §III (flow isolation, host isolation).
//!
//! - The hash of a flow selects a set of eight queues. The flow uses the one it had last, else an empty one. It shares
//!   a queue only if all eight have packets of other flows.
//! - A flow's quantum is divided by the number of active flows of its source or of its destination, whichever is
//!   larger. Active hosts get equal shares, and so do the flows of one host ("triple isolation").

use std::collections::BTreeMap;

/// Number of queues in a set.
const WAYS: usize = 8;

#[derive(Clone, Debug)]
pub(crate) struct Isolation {
    /// For each queue, the flow that used it last.
    owners: Box<[Option<u64>]>,
    /// Number of non-empty queues of each host, as source and as destination.
    loads: [BTreeMap<u32, i64>; 2],
}

impl Isolation {
    pub(crate) fn new(queues: u16) -> Self {
        Self { owners: vec![None; usize::from(queues)].into(), loads: [BTreeMap::new(), BTreeMap::new()] }
    }

    /// The queue of a flow with this hash; `is_taken` tells whether a queue has packets.
    pub(crate) fn place(&mut self, hash: u64, flow: u64, is_taken: impl Fn(usize) -> bool) -> usize {
        let sets = self.owners.len().div_ceil(WAYS);
        let first = (hash % sets as u64) as usize * WAYS;
        let ways = WAYS.min(self.owners.len() - first);
        let own = (hash / sets as u64 % ways as u64) as usize;
        let set = (0..ways).map(|step| first + (own + step) % ways);
        if let Some(last) = set.clone().find(|&place| self.owners[place] == Some(flow)) {
            return last;
        }
        let Some(free) = set.clone().find(|&place| !is_taken(place)) else { return first + own };
        self.owners[free] = Some(flow);
        free
    }

    /// Records that a queue of a flow between these hosts became non-empty.
    pub(crate) fn begins(&mut self, hosts: [u32; 2]) {
        for (loads, host) in self.loads.iter_mut().zip(hosts) {
            *loads.entry(host).or_default() += 1;
        }
    }

    /// Records that a queue of a flow between these hosts became empty.
    pub(crate) fn ends(&mut self, hosts: [u32; 2]) {
        for (loads, host) in self.loads.iter_mut().zip(hosts) {
            if let Some(load) = loads.get_mut(&host) {
                *load -= 1;
                if *load == 0 {
                    loads.remove(&host);
                }
            }
        }
    }

    /// Bytes that one flow of these hosts may send in a round, at least one.
    pub(crate) fn quantum(&self, quantum: i64, hosts: [u32; 2]) -> i64 {
        let load = self.loads.iter().zip(hosts).filter_map(|(loads, host)| loads.get(&host)).max();
        (quantum / load.copied().unwrap_or(1).max(1)).max(1)
    }

    /// All queues became empty.
    pub(crate) fn clear(&mut self) {
        self.loads.iter_mut().for_each(BTreeMap::clear);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sixteen queues are two sets. Eight flows of one set have a queue each, and the ninth shares one. A flow that
    /// returns finds its own queue, unless another flow has taken it.
    #[test]
    fn eight_flows_of_a_set_do_not_meet() {
        let mut isolation = Isolation::new(16);
        let mut taken = std::collections::BTreeSet::new();
        for flow in 0..8 {
            let place = isolation.place(2 * flow, flow, |place| taken.contains(&place));
            assert!(place < 8 && taken.insert(place), "flow {flow} at {place}");
        }
        assert!(taken.contains(&isolation.place(16, 99, |place| taken.contains(&place))));
        assert_eq!(isolation.place(6, 3, |place| taken.contains(&place)), 3, "its own");
        taken.remove(&3);
        assert_eq!(isolation.place(16, 99, |place| taken.contains(&place)), 3, "the one that is free");
        assert!(isolation.place(1, 50, |_| false) >= 8, "the other set");
    }

    /// Host 1 has three flows and host 2 one, all to host 9. The destination has four flows, so that every quantum is
    /// divided by four. Without it, the sources decide.
    #[test]
    fn a_quantum_is_divided_by_the_larger_load() {
        let mut isolation = Isolation::new(8);
        for hosts in [[1, 9], [1, 9], [1, 9], [2, 9]] {
            isolation.begins(hosts);
        }
        assert_eq!((isolation.quantum(1_200, [1, 9]), isolation.quantum(1_200, [2, 9])), (300, 300));
        isolation.ends([2, 9]);
        isolation.begins([2, 8]);
        assert_eq!((isolation.quantum(1_200, [1, 9]), isolation.quantum(1_200, [2, 8])), (400, 1_200));
        isolation.clear();
        assert_eq!(isolation.quantum(1_200, [1, 9]), 1_200);
    }
}
