//! Segments on their way. What nearly all are, data or an acknowledgment with timestamps, DSS or SACK blocks, is packed into
//! one line of the cache; a segment with anything else (options of handshakes, short data numbers, a checksum, data with
//! SACK blocks) stands whole beside.

use crate::slab::Slab;
use network::prefetch;
use wire::{DataNumber, Dss, Flags, Mapping, Options, SackBlock, SackBlocks, Segment, Span, Timestamps};

/// Of `Packed::parts`: what there is.
const TIMESTAMPS: u8 = 1;
const DSS: u8 = 2;
const DATA_ACK: u8 = 4;
const MAPPING: u8 = 8;
const DATA_FIN: u8 = 16;
/// The segment stands whole in the slot that `seq` names.
const WHOLE: u8 = 32;
/// From here on, how many SACK blocks there are: 0 to 3.
const SACK_SHIFT: u32 = 6;
/// Combinations of parts that say how long the header is, apart from SACK blocks.
const LENGTHS: usize = 32;

/// A segment, or the place of one. What is not part of it may hold anything.
#[derive(Clone, Copy, Default)]
#[repr(align(64))]
struct Packed {
    /// With SACK blocks, of which there is neither content nor mapping, the first.
    offset: u64,
    data_ack: u64,
    /// Or the second SACK block.
    dsn: u64,
    /// Or the left end of the third SACK block.
    len: u32,
    /// Of an empty slot, the next empty one.
    seq: u32,
    ack: u32,
    value: u32,
    echo: u32,
    /// Or the right end of the third SACK block.
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
pub struct InFlight {
    slots: Vec<Packed>,
    /// The first empty slot; beyond `slots` when there is none.
    free: u32,
    /// Bytes of a header, by its parts.
    header_lens: [u8; LENGTHS],
    whole: Slab<Segment<Span>>,
}

/// The most slots there can be: the two uppermost bits of a slot's number are free for other use.
const SLOT_LIMIT: usize = 1 << 30;
/// Ends the list of empty slots.
const NONE: u32 = u32::MAX;

impl Default for InFlight {
    fn default() -> Self {
        let header_len = |parts: usize| {
            let mut segment = Segment::default();
            unpack(&Packed { parts: parts as u8, ..Packed::default() }, &mut segment);
            segment.header_len() as u8
        };
        InFlight { slots: Vec::new(), free: NONE, header_lens: std::array::from_fn(header_len), whole: Slab::default() }
    }
}

impl InFlight {
    /// Where the segments stand in memory.
    pub fn memory(&self) -> *const u8 {
        self.slots.as_ptr().cast()
    }

    /// Puts a segment of `flow` in and answers its slot and the length of its header. Of `segment`, what is boxed is taken
    /// out.
    #[inline]
    pub fn insert(&mut self, flow: u32, segment: &mut Segment<Span>) -> (u32, usize) {
        if self.free as usize >= self.slots.len() {
            self.add_slot();
        }
        let slot = self.free;
        let packed = &mut self.slots[slot as usize];
        self.free = packed.seq;
        packed.flow = flow;
        let options = &segment.options;
        if options.rare.is_some() || !options.sack.is_empty() || !pack(segment, packed) {
            return self.insert_unusual(slot, segment);
        }
        (slot, usize::from(self.header_lens[usize::from(packed.parts) % LENGTHS]))
    }

    #[inline(never)]
    fn insert_unusual(&mut self, slot: u32, segment: &mut Segment<Span>) -> (u32, usize) {
        let header_len = segment.header_len();
        let packed = &mut self.slots[slot as usize];
        if !pack_sack(segment, packed) {
            packed.parts = WHOLE;
            packed.seq = self.whole.insert(std::mem::take(segment));
        }
        (slot, header_len)
    }

    #[cold]
    #[inline(never)]
    fn add_slot(&mut self) {
        assert!(self.slots.len() < SLOT_LIMIT, "more than {SLOT_LIMIT} segments in flight");
        if self.slots.len() == self.slots.capacity() {
            // In small steps: most of what a network holds at most is in flight once, in the first slow start.
            self.slots.reserve_exact((self.slots.len() / 8).max(64));
        }
        self.free = self.slots.len() as u32;
        self.slots.push(Packed { seq: NONE, ..Packed::default() });
    }

    /// Takes out what stands in `slot` and writes it over `segment`. The slot was given by [`Self::insert`] and not yet
    /// taken.
    #[inline]
    pub fn take(&mut self, slot: u32, segment: &mut Segment<Span>) {
        let packed = &mut self.slots[slot as usize];
        if packed.parts >= WHOLE {
            self.take_unusual(slot, segment);
            return;
        }
        unpack(packed, segment);
        packed.seq = self.free;
        self.free = slot;
    }

    #[inline(never)]
    fn take_unusual(&mut self, slot: u32, segment: &mut Segment<Span>) {
        let packed = &mut self.slots[slot as usize];
        if packed.parts & WHOLE != 0 {
            *segment = self.whole.take(packed.seq);
        } else {
            unpack(packed, segment);
            unpack_sack(packed, segment);
        }
        packed.seq = self.free;
        self.free = slot;
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
        unpack_sack(packed, &mut segment);
        segment
    }

