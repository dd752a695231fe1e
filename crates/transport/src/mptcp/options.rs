//! Which file does what an MPTCP option asks for: one each, under the option's name.
//!
//! | option | where |
//! |---|---|
//! | MP_CAPABLE | `handshake.rs` |
//! | MP_JOIN | `join.rs` |
//! | DSS | `receive.rs`, `data.rs`, `checksum.rs`; sent by `data_level/leaving.rs` |
//! | ADD_ADDR | `add_addr.rs` |
//! | REMOVE_ADDR | `remove_addr.rs` |
//! | MP_PRIO | `mp_prio.rs` |
//! | MP_FAIL | `mp_fail.rs` |
//! | MP_FASTCLOSE | `mp_fastclose.rs` |
//! | MP_TCPRST | `reset.rs` |

use wire::{MpCapable, MpJoin, MptcpOption, RareOptions, Segment};

/// Flags of MP_CAPABLE (RFC 8684 §3.1). A: checksums are required.
pub(super) const CAPABLE_A: u8 = 0x80;
/// C: no joins to the address and port of the first subflow.
pub(super) const CAPABLE_C: u8 = 0x20;
/// B: an extension that is not defined yet.
pub(super) const CAPABLE_B: u8 = 0x40;
/// H: HMAC-SHA256.
pub(super) const CAPABLE_H: u8 = 0x01;

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

/// An option by itself.
pub(super) fn rare(option: MptcpOption) -> Option<Box<RareOptions>> {
    Some(Box::new(RareOptions { mptcp: vec![option], ..RareOptions::default() }))
}
