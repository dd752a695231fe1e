//! Segments on their way. Nearly all are packed into one line of the cache: data or an acknowledgment with timestamps and
//! DSS, or a bare acknowledgment with SACK blocks, which stand where others have their data. A segment with anything else
//! (options of handshakes, short data numbers, a checksum) stands whole beside.

use crate::slab::Slab;
use network::prefetch;
use transport::Sending;
use wire::{Compact, SackBlock, SackBlocks, Segment, Span};

/// Of [`Compact::parts`], beside the parts of the segment: how many SACK blocks there are, in these two bits.
const BLOCKS_SHIFT: u8 = 5;
const BLOCKS: u8 = 3 << BLOCKS_SHIFT;
/// The segment stands whole in the slot that `seq` names.
const WHOLE: u8 = 1 << 7;

/// Of [`Compact::tag`], the number of the flow; above it stands why the segment was sent, one of [`Sending::ALL`].
const FLOW: u32 = (1 << SENDING_SHIFT) - 1;
const SENDING_SHIFT: u32 = 30;

/// What stands beside a segment of `flow` that was sent for this reason.
#[inline]
pub fn tag(flow: u32, sending: Sending) -> u32 {
    flow | (sending as u32) << SENDING_SHIFT
}

/// The flow of what has this beside it.
#[inline(always)]
pub fn flow_of(tag: u32) -> u32 {
    tag & FLOW
}

/// Why it was sent.
pub fn sending_of(tag: u32) -> Sending {
    Sending::ALL[(tag >> SENDING_SHIFT) as usize]
}

/// A segment, or the place of one, beside the flow that it is of.
#[derive(Clone, Copy, Default)]
#[repr(align(64))]
struct Packed(Compact<Span>);

const _: () = assert!(size_of::<Packed>() == 64);

/// Slots in a block.
const BLOCK: usize = 256;

/// The segments in flight, each in a slot until it is taken out.
pub struct InFlight {
    /// Slot `n` is place `n % BLOCK` of block `n / BLOCK`: none moves when more come, for which memory would be needed twice.
    blocks: Vec<Box<[Packed; BLOCK]>>,
    /// The first empty slot, each of which has the number of the next for its `seq`; [`NONE`] ends them.
    free: u32,
    whole: Slab<Segment<Span>>,
}

/// The most slots there can be: the two uppermost bits of a slot's number are free for other use.
const SLOT_LIMIT: usize = 1 << 30;
/// Ends the list of empty slots.
const NONE: u32 = u32::MAX;

/// A compact segment in its slot.
pub struct Held<'a> {
    pub segment: &'a mut Compact<Span>,
    slot: u32,
    free: &'a mut u32,
}

impl Held<'_> {
    /// Frees the slot; the segment was received.
    #[inline]
    pub fn let_go(self) {
        self.segment.seq = std::mem::replace(self.free, self.slot);
    }
}

impl Default for InFlight {
    fn default() -> Self {
        InFlight { blocks: Vec::new(), free: NONE, whole: Slab::default() }
    }
}

impl InFlight {
    /// Where the segments stand in memory, block by block.
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

    /// Puts a compact segment in, with its [`tag`], which for new data is the number of its flow, and answers its slot.
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

    /// As [`Self::insert`], for any segment. Of `segment`, what is boxed is taken out.
    pub fn insert_any(&mut self, tag: u32, segment: &mut Segment<Span>) -> u32 {
        let packed = Compact::of(segment).or_else(|| packed_with_blocks(segment)).unwrap_or_else(|| {
            let seq = self.whole.insert(std::mem::take(segment));
            Compact { seq, parts: WHOLE, ..Compact::default() }
        });
        self.insert(tag, &packed)
    }

    /// Puts a compact acknowledgment of `flow` with SACK blocks in and answers its slot, if there is room for the blocks.
    pub fn insert_selective(&mut self, flow: u32, segment: &Compact<Span>, blocks: &SackBlocks) -> Option<u32> {
        let packed = with_blocks(segment, blocks)?;
        Some(self.insert(flow, &packed))
    }

