//! A segment arrives: its place, how much room there is, what it acknowledges.

use wire::compact::{HAS_DATA_ACK, HAS_DATA_FIN, HAS_MAPPING};
use wire::{Compact, Dss, Mapping, Segment};

use crate::mptcp::connection::Connection;
use crate::mptcp::options::mptcp_options;
use crate::mptcp::state::data_level::Over;
use crate::numbers::Dsn;
use crate::offset::Offset;
use crate::queue::{SendQueue, Sendable};
use crate::reassembly::UNMAPPED;
use crate::tcp::arrival::known;
use crate::time::Instant;

impl<P: Sendable> Connection<P> {
    /// Where the data of a segment belongs, `ahead` octets beyond the first that is missing on its subflow, and up to where it
    /// acknowledges the stream. None: it says more than that, or lies outside of the windows.
    #[inline(always)]
    pub(in crate::mptcp) fn usual_place(
        &self,
        segment: &Compact<P>,
        empty: bool,
        seq: u64,
        ahead: u64,
    ) -> Option<(Offset, Offset)> {
        let len = if empty { 0 } else { segment.payload.len() as u64 };
        if self.level.over() == Over::Single {
            let fits = (empty && ahead == 0) || self.rx.window.allows(self.rx.nxt(), ahead + len);
            return fits.then_some((UNMAPPED, Offset::FIRST));
        }
        let parts = if empty { HAS_DATA_ACK } else { HAS_DATA_ACK | HAS_MAPPING };
        if segment.parts & (HAS_DATA_ACK | HAS_MAPPING | HAS_DATA_FIN) != parts {
            return None;
        }
        let data_ack = self.numbers.our_place(Dsn::acknowledged(segment.data_ack));
        // An acknowledgment of what was never sent is not for here.
        let mut fits = data_ack <= self.tx.nxt() && (ahead == 0 || ahead + len <= self.open_on_subflow());
        let mut offset = UNMAPPED;
        if !empty {
            offset = self.numbers.their_place(Dsn::mapped(segment.dsn));
            fits = fits && segment.ssn == seq as u32 && self.rx.window.allows(offset, len);
        }
        fits.then_some((offset, data_ack))
    }

    /// Whether what a segment says of the stream is its data and what has arrived.
    #[inline]
    pub(in crate::mptcp) fn is_of_data_only(&self, dss: Option<&Dss>) -> bool {
        match (self.level.over(), dss) {
            (Over::Single, _) => true,
            (Over::Multipath, Some(Dss { data_fin: false, mapping, .. })) => mapping.is_none_or(|m| m.len > 0),
            (Over::Multipath, _) => false,
        }
    }

    /// How far beyond what came in order a segment may reach on its subflow. Under MPTCP the window is the connection's; what
    /// a subflow holds out of order is bounded all the same: reinjections may double what the window allows.
    #[inline(always)]
    pub(in crate::mptcp) fn open_on_subflow(&self) -> u64 {
        match self.level.over() {
            Over::Single => self.rx.window.right().beyond(self.rx.nxt()),
            Over::Multipath => 2 * self.rx.window.size(),
        }
    }

    /// Cuts off what lies beyond the window (RFC 9293 §3.10.7.4, first): the peer was not allowed to send it, and there is no
    /// room for it. Answers whether a FIN is left, and how many bytes. Under MPTCP the window is the connection's, and what
    /// its mapping says is compared with it.
    #[inline]
    pub(in crate::mptcp) fn trim_to_window(&mut self, r: usize, seq: u64, segment: &mut Segment<P>) -> (bool, u64) {
        let len = segment.payload.len() as u64;
        if self.level.over() == Over::Single && len > 0 {
            let fits = (self.subflows[r].rcv_nxt() + self.open_on_subflow()).saturating_sub(seq);
            if fits < len {
                segment.payload = segment.payload.slice(0, fits as usize);
                self.owe_acknowledgment(r);
                return (false, fits);
            }
        }
        (segment.flags.fin(), len)
    }

