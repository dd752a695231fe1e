//! Options of Multipath TCP: those of the peer made from what a file says and what was said before, those of the host
//! compared with it.

use wire::{AddAddr, DataNumber, Dss, Mapping, MpCapable, MpJoin, MptcpOption, Segment, dss_checksum};

use crate::case::{Mptcp, Number, Part};
use crate::content;
use crate::dialogue::{Dialogue, PEER_KEY};

/// An option to send: DSS has a place of its own.
pub enum Made {
    Dss(Dss),
    Other(MptcpOption),
}

/// Makes an option of the peer for a segment of this length that begins at `seq`.
pub fn make(option: &Mptcp, dialogue: &mut Dialogue, flow: usize, seq: i64, len: usize) -> Made {
    let has = |name: &str| option.has(name);
    let other = match option.kind {
        "capable" => {
            let csum = option.part("csum").map(|part| {
                let data = content::bytes(0, len);
                let right = dss_checksum(dialogue.peer_idsn().wrapping_add(1), 1, len as u16, &data);
                if *part == Part::Word("bad".into()) { !right } else { right }
            });
            let length = has("len").then(|| option.value("len", len as i64) as u16);
            MptcpOption::MpCapable(MpCapable {
                version: option.value("v", 1) as u8,
                flags: option.word("flags").map_or(1, letters),
                sender_key: option.word("key").map(|key| dialogue.key(key)),
                receiver_key: option.word("key2").map(|key| dialogue.key(key)),
                data: length.map(|length| (length, csum)),
            })
        }
        "join" => MptcpOption::MpJoin(make_join(option, dialogue, flow)),
        "dss" => return Made::Dss(make_dss(option, dialogue, flow, seq, len)),
        "add_addr" => {
            let (id, port) =
                (option.value("id", 2) as u8, option.number("port").map(|_| option.value("port", 0) as u16));
            let address = option.word("addr").and_then(|a| a.parse().ok()).unwrap_or(dialogue.flow(flow).peer.ip());
            let right = wire::keys::add_addr_hmac(PEER_KEY, dialogue.key("host"), id, address, port);
            let hmac = if option.word("hmac") == Some("bad") { !right } else { right };
            MptcpOption::AddAddr(AddAddr { echo: has("echo"), id, address, port, hmac: (!has("echo")).then_some(hmac) })
        }
        "remove_addr" => MptcpOption::RemoveAddr(ids(option)),
        "prio" => MptcpOption::MpPrio { backup: has("backup") },
        "fail" => MptcpOption::MpFail { dsn: dialogue.host_idsn().wrapping_add(option.value("dsn", 1) as u64) },
        "fastclose" => MptcpOption::MpFastclose { receiver_key: dialogue.key(option.word("key").unwrap_or("host")) },
        _ => MptcpOption::MpTcpRst { flags: u8::from(has("t")), reason: option.value("reason", 0) as u8 },
    };
    Made::Other(other)
}

fn letters(word: &str) -> u8 {
    if word == "none" { 0 } else { word.bytes().fold(0, |bits, letter| bits | 0x80 >> (letter - b'A')) }
}

fn ids(option: &Mptcp) -> Vec<u8> {
    option.word("ids").unwrap_or("2").split(',').filter_map(|id| id.parse().ok()).collect()
}

fn make_join(option: &Mptcp, dialogue: &mut Dialogue, index: usize) -> MpJoin {
    let host_key = dialogue.key("host");
    let (id, backup) = (option.value("id", 1) as u8, option.has("backup"));
    let nonce = option.value("nonce", 0x1234_5678) as u32;
    let token = match option.word("token") {
        Some("peer") => wire::keys::token(PEER_KEY),
        Some("wrong") => !wire::keys::token(host_key),
        _ => wire::keys::token(host_key),
    };
    let flow = dialogue.flow_mut(index);
    if option.has("ack") {
        let (mine, theirs) = (flow.peer_nonce, flow.host_nonce);
        let mut hmac = wire::keys::join_hmac_ack(PEER_KEY, host_key, mine, theirs);
        match option.word("hmac") {
            Some("bad") => hmac[0] ^= 0xff,
            Some("swapped") => hmac = wire::keys::join_hmac_ack(host_key, PEER_KEY, theirs, mine),
            _ => {}
        }
        return MpJoin::Ack { hmac };
    }
    flow.peer_nonce = nonce;
    if option.has("synack") {
        let right = wire::keys::join_hmac_syn_ack(host_key, PEER_KEY, flow.host_nonce, nonce);
        let hmac = if option.word("hmac") == Some("bad") { !right } else { right };
        return MpJoin::SynAck { backup, address_id: id, hmac, nonce };
    }
    MpJoin::Syn { backup, address_id: id, token, nonce }
}

