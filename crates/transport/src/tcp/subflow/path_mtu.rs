//! Path MTU discovery by ICMP (RFC 1191, RFC 8201): segments follow what the path takes (RFC 9293 §3.7.2, SHLD-6). An increase is
//! not looked for (RFC 1191 §6.3: "MAY").

use super::Subflow;
use crate::congestion::{Phase, View};
use crate::queue::Sendable;
use crate::tcp::recovery::Frto;

/// Below this a path MTU of IPv4 is not believed, as in Linux (`min_pmtu`): who lies could make segments of few bytes.
const LEAST_V4: u32 = 552;
/// What every link of IPv6 takes: who tells of less is not believed at all (RFC 8201 §4).
const LEAST_V6: u32 = 1_280;

impl<P: Sendable> Subflow<P> {
    /// A link on the path takes packets of `mtu` bytes at most. What was sent in longer ones has not arrived: it is to go out
    /// again in parts, at once. Answers whether that is news.
    pub fn reduce_path_mtu(&mut self, mtu: u32, view: &mut View) -> bool {
        let (ip_len, least) =
            if self.tuple().remote.ip().to_canonical().is_ipv4() { (20, LEAST_V4) } else { (40, LEAST_V6) };
        if ip_len == 40 && mtu < least {
            return false;
        }
        let mss = mtu.max(least) - ip_len - wire::TCP_HEADER_LEN as u32;
        // An error about one of many that were sent before, or one that tells of nothing new (RFC 1191 §6.4).
        let Some(less) = self.mss.checked_sub(mss).filter(|&less| less > 0) else { return false };
        self.mss = mss;
        view.mss = view.mss.saturating_sub(less).max(1);
        self.split_outstanding(view);
        true
    }

    /// Outstanding segments that are longer than the view's MSS go out again in parts.
    ///
    /// They were lost for their length, not for congestion: the congestion window "should not change" (RFC 1191 §6.5), so
    /// that this is no recovery, and no undoing of one. Of the slow start which the RFC asks for too there is as much as in
    /// Linux (`tcp_simple_retransmit`): the window stays as many segments, which are shorter now.
    #[cold]
    fn split_outstanding(&mut self, view: &mut View) {
        let parts = self.board.split(view.mss);
        if parts.is_empty() {
            return;
        }
        self.detection.set_clean(false);
        if let Some(rate) = &mut self.rate {
            rate.split(&parts);
        }
        if view.phase == Phase::Open {
            view.phase = Phase::Loss;
            let recovery = &mut self.losses.get_or_insert_default().recovery;
            (recovery.point, recovery.sent) = (self.snd_nxt, 0);
        }
        if let Some(losses) = &mut self.losses {
            losses.undo = None;
            losses.frto = Frto::Off;
        }
        self.detection.forget_duplicates();
        self.probe_due = false;
        self.rack.disarm();
        self.rack.probe = None;
        view.in_flight = self.pipe();
    }
}