    /// Forgets what stands in `slot` and answers its flow.
    pub fn remove(&mut self, slot: u32) -> u32 {
        let packed = &mut self.slots[slot as usize];
        if packed.parts & WHOLE != 0 {
            self.whole.take(packed.seq);
        }
        packed.seq = self.free;
        self.free = slot;
        packed.flow
    }

    /// How many there are. Counts those that are empty: for rare occasions.
    pub fn len(&self) -> usize {
        let next = |&slot: &u32| self.slots.get(slot as usize).map(|packed| packed.seq);
        let empty = std::iter::successors(Some(self.free), next).take_while(|&slot| slot != NONE);
        self.slots.len() - empty.count()
    }
}

/// Packs a segment without SACK blocks and rare options, if it can be.
#[inline(always)]
fn pack(segment: &Segment<Span>, packed: &mut Packed) -> bool {
    if segment.urgent != 0 {
        return false;
    }
    packed.offset = segment.payload.offset;
    packed.len = segment.payload.len;
    pack_header(segment, packed);
    let mut parts = pack_timestamps(segment, packed);
    if let Some(dss) = &segment.options.dss {
        parts |= DSS | if dss.data_fin { DATA_FIN } else { 0 };
        match dss.data_ack {
            None => {}
            Some(DataNumber::Long(number)) => {
                parts |= DATA_ACK;
                packed.data_ack = number;
            }
            Some(DataNumber::Short(_)) => return false,
        }
        match dss.mapping {
            None => {}
            Some(Mapping { dsn: DataNumber::Long(dsn), ssn, len, checksum: None }) => {
                parts |= MAPPING;
                packed.dsn = dsn;
                packed.ssn = ssn;
                packed.map_len = len;
            }
            Some(_) => return false,
        }
    }
    packed.parts = parts;
    true
}

#[inline(always)]
fn pack_header(segment: &Segment<Span>, packed: &mut Packed) {
    packed.seq = segment.seq;
    packed.ack = segment.ack;
    packed.src_port = segment.src_port;
    packed.dst_port = segment.dst_port;
    packed.window = segment.window;
    packed.flags = segment.flags.0;
}

#[inline(always)]
fn pack_timestamps(segment: &Segment<Span>, packed: &mut Packed) -> u8 {
    let Some(timestamps) = segment.options.timestamps else { return 0 };
    packed.value = timestamps.value;
    packed.echo = timestamps.echo;
    TIMESTAMPS
}

/// Packs an acknowledgment with up to three SACK blocks and no content: the blocks stand in the place of what it has not.
fn pack_sack(segment: &Segment<Span>, packed: &mut Packed) -> bool {
    let Options { sack, dss, rare, .. } = &segment.options;
    let mut blocks = [SackBlock::default(); 3];
    let has_place = rare.is_none() && segment.urgent == 0 && segment.payload == Span::default();
    if !has_place || sack.len() > blocks.len() {
        return false;
    }
    blocks[..sack.len()].copy_from_slice(sack.as_slice());
    pack_header(segment, packed);
    let mut parts = pack_timestamps(segment, packed) | (sack.len() as u8) << SACK_SHIFT;
    match *dss {
        None => {}
        Some(Dss { data_ack: Some(DataNumber::Long(number)), mapping: None, data_fin: false }) => {
            parts |= DSS | DATA_ACK;
            packed.data_ack = number;
        }
        Some(_) => return false,
    }
    let both = |block: SackBlock| u64::from(block.left) << 32 | u64::from(block.right);
    (packed.offset, packed.dsn) = (both(blocks[0]), both(blocks[1]));
    (packed.len, packed.ssn) = (blocks[2].left, blocks[2].right);
    packed.parts = parts;
    true
}

/// Writes what is packed over `segment`, all but SACK blocks.
#[inline(always)]
fn unpack(packed: &Packed, segment: &mut Segment<Span>) {
    let parts = packed.parts;
    let has = |part: u8| parts & part != 0;
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
    if options.rare.is_some() {
        options.rare = None;
    }
    options.dss = None;
    if has(DSS) {
        options.dss = Some(Dss {
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
}

/// What [`unpack`] leaves out.
fn unpack_sack(packed: &Packed, segment: &mut Segment<Span>) {
    let count = usize::from(packed.parts >> SACK_SHIFT);
    if count == 0 {
        return;
    }
    let parted = |both: u64| SackBlock { left: (both >> 32) as u32, right: both as u32 };
    let blocks = [parted(packed.offset), parted(packed.dsn), SackBlock { left: packed.len, right: packed.ssn }];
    segment.payload = Span::default();
    for &block in &blocks[..count] {
        segment.options.sack.push(block);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use wire::{MptcpOption, RareOptions};

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
        (timestamps, prop::option::of(dss()), 0..24_usize, 0..10_u8).prop_map(|(timestamps, dss, blocks, rare)| {
            let mut sack = SackBlocks::default();
            for left in 0..blocks.saturating_sub(16).div_ceil(2) as u32 {
                sack.push(SackBlock { left: left + 7, right: u32::MAX - left });
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
            // Empty ones, for acknowledgments with SACK blocks have no content.
            let payload = if len % 2 == 0 { Span::default() } else { Span { offset, len } };
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
                let (slot, header_len) = store.insert(flow, &mut segment.clone());
                prop_assert_eq!(store.flow(slot), flow);
                prop_assert_eq!(header_len, segment.header_len());
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
