//! A segment that has arrived, as TCP reads it, whichever form it came in.

use wire::{SackBlocks, Timestamps};

/// What a segment says of its subflow. Sequence numbers are 64 bits.
#[derive(Clone, Copy, Debug)]
pub struct Arrival<'a> {
    /// SEG.SEQ.
    pub seq: u64,
    /// SEG.ACK, which is not above SND.NXT.
    pub ack: u64,
    /// SEG.WND, before scaling.
    pub window: u16,
    /// Timestamps (RFC 7323).
    pub timestamps: Option<Timestamps>,
    /// SACK blocks (RFC 2018).
    pub sack: &'a SackBlocks,
    /// It carries no data.
    pub empty: bool,
    /// It has a FIN, or an option that says something else than data and acknowledgments do.
    pub signals: bool,
    /// It has the flag ECE.
    pub marked: bool,
}

/// What is known of an arrival beforehand. One body takes in all: what is known answers some of its questions as it is compiled.
pub mod known {
    /// Nothing.
    pub const NOTHING: u8 = 0;
    /// Its subflow is usual, and it has nothing but data and an acknowledgment.
    pub const DATA: u8 = 1;
    /// Its subflow is usual, and it has nothing but an acknowledgment.
    pub const BARE: u8 = 2;
}
