//! What we write, read by tshark: nothing malformed, every checksum right, and the same values in the same fields.
//!
//! Where tshark is not installed, this says so and checks nothing, unless `MPTCPLAB_REQUIRE_TSHARK=1`: then it fails.

mod conversation;

use std::fmt::Write as _;
use std::io::Write as _;
use std::net::IpAddr;
use std::path::PathBuf;
use std::process::Command;
use wire::{DataNumber, MpJoin, MptcpOption, Segment, Version0, decode, keys};

/// Severity of a warning in Wireshark's expert information; notes and chats (a FIN, a duplicate ACK) are below.
const WARNING: u64 = 0x0060_0000;

/// Expert warnings that these packets deserve, and why. All other warnings and errors fail the test; wrong checksums,
/// wrong lengths and malformed options are among them.
const INHERENT: [(&str, &str); 4] = [
    ("Connection reset (RST)", "an MP_TCPRST stands on a RST"),
    ("Fallback to infinite mapping", "the conversation with MP_FAIL is about that"),
    // Asked of segments without data too, and of the data after a fallback: looked at more closely below.
    ("No mapping available", "a pure ACK with another option than DSS has none"),
    // Version 4.0 counts them over the whole header, so timestamps (NOP NOP) and an option of 14 bytes make four.
    ("4 NOP in a row", "options are aligned with NOPs, as other hosts do"),
];

/// The capture, in a file of its own per test; none when tshark is not there.
fn capture(name: &str) -> Option<(Vec<Segment<Vec<u8>>>, PathBuf)> {
    if Command::new("tshark").arg("--version").output().is_err() {
        #[allow(
            clippy::disallowed_methods,
            reason = "whether the machine must have tshark is the environment's to say"
        )]
        let required = std::env::var("MPTCPLAB_REQUIRE_TSHARK").is_ok_and(|value| value == "1");
        assert!(!required, "MPTCPLAB_REQUIRE_TSHARK=1, and tshark is not installed");
        // Not by println!, which the test harness keeps for itself when a test passes.
        let message = format!("{name}: not checked, tshark is not installed (Debian: apt-get install tshark)\n");
        std::io::stderr().write_all(message.as_bytes()).expect("standard error");
        return None;
    }
    let capture = conversation::all();
    let file = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}.pcap"));
    std::fs::write(&file, capture.to_pcap()).expect("the capture is written");
    let packets = capture.packets.iter().map(|packet| decode(packet).expect("our own packet decodes").1).collect();
    Some((packets, file))
}

