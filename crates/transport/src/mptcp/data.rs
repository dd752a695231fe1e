//! Data arrives: its place in the stream, reassembly on the subflow and on the connection (RFC 8684 §3.3).

use wire::{Dss, Mapping, MptcpOption, Options};

use super::connection::{Connection, Event, Mode};
use crate::queue::Stream;
use crate::reassembly::{Piece, UNMAPPED};
use crate::tcp::subflow::MapRange;

/// Mappings kept for data that comes without one of its own.
const MAX_MAPPINGS: usize = 64;
/// A mapping further ahead of the window than this is nonsense.
const FAR: u64 = 1 << 32;

impl<P: Stream> Connection<P> {
    pub(super) fn receive_data(&mut self, now_ns: u64, r: usize, seq: u64, options: &Options, payload: P) {
        let map = self.mapping_of(r, seq, options);
        let end = seq + payload.len() as u64;
        let subflow = &mut self.subflows[r];
        subflow.statistics.data_segments_received += 1;
        subflow.take_echo(options.timestamps, now_ns);
        let mut piece = Piece { at: seq, payload, offset: UNMAPPED, arrival_ns: now_ns };
        let whole = map.is_some_and(|m| m.from <= seq && end <= m.to);
        if let Some(m) = map {
            if whole {
                piece.offset = m.offset + (seq - m.from);
            }
            if m.to != end && self.mode == Mode::Mptcp {
                self.keep_mapping(r, m);
            }
        }
        let subflow = &mut self.subflows[r];
        let Some(piece) = piece.above(subflow.rcv_nxt) else { return };
        if whole && piece.at == subflow.rcv_nxt && subflow.reorder.is_empty() {
            subflow.rcv_nxt = end;
            subflow.ack.data_in_order(now_ns);
            if subflow.ack.now {
                self.ack_due.insert(r);
            }
            self.deliver(now_ns, r, piece);
        } else {
            // Out of order, or it fills a hole: acknowledge at once (RFC 5681 §4.2).
            subflow.ack.now = true;
            self.ack_due.insert(r);
            subflow.reorder.insert(piece);
            self.drain_subflow(now_ns, r);
        }
        self.check_end_of_stream(r);
    }

    /// The mapping of the segment's first byte: on the segment itself, or one that came before.
    fn mapping_of(&mut self, r: usize, seq: u64, options: &Options) -> Option<MapRange> {
        if self.mode == Mode::Tcp {
            return Some(MapRange { from: 1, to: u64::MAX, offset: 0 });
        }
        let own = match options.dss {
            Some(Dss { mapping: Some(mapping), data_fin, .. }) => self.map_range(seq, &mapping, data_fin),
            // MP_CAPABLE with data: the first bytes of the stream (RFC 8684 §3.1).
            _ => options.rare.as_deref().and_then(|rare| {
                rare.mptcp.iter().find_map(|o| match o {
                    MptcpOption::MpCapable(m) => {
                        m.data.map(|(len, _)| MapRange { from: 1, to: 1 + u64::from(len), offset: 0 })
                    }
                    _ => None,
                })
            }),
        };
        own.filter(|m| m.from <= seq && seq < m.to).or_else(|| self.kept_mapping(r, seq))
    }

    /// A DSS mapping in our numbers. DATA_FIN takes its last octet (RFC 8684 §3.3.3), and ends the stream there.
    fn map_range(&mut self, seq: u64, mapping: &Mapping, data_fin: bool) -> Option<MapRange> {
        let first = self.remote_idsn.wrapping_add(1);
        let offset = mapping.dsn.expand(first.wrapping_add(self.rcv_nxt)).wrapping_sub(first);
        if offset > self.window.right().saturating_add(FAR) {
            return None;
        }
        let len = u64::from(mapping.len).saturating_sub(u64::from(data_fin));
        if data_fin {
            self.data_fin_at.get_or_insert(offset + len);
        }
        let from = wire::expand32(seq, mapping.ssn);
        Some(MapRange { from, to: from.checked_add(len)?, offset })
    }

    fn keep_mapping(&mut self, r: usize, map: MapRange) {
        let rcv_nxt = self.subflows[r].rcv_nxt;
        let kept = &mut self.subflows[r].mappings;
        kept.retain(|m| m.to > rcv_nxt);
        if kept.len() < MAX_MAPPINGS && !kept.contains(&map) {
            kept.push(map);
        }
    }

    fn kept_mapping(&self, r: usize, seq: u64) -> Option<MapRange> {
        self.subflows[r].mappings.iter().copied().find(|m| m.from <= seq && seq < m.to)
    }

    /// A DATA_FIN on a segment without data.
    pub(super) fn receive_lone_data_fin(&mut self, r: usize, seq: u64, mapping: &Mapping) {
        self.map_range(seq, mapping, true);
        self.subflows[r].ack.now = true;
        self.ack_due.insert(r);
        self.check_end_of_stream(r);
    }

    fn drain_subflow(&mut self, now_ns: u64, r: usize) {
        loop {
            let subflow = &mut self.subflows[r];
            let Some(mut piece) = subflow.reorder.pop(subflow.rcv_nxt) else { return };
            if piece.offset == UNMAPPED {
                let Some(map) = self.kept_mapping(r, piece.at) else {
                    // Data without a mapping cannot be placed: the subflow is closed with a reset (RFC 8684 §3.3.1).
                    self.reset_subflow(now_ns, r);
                    return;
                };
                piece.offset = map.offset + (piece.at - map.from);
                if piece.end() > map.to {
                    // The rest has a mapping of its own, or none.
                    let cut = (map.to - piece.at) as usize;
                    let payload = piece.payload.slice(cut, piece.payload.len());
                    let rest = Piece { at: map.to, payload, offset: UNMAPPED, arrival_ns: piece.arrival_ns };
                    piece.payload = piece.payload.slice(0, cut);
                    self.subflows[r].reorder.insert(rest);
                }
            }
            self.subflows[r].rcv_nxt = piece.end();
            self.deliver(now_ns, r, piece);
        }
    }

    /// Bytes that are in order on their subflow go to their place in the stream.
    fn deliver(&mut self, now_ns: u64, r: usize, piece: Piece<P>) {
        let piece = Piece { at: piece.offset, ..piece };
        let Some(piece) = piece.above(self.rcv_nxt) else { return };
        let new = if piece.at == self.rcv_nxt && self.reassembly.is_empty() {
            let len = piece.payload.len() as u64;
            self.append(now_ns, piece);
            len
        } else if piece.end() <= self.window.right() {
            let new = self.reassembly.insert(piece);
            while let Some(piece) = self.reassembly.pop(self.rcv_nxt) {
                self.append(now_ns, piece);
            }
            new
        } else {
            0 // beyond the window nothing is kept; the peer was not allowed to send it
        };
        self.subflows[r].statistics.new_bytes_received += new;
    }

    fn append(&mut self, now_ns: u64, piece: Piece<P>) {
        self.delays.add(now_ns - piece.arrival_ns, piece.payload.len() as u64);
        self.rcv_nxt = piece.end();
        self.ready.push_back(piece.payload);
    }

    /// The stream is complete when everything before its end has arrived.
    fn check_end_of_stream(&mut self, r: usize) {
        if self.mode == Mode::Mptcp && !self.end_received && self.data_fin_at == Some(self.rcv_nxt) {
            self.end_received = true;
            self.events.push_back(Event::EndOfStream);
            self.subflows[r].ack.now = true;
            self.ack_due.insert(r);
        }
    }
}
