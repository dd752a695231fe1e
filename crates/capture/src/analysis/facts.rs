//! Facts about a connection in words: why it fell back, whether its joins were valid, how it ended.

use super::group::{CLIENT, Group, SERVER, Sub};
use super::leg::{Leg, Signal};
use super::report::{Event, Fallback};
use super::survey::Survey;
use hmac::{Hmac, Mac};
use sha1::Sha1;
use wire::{AddAddr, MptcpOption, Version0, keys};

/// Name of a side.
pub const fn name(side: usize) -> &'static str {
    if side == CLIENT { "client" } else { "server" }
}

/// When and why a connection that asked for MPTCP fell back to TCP.
pub fn fallback(group: &Group, legs: &[Leg], surveys: &[Survey; 2], seconds: &dyn Fn(u64) -> f64) -> Option<Fallback> {
    if !group.mptcp {
        return None;
    }
    let mut signals = group.subs.iter().flat_map(|sub| &sub.legs).flat_map(|seen| &legs[seen.leg].signals);
    // On a RST, MP_FAIL closes one of several subflows (RFC 8684 §3.7).
    let failed = signals.find(|signal| matches!(signal.option, MptcpOption::MpFail { .. }) && !signal.flags.rst());
    let infinite_ns = surveys.iter().filter_map(|survey| survey.infinite_ns).min();
    let bare_ns = surveys.iter().filter_map(|survey| survey.bare_ns).min();
    let at = |time_ns: u64, reason: String| Some(Fallback { time_s: seconds(time_ns), reason });
    if let Some(reason) = at_the_handshake(group, legs) {
        let answer = |leg: &Leg| leg.ends[1 - leg.opener].syn_ns.map(|(first_ns, _)| first_ns);
        let first = group.subs.first()?;
        let answered_ns = first.legs.iter().filter_map(|seen| answer(&legs[seen.leg])).min();
        return at(answered_ns.or(bare_ns).unwrap_or(first.start_ns), reason);
    }
    let bare_ack_ns = surveys.iter().filter_map(|survey| survey.bare_ack_ns).min();
    let alone = group.subs.len() == 1;
    if let (Some(failed), true) = (failed, infinite_ns.is_some() || bare_ns.is_some() || alone) {
        let dsn = if let MptcpOption::MpFail { dsn } = failed.option { dsn } else { 0 };
        return at(failed.time_ns, format!("MP_FAIL: the checksum of the data at DSN {dsn} did not fit"));
    }
    if let Some(time_ns) = infinite_ns {
        return at(time_ns, "an infinite mapping was sent".to_owned());
    }
    if let Some(time_ns) = bare_ack_ns.filter(|&time_ns| bare_ns.is_none_or(|bare_ns| time_ns < bare_ns)) {
        let reason = "acknowledgments came without MPTCP options from here on: a box on the path removed them, or an end \
                      gave MPTCP up";
        return at(time_ns, reason.to_owned());
    }
    let mapped = surveys.iter().any(|survey| survey.mapped);
    let reason = if mapped {
        "data came without MPTCP options from here on: a box on the path removed them, or an end gave MPTCP up"
    } else {
        "no data has MPTCP options after the handshake: a box on the path removed them, or an end gave MPTCP up"
    };
    at(bare_ns?, reason.to_owned())
}

/// The reason for a fallback that the handshake shows.
fn at_the_handshake(group: &Group, legs: &[Leg]) -> Option<String> {
    if !group.complete || group.capable[0].is_none() {
        return None;
    }
    let first = group.subs.first()?;
    // MP_CAPABLE on the SYN or the SYN/ACK, as each observation point saw it.
    let seen = |from_opener: bool| {
        first.legs.iter().filter_map(move |seen| {
            let leg = &legs[seen.leg];
            let end = if from_opener { leg.opener } else { 1 - leg.opener };
            let capable = leg.capable(end).is_some_and(|capable| capable.on_syn);
            leg.ends[end].syn_ns.map(|_| capable)
        })
    };
    let (syn, answer) = (seen(true), seen(false));
    let lost = |mut places: Box<dyn Iterator<Item = bool> + '_>| places.any(|there| !there);
    if lost(Box::new(syn)) {
        return Some("MP_CAPABLE was removed from the SYN on its way".to_owned());
    }
    let mut answers = answer.peekable();
    answers.peek()?;
    let answers: Vec<bool> = answers.collect();
    match (answers.contains(&true), answers.contains(&false)) {
        (true, true) => Some("MP_CAPABLE was removed from the SYN/ACK on its way".to_owned()),
        (false, true) => Some(
            "the SYN/ACK has no MP_CAPABLE: the server does not speak MPTCP, or a box on the path removed it"
                .to_owned(),
        ),
        _ => None,
    }
}

