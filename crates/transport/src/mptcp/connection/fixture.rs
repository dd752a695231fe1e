//! For the unit tests of the rooms beside this one: an established connection whose peer is the test.

use std::sync::Arc;

use rand_core::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;
use wire::{DataNumber, Dss, Flags, Mapping, Segment, Span};

use super::Connection;
use crate::names::SubflowId;
use crate::offset::Offset;
use crate::secrets::Secrets;
use crate::tcp::subflow::{self, Join};
use crate::time::{Duration, Instant};
use crate::{Config, Protocol, ReceiveBuffer, TcpOptions, congestion, path_manager};

/// What either end may send without news of the other.
pub const WINDOW: u64 = 20_000;

/// With so many subflows; nothing was sent or received yet. A segment has 1,000 octets, every second one is acknowledged, nobody
/// sends timestamps. Subflow `r` begins at 1,000 here and at 5,000 there, and its round trip takes 10·(1 + r) ms.
pub fn established(protocol: Protocol, subflows: usize) -> Connection<Span> {
    let config = Config {
        protocol,
        congestion: congestion::Choice::named("reno").unwrap(),
        path_manager: path_manager::Choice::named("default").unwrap(),
        receive_buffer: ReceiveBuffer::Fixed(WINDOW),
        tcp: TcpOptions { timestamps: false, quick_acks: 0, ..TcpOptions::default() },
        ..Config::default()
    };
    let secrets = Secrets::seeded(Xoshiro256PlusPlus::seed_from_u64(1));
    let mut connection = Connection::new(Arc::new(config), false, 1, secrets);
    connection.learn_key(2);
    connection.set_fully_established();
    for r in 0..subflows {
        let mut end = subflow::established(&connection.config.tcp);
        if r > 0 {
            end.begin_join(Join { confirmed: true, ..Join::default() });
        }
        connection.add_subflow(end);
        connection.become_established(Instant::ZERO, r);
        let view = &mut connection.views[r];
        (view.mss, view.srtt) = (1_000, Duration::from_millis(10 * (1 + r as u64)));
    }
    connection.tx.begin(WINDOW as u16);
    while connection.poll_event().is_some() {}
    assert!(connection.transmit(Instant::ZERO).is_none());
    connection
}

/// A segment of the peer at place `seq` of a subflow, which acknowledges all below `ack`; the first octet has place 1.
pub fn segment(seq: u32, ack: u32, len: u32) -> Segment<Span> {
    let (seq, ack) = (5_000 + seq, 1_000 + ack);
    Segment {
        seq,
        ack,
        flags: Flags::ACK,
        window: WINDOW as u16,
        payload: Span { offset: 0, len },
        ..Segment::default()
    }
}

/// The same with a DSS: all of our stream below `data_ack` has arrived.
pub fn signal(connection: &Connection<Span>, seq: u32, ack: u32, data_ack: u64) -> Segment<Span> {
    let data_ack = Some(DataNumber::Long(connection.numbers.ours(Offset::after(data_ack)).on_wire()));
    let mut segment = segment(seq, ack, 0);
    segment.options.dss = Some(Dss { data_ack, mapping: None, data_fin: false });
    segment
}

/// The same with the `len` octets of the peer's stream from `offset` on, and a mapping for `mapped` of them.
pub fn data(connection: &Connection<Span>, seq: u32, offset: u64, len: u32, mapped: u16) -> Segment<Span> {
    let mut segment = signal(connection, seq, 1, 0);
    segment.payload = Span { offset, len };
    let dsn = DataNumber::Long(connection.numbers.theirs(Offset::after(offset)).on_wire());
    if let Some(dss) = &mut segment.options.dss {
        dss.mapping = (mapped > 0).then_some(Mapping { dsn, ssn: seq, len: mapped, checksum: None });
    }
    segment
}

/// The segment arrives on subflow `r`.
pub fn arrives(connection: &mut Connection<Span>, now: Instant, r: u8, mut segment: Segment<Span>) {
    connection.receive(now, SubflowId(r), &mut segment);
}

/// The subflow, place and length of each data segment that goes out now.
pub fn sent(connection: &mut Connection<Span>, now: Instant) -> Vec<(u8, u64, u32)> {
    std::iter::from_fn(|| connection.transmit(now))
        .filter(|(_, segment)| segment.payload.len > 0)
        .map(|(subflow, segment)| (subflow.0, segment.payload.offset, segment.payload.len))
        .collect()
}
