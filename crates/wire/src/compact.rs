//! A segment in one cache line. Nearly all segments fit: data or an acknowledgment with timestamps and DSS.

use crate::{DataNumber, Dss, Flags, Mapping, Options, Payload, SackBlocks, Segment, TCP_HEADER_LEN, Timestamps};

/// Flag of [`Compact::parts`]: timestamps.
pub const HAS_TIMESTAMPS: u8 = 1;
/// A DSS.
pub const HAS_DSS: u8 = 2;
/// The DSS has a DATA_ACK, of 64 bits.
pub const HAS_DATA_ACK: u8 = 4;
/// The DSS has a mapping, with a DSN of 64 bits, without checksum, for exactly the payload (and the DATA_FIN).
pub const HAS_MAPPING: u8 = 8;
/// The DSS has the flag of the DATA_FIN.
pub const HAS_DATA_FIN: u8 = 16;
/// All of them. The other bits of [`Compact::parts`] are free for use by the owner of the segment.
const PARTS: u8 = 31;

/// A segment without SACK blocks, rare options, short data numbers, checksum and urgent data. The fields of absent
/// parts have no meaning.
#[derive(Clone, Copy, Debug)]
pub struct Compact<P> {
    /// Content.
    pub payload: P,
    /// DATA_ACK.
    pub data_ack: u64,
    /// Data sequence number of the mapping.
    pub dsn: u64,
    /// Sequence number.
    pub seq: u32,
    /// Acknowledgment number.
    pub ack: u32,
    /// Timestamp value.
    pub value: u32,
    /// Timestamp echo reply.
    pub echo: u32,
    /// Subflow sequence number of the mapping.
    pub ssn: u32,
    /// Free for use by the owner of the segment.
    pub tag: u32,
    /// Source port.
    pub src_port: u16,
    /// Destination port.
    pub dst_port: u16,
    /// Receive window, before scaling.
    pub window: u16,
    /// Flags.
    pub flags: Flags,
    /// The parts present: `HAS_TIMESTAMPS` and so on.
    pub parts: u8,
}

/// Length of the header, by the parts present.
const HEADER_LEN: [u8; PARTS as usize + 1] = {
    let mut table = [0; PARTS as usize + 1];
    let mut parts = 0;
    while parts <= PARTS {
        let mut len = TCP_HEADER_LEN;
        if parts & HAS_TIMESTAMPS != 0 {
            len += crate::TIMESTAMPS_LEN;
        }
        if parts & HAS_DSS != 0 {
            // RFC 8684 figure 9: 4 bytes, DATA_ACK 8, DSN 8, subflow sequence number 4, length 2; aligned on 4.
            len += 4;
            len += if parts & HAS_DATA_ACK != 0 { 8 } else { 0 };
            len += if parts & HAS_MAPPING != 0 { 16 } else { 0 };
        }
        table[parts as usize] = len as u8;
        parts += 1;
    }
    table
};

/// A placeholder.
impl<P: Payload> Default for Compact<P> {
    fn default() -> Self {
        Compact {
            payload: P::empty(),
            data_ack: 0,
            dsn: 0,
            seq: 0,
            ack: 0,
            value: 0,
            echo: 0,
            ssn: 0,
            tag: 0,
            src_port: 0,
            dst_port: 0,
            window: 0,
            flags: Flags::default(),
            parts: 0,
        }
    }
}

impl<P: Payload> Compact<P> {
    /// Whether all these parts are present.
    #[inline]
    #[must_use]
    pub const fn has(&self, parts: u8) -> bool {
        self.parts & parts == parts
    }

    /// The timestamps, if present.
    #[inline]
    #[must_use]
    pub fn timestamps(&self) -> Option<Timestamps> {
        self.has(HAS_TIMESTAMPS).then_some(Timestamps { value: self.value, echo: self.echo })
    }

    /// As [`Segment::header_len`].
    #[inline]
    #[must_use]
    pub fn header_len(&self) -> usize {
        usize::from(HEADER_LEN[usize::from(self.parts & PARTS)])
    }

    /// The compact form of a segment, if it has one; the payload then moves out of the segment.
    #[inline]
    pub fn of(segment: &mut Segment<P>) -> Option<Self> {
        let Options { timestamps, sack, dss, rare } = &segment.options;
        if rare.is_some() || !sack.is_empty() || segment.urgent != 0 {
            return None;
        }
        let (mut parts, mut data_ack, mut dsn, mut ssn) = (0, 0, 0, 0);
        if let Some(dss) = dss {
            parts |= HAS_DSS | if dss.data_fin { HAS_DATA_FIN } else { 0 };
            match dss.data_ack {
                None => {}
                Some(DataNumber::Long(number)) => {
                    parts |= HAS_DATA_ACK;
                    data_ack = number;
                }
                Some(DataNumber::Short(_)) => return None,
            }
            match dss.mapping {
                None => {}
                Some(Mapping { dsn: DataNumber::Long(number), ssn: from, len, checksum: None })
                    if usize::from(len) == segment.payload.len() + usize::from(dss.data_fin) =>
                {
                    parts |= HAS_MAPPING;
                    (dsn, ssn) = (number, from);
                }
                Some(_) => return None,
            }
        }
        let Timestamps { value, echo } = timestamps.unwrap_or_default();
        parts |= if timestamps.is_some() { HAS_TIMESTAMPS } else { 0 };
        Some(Compact {
            payload: std::mem::replace(&mut segment.payload, P::empty()),
            data_ack,
            dsn,
            seq: segment.seq,
            ack: segment.ack,
            value,
            echo,
            ssn,
            tag: 0,
            src_port: segment.src_port,
            dst_port: segment.dst_port,
            window: segment.window,
            flags: segment.flags,
            parts,
        })
    }

    /// The same for a bare acknowledgment with SACK blocks, which are returned separately.
    pub fn selective_of(segment: &mut Segment<P>) -> Option<(Self, SackBlocks)> {
        if segment.options.sack.is_empty() || !segment.payload.is_empty() {
            return None;
        }
        let blocks = std::mem::take(&mut segment.options.sack);
        let compact = Compact::of(segment).filter(|compact| !compact.has(HAS_MAPPING));
        if compact.is_none() {
            segment.options.sack = blocks;
        }
        Some((compact?, blocks))
    }

    /// Writes the segment to `segment`; the payload moves there.
    #[inline]
    pub fn expand_into(&mut self, segment: &mut Segment<P>) {
        let payload = std::mem::replace(&mut self.payload, P::empty());
        segment.src_port = self.src_port;
        segment.dst_port = self.dst_port;
        segment.seq = self.seq;
        segment.ack = self.ack;
        segment.flags = self.flags;
        segment.window = self.window;
        segment.urgent = 0;
        let options = &mut segment.options;
        options.timestamps = self.timestamps();
        if !options.sack.is_empty() {
            options.sack = SackBlocks::default();
        }
        options.rare = None;
        let data_fin = self.has(HAS_DATA_FIN);
        options.dss = self.has(HAS_DSS).then_some(Dss {
            data_ack: self.has(HAS_DATA_ACK).then_some(DataNumber::Long(self.data_ack)),
            mapping: self.has(HAS_MAPPING).then_some(Mapping {
                dsn: DataNumber::Long(self.dsn),
                ssn: self.ssn,
                len: payload.len() as u16 + u16::from(data_fin),
                checksum: None,
            }),
            data_fin,
        });
        segment.payload = payload;
    }
}