/// Whether the HMACs of a join are valid; `None` for a first subflow.
pub fn join_hmac(group: &Group, sub: &Sub) -> Option<&'static str> {
    let join = sub.join?;
    let (Some(own), Some(other)) = (group.keys[sub.opened_by], group.keys[1 - sub.opened_by]) else {
        return Some("unknown");
    };
    let [Some(own_nonce), Some(other_nonce)] = join.nonces else { return Some("unknown") };
    let (syn_ack, ack) = if group.version == Some(0) {
        let mac = |keys: [u64; 2], nonces: [u32; 2]| hmac_sha1(keys, nonces);
        let responder = mac([other, own], [other_nonce, own_nonce]);
        let syn_ack = u64::from_be_bytes(*responder.first_chunk().unwrap_or(&[0; 8]));
        (syn_ack, mac([own, other], [own_nonce, other_nonce]))
    } else {
        (
            keys::join_hmac_syn_ack(own, other, own_nonce, other_nonce),
            keys::join_hmac_ack(own, other, own_nonce, other_nonce),
        )
    };
    let fits = [join.hmac_syn_ack.map(|found| found == syn_ack), join.hmac_ack.map(|found| found == ack)];
    match fits {
        [Some(false), _] | [_, Some(false)] => Some("wrong"),
        [Some(true), Some(true)] => Some("valid"),
        _ => Some("unknown"),
    }
}

/// HMAC of a version 0 join (RFC 6824 §3.2), all 160 bits.
fn hmac_sha1(keys: [u64; 2], nonces: [u32; 2]) -> [u8; 20] {
    let key = u128::from(keys[0]) << 64 | u128::from(keys[1]);
    let message = u64::from(nonces[0]) << 32 | u64::from(nonces[1]);
    let Ok(mut mac) = Hmac::<Sha1>::new_from_slice(&key.to_be_bytes()) else { return [0; 20] };
    mac.update(&message.to_be_bytes());
    mac.finalize().into_bytes().into()
}

/// Events in order of time. Each event is listed once, as seen at the point nearest to its sender.
pub fn events(group: &Group, legs: &[Leg], surveys: &[Survey; 2], seconds: &dyn Fn(u64) -> f64) -> Vec<Event> {
    let mut events = Vec::new();
    for (number, sub) in group.subs.iter().enumerate() {
        for side in [CLIENT, SERVER] {
            let seen = sub.nearest[side].seen;
            let leg = &legs[seen.leg];
            let end = if side == CLIENT { seen.client_end } else { 1 - seen.client_end };
            let mut add = |time_ns: u64, kind, text| {
                let event = Event { time_s: seconds(time_ns), subflow: number as u32, from: name(side), kind, text };
                // Repetitions are left out; an ADD_ADDR, for example, is repeated until its echo arrives.
                let known: &Vec<Event> = &events;
                if kind != "mp_prio" && known.iter().any(|known| told(known) == told(&event)) {
                    return;
                }
                events.push(event);
            };
            for signal in leg.signals_of(end) {
                if let Some((kind, text)) = in_words(group, side, signal) {
                    add(signal.time_ns, kind, text);
                }
            }
            if let Some(time_ns) = leg.ends[end].fin_ns {
                add(time_ns, "fin", "FIN".to_owned());
            }
            if let Some(time_ns) = leg.ends[end].rst_ns {
                add(time_ns, "rst", "RST".to_owned());
            }
        }
    }
    for side in [CLIENT, SERVER] {
        if let (Some(time_ns), true) = (surveys[side].fin_ns, group.mptcp && surveys[side].mapped) {
            let text = surveys[side].fin.map_or("DATA_FIN".to_owned(), |bytes| format!("DATA_FIN after {bytes} bytes"));
            events.push(Event { time_s: seconds(time_ns), subflow: 0, from: name(side), kind: "data_fin", text });
        }
    }
    events.sort_by(|a, b| a.time_s.total_cmp(&b.time_s));
    events
}

