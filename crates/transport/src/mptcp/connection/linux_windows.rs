//! Which window a DATA_ACK goes with where a sender is as Linux's. RFC 8684 §3.3.5 has the end of what may be sent computed from the
//! DATA_ACK and the window of one segment. Linux (`ack_update_msk`) adds the window that its subflow keeps, which a duplicate
//! acknowledgment does not renew (`tcp_may_update_window`) and which grows to what another subflow has allowed when data is bound
//! (`mptcp_check_allowed_size`). While a slow subflow repairs a loss the others move the DATA_ACK on, so that the sender goes
//! beyond what it was allowed; the receiver has acknowledged that on the subflow when it drops it, and only the timer of the
//! data level sends it again. With a window that is full that costs most of the throughput.

use super::Connection;
use crate::queue::Sendable;

impl<P: Sendable> Connection<P> {
    /// The window to be added to the DATA_ACK of a segment at place `seq` of subflow `r` that acknowledges up to `ack` there and tells
    /// `window` bytes. Before the segment changes anything of the subflow.
    #[inline(always)]
    pub(in crate::mptcp) fn window_as_kept(&mut self, r: usize, (seq, ack): (u64, u64), window: u64) -> u64 {
        match &mut self.silence {
            Some(silence) if silence.keeps_windows => {
                let subflow = &mut self.subflows[r];
                let kept = silence.hear_window(r, subflow.renews_window(seq, ack), window);
                subflow.set_window_edge(ack.max(subflow.snd_una()) + kept);
                kept
            }
            _ => window,
        }
    }

    /// Data is bound to subflow `r` from which on the peer has room for `open_bytes`: its window is at least that.
    pub(super) fn raise_window(&mut self, r: usize, open_bytes: u64) {
        let Some(silence) = self.silence.as_mut().filter(|silence| silence.keeps_windows) else { return };
        silence.raise_window(r, open_bytes);
        let subflow = &mut self.subflows[r];
        subflow.set_window_edge(subflow.right().max(subflow.snd_una() + open_bytes));
    }
}

#[cfg(test)]
mod tests {
    use wire::Segment;

    use super::super::fixture::{WINDOW, arrives, data, established, sent, signal};
    use crate::mptcp::state::silence::Silence;
    use crate::offset::Offset;
    use crate::time::Instant;
    use crate::{Protocol, Receiver};

    /// Both subflows have sent 2,000 bytes. The second reports a hole and 16,000 from 3,000 on, which are 19,000; but its window is
    /// still the 20,000 that it told before, and the end is 23,000.
    #[test]
    fn a_duplicate_acknowledgment_goes_with_the_window_before() {
        let edge = |keeps: bool| {
            let mut c = established(Protocol::Mptcp, 2);
            c.silence = Some(Box::new(Silence::new(keeps)));
            let ms = Instant::from_millis;
            (c.views[0].cwnd, c.views[1].cwnd) = (2.0, 2.0);
            c.offer(4_000);
            assert_eq!(sent(&mut c, ms(1)).iter().filter(|(r, ..)| *r == 1).count(), 2);
            let first = signal(&c, 1, 1, 0);
            arrives(&mut c, ms(2), 1, first);
            let duplicate = Segment { window: 16_000, ..signal(&c, 1, 1, 3_000) };
            arrives(&mut c, ms(3), 1, duplicate);
            let before = c.tx.right().octets();
            // What acknowledges something renews it.
            let renewed = Segment { window: 30_000, ..signal(&c, 1, 1_001, 3_000) };
            arrives(&mut c, ms(4), 1, renewed);
            (before, c.tx.right().octets())
        };
        assert_eq!(edge(true), (3_000 + WINDOW, 33_000));
        assert_eq!(edge(false), (WINDOW, 33_000));
    }

    /// Data from 1,000 on is bound when another subflow allows 30,000: 29,000 are the least that the subflow's window is.
    #[test]
    fn a_window_grows_to_what_others_allow() {
        let mut silence = Silence::new(true);
        assert_eq!(silence.hear_window(0, true, 20_000), 20_000);
        silence.raise_window(0, 29_000);
        assert_eq!((silence.hear_window(0, false, 10_000), silence.hear_window(0, true, 10_000)), (29_000, 10_000));
        assert_eq!((silence.hear_window(0, false, 0), silence.of(0).window_bytes), (0, 0), "a window of 0 counts");
    }

    /// So does the edge on the subflow itself: data may be sent there up to it, until the peer tells of another window.
    #[test]
    fn the_edge_of_a_subflow_follows_its_window() {
        let mut c = established(Protocol::Mptcp, 2);
        c.silence = Some(Box::new(Silence::new(true)));
        let first = signal(&c, 1, 1, 0);
        arrives(&mut c, Instant::from_millis(1), 1, first);
        c.raise_window(1, 50_000);
        assert_eq!(c.subflows[1].right(), 50_001);
        let told = Segment { window: 16_000, ..signal(&c, 1, 1, 0) };
        arrives(&mut c, Instant::from_millis(2), 1, told);
        assert_eq!(c.subflows[1].right(), 50_001, "a duplicate does not renew it");
        c.silence = Some(Box::new(Silence::new(false)));
        c.raise_window(1, 60_000);
        assert_eq!(c.subflows[1].right(), 50_001, "only of a sender as Linux's");
    }

    /// RFC 8684 §3.3.5 has it unacknowledged; Linux acknowledges it on the subflow and keeps nothing of it.
    #[test]
    fn what_lies_beyond_the_window_is_lost_for_the_data_level_only() {
        let mut c = established(Protocol::Mptcp, 1);
        std::sync::Arc::make_mut(&mut c.config).tcp.receiver = Receiver::Linux;
        let beyond = data(&c, 1, WINDOW - 500, 1_000, 1_000);
        arrives(&mut c, Instant::from_millis(1), 0, beyond);
        assert_eq!((c.subflows[0].rcv_nxt(), c.rx.nxt(), c.rx.has_hole()), (1_001, Offset::FIRST, false));
    }
}
