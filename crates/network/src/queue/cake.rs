//! Cake: FQ-CoDel with equal shares for hosts, and for their flows equal parts of those; a host is one end of a kind of
//! connections.
//!
//! T. Høiland-Jørgensen, D. Täht, J. Morton, "Piece of CAKE: A Comprehensive Queue Management Solution for Home Gateways",
//! LANMAN 2018. What runs it is [`FqCoDel`] with [`super::isolation`].

use algorithm::{About, Declared};
use rand_core::RngCore;
use rand_xoshiro::Xoshiro256PlusPlus;

use super::discipline::Declare;
pub use super::fq_codel::Config;
use super::fq_codel::FqCoDel;

/// FQ-CoDel that keeps hosts apart too.
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