fn told(event: &Event) -> (u32, &str, &str, &str) {
    (event.subflow, event.from, event.kind, &event.text)
}

fn in_words(group: &Group, side: usize, signal: &Signal) -> Option<(&'static str, String)> {
    let prio = |backup: bool| if backup { "backup" } else { "active" };
    let with_port = |port: Option<u16>| port.map_or(String::new(), |port| format!(" port {port}"));
    Some(match &signal.option {
        MptcpOption::AddAddr(AddAddr { echo: true, id, address, .. }) => {
            ("add_addr_echo", format!("echo of address {id}: {address}"))
        }
        MptcpOption::AddAddr(AddAddr { id, address, port, hmac, .. }) => {
            let right = match (group.keys[side], group.keys[1 - side], hmac) {
                (Some(own), Some(other), Some(found)) => {
                    if keys::add_addr_hmac(own, other, *id, *address, *port) == *found { "valid" } else { "wrong" }
                }
                _ => "unknown",
            };
            ("add_addr", format!("address {id}: {address}{}, HMAC {right}", with_port(*port)))
        }
        MptcpOption::Version0(Version0::AddAddr { id, address, port }) => {
            ("add_addr", format!("address {id}: {address}{}", with_port(*port)))
        }
        MptcpOption::RemoveAddr(ids) => {
            let ids: Vec<String> = ids.iter().map(u8::to_string).collect();
            ("remove_addr", format!("addresses removed: {}", ids.join(", ")))
        }
        MptcpOption::MpPrio { backup } => ("mp_prio", prio(*backup).to_owned()),
        MptcpOption::Version0(Version0::MpPrio { backup, address_id }) => {
            ("mp_prio", format!("address {address_id}: {}", prio(*backup)))
        }
        MptcpOption::MpFail { dsn } => ("mp_fail", format!("checksum failed at DSN {dsn}")),
        MptcpOption::MpFastclose { .. } => ("mp_fastclose", "MP_FASTCLOSE".to_owned()),
        MptcpOption::MpTcpRst { flags, reason } => {
            let transient = if flags & 1 != 0 { ", transient" } else { "" };
            ("mp_tcprst", format!("reset, reason {reason}: {}{transient}", reset_reason(*reason)))
        }
        _ => return None,
    })
}

/// Meaning of an MP_TCPRST reason code (RFC 8684 §3.6).
const fn reset_reason(reason: u8) -> &'static str {
    match reason {
        0 => "unspecified",
        1 => "MPTCP-specific",
        2 => "lack of resources",
        3 => "administratively prohibited",
        4 => "too much outstanding data",
        5 => "unacceptable performance",
        6 => "middlebox interference",
        _ => "unknown",
    }
}

/// How a subflow ended.
pub fn subflow_closing(events: &[Event], number: usize) -> String {
    let of = |kind: &str| -> Vec<&'static str> {
        let mut sides: Vec<&'static str> =
            events.iter().filter(|e| e.subflow == number as u32 && e.kind == kind).map(|e| e.from).collect();
        sides.dedup();
        sides
    };
    if let Some(event) = events.iter().find(|e| e.subflow == number as u32 && e.kind == "mp_tcprst") {
        return format!("{} by {}", event.text, event.from);
    }
    match (of("rst").first(), of("fin").as_slice()) {
        (Some(side), _) => format!("RST by {side}"),
        (None, []) => "open".to_owned(),
        (None, [side]) => format!("FIN by {side} only"),
        (None, _) => "FIN".to_owned(),
    }
}

/// How a connection ended.
pub fn closing(group: &Group, events: &[Event]) -> String {
    if let Some(event) = events.iter().find(|event| event.kind == "mp_fastclose") {
        return format!("MP_FASTCLOSE by {}", event.from);
    }
    let mut fins: Vec<&'static str> = events.iter().filter(|e| e.kind == "data_fin").map(|e| e.from).collect();
    fins.sort_unstable();
    fins.dedup();
    match fins.as_slice() {
        [] => {}
        [side] => return format!("DATA_FIN by {side} only"),
        _ => return "DATA_FIN".to_owned(),
    }
    let ends: Vec<String> = (0..group.subs.len()).map(|number| subflow_closing(events, number)).collect();
    match ends.as_slice() {
        [only] => only.clone(),
        several if several.iter().any(|end| end == "open") => "open".to_owned(),
        several => several.first().cloned().unwrap_or_default(),
    }
}
