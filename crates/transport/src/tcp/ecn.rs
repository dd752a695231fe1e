//! Explicit congestion notification on one subflow: that of RFC 3168, or for scalable controls that of RFC 8257, where an
//! acknowledgment tells whether just what it acknowledges was marked.

use wire::Flags;

/// What a subflow does about ECN.
#[derive(Clone, Copy, Debug, Default)]
pub struct Ecn {
    /// Both ends agreed on it (§6.1.1).
    pub enabled: bool,
    /// A packet came with CE: every ACK says so until the sender answers with CWR (§6.1.3).
    echo: bool,
    /// The window was reduced: the next new data says so (§6.1.2).
    answer: bool,
    /// No further reduction until this sequence number is acknowledged: once a window of data (§6.1.2).
    reduced_below: u64,
    /// As in RFC 8257. Both ends must do it: there is no negotiation (§3.6 of it).
    pub scalable: bool,
    /// The packet being received came with CE.
    arriving: bool,
    /// What was received before the marks began or ended, and still is to be acknowledged as it was (RFC 8257 §3.2).
    before: Option<u64>,
}

impl Ecn {
    /// ECE and CWR on a SYN ask for it, ECE alone on the SYN/ACK agrees (§6.1.1).
    pub fn negotiate(&mut self, wanted: bool, syn: Flags) {
        let offered = if syn.ack() { syn.ece() && !syn.cwr() } else { syn.ece() && syn.cwr() };
        self.enabled = wanted && offered;
    }

    /// A packet of the peer arrived with CE.
    pub fn congestion_experienced(&mut self) {
        if self.scalable {
            self.arriving = self.enabled;
        } else {
            self.echo |= self.enabled;
        }
    }

    /// Data arrived, of which everything below `rcv_nxt` had come before, and of that some is not acknowledged yet if
    /// `pending`. Whether an acknowledgment is due at once, since marks have begun or ended (RFC 8257 §3.2).
    pub fn data_arrived(&mut self, rcv_nxt: u64, pending: bool) -> bool {
        let marked = std::mem::take(&mut self.arriving);
        if !self.scalable || marked == self.echo {
            return false;
        }
        self.echo = marked;
        self.before = pending.then_some(rcv_nxt);
        true
    }

    /// An acknowledgment goes out: what it is of, and its flags, if it is of what came before a change.
    pub fn take_before(&mut self) -> Option<(u64, Flags)> {
        let flags = if self.echo { Flags(0) } else { Flags::ECE };
        self.before.take().map(|rcv_nxt| (rcv_nxt, flags))
    }

    /// A segment of the peer arrived. Answers whether the window is to be reduced: it says ECE, and this window of
    /// data was not reduced for yet.
    pub fn arrived(&mut self, flags: Flags, snd_una: u64, snd_nxt: u64) -> bool {
        if !self.enabled {
            return false;
        }
        if self.scalable {
            return false;
        }
        if flags.cwr() {
            self.echo = false;
        }
        if !flags.ece() || flags.syn() || snd_una < self.reduced_below {
            return false;
        }
        self.reduced_below = snd_nxt;
        self.answer = true;
        true
    }

    /// The flags for a segment that goes out; `new_data`: it carries data for the first time.
    pub fn flags(&mut self, new_data: bool) -> Flags {
        let mut flags = Flags(0);
        if self.echo {
            flags = flags | Flags::ECE;
        }
        if new_data {
            self.before = None; // the acknowledgment goes with the data
        }
        if new_data && std::mem::take(&mut self.answer) {
            flags = flags | Flags::CWR;
        }
        flags
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn negotiation_needs_both() {
        let asks = Flags::SYN | Flags::ECE | Flags::CWR;
        let agrees = Flags::SYN | Flags::ACK | Flags::ECE;
        for (wanted, syn, expected) in [
            (true, asks, true),
            (false, asks, false),
            (true, Flags::SYN, false),
            (true, Flags::SYN | Flags::ECE, false),
            (true, agrees, true),
            (true, Flags::SYN | Flags::ACK, false),
            (true, asks | Flags::ACK, false), // a broken peer reflects the reserved bits
        ] {
            let mut ecn = Ecn::default();
            ecn.negotiate(wanted, syn);
            assert_eq!(ecn.enabled, expected, "{syn:?}");
        }
    }

    /// RFC 8257 §3.2: with one packet unacknowledged, a mark on the next is told by two acknowledgments, the first of what
    /// came before, without ECE; the end of the marks likewise, with ECE.
    #[test]
    fn each_mark_is_echoed_for_scalable_controls() {
        let mut ecn = Ecn { enabled: true, scalable: true, ..Ecn::default() };
        assert!(!ecn.data_arrived(1, false));
        ecn.congestion_experienced();
        assert!(ecn.data_arrived(101, true));
        let (at, flags) = ecn.take_before().unwrap();
        assert!(at == 101 && !flags.ece());
        assert!(ecn.take_before().is_none() && ecn.flags(false).ece());
        ecn.congestion_experienced();
        assert!(!ecn.data_arrived(201, true), "no change");
        assert!(ecn.data_arrived(301, true));
        let (at, flags) = ecn.take_before().unwrap();
        assert!(at == 301 && flags.ece() && !ecn.flags(false).ece());
        // Nothing unacknowledged: one acknowledgment will do. CWR says nothing here, and ECE is no reduction.
        ecn.congestion_experienced();
        assert!(ecn.data_arrived(401, false) && ecn.take_before().is_none());
        assert!(!ecn.arrived(Flags::ACK | Flags::CWR | Flags::ECE, 1, 2));
        assert!(ecn.flags(false).ece());
    }

    #[test]
    fn one_reduction_a_window_and_an_echo_until_it_is_answered() {
        let mut receiver = Ecn { enabled: true, ..Ecn::default() };
        receiver.congestion_experienced();
        assert!(receiver.flags(false).ece() && receiver.flags(false).ece());
        let mut sender = Ecn { enabled: true, ..Ecn::default() };
        assert!(sender.arrived(Flags::ACK | Flags::ECE, 100, 500));
        assert!(!sender.arrived(Flags::ACK | Flags::ECE, 400, 600), "the same window");
        assert!(!sender.flags(false).cwr());
        assert!(sender.flags(true).cwr());
        assert!(!sender.flags(true).cwr(), "said once");
        receiver.arrived(Flags::ACK | Flags::CWR, 0, 0);
        assert!(!receiver.flags(false).ece());
        assert!(sender.arrived(Flags::ACK | Flags::ECE, 500, 900), "the next window");
    }
}
