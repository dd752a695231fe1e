//! Examines one direction of a connection before it is counted: its mappings, the beginning and end of its stream, and
//! whether and when it fell back to TCP.

use super::group::{CLIENT, Group};
use super::leg::Leg;
use super::merge::Merged;
use super::place::Places;
use super::record::Record;

/// The findings.
#[derive(Clone, Debug, Default)]
pub struct Survey {
    /// Mappings of each subflow, as seen nearest to the client and nearest to the server.
    places: [Vec<Places>; 2],
    /// Data sequence number of the first byte.
    pub base: Option<u64>,
    /// End of the stream, in bytes from its beginning.
    pub fin: Option<u64>,
    pub fin_ns: Option<u64>,
    /// Time of the first infinite mapping.
    pub infinite_ns: Option<u64>,
    /// When data arrived without a mapping and without any MPTCP option, if no mapped data followed.
    pub bare_ns: Option<u64>,
    /// When data was acknowledged without any MPTCP option, if no acknowledgment with one followed.
    pub bare_ack_ns: Option<u64>,
    /// Whether there were mappings.
    pub mapped: bool,
}

impl Survey {
    /// Mappings of the subflows as seen nearest to the client or to the server.
    pub fn places_at(&self, at: usize, mptcp: bool, fallen: bool) -> Vec<Places> {
        let mut places = self.places[at].clone();
        for place in &mut places {
            place.begin_at(if mptcp { self.base } else { Some(0) });
            place.unmapped_continue = !mptcp || fallen;
        }
        places
    }
}

/// Surveys one direction; `side` is the sender's side.
pub fn survey(group: &Group, legs: &[Leg], side: usize) -> Survey {
    let mut found = Survey::default();
    let idsn = group.idsn(side).map(|idsn| idsn.wrapping_add(1));
    let near = idsn.or_else(|| near_dsn(group, legs, side));
    for at in [CLIENT, 1 - CLIENT] {
        found.places[at] = group
            .subs
            .iter()
            .enumerate()
            .map(|(number, sub)| {
                let (seen, other) = (sub.nearest[at].seen, sub.nearest[1 - at].seen);
                match found.places[CLIENT].get(number) {
                    Some(known) if seen.leg == other.leg => known.clone(),
                    _ => Places::learn(&legs[seen.leg], end_of(seen.client_end, side), near),
                }
            })
            .collect();
    }
    let least = |near: u64| {
        let all = found.places.iter().flatten().filter_map(|places| places.least_dsn(near));
        all.min_by_key(|dsn| dsn.wrapping_sub(near) as i64)
    };
    found.base = idsn.or_else(|| near.map(|near| least(near).unwrap_or(near)));
    if !group.mptcp {
        fin_of_tcp(group, legs, side, &mut found);
        return found;
    }
    // The beginning is visible at the sender, the effect of middleboxes at the receiver.
    for at in [side, 1 - side] {
        look(group, legs, (side, at), &mut found);
    }
    if (found.bare_ns.is_some() || found.bare_ack_ns.is_some()) && !found.mapped {
        // The connection was plain TCP from the start.
        fin_of_tcp(group, legs, side, &mut found);
    }
    found
}

/// A data sequence number of this direction for when no key gives the first one: from a mapping, else from a DATA_ACK.
fn near_dsn(group: &Group, legs: &[Leg], side: usize) -> Option<u64> {
    let records = || {
        group.subs.iter().flat_map(|sub| &sub.legs).flat_map(|seen| {
            let end = end_of(seen.client_end, side);
            legs[seen.leg].records.iter().map(move |record| (record.from() == end, record))
        })
    };
    let mapping = |long: bool| {
        records()
            .find(|(sent, r)| *sent && r.has.mapping() && (!long || r.has.long_dsn()))
            .map(|(_, record)| record.dsn)
    };
    // Prefer 64-bit numbers to 32-bit ones.
    mapping(true)
        .or_else(|| mapping(false))
        .or_else(|| records().find(|(sent, record)| !sent && record.has.data_ack()).map(|(_, record)| record.data_ack))
}

const fn end_of(client_end: usize, side: usize) -> usize {
    if side == CLIENT { client_end } else { 1 - client_end }
}

/// State of the acknowledgments of one direction.
#[derive(Default)]
struct Acknowledged {
    data: u64,
    /// Whether TCP acknowledgments advanced since the DATA_ACK last did.
    by_tcp: bool,
    /// End of the data, if the last DATA_ACK acknowledged one more: the DATA_FIN.
    fin: Option<u64>,
}

