//! Huge pages for large simulations. With pages of 4 KiB, a simulation of 150 MB exceeds the processor's TLB, and many
//! memory accesses wait for an address translation. Linux can move existing memory to pages of 2 MiB (`MADV_COLLAPSE`,
//! since 6.1), so that no allocator needs to support it and no memory is reserved in advance. It affects only the
//! speed, and is skipped where the system does not allow it.

#![cfg_attr(target_os = "linux", allow(unsafe_code))]

/// Number of packet-hops before the memory is first examined; the number then doubles each time. Shorter runs pay
/// nothing.
const FIRST_HOPS: u64 = 1 << 20;

/// Decides when to examine the memory.
pub struct HugePages {
    /// Number of packet-hops at which the next examination is due.
    due_hops: u64,
}

impl HugePages {
    /// Before the first hop.
    pub fn new() -> HugePages {
        HugePages { due_hops: FIRST_HOPS }
    }

    /// After `hops` packet-hops in total: if it is time, moves the memory areas that contain the addresses to huge
    /// pages.
    pub fn look<I: IntoIterator<Item = *const u8>>(&mut self, hops: u64, addresses: impl FnOnce() -> I) {
        if hops < self.due_hops {
            return;
        }
        self.due_hops = 2 * hops;
        #[cfg(target_os = "linux")]
        linux::collapse(addresses());
        #[cfg(not(target_os = "linux"))]
        let _ = addresses;
    }
}

#[cfg(any(target_os = "linux", test))]
mod areas {
    use std::ops::Range;

    /// The areas of a process (from the text of /proc/PID/maps) that are writable, belong to no file and contain at
    /// least one of the sorted addresses.
    pub fn holding(maps: &str, addresses: &[usize]) -> Vec<Range<usize>> {
        maps.lines().filter_map(own).filter(|area| holds_one(area, addresses)).collect()
    }

    /// `55d2e9600000-55d2eb2fc000 rw-p 00000000 00:00 0 [heap]`; inode 0 means no file.
    fn own(line: &str) -> Option<Range<usize>> {
        let mut fields = line.split_ascii_whitespace();
        let (start, end) = fields.next()?.split_once('-')?;
        if fields.next()? != "rw-p" || fields.nth(2)? != "0" {
            return None;
        }
        Some(usize::from_str_radix(start, 16).ok()?..usize::from_str_radix(end, 16).ok()?)
    }

    fn holds_one(area: &Range<usize>, addresses: &[usize]) -> bool {
        let next = addresses.partition_point(|&address| address < area.start);
        addresses.get(next).is_some_and(|address| area.contains(address))
    }
}

#[cfg(target_os = "linux")]
mod linux {
    use super::areas;
    use std::ops::Range;

    const HUGE_PAGE_BYTES: usize = 2 << 20;
    /// Smaller areas stay as they are: a processor's TLB covers some 4,096 small pages.
    const MIN_BYTES: usize = 32 << 20;
    /// From Linux's `asm-generic/mman-common.h`.
    const MADV_COLLAPSE: libc::c_int = 25;

    /// Failures are ignored: the pages stay as they were.
    pub fn collapse(addresses: impl IntoIterator<Item = *const u8>) {
        // If huge pages are disabled on the machine, respect that.
        let allowed = std::fs::read_to_string("/sys/kernel/mm/transparent_hugepage/enabled");
        if !allowed.is_ok_and(|modes| !modes.contains("[never]")) {
            return;
        }
        let Ok(maps) = std::fs::read_to_string("/proc/self/maps") else { return };
        let mut addresses: Vec<usize> = addresses.into_iter().map(|address| address as usize).collect();
        addresses.sort_unstable();
        let areas = areas::holding(&maps, &addresses);
        if areas.iter().map(Range::len).sum::<usize>() < MIN_BYTES {
            return;
        }
        for area in areas {
            let start = area.start.next_multiple_of(HUGE_PAGE_BYTES);
            let bytes = (area.end & !(HUGE_PAGE_BYTES - 1)).saturating_sub(start);
            if bytes > 0 {
                // SAFETY: this changes only the physical location of the bytes, not their values or access rights,
                // whether the range is still this program's memory or has been unmapped since.
                unsafe { libc::madvise(start as *mut libc::c_void, bytes, MADV_COLLAPSE) };
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAPS: &str = "\
        1000-3000 r-xp 00000000 fe:00 9980945                    /usr/bin/program\n\
        3000-4000 rw-p 00003000 fe:00 9980945                    /usr/bin/program\n\
        8000-a000 rw-p 00000000 00:00 0                          [heap]\n\
        10000-18000 rw-p 00000000 00:00 0 \n\
        20000-28000 ---p 00000000 00:00 0 \n\
        30000-38000 rw-p 00000000 00:00 0 \n\
        nonsense\n";

    #[test]
    fn areas_are_those_that_hold_an_address() {
        let mut addresses = [0x1234, 0x3456, 0x9fff, 0x17000, 0x18000, 0x20000, 0x38000];
        addresses.sort_unstable();
        assert_eq!(areas::holding(MAPS, &addresses), [0x8000..0xa000, 0x10000..0x18000]);
        assert!(areas::holding(MAPS, &[]).is_empty());
    }

    #[test]
    fn it_is_looked_at_after_twice_as_many_hops_each_time() {
        let mut pages = HugePages::new();
        let looked: Vec<u64> = (0..12)
            .map(|step| step << 20)
            .filter(|&hops| {
                let mut asked = false;
                pages.look(hops, || {
                    asked = true;
                    []
                });
                asked
            })
            .collect();
        assert_eq!(looked, [1 << 20, 2 << 20, 4 << 20, 8 << 20]);
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn memory_on_huge_pages_holds_what_it_held() {
        let held: Vec<u32> = (0..12 << 20).collect();
        linux::collapse([held.as_ptr().cast()]);
        assert!(held.iter().enumerate().all(|(at, &value)| at == value as usize));
    }
}
