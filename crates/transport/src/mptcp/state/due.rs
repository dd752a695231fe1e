//! What is to be sent, as far as it is known: `transmit` looks there first.

use crate::scheduler::SubflowSet;

/// Subflows to look at, and whether to look for data.
#[derive(Clone, Copy, Debug, Default)]
pub struct Due {
    /// Subflows that may have a SYN, a reset, a retransmission or a FIN to send.
    pub attention: SubflowSet,
    /// Subflows with control options to send.
    pub signals: SubflowSet,
    /// Subflows that owe an acknowledgment.
    pub acks: SubflowSet,
    /// Subflows whose data came with PSH: they owe an acknowledgment as soon as everything is read.
    pub pushed: SubflowSet,
    /// New data or reinjections may find a subflow with room.
    pub data: bool,
    /// F-RTO may wait for new data on a subflow: see `release_retransmissions`.
    pub frto_waits: bool,
}

impl Due {
    /// Whether nothing is.
    #[inline]
    pub fn is_nothing(&self) -> bool {
        !self.is_before_data() && self.acks.0 == 0 && !self.data
    }

    /// Whether something goes before all data.
    #[inline]
    pub fn is_before_data(&self) -> bool {
        self.attention.0 | self.signals.0 != 0
    }
}
