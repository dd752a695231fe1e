//! Detects packets that are in the capture twice: seen on their way into and out of one host (`-i any` on a router, a
//! bridge), or copied by the network. These are not retransmissions: a retransmission is a new packet with its own IP
//! identification and timestamp.

use super::log::Log;
use wire::Captured;

/// Size of the table of recent packets: four packets per slot.
const PLACES: usize = 1 << 13;
const WAYS: usize = 4;
/// For packets with another hop limit or the same IPv4 identification: maximum time that a packet takes through a host.
const THROUGH_NS: u64 = 2_000_000_000;
/// For packets with the same timestamp, whose unit is usually a millisecond.
const SAME_STAMP_NS: u64 = 1_000_000;
/// For packets without any distinguishing field, such as resets: a closed end answers every packet with an identical
/// reset. No round trip is shorter than this.
const NO_ROUND_TRIP_NS: u64 = 100_000;

#[derive(Clone, Copy, Debug, Default)]
struct Seen {
    hash: u64,
    time_ns: u64,
    hop_limit: u8,
}

/// The most recent packets.
#[derive(Debug, Default)]
pub struct Twice {
    seen: Vec<[Seen; WAYS]>,
}

impl Twice {
    /// Whether this packet, from an end of a log, was seen before. If not, it is remembered.
    pub fn is_known(&mut self, number: usize, from: usize, time_ns: u64, packet: &Captured, log: &Log) -> bool {
        if self.seen.is_empty() {
            self.seen.resize(PLACES, [Seen::default(); WAYS]);
        }
        let hash = hash(number, from, packet);
        let places = &mut self.seen[hash as usize % PLACES];
        let new = Seen { hash, time_ns, hop_limit: packet.ip.hop_limit };
        let Some(place) = places.iter_mut().find(|place| place.hash == hash) else {
            // Replace the oldest packet.
            places.rotate_left(1);
            places[WAYS - 1] = new;
            return false;
        };
        let (_, identified) = log.identifications[from];
        let apart_ns = time_ns.abs_diff(place.time_ns);
        let other_hops = place.hop_limit != packet.ip.hop_limit;
        let limit_ns = if (identified && packet.ip.identification != 0) || other_hops {
            THROUGH_NS
        } else if packet.segment.options.timestamps.is_some() && !packet.segment.flags.rst() {
            SAME_STAMP_NS
        } else {
            NO_ROUND_TRIP_NS
        };
        if apart_ns <= limit_ns {
            return true;
        }
        *place = new;
        false
    }
}

/// Hash of the fields that are equal wherever one host sees the packet.
fn hash(number: usize, from: usize, packet: &Captured) -> u64 {
    let segment = &packet.segment;
    let mut hash = 0x9e37_79b9_7f4a_7c15_u64;
    let mut add = |word: u64| {
        hash = (hash ^ word).wrapping_mul(0xff51_afd7_ed55_8ccd);
        hash ^= hash >> 32;
    };
    add((number as u64) << 1 | from as u64);
    add(u64::from(segment.seq) << 32 | u64::from(segment.ack));
    add((packet.payload_len as u64) << 24 | u64::from(segment.window) << 8 | u64::from(segment.flags.0));
    add(u64::from(packet.ip.identification));
    if let Some(stamps) = segment.options.timestamps {
        add(u64::from(stamps.value) << 32 | u64::from(stamps.echo));
    }
    if let Some(dss) = &segment.options.dss {
        let number = |number: wire::DataNumber| number.expand(0);
        add(dss.data_ack.map_or(1, number));
        add(dss.mapping.map_or(1, |mapping| number(mapping.dsn) ^ u64::from(mapping.len) << 48));
    }
    for block in segment.options.sack.as_slice() {
        add(u64::from(block.left) << 32 | u64::from(block.right));
    }
    add(segment.options.rare.as_ref().map_or(0, |rare| rare.mptcp.len() as u64));
    hash
}
