//! Segments of every kind, for property tests.

use proptest::option::of;
use proptest::prelude::*;
use std::net::IpAddr;
use wire::{
    AddAddr, DataNumber, Dss, Ecn, Flags, IpHeader, Mapping, MpCapable, MpJoin, MptcpOption, Options, RareOptions,
    SackBlock, SackBlocks, Segment, Timestamps, UnknownOption, Version0,
};

fn data_number() -> impl Strategy<Value = DataNumber> {
    prop_oneof![any::<u32>().prop_map(DataNumber::Short), any::<u64>().prop_map(DataNumber::Long)]
}

fn dss() -> impl Strategy<Value = Dss> {
    let mapping = (data_number(), any::<u32>(), any::<u16>(), of(any::<u16>()))
        .prop_map(|(dsn, ssn, len, checksum)| Mapping { dsn, ssn, len, checksum });
    (of(data_number()), of(mapping), any::<bool>()).prop_map(|(data_ack, mapping, data_fin)| Dss {
        data_ack,
        mapping,
        data_fin,
    })
}

fn capable() -> impl Strategy<Value = MptcpOption> {
    let keys = prop_oneof![
        Just((None, None, None)),
        any::<u64>().prop_map(|key| (Some(key), None, None)),
        (any::<u64>(), any::<u64>(), of((any::<u16>(), of(any::<u16>())))).prop_map(|(sender, receiver, data)| (
            Some(sender),
            Some(receiver),
            data
        )),
    ];
    (1..=15_u8, any::<u8>(), keys).prop_map(|(version, flags, (sender_key, receiver_key, data))| {
        MptcpOption::MpCapable(MpCapable { version, flags, sender_key, receiver_key, data })
    })
}

fn join() -> impl Strategy<Value = MptcpOption> {
    prop_oneof![
        (any::<bool>(), any::<u8>(), any::<u32>(), any::<u32>())
            .prop_map(|(backup, address_id, token, nonce)| MpJoin::Syn { backup, address_id, token, nonce }),
        (any::<bool>(), any::<u8>(), any::<u64>(), any::<u32>())
            .prop_map(|(backup, address_id, hmac, nonce)| MpJoin::SynAck { backup, address_id, hmac, nonce }),
        any::<[u8; 20]>().prop_map(|hmac| MpJoin::Ack { hmac }),
    ]
    .prop_map(MptcpOption::MpJoin)
}

/// An option in any of the forms that can be written.
pub fn mptcp_option() -> impl Strategy<Value = MptcpOption> {
    prop_oneof![
        capable(),
        join(),
        (any::<u8>(), any::<IpAddr>(), of(any::<u16>()), of(any::<u64>())).prop_map(|(id, address, port, hmac)| {
            MptcpOption::AddAddr(AddAddr { echo: hmac.is_none(), id, address, port, hmac })
        }),
        prop::collection::vec(any::<u8>(), 1..10).prop_map(MptcpOption::RemoveAddr),
        any::<bool>().prop_map(|backup| MptcpOption::MpPrio { backup }),
        any::<u64>().prop_map(|dsn| MptcpOption::MpFail { dsn }),
        any::<u64>().prop_map(|receiver_key| MptcpOption::MpFastclose { receiver_key }),
        (0..16_u8, any::<u8>()).prop_map(|(flags, reason)| MptcpOption::MpTcpRst { flags, reason }),
        (0x90_u8.., prop::collection::vec(any::<u8>(), 0..10)).prop_map(|(first, mut data)| {
            data.insert(0, first);
            MptcpOption::Unknown(data)
        }),
        prop_oneof![
            (any::<u8>(), any::<u64>(), of(any::<u64>())).prop_map(|(flags, sender_key, receiver_key)| {
                Version0::MpCapable { flags, sender_key, receiver_key }
            }),
            (any::<u8>(), any::<IpAddr>(), of(any::<u16>())).prop_map(|(id, address, port)| Version0::AddAddr {
                id,
                address,
                port
            }),
            (any::<bool>(), any::<u8>()).prop_map(|(backup, address_id)| Version0::MpPrio { backup, address_id }),
        ]
        .prop_map(MptcpOption::Version0),
    ]
}

