//! The options of kind 30: Multipath TCP version 1 (RFC 8684), and the options in which version 0 (RFC 6824) differs.
//! The subtype is the upper half of the third byte; the length and the option's own flags determine its form. The
//! segment's SYN and ACK bits are left to the transport.

use crate::big_endian::{be16, be32, be64};
use crate::raw_option::Raw;
use crate::{AddAddr, DataNumber, Dss, EncodeError, Mapping, MpCapable, MpJoin, MptcpOption, OptionError, Version0};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Subtypes (RFC 8684 §3; IANA keeps the registry).
mod subtype {
    pub(super) const MP_CAPABLE: u8 = 0;
    pub(super) const MP_JOIN: u8 = 1;
    pub(super) const DSS: u8 = 2;
    pub(super) const ADD_ADDR: u8 = 3;
    pub(super) const REMOVE_ADDR: u8 = 4;
    pub(super) const MP_PRIO: u8 = 5;
    pub(super) const MP_FAIL: u8 = 6;
    pub(super) const MP_FASTCLOSE: u8 = 7;
    pub(super) const MP_TCPRST: u8 = 8;
}

/// Flags of the DSS option (RFC 8684 §3.3).
mod dss_flag {
    pub(super) const DATA_FIN: u8 = 0x10;
    pub(super) const DSN_LONG: u8 = 0x08;
    pub(super) const MAPPING: u8 = 0x04;
    pub(super) const ACK_LONG: u8 = 0x02;
    pub(super) const ACK: u8 = 0x01;
}

/// Names for messages.
const NAMES: [&str; 9] =
    ["MP_CAPABLE", "MP_JOIN", "DSS", "ADD_ADDR", "REMOVE_ADDR", "MP_PRIO", "MP_FAIL", "MP_FASTCLOSE", "MP_TCPRST"];

pub(crate) enum Decoded {
    Dss(Dss),
    Other(MptcpOption),
}

/// Reads the option; `raw.body` begins with the byte of the subtype.
pub(crate) fn decode(raw: &Raw) -> Result<Decoded, OptionError> {
    let body = raw.body;
    let Some(&first) = body.first() else {
        return Err(raw.wrong_length("3 or more: a subtype"));
    };
    let (subtype, low) = (first >> 4, first & 0x0f);
    let Some(name) = NAMES.get(usize::from(subtype)) else {
        return Ok(Decoded::Other(MptcpOption::Unknown(body.to_vec())));
    };
    let raw = &Raw { name, ..*raw };
    let option = match subtype {
        subtype::DSS => return decode_dss(raw).map(Decoded::Dss),
        subtype::MP_CAPABLE => decode_capable(raw, low)?,
        subtype::MP_JOIN => MptcpOption::MpJoin(decode_join(raw, low)?),
        subtype::ADD_ADDR => decode_add_addr(raw, low)?,
        subtype::REMOVE_ADDR => {
            if body.len() < 2 {
                return Err(raw.wrong_length("4 or more: at least one address id"));
            }
            MptcpOption::RemoveAddr(body[1..].to_vec())
        }
        subtype::MP_PRIO => match body.len() {
            1 => MptcpOption::MpPrio { backup: low & 1 != 0 },
            2 => MptcpOption::Version0(Version0::MpPrio { backup: low & 1 != 0, address_id: body[1] }),
            _ => return Err(raw.wrong_length("3, or 4 in version 0")),
        },
        subtype::MP_FAIL | subtype::MP_FASTCLOSE => {
            if body.len() != 10 {
                return Err(raw.wrong_length("12"));
            }
            let number = be64(body, 2);
            if subtype == subtype::MP_FAIL {
                MptcpOption::MpFail { dsn: number }
            } else {
                MptcpOption::MpFastclose { receiver_key: number }
            }
        }
        _ => {
            if body.len() != 2 {
                return Err(raw.wrong_length("4"));
            }
            MptcpOption::MpTcpRst { flags: low, reason: body[1] }
        }
    };
    Ok(Decoded::Other(option))
}

/// Whether MP_CAPABLE of version 1 can have this length.
fn is_capable_length(length: usize) -> bool {
    matches!(length, 4 | 12 | 20 | 22 | 24)
}