fn make_dss(option: &Mptcp, dialogue: &mut Dialogue, flow: usize, seq: i64, len: usize) -> Dss {
    let ack = |name: &str| option.has(name).then(|| option.value(name, dialogue.host_data_next));
    let host_idsn = dialogue.host_idsn();
    let data_ack = match (ack("ack"), ack("ack4")) {
        (Some(ack), _) => Some(DataNumber::Long(host_idsn.wrapping_add(ack as u64))),
        (_, Some(ack)) => Some(DataNumber::short(host_idsn.wrapping_add(ack as u64))),
        _ => None,
    };
    let fin = option.has("fin");
    let mapped = ["map", "dsn", "dsn4", "ssn", "len"].iter().any(|name| option.has(name)) || fin;
    let mapping = mapped.then(|| {
        let next = dialogue.peer_data_next;
        let dsn = option.value("dsn", option.value("dsn4", next));
        let ssn = option.value("ssn", if len > 0 { seq } else { 0 }) as u32;
        let length = option.value("len", len as i64 + i64::from(fin)) as u16;
        let data_len = usize::from(length).saturating_sub(usize::from(fin));
        let number = dialogue.peer_idsn().wrapping_add(dsn as u64);
        let checksum = option.part("csum").map(|part| {
            let data = content::bytes((dsn - 1).max(0) as u64, data_len);
            let right = if length == 0 { 0 } else { dss_checksum(number, ssn, length, &data) };
            if *part == Part::Word("bad".into()) { !right } else { right }
        });
        if dsn == next {
            dialogue.peer_data_next += i64::from(length);
        }
        dialogue.flow_mut(flow).mapping = Some((i64::from(ssn), dsn - 1));
        let dsn = if option.has("dsn4") { DataNumber::short(number) } else { DataNumber::Long(number) };
        Mapping { dsn, ssn, len: length, checksum }
    });
    Dss { data_ack, mapping, data_fin: fin }
}

/// Learns keys and nonces from what the host says.
pub fn learn(segment: &Segment<Vec<u8>>, dialogue: &mut Dialogue, index: usize) {
    for option in segment.options.rare.as_deref().map_or(&[][..], |rare| &rare.mptcp) {
        match option {
            MptcpOption::MpCapable(MpCapable { sender_key: Some(key), .. }) => dialogue.host_key = Some(*key),
            MptcpOption::MpJoin(MpJoin::Syn { nonce, .. } | MpJoin::SynAck { nonce, .. }) => {
                dialogue.flow_mut(index).host_nonce = *nonce;
            }
            _ => {}
        }
    }
    if let Some(Dss { mapping: Some(mapping), .. }) = segment.options.dss {
        let next = dialogue.host_data_next;
        let idsn = dialogue.host_idsn();
        let from = mapping.dsn.expand(idsn.wrapping_add(next as u64)).wrapping_sub(idsn) as i64;
        dialogue.host_data_next = next.max(from + i64::from(mapping.len));
    }
    if let Some(len) = capable_data(segment) {
        dialogue.host_data_next = dialogue.host_data_next.max(1 + i64::from(len));
    }
}

fn capable_data(segment: &Segment<Vec<u8>>) -> Option<u16> {
    segment.options.rare.as_deref()?.mptcp.iter().find_map(|option| match option {
        MptcpOption::MpCapable(MpCapable { data: Some((len, _)), .. }) => Some(*len),
        _ => None,
    })
}

/// Where in the host's stream a segment with data belongs, counted from 0, when its options tell.
pub fn place(segment: &Segment<Vec<u8>>, dialogue: &Dialogue, seq: i64) -> Option<i64> {
    if let Some(Dss { mapping: Some(m), .. }) = segment.options.dss {
        let idsn = dialogue.host_idsn();
        let dsn = m.dsn.expand(idsn.wrapping_add(dialogue.host_data_next as u64)).wrapping_sub(idsn) as i64;
        return (m.len > 0).then(|| dsn - 1 + seq - i64::from(m.ssn));
    }
    capable_data(segment).map(|_| 0)
}

