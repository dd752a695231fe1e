//! Addresses that a connection may have (RFC 9293 §3.9.2.3): one host's own, not a group's.

use std::net::{IpAddr, Ipv6Addr};

/// Whether an address can be one end of a connection: it is neither multicast nor the limited broadcast address nor
/// unspecified. The broadcast address of a subnet looks like any other.
#[must_use]
pub const fn is_unicast(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(v4) => !v4.is_multicast() && !v4.is_broadcast() && !v4.is_unspecified(),
        IpAddr::V6(v6) => match v6.to_ipv4_mapped() {
            Some(v4) => is_unicast(IpAddr::V4(v4)),
            None => v6.octets()[0] != 0xff && v6.to_bits() != Ipv6Addr::UNSPECIFIED.to_bits(),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_and_nobody_are_no_end_of_a_connection() {
        for (address, unicast) in [
            ("10.0.0.1", true),
            ("127.0.0.1", true),
            ("223.255.255.255", true),
            ("224.0.0.1", false),
            ("239.255.255.255", false),
            ("255.255.255.255", false),
            ("0.0.0.0", false),
            ("2001:db8::1", true),
            ("::1", true),
            ("::", false),
            ("ff02::1", false),
            ("::ffff:10.0.0.1", true),
            ("::ffff:224.0.0.1", false),
        ] {
            assert_eq!(is_unicast(address.parse().unwrap()), unicast, "{address}");
        }
    }
}
