//! Segments on their way. What nearly all are, data or an acknowledgment with timestamps and DSS, is packed into one line of
//! the cache; a segment with anything else (SACK blocks, options of handshakes, short data numbers, a checksum) stands whole
//! beside.

use crate::slab::Slab;
use network::prefetch;
use wire::{DataNumber, Dss, Flags, Mapping, Options, SackBlocks, Segment, Span, Timestamps};

/// Of `Packed::parts`: what there is.
const TIMESTAMPS: u8 = 1;
const DSS: u8 = 2;
const DATA_ACK: u8 = 4;
const MAPPING: u8 = 8;
const DATA_FIN: u8 = 16;
/// The segment stands whole in the slot that `seq` names.
const WHOLE: u8 = 32;

/// A segment, or the place of one.
#[derive(Clone, Copy, Default)]
#[repr(align(64))]
struct Packed {
    offset: u64,
    data_ack: u64,
    dsn: u64,
    len: u32,
    seq: u32,
    ack: u32,
    value: u32,
    echo: u32,
    ssn: u32,
    flow: u32,
    src_port: u16,
    dst_port: u16,
    window: u16,
    map_len: u16,
    flags: u8,
    parts: u8,
}

const _: () = assert!(size_of::<Packed>() == 64);

/// The segments in flight, each in a slot until it is taken out.
#[derive(Default)]
pub struct InFlight {
    slots: Vec<Packed>,
    free: Vec<u32>,
    whole: Slab<Segment<Span>>,
}

/// The most slots there can be: the two uppermost bits of a slot's number are free for other use.
const SLOT_LIMIT: usize = 1 << 30;

impl InFlight {
    /// Puts a segment of `flow` in and answers its slot. Of `segment`, what is boxed is taken out.
    #[inline]
    pub fn insert(&mut self, flow: u32, segment: &mut Segment<Span>) -> u32 {
        let mut packed = match pack(segment) {
            Some(packed) => packed,
            None => self.insert_whole(segment),
        };
        packed.flow = flow;
        if let Some(slot) = self.free.pop() {
            self.slots[slot as usize] = packed;
            return slot;
        }
        assert!(self.slots.len() < SLOT_LIMIT, "more than {SLOT_LIMIT} segments in flight");
        self.slots.push(packed);
        self.slots.len() as u32 - 1
    }

    #[cold]
    fn insert_whole(&mut self, segment: &mut Segment<Span>) -> Packed {
        let seq = self.whole.insert(std::mem::take(segment));
        Packed { seq, parts: WHOLE, ..Packed::default() }
    }

    /// Takes out what stands in `slot` and writes it over `segment`. The slot was given by [`Self::insert`] and not yet
    /// taken.
    #[inline]
    pub fn take(&mut self, slot: u32, segment: &mut Segment<Span>) {
        self.free.push(slot);
        let packed = &self.slots[slot as usize];
        if packed.parts & WHOLE != 0 {
            *segment = self.whole.take(packed.seq);
        } else {
            unpack(packed, segment);
        }
    }

    /// The flow of what stands in `slot`.
    #[inline]
    pub fn flow(&self, slot: u32) -> u32 {
        self.slots[slot as usize].flow
    }

    /// Asks the processor for the memory of `slot`.
    #[inline]
    pub fn prefetch(&self, slot: u32) {
        if let Some(packed) = self.slots.get(slot as usize) {
            prefetch::lines::<_, 1>(packed);
        }
    }

    /// A copy of what stands in `slot`.
    pub fn get(&self, slot: u32) -> Segment<Span> {
        let packed = &self.slots[slot as usize];
        if packed.parts & WHOLE != 0 {
            return self.whole.get(packed.seq).cloned().unwrap_or_default();
        }
        let mut segment = Segment::default();
        unpack(packed, &mut segment);
        segment
    }

    /// Forgets what stands in `slot` and answers its flow.
    pub fn remove(&mut self, slot: u32) -> u32 {
        self.free.push(slot);
        let packed = &self.slots[slot as usize];
        if packed.parts & WHOLE != 0 {
            self.whole.take(packed.seq);
        }
        packed.flow
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.slots.len() - self.free.len()
    }
}

/// The segment packed, if it can be.
#[inline]
fn pack(segment: &Segment<Span>) -> Option<Packed> {
    let Options { timestamps, sack, dss, rare } = &segment.options;
    if rare.is_some() || !sack.is_empty() || segment.urgent != 0 {
        return None;
    }
    let mut packed = Packed {
        offset: segment.payload.offset,
        len: segment.payload.len,
        seq: segment.seq,
        ack: segment.ack,
        src_port: segment.src_port,
        dst_port: segment.dst_port,
        window: segment.window,
        flags: segment.flags.0,
        ..Packed::default()
    };
    if let Some(timestamps) = timestamps {
        packed.parts = TIMESTAMPS;
        packed.value = timestamps.value;
        packed.echo = timestamps.echo;
    }
    if let Some(dss) = dss {
        packed.parts |= DSS | if dss.data_fin { DATA_FIN } else { 0 };
        match dss.data_ack {
            None => {}
            Some(DataNumber::Long(number)) => {
                packed.parts |= DATA_ACK;
                packed.data_ack = number;
            }
            Some(DataNumber::Short(_)) => return None,
        }
        match dss.mapping {
            None => {}
            Some(Mapping { dsn: DataNumber::Long(dsn), ssn, len, checksum: None }) => {
                packed.parts |= MAPPING;
                packed.dsn = dsn;
                packed.ssn = ssn;
                packed.map_len = len;
            }
            Some(_) => return None,
        }
    }
    Some(packed)
}