/// The name of an option.
pub fn name(option: &MptcpOption) -> &'static str {
    match option {
        MptcpOption::MpCapable(_) => "capable",
        MptcpOption::MpJoin(_) => "join",
        MptcpOption::AddAddr(_) => "add_addr",
        MptcpOption::RemoveAddr(_) => "remove_addr",
        MptcpOption::MpPrio { .. } => "prio",
        MptcpOption::MpFail { .. } => "fail",
        MptcpOption::MpFastclose { .. } => "fastclose",
        MptcpOption::MpTcpRst { .. } => "tcprst",
        MptcpOption::Unknown(_) => "unknown",
        MptcpOption::Version0(_) => "version0",
    }
}

/// Checks an option of a segment from the host; the error says what is wrong.
pub fn fits(option: &Mptcp, segment: &Segment<Vec<u8>>, dialogue: &Dialogue, index: usize) -> Result<(), String> {
    let kind = option.kind;
    if kind == "dss" {
        let dss = segment.options.dss.as_ref().ok_or("it has no dss")?;
        return fits_dss(option, dss, dialogue);
    }
    let list = segment.options.rare.as_deref().map_or(&[][..], |rare| &rare.mptcp);
    let found: Vec<_> = list.iter().filter(|o| name(o) == kind).collect();
    if found.is_empty() {
        return Err(format!("it has no {kind}"));
    }
    let mut last = Ok(());
    for candidate in found {
        last = fits_one(option, candidate, segment, dialogue, index);
        if last.is_ok() {
            return Ok(());
        }
    }
    last
}

fn number(option: &Mptcp, part: &str, found: Option<i64>) -> Result<(), String> {
    let Some(wanted) = option.number(part) else { return Ok(()) };
    let found = found.ok_or(format!("{} has no {part}", option.kind))?;
    if wanted.takes(found) { Ok(()) } else { Err(format!("{} has {part}={found}", option.kind)) }
}

fn same(option: &Mptcp, part: &str, found: bool) -> Result<(), String> {
    if option.has(part) == found {
        return Ok(());
    }
    Err(format!("{} is {} {part}", option.kind, if found { "with" } else { "without" }))
}

fn key(option: &Mptcp, part: &str, found: Option<u64>, dialogue: &Dialogue) -> Result<(), String> {
    let Some(word) = option.word(part) else {
        return found.map_or(Ok(()), |_| Err(format!("{} has {part}", option.kind)));
    };
    let found = found.ok_or(format!("{} has no {part}", option.kind))?;
    if word == "*" || found == dialogue.key(word) { Ok(()) } else { Err(format!("{part} is {found:#018x}")) }
}

fn fits_one(
    option: &Mptcp,
    found: &MptcpOption,
    segment: &Segment<Vec<u8>>,
    dialogue: &Dialogue,
    index: usize,
) -> Result<(), String> {
    match found {
        MptcpOption::MpCapable(m) => {
            number(option, "v", Some(m.version.into()))?;
            if let Some(wanted) = option.word("flags").map(letters)
                && wanted != m.flags
            {
                return Err(format!("capable has the flags {:#04x}", m.flags));
            }
            key(option, "key", m.sender_key, dialogue)?;
            key(option, "key2", m.receiver_key, dialogue)?;
            number(option, "len", m.data.map(|(len, _)| len.into()))?;
            if option.has("csum") {
                let right = dss_checksum(
                    dialogue.host_idsn().wrapping_add(1),
                    1,
                    segment.payload.len() as u16,
                    &segment.payload,
                );
                return match m.data {
                    Some((_, Some(sum))) if sum == right => Ok(()),
                    Some((_, sum)) => Err(format!("capable has the checksum {sum:x?}, {right:#x} is right")),
                    None => Err("capable has no checksum".into()),
                };
            }
            Ok(())
        }
        MptcpOption::MpJoin(join) => fits_join(option, join, dialogue, index),
        MptcpOption::AddAddr(add) => {
            same(option, "echo", add.echo)?;
            number(option, "id", Some(add.id.into()))?;
            number(option, "port", add.port.map(i64::from))?;
            if let Some(wanted) = option.word("addr")
                && wanted != add.address.to_string()
            {
                return Err(format!("add_addr has the address {}", add.address));
            }
            let right = wire::keys::add_addr_hmac(dialogue.key("host"), PEER_KEY, add.id, add.address, add.port);
            if option.has("hmac") && add.hmac != Some(right) {
                return Err(format!("add_addr has the HMAC {:x?}, {right:#x} is right", add.hmac));
            }
            Ok(())
        }
        MptcpOption::RemoveAddr(found) => {
            let wanted = ids(option);
            if option.has("ids") && wanted != *found { Err(format!("remove_addr has ids {found:?}")) } else { Ok(()) }
        }
        MptcpOption::MpPrio { backup } => same(option, "backup", *backup),
        MptcpOption::MpFail { dsn } => number(option, "dsn", Some(dsn.wrapping_sub(dialogue.peer_idsn()) as i64)),
        MptcpOption::MpFastclose { receiver_key } => key(option, "key", Some(*receiver_key), dialogue),
        MptcpOption::MpTcpRst { flags, reason } => {
            number(option, "reason", Some((*reason).into()))?;
            if option.has("t") && flags & 1 == 0 { Err("tcprst is without t".into()) } else { Ok(()) }
        }
        MptcpOption::Unknown(_) | MptcpOption::Version0(_) => Ok(()),
    }
}

