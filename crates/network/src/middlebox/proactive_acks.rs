//! A proxy that acknowledges data to its sender before the receiver has it (Raiciu 2012; RFC 8684 §3.3.2). The
//! acknowledgment is at the subflow level and has no DATA_ACK, which is why Multipath TCP has one: data lost after the
//! proxy can only be retransmitted at the connection level, because this proxy keeps no copy.

use algorithm::{About, Declared, declared};
use std::collections::BTreeMap;

use wire::{Flags, Timestamps};

use super::{Ends, Malleable, Transit, after};

declared! {
    /// Settings of the middlebox.
    pub struct Config {}
}

/// The declaration of the middlebox.
pub(super) const ABOUT: About =
    About::new("proactive-acks", "acknowledges data before the receiver has it, and keeps no copy", "Raiciu 2012")
        .parameters(Config::PARAMETERS);

/// Acknowledges in-order data on arrival. All segments pass unchanged, including the receiver's later acknowledgments.
/// Out-of-order data is not acknowledged: duplicate ACKs are left to the receiver.
#[derive(Clone, Debug, Default)]
pub struct ProactiveAcks {
    /// State of the sender in each direction.
    connections: BTreeMap<Ends, [Sender; 2]>,
    sent: u64,
}

/// What the proxy has learned about an end from its segments.
#[derive(Clone, Copy, Debug, Default)]
struct Sender {
    /// Next expected sequence number; `None` before the SYN.
    next: Option<u32>,
    /// Window field of its segments after the SYN.
    window: u16,
    /// Last timestamp value received.
    timestamp: Option<u32>,
}

impl ProactiveAcks {
    /// Creates a proxy without any connections.
    #[must_use]
    pub const fn new() -> Self {
        Self { connections: BTreeMap::new(), sent: 0 }
    }

    /// Number of acknowledgments that the proxy has sent.
    #[must_use]
    pub const fn sent(&self) -> u64 {
        self.sent
    }

