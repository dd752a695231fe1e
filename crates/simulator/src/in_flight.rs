//! Segments in flight. Nearly all are packed into one cache line: data or an acknowledgment with timestamps and DSS, or
//! a pure ACK with SACK blocks, which take the place of the data fields. Any other segment (handshake options, 32-bit
//! data numbers, a checksum) is stored unpacked in a separate slab.

use crate::slab::Slab;
use network::prefetch;
use transport::Sending;
use wire::{Compact, SackBlock, SackBlocks, Segment, Span};

/// Bits of [`Compact::parts`] for the number of SACK blocks, beside the bits for the parts of the segment.
const BLOCKS_SHIFT: u8 = 5;
const BLOCKS: u8 = 3 << BLOCKS_SHIFT;
/// The segment is stored unpacked, in the slab slot given by `seq`.
const WHOLE: u8 = 1 << 7;

/// Bits of [`Compact::tag`] for the number of the flow. The bits above them give the reason for sending, one of
/// [`Sending::ALL`].
const FLOW: u32 = (1 << SENDING_SHIFT) - 1;
const SENDING_SHIFT: u32 = 30;

/// The tag of a segment of `flow` that was sent for this reason.
#[inline]
pub fn tag(flow: u32, sending: Sending) -> u32 {
    flow | (sending as u32) << SENDING_SHIFT
}

/// The flow in a tag.
#[inline(always)]
pub fn flow_of(tag: u32) -> u32 {
    tag & FLOW
}

/// The reason for sending in a tag.
pub fn sending_of(tag: u32) -> Sending {
    Sending::ALL[(tag >> SENDING_SHIFT) as usize]
}

/// A segment, or a reference to one, with the tag of its flow.
#[derive(Clone, Copy, Default)]
#[repr(align(64))]
struct Packed(Compact<Span>);

const _: () = assert!(size_of::<Packed>() == 64);

/// Number of slots per block.
const BLOCK: usize = 256;

/// The segments in flight, each in a slot until it is removed.
pub struct InFlight {
    /// Slot `n` is element `n % BLOCK` of block `n / BLOCK`. Growth does not move segments, which would need the memory
    /// twice.
    blocks: Vec<Box<[Packed; BLOCK]>>,
    /// The first free slot. Each free slot has the number of the next one in its `seq`; [`NONE`] ends the list.
    free: u32,
    whole: Slab<Segment<Span>>,
}

/// Upper bound of the number of slots: the two highest bits of a slot's number are available for flags.
const SLOT_LIMIT: usize = 1 << 30;
/// End of the free list.
const NONE: u32 = u32::MAX;

/// A compact segment in its slot.
pub struct InPlace<'a> {
    pub segment: &'a mut Compact<Span>,
    slot: u32,
    free: &'a mut u32,
}

impl InPlace<'_> {
    /// Frees the slot after the segment was received.
    #[inline]
    pub fn free_slot(self) {
        self.segment.seq = std::mem::replace(self.free, self.slot);
    }
}

impl Default for InFlight {
    fn default() -> Self {
        InFlight { blocks: Vec::new(), free: NONE, whole: Slab::default() }
    }
}

impl InFlight {
    /// Addresses of the blocks.
    pub fn memory(&self) -> impl Iterator<Item = *const u8> {
        self.blocks.iter().map(|block| block.as_ptr().cast())
    }

    #[inline(always)]
    fn at(&self, slot: u32) -> &Compact<Span> {
        &self.blocks[slot as usize / BLOCK][slot as usize % BLOCK].0
    }

    #[inline(always)]
    fn at_mut(&mut self, slot: u32) -> &mut Compact<Span> {
        &mut self.blocks[slot as usize / BLOCK][slot as usize % BLOCK].0
    }

    /// Stores a compact segment with its [`tag`], which for new data is the number of its flow. Returns its slot.
    #[inline]
    pub fn insert(&mut self, tag: u32, segment: &Compact<Span>) -> u32 {
        if self.free == NONE {
            self.add_block();
        }
        let slot = self.free;
        let packed = &mut self.blocks[slot as usize / BLOCK][slot as usize % BLOCK].0;
        self.free = packed.seq;
        *packed = Compact { tag, ..*segment };
        slot
    }