fn decode_capable(raw: &Raw, version: u8) -> Result<MptcpOption, OptionError> {
    let body = raw.body;
    let length = body.len() + 2;
    if version == 0 {
        return match length {
            12 | 20 => Ok(MptcpOption::Version0(Version0::MpCapable {
                flags: body[1],
                sender_key: be64(body, 2),
                receiver_key: (length == 20).then(|| be64(body, 10)),
            })),
            _ => Err(raw.wrong_length("12 or 20 in version 0")),
        };
    }
    if !is_capable_length(length) {
        if version == 1 {
            return Err(raw.wrong_length("4, 12, 20, 22 or 24"));
        }
        // Of an unknown version, only the place of the version nibble is known.
        return Ok(MptcpOption::Unknown(body.to_vec()));
    }
    Ok(MptcpOption::MpCapable(MpCapable {
        version,
        flags: body[1],
        sender_key: (length >= 12).then(|| be64(body, 2)),
        receiver_key: (length >= 20).then(|| be64(body, 10)),
        data: (length >= 22).then(|| (be16(body, 18), (length == 24).then(|| be16(body, 20)))),
    }))
}

fn decode_join(raw: &Raw, low: u8) -> Result<MpJoin, OptionError> {
    let body = raw.body;
    let backup = low & 1 != 0;
    match body.len() + 2 {
        12 => Ok(MpJoin::Syn { backup, address_id: body[1], token: be32(body, 2), nonce: be32(body, 6) }),
        16 => Ok(MpJoin::SynAck { backup, address_id: body[1], hmac: be64(body, 2), nonce: be32(body, 10) }),
        24 => {
            let mut hmac = [0; 20];
            hmac.copy_from_slice(&body[2..]);
            Ok(MpJoin::Ack { hmac })
        }
        _ => Err(raw.wrong_length("12, 16 or 24")),
    }
}

fn decode_dss(raw: &Raw) -> Result<Dss, OptionError> {
    let body = raw.body;
    let Some(&flags) = body.get(1) else {
        return Err(raw.wrong_length("4 or more: the flags"));
    };
    let has = |flag: u8| flags & flag != 0;
    let mut rest = &body[2..];
    let mut take = |len: usize| {
        let (part, after) = rest.split_at_checked(len).ok_or_else(|| raw.wrong_length("what the flags ask for"))?;
        rest = after;
        Ok(part)
    };
    let number = |bytes: &[u8]| match bytes.len() {
        8 => DataNumber::Long(be64(bytes, 0)),
        _ => DataNumber::Short(be32(bytes, 0)),
    };
    let mut dss = Dss { data_fin: has(dss_flag::DATA_FIN), ..Dss::default() };
    if has(dss_flag::ACK) {
        dss.data_ack = Some(number(take(if has(dss_flag::ACK_LONG) { 8 } else { 4 })?));
    }
    if has(dss_flag::MAPPING) {
        let dsn = number(take(if has(dss_flag::DSN_LONG) { 8 } else { 4 })?);
        let fixed = take(6)?;
        dss.mapping = Some(Mapping { dsn, ssn: be32(fixed, 0), len: be16(fixed, 4), checksum: None });
    }
    // Whether there is a checksum is negotiated in the handshake; on the wire only the length shows it.
    match (&mut dss.mapping, rest.len()) {
        (_, 0) => {}
        (Some(mapping), 2) => mapping.checksum = Some(be16(rest, 0)),
        _ => return Err(raw.wrong_length("what the flags ask for, or 2 more with a mapping")),
    }
    Ok(dss)
}

fn decode_add_addr(raw: &Raw, low: u8) -> Result<MptcpOption, OptionError> {
    let body = raw.body;
    let length = body.len() + 2;
    if !matches!(length, 8 | 10 | 16 | 18 | 20 | 22 | 28 | 30) {
        return Err(raw.wrong_length("8, 10, 16, 18, 20, 22, 28 or 30"));
    }
    let id = body[1];
    let v4 = length < 20;
    let address_end = if v4 { 6 } else { 18 };
    let address = if v4 {
        IpAddr::V4(Ipv4Addr::from(be32(body, 2)))
    } else {
        IpAddr::V6(Ipv6Addr::from(u128::from(be64(body, 2)) << 64 | u128::from(be64(body, 10))))
    };
    let port = matches!(length, 10 | 18 | 22 | 30).then(|| be16(body, address_end));
    let signed = matches!(length, 16 | 18 | 28 | 30);
    let echo = low & 1 != 0;
    match (echo, signed) {
        (true, false) => Ok(MptcpOption::AddAddr(AddAddr { echo, id, address, port, hmac: None })),
        (false, true) => {
            let hmac = Some(be64(body, body.len() - 8));
            Ok(MptcpOption::AddAddr(AddAddr { echo, id, address, port, hmac }))
        }
        (true, true) => Err(raw.wrong_length("8, 10, 20 or 22: an echo has no HMAC")),
        // No echo and no HMAC: version 0, where the nibble is the address's IP version (RFC 6824 §3.4.1).
        (false, false) if low == if v4 { 4 } else { 6 } => {
            Ok(MptcpOption::Version0(Version0::AddAddr { id, address, port }))
        }
        (false, false) => Err(raw.error(
            "flags",
            2,
            Some(low.into()),
            "E (1) at this length, which has no HMAC, or the IP version of version 0",
        )),
    }
}

