//! Effects of a path on packets other than queueing: jitter, reordering, duplication. They are a stage after a link
//! (docs/decisions/0011); the link itself stays first in, first out.

use algorithm::ConfigError;
use rand_core::RngCore;
use serde::Deserialize;

use crate::probability::Probability;

/// Parameters of the stage.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DisorderConfig {
    /// Maximum additional delay. It is uniform between 0 and this value and never reorders packets.
    pub jitter_ns: u64,
    /// Probability that a packet is held back so that later ones overtake it, in [0, 1].
    pub reorder: f64,
    /// Additional delay of a packet that is held back.
    pub by_ns: u64,
    /// Probability that a packet is duplicated, in [0, 1].
    pub duplicate: f64,
}

impl DisorderConfig {
    /// Checks that the configuration is valid.
    ///
    /// # Errors
    /// The first parameter outside its range.
    pub fn check(&self) -> Result<(), ConfigError> {
        for (parameter, found) in [("reorder", self.reorder), ("duplicate", self.duplicate)] {
            ConfigError::unless((0.0..=1.0).contains(&found), parameter, found, "a probability from 0 to 1")?;
        }
        Ok(())
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Disorder {
    jitter_ns: u64,
    reorder: Probability,
    by_ns: u64,
    duplicate: Probability,
    /// When the last packet leaves that is not held back.
    last_ns: u64,
}

impl Disorder {
    pub(crate) fn new(config: &DisorderConfig) -> Self {
        let DisorderConfig { jitter_ns, reorder, by_ns, duplicate } = *config;
        let [reorder, duplicate] = [reorder, duplicate].map(Probability::new);
        Self { jitter_ns, reorder, by_ns, duplicate, last_ns: 0 }
    }

    /// When a packet that arrives at `now_ns` leaves.
    pub(crate) fn departure_ns(&mut self, now_ns: u64, rng: &mut impl RngCore) -> u64 {
        // The upper half of the product is a draw below jitter + 1.
        let jitter_ns = match self.jitter_ns {
            0 => 0,
            longest => ((u128::from(rng.next_u64()) * (u128::from(longest) + 1)) >> 64) as u64,
        };
        self.last_ns = now_ns.saturating_add(jitter_ns).max(self.last_ns);
        if self.reorder.happens(rng) { self.last_ns.saturating_add(self.by_ns) } else { self.last_ns }
    }

    /// Whether the packet is duplicated.
    pub(crate) fn duplicates(&self, rng: &mut impl RngCore) -> bool {
        self.duplicate.happens(rng)
    }
}