fn unknown() -> impl Strategy<Value = UnknownOption> {
    let kind = any::<u8>().prop_filter("a known kind", |kind| ![0, 1, 2, 3, 4, 5, 8, 30].contains(kind));
    (kind, prop::collection::vec(any::<u8>(), 0..10)).prop_map(|(kind, data)| UnknownOption { kind, data })
}

fn rare() -> impl Strategy<Value = Option<Box<RareOptions>>> {
    let parts = (
        of(any::<u16>()),
        of(any::<u8>()),
        any::<bool>(),
        prop::collection::vec(mptcp_option(), 0..3),
        prop::collection::vec(unknown(), 0..2),
    );
    parts.prop_map(|(mss, window_scale, sack_permitted, mptcp, unknown)| {
        let rare = RareOptions { mss, window_scale, sack_permitted, mptcp, unknown };
        // None and empty mean the same; a decoder gives None.
        (rare != RareOptions::default()).then(|| Box::new(rare))
    })
}

/// Options of any kind, which may or may not fit in a header.
pub fn options() -> impl Strategy<Value = Options> {
    let timestamps = (any::<u32>(), any::<u32>()).prop_map(|(value, echo)| Timestamps { value, echo });
    let sack = prop::collection::vec(any::<(u32, u32)>(), 0..4).prop_map(|blocks| {
        let mut sack = SackBlocks::default();
        for (left, right) in blocks {
            sack.push(SackBlock { left, right });
        }
        sack
    });
    let sack = prop_oneof![3 => Just(SackBlocks::default()), 1 => sack];
    let rare = prop_oneof![1 => Just(None), 1 => rare(), 2 => mptcp_option().prop_map(|option| {
        Some(Box::new(RareOptions { mptcp: vec![option], ..RareOptions::default() }))
    })];
    (of(timestamps), sack, of(dss()), rare).prop_map(|(timestamps, sack, dss, rare)| Options {
        timestamps,
        sack,
        dss,
        rare,
    })
}

/// A segment with this content.
pub fn segment<P: std::fmt::Debug + Clone>(payload: impl Strategy<Value = P>) -> impl Strategy<Value = Segment<P>> {
    (any::<(u16, u16, u32, u32, u8, u16, u16)>(), options(), payload).prop_map(
        |((src_port, dst_port, seq, ack, flags, window, urgent), options, payload)| Segment {
            src_port,
            dst_port,
            seq,
            ack,
            flags: Flags(flags),
            window,
            urgent,
            options,
            payload,
        },
    )
}

/// An IP header of either version.
pub fn ip_header() -> impl Strategy<Value = IpHeader> {
    let ecn = prop_oneof![Just(Ecn::NotEct), Just(Ecn::Ect0), Just(Ecn::Ect1), Just(Ecn::Ce)];
    let rest = (ecn, 0..64_u8, any::<u8>());
    prop_oneof![
        (any::<[u8; 4]>(), any::<[u8; 4]>(), rest.clone(), any::<u16>()).prop_map(
            |(src, dst, (ecn, dscp, hop_limit), identification)| IpHeader {
                ecn,
                dscp,
                hop_limit,
                identification,
                ..IpHeader::new(src.into(), dst.into())
            }
        ),
        (any::<[u8; 16]>(), any::<[u8; 16]>(), rest, 0..1_u32 << 20).prop_map(
            |(src, dst, (ecn, dscp, hop_limit), flow_label)| IpHeader {
                ecn,
                dscp,
                hop_limit,
                flow_label,
                ..IpHeader::new(src.into(), dst.into())
            }
        ),
    ]
}
