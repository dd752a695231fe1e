//! A hint to the processor that memory will soon be needed, so that it is there when it is. Nothing but time depends on
//! it; where the processor has no such instruction that Rust knows of, it is nothing.

/// Bytes of a line of the cache.
pub const LINE_BYTES: usize = 64;

/// Asks for the first `LINES` lines of the cache of `of`, which need not be there for this.
#[inline(always)]
pub fn lines<T, const LINES: usize>(of: &T) {
    for line in 0..LINES {
        at(std::ptr::from_ref(of).cast::<u8>().wrapping_add(line * LINE_BYTES));
    }
}

/// Asks for the line of the cache that holds this address.
#[inline(always)]
#[cfg_attr(target_arch = "x86_64", allow(unsafe_code))]
pub fn at(address: *const u8) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: a prefetch reads and writes nothing that a program could see, and is ignored where there is no memory.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(address.cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = address;
}

/// Asks for all lines of the cache of `len` bytes from `address` on.
#[inline(always)]
pub fn bytes(address: *const u8, len: usize) {
    for offset in (0..len).step_by(LINE_BYTES) {
        at(address.wrapping_add(offset));
    }
}
