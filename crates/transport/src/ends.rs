//! The ends of subflows as they are kept.

use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4};

use crate::names::Tuple;

/// The ends of a subflow over IPv4: a fifth of a [`Tuple`], which has room for the longest address.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct V4Ends {
    remote: (Ipv4Addr, u16),
    local: (Ipv4Addr, u16),
}

impl V4Ends {
    /// Those of `tuple`, if it is of IPv4.
    pub fn of(tuple: &Tuple) -> Option<V4Ends> {
        match (tuple.local, tuple.remote) {
            (SocketAddr::V4(local), SocketAddr::V4(remote)) => {
                Some(V4Ends { remote: (*remote.ip(), remote.port()), local: (*local.ip(), local.port()) })
            }
            _ => None,
        }
    }
}

/// The ends of any subflow, in 16 bytes and for other addresses than those of IPv4 a box.
#[derive(Clone, Debug)]
pub enum Ends {
    V4(V4Ends),
    Other(Box<Tuple>),
}

const _: () = assert!(size_of::<Ends>() == 16);

impl From<Tuple> for Ends {
    fn from(tuple: Tuple) -> Ends {
        V4Ends::of(&tuple).map_or_else(|| Ends::Other(Box::new(tuple)), Ends::V4)
    }
}

impl Ends {
    pub fn tuple(&self) -> Tuple {
        let address = |(ip, port)| SocketAddr::V4(SocketAddrV4::new(ip, port));
        match self {
            Ends::V4(ends) => Tuple { local: address(ends.local), remote: address(ends.remote) },
            Ends::Other(tuple) => **tuple,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_come_out_as_they_went_in() {
        for (local, remote) in [
            ("10.0.0.1:1", "10.0.0.2:65535"),
            ("[fe80::1%3]:1", "[fe80::2%3]:2"),
            ("[::ffff:10.0.0.1]:1", "[::ffff:10.0.0.2]:2"),
        ] {
            let tuple = Tuple { local: local.parse().unwrap(), remote: remote.parse().unwrap() };
            assert_eq!(Ends::from(tuple).tuple(), tuple);
        }
    }
}
