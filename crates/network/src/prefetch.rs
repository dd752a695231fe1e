//! Prefetching: a hint to the processor that memory will soon be needed. It affects only the speed, and does nothing
//! where Rust offers no such instruction.

/// Size of a cache line in bytes.
pub const LINE_BYTES: usize = 64;

/// Prefetches the first `LINES` cache lines of `of`, which are not read.
#[inline(always)]
pub fn lines<T, const LINES: usize>(of: &T) {
    for line in 0..LINES {
        at(std::ptr::from_ref(of).cast::<u8>().wrapping_add(line * LINE_BYTES));
    }
}

/// Prefetches the cache line of this address.
#[inline(always)]
#[cfg_attr(target_arch = "x86_64", allow(unsafe_code))]
pub fn at(address: *const u8) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: a prefetch has no visible effect on memory and is ignored for invalid addresses.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(address.cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = address;
}

/// Prefetches all cache lines of the `len` bytes from `address` on.
#[inline(always)]
pub fn bytes(address: *const u8, len: usize) {
    for offset in (0..len).step_by(LINE_BYTES) {
        at(address.wrapping_add(offset));
    }
}
