//! Which subflow has which ends.

use std::collections::BTreeMap;

use crate::ends::V4Ends;
use crate::names::{Handle, Tuple};

/// The subflows of a host by their ends.
#[derive(Debug, Default)]
pub struct ByTuple {
    v4: BTreeMap<V4Ends, Handle>,
    others: BTreeMap<Tuple, Handle>,
}

impl ByTuple {
    pub fn get(&self, tuple: &Tuple) -> Option<Handle> {
        match V4Ends::of(tuple) {
            Some(ends) => self.v4.get(&ends).copied(),
            None => self.others.get(tuple).copied(),
        }
    }

    pub fn contains(&self, tuple: &Tuple) -> bool {
        self.get(tuple).is_some()
    }

    pub fn insert(&mut self, tuple: Tuple, handle: Handle) {
        match V4Ends::of(&tuple) {
            Some(ends) => self.v4.insert(ends, handle),
            None => self.others.insert(tuple, handle),
        };
    }

    pub fn remove(&mut self, tuple: &Tuple) {
        match V4Ends::of(tuple) {
            Some(ends) => self.v4.remove(&ends),
            None => self.others.remove(tuple),
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::names::{ConnectionId, SubflowId};

    /// Of two ends each address and each port tells subflows apart, for both kinds of addresses.
    #[test]
    fn subflows_are_told_apart_by_both_ends() {
        let tuples =
            ["10.0.0.1:1 10.0.0.2:2", "10.0.0.1:1 10.0.0.2:3", "10.0.0.1:4 10.0.0.2:2", "10.0.0.5:1 10.0.0.2:2"];
        let tuples = tuples.into_iter().chain(["[::1]:1 [::2]:2", "[::1]:1 [::2]:3", "[::ffff:10.0.0.1]:1 10.0.0.2:2"]);
        let tuple = |ends: &str| {
            let (local, remote) = ends.split_once(' ').unwrap();
            Tuple { local: local.parse().unwrap(), remote: remote.parse().unwrap() }
        };
        let tuples: Vec<Tuple> = tuples.map(tuple).collect();
        let handle = |n: usize| Handle { connection: ConnectionId(n as u32), subflow: SubflowId(0) };
        let mut by_tuple = ByTuple::default();
        for (n, &tuple) in tuples.iter().enumerate() {
            assert!(!by_tuple.contains(&tuple));
            by_tuple.insert(tuple, handle(n));
        }
        for (n, tuple) in tuples.iter().enumerate() {
            assert_eq!(by_tuple.get(tuple), Some(handle(n)));
            by_tuple.remove(tuple);
            assert!(!by_tuple.contains(tuple));
        }
    }
}
