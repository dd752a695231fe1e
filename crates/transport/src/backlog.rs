//! Connections that strangers have begun: how many there may be before their handshakes are over (RFC 4987).

use std::collections::{BTreeMap, VecDeque};

use crate::names::ConnectionId;

/// Half-open connections, the oldest first, and those whose handshake is over and that nobody has taken yet.
#[derive(Debug)]
pub(crate) struct Backlog {
    limit: usize,
    /// Numbers the half-open ones.
    next: u64,
    half_open: BTreeMap<u64, ConnectionId>,
    number_of: BTreeMap<ConnectionId, u64>,
    accepted: VecDeque<ConnectionId>,
    /// Half-open connections that had to go, until the driver has asked.
    dropped: Vec<ConnectionId>,
    dropped_count: u64,
}

impl Backlog {
    pub fn new(limit: usize) -> Self {
        Backlog {
            limit: limit.max(1),
            next: 0,
            half_open: BTreeMap::new(),
            number_of: BTreeMap::new(),
            accepted: VecDeque::new(),
            dropped: Vec::new(),
            dropped_count: 0,
        }
    }

    /// The one that must go before another may begin.
    pub fn make_room(&mut self) -> Option<ConnectionId> {
        if self.half_open.len() < self.limit {
            return None;
        }
        let (_, id) = self.half_open.pop_first()?;
        self.number_of.remove(&id);
        self.dropped.push(id);
        self.dropped_count += 1;
        Some(id)
    }

    pub fn begin(&mut self, id: ConnectionId) {
        self.half_open.insert(self.next, id);
        self.number_of.insert(id, self.next);
        self.next += 1;
    }

    #[inline]
    pub fn is_half_open(&self, id: ConnectionId) -> bool {
        self.number_of.contains_key(&id)
    }

    /// Its handshake is over, or it is.
    pub fn end(&mut self, id: ConnectionId, established: bool) {
        if let Some(number) = self.number_of.remove(&id) {
            self.half_open.remove(&number);
            if established {
                self.accepted.push_back(id);
            }
        }
    }

    pub fn next_accepted(&mut self) -> Option<ConnectionId> {
        self.accepted.pop_front()
    }

    pub fn take_dropped(&mut self) -> Vec<ConnectionId> {
        std::mem::take(&mut self.dropped)
    }

    pub fn counts(&self) -> (usize, u64) {
        (self.half_open.len(), self.dropped_count)
    }
}