    /// A compact acknowledgment with SACK blocks, to be received in its place, if that stands in `slot`.
    pub fn selective(&mut self, slot: u32) -> Option<(&mut Compact<Span>, SackBlocks)> {
        let packed = self.at_mut(slot);
        (packed.parts & BLOCKS != 0).then(|| {
            let blocks = take_blocks(packed);
            (packed, blocks)
        })
    }

    /// What stands in `slot`, to be received in its place, if it is compact and without SACK blocks; else it must be taken out.
    #[inline]
    pub fn compact(&mut self, slot: u32) -> Option<Held<'_>> {
        let segment = &mut self.blocks[slot as usize / BLOCK][slot as usize % BLOCK].0;
        (segment.parts & (WHOLE | BLOCKS) == 0).then_some(Held { segment, slot, free: &mut self.free })
    }

    /// Takes out what stands in `slot` and writes it over `segment`. The slot was given by [`Self::insert`] and not yet
    /// taken.
    pub fn take(&mut self, slot: u32, segment: &mut Segment<Span>) {
        let packed = *self.at(slot);
        if packed.parts & WHOLE != 0 {
            *segment = self.whole.take(packed.seq);
        } else {
            unpack(packed, segment);
        }
        self.let_go(slot);
    }

    #[inline]
    fn let_go(&mut self, slot: u32) -> u32 {
        let free = std::mem::replace(&mut self.free, slot);
        let packed = self.at_mut(slot);
        packed.seq = free;
        flow_of(packed.tag)
    }

    /// The flow of what stands in `slot`.
    #[inline]
    pub fn flow(&self, slot: u32) -> u32 {
        flow_of(self.at(slot).tag)
    }

    /// The [`tag`] of what stands in `slot`, or did before the last was taken out.
    #[inline]
    pub fn tag(&self, slot: u32) -> u32 {
        self.at(slot).tag
    }

    /// Asks the processor for the memory of `slot`.
    #[inline]
    pub fn prefetch(&self, slot: u32) {
        if let Some(block) = self.blocks.get(slot as usize / BLOCK) {
            prefetch::lines::<_, 1>(&block[slot as usize % BLOCK]);
        }
    }

    /// A copy of what stands in `slot`.
    pub fn get(&self, slot: u32) -> Segment<Span> {
        let packed = *self.at(slot);
        if packed.parts & WHOLE != 0 {
            return self.whole.get(packed.seq).cloned().unwrap_or_default();
        }
        let mut segment = Segment::default();
        unpack(packed, &mut segment);
        segment
    }

    /// Frees `slot`, whose compact segment was received.
    #[inline]
    pub fn received(&mut self, slot: u32) {
        self.let_go(slot);
    }

    /// Frees `slot` and returns its flow.
    pub fn remove(&mut self, slot: u32) -> u32 {
        let packed = self.at(slot);
        if packed.parts & WHOLE != 0 {
            let seq = packed.seq;
            self.whole.take(seq);
        }
        self.let_go(slot)
    }

    /// How many there are. Counts those that are empty: for rare occasions.
    pub fn len(&self) -> usize {
        let empty = std::iter::successors(Some(self.free), |&slot| (slot != NONE).then(|| self.at(slot).seq));
        self.blocks.len() * BLOCK + 1 - empty.count()
    }
}

/// A bare acknowledgment with as many SACK blocks as have room beside timestamps: they stand in place of data.
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

/// As [`with_blocks`], of a segment that is not packed yet.
fn packed_with_blocks(segment: &mut Segment<Span>) -> Option<Compact<Span>> {
    if segment.options.sack.len() > 3 {
        return None;
    }
    let (compact, blocks) = Compact::selective_of(segment)?;
    with_blocks(&compact, &blocks)
}

/// Takes the SACK blocks out of a segment that has some.
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
