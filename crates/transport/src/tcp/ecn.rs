//! Explicit congestion notification (RFC 3168) on one subflow.

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
}

impl Ecn {
    /// ECE and CWR on a SYN ask for it, ECE alone on the SYN/ACK agrees (§6.1.1).
    pub fn negotiate(&mut self, wanted: bool, syn: Flags) {
        let offered = if syn.ack() { syn.ece() && !syn.cwr() } else { syn.ece() && syn.cwr() };
        self.enabled = wanted && offered;
    }

    /// A packet of the peer arrived with CE.
    pub fn congestion_experienced(&mut self) {
        self.echo |= self.enabled;
    }

    /// A segment of the peer arrived. Answers whether the window is to be reduced: it says ECE, and this window of
    /// data was not reduced for yet.
    pub fn arrived(&mut self, flags: Flags, snd_una: u64, snd_nxt: u64) -> bool {
        if !self.enabled {
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