/// Whether [`decode`] returns the option unchanged.
pub(crate) fn check(option: &MptcpOption) -> Result<(), EncodeError> {
    let reason = match option {
        MptcpOption::MpCapable(capable) => match capable {
            MpCapable { version: 1..=15, sender_key: None, receiver_key: None, data: None, .. }
            | MpCapable { version: 1..=15, sender_key: Some(_), receiver_key: None, data: None, .. }
            | MpCapable { version: 1..=15, sender_key: Some(_), receiver_key: Some(_), .. } => return Ok(()),
            MpCapable { version: 1..=15, .. } => {
                "a receiver's key needs the sender's before it, and data needs both keys"
            }
            MpCapable { .. } => "the version must be 1 to 15; version 0 has a variant of its own",
        },
        MptcpOption::AddAddr(AddAddr { echo: true, hmac: Some(_), .. }) => "an echo has no HMAC",
        MptcpOption::AddAddr(AddAddr { echo: false, hmac: None, .. }) => "an announcement needs an HMAC",
        MptcpOption::RemoveAddr(ids) if ids.is_empty() => "there must be an address id",
        MptcpOption::MpTcpRst { flags: 0x10.., .. } => "there are four flag bits: at most 0xf",
        MptcpOption::Unknown(data) => match data.first().map(|first| (first >> 4, first & 0x0f)) {
            Some((9.., _)) => return Ok(()),
            Some((subtype::MP_CAPABLE, 2..)) if !is_capable_length(data.len() + 2) => return Ok(()),
            Some(_) => "its subtype is one this crate knows: use the subtype's own variant",
            None => "there must be a subtype",
        },
        _ => return Ok(()),
    };
    Err(EncodeError::Option { option: option.name(), reason })
}

/// Appends what follows kind and length. The option has passed [`check`].
pub(crate) fn encode(option: &MptcpOption, out: &mut Vec<u8>) {
    let first = |subtype: u8, low: u8| subtype << 4 | low;
    match option {
        MptcpOption::MpCapable(MpCapable { version, flags, sender_key, receiver_key, data }) => {
            out.extend_from_slice(&[first(subtype::MP_CAPABLE, *version), *flags]);
            for key in [sender_key, receiver_key].into_iter().flatten() {
                out.extend_from_slice(&key.to_be_bytes());
            }
            if let Some((len, checksum)) = data {
                out.extend_from_slice(&len.to_be_bytes());
                out.extend(checksum.iter().flat_map(|checksum| checksum.to_be_bytes()));
            }
        }
        MptcpOption::MpJoin(MpJoin::Syn { backup, address_id, token, nonce }) => {
            out.extend_from_slice(&[first(subtype::MP_JOIN, (*backup).into()), *address_id]);
            out.extend_from_slice(&token.to_be_bytes());
            out.extend_from_slice(&nonce.to_be_bytes());
        }
        MptcpOption::MpJoin(MpJoin::SynAck { backup, address_id, hmac, nonce }) => {
            out.extend_from_slice(&[first(subtype::MP_JOIN, (*backup).into()), *address_id]);
            out.extend_from_slice(&hmac.to_be_bytes());
            out.extend_from_slice(&nonce.to_be_bytes());
        }
        MptcpOption::MpJoin(MpJoin::Ack { hmac }) => {
            out.extend_from_slice(&[first(subtype::MP_JOIN, 0), 0]);
            out.extend_from_slice(hmac);
        }
        MptcpOption::AddAddr(AddAddr { echo, id, address, port, hmac }) => {
            encode_address(first(subtype::ADD_ADDR, (*echo).into()), *id, *address, *port, out);
            out.extend(hmac.iter().flat_map(|hmac| hmac.to_be_bytes()));
        }
        MptcpOption::RemoveAddr(ids) => {
            out.push(first(subtype::REMOVE_ADDR, 0));
            out.extend_from_slice(ids);
        }
        MptcpOption::MpPrio { backup } => out.push(first(subtype::MP_PRIO, (*backup).into())),
        MptcpOption::MpFail { dsn } => {
            out.extend_from_slice(&[first(subtype::MP_FAIL, 0), 0]);
            out.extend_from_slice(&dsn.to_be_bytes());
        }
        MptcpOption::MpFastclose { receiver_key } => {
            out.extend_from_slice(&[first(subtype::MP_FASTCLOSE, 0), 0]);
            out.extend_from_slice(&receiver_key.to_be_bytes());
        }
        MptcpOption::MpTcpRst { flags, reason } => {
            out.extend_from_slice(&[first(subtype::MP_TCPRST, *flags), *reason]);
        }
        MptcpOption::Unknown(data) => out.extend_from_slice(data),
        MptcpOption::Version0(Version0::MpCapable { flags, sender_key, receiver_key }) => {
            out.extend_from_slice(&[first(subtype::MP_CAPABLE, 0), *flags]);
            for key in std::iter::once(sender_key).chain(receiver_key) {
                out.extend_from_slice(&key.to_be_bytes());
            }
        }
        MptcpOption::Version0(Version0::AddAddr { id, address, port }) => {
            let ip_version = if address.is_ipv4() { 4 } else { 6 };
            encode_address(first(subtype::ADD_ADDR, ip_version), *id, *address, *port, out);
        }
        MptcpOption::Version0(Version0::MpPrio { backup, address_id }) => {
            out.extend_from_slice(&[first(subtype::MP_PRIO, (*backup).into()), *address_id]);
        }
    }
}

