//! Configuration of a shared medium.

use algorithm::declare::{MICROSECOND, MILLISECOND, SECOND, packets, time, word};
use algorithm::{About, ConfigError, Declared, declared, words};

words! {
    /// What a medium divides equally.
    pub enum Share {
        /// Stations send equally many aggregates.
        Frames = "frames",
        /// Stations get equal airtime.
        Airtime = "airtime",
    }
}

declared! {
    /// Parameters of a medium.
    pub struct MediumConfig {
        /// what is divided equally among the directions with waiting packets: `"frames"` (turns) or `"airtime"`
        share: Share = word("share", "frames", Share::WORDS),
        /// airtime of each transmission in addition to its packets: contention, preamble, acknowledgment
        overhead_ns: u64 = time("overhead", 100 * MICROSECOND, [0, SECOND]),
        /// maximum number of packets in one transmission
        aggregate_packets: u32 = packets("aggregate", 32, [1, 10_000]),
        /// airtime of its packets after which a transmission takes no further packet
        longest_ns: u64 = time("longest", 4 * MILLISECOND, [1, SECOND]),
    }
}

impl MediumConfig {
    /// The declaration of a medium.
    pub const ABOUT: About =
        About::new("medium", "links of which one sends at a time", "Heusse 2003; Høiland-Jørgensen 2017")
            .parameters(Self::PARAMETERS);

    /// Checks that the configuration is valid.
    ///
    /// # Errors
    /// The first parameter outside its range.
    pub fn check(&self) -> Result<(), ConfigError> {
        self.check_as(&Self::ABOUT)
    }
}
