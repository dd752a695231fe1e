//! The timer of a connection: retransmission, handshake, TIME-WAIT (RFC 6298 §5, RFC 9293 §3.8.3).

use super::{State, Subflow};
use crate::TcpOptions;
use crate::queue::Sendable;
use crate::tcp::wheel;
use crate::time::Instant;

/// What follows when the timer has expired.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Expired {
    /// Nothing, or a connection in TIME-WAIT has closed.
    Nothing,
    /// The SYN or SYN/ACK goes out again.
    Syn,
    /// The peer has not answered the handshake as often as it may be sent.
    Unanswered,
    /// The third ACK of MP_JOIN goes out again (RFC 8684 §3.2).
    ThirdAck,
    /// It was never acknowledged.
    Unconfirmed,
    /// Nothing is outstanding: a closed window is to be probed.
    Idle,
    /// Data was sent again as often as may be (RFC 9293 §3.8.3, R2).
    Hopeless,
    /// What is outstanding is lost. `first`: it was not sent again by this timer before.
    Retransmit { first: bool },
}

impl<P: Sendable> Subflow<P> {
    /// The timer of retransmissions expires then.
    pub fn set_timer(&mut self, at: Instant) {
        self.timer = at;
    }

    /// What is sent again probes a closed window: when it opens again, data has all its attempts.
    pub fn probes_window(&mut self) {
        self.retries = 1;
    }

    /// Whether an acknowledgment has waited for as long as it may, which is due then.
    pub fn is_acknowledgment_overdue(&mut self, now: Instant) -> bool {
        let overdue = self.ack.deadline <= now;
        if overdue {
            self.ack.expire(now);
        }
        overdue
    }

    /// Restarts the retransmission timer (RFC 6298 §5.1–5.3).
    pub fn restart_timer(&mut self, now: Instant) {
        self.timer = if self.board.is_empty() { Instant::NEVER } else { self.rtt.expiry(now) };
    }

    /// When the timeout of the oldest segment is over, which is the latest at which Linux probes once it has sent more
    /// (`tcp_rto_delta_us`).
    #[cold]
    pub fn timeout_of_first(&self) -> Instant {
        self.board.first_sent_at().map_or(Instant::NEVER, |sent_at| sent_at + wheel::ticks(self.rtt.rto()))
    }

    /// When a sender wants attention for what it has just sent or heard; `clean`, as it was then.
    #[inline(always)]
    pub fn sender_deadline(&self, clean: bool) -> Instant {
        if clean { self.timer.min(self.rack.probe_at) } else { self.deadline() }
    }

    /// When this subflow wants attention.
    pub fn deadline(&self) -> Instant {
        let paced_at = self.pacing.as_ref().map_or(Instant::NEVER, |pacing| pacing.deadline());
        self.timer.min(self.ack.deadline).min(self.rack.timer).min(self.rack.probe_at).min(paced_at)
    }

    /// When a segment counts as lost for want of an acknowledgment, and when a tail loss probe goes out (RFC 8985).
    pub fn rack_timers(&self) -> (Instant, Instant) {
        (self.rack.timer, self.rack.probe_at)
    }

    /// The tick at which Linux's timer of what is outstanding is to expire (`icsk_timeout`): that for what is late, or else the probe's or the
    /// retransmission's.
    pub fn outstanding_tick(&self) -> Instant {
        if self.rtt.ticks && !self.rack.timer.is_never() {
            return self.rack.timer_tick();
        }
        match (self.rack.probe_at < self.timer, self.timer.is_never()) {
            (true, _) => self.rack.probe_tick(),
            (false, true) => Instant::NEVER,
            (false, false) => self.rtt.tick_of(self.timer),
        }
    }

