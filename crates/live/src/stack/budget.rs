//! The memory limit of all sockets of a stack.

use std::sync::atomic::{AtomicU64, Ordering};

/// Limit of the bytes written and not acknowledged, or received and not read, over all connections.
const LIMIT: u64 = 256 << 20;
/// Memory that each direction of a connection may always use, so that none starves.
const LEAST_SHARE: u64 = 64 << 10;

/// Memory is shared by dynamic thresholds (Choudhury and Hahne 1998): a direction may grow while it holds less than the
/// amount that is free. A single one gets half of the memory, a thousand greedy ones about a thousandth each, without
/// being counted.
#[derive(Debug, Default)]
pub(super) struct Budget(AtomicU64);

impl Budget {
    /// Whether a direction that holds `own` bytes may take more.
    pub fn allows(&self, own: u64) -> bool {
        own < LEAST_SHARE || own < LIMIT.saturating_sub(self.0.load(Ordering::Relaxed))
    }

    /// Total over all directions.
    pub fn held(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    /// Updates the amount that a direction holds.
    pub fn change(&self, held: &mut u64, now: u64) {
        self.0.fetch_add(now.wrapping_sub(*held), Ordering::Relaxed);
        *held = now;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thousand_greedy_ones_share_and_one_alone_has_half() {
        let budget = Budget::default();
        let mut held = vec![0_u64; 1_000];
        // Each takes 10,000 bytes in turn for as long as it may.
        let mut took = true;
        while took {
            took = false;
            for own in &mut held {
                let more = *own + 10_000;
                if budget.allows(*own) {
                    budget.change(own, more);
                    took = true;
                }
            }
        }
        let total: u64 = held.iter().sum();
        assert!(total <= LIMIT + 1_000 * LEAST_SHARE && total > LIMIT / 10 * 9, "{total}");
        let (least, most) = (*held.iter().min().unwrap(), *held.iter().max().unwrap());
        assert!(least >= LEAST_SHARE && most < 2 * least, "{least} {most}");
        // All return their memory; then a single one gets half of the total.
        held.iter_mut().for_each(|own| budget.change(own, 0));
        let mut own = 0;
        while budget.allows(own) {
            let more = own + 10_000;
            budget.change(&mut own, more);
        }
        assert!(own.abs_diff(LIMIT / 2) <= 10_000, "{own}");
    }
}