#[inline]
fn unpack(packed: &Packed, segment: &mut Segment<Span>) {
    let has = |part: u8| packed.parts & part != 0;
    segment.src_port = packed.src_port;
    segment.dst_port = packed.dst_port;
    segment.seq = packed.seq;
    segment.ack = packed.ack;
    segment.flags = Flags(packed.flags);
    segment.window = packed.window;
    segment.urgent = 0;
    segment.payload = Span { offset: packed.offset, len: packed.len };
    let options = &mut segment.options;
    options.timestamps = has(TIMESTAMPS).then_some(Timestamps { value: packed.value, echo: packed.echo });
    if !options.sack.is_empty() {
        options.sack = SackBlocks::default();
    }
    options.rare = None;
    options.dss = has(DSS).then_some(Dss {
        data_ack: has(DATA_ACK).then_some(DataNumber::Long(packed.data_ack)),
        mapping: has(MAPPING).then_some(Mapping {
            dsn: DataNumber::Long(packed.dsn),
            ssn: packed.ssn,
            len: packed.map_len,
            checksum: None,
        }),
        data_fin: has(DATA_FIN),
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use wire::{MptcpOption, RareOptions, SackBlock};

    fn number() -> impl Strategy<Value = DataNumber> {
        prop_oneof![9 => any::<u64>().prop_map(DataNumber::Long), 1 => any::<u32>().prop_map(DataNumber::Short)]
    }

    fn dss() -> impl Strategy<Value = Dss> {
        let checksum = prop_oneof![9 => Just(None), 1 => any::<u16>().prop_map(Some)];
        let mapping = (number(), any::<u32>(), any::<u16>(), checksum).prop_map(|(dsn, ssn, len, checksum)| Mapping {
            dsn,
            ssn,
            len,
            checksum,
        });
        let parts = (prop::option::of(number()), prop::option::of(mapping), any::<bool>());
        parts.prop_map(|(data_ack, mapping, data_fin)| Dss { data_ack, mapping, data_fin })
    }

    fn options() -> impl Strategy<Value = Options> {
        let timestamps =
            prop::option::of(any::<(u32, u32)>()).prop_map(|t| t.map(|(value, echo)| Timestamps { value, echo }));
        (timestamps, prop::option::of(dss()), 0..20_usize, 0..10_u8).prop_map(|(timestamps, dss, blocks, rare)| {
            let mut sack = SackBlocks::default();
            for left in 0..blocks.saturating_sub(16) as u32 {
                sack.push(SackBlock { left, right: left + 1 });
            }
            let rare = (rare == 0).then(|| {
                Box::new(RareOptions { mptcp: vec![MptcpOption::MpFail { dsn: 7 }], ..RareOptions::default() })
            });
            Options { timestamps, sack, dss, rare }
        })
    }

    fn segment() -> impl Strategy<Value = Segment<Span>> {
        let fields = any::<(u16, u16, u32, u32, u8, u16)>();
        (fields, 0..20_u16, options(), any::<(u64, u32)>()).prop_map(|(fields, urgent, options, (offset, len))| {
            let (src_port, dst_port, seq, ack, flags, window) = fields;
            let urgent = urgent.saturating_sub(18);
            let flags = Flags(flags);
            let payload = Span { offset, len };
            Segment { src_port, dst_port, seq, ack, flags, window, urgent, options, payload }
        })
    }

    proptest! {
        /// Every segment comes out as it went in, whatever was written over and whatever stands beside it.
        #[test]
        fn a_segment_comes_out_as_it_went_in(segments in prop::collection::vec((segment(), any::<bool>()), 1..40)) {
            let mut store = InFlight::default();
            let mut held: Vec<(u32, Segment<Span>)> = Vec::new();
            let mut out = Segment::default();
            for (segment, leaves) in segments {
                let flow = segment.seq;
                let slot = store.insert(flow, &mut segment.clone());
                prop_assert_eq!(store.flow(slot), flow);
                held.push((slot, segment));
                if leaves {
                    let (slot, expected) = held.swap_remove(held.len() / 2);
                    prop_assert_eq!(&store.get(slot), &expected);
                    store.take(slot, &mut out);
                    prop_assert_eq!(&out, &expected);
                }
                prop_assert_eq!(store.len(), held.len());
            }
            for (n, (slot, expected)) in held.into_iter().enumerate() {
                if n % 3 == 0 {
                    prop_assert_eq!(store.remove(slot), expected.seq);
                } else {
                    store.take(slot, &mut out);
                    prop_assert_eq!(&out, &expected);
                }
            }
            prop_assert_eq!((store.len(), store.whole.len()), (0, 0));
        }
    }
}
