//! Data arrives: its place in the stream, reassembly on the subflow and on the connection (RFC 8684 §3.3).

use wire::{DataNumber, Dss, Mapping, MptcpOption, Options, Timestamps};

use super::{Connection, Event};
use crate::Receiver;
use crate::mptcp::state::reset::ResetReason;
use crate::mptcp::state::verifying::MapRange;
use crate::mptcp::state::waiting::Early;
use crate::numbers::Dsn;
use crate::offset::Offset;
use crate::queue::Sendable;
use crate::reassembly::{Part, Piece, UNMAPPED};
use crate::tcp::arrival::known;
use crate::tcp::subflow::receive::AtHole;
use crate::time::Instant;

/// Mappings kept of a subflow: one for each segment that may be out of order. Data whose mapping finds no room is
/// dropped, and comes again.
const MAX_MAPPINGS: usize = 16_384;
/// A mapping further ahead of the window than this is nonsense.
const FAR: u64 = 1 << 32;

/// A mapping that no sender could have meant.
struct InvalidMapping;

impl<P: Sendable> Connection<P> {
    pub(super) fn receive_data(&mut self, now: Instant, r: usize, seq: u64, options: &Options, payload: P) {
        let map = match self.mapping_on(seq, options) {
            Ok(map) => map,
            Err(InvalidMapping) => {
                self.reset_subflow(now, r, ResetReason::MptcpError, true);
                return;
            }
        };
        let len = payload.len() as u64;
        let end = seq + len;
        let mut offset = UNMAPPED;
        if let Some(m) = map {
            let whole = m.from <= seq && end <= m.to;
            if whole {
                offset = m.offset + (seq - m.from);
            }
            if whole && !self.rx.window.allows(offset, len) && self.config.tcp.receiver != Receiver::Linux {
                // Not in the connection's window, whatever room the subflow has: it is not taken, and so not acknowledged
                // (RFC 8684 §3.3.5). Linux acknowledges it on the subflow and drops it then ([`deliver`](Self::deliver)).
                self.refuse(now, r, options.timestamps, len);
                return;
            }
            let needed = self.fallback.checksum() || !whole || m.to != end;
            if needed && whole && !self.rx.window.allows_mapping(m.offset) {
                self.refuse(now, r, options.timestamps, len);
                return;
            }
            if needed && !self.keep_mapping(r, m) {
                self.take_echo(r, options.timestamps, len, now);
                self.subflows[r].count_data_segment();
                return; // as if it had been lost
            }
        }
        self.take_data::<{ known::NOTHING }>(now, r, seq, (offset, options.timestamps), payload);
        if self.rx.short_acks {
            self.acknowledge_long();
        }
    }

    /// Data beyond the window.
    #[cold]
    fn refuse(&mut self, now: Instant, r: usize, timestamps: Option<Timestamps>, len: u64) {
        self.take_echo(r, timestamps, len, now);
        self.subflows[r].count_data_segment();
        self.owe_acknowledgment(r);
    }

    /// Data that may be taken, with its place in the stream, if that is known.
    #[inline(always)]
    pub(super) fn take_data<const KNOWN: u8>(
        &mut self,
        now: Instant,
        r: usize,
        seq: u64,
        (offset, timestamps): (Offset, Option<Timestamps>),
        payload: P,
    ) {
        if self.take_echo(r, timestamps, payload.len() as u64, now) {
            self.note_short(r, seq, payload.len() as u64);
        }
        let subflow = &mut self.subflows[r];
        if seq == subflow.rcv_nxt() && !subflow.has_pieces() {
            self.data_in_order::<KNOWN>(now, r, seq, offset, payload);
        } else {
            self.data_at_hole(now, r, seq, offset, payload);
        }
    }

    /// Learns the round trip from an echo, for the receive buffer that grows. On TCP the buffer is looked at again when one is
    /// over, which may be earlier now. Answers whether the receiver is that of Linux's Multipath TCP.
    #[inline(always)]
    fn take_echo(&mut self, r: usize, timestamps: Option<Timestamps>, len: u64, now: Instant) -> bool {
        let Some(tuning) = &mut self.rx.window.tuning else { return false };
        if tuning.shared && self.config.tcp.receiver != Receiver::Linux {
            self.subflows[r].take_each_echo(timestamps, now);
            return false;
        }
        let shorter = self.subflows[r].take_echo(timestamps, len, now);
        if shorter && !tuning.shared {
            tuning.look_again();
        }
        tuning.shared
    }

