//! The end of a connection (RFC 9293 §3.6, §3.10.4, §3.10.7.4 eighth).

use wire::Segment;

use super::{ResetAnswer, State, Subflow};
use crate::queue::Sendable;
use crate::tcp::reorder::Reorder;
use crate::time::{Duration, Instant};

/// Twice the maximum segment lifetime, as Linux takes it (RFC 9293 §3.4.2 names 4 minutes).
pub const TIME_WAIT: Duration = Duration::from_secs(60);

/// What follows from a FIN.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Then {
    /// The state may have changed, and no more.
    Nothing,
    /// TIME-WAIT.
    TimeWait,
    /// The connection is closed.
    Closed,
}

impl<P: Sendable> Subflow<P> {
    /// A FIN is to go out.
    pub fn request_fin(&mut self) {
        self.fins.request();
    }

    pub fn is_fin_requested(&self) -> bool {
        self.fins.is_requested()
    }

    /// A reset is to go out.
    pub fn owe_reset(&mut self) {
        self.reset_due = true;
    }

    pub fn owes_reset(&self) -> bool {
        self.reset_due
    }

    /// Whether a reset is to go out, which now does.
    pub fn take_reset(&mut self) -> bool {
        std::mem::take(&mut self.reset_due)
    }

    /// A segment fits nothing: whether a reset answers it. Its own, if it is still to go, says more.
    pub fn answer_with_reset(&mut self, segment: &Segment<P>) -> bool {
        let own = self.reset_due && self.reset_answer.is_none();
        let (false, Some(answer)) = (own, ResetAnswer::to(segment)) else { return false };
        self.reset_due = true;
        self.reset_answer = Some(Box::new(answer));
        true
    }

    /// What the reset answers, if it is an answer.
    pub fn take_reset_answer(&mut self) -> Option<ResetAnswer> {
        self.reset_answer.take().map(|answer| *answer)
    }

    /// An acknowledgment or a reset is still to go out.
    pub fn owes_answer(&self) -> bool {
        self.reset_due || self.ack.now
    }

    /// The FIN goes out (RFC 9293 §3.10.4).
    pub fn note_fin(&mut self) {
        self.fins.note_sent();
        self.state = if self.state == State::CloseWait { State::LastAck } else { State::FinWait1 };
    }

    /// Whether the FIN is to go out. Nothing but the third ACK goes over a join before that is acknowledged.
    pub fn owes_fin(&self) -> bool {
        self.fins.is_requested() && !self.fins.is_sent() && self.join.is_none_or(|j| j.confirmed)
    }

    /// The octets of what is acknowledged up to `ack` that are our FIN's.
    pub fn fin_octets(&self, ack: u64) -> u64 {
        u64::from(self.fins.is_sent() && ack == self.snd_nxt)
    }

    /// Whether our FIN is acknowledged.
    pub fn is_fin_acknowledged(&self) -> bool {
        self.fins.is_sent() && self.snd_una == self.snd_nxt
    }

    /// The peer's FIN has this sequence number.
    pub fn note_peer_fin(&mut self, seq: u64) {
        self.fins.note_theirs(seq);
    }

    /// Whether the peer's FIN has come and everything before it, for the first time: it takes an octet.
    pub fn takes_fin(&mut self) -> bool {
        let takes = self.fins.take_theirs(self.rcv_nxt);
        self.rcv_nxt += u64::from(takes);
        takes
    }

    /// The peer's FIN was taken.
    pub fn fin_received(&mut self) -> Then {
        match self.state {
            State::Established => self.state = State::CloseWait,
            State::FinWait1 => self.state = State::Closing,
            State::FinWait2 => return Then::TimeWait,
            _ => {}
        }
        Then::Nothing
    }

    /// Our FIN was acknowledged.
    pub fn fin_acknowledged(&mut self) -> Then {
        match self.state {
            State::FinWait1 => self.state = State::FinWait2,
            State::Closing => return Then::TimeWait,
            State::LastAck => return Then::Closed,
            _ => {}
        }
        Then::Nothing
    }

