//! Segments passed to a device as one large packet, which the kernel or the process at the other end splits.
//!
//! The segments are consecutive segments of one subflow sent at one time. They differ only in sequence numbers, payload
//! and mappings: acknowledgment, window and timestamps are equal because no packet arrived in between.

use bytes::Bytes;
use transport::{ConnectionId, IpFields, SubflowId, Tuple};
use wire::{DataNumber, Ecn, EncodeError, Flags, IpHeader, Mapping, Options, Payload, Segment};

use super::chunk::Chunk;
use super::mappings::Standing;
use crate::offload::{self, HEADER_LEN};

/// Maximum length of an IP packet, including headers.
const PACKET_LIMIT: usize = 65_535;

/// The segments that wait to be sent together.
#[derive(Debug)]
pub struct Bundle {
    /// The first segment. Its payload is in `pieces`.
    head: Segment<Chunk>,
    standing: Standing,
    pieces: Vec<Bytes>,
    data_len: usize,
    headers_len: usize,
    /// Whether another segment may follow.
    open: bool,
}

impl Default for Bundle {
    fn default() -> Self {
        Bundle {
            head: Segment::default(),
            standing: Standing::Fixed,
            pieces: Vec::new(),
            data_len: 0,
            headers_len: 0,
            open: false,
        }
    }
}

impl Bundle {
    /// Whether no segment waits.
    pub fn is_empty(&self) -> bool {
        self.pieces.is_empty()
    }

    /// Number of waiting segments.
    pub fn segments(&self) -> usize {
        self.pieces.len()
    }

    /// Starts a bundle with `segment`, which is moved into it. The previous content is lost.
    pub fn begin(&mut self, segment: &mut Segment<Chunk>, standing: Standing, ip_len: usize) {
        std::mem::swap(&mut self.head, segment);
        self.headers_len = ip_len + self.head.header_len();
        let content = std::mem::replace(&mut self.head.payload, Chunk(Bytes::new())).0;
        let options = &self.head.options;
        self.open = self.head.flags == Flags::ACK
            && !content.is_empty()
            && options.rare.is_none()
            && options.sack.is_empty()
            && options.dss.is_none_or(|dss| !dss.data_fin);
        self.standing = standing;
        self.data_len = content.len();
        self.pieces.clear();
        self.pieces.push(content);
    }

    /// Adds the next segment of the same subflow if it fits the waiting ones. Its payload is then moved.
    pub fn add(&mut self, segment: &mut Segment<Chunk>, standing: Standing) -> bool {
        let (len, first_len) = (segment.payload.len(), self.pieces.first().map_or(0, Bytes::len));
        let last = segment.flags == Flags::ACK | Flags::PSH;
        let fits = self.open
            && len > 0
            && len <= first_len
            && (last || segment.flags == Flags::ACK)
            && segment.seq == self.head.seq.wrapping_add(self.data_len as u32)
            && self.headers_len + self.data_len + len <= PACKET_LIMIT
            && (segment.ack, segment.window, segment.urgent) == (self.head.ack, self.head.window, self.head.urgent)
            && standing == self.standing
            && self.continues(&segment.options);
        if fits {
            self.pieces.push(std::mem::replace(&mut segment.payload, Chunk(Bytes::new())).0);
            self.data_len += len;
            self.open = !last && len == first_len;
            self.head.flags = segment.flags;
        }
        fits
    }

    /// Whether the options equal those of the waiting segments, except for the mapping of new data, which continues
    /// theirs.
    fn continues(&self, options: &Options) -> bool {
        let mut expected = self.head.options.dss;
        if let Some(mapping) = expected.as_mut().and_then(|dss| dss.mapping.as_mut())
            && self.standing == Standing::New
            && let DataNumber::Long(dsn) = mapping.dsn
        {
            mapping.dsn = DataNumber::Long(dsn.wrapping_add(self.data_len as u64));
            mapping.ssn = mapping.ssn.wrapping_add(self.data_len as u32);
            let len = options.dss.and_then(|dss| dss.mapping).map_or(0, |mapping| mapping.len);
            mapping.len = len;
        }
        options.dss == expected
            && options.rare.is_none()
            && options.timestamps == self.head.options.timestamps
            && options.sack.is_empty()
    }

    /// Writes the waiting segments to `out` as one frame and empties the bundle. Returns the mapping that several
    /// segments have in common from now on.
    ///
    /// # Errors
    /// A segment cannot be encoded as a packet.
    pub fn write(&mut self, ip: &IpHeader, out: &mut Vec<u8>) -> Result<Option<Mapping>, EncodeError> {
        let mut common = None;
        let many = self.pieces.len() > 1;
        if many
            && self.standing == Standing::New
            && let Some(mapping) = self.head.options.dss.as_mut().and_then(|dss| dss.mapping.as_mut())
        {
            mapping.len = self.data_len as u16;
            common = Some(*mapping);
        }
        out.clear();
        out.resize(HEADER_LEN, 0);
        wire::encode(ip, &self.head, out)?;
        for piece in &self.pieces {
            out.extend_from_slice(piece);
        }
        let ip_len = ip.wire_len();
        let segment_len = if many { self.pieces[0].len() } else { 0 };
        offload::prepare_tcp(out, ip_len, self.headers_len - ip_len, segment_len);
        self.pieces.clear();
        Ok(common)
    }
}

/// Identifies the segments that may share a bundle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lane {
    /// The ends of the subflow.
    pub tuple: Tuple,
    /// The ECN field of its packets.
    pub ecn: Ecn,
    /// Other fields of their IP headers.
    pub fields: IpFields,
    /// Their connection.
    pub connection: ConnectionId,
    /// Their subflow.
    pub subflow: SubflowId,
}

impl Lane {
    /// The IP header of the packets.
    pub fn ip(&self) -> IpHeader {
        let IpFields { hop_limit, dscp } = self.fields;
        IpHeader { ecn: self.ecn, hop_limit, dscp, ..IpHeader::new(self.tuple.local.ip(), self.tuple.remote.ip()) }
    }
}

#[cfg(test)]
mod tests;
