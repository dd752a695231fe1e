//! The kernel programs' arithmetic (python/mptcplab/bpf/programs) as functions of this machine.
//!
//! In the kernel it runs as BPF; here the same C text is compiled natively, so that it can be compared with the
//! algorithms of the transport, acknowledgment by acknowledgment (tests/arithmetic.rs).

// C functions are called: nothing but plain structs goes through.
#![allow(unsafe_code)]

/// Maximum number of subflows of a connection, as in the kernel.
pub const MAX_SUBFLOWS: usize = 8;

/// Fractional bits of a window.
pub const WINDOW_BITS: u32 = 16;

/// Fractional bits of a credit.
pub const CREDIT_BITS: u32 = 40;

/// One subflow; one that takes no part has a window of 0 and an RTT of 1.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Path {
    /// Segments, with [`WINDOW_BITS`] fractional bits.
    pub window: u64,
    /// Bytes between losses, OLIA's ℓ.
    pub between_losses: u64,
    /// Smoothed RTT in eighths of a microsecond.
    pub srtt: u32,
    /// Padding.
    pub reserved: u32,
}

/// The subflows of a connection, and the one that an acknowledgment or a loss concerns.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Group {
    /// All that take part, in any order.
    pub path: [Path; MAX_SUBFLOWS],
    /// A copy of the one concerned.
    pub own: Path,
    /// How many take part.
    pub count: u32,
    /// Padding.
    pub reserved: u32,
}

impl Path {
    /// No subflow.
    pub const NONE: Path = Path { window: 0, between_losses: 0, srtt: 1, reserved: 0 };
}

/// The result of an acknowledgment.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Outcome {
    /// With [`CREDIT_BITS`] fractional bits.
    pub window: i64,
    /// Segments.
    pub ssthresh: u32,
}

mod delay;

pub use delay::{Acknowledgment, Delays, EarlyProgram, Rounds};

/// A kernel's control that responds only to losses.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Program {
    /// RFC 6356.
    Lia,
    /// Khalili 2013.
    Olia,
    /// Peng 2016.
    Balia,
    /// Honda 2009.
    Ewtcp,
}

macro_rules! program {
    ($window:ident, $remaining:ident) => {
        unsafe extern "C" {
            safe fn $window(group: &Group, cwnd: u32, credit: u64, ssthresh: u32, acked: u32) -> i64;
            safe fn $remaining(group: &Group) -> u32;
        }
    };
}

program!(mptcplab_lia_window, mptcplab_lia_remaining);
program!(mptcplab_olia_window, mptcplab_olia_remaining);
program!(mptcplab_balia_window, mptcplab_balia_remaining);
program!(mptcplab_ewtcp_window, mptcplab_ewtcp_remaining);

impl Program {
    /// Window after `acked` segments, with [`CREDIT_BITS`] fractional bits: the bits above are snd_cwnd.
    #[must_use]
    pub fn window(self, group: &Group, cwnd: u32, credit: u64, ssthresh: u32, acked: u32) -> i64 {
        let window = match self {
            Program::Lia => mptcplab_lia_window,
            Program::Olia => mptcplab_olia_window,
            Program::Balia => mptcplab_balia_window,
            Program::Ewtcp => mptcplab_ewtcp_window,
        };
        window(group, cwnd, credit, ssthresh, acked)
    }

    /// Slow start threshold after a loss, in segments.
    #[must_use]
    pub fn remaining(self, group: &Group) -> u32 {
        let remaining = match self {
            Program::Lia => mptcplab_lia_remaining,
            Program::Olia => mptcplab_olia_remaining,
            Program::Balia => mptcplab_balia_remaining,
            Program::Ewtcp => mptcplab_ewtcp_remaining,
        };
        remaining(group)
    }
}