    /// Linux takes a segment in order that is not full-sized for one that was pushed (`tcp_measure_rcv_mss`).
    #[cold]
    fn note_short(&mut self, r: usize, seq: u64, len: u64) {
        let subflow = &self.subflows[r];
        if seq == subflow.rcv_nxt() && len < u64::from(subflow.rcv_ssthresh().longest) {
            self.note_push(r);
        }
    }

    /// Data came behind a hole, or fills one.
    #[inline(never)]
    fn data_at_hole(&mut self, now: Instant, r: usize, seq: u64, offset: Offset, payload: P) {
        let subflow = &mut self.subflows[r];
        subflow.count_data_segment();
        let piece = Piece { at: seq, payload, offset, arrived_at: now };
        let Some(piece) = piece.above(subflow.rcv_nxt()) else { return };
        if self.config.tcp.receiver == Receiver::Linux {
            let met = self.meet_hole(r, &piece);
            self.place_at_hole(now, r, piece);
            self.acknowledge_at_hole(now, r, &met);
        } else {
            // Acknowledge at once (RFC 5681 §4.2).
            subflow.acknowledge_now();
            self.due.acks.insert(r);
            self.place_at_hole(now, r, piece);
        }
        self.check_end_of_stream(r);
    }

    /// The piece is kept, or fills the first hole.
    #[inline(always)]
    pub(super) fn place_at_hole(&mut self, now: Instant, r: usize, piece: Piece<P>) {
        let subflow = &mut self.subflows[r];
        let room = self.rx.window.allows_pieces(subflow.pieces());
        match subflow.take_at_hole(piece, room) {
            AtHole::Behind => {}
            AtHole::Filled => self.drain_subflow(now, r),
            AtHole::Next(piece) => {
                if self.take_in_order(now, r, piece) {
                    self.drain_subflow(now, r);
                }
            }
        }
    }

    /// Data came in order on its subflow, and no hole is behind it.
    #[inline(always)]
    fn data_in_order<const KNOWN: u8>(&mut self, now: Instant, r: usize, seq: u64, offset: Offset, payload: P) {
        let subflow = &mut self.subflows[r];
        subflow.count_data_segment();
        if subflow.rcv_ssthresh().may_grow() {
            self.grow_window(r, payload.len());
        }
        let owed = self.subflows[r].owe_for_data(now, payload.len() as u64);
        self.owe_by(r, owed);
        // A usual subflow is trusted, and its stream has not ended.
        let trusted = KNOWN != known::NOTHING
            || (self.trusts(r) && !self.rx.ended() && self.rx.window.allows(self.rx.nxt(), payload.len() as u64));
        if trusted {
            self.receive_in_order(now, r, seq, offset, payload);
        } else {
            self.take_in_order(now, r, Piece { at: seq, payload, offset, arrived_at: now });
        }
        if KNOWN == known::NOTHING {
            self.check_end_of_stream(r);
        }
    }

    /// The mapping that a segment carries. After fallback the peer may still send some; they hold until it says that
    /// the subflow is the stream.
    fn mapping_on(&mut self, seq: u64, options: &Options) -> Result<Option<MapRange>, InvalidMapping> {
        let multipath = self.level.is_multipath();
        if self.fallback.receives_single() || (!multipath && options.dss.is_none()) {
            return Ok(None);
        }
        match options.dss {
            Some(Dss { mapping: Some(Mapping { len: 0, .. }), .. }) => Ok(None), // the infinite mapping
            Some(Dss { mapping: Some(mapping), data_fin, .. }) => {
                let map = self.map_range(seq, &mapping, data_fin);
                if map.is_none() && multipath { Err(InvalidMapping) } else { Ok(map) }
            }
            // MP_CAPABLE with data: the first bytes of the stream (RFC 8684 §3.1).
            _ => Ok(options.rare.as_deref().and_then(|rare| {
                rare.mptcp.iter().find_map(|o| match o {
                    MptcpOption::MpCapable(m) => m.data.map(|(len, checksum)| MapRange {
                        from: 1,
                        to: 1 + u64::from(len),
                        offset: Offset::FIRST,
                        checksum,
                        data_fin: false,
                    }),
                    _ => None,
                })
            })),
        }
    }