fn encode_address(first: u8, id: u8, address: IpAddr, port: Option<u16>, out: &mut Vec<u8>) {
    out.extend_from_slice(&[first, id]);
    match address {
        IpAddr::V4(v4) => out.extend_from_slice(&v4.octets()),
        IpAddr::V6(v6) => out.extend_from_slice(&v6.octets()),
    }
    out.extend(port.iter().flat_map(|port| port.to_be_bytes()));
}

/// Appends what follows kind and length of a DSS.
pub(crate) fn encode_dss(dss: &Dss, out: &mut Vec<u8>) {
    let mut flags = if dss.data_fin { dss_flag::DATA_FIN } else { 0 };
    match dss.data_ack {
        None => {}
        Some(DataNumber::Short(_)) => flags |= dss_flag::ACK,
        Some(DataNumber::Long(_)) => flags |= dss_flag::ACK | dss_flag::ACK_LONG,
    }
    match dss.mapping.map(|mapping| mapping.dsn) {
        None => {}
        Some(DataNumber::Short(_)) => flags |= dss_flag::MAPPING,
        Some(DataNumber::Long(_)) => flags |= dss_flag::MAPPING | dss_flag::DSN_LONG,
    }
    out.extend_from_slice(&[subtype::DSS << 4, flags]);
    let number = |number: DataNumber, out: &mut Vec<u8>| match number {
        DataNumber::Short(short) => out.extend_from_slice(&short.to_be_bytes()),
        DataNumber::Long(long) => out.extend_from_slice(&long.to_be_bytes()),
    };
    if let Some(data_ack) = dss.data_ack {
        number(data_ack, out);
    }
    if let Some(Mapping { dsn, ssn, len, checksum }) = dss.mapping {
        number(dsn, out);
        out.extend_from_slice(&ssn.to_be_bytes());
        out.extend_from_slice(&len.to_be_bytes());
        if let Some(checksum) = checksum {
            out.extend_from_slice(&checksum.to_be_bytes());
        }
    }
}

impl MptcpOption {
    /// The option's name in RFC 8684.
    #[must_use]
    pub fn name(&self) -> &'static str {
        NAMES[usize::from(match self {
            MptcpOption::MpCapable(_) | MptcpOption::Version0(Version0::MpCapable { .. }) => subtype::MP_CAPABLE,
            MptcpOption::MpJoin(_) => subtype::MP_JOIN,
            MptcpOption::AddAddr(_) | MptcpOption::Version0(Version0::AddAddr { .. }) => subtype::ADD_ADDR,
            MptcpOption::RemoveAddr(_) => subtype::REMOVE_ADDR,
            MptcpOption::MpPrio { .. } | MptcpOption::Version0(Version0::MpPrio { .. }) => subtype::MP_PRIO,
            MptcpOption::MpFail { .. } => subtype::MP_FAIL,
            MptcpOption::MpFastclose { .. } => subtype::MP_FASTCLOSE,
            MptcpOption::MpTcpRst { .. } => subtype::MP_TCPRST,
            MptcpOption::Unknown(_) => return "unknown MPTCP option",
        })]
    }
}
