//! The chains of middleboxes that a description's links have.

use crate::description::{self, Description};
use crate::random;
use network::middlebox::{
    Captive, Chain, Coalescing, Malleable, Middlebox, Nat, PayloadRewriting, ProactiveAcks, ResetInjection,
    SequenceRewriting, Splitting, Strip, Stripped, SynFilter, Way,
};
use std::net::{IpAddr, Ipv4Addr};

/// The first port that a NAT gives away: none of the well-known ones.
const FIRST_OUTSIDE_PORT: u16 = 1024;

/// The chain of each link, in the description's order; of a link without boxes an empty one.
pub fn of<P: Malleable>(description: &Description) -> Vec<Chain<P>> {
    let mut nats = 0;
    let chain = |link: &description::Link| {
        let boxes = link.middleboxes.iter().enumerate().map(|(number, of_link)| {
            let name = format!("link/{}/middlebox/{number}", link.name);
            middlebox(of_link, description.seed, &name, &mut nats)
        });
        Chain::new(boxes.collect())
    };
    description.links.iter().map(chain).collect()
}

/// One box. Each NAT has an address of its own outside, in the block for the carriers' (RFC 6598).
fn middlebox<P: Malleable>(of_link: &description::Middlebox, seed: u64, name: &str, nats: &mut u32) -> Middlebox<P> {
    match *of_link {
        description::Middlebox::Strip { on, way } => Middlebox::Strip(Strip {
            from: match on {
                description::Stripped::Syn => Stripped::Syn,
                description::Stripped::Data => Stripped::Data,
                description::Stripped::NotSyn => Stripped::NotSyn,
                description::Stripped::All => Stripped::All,
            },
            way: way.map(self::way),
        }),
        description::Middlebox::Nat => {
            *nats += 1;
            let outside = Ipv4Addr::from_bits(Ipv4Addr::new(100, 64, 0, 0).to_bits() + *nats);
            Middlebox::Nat(Nat::new(IpAddr::V4(outside), FIRST_OUTSIDE_PORT))
        }
        description::Middlebox::SequenceRewriting { sack } => {
            Middlebox::SequenceRewriting(SequenceRewriting::new(sack, random::generator(seed, name)))
        }
        description::Middlebox::Splitting { max_bytes } => Middlebox::Splitting(Splitting::new(max_bytes)),
        description::Middlebox::Coalescing { hold_ns, max_bytes } => {
            Middlebox::Coalescing(Coalescing::new(hold_ns, max_bytes))
        }
        description::Middlebox::PayloadRewriting { way, at_byte, growth_bytes } => {
            Middlebox::PayloadRewriting(PayloadRewriting::new(self::way(way), at_byte, growth_bytes))
        }
        description::Middlebox::ProactiveAcks => Middlebox::ProactiveAcks(ProactiveAcks::new()),
        description::Middlebox::ResetInjection { after_bytes } => {
            Middlebox::ResetInjection(ResetInjection::new(after_bytes))
        }
        description::Middlebox::SynFilter { capable_only } => Middlebox::SynFilter(SynFilter { capable_only }),
        description::Middlebox::Captive { from_ns, until_ns } => {
            Middlebox::Captive(Captive { from_ns, until_ns: until_ns.unwrap_or(u64::MAX) })
        }
    }
}

const fn way(way: description::Way) -> Way {
    match way {
        description::Way::Down => Way::Down,
        description::Way::Up => Way::Up,
    }
}
