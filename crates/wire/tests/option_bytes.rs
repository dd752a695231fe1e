//! Every option against bytes worked by hand from the figures of the RFCs, read and written.

use std::net::IpAddr;
use wire::{
    AddAddr, DataNumber, Dss, Mapping, MpCapable, MpJoin, MptcpOption, Options, RareOptions, SackBlock, Timestamps,
    UnknownOption, Version0,
};

fn bytes(hex: &str) -> Vec<u8> {
    let digits: Vec<u8> = hex.chars().filter_map(|c| c.to_digit(16)).map(|digit| digit as u8).collect();
    digits.chunks(2).map(|pair| pair[0] << 4 | pair[1]).collect()
}

/// `hex` is what these options are on the wire.
#[track_caller]
fn both_ways(hex: &str, options: &Options) {
    let expected = bytes(hex);
    let mut written = Vec::new();
    options.encode(&mut written).expect("encodes");
    assert_eq!(written, expected, "written (left) and worked by hand (right)");
    assert_eq!(options.len(), expected.len());
    assert_eq!(&Options::decode(&expected, 0).expect("decodes"), options);
}

fn rare(rare: RareOptions) -> Options {
    Options { rare: Some(Box::new(rare)), ..Options::default() }
}

fn mptcp(option: MptcpOption) -> Options {
    rare(RareOptions { mptcp: vec![option], ..RareOptions::default() })
}

fn dss(dss: Dss) -> Options {
    Options { dss: Some(dss), ..Options::default() }
}

const KEY_A: u64 = 0x0102_0304_0506_0708;
const KEY_B: u64 = 0x1112_1314_1516_1718;

#[test]
fn no_options_are_no_bytes() {
    both_ways("", &Options::default());
}

#[test]
fn maximum_segment_size() {
    both_ways("02 04 05b4", &rare(RareOptions { mss: Some(1460), ..RareOptions::default() }));
}

#[test]
fn window_scale() {
    both_ways("01 03 03 07", &rare(RareOptions { window_scale: Some(7), ..RareOptions::default() }));
}

#[test]
fn sack_permitted_alone() {
    both_ways("01 01 04 02", &rare(RareOptions { sack_permitted: true, ..RareOptions::default() }));
}

#[test]
fn timestamps() {
    let timestamps = Some(Timestamps { value: 0x0102_0304, echo: 0xa0b0_c0d0 });
    both_ways("01 01 08 0a 01020304 a0b0c0d0", &Options { timestamps, ..Options::default() });
}

#[test]
fn sack_with_one_block_and_with_four() {
    let mut options = Options::default();
    options.sack.push(SackBlock { left: 0x10, right: 0x20 });
    both_ways("01 01 05 0a 00000010 00000020", &options);
    for left in [0x30, 0x50, 0x70] {
        assert!(options.sack.push(SackBlock { left, right: left + 0x10 }));
    }
    assert!(!options.sack.push(SackBlock::default()));
    both_ways("01 01 05 22 00000010 00000020 00000030 00000040 00000050 00000060 00000070 00000080", &options);
}

/// The SYN that opens a connection: 4 + 12 + 4 + 4 bytes, and an MP_JOIN's SYN just as aligned.
#[test]
fn the_options_of_a_syn_stand_in_this_order() {
    let capable = MpCapable { version: 1, flags: 0x01, sender_key: None, receiver_key: None, data: None };
    let mut options = rare(RareOptions {
        mss: Some(1460),
        window_scale: Some(8),
        sack_permitted: true,
        mptcp: vec![MptcpOption::MpCapable(capable)],
        unknown: Vec::new(),
    });
    options.timestamps = Some(Timestamps { value: 1, echo: 0 });
    both_ways("02 04 05b4  04 02 08 0a 00000001 00000000  01 03 03 08  1e 04 01 01", &options);
    let join = MpJoin::SynAck { backup: false, address_id: 2, hmac: KEY_A, nonce: 9 };
    options.rare.as_mut().unwrap().mptcp[0] = MptcpOption::MpJoin(join);
    assert_eq!(options.len(), 36);
}

