//! Segments passed to a device as one large packet: the kernel, or the process at the other end, segments it.
//!
//! They follow one another on one subflow at one moment and differ in nothing but their sequence numbers, content and
//! mappings: acknowledgment, window, timestamps are the same as no packet arrived between them.

use bytes::Bytes;
use transport::{ConnectionId, IpFields, SubflowId, Tuple};
use wire::{DataNumber, Ecn, EncodeError, Flags, IpHeader, Mapping, Options, Payload, Segment};

use super::chunk::Chunk;
use super::mappings::Standing;
use crate::offload::{self, HEADER_LEN};

/// The most of an IP packet, headers included.
const PACKET_LIMIT: usize = 65_535;

/// The segments that wait.
#[derive(Debug)]
pub struct Bundle {
    /// The first of them; its content is in `pieces`.
    head: Segment<Chunk>,
    standing: Standing,
    pieces: Vec<Bytes>,
    data_len: usize,
    headers_len: usize,
    /// Whether another one may follow.
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
    /// Whether nothing waits.
    pub fn is_empty(&self) -> bool {
        self.pieces.is_empty()
    }

    /// How many segments wait.
    pub fn segments(&self) -> usize {
        self.pieces.len()
    }

    /// Begins with a segment, which is taken; what was there before is gone.
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

    /// Adds the next segment of the same subflow, if it fits to those that wait. Its content is taken then.
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

    /// Whether the options equal those of the waiting segments, except for the mapping of new data, which continues.
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

    /// Writes what waits to `out` as one frame, and empties the bundle. Answers the
    /// mapping that several segments have in common from now on.
    ///
    /// # Errors
    /// A segment that cannot be written as a packet.
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

/// What a bundle is for: segments of another are not added.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lane {
    /// The ends of the subflow.
    pub tuple: Tuple,
    /// The ECN field of its packets.
    pub ecn: Ecn,
    /// What else their headers say.
    pub fields: IpFields,
    /// Its connection.
    pub connection: ConnectionId,
    /// It.
    pub subflow: SubflowId,
}

impl Lane {
    /// The IP header of its packets.
    pub fn ip(&self) -> IpHeader {
        let IpFields { hop_limit, dscp } = self.fields;
        IpHeader { ecn: self.ecn, hop_limit, dscp, ..IpHeader::new(self.tuple.local.ip(), self.tuple.remote.ip()) }
    }
}

#[cfg(test)]
mod tests;
