//! One end of a connection in the main loop.

use transport::{ConnectionId, SubflowId};

/// Marks a subflow whose flow is unknown.
const UNKNOWN: u32 = u32::MAX;

/// One end of a connection.
pub struct Endpoint {
    /// Identifier of the connection in the host, once it exists.
    pub id: Option<ConnectionId>,
    /// When its event in the queue fires, or `u64::MAX`.
    pub timer_ns: u64,
    /// The outgoing flow of the transport's first subflow.
    first: u32,
    /// Those of the others.
    others: Vec<u32>,
}

impl Default for Endpoint {
    fn default() -> Self {
        Endpoint { id: None, timer_ns: u64::MAX, first: UNKNOWN, others: Vec::new() }
    }
}

impl Endpoint {
    /// Sets the connection in the host. Panics if it was another one, which means that the host has mixed up
    /// connections.
    pub fn open(&mut self, id: ConnectionId) {
        assert!(self.id.is_none_or(|known| known == id), "one end of a connection is both {:?} and {id:?}", self.id);
        self.id = Some(id);
    }

    /// The timer is to fire at `timeout_ns`, or now if that has passed. Answers since when the event queue is to have it: from that
    /// time itself if what arrives then is `received_first`.
    #[inline(always)]
    pub fn set_timer(&mut self, now_ns: u64, timeout_ns: u64, received_first: bool) -> u64 {
        self.timer_ns = timeout_ns.max(now_ns);
        if received_first { self.timer_ns } else { now_ns }
    }

    /// The flow on which `subflow` sends.
    // Inlined by force, because the main loop calls this for every segment.
    #[inline(always)]
    pub fn flow(&self, subflow: SubflowId) -> Option<u32> {
        let flow = match usize::from(subflow.0) {
            0 => self.first,
            other => self.others.get(other - 1).copied().unwrap_or(UNKNOWN),
        };
        (flow != UNKNOWN).then_some(flow)
    }

    /// Sets the flow on which `subflow` sends.
    pub fn set_flow(&mut self, subflow: SubflowId, flow: u32) {
        let place = usize::from(subflow.0);
        if place == 0 {
            self.first = flow;
            return;
        }
        if self.others.len() < place {
            self.others.resize(place, UNKNOWN);
        }
        self.others[place - 1] = flow;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event_queue::EventQueue;

    #[test]
    fn knows_the_flows_it_was_told() {
        let mut endpoint = Endpoint::default();
        assert_eq!(endpoint.flow(SubflowId(0)), None);
        endpoint.set_flow(SubflowId(2), 7);
        assert_eq!([0, 1, 2, 3].map(|subflow| endpoint.flow(SubflowId(subflow))), [None, None, Some(7), None]);
    }

    /// A timer was set at 1 for 10, and at 5 a packet was sent that arrives then: it is received first where that is asked.
    #[test]
    fn what_arrives_when_a_timer_fires_may_be_received_first() {
        let order = |received_first| {
            let (mut queue, mut endpoint) = (EventQueue::new(1, 100), Endpoint::default());
            queue.set_limit(100);
            let since_ns = endpoint.set_timer(1, 10, received_first);
            queue.push(since_ns, endpoint.timer_ns, 1);
            queue.push_link(5, 10, 0, 0);
            [queue.pop(), queue.pop()].map(|entry| entry.map(|(_, target)| target))
        };
        assert_eq!((order(true), order(false)), ([Some(0), Some(1)], [Some(1), Some(0)]));
    }

    #[test]
    #[should_panic(expected = "is both")]
    fn is_one_connection_only() {
        let mut endpoint = Endpoint::default();
        endpoint.open(ConnectionId(1));
        endpoint.open(ConnectionId(1));
        endpoint.open(ConnectionId(2));
    }
}