    #[cold]
    #[inline(never)]
    fn add_block(&mut self) {
        let first = self.blocks.len() * BLOCK;
        assert!(first + BLOCK <= SLOT_LIMIT, "more than {SLOT_LIMIT} segments in flight");
        let empty = |place: usize| {
            let next = if place + 1 < BLOCK { (first + place + 1) as u32 } else { NONE };
            Packed(Compact { seq: next, ..Compact::default() })
        };
        self.blocks.push(Box::new(std::array::from_fn(empty)));
        self.free = first as u32;
    }

    /// As [`Self::insert`], for any segment. Takes the boxed parts out of `segment`.
    pub fn insert_any(&mut self, tag: u32, segment: &mut Segment<Span>) -> u32 {
        let packed = Compact::of(segment).or_else(|| packed_with_blocks(segment)).unwrap_or_else(|| {
            let seq = self.whole.insert(std::mem::take(segment));
            Compact { seq, parts: WHOLE, ..Compact::default() }
        });
        self.insert(tag, &packed)
    }

    /// Stores a compact ACK of `flow` with SACK blocks and returns its slot, if the blocks fit.
    pub fn insert_selective(&mut self, flow: u32, segment: &Compact<Span>, blocks: &SackBlocks) -> Option<u32> {
        let packed = with_blocks(segment, blocks)?;
        Some(self.insert(flow, &packed))
    }

    /// The compact ACK with SACK blocks in `slot`, to be received in place; `None` if the slot holds another segment.
    pub fn selective(&mut self, slot: u32) -> Option<(&mut Compact<Span>, SackBlocks)> {
        let packed = self.at_mut(slot);
        (packed.parts & BLOCKS != 0).then(|| {
            let blocks = take_blocks(packed);
            (packed, blocks)
        })
    }

    /// The compact segment without SACK blocks in `slot`, to be received in place; `None` if the slot holds another
    /// segment.
    #[inline]
    pub fn compact(&mut self, slot: u32) -> Option<InPlace<'_>> {
        let segment = &mut self.blocks[slot as usize / BLOCK][slot as usize % BLOCK].0;
        (segment.parts & (WHOLE | BLOCKS) == 0).then_some(InPlace { segment, slot, free: &mut self.free })
    }

    /// Removes the segment in `slot` and writes it to `segment`. The slot must come from [`Self::insert`] and be
    /// occupied.
    pub fn take(&mut self, slot: u32, segment: &mut Segment<Span>) {
        let packed = *self.at(slot);
        if packed.parts & WHOLE != 0 {
            *segment = self.whole.take(packed.seq);
        } else {
            unpack(packed, segment);
        }
        self.free_slot(slot);
    }

    #[inline]
    fn free_slot(&mut self, slot: u32) -> u32 {
        let free = std::mem::replace(&mut self.free, slot);
        let packed = self.at_mut(slot);
        packed.seq = free;
        flow_of(packed.tag)
    }

    /// The flow of the segment in `slot`.
    #[inline]
    pub fn flow(&self, slot: u32) -> u32 {
        flow_of(self.at(slot).tag)
    }

    /// The [`tag`] of the segment in `slot`, which remains valid until the slot is reused.
    #[inline]
    pub fn tag(&self, slot: u32) -> u32 {
        self.at(slot).tag
    }

    /// Prefetches the memory of `slot`.
    #[inline]
    pub fn prefetch(&self, slot: u32) {
        if let Some(block) = self.blocks.get(slot as usize / BLOCK) {
            prefetch::lines::<_, 1>(&block[slot as usize % BLOCK]);
        }
    }

    /// A copy of the segment in `slot`.
    pub fn get(&self, slot: u32) -> Segment<Span> {
        let packed = *self.at(slot);
        if packed.parts & WHOLE != 0 {
            return self.whole.get(packed.seq).cloned().unwrap_or_default();
        }
        let mut segment = Segment::default();
        unpack(packed, &mut segment);
        segment
    }

    /// Frees `slot` after its compact segment was received.
    #[inline]
    pub fn received(&mut self, slot: u32) {
        self.free_slot(slot);
    }

    /// Frees `slot` and returns its flow.
    pub fn remove(&mut self, slot: u32) -> u32 {
        let packed = self.at(slot);
        if packed.parts & WHOLE != 0 {
            let seq = packed.seq;
            self.whole.take(seq);
        }
        self.free_slot(slot)
    }

    /// Number of segments. Counts the free slots, so it is for rare use.
    pub fn len(&self) -> usize {
        let empty = std::iter::successors(Some(self.free), |&slot| (slot != NONE).then(|| self.at(slot).seq));
        self.blocks.len() * BLOCK + 1 - empty.count()
    }
}