fn look(group: &Group, legs: &[Leg], (side, at): (usize, usize), found: &mut Survey) {
    let chosen: Vec<_> = group.subs.iter().map(|sub| sub.nearest[at].seen).collect();
    let mut places = found.places_at(at, true, false);
    let mut bare = vec![None; chosen.len()];
    let mut acknowledged = vec![1; chosen.len()];
    let (mut bare_ack_ns, mut ended) = (None, false);
    let mut acks = Acknowledged::default();
    let mut sent = false;
    for (number, record) in Merged::new(chosen.iter().map(|seen| &legs[seen.leg])) {
        ended |= record.flags.fin() || record.flags.rst();
        if record.from() == end_of(chosen[number].client_end, side) {
            let content = places[number].content(&record);
            sent |= content.is_some();
            note_mapping(found, &record);
            match content {
                Some(content) if content.offset.is_some() => bare[number] = None,
                Some(_) if !record.has.mptcp() && !record.flags.syn() => {
                    bare[number] = bare[number].or(Some(record.time_ns));
                }
                _ => {}
            }
            continue;
        }
        if !record.flags.ack() || record.flags.rst() {
            continue;
        }
        let relative = places[number].acknowledged(record.ack).unwrap_or(0);
        let advances = relative > acknowledged[number];
        acknowledged[number] = acknowledged[number].max(relative);
        acks.by_tcp |= advances;
        if record.has.mptcp() {
            bare_ack_ns = None;
        } else if advances && !ended && !record.flags.syn() {
            bare_ack_ns = bare_ack_ns.or(Some(record.time_ns));
        }
        let Some(place) = places[number].data_acknowledged(&record).filter(|&place| place > acks.data) else {
            continue;
        };
        // The DATA_ACK covers all the data of a single subflow plus one; or it advances by one after TCP had
        // acknowledged everything.
        let by_one = chosen.len() == 1 && group.complete && place == acknowledged[0];
        acks.fin = (by_one || (place == acks.data + 1 && !acks.by_tcp && acks.data > 0)).then(|| place - 1);
        (acks.data, acks.by_tcp) = (place, false);
    }
    found.bare_ns = found.bare_ns.or(bare.into_iter().flatten().min());
    // Several subflows are closed when they lose their options; only a single one can fall back to TCP.
    found.bare_ack_ns = found.bare_ack_ns.or(bare_ack_ns.filter(|_| chosen.len() == 1));
    if found.fin.is_none() && !sent {
        found.fin = acks.fin;
    }
}

fn note_mapping(found: &mut Survey, record: &Record) {
    if !record.has.mapping() {
        return;
    }
    if record.map_len == 0 {
        found.infinite_ns = found.infinite_ns.or(Some(record.time_ns));
        return;
    }
    found.mapped = true;
    if let (true, Some(base)) = (record.has.data_fin(), found.base) {
        let end = record.dsn().expand(base).wrapping_add(u64::from(record.map_len) - 1);
        let length = end.wrapping_sub(base);
        // A 32-bit number is unambiguous only near the beginning; the largest one seen is the end.
        if record.has.long_dsn() || found.fin.is_none() {
            found.fin = Some(length).filter(|&length| length < 1 << 63);
        }
        found.fin_ns = found.fin_ns.or(Some(record.time_ns));
    }
}

fn fin_of_tcp(group: &Group, legs: &[Leg], side: usize, found: &mut Survey) {
    let Some(sub) = group.subs.first() else { return };
    let seen = sub.nearest[side].seen;
    let mut places = found.places_at(side, false, true).swap_remove(0);
    let end = end_of(seen.client_end, side);
    let (mut sent, mut acknowledged, mut last) = (false, 1, 0);
    for record in legs[seen.leg].records.iter() {
        if record.from() != end {
            if let Some(relative) = places.acknowledged(record.ack).filter(|_| record.flags.ack())
                && relative > acknowledged
            {
                (acknowledged, last) = (relative, relative - acknowledged);
            }
            continue;
        }
        sent |= places.content(&record).is_some();
        if record.flags.fin() {
            let end = places.acknowledged(record.content_seq().wrapping_add(record.len));
            found.fin = end.and_then(|end| end.checked_sub(1));
            found.fin_ns = found.fin_ns.or(Some(record.time_ns));
        }
    }
    // The direction was not captured: the last number, if acknowledged separately, is the FIN's.
    if !sent && found.fin.is_none() && last == 1 && acknowledged > 2 {
        found.fin = Some(acknowledged - 2);
    }
}
