//! Path MTU discovery by ICMP (RFC 1191, RFC 8201): the segments of a subflow follow what its path takes (RFC 9293 §3.7.2,
//! SHLD-6). An increase is not looked for (RFC 1191 §6.3: "MAY").

use super::connection::Connection;
use crate::queue::Stream;

/// Below this a path MTU of IPv4 is not believed, as in Linux (`min_pmtu`): who lies could make segments of few bytes.
const LEAST_V4: u32 = 552;
/// What every link of IPv6 takes: who tells of less is not believed at all (RFC 8201 §4).
const LEAST_V6: u32 = 1_280;

impl<P: Stream> Connection<P> {
    /// A link on the path of subflow `r` takes packets of `mtu` bytes at most. What was sent in longer ones has not arrived:
    /// it goes out again in parts, at once.
    pub(super) fn reduce_path_mtu(&mut self, r: usize, mtu: u32) {
        let (ip_len, least) =
            if self.subflows[r].tuple().remote.ip().to_canonical().is_ipv4() { (20, LEAST_V4) } else { (40, LEAST_V6) };
        if ip_len == 40 && mtu < least {
            return;
        }
        let mss = mtu.max(least) - ip_len - wire::TCP_HEADER_LEN as u32;
        let (subflow, view) = (&mut self.subflows[r], &mut self.views[r]);
        // An error about one of many that were sent before, or one that tells of nothing new (RFC 1191 §6.4).
        let Some(less) = subflow.mss.checked_sub(mss).filter(|&less| less > 0) else { return };
        subflow.mss = mss;
        view.mss = view.mss.saturating_sub(less).max(1);
        subflow.split_outstanding(view);
        self.usual.forget();
        self.due.attention.insert(r);
        self.due.data = true;
    }
}