    /// The timer has expired. `beyond_window`: all that is outstanding lies beyond a window that the peer has drawn back, and
    /// which it need not acknowledge: retransmissions are then probes of a closed window, which are not given up (RFC 9293 §3.8.6,
    /// SHLD-17; §3.8.6.1).
    pub fn timer_expired(&mut self, now: Instant, options: &TcpOptions, beyond_window: bool) -> Expired {
        self.timer = Instant::NEVER;
        let opening = matches!(self.state, State::SynSent | State::SynReceived);
        match self.state {
            State::Closed => Expired::Nothing,
            State::TimeWait => {
                self.state = State::Closed;
                self.ack.deadline = Instant::NEVER;
                Expired::Nothing
            }
            _ if opening || (self.active_open && self.join.is_some_and(|j| !j.confirmed)) => {
                self.retries += 1;
                let linear = if self.state == State::SynSent { options.linear_syns() } else { 0 };
                if self.retries > linear {
                    self.rtt.backoff += 1;
                }
                match (self.retries > options.syn_retries + linear, opening) {
                    (true, true) => Expired::Unanswered,
                    (true, false) => Expired::Unconfirmed,
                    (false, true) => {
                        self.syn_due = true;
                        Expired::Syn
                    }
                    (false, false) => {
                        self.ack.now = true;
                        self.timer = self.rtt.expiry(now);
                        Expired::ThirdAck
                    }
                }
            }
            _ if self.board.is_empty() => Expired::Idle,
            _ if self.retries >= options.retries && !beyond_window => Expired::Hopeless,
            _ => Expired::Retransmit { first: self.retries == 0 },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::established;
    use super::*;
    use crate::offset::Offset;
    use crate::{Kernel, Timers};
    use wire::Span;

    fn expire(end: &mut Subflow<Span>, beyond_window: bool) -> Expired {
        let options = TcpOptions { retries: 3, syn_retries: 2, ..TcpOptions::default() };
        end.timer_expired(Instant::from_millis(1_000), &options, beyond_window)
    }

    #[test]
    fn a_handshake_is_given_up_after_its_retries() {
        let mut end = established(&TcpOptions::default());
        end.state = State::SynSent;
        assert_eq!([0; 3].map(|_| expire(&mut end, false)), [Expired::Syn, Expired::Syn, Expired::Unanswered]);
        assert!(end.syn_due && end.rtt.backoff == 3);
        let mut end = established(&TcpOptions::default());
        end.join = Some(Default::default());
        assert_eq!(expire(&mut end, false), Expired::ThirdAck);
        assert!(end.ack.now && end.timer == Instant::from_secs(1) + 2 * end.rtt.base_rto());
        assert_eq!([0; 2].map(|_| expire(&mut end, false)), [Expired::ThirdAck, Expired::Unconfirmed]);
    }

    /// 1, 2, 3, 4 and 5 s after the first, then 7 s and 11 s; Linux 6.1: 1, 3, 7 s.
    #[test]
    fn the_first_syns_of_linux_are_sent_again_at_the_same_interval() {
        let backoffs = |state, kernel| {
            let options = TcpOptions { timers: Timers::Linux, syn_retries: 2, kernel, ..TcpOptions::default() };
            let mut end = established(&options);
            end.state = state;
            let mut found = Vec::new();
            while end.timer_expired(Instant::from_millis(1_000), &options, false) == Expired::Syn {
                found.push(end.rtt.backoff);
            }
            found
        };
        assert_eq!(backoffs(State::SynSent, Kernel::V6_12), [0, 0, 0, 0, 1, 2]);
        assert_eq!(backoffs(State::SynSent, Kernel::V6_1), [1, 2]);
        assert_eq!(backoffs(State::SynReceived, Kernel::V6_12), [1, 2]);
    }

    #[test]
    fn data_is_given_up_after_its_retries_unless_it_probes_a_window() {
        let mut end = established(&TcpOptions::default());
        assert_eq!(expire(&mut end, false), Expired::Idle);
        end.board.push(1, Offset::FIRST, Span { offset: 0, len: 100 }, false, Instant::ZERO);
        assert_eq!(expire(&mut end, false), Expired::Retransmit { first: true });
        end.retries = 3;
        assert_eq!(expire(&mut end, false), Expired::Hopeless);
        assert_eq!(expire(&mut end, true), Expired::Retransmit { first: false });
        end.state = State::TimeWait;
        assert_eq!((expire(&mut end, false), end.state), (Expired::Nothing, State::Closed));
    }

    #[test]
    fn the_earliest_timer_counts() {
        let mut end = established(&TcpOptions::default());
        assert_eq!(end.deadline(), Instant::NEVER);
        (end.timer, end.ack.deadline) = (Instant::from_millis(50), Instant::from_millis(40));
        assert_eq!((end.deadline(), end.sender_deadline(true)), (Instant::from_millis(40), Instant::from_millis(50)));
        (end.rack.timer, end.rack.probe_at) = (Instant::from_millis(20), Instant::from_millis(30));
        assert_eq!((end.deadline(), end.sender_deadline(true)), (Instant::from_millis(20), Instant::from_millis(30)));
        end.restart_timer(Instant::from_millis(7));
        assert_eq!(end.timer, Instant::NEVER, "nothing is outstanding");
    }
}