    /// A place in the stream from its number, unless that is far from anything that could be sent.
    fn place_of(&self, dsn: DataNumber) -> Option<Offset> {
        let offset = self.numbers.their_place(Dsn::nearest(dsn, self.numbers.theirs(self.rx.nxt())));
        (offset <= self.rx.window.right().saturating_add(FAR)).then_some(offset)
    }

    /// A DSS mapping in our numbers. DATA_FIN takes its last octet (RFC 8684 §3.3.3), and ends the stream there.
    fn map_range(&mut self, seq: u64, mapping: &Mapping, data_fin: bool) -> Option<MapRange> {
        let offset = self.place_of(mapping.dsn)?;
        let len = u64::from(mapping.len).saturating_sub(u64::from(data_fin));
        if data_fin && !self.fallback.checksum() {
            self.rx.note_end(offset + len);
        }
        let from = wire::expand32(seq, mapping.ssn);
        let to = from.checked_add(len)?;
        // "If a checksum is present when its use has not been negotiated" the subflow is broken (RFC 8684 §3.3.1).
        let wanted = self.fallback.checksum() || mapping.checksum.is_none();
        wanted.then_some(MapRange { from, to, offset, checksum: mapping.checksum, data_fin })
    }

    /// Keeps a mapping for data that is not in order yet. False: there is no room for it.
    fn keep_mapping(&mut self, r: usize, map: MapRange) -> bool {
        let rcv_nxt = self.subflows[r].rcv_nxt();
        let kept = &mut self.contexts[r].mappings;
        while kept.first_key_value().is_some_and(|(_, m)| m.to <= rcv_nxt) {
            kept.pop_first();
        }
        let room = map.to <= rcv_nxt || kept.len() < MAX_MAPPINGS || kept.contains_key(&map.from);
        if room && map.to > rcv_nxt {
            kept.insert(map.from, map);
        }
        room
    }

    /// The mapping of a byte among those that came with or before it.
    pub(super) fn kept_mapping(&self, r: usize, seq: u64) -> Option<MapRange> {
        let (_, map) = self.contexts[r].mappings.range(..=seq).next_back()?;
        (seq < map.to).then_some(*map)
    }

    /// A DATA_FIN on a segment without data.
    pub(super) fn receive_lone_data_fin(&mut self, r: usize, mapping: &Mapping) {
        if let Some(offset) = self.place_of(mapping.dsn)
            && self.lone_data_fin_is_intact(offset, mapping.checksum)
        {
            self.rx.note_end(offset + u64::from(mapping.len).saturating_sub(1));
        }
        self.owe_acknowledgment(r);
        self.check_end_of_stream(r);
    }

    pub(super) fn drain_subflow(&mut self, now: Instant, r: usize) {
        loop {
            let subflow = &mut self.subflows[r];
            let Some(piece) = subflow.next_piece() else { return };
            if !self.take_in_order(now, r, piece) {
                return;
            }
        }
    }

    /// A segment in order on a subflow where nothing is verified or held back, of a stream that has not ended. Mostly it
    /// continues the stream too.
    #[inline(always)]
    fn receive_in_order(&mut self, now: Instant, r: usize, seq: u64, offset: Offset, payload: P) {
        let (subflow, len) = (&mut self.subflows[r], payload.len() as u64);
        let offset = if self.fallback.receives_single() { subflow.next_offset() } else { offset };
        if self.rx.is_next(offset) {
            subflow.advance(seq, offset, len);
            subflow.count_new_bytes(len);
            self.rx.extend(payload);
        } else if offset > self.rx.nxt() && self.rx.window.allows(offset, len) {
            subflow.advance(seq, offset, len);
            let new = self.rx.keep(Early { at: offset, payload, arrived_at: now, via: r as u8 });
            subflow.count_new_bytes(new);
        } else {
            self.take_in_order(now, r, Piece { at: seq, payload, offset, arrived_at: now });
        }
    }

    /// Whether nothing is to be verified on subflow `r` nor held back.
    #[inline]
    fn trusts(&self, r: usize) -> bool {
        (!self.fallback.verifies()) && self.contexts[r].held.is_none()
    }