/// RFC 8684 §3.1: kind 30, length, subtype 0 and version, flags, keys, data-level length, checksum.
#[test]
fn mp_capable_in_its_five_lengths() {
    let form = |sender_key, receiver_key, data| {
        mptcp(MptcpOption::MpCapable(MpCapable { version: 1, flags: 0x81, sender_key, receiver_key, data }))
    };
    both_ways("1e 04 01 81", &form(None, None, None));
    both_ways("1e 0c 01 81 0102030405060708", &form(Some(KEY_A), None, None));
    both_ways("1e 14 01 81 0102030405060708 1112131415161718", &form(Some(KEY_A), Some(KEY_B), None));
    both_ways(
        "1e 16 01 81 0102030405060708 1112131415161718 05b4 01 01",
        &form(Some(KEY_A), Some(KEY_B), Some((1460, None))),
    );
    both_ways(
        "1e 18 01 81 0102030405060708 1112131415161718 05b4 beef",
        &form(Some(KEY_A), Some(KEY_B), Some((1460, Some(0xbeef)))),
    );
}

/// RFC 6824 §3.1: as in version 1, with keys on SYN and SYN/ACK, and on the third ACK.
#[test]
fn mp_capable_of_version_0() {
    let form = |receiver_key| {
        mptcp(MptcpOption::Version0(Version0::MpCapable { flags: 0x81, sender_key: KEY_A, receiver_key }))
    };
    both_ways("1e 0c 00 81 0102030405060708", &form(None));
    both_ways("1e 14 00 81 0102030405060708 1112131415161718", &form(Some(KEY_B)));
}

#[test]
fn mp_capable_of_a_later_version_keeps_its_version() {
    let capable = MpCapable { version: 2, flags: 0x01, sender_key: None, receiver_key: None, data: None };
    both_ways("1e 04 02 01", &mptcp(MptcpOption::MpCapable(capable)));
    // A length that no known version has: byte for byte.
    both_ways("1e 08 02 01 aabbccdd", &mptcp(MptcpOption::Unknown(bytes("02 01 aabbccdd"))));
}

/// RFC 8684 §3.2.
#[test]
fn mp_join_in_its_three_forms() {
    both_ways(
        "1e 0c 11 05 cd266215 a1a2a3a4",
        &mptcp(MptcpOption::MpJoin(MpJoin::Syn {
            backup: true,
            address_id: 5,
            token: 0xcd26_6215,
            nonce: 0xa1a2_a3a4,
        })),
    );
    both_ways(
        "1e 10 10 05 0102030405060708 a1a2a3a4",
        &mptcp(MptcpOption::MpJoin(MpJoin::SynAck { backup: false, address_id: 5, hmac: KEY_A, nonce: 0xa1a2_a3a4 })),
    );
    let mut hmac = [0; 20];
    hmac.copy_from_slice(&(1..=20).collect::<Vec<u8>>());
    both_ways(
        "1e 18 10 00 0102030405060708090a0b0c0d0e0f1011121314",
        &mptcp(MptcpOption::MpJoin(MpJoin::Ack { hmac })),
    );
}

/// RFC 8684 §3.3. Flags: F 0x10, m 0x08, M 0x04, a 0x02, A 0x01.
#[test]
fn dss_in_its_forms() {
    let (short, long) = (DataNumber::Short(0xa1a2_a3a4), DataNumber::Long(KEY_A));
    let mapping = |dsn, checksum| Some(Mapping { dsn, ssn: 1, len: 1460, checksum });
    both_ways("1e 08 20 01 a1a2a3a4", &dss(Dss { data_ack: Some(short), ..Dss::default() }));
    both_ways("1e 0c 20 03 0102030405060708", &dss(Dss { data_ack: Some(long), ..Dss::default() }));
    both_ways(
        "1e 0e 20 04 a1a2a3a4 00000001 05b4 01 01",
        &dss(Dss { mapping: mapping(short, None), ..Dss::default() }),
    );
    both_ways(
        "1e 10 20 04 a1a2a3a4 00000001 05b4 beef",
        &dss(Dss { mapping: mapping(short, Some(0xbeef)), ..Dss::default() }),
    );
    both_ways(
        "1e 1c 20 0f 0102030405060708 0102030405060708 00000001 05b4 beef",
        &dss(Dss { data_ack: Some(long), mapping: mapping(long, Some(0xbeef)), data_fin: false }),
    );
    both_ways(
        "1e 16 20 0d a1a2a3a4 0102030405060708 00000001 05b4 01 01",
        &dss(Dss { data_ack: Some(short), mapping: mapping(long, None), data_fin: false }),
    );
    // A lone DATA_FIN: length 1, subflow sequence number 0.
    let fin = Mapping { dsn: short, ssn: 0, len: 1, checksum: None };
    both_ways(
        "1e 12 20 15 a1a2a3a4 a1a2a3a4 00000000 0001 01 01",
        &dss(Dss { data_ack: Some(short), mapping: Some(fin), data_fin: true }),
    );
    // Neither number: allowed, and nothing is said.
    both_ways("1e 04 20 00", &dss(Dss::default()));
}