/// A pure ACK with its SACK blocks in place of data fields, if they fit beside timestamps.
fn with_blocks(segment: &Compact<Span>, blocks: &SackBlocks) -> Option<Compact<Span>> {
    let count = blocks.len();
    if count == 0 || count > 3 {
        return None;
    }
    let mut packed = *segment;
    let mut edges = [(0, 0); 3];
    for (edge, block) in edges.iter_mut().zip(blocks.as_slice()) {
        *edge = (block.left, block.right);
    }
    let word = |(left, right): (u32, u32)| u64::from(left) | u64::from(right) << 32;
    packed.payload.offset = word(edges[0]);
    packed.dsn = word(edges[1]);
    (packed.payload.len, packed.ssn) = edges[2];
    packed.parts |= (count as u8) << BLOCKS_SHIFT;
    Some(packed)
}

/// As [`with_blocks`], for a segment that is not packed yet.
fn packed_with_blocks(segment: &mut Segment<Span>) -> Option<Compact<Span>> {
    if segment.options.sack.len() > 3 {
        return None;
    }
    let (compact, blocks) = Compact::selective_of(segment)?;
    with_blocks(&compact, &blocks)
}

/// Removes and returns the SACK blocks of a segment.
fn take_blocks(packed: &mut Compact<Span>) -> SackBlocks {
    let count = usize::from((packed.parts & BLOCKS) >> BLOCKS_SHIFT);
    let mut sack = SackBlocks::default();
    if count > 0 {
        let block = |word: u64| SackBlock { left: word as u32, right: (word >> 32) as u32 };
        let third = SackBlock { left: packed.payload.len, right: packed.ssn };
        for block in [block(packed.payload.offset), block(packed.dsn), third].into_iter().take(count) {
            sack.push(block);
        }
        packed.payload = Span::default();
    }
    sack
}

fn unpack(mut packed: Compact<Span>, segment: &mut Segment<Span>) {
    let sack = take_blocks(&mut packed);
    packed.expand_into(segment);
    segment.options.sack = sack;
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use wire::{DataNumber, Dss, Flags, Mapping, MptcpOption, Options, RareOptions, Timestamps};

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
            // Some are empty, because ACKs with SACK blocks have no payload.
            let payload = if len % 2 == 0 { Span::default() } else { Span { offset, len } };
            Segment { src_port, dst_port, seq, ack, flags, window, urgent, options, payload }
        })
    }

    proptest! {
        /// Every segment comes out as it went in, whatever was overwritten and whatever is stored beside it.
        #[test]
        fn a_segment_comes_out_as_it_went_in(segments in prop::collection::vec((segment(), any::<bool>()), 1..40)) {
            let mut store = InFlight::default();
            let mut held: Vec<(u32, Segment<Span>)> = Vec::new();
            let mut out = Segment::default();
            for (segment, leaves) in segments {
                let flow = flow_of(segment.seq);
                let sending = Sending::ALL[segment.ack as usize % Sending::COUNT];
                let slot = store.insert_any(tag(flow, sending), &mut segment.clone());
                prop_assert_eq!(sending_of(store.tag(slot)), sending);
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
                    prop_assert_eq!(store.remove(slot), flow_of(expected.seq));
                } else {
                    store.take(slot, &mut out);
                    prop_assert_eq!(&out, &expected);
                }
            }
            prop_assert_eq!((store.len(), store.whole.len()), (0, 0));
        }
    }
}
