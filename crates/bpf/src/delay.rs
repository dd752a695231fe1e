//! The controls that respond to delay: their state for each subflow, and their functions.

use crate::{Group, Outcome};

/// The state of PERT and MPPERT for a subflow, initially all zero. Times in microseconds.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct Delays {
    smoothed: u64,
    next_change: u64,
    next_response: u64,
    base: u32,
    largest: u32,
    /// With 20 fractional bits.
    pub alpha: u32,
    losses: u32,
    since_loss: u32,
    reserved: u32,
    between_losses: [u32; 8],
}

/// An acknowledgment as the kernel reports it.
#[derive(Clone, Copy, Debug)]
pub struct Acknowledgment {
    /// Its time, in microseconds.
    pub now_us: u64,
    /// Segments.
    pub acked: u32,
    /// Whether a loss is being repaired.
    pub repairing: bool,
    /// Whether the window was used.
    pub limited: bool,
    /// A random number.
    pub draw: u32,
    /// Segments in flight after it.
    pub in_flight: u32,
}

/// A control of the kernel that responds before losses.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum EarlyProgram {
    /// Bhandarkar 2007.
    Pert,
    /// Singh 2012, k = 0.
    Mppert,
}

macro_rules! early {
    ($measured:ident, $chance:ident, $acknowledged:ident, $lost:ident, $found:ident) => {
        unsafe extern "C" {
            safe fn $measured(delays: &mut Delays, rtt_us: u32);
            safe fn $chance(delays: &Delays, now_us: u64, repairing: i32, cwnd: u32, credit: u64) -> u64;
            safe fn $acknowledged(
                delays: &mut Delays,
                group: &Group,
                now_us: u64,
                repairing: i32,
                draw: u32,
                limited: i32,
                cwnd: u32,
                credit: u64,
                ssthresh: u32,
                acked: u32,
            ) -> Outcome;
            safe fn $lost(delays: &mut Delays, group: &Group) -> u32;
            safe fn $found(delays: &mut Delays);
        }
    };
}

early!(
    mptcplab_pert_measured,
    mptcplab_pert_chance,
    mptcplab_pert_acknowledged,
    mptcplab_pert_lost,
    mptcplab_pert_found
);
early!(
    mptcplab_mppert_measured,
    mptcplab_mppert_chance,
    mptcplab_mppert_acknowledged,
    mptcplab_mppert_lost,
    mptcplab_mppert_found
);

impl EarlyProgram {
    /// A sample of the RTT.
    pub fn measured(self, delays: &mut Delays, rtt_us: u32) {
        match self {
            EarlyProgram::Pert => mptcplab_pert_measured(delays, rtt_us),
            EarlyProgram::Mppert => mptcplab_mppert_measured(delays, rtt_us),
        }
    }

    /// The probability of an early response to the acknowledgment, times 2³².
    #[must_use]
    pub fn chance(self, delays: &Delays, (cwnd, credit): (u32, u64), ack: &Acknowledgment) -> u64 {
        let chance = match self {
            EarlyProgram::Pert => mptcplab_pert_chance,
            EarlyProgram::Mppert => mptcplab_mppert_chance,
        };
        chance(delays, ack.now_us, i32::from(ack.repairing), cwnd, credit)
    }

    /// The window after an acknowledgment; `window` is (snd_cwnd, credit, ssthresh).
    pub fn acknowledged(
        self,
        delays: &mut Delays,
        group: &Group,
        window: (u32, u64, u32),
        ack: &Acknowledgment,
    ) -> Outcome {
        let acknowledged = match self {
            EarlyProgram::Pert => mptcplab_pert_acknowledged,
            EarlyProgram::Mppert => mptcplab_mppert_acknowledged,
        };
        let (cwnd, credit, ssthresh) = window;
        let (repairing, limited) = (i32::from(ack.repairing), i32::from(ack.limited));
        acknowledged(delays, group, ack.now_us, repairing, ack.draw, limited, cwnd, credit, ssthresh, ack.acked)
    }

    /// The slow start threshold after a loss, in segments.
    pub fn lost(self, delays: &mut Delays, group: &Group) -> u32 {
        match self {
            EarlyProgram::Pert => mptcplab_pert_lost(delays, group),
            EarlyProgram::Mppert => mptcplab_mppert_lost(delays, group),
        }
    }

    /// Undoes the response to a loss that was spurious.
    pub fn found(self, delays: &mut Delays) {
        match self {
            EarlyProgram::Pert => mptcplab_pert_found(delays),
            EarlyProgram::Mppert => mptcplab_mppert_found(delays),
        }
    }
}

/// The state of wVegas for a subflow, initially all zero.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct Rounds {
    sum: u64,
    least: u64,
    samples: u32,
    base: u32,
    alpha: u32,
    sampled: u32,
    left: i32,
    measuring: u32,
}

unsafe extern "C" {
    safe fn mptcplab_wvegas_sampled(rounds: &mut Rounds, rtt_us: i32);
    safe fn mptcplab_wvegas_acknowledged(
        rounds: &mut Rounds,
        group: &Group,
        cwnd: u32,
        credit: u64,
        ssthresh: u32,
        acked: u32,
        repairing: i32,
        in_flight: u32,
    ) -> Outcome;
    safe fn mptcplab_wvegas_lost(rounds: &mut Rounds, group: &Group) -> u32;
}

impl Rounds {
    /// The RTT sample of an acknowledgment; 0: none.
    pub fn sampled(&mut self, rtt_us: u32) {
        mptcplab_wvegas_sampled(self, rtt_us.min(i32::MAX as u32) as i32);
    }

    /// The window after an acknowledgment; `window` is (snd_cwnd, credit, ssthresh).
    pub fn acknowledged(&mut self, group: &Group, window: (u32, u64, u32), ack: &Acknowledgment) -> Outcome {
        let (cwnd, credit, ssthresh) = window;
        let repairing = i32::from(ack.repairing);
        mptcplab_wvegas_acknowledged(self, group, cwnd, credit, ssthresh, ack.acked, repairing, ack.in_flight)
    }

    /// The slow start threshold after a loss, in segments.
    pub fn lost(&mut self, group: &Group) -> u32 {
        mptcplab_wvegas_lost(self, group)
    }
}
