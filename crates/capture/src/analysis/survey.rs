//! One direction of a connection before it is counted: where its stream begins and ends, and whether and when it went
//! back to TCP.

use super::group::{CLIENT, Group};
use super::leg::{Leg, Record};
use super::merge::Merged;
use super::place::Places;

/// What was found.
#[derive(Clone, Debug, Default)]
pub struct Survey {
    /// Data sequence number of the first byte.
    pub base: Option<u64>,
    /// Where the stream ends, in bytes from its beginning.
    pub fin: Option<u64>,
    pub fin_ns: Option<u64>,
    /// When the first infinite mapping came.
    pub infinite_ns: Option<u64>,
    /// When data came without mapping and without any MPTCP option, and none with a mapping came after them.
    pub bare_ns: Option<u64>,
    /// There were mappings.
    pub mapped: bool,
}

/// Looks at one direction; `side` is the sender's.
pub fn survey(group: &Group, legs: &[Leg], side: usize) -> Survey {
    let mut found = Survey { base: group.idsn(side).map(|idsn| idsn.wrapping_add(1)), ..Survey::default() };
    if !group.mptcp {
        fin_of_tcp(group, legs, side, &mut found);
        return found;
    }
    // Where it is sent the beginning is seen, where it is received what boxes did to it.
    for at in [side, 1 - side] {
        let chosen: Vec<_> = group.subs.iter().map(|sub| sub.nearest[at].seen).collect();
        let mut places: Vec<Places> = chosen
            .iter()
            .map(|seen| Places::new(isn(&legs[seen.leg], seen.client_end, side), found.base, false))
            .collect();
        let mut bare = vec![None; chosen.len()];
        for (number, record) in Merged::new(chosen.iter().map(|seen| &legs[seen.leg])) {
            let from_client = usize::from(record.has.backwards()) == chosen[number].client_end;
            if from_client != (side == CLIENT) {
                continue;
            }
            let places = &mut places[number];
            places.base = places.base.or(found.base);
            let content = places.content(record);
            found.base = found.base.or(places.base);
            note_mapping(&mut found, record);
            match content {
                Some(content) if content.offset.is_some() => bare[number] = None,
                Some(_) if !record.has.mptcp() && !record.flags.syn() => {
                    bare[number] = bare[number].or(Some(record.time_ns));
                }
                _ => {}
            }
        }
        let bare_ns = bare.into_iter().flatten().min();
        found.bare_ns = found.bare_ns.or(bare_ns);
    }
    if found.bare_ns.is_some() && !found.mapped {
        // It never was anything but TCP.
        fin_of_tcp(group, legs, side, &mut found);
    }
    found
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
        // In 32 bits it can be told only near the beginning; the largest that was seen is the end.
        if record.has.long_dsn() || found.fin.is_none() {
            found.fin = Some(length).filter(|&length| length < 1 << 63);
        }
        found.fin_ns = found.fin_ns.or(Some(record.time_ns));
    }
}

fn fin_of_tcp(group: &Group, legs: &[Leg], side: usize, found: &mut Survey) {
    let Some(sub) = group.subs.first() else { return };
    let seen = sub.nearest[side].seen;
    let leg = &legs[seen.leg];
    let mut places = Places::new(isn(leg, seen.client_end, side), None, true);
    for record in &leg.records {
        let from_client = usize::from(record.has.backwards()) == seen.client_end;
        if from_client != (side == CLIENT) {
            continue;
        }
        places.content(record);
        if record.flags.fin() {
            let end = places.acknowledged(record.content_seq().wrapping_add(record.len));
            found.fin = end.and_then(|end| end.checked_sub(1));
            found.fin_ns = found.fin_ns.or(Some(record.time_ns));
        }
    }
}

/// Sequence number of the SYN that this side of a connection sent.
pub fn isn(leg: &Leg, client_end: usize, side: usize) -> Option<u32> {
    leg.ends[if side == CLIENT { client_end } else { 1 - client_end }].isn
}