    /// Both directions have ended (RFC 9293 §3.6.1). Answers until when the connection lingers.
    pub fn enter_time_wait(&mut self, now: Instant) -> Instant {
        self.state = State::TimeWait;
        self.timer = now + TIME_WAIT;
        self.timer
    }

    /// The connection is no more.
    pub fn enter_closed(&mut self) {
        self.state = State::Closed;
        self.fins.cancel(); // none follows a reset
        self.timer = Instant::NEVER;
        self.ack.deadline = Instant::NEVER;
        self.ack.now = false; // nor an acknowledgment: nobody waits for it
        // Nothing comes any more to fill its holes, and what waits behind them has not been acknowledged.
        self.reorder = Reorder::new();
    }
}

#[cfg(test)]
mod tests {
    use super::super::established;
    use super::*;
    use crate::TcpOptions;
    use wire::Flags;

    /// RFC 9293 figure 5, from ESTABLISHED on: our FIN goes out, is acknowledged, the peer's comes.
    #[test]
    fn the_states_of_the_end() {
        enum Step {
            Ours,
            Acknowledged,
            Theirs,
        }
        use Step::{Acknowledged, Ours, Theirs};
        let walk = |steps: &[Step]| {
            let mut end = established(&TcpOptions::default());
            let mut then = Then::Nothing;
            for step in steps {
                assert_eq!(then, Then::Nothing);
                match step {
                    Ours => end.note_fin(),
                    Acknowledged => then = end.fin_acknowledged(),
                    Theirs => then = end.fin_received(),
                }
            }
            (end.state, then)
        };
        assert_eq!(walk(&[Ours]), (State::FinWait1, Then::Nothing));
        assert_eq!(walk(&[Ours, Acknowledged]), (State::FinWait2, Then::Nothing));
        assert_eq!(walk(&[Ours, Acknowledged, Theirs]), (State::FinWait2, Then::TimeWait));
        assert_eq!(walk(&[Ours, Theirs]), (State::Closing, Then::Nothing));
        assert_eq!(walk(&[Ours, Theirs, Acknowledged]), (State::Closing, Then::TimeWait));
        assert_eq!(walk(&[Theirs]), (State::CloseWait, Then::Nothing));
        assert_eq!(walk(&[Theirs, Ours]), (State::LastAck, Then::Nothing));
        assert_eq!(walk(&[Theirs, Ours, Acknowledged]), (State::LastAck, Then::Closed));
    }

    #[test]
    fn a_fin_waits_for_what_precedes_it_and_takes_an_octet() {
        let mut end = established(&TcpOptions::default());
        end.note_peer_fin(101);
        assert!(!end.takes_fin());
        end.rcv_nxt = 101;
        assert!(end.takes_fin());
        assert!(!end.takes_fin(), "once");
        assert_eq!(end.rcv_nxt, 102);
        end.fins.request();
        assert!(end.owes_fin());
        end.note_fin();
        end.snd_nxt = 2;
        assert!(!end.owes_fin() && !end.is_fin_acknowledged());
        assert_eq!((end.fin_octets(1), end.fin_octets(2)), (0, 1));
        end.snd_una = 2;
        assert!(end.is_fin_acknowledged());
    }

    /// RFC 9293 §3.5.2; what its own reset says is more than an answer does.
    #[test]
    fn a_reset_answers_what_fits_nothing_unless_one_is_due() {
        let mut end = established(&TcpOptions::default());
        let segment = |flags| Segment::<wire::Span> { ack: 77, flags, ..Segment::default() };
        assert!(!end.answer_with_reset(&segment(Flags::RST | Flags::ACK)), "never a reset");
        assert!(!end.take_reset() && end.answer_with_reset(&segment(Flags::ACK)));
        assert!(end.owes_answer() && end.take_reset() && !end.take_reset());
        assert_eq!(end.take_reset_answer().map(|answer| (answer.seq, answer.flags)), Some((77, Flags::RST)));
        end.owe_reset();
        assert!(!end.answer_with_reset(&segment(Flags::ACK)));
        assert!(end.owes_reset() && end.take_reset_answer().is_none());
    }
}