    /// Bytes in order on their subflow find their place in the stream. False: the subflow was reset.
    #[inline]
    fn take_in_order(&mut self, now: Instant, r: usize, mut piece: Piece<P>) -> bool {
        if !self.trusts(r) {
            return self.find_place(now, r, piece);
        }
        if self.fallback.receives_single() {
            // Mappings that came before this was known, perhaps wrong ones, hold no more.
            piece.offset = self.subflows[r].next_offset();
        } else if piece.offset == UNMAPPED {
            return self.find_place(now, r, piece);
        }
        self.subflows[r].advance(piece.at, piece.offset, piece.len());
        self.deliver(now, r, piece);
        true
    }

    /// As [`Self::take_in_order`], whatever is known of the bytes.
    #[cold]
    fn find_place(&mut self, now: Instant, r: usize, mut piece: Piece<P>) -> bool {
        loop {
            if let Some(held) = &mut self.contexts[r].held {
                // What follows a failed checksum waits for the infinite mapping: of it, too, no more than a window.
                let bytes: u64 = held.pieces.iter().map(|p| p.payload.len() as u64).sum();
                if bytes < self.rx.window.size() && self.rx.window.allows_pieces(held.pieces.len()) {
                    self.subflows[r].receive_to(piece.end());
                    held.pieces.push(piece);
                }
                return true;
            }
            let mut rest = None;
            if self.fallback.verifies() {
                match self.verify(now, r, piece) {
                    Ok(None) => return true,
                    Ok(Some(beyond)) => piece = beyond,
                    Err(_) => return false,
                }
                continue;
            }
            if self.fallback.receives_single() {
                piece.offset = self.subflows[r].next_offset();
            } else if piece.offset == UNMAPPED {
                if let Some(map) = self.kept_mapping(r, piece.at) {
                    // What lies beyond has a mapping of its own, or none.
                    rest = piece.split_off(map.to);
                    piece.offset = map.offset + (piece.at - map.from);
                } else if self.unmapped(now, r).is_ok() {
                    piece.offset = self.subflows[r].next_offset();
                } else {
                    return false;
                }
            }
            self.subflows[r].advance(piece.at, piece.offset, piece.len());
            self.deliver(now, r, piece);
            match rest {
                Some(beyond) => piece = beyond,
                None => return true,
            }
        }
    }

    /// Bytes that are in order on their subflow go to their place in the stream. Beyond the window nothing is kept: the peer
    /// was not allowed to send it. (Under TCP what arrives on the subflow was cut to the window already.)
    pub(super) fn deliver(&mut self, now: Instant, r: usize, piece: Piece<P>) {
        let Piece { offset: at, payload, arrived_at, .. } = piece;
        if self.level.is_multipath() && !self.rx.window.allows(at, payload.len() as u64) {
            return;
        }
        self.rx.place(now, Early { at, payload, arrived_at, via: r as u8 }, &mut self.subflows[r]);
    }

    /// The stream is complete when everything before its end has arrived.
    #[inline(always)]
    fn check_end_of_stream(&mut self, r: usize) {
        if self.is_stream_complete() {
            self.end_stream(r);
        }
    }

    #[cold]
    fn end_stream(&mut self, r: usize) {
        self.rx.note_ended();
        self.report(Event::EndOfStream);
        self.owe_acknowledgment(r);
    }
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{WINDOW, arrives, data, established};
    use super::*;
    use crate::Protocol;
    use wire::Span;

    /// RFC 5681 §4.2; at the data level nothing is missing, and the DATA_ACK says so only when the hole is filled.
    #[test]
    fn data_behind_a_hole_is_acknowledged_at_once() {
        let mut c = established(Protocol::Mptcp, 1);
        let behind = data(&c, 1_001, 1_000, 1_000, 1_000);
        arrives(&mut c, Instant::from_millis(1), 0, behind);
        let (_, ack) = c.transmit(Instant::from_millis(1)).expect("a duplicate acknowledgment");
        assert_eq!((ack.ack, ack.options.sack.as_slice()[0].left), (5_001, 6_001));
        assert_eq!(ack.options.dss.and_then(|dss| dss.data_ack), Some(DataNumber::Long(c.data_ack().on_wire())));
        assert_eq!(c.rx.nxt(), Offset::FIRST);
        let first = data(&c, 1, 0, 1_000, 1_000);
        arrives(&mut c, Instant::from_millis(2), 0, first);
        assert_eq!(
            (c.rx.nxt().octets(), c.transmit(Instant::from_millis(2)).map(|(_, ack)| ack.ack)),
            (2_000, Some(7_001))
        );
    }

