//! Cake: FQ-CoDel with equal shares per host, divided equally among the host's flows. A host is one end of a kind of
//! connections.
//!
//! T. Høiland-Jørgensen, D. Täht, J. Morton, "Piece of CAKE: A Comprehensive Queue Management Solution for Home
//! Gateways", LANMAN 2018. Implemented by [`FqCoDel`] with [`super::isolation`].

use algorithm::{About, Declared};
use rand_core::RngCore;
use rand_xoshiro::Xoshiro256PlusPlus;

use super::discipline::Declare;
pub use super::fq_codel::Config;
use super::fq_codel::FqCoDel;

/// FQ-CoDel that also isolates hosts.
pub(crate) struct Cake;

impl Declare for Cake {
    type Config = Config;
    type Built = FqCoDel;
    const ABOUT: About = About::new(
        "cake",
        "fair queueing of hosts and of their flows, with controlled delay per flow",
        "Høiland-Jørgensen 2018",
    )
    .parameters(Config::PARAMETERS);

    fn make(config: Config, random: &mut Xoshiro256PlusPlus) -> FqCoDel {
        FqCoDel::new(config, random.next_u64()).isolating()
    }
}
