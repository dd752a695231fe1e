//! The chains of middleboxes that a description's links have.

use crate::description::{Description, Link};
use crate::random;
use network::middlebox::{Chain, Malleable, Middlebox};
use std::net::{IpAddr, Ipv4Addr};

/// The chain of each link, in the description's order; of a link without boxes an empty one. Each NAT has an address of its
/// own outside, in the block for the carriers' (RFC 6598).
pub fn of<P: Malleable>(description: &Description) -> Vec<Chain<P>> {
    let mut nats = 0;
    let chain = |link: &Link| {
        let boxes = link.middleboxes.iter().enumerate().map(|(number, config)| {
            let random = || random::generator(description.seed, &format!("link/{}/middlebox/{number}", link.name));
            Middlebox::new(config, random, || {
                nats += 1;
                IpAddr::V4(Ipv4Addr::from_bits(Ipv4Addr::new(100, 64, 0, 0).to_bits() + nats))
            })
        });
        Chain::new(boxes.collect())
    };
    description.links.iter().map(chain).collect()
}
