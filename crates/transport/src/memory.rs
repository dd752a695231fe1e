//! How much data a receive buffer holds, as Linux counts: its size is memory, and a segment takes more of it than its data.
//!
//! The kernel measures the ratio of data to memory of the full-sized segments that arrive, in 256ths, and counts one half until then.

use crate::Kernel;

/// Memory of a receive buffer at first (`tcp_rmem`).
pub const INITIAL_BYTES: u64 = 131_072;
/// And at most.
pub const MAX_BYTES: u64 = 6 << 20;

/// What the kernel keeps about each packet (`struct sk_buff`).
const DESCRIPTION_BYTES: u64 = 256;
/// What is kept behind it (`struct skb_shared_info`).
const BEHIND_BYTES: u64 = 320;
/// Room before a packet, its IP and TCP headers, and what is kept behind it.
const AROUND_BYTES: u64 = 64 + 76 + BEHIND_BYTES;
/// Room for all headers (`MAX_TCP_HEADER`).
const HEADERS_BYTES: u64 = 320;

/// What is asked for beside these, so that the IP header is aligned (`NET_IP_ALIGN`).
const ALIGNING_BYTES: u64 = 2;
/// Small buffers come from a store of their own (`SKB_SMALL_HEAD_SIZE`), but not in Linux 6.1.
const SMALL_BUFFER_BYTES: u64 = 704;

/// The memory of a packet with `len` bytes of data, as if all buffers were powers of two.
#[must_use]
pub fn of_segment(len: u64) -> u64 {
    DESCRIPTION_BYTES + (len + AROUND_BYTES).next_power_of_two()
}

/// The buffer of a packet with `len` bytes of data, as this kernel has it.
fn buffer_of_packet(kernel: Kernel, len: u64) -> u64 {
    let asked = len + AROUND_BYTES + ALIGNING_BYTES;
    let small = kernel != Kernel::V6_1 && asked <= SMALL_BUFFER_BYTES;
    if small { SMALL_BUFFER_BYTES } else { asked.next_power_of_two() }
}

/// The memory of a packet with `len` bytes of data, as a receiver that is Linux's counts short ones too.
#[must_use]
pub fn of_packet(kernel: Kernel, len: u64) -> u64 {
    DESCRIPTION_BYTES + buffer_of_packet(kernel, len)
}

/// What is left at the end of the buffer of a packet with `len` bytes of data.
#[must_use]
pub fn tail_of_packet(kernel: Kernel, len: u64) -> u64 {
    buffer_of_packet(kernel, len) - (len + AROUND_BYTES)
}

/// The memory that whole segments of `data` bytes get where half of it counts as data: each what it takes with the room for all headers,
/// and so many times 128 bytes more that it fits into the half (`tcp_rcv_space_adjust` before Linux 6.6).
#[must_use]
pub fn of_halves(data: u64, segment: u64) -> u64 {
    let taken = segment + HEADERS_BYTES + DESCRIPTION_BYTES + BEHIND_BYTES;
    let lacking = (2 * segment - 1).saturating_sub(taken); // the half is rounded up
    data / segment * (taken + lacking.next_multiple_of(128))
}

/// Data in 256 bytes of memory.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Ratio(u8);

impl Ratio {
    /// Before a segment was measured.
    pub const ASSUMED: Ratio = Ratio(128);
    /// Above all others.
    pub const MOST: Ratio = Ratio(255);

    /// Of segments with `len` bytes of data.
    #[must_use]
    pub fn of_segment(len: u64) -> Self {
        Ratio((len * 256 / of_segment(len)).max(1) as u8)
    }

    /// Data in so much memory.
    #[inline]
    #[must_use]
    pub fn data(self, memory: u64) -> u64 {
        (memory * u64::from(self.0)) >> 8
    }

    /// Memory for so much data.
    #[must_use]
    pub fn memory(self, data: u64) -> u64 {
        (data << 8) / u64::from(self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_sized_segment_takes_2304_bytes() {
        // 1,424 and 460 bytes are 1,884: a buffer of 2,048, and 256.
        assert_eq!(of_segment(1424), 2304);
        assert_eq!(Ratio::of_segment(1424), Ratio(158)); // 1,424 · 256 / 2,304 = 158.2
        assert_eq!(Ratio::of_segment(1448), Ratio(160)); // TCP: 160.9
        assert_eq!(of_segment(304), 1280); // 764: 1,024, and 256
        // As the kernel counts packets of a TUN device: 240 bytes 960, 256 to 560 bytes 1,280, 576 bytes 2,304.
        assert_eq!([21, 240, 256, 560, 576].map(|len| of_packet(Kernel::V6_12, len)), [960, 960, 1280, 1280, 2304]);
        // 6.1 has no smaller ones than powers of two: 483 bytes are 512, 702 are 1,024.
        assert_eq!([21, 240, 576].map(|len| of_packet(Kernel::V6_1, len)), [768, 1280, 2304]);
        let of = Kernel::V6_12;
        assert_eq!((of_packet(of, 1424), tail_of_packet(of, 1424)), (2304, 164)); // 2,048 less 1,884
    }

    #[test]
    fn buffers_of_linux_hold_what_it_announces() {
        // The first buffer less the segment that has just arrived: before and after one was measured.
        assert_eq!(Ratio::ASSUMED.data(INITIAL_BYTES - 2304), 64_384);
        assert_eq!(Ratio(158).data(INITIAL_BYTES - 2304), 79_474); // announced in units of 128: 79,488
        // The largest buffer with 48 segments in it, as in a bulk transfer: announced as 3,814,784.
        let open = Ratio(158).data(MAX_BYTES - 48 * 2304);
        assert_eq!(open.next_multiple_of(128), 3_814_784);
        assert_eq!(Ratio(158).memory(79_474), 128_768);
    }
}