/// RFC 8684 §3.4.1: subtype 3 and E, id, address, port, HMAC.
#[test]
fn add_addr_in_its_eight_lengths() {
    let (v4, v6): (IpAddr, IpAddr) = ("10.0.2.1".parse().unwrap(), "2001:db8::1".parse().unwrap());
    let form = |address, port, hmac: Option<u64>| {
        mptcp(MptcpOption::AddAddr(AddAddr { echo: hmac.is_none(), id: 5, address, port, hmac }))
    };
    let hmac = Some(KEY_A);
    both_ways("1e 10 30 05 0a000201 0102030405060708", &form(v4, None, hmac));
    both_ways("1e 12 30 05 0a000201 1f90 0102030405060708 01 01", &form(v4, Some(8080), hmac));
    both_ways("1e 08 31 05 0a000201", &form(v4, None, None));
    both_ways("1e 0a 31 05 0a000201 1f90 01 01", &form(v4, Some(8080), None));
    let address = "20010db8000000000000000000000001";
    both_ways(&format!("1e 1c 30 05 {address} 0102030405060708"), &form(v6, None, hmac));
    both_ways(&format!("1e 1e 30 05 {address} 1f90 0102030405060708 01 01"), &form(v6, Some(8080), hmac));
    both_ways(&format!("1e 14 31 05 {address}"), &form(v6, None, None));
    both_ways(&format!("1e 16 31 05 {address} 1f90 01 01"), &form(v6, Some(8080), None));
}

/// RFC 6824 §3.4.1: subtype 3 and the IP version.
#[test]
fn add_addr_of_version_0() {
    let form = |address: &str, port| {
        mptcp(MptcpOption::Version0(Version0::AddAddr { id: 5, address: address.parse().unwrap(), port }))
    };
    both_ways("1e 08 34 05 0a000201", &form("10.0.2.1", None));
    both_ways("1e 0a 34 05 0a000201 1f90 01 01", &form("10.0.2.1", Some(8080)));
    both_ways("1e 14 36 05 20010db8000000000000000000000001", &form("2001:db8::1", None));
    both_ways("1e 16 36 05 20010db8000000000000000000000001 1f90 01 01", &form("2001:db8::1", Some(8080)));
}

/// RFC 8684 §3.4.2.
#[test]
fn remove_addr() {
    both_ways("1e 04 40 03", &mptcp(MptcpOption::RemoveAddr(vec![3])));
    both_ways("1e 06 40 03 04 05 01 01", &mptcp(MptcpOption::RemoveAddr(vec![3, 4, 5])));
}

/// §3.3.8 of RFC 8684 and of RFC 6824.
#[test]
fn mp_prio() {
    both_ways("1e 03 51 01", &mptcp(MptcpOption::MpPrio { backup: true }));
    both_ways("1e 03 50 01", &mptcp(MptcpOption::MpPrio { backup: false }));
    let version_0 = Version0::MpPrio { backup: true, address_id: 7 };
    both_ways("1e 04 51 07", &mptcp(MptcpOption::Version0(version_0)));
}

