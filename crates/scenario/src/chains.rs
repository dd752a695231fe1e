//! The chains of middleboxes on a description's links.

use crate::description::{Description, Link};
use crate::random;
use network::middlebox::{Chain, Malleable, Middlebox};
use std::net::{IpAddr, Ipv4Addr};

/// The chain of each link in the description's order, empty for a link without middleboxes. Each NAT has its own
/// outside address, in the shared address space of carrier-grade NATs (RFC 6598).
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
