//! A router that drops packets which are too long for its next link, and whose ICMP message about it does not arrive: the black
//! hole of path MTU discovery (RFC 2923 §2.1, RFC 4821). SYNs pass, so that a subflow comes about and then carries nothing.

use algorithm::declare::size;
use algorithm::{About, Declared, declared};
use wire::{IPV4_HEADER_LEN, Payload};

use super::Transit;

declared! {
    /// Settings of the middlebox.
    pub struct MtuFilter {
        /// longest packet that passes, with its headers
        mtu_bytes: u32 = size("size", 1_492, [68, 65_535]),
    }
}

/// The declaration of the middlebox.
pub(super) const ABOUT: About =
    About::new("mtu-filter", "silently drops packets longer than its MTU, without an ICMP message", "RFC 2923 §2.1")
        .parameters(MtuFilter::PARAMETERS);

impl MtuFilter {
    pub(super) fn process<P: Payload>(self, transit: Transit<P>) -> Option<Transit<P>> {
        let segment = &transit.segment;
        let packet_bytes = IPV4_HEADER_LEN + segment.header_len() + segment.payload.len();
        (packet_bytes as u64 <= u64::from(self.mtu_bytes)).then_some(transit)
    }
}

#[cfg(test)]
mod tests {
    use super::super::Way;
    use super::super::tests::{data, syn};
    use super::*;

    #[test]
    fn what_is_longer_is_dropped() {
        // 20 bytes of IPv4, 20 of TCP and 12 of timestamps.
        let of = |payload: usize| data(Way::Up, 2, &vec![7; payload]);
        let filter = MtuFilter { mtu_bytes: 1_492 };
        assert_eq!(filter.process(of(1_440)), Some(of(1_440)));
        assert_eq!(filter.process(of(1_441)), None);
        assert_eq!(filter.process(syn(Way::Up, 1)), Some(syn(Way::Up, 1)));
    }
}
