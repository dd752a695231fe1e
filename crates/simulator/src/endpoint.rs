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

    #[test]
    fn knows_the_flows_it_was_told() {
        let mut endpoint = Endpoint::default();
        assert_eq!(endpoint.flow(SubflowId(0)), None);
        endpoint.set_flow(SubflowId(2), 7);
        assert_eq!([0, 1, 2, 3].map(|subflow| endpoint.flow(SubflowId(subflow))), [None, None, Some(7), None]);
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