    pub(super) fn process<P: Malleable>(&mut self, transit: Transit<P>, out: &mut Vec<Transit<P>>) {
        let Transit { way, ends, ref segment } = transit;
        if segment.flags.syn() && !segment.flags.ack() {
            // A new connection, or a retransmitted SYN: nothing has been acknowledged in either case.
            self.connections.insert(ends, [Sender::default(); 2]);
        }
        let Some(senders) = self.connections.get_mut(&ends) else {
            out.push(transit);
            return;
        };
        let sender = &mut senders[way.index()];
        sender.timestamp = segment.options.timestamps.map(|timestamps| timestamps.value).or(sender.timestamp);
        sender.window = segment.window;
        if segment.flags.syn() {
            // The window of a SYN is not scaled (RFC 7323 §2.2); that of later segments is.
            let scale = segment.options.rare.as_ref().and_then(|rare| rare.window_scale).unwrap_or(0);
            sender.window = segment.window >> scale.min(14);
            sender.next = Some(segment.seq.wrapping_add(1));
        }
        let mut answer = None;
        if let Some(next) = sender.next {
            let end = segment.seq.wrapping_add(segment.payload.len() as u32);
            let in_order = !after(segment.seq, next) && after(end, next);
            if in_order && segment.flags.ack() && !segment.flags.syn() && !segment.flags.rst() {
                sender.next = Some(end);
                answer = Some((segment.ack, end, segment.options.timestamps));
            }
        }
        let receiver = &mut senders[way.back().index()];
        if segment.flags.ack() && receiver.next.is_some_and(|next| after(segment.ack, next)) {
            // The other end has received more than passed here in order.
            receiver.next = Some(segment.ack);
        }
        let receiver = *receiver;
        out.push(transit);
        if let Some((seq, ack, timestamps)) = answer {
            let mut acknowledgment = Transit::bare(way.back(), ends, seq, ack, Flags::ACK);
            acknowledgment.segment.window = receiver.window;
            acknowledgment.segment.options.timestamps =
                timestamps.zip(receiver.timestamp).map(|(theirs, value)| Timestamps { value, echo: theirs.value });
            self.sent += 1;
            out.push(acknowledgment);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::Way;
    use super::super::tests::{data, sacked, syn, syn_ack, with_dss};
    use super::*;

    type Bytes = Transit<Vec<u8>>;

    fn run(proxy: &mut ProactiveAcks, transit: Bytes) -> Vec<Bytes> {
        let mut out = Vec::new();
        proxy.process(transit.clone(), &mut out);
        assert_eq!(out[0], transit, "everything passes as it is");
        out.split_off(1)
    }

    /// The client's SYN has number 100, the server's 500 with scale 7 (window field 1,000 on SYNs).
    fn opened() -> ProactiveAcks {
        let mut proxy = ProactiveAcks::new();
        assert!(run(&mut proxy, syn(Way::Up, 100)).is_empty());
        assert!(run(&mut proxy, syn_ack(500, 101)).is_empty());
        proxy
    }

    fn upload(seq: u32, content: &[u8]) -> Bytes {
        let mut transit = with_dss(data(Way::Up, seq, content));
        transit.segment.ack = 501;
        transit
    }

    #[test]
    fn data_in_order_is_acknowledged_at_once_without_options_of_multipath_tcp() {
        let mut proxy = opened();
        let answers = run(&mut proxy, upload(101, b"abc"));
        let [answer] = &answers[..] else { panic!("{answers:?}") };
        assert_eq!((answer.way, answer.ends), (Way::Down, upload(1, b"").ends));
        let segment = &answer.segment;
        assert_eq!((segment.src_port, segment.dst_port), (80, 4_000));
        assert_eq!((segment.seq, segment.ack, segment.flags, segment.window), (501, 104, Flags::ACK, 1_000 >> 7));
        // The timestamp of the server's clock, and the echo of the segment's timestamp.
        let sent = upload(1, b"").segment.options.timestamps.unwrap().value;
        let server = syn_ack(0, 0).segment.options.timestamps.unwrap().value;
        assert_eq!(segment.options.timestamps, Some(Timestamps { value: server, echo: sent }));
        assert!(segment.options.dss.is_none() && segment.options.rare.is_none() && segment.payload.is_empty());
        assert_eq!(proxy.sent(), 1);
    }

    #[test]
    fn a_gap_is_not_acknowledged_and_old_data_not_again() {
        let mut proxy = opened();
        assert!(run(&mut proxy, upload(104, b"def")).is_empty());
        assert_eq!(run(&mut proxy, upload(101, b"abc"))[0].segment.ack, 104);
        assert!(run(&mut proxy, upload(101, b"abc")).is_empty());
        // Half of the segment is new.
        assert_eq!(run(&mut proxy, upload(102, b"bcdef"))[0].segment.ack, 107);
        // The receiver has more than passed here in order: the proxy continues from there.
        assert!(run(&mut proxy, sacked(Way::Down, 501, 120, &[])).is_empty());
        assert!(run(&mut proxy, upload(107, b"g")).is_empty());
        assert_eq!(run(&mut proxy, upload(120, b"h"))[0].segment.ack, 121);
    }

    #[test]
    fn what_needs_no_answer_gets_none() {
        let mut proxy = opened();
        let mut reset = upload(101, b"abc");
        reset.segment.flags = Flags::RST;
        for transit in [upload(101, b""), reset] {
            assert!(run(&mut proxy, transit).is_empty());
        }
        let mut fin = upload(101, b"");
        fin.segment.flags = Flags::ACK | Flags::FIN;
        assert!(run(&mut proxy, fin).is_empty(), "the end of the stream is the receiver's to acknowledge");
        let mut stranger = upload(101, b"abc");
        stranger.ends.client.set_port(9);
        assert!(run(&mut proxy, stranger).is_empty());
    }
}
