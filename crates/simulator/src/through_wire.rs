//! Verifies that simulated segments can exist on a wire: each segment is encoded, decoded and compared.

use crate::SimulateError;
use transport::Tuple;
use wire::{IpHeader, Payload, Segment, Span};

/// Encodes `segment` as sent from `tuple.local` to `tuple.remote`, decodes it, and compares the addresses, every field,
/// every option and every payload byte. `size_bytes` is the packet size that the links account for.
#[cold]
pub fn check(tuple: Tuple, segment: &Segment<Span>, size_bytes: usize) -> Result<(), Box<SimulateError>> {
    compare(tuple, segment, size_bytes).map_err(|reason| {
        Box::new(SimulateError::ThroughWire { from: tuple.local.to_string(), to: tuple.remote.to_string(), reason })
    })
}

fn compare(tuple: Tuple, segment: &Segment<Span>, size_bytes: usize) -> Result<(), String> {
    let header = IpHeader::new(tuple.local.ip(), tuple.remote.ip());
    let mut bytes = Vec::with_capacity(size_bytes);
    wire::encode(&header, segment, &mut bytes).map_err(|error| format!("it cannot be encoded: {error}"))?;
    if bytes.len() != size_bytes {
        return Err(format!("the links charge {size_bytes} bytes, encoded it has {}", bytes.len()));
    }
    let (decoded_header, decoded) = wire::decode(&bytes).map_err(|error| format!("it cannot be decoded: {error}"))?;
    if decoded_header != header {
        return Err(format!("the IP header was {header:?} and came back as {decoded_header:?}"));
    }
    let ports = (segment.src_port, segment.dst_port);
    if ports != (tuple.local.port(), tuple.remote.port()) {
        return Err(format!("its ports are {ports:?}"));
    }
    if decoded.payload.len() != segment.payload.len() {
        return Err(format!("of {} bytes of content, {} came back", segment.payload.len(), decoded.payload.len()));
    }
    for (offset, &found) in (segment.payload.offset..).zip(&decoded.payload) {
        let expected = Span::byte_at(offset);
        if found != expected {
            return Err(format!("byte {offset} of the stream was {expected} and came back as {found}"));
        }
    }
    let decoded = Segment {
        payload: segment.payload,
        src_port: decoded.src_port,
        dst_port: decoded.dst_port,
        seq: decoded.seq,
        ack: decoded.ack,
        flags: decoded.flags,
        window: decoded.window,
        urgent: decoded.urgent,
        options: decoded.options,
    };
    if decoded != *segment {
        return Err(format!("it was {segment:?} and came back as {decoded:?}"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use wire::{DataNumber, Dss, Flags, Mapping, MptcpOption, Options, RareOptions, Timestamps};

    fn tuple() -> Tuple {
        Tuple { local: "10.0.0.1:49152".parse().unwrap(), remote: "192.0.2.1:1024".parse().unwrap() }
    }

    fn data() -> Segment<Span> {
        let mapping = Mapping { dsn: DataNumber::Long(77), ssn: 1, len: 1000, checksum: None };
        let dss = Dss { data_ack: Some(DataNumber::Long(3)), mapping: Some(mapping), data_fin: false };
        let timestamps = Some(Timestamps { value: 1, echo: 2 });
        Segment {
            src_port: 49_152,
            dst_port: 1024,
            seq: 9,
            ack: 8,
            flags: Flags::ACK,
            window: 100,
            options: Options { timestamps, dss: Some(dss), ..Options::default() },
            payload: Span { offset: 123_456, len: 1000 },
            ..Segment::default()
        }
    }

    #[test]
    fn a_data_segment_survives() {
        // IPv4 20, TCP 20, timestamps 12, DSS 4 + 8 + 8 + 4 + 2 padded to 28, payload 1000.
        assert_eq!(check(tuple(), &data(), 1080), Ok(()));
    }

    #[test]
    fn what_does_not_survive_is_an_error() {
        let reason = |result: Result<(), Box<SimulateError>>| result.unwrap_err().to_string();
        assert!(reason(check(tuple(), &data(), 1079)).contains("charge 1079 bytes, encoded it has 1080"));
        let other_port = Segment { src_port: 1, ..data() };
        assert!(reason(check(tuple(), &other_port, 1080)).contains("its ports are (1, 1024)"));
        // Options too long by twelve bytes.
        let mut crowded = data();
        let rare = RareOptions { mptcp: vec![MptcpOption::MpFail { dsn: 1 }], ..RareOptions::default() };
        crowded.options.rare = Some(Box::new(rare));
        assert!(reason(check(tuple(), &crowded, 1092)).contains("cannot be encoded"));
        // The codec does not check that a mapping covers existing payload.
        assert_eq!(check(tuple(), &Segment { payload: Span::default(), ..data() }, 80), Ok(()));
    }
}