    /// Up to where a usual segment acknowledges the stream, of which `window` octets more have room; `place`: where it lies on
    /// subflow `r`, and up to where it acknowledges there. TCP's is that of its subflow ([`acknowledge_stream`](Self::acknowledge_stream)).
    #[inline(always)]
    pub(in crate::mptcp) fn hear_data_ack(
        &mut self,
        now: Instant,
        r: usize,
        place: (u64, u64),
        data_ack: Offset,
        window: u64,
    ) {
        if self.level.over() == Over::Multipath {
            let window = self.window_as_kept(r, place, window);
            self.acknowledged_with_edge(now, data_ack, data_ack.saturating_add(window));
        }
    }

    /// For TCP the acknowledgment of the subflow is that of the data; SYN and FIN take a number each. `window`: what the
    /// segment tells, and whether that is news. `outstanding`: something was under way.
    #[inline(always)]
    pub(in crate::mptcp) fn acknowledge_stream<const KNOWN: u8>(
        &mut self,
        now: Instant,
        r: usize,
        ack: u64,
        (window, fresh): (u64, bool),
        outstanding: bool,
    ) {
        let usual = KNOWN != known::NOTHING;
        if self.level.over() == Over::Single && (usual || r == self.fallback.subflow()) {
            let fin = if usual { 0 } else { self.subflows[r].fin_octets(ack) };
            let to = if usual && !outstanding { self.tx.una() } else { self.acknowledged_by_subflow(r, ack - fin) };
            debug_assert!(!usual || to == self.acknowledged_by_subflow(r, ack));
            let right = if fresh { to.saturating_add(window) } else { self.tx.right() };
            self.acknowledged_with_edge(now, to, right);
            if !usual {
                self.check_flushed();
                self.infinite_acknowledged(r, ack);
            }
        }
    }

    /// Whether a segment speaks as its sender should: after a fallback without a DSS, unless the peer has not heard of it, and
    /// otherwise with one. False: its subflow was reset for that.
    pub(in crate::mptcp) fn speaks_properly(&mut self, now: Instant, r: usize, ack: u64, segment: &Segment<P>) -> bool {
        match (self.level.over(), &segment.options.dss) {
            (Over::Single, Some(_)) => self.tell_infinite_again(r),
            (Over::Multipath, None) if ack > self.subflows[r].snd_una() && mptcp_options(segment).next().is_none() => {
                return self.options_lost(now, r);
            }
            _ => {}
        }
        true
    }

    /// The mapping of a DATA_FIN on a segment without data.
    #[inline]
    pub(in crate::mptcp) fn lone_data_fin(&self, segment: &Segment<P>) -> Option<Mapping> {
        match segment.options.dss {
            Some(Dss { mapping, data_fin: true, .. }) if segment.payload.is_empty() && self.level.is_multipath() => {
                mapping
            }
            _ => None,
        }
    }

    /// Everything below `to` arrived at the peer, which has room for `window` bytes from there on. Under TCP that is less
    /// than before if the peer says so. Of Multipath TCP the acknowledgments come over several paths, and one that was
    /// overtaken is known by nothing: the largest edge holds (RFC 8684 §3.3.5).
    #[inline(always)]
    pub(in crate::mptcp) fn data_acknowledged(&mut self, now: Instant, to: Offset, window: u64) {
        self.acknowledged_with_edge(now, to, to.saturating_add(window));
        self.check_flushed();
    }

    /// The same, with the end of what the peer has room for.
    #[inline(always)]
    pub(in crate::mptcp) fn acknowledged_with_edge(&mut self, now: Instant, to: Offset, right: Offset) {
        if self.tx.open_to(right) {
            self.due.data = true;
            self.timers.window_opened();
        } else if self.level.window_shrinks() {
            self.tx.draw_back(right);
        }
        let kept = if <P::Queue as SendQueue<P>>::KEEPS { self.bound_from(to) } else { to };
        if self.tx.acknowledge(to, kept) {
            self.timers.acknowledged();
            if self.tx.is_outstanding() || self.ending.is_data_fin_outstanding() {
                self.arm_data_timer(now);
            }
        }
    }
}
