//! A middlebox that ends connections by sending RST to both ends in each other's name, as some firewalls do after a
//! number of bytes. Multipath TCP loses the subflow, not the connection (RFC 8684 §3.6: a RST affects only its
//! subflow).
//!
//! After the given number of payload bytes, in both directions together and including retransmissions, no segment of
//! the connection passes any more. Each is answered by a RST to either end; a RST is not answered. Its sequence number
//! towards the receiver is that of the segment, and towards the sender the one that the segment acknowledges, which the
//! sender expects next. An end that answers an out-of-order RST with a challenge ACK (RFC 5961 §3.2) then gets one in
//! order.

use algorithm::declare::size;
use algorithm::{About, Declared, declared};
use std::collections::BTreeMap;

use wire::Flags;

use super::{Ends, Malleable, Transit};

declared! {
    /// Settings of the middlebox.
    pub struct Config {
        /// payload that passes before the reset, both directions together
        after_bytes: u64 = size("after", 100_000, [0, 1_000_000_000_000_000]),
    }
}

/// The declaration of the middlebox.
pub(super) const ABOUT: About = About::new(
    "reset-injection",
    "resets each connection towards both ends, in the name of the other end",
    "RFC 8684 §3.6",
)
.parameters(Config::PARAMETERS);

/// Resets each connection after a number of payload bytes.
#[derive(Clone, Debug)]
pub struct ResetInjection {
    after_bytes: u64,
    /// Payload bytes seen.
    connections: BTreeMap<Ends, u64>,
}

impl ResetInjection {
    /// The first segment that makes a connection exceed `after_bytes` bytes does not pass.
    #[must_use]
    pub const fn new(after_bytes: u64) -> Self {
        Self { after_bytes, connections: BTreeMap::new() }
    }

    pub(super) fn process<P: Malleable>(&mut self, transit: Transit<P>, out: &mut Vec<Transit<P>>) {
        let Transit { way, ends, ref segment } = transit;
        let len = segment.payload.len() as u32;
        let seen = self.connections.entry(ends).or_default();
        if segment.flags.syn() && !segment.flags.ack() {
            *seen = 0;
        }
        *seen += u64::from(len);
        if *seen <= self.after_bytes || segment.flags.rst() {
            out.push(transit);
            return;
        }
        let occupied = len + u32::from(segment.flags.syn()) + u32::from(segment.flags.fin());
        let acknowledged = if segment.flags.ack() { segment.ack } else { 0 };
        let flags = Flags::RST | Flags::ACK;
        out.push(Transit::bare(way, ends, segment.seq, acknowledged, flags));
        out.push(Transit::bare(way.back(), ends, acknowledged, segment.seq.wrapping_add(occupied), flags));
    }
}

#[cfg(test)]
mod tests {
    use super::super::Way;
    use super::super::tests::{data, syn};
    use super::*;

    type Bytes = Transit<Vec<u8>>;

    fn run(injection: &mut ResetInjection, transit: &Bytes) -> Vec<Bytes> {
        let mut out = Vec::new();
        injection.process(transit.clone(), &mut out);
        out
    }

    /// Whether the segment passes unchanged, without other output.
    fn passes(injection: &mut ResetInjection, transit: &Bytes) -> bool {
        run(injection, transit) == std::slice::from_ref(transit)
    }

    #[test]
    fn both_ends_are_reset_in_order_once_enough_has_passed() {
        let mut injection = ResetInjection::new(5);
        let (mut up, down) = (data(Way::Up, 101, b"abc"), data(Way::Down, 501, b"de"));
        for transit in [&syn(Way::Up, 100), &up, &down] {
            assert!(passes(&mut injection, transit));
        }
        up.segment.seq = 104;
        up.segment.ack = 503;
        up.segment.flags = Flags::ACK | Flags::FIN;
        let out = run(&mut injection, &up);
        let told: Vec<_> = out.iter().map(|t| (t.way, t.segment.seq, t.segment.ack, t.segment.src_port)).collect();
        assert_eq!(told, [(Way::Up, 104, 503, 4_000), (Way::Down, 503, 108, 80)]);
        for reset in &out {
            assert_eq!(reset.segment.flags, Flags::RST | Flags::ACK);
            assert_eq!((reset.ends, reset.segment.payload.len()), (up.ends, 0));
            assert!(reset.segment.options.is_empty());
            // RSTs pass, otherwise two such middleboxes would never stop.
            assert!(passes(&mut injection, reset));
        }
        // A challenge ACK is answered by a RST in order.
        let mut challenge = data(Way::Down, 600, b"");
        challenge.segment.ack = 90;
        let out = run(&mut injection, &challenge);
        assert_eq!((out[1].way, out[1].segment.seq), (Way::Up, 90));
        assert_eq!((out[0].way, out[0].segment.seq), (Way::Down, 600));
    }

    #[test]
    fn each_connection_is_counted_by_itself_and_a_syn_begins_anew() {
        let mut injection = ResetInjection::new(3);
        let first = data(Way::Up, 1, b"abc");
        let mut other = first.clone();
        other.ends.client.set_port(9);
        assert!(passes(&mut injection, &first));
        assert!(passes(&mut injection, &other));
        assert_eq!(run(&mut injection, &first).len(), 2);
        assert!(passes(&mut injection, &syn(Way::Up, 7)));
        assert!(passes(&mut injection, &first));
    }
}