/// One row a packet, one column a field, values of a field separated by `;`.
fn fields(file: &PathBuf, fields: &[&str]) -> Vec<Vec<String>> {
    let mut command = Command::new("tshark");
    for preference in ["tcp.check_checksum:TRUE", "ip.check_checksum:TRUE", "mptcp.analyze_mappings:TRUE"] {
        command.args(["-o", preference]);
    }
    command.arg("-r").arg(file).args(["-T", "fields", "-E", "aggregator=;", "-E", "separator=/t"]);
    for field in fields {
        command.args(["-e", field]);
    }
    let output = command.output().expect("tshark runs");
    assert!(output.status.success(), "tshark: {}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).expect("tshark writes UTF-8");
    text.lines().map(|line| line.split('\t').map(str::to_owned).collect()).collect()
}

#[test]
fn tshark_finds_nothing_malformed() {
    let Some((packets, file)) = capture("malformed") else { return };
    let rows = fields(
        &file,
        &[
            "frame.number",
            "_ws.malformed",
            "_ws.expert.severity",
            "_ws.expert.message",
            "tcp.len",
            "tcp.checksum.status",
        ],
    );
    assert_eq!(rows.len(), packets.len());
    let mut complaints = String::new();
    for row in &rows {
        let [frame, malformed, severities, messages, len, checksum] = &row[..] else { panic!("{row:?}") };
        let mut complain = |what: &str| writeln!(complaints, "packet {frame}: {what}").expect("a string");
        if !malformed.is_empty() {
            complain("malformed");
        }
        if checksum != "1" {
            complain(&format!("TCP checksum status {checksum}, expected 1 (good)"));
        }
        let without_data = len == "0" || messages.contains("Fallback to infinite mapping");
        for (severity, message) in severities.split(';').zip(messages.split(';')) {
            let inherent = INHERENT.iter().any(|(known, _)| message.starts_with(known))
                && (without_data || !message.starts_with("No mapping"));
            if !severity.is_empty() && severity.parse::<u64>().expect("a number") >= WARNING && !inherent {
                complain(message);
            }
        }
    }
    assert!(complaints.is_empty(), "\n{complaints}");
}

/// A token leads to its connection, and tshark's own SHA-256 gives the same tokens and initial data sequence numbers.
#[test]
fn tshark_finds_the_connection_of_each_subflow() {
    let Some((packets, file)) = capture("connections") else { return };
    let names =
        ["mptcp.stream", "tcp.srcport", "mptcp.expected_token", "mptcp.expected_idsn", "tcp.options.mptcp.version"];
    let rows = fields(&file, &names);
    let stream_of = |port: u16| {
        let row = rows.iter().find(|row| row[1] == port.to_string() && !row[0].is_empty());
        row.unwrap_or_else(|| panic!("no MPTCP connection with port {port}"))[0].clone()
    };
    let mut connections = Vec::new();
    for (first, second) in [(40_010, 40_011), (40_020, 40_021), (40_030, 40_031), (40_040, 40_041)] {
        assert_eq!(stream_of(first), stream_of(second), "ports {first} and {second} are subflows of one connection");
        connections.push(stream_of(first));
    }
    connections.extend([40_050, 40_060, 40_070, 40_080].map(stream_of));
    connections.sort();
    connections.dedup();
    assert_eq!(connections.len(), 8, "each conversation is a connection of its own");
    let mut checked = 0;
    for (segment, row) in packets.iter().zip(&rows) {
        let rare = segment.options.rare.as_ref();
        // The SYN/ACK's key, and the client's on its third segment.
        for option in rare.iter().flat_map(|rare| &rare.mptcp) {
            let (token, idsn) = match option {
                MptcpOption::MpCapable(wire::MpCapable { sender_key: Some(key), .. }) => {
                    (keys::token(*key), keys::idsn(*key))
                }
                MptcpOption::Version0(Version0::MpCapable { sender_key, .. }) => {
                    (keys::v0::token(*sender_key), keys::v0::idsn(*sender_key))
                }
                _ => continue,
            };
            if !row[2].is_empty() {
                assert_eq!((&row[2], &row[3]), (&token.to_string(), &idsn.to_string()), "{option:?}");
                checked += 1;
            }
        }
    }
    assert!(checked >= 16, "tshark showed {checked} tokens, expected both sides of 8 connections");
}

/// tshark's field, and what we read in it.
type Field = (&'static str, fn(&Segment<Vec<u8>>) -> Vec<String>);

fn options(segment: &Segment<Vec<u8>>) -> impl Iterator<Item = &MptcpOption> {
    segment.options.rare.iter().flat_map(|rare| &rare.mptcp)
}

fn each(segment: &Segment<Vec<u8>>, value: impl Fn(&MptcpOption) -> Option<String>) -> Vec<String> {
    options(segment).filter_map(value).collect()
}

fn address(option: &MptcpOption) -> Option<(u8, IpAddr, Option<u16>)> {
    match option {
        MptcpOption::AddAddr(add) => Some((add.id, add.address, add.port)),
        MptcpOption::Version0(Version0::AddAddr { id, address, port }) => Some((*id, *address, *port)),
        _ => None,
    }
}

fn number(number: DataNumber) -> String {
    match number {
        DataNumber::Short(short) => short.to_string(),
        DataNumber::Long(long) => long.to_string(),
    }
}

fn subtypes(segment: &Segment<Vec<u8>>) -> Vec<String> {
    const NAMES: [&str; 9] =
        ["MP_CAPABLE", "MP_JOIN", "DSS", "ADD_ADDR", "REMOVE_ADDR", "MP_PRIO", "MP_FAIL", "MP_FASTCLOSE", "MP_TCPRST"];
    let names = segment.options.dss.iter().map(|_| "DSS").chain(options(segment).map(MptcpOption::name));
    names.map(|name| NAMES.iter().position(|known| *known == name).expect("a known subtype").to_string()).collect()
}

const FIELDS: [Field; 29] = [
    ("tcp.srcport", |s| vec![s.src_port.to_string()]),
    ("tcp.dstport", |s| vec![s.dst_port.to_string()]),
    ("tcp.seq_raw", |s| vec![s.seq.to_string()]),
    ("tcp.ack_raw", |s| vec![s.ack.to_string()]),
    ("tcp.flags", |s| vec![format!("{:#06x}", s.flags.0)]),
    ("tcp.window_size_value", |s| vec![s.window.to_string()]),
    ("tcp.len", |s| vec![s.payload.len().to_string()]),
    ("tcp.hdr_len", |s| vec![s.header_len().to_string()]),
    ("tcp.options.mss_val", |s| s.options.rare.iter().filter_map(|r| r.mss).map(|v| v.to_string()).collect()),
    ("tcp.options.wscale.shift", |s| {
        s.options.rare.iter().filter_map(|r| r.window_scale).map(|v| v.to_string()).collect()
    }),
    ("tcp.options.timestamp.tsval", |s| s.options.timestamps.iter().map(|t| t.value.to_string()).collect()),
    ("tcp.options.timestamp.tsecr", |s| s.options.timestamps.iter().map(|t| t.echo.to_string()).collect()),
    ("tcp.options.mptcp.subtype", subtypes),
    ("tcp.options.mptcp.rawdataack", |s| s.options.dss.iter().filter_map(|dss| dss.data_ack).map(number).collect()),
    ("tcp.options.mptcp.rawdataseqno", |s| {
        let mapped = s.options.dss.iter().filter_map(|dss| dss.mapping).map(|m| number(m.dsn));
        let failed = options(s).filter_map(|option| match option {
            MptcpOption::MpFail { dsn } => Some(dsn.to_string()),
            _ => None,
        });
        mapped.chain(failed).collect()
    }),
    ("tcp.options.mptcp.subflowseqno", |s| {
        s.options.dss.iter().filter_map(|dss| dss.mapping).map(|m| m.ssn.to_string()).collect()
    }),
    ("tcp.options.mptcp.datalvllen", |s| {
        let mapped = s.options.dss.iter().filter_map(|dss| dss.mapping).map(|m| m.len);
        let capable = options(s).filter_map(|option| match option {
            MptcpOption::MpCapable(capable) => capable.data.map(|(len, _)| len),
            _ => None,
        });
        mapped.chain(capable).map(|len| len.to_string()).collect()
    }),
    ("tcp.options.mptcp.datafin.flag", |s| {
        s.options.dss.iter().map(|dss| u8::from(dss.data_fin).to_string()).collect()
    }),
    ("tcp.options.mptcp.sendkey", |s| {
        each(s, |option| match option {
            MptcpOption::MpCapable(capable) => capable.sender_key.map(|key| key.to_string()),
            MptcpOption::Version0(Version0::MpCapable { sender_key, .. }) => Some(sender_key.to_string()),
            _ => None,
        })
    }),
    ("tcp.options.mptcp.recvkey", |s| {
        each(s, |option| match option {
            MptcpOption::MpCapable(capable) => capable.receiver_key.map(|key| key.to_string()),
            MptcpOption::Version0(Version0::MpCapable { receiver_key, .. }) => receiver_key.map(|key| key.to_string()),
            MptcpOption::MpFastclose { receiver_key } => Some(receiver_key.to_string()),
            _ => None,
        })
    }),
    ("tcp.options.mptcp.recvtok", |s| {
        each(s, |option| match option {
            MptcpOption::MpJoin(MpJoin::Syn { token, .. }) => Some(token.to_string()),
            _ => None,
        })
    }),
    ("tcp.options.mptcp.sendrand", |s| {
        each(s, |option| match option {
            MptcpOption::MpJoin(MpJoin::Syn { nonce, .. } | MpJoin::SynAck { nonce, .. }) => Some(nonce.to_string()),
            _ => None,
        })
    }),
    ("tcp.options.mptcp.sendtrunchmac", |s| {
        each(s, |option| match option {
            MptcpOption::MpJoin(MpJoin::SynAck { hmac, .. }) => Some(hmac.to_string()),
            _ => None,
        })
    }),
    ("tcp.options.mptcp.sendhmac", |s| {
        each(s, |option| match option {
            MptcpOption::MpJoin(MpJoin::Ack { hmac }) => Some(hmac.iter().map(|b| format!("{b:02x}")).collect()),
            _ => None,
        })
    }),
    ("tcp.options.mptcp.addaddrtrunchmac", |s| {
        each(s, |option| match option {
            MptcpOption::AddAddr(add) => add.hmac.map(|hmac| hmac.to_string()),
            _ => None,
        })
    }),
    ("tcp.options.mptcp.ipv4", |s| {
        each(s, |option| address(option).filter(|a| a.1.is_ipv4()).map(|a| a.1.to_string()))
    }),
    ("tcp.options.mptcp.ipv6", |s| {
        each(s, |option| address(option).filter(|a| a.1.is_ipv6()).map(|a| a.1.to_string()))
    }),
    ("tcp.options.mptcp.port", |s| each(s, |option| address(option)?.2.map(|port| port.to_string()))),
    ("tcp.options.mptcp.addrid", |s| {
        options(s)
            .flat_map(|option| match option {
                MptcpOption::MpJoin(MpJoin::Syn { address_id, .. } | MpJoin::SynAck { address_id, .. }) => {
                    vec![*address_id]
                }
                MptcpOption::RemoveAddr(ids) => ids.clone(),
                MptcpOption::Version0(Version0::MpPrio { address_id, .. }) => vec![*address_id],
                _ => address(option).map(|a| a.0).into_iter().collect(),
            })
            .map(|id| id.to_string())
            .collect()
    }),
];

#[test]
fn tshark_reads_the_same_values() {
    let Some((packets, file)) = capture("values") else { return };
    let rows = fields(&file, &FIELDS.map(|(name, _)| name));
    assert_eq!(rows.len(), packets.len());
    let mut differences = String::new();
    let mut seen = [0; FIELDS.len()];
    for (number, (segment, row)) in packets.iter().zip(&rows).enumerate() {
        for (column, ((name, ours), theirs)) in FIELDS.iter().zip(row).enumerate() {
            let ours = ours(segment).join(";");
            seen[column] += usize::from(!ours.is_empty());
            if ours != *theirs {
                writeln!(differences, "packet {}: {name} is {ours:?}, tshark reads {theirs:?}", number + 1)
                    .expect("a string");
            }
        }
    }
    assert!(differences.is_empty(), "\n{differences}");
    for ((name, _), count) in FIELDS.iter().zip(seen) {
        assert!(count > 0, "no packet of the conversations has {name}");
    }
}