fn fits_join(option: &Mptcp, join: &MpJoin, dialogue: &Dialogue, index: usize) -> Result<(), String> {
    let flow = dialogue.flow(index);
    let host_key = dialogue.key("host");
    let wrong = |what: &str| Err(format!("join has a wrong {what}"));
    match join {
        MpJoin::Syn { backup, address_id, token, .. } => {
            same(option, "syn", true)?;
            same(option, "backup", *backup)?;
            number(option, "id", Some((*address_id).into()))?;
            if option.has("token") && *token != wire::keys::token(PEER_KEY) { wrong("token") } else { Ok(()) }
        }
        MpJoin::SynAck { backup, address_id, hmac, nonce } => {
            same(option, "synack", true)?;
            same(option, "backup", *backup)?;
            number(option, "id", Some((*address_id).into()))?;
            let right = wire::keys::join_hmac_syn_ack(PEER_KEY, host_key, flow.peer_nonce, *nonce);
            if option.has("hmac") && *hmac != right { wrong("HMAC") } else { Ok(()) }
        }
        MpJoin::Ack { hmac } => {
            same(option, "ack", true)?;
            let right = wire::keys::join_hmac_ack(host_key, PEER_KEY, flow.host_nonce, flow.peer_nonce);
            if option.has("hmac") && *hmac != right { wrong("HMAC") } else { Ok(()) }
        }
    }
}

fn fits_dss(option: &Mptcp, dss: &Dss, dialogue: &Dialogue) -> Result<(), String> {
    let (peer, host) = (dialogue.peer_idsn(), dialogue.host_idsn());
    let ack =
        dss.data_ack.map(|ack| ack.expand(peer.wrapping_add(dialogue.peer_data_next as u64)).wrapping_sub(peer) as i64);
    if (option.has("ack") || option.has("ack4")) && ack.is_none() {
        return Err("dss has no ack".into());
    }
    number(option, "ack", ack)?;
    number(option, "ack4", ack)?;
    if option.has("ack4") && !matches!(dss.data_ack, Some(DataNumber::Short(_))) {
        return Err("the ack has 8 bytes".into());
    }
    same(option, "fin", dss.data_fin)?;
    let mapping = dss.mapping;
    if mapping.is_none() && ["map", "dsn", "ssn", "len", "csum"].iter().any(|part| option.has(part)) {
        return Err("dss has no mapping".into());
    }
    let dsn =
        mapping.map(|m| m.dsn.expand(host.wrapping_add(dialogue.host_data_next as u64)).wrapping_sub(host) as i64);
    number(option, "dsn", dsn)?;
    number(option, "ssn", mapping.map(|m| m.ssn.into()))?;
    number(option, "len", mapping.map(|m| m.len.into()))?;
    if let (true, Some(m), Some(dsn)) = (option.has("csum"), mapping, dsn) {
        // The bytes of the whole mapping: the segment may have only some of them.
        let data =
            content::bytes((dsn - 1).max(0) as u64, usize::from(m.len).saturating_sub(usize::from(dss.data_fin)));
        let right = dss_checksum(host.wrapping_add(dsn as u64), m.ssn, m.len, &data);
        let right = if m.len == 0 { 0 } else { right };
        if m.checksum != Some(right) {
            return Err(format!("dss has the checksum {:x?}, {right:#x} is right", m.checksum));
        }
    }
    Ok(())
}

impl Number {
    /// Whether this is one of those meant.
    #[must_use]
    pub fn takes(self, found: i64) -> bool {
        match self {
            Number::Exactly(wanted) => wanted == found,
            Number::Between(from, to) => (from..=to).contains(&found),
            Number::Any => true,
        }
    }
}
