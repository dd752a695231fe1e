//! Which file does what an MPTCP option asks for: one each, under the option's name.
//!
//! | option | where |
//! |---|---|
//! | MP_CAPABLE | `handshake.rs` |
//! | MP_JOIN | `join.rs` |
//! | DSS | `receive.rs`, `data.rs`, `checksum.rs`; sent by `transmit.rs` |
//! | ADD_ADDR | `add_addr.rs` |
//! | REMOVE_ADDR | `remove_addr.rs` |
//! | MP_PRIO | `mp_prio.rs` |
//! | MP_FAIL | `mp_fail.rs` |
//! | MP_FASTCLOSE | `mp_fastclose.rs` |
//! | MP_TCPRST | `reset.rs` |

use wire::{MpCapable, MpJoin, MptcpOption, Segment};

use super::connection::Connection;
use super::transmit::{CAPABLE_B, CAPABLE_H};
use crate::numbers::Dsn;
use crate::queue::Stream;
use crate::trace::Direction;

/// Address ids in one REMOVE_ADDR: what fits beside timestamps.
const MAX_REMOVED: usize = 8;

/// The MPTCP options of a segment, DSS apart.
pub(super) fn mptcp_options<P>(segment: &Segment<P>) -> impl Iterator<Item = &MptcpOption> {
    segment.options.rare.as_deref().into_iter().flat_map(|rare| &rare.mptcp)
}

/// The MP_CAPABLE of a segment. With B set it "MUST be silently ignored", and so without an algorithm that is understood
/// (RFC 8684 §3.1).
pub(super) fn capable<P>(segment: &Segment<P>) -> Option<&MpCapable> {
    mptcp_options(segment).find_map(|o| match o {
        MptcpOption::MpCapable(m) if m.flags & (CAPABLE_B | CAPABLE_H) == CAPABLE_H => Some(m),
        _ => None,
    })
}

/// The MP_JOIN of a segment.
pub(super) fn join_option<P>(segment: &Segment<P>) -> Option<&MpJoin> {
    mptcp_options(segment).find_map(|o| match o {
        MptcpOption::MpJoin(m) => Some(m),
        _ => None,
    })
}

impl<P: Stream> Connection<P> {
    /// The options of a segment within the window, DSS apart. A new option is entered here: the match names them all.
    pub(super) fn receive_options(&mut self, now_ns: u64, r: usize, segment: &Segment<P>) {
        for option in mptcp_options(segment) {
            self.tell_option(now_ns, r, option, Direction::Received);
            match option {
                MptcpOption::AddAddr(add) => self.receive_add_addr(now_ns, r, add),
                MptcpOption::RemoveAddr(ids) => {
                    for &id in ids.iter().take(MAX_REMOVED) {
                        self.receive_remove_addr(now_ns, id);
                    }
                }
                MptcpOption::MpPrio { backup } => self.receive_prio(r, *backup),
                MptcpOption::MpFail { dsn } => self.receive_fail(now_ns, r, Dsn::acknowledged(*dsn)),
                // They belong to the handshake of the connection or of a subflow, which is over.
                MptcpOption::MpCapable(_) | MptcpOption::MpJoin(_) => {}
                // Looked for before the segment's place is, and on a reset.
                MptcpOption::MpFastclose { .. } | MptcpOption::MpTcpRst { .. } => {}
                // Unknown subtypes are ignored (RFC 8684 §3.8), and so is version 0.
                MptcpOption::Unknown(_) | MptcpOption::Version0(_) => {}
            }
        }
    }
}
