//! Loss recovery of a subflow: fast recovery with proportional rate reduction (RFC 6675, RFC 6937), and the time
//! after a retransmission timeout (RFC 6298 §5).

/// State of a recovery; meaningful while the subflow's phase is not `Open`.
#[derive(Clone, Copy, Debug, Default)]
pub struct Recovery {
    /// The recovery is over when this sequence number is acknowledged (RFC 6675's RecoveryPoint).
    pub point: u64,
    /// Segments in flight when it began (RecoverFS).
    flight: u32,
    /// Segments delivered since (prr_delivered).
    delivered: u32,
    /// Segments sent since (prr_out).
    pub sent: u32,
    /// A part of what was outstanding then has been acknowledged since, and the timer is not to be restarted by the next part
    /// (RFC 6582 §4, "Impatient").
    pub waits: bool,
}

/// What to return to when a loss turns out to have been none (RFC 3522, RFC 4015, RFC 2883).
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Undo {
    pub cwnd: f64,
    pub ssthresh: f64,
    /// bytes_since_loss and bytes_between_losses of the view.
    pub bytes: (u64, u64),
    /// First unacknowledged sequence number when the recovery began: duplicates below it are of earlier ones.
    pub from: u64,
    /// Retransmissions that no D-SACK has reported as needless, with those of an earlier recovery that were unanswered.
    pub retransmissions: u32,
    /// The first retransmission.
    pub first: Option<Retransmission>,
}

/// What the Eifel detection keeps of a retransmission (RFC 3522 §3.2, RetransmitTS).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Retransmission {
    /// Its timestamp.
    pub stamp: u32,
    /// An acknowledgment up to here is one of it.
    pub end: u64,
}

/// Forward RTO-recovery (RFC 5682 §2.1): is a timeout spurious?
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Frto {
    /// It is not asked, or answered.
    #[default]
    Off,
    /// The first segment was sent again; nothing was acknowledged since (step 1).
    Waiting,
    /// The first acknowledgment advanced: only new data is sent until the next one (step 2b). Holds snd_nxt of then.
    NewDataOnly(u64),
}

impl Recovery {
    /// A recovery that begins now.
    pub fn begin(point: u64, flight: u32) -> Self {
        Recovery { point, flight: flight.max(1), delivered: 0, sent: 0, waits: false }
    }

    /// The congestion window after an acknowledgment, in segments (RFC 6937 §3.1, with the reduction bound chosen
    /// as §3 has it: slow start while the retransmissions arrive, packet conservation otherwise).
    pub fn window(&mut self, delivered: u32, pipe: u32, ssthresh: f64, advanced: bool, first: bool) -> f64 {
        self.delivered += delivered;
        let pipe = f64::from(pipe);
        let (all_delivered, sent) = (f64::from(self.delivered), f64::from(self.sent));
        let mut send = if pipe > ssthresh {
            (all_delivered * ssthresh / f64::from(self.flight)).ceil() - sent
        } else {
            let conserve = (all_delivered - sent).max(f64::from(delivered));
            (ssthresh - pipe).min(if advanced { conserve + 1.0 } else { conserve })
        };
        if first {
            send = send.max(1.0); // the fast retransmit itself (RFC 5681 §3.2 step 3)
        }
        pipe + send.max(0.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 6937 §4's first example: 20 segments in flight, the first lost, ssthresh 10. The window shrinks by one
    /// segment for every two delivered.
    #[test]
    fn one_segment_goes_out_for_every_two_delivered() {
        let mut prr = Recovery::begin(20, 20);
        // Three segments were selectively acknowledged, one is lost: pipe 16.
        let mut pipe = 16;
        let mut cwnd = prr.window(3, pipe, 10.0, false, true);
        assert_eq!(cwnd, 18.0, "⌈3 · 10 / 20⌉ may go out");
        let mut sent_on = Vec::new();
        for ack in 4..=19 {
            while f64::from(pipe) + 1.0 <= cwnd {
                pipe += 1;
                prr.sent += 1;
                sent_on.push(ack - 1);
            }
            pipe -= 1;
            cwnd = prr.window(1, pipe, 10.0, false, false);
        }
        while f64::from(pipe) + 1.0 <= cwnd {
            pipe += 1;
            prr.sent += 1;
        }
        assert_eq!(prr.sent, 10, "half of the 20 that were in flight: {sent_on:?}");
        assert_eq!(pipe, 10);
    }

    /// RFC 5681 §3.2 step 3: also where a timer has found the loss, and nothing was delivered.
    #[test]
    fn the_fast_retransmit_goes_out_in_any_case() {
        assert_eq!(Recovery::begin(20, 20).window(0, 19, 10.0, false, true), 20.0);
        assert_eq!(Recovery::begin(20, 20).window(0, 19, 10.0, false, false), 19.0);
    }

    #[test]
    fn heavy_loss_is_conserved_then_slow_started() {
        // 20 in flight, 15 lost: pipe 2 after three duplicate ACKs, below ssthresh 10.
        let mut prr = Recovery::begin(20, 20);
        let cwnd = prr.window(3, 2, 10.0, false, true);
        assert_eq!(cwnd, 5.0, "no more than was delivered");
        prr.sent = 3;
        // An ACK that advances may send one more than it delivered.
        assert_eq!(prr.window(1, 4, 10.0, true, false), 4.0 + 2.0);
    }
}