    /// RFC 8684 §3.3.1: a mapping may be of more than the segment that it comes with.
    #[test]
    fn a_mapping_holds_for_the_segments_that_follow() {
        let mut c = established(Protocol::Mptcp, 1);
        for (seq, mapped) in [(1, 300), (101, 0), (201, 0)] {
            let part = data(&c, seq, u64::from(seq) - 1, 100, mapped);
            arrives(&mut c, Instant::from_millis(1), 0, part);
        }
        assert_eq!((c.rx.nxt().octets(), c.subflows[0].rcv_nxt()), (300, 301));
    }

    /// RFC 8684 §3.3.5: the window is the connection's, and what lies beyond is not acknowledged on the subflow.
    #[test]
    fn data_beyond_the_window_of_the_connection_is_as_if_lost() {
        let mut c = established(Protocol::Mptcp, 1);
        let beyond = data(&c, 1, WINDOW - 500, 1_000, 1_000);
        arrives(&mut c, Instant::from_millis(1), 0, beyond);
        assert_eq!(c.subflows[0].rcv_nxt(), 1);
        let within = data(&c, 1, WINDOW - 1_000, 1_000, 1_000);
        arrives(&mut c, Instant::from_millis(2), 0, within);
        assert_eq!((c.subflows[0].rcv_nxt(), c.rx.nxt(), c.rx.has_hole()), (1_001, Offset::FIRST, true));
    }

    /// With checksums a mapping that passes the end of the window is taken whole, or it could never be read; one that begins at
    /// or beyond the end is not.
    #[test]
    fn a_mapping_with_a_checksum_is_taken_to_its_end() {
        let mut c = established(Protocol::Mptcp, 1);
        c.require_checksum();
        let mut seq = 1;
        for (offset, len, taken) in [(0, 19_000, true), (19_000, 2_000, true), (21_000, 1_000, false)] {
            let mut all = data(&c, seq, offset, len, len as u16);
            let dsn = c.numbers.theirs(Offset::after(offset)).on_wire();
            let checksum = wire::dss_checksum(dsn, seq, len as u16, &Span { offset, len });
            if let Some(mapping) = all.options.dss.as_mut().and_then(|dss| dss.mapping.as_mut()) {
                mapping.checksum = Some(checksum);
            }
            let mut rest = all.clone();
            let half = len / 2;
            all.payload.len = half;
            (rest.seq, rest.payload) = (rest.seq + half, Span { offset: offset + u64::from(half), len: half });
            rest.options.dss = None;
            for part in [all, rest] {
                arrives(&mut c, Instant::from_millis(1), 0, part);
            }
            seq += if taken { len } else { 0 };
            assert_eq!((c.rx.nxt().octets(), c.subflows[0].rcv_nxt()), (u64::from(seq) - 1, u64::from(seq)));
        }
    }

    /// RFC 8684 §3.3.3: the DATA_FIN takes the last octet of its mapping. Data of two subflows, the later half first.
    #[test]
    fn the_stream_ends_at_the_data_fin_when_all_before_it_is_there() {
        let mut c = established(Protocol::Mptcp, 2);
        let mut last = data(&c, 1, 1_000, 1_000, 1_001);
        last.options.dss.as_mut().unwrap().data_fin = true;
        arrives(&mut c, Instant::from_millis(1), 1, last);
        assert_eq!((c.poll_event(), c.data_ack()), (None, c.numbers.theirs(Offset::FIRST)));
        let first = data(&c, 1, 0, 1_000, 1_000);
        arrives(&mut c, Instant::from_millis(2), 0, first);
        assert_eq!(c.poll_event(), Some(Event::EndOfStream));
        assert_eq!((c.rx.nxt().octets(), c.data_ack()), (2_000, c.numbers.theirs(Offset::after(2_001))));
    }
}