/// RFC 8684 §3.7, §3.5 and §3.6.
#[test]
fn mp_fail_mp_fastclose_and_mp_tcprst() {
    both_ways("1e 0c 60 00 0102030405060708", &mptcp(MptcpOption::MpFail { dsn: KEY_A }));
    both_ways("1e 0c 70 00 0102030405060708", &mptcp(MptcpOption::MpFastclose { receiver_key: KEY_A }));
    both_ways("1e 04 81 03", &mptcp(MptcpOption::MpTcpRst { flags: 1, reason: 3 }));
}

#[test]
fn unknown_subtypes_and_kinds_are_kept_byte_for_byte() {
    both_ways("1e 03 f7 01", &mptcp(MptcpOption::Unknown(vec![0xf7])));
    both_ways("1e 05 9a bc de 01 01 01", &mptcp(MptcpOption::Unknown(bytes("9a bc de"))));
    // Kind 34 is TCP Fast Open, kind 253 an experiment.
    let unknown =
        vec![UnknownOption { kind: 34, data: Vec::new() }, UnknownOption { kind: 253, data: bytes("f989 11") }];
    both_ways("22 02 01 01 fd 05 f989 11 01 01 01", &rare(RareOptions { unknown, ..RareOptions::default() }));
}

/// DSS and an announcement in one segment, with timestamps: 12 + 8 + 16.
#[test]
fn several_mptcp_options_stand_back_to_back() {
    let add = AddAddr { echo: false, id: 5, address: "10.0.2.1".parse().unwrap(), port: None, hmac: Some(KEY_A) };
    let mut options = mptcp(MptcpOption::AddAddr(add));
    options.timestamps = Some(Timestamps { value: 1, echo: 2 });
    options.dss = Some(Dss { data_ack: Some(DataNumber::Short(3)), ..Dss::default() });
    both_ways("01 01 08 0a 00000001 00000002  1e 08 20 01 00000003  1e 10 30 05 0a000201 0102030405060708", &options);
}

/// Timestamps and the longest ADD_ADDR: 44 bytes aligned, 40 packed. Written packed, so that it can be written at all.
#[test]
fn options_that_fit_only_without_padding_are_packed() {
    let address = "2001:db8::1".parse().unwrap();
    let add = AddAddr { echo: false, id: 5, address, port: Some(8080), hmac: Some(KEY_A) };
    let mut options = mptcp(MptcpOption::AddAddr(add));
    options.timestamps = Some(Timestamps { value: 1, echo: 2 });
    both_ways("08 0a 00000001 00000002  1e 1e 30 05 20010db8000000000000000000000001 1f90 0102030405060708", &options);
}

/// What another writer lays out otherwise reads the same: no padding, padding by end of list, another order.
#[test]
fn other_layouts_read_the_same() {
    let options = Options::decode(&bytes("03 03 07 1e 03 51 02 04 05b4 04 02 00 ff ff ff"), 0).unwrap();
    let expected = RareOptions {
        mss: Some(1460),
        window_scale: Some(7),
        sack_permitted: true,
        mptcp: vec![MptcpOption::MpPrio { backup: true }],
        unknown: Vec::new(),
    };
    assert_eq!(options, rare(expected));
}

/// Reserved bits are 1 here; a receiver ignores them (RFC 8684 §3.3, §3.4.1). The flags m and a say nothing without M and A.
#[test]
fn reserved_bits_are_ignored() {
    let ack = Dss { data_ack: Some(DataNumber::Short(7)), ..Dss::default() };
    assert_eq!(Options::decode(&bytes("1e 08 2f e9 00000007"), 0).unwrap(), dss(ack));
    assert_eq!(Options::decode(&bytes("1e 04 2f e2"), 0).unwrap(), dss(Dss::default()));
    assert_eq!(Options::decode(&bytes("1e 03 5e"), 0).unwrap(), mptcp(MptcpOption::MpPrio { backup: false }));
    let add = AddAddr { echo: false, id: 5, address: "10.0.2.1".parse().unwrap(), port: None, hmac: Some(KEY_A) };
    let read = Options::decode(&bytes("1e 10 3e 05 0a000201 0102030405060708"), 0).unwrap();
    assert_eq!(read, mptcp(MptcpOption::AddAddr(add)));
}
