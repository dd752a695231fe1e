//! How long nothing was heard of each subflow, in periods of the data level's timer: under [`Repair::Kernel`].
//!
//! [`Repair::Kernel`]: crate::scheduler::Repair::Kernel

use crate::queue::Stream;
use crate::tcp::subflow::Subflow;

/// Of one subflow.
#[derive(Clone, Copy, Debug, Default)]
pub struct Silent {
    /// Its `snd_una` at the last period, and for how many periods it has been that.
    pub since: (u64, u32),
    /// It has been that for so long that others carry what it had (`stale_loss_cnt`).
    pub stale: bool,
}

/// Of each.
#[derive(Clone, Debug, Default)]
pub struct Silence {
    subflows: Vec<Silent>,
}

impl Silence {
    /// What was heard of is no longer stale.
    pub fn hear<P: Stream>(&mut self, subflows: &[Subflow<P>]) {
        self.subflows.resize(subflows.len(), Silent::default());
        for (silent, subflow) in self.subflows.iter_mut().zip(subflows) {
            silent.stale &= silent.since.0 == subflow.snd_una;
        }
    }

    /// Of subflow `r`, once it was [heard](Self::hear).
    pub fn of(&self, r: usize) -> Silent {
        self.subflows.get(r).copied().unwrap_or_default()
    }

    pub fn of_mut(&mut self, r: usize) -> Option<&mut Silent> {
        self.subflows.get_mut(r)
    }
}
