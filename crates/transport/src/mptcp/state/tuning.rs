//! The size of a receive buffer that grows, as in Linux (`tcp_rcv_space_adjust`, `mptcp_rcv_space_adjust`).

use crate::memory::{self, Ratio};
use crate::tcp::rcv_ssthresh::RcvSsthresh;
use crate::time::{Duration, Instant};

/// Linux starts with ten segments as what was read before.
const INITIAL_SEGMENTS: u64 = 10;
/// What options and headers take from a full-sized segment at most.
const OPTIONS_BYTES: u64 = 40;

/// A buffer: its memory, and how much of that is data.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Room {
    /// At most [`memory::MAX_BYTES`].
    pub memory: u32,
    pub ratio: Ratio,
}

/// What the subflows know when a round trip is over.
#[derive(Clone, Copy, Debug)]
pub struct Seen {
    /// The slowest round trip: the buffer must hold what the others deliver in the meantime. 0: not known.
    pub rtt: Duration,
    /// The least.
    pub ratio: Ratio,
    /// Bytes that were read in all.
    pub read: u64,
    /// Bytes that came in order and were not; of TCP only.
    pub unread: u64,
    /// The largest segment that one of them announces to take: one that is not answered yet knows of no timestamps.
    pub mss: u16,
    /// Half of a buffer's memory counts as data, as in Linux before 6.6.
    pub halves_memory: bool,
}

/// Data of a full-sized segment.
pub fn full_bytes(mss: u16) -> u64 {
    u64::from(mss) - OPTIONS_BYTES.min(u64::from(mss) / 2)
}

/// When the application has read what an acknowledgment is of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum Reads {
    /// Before that leaves.
    AtOnce,
    /// Afterwards: of several subflows always.
    Later,
    /// Afterwards, and round trips are measured on a clock of whole microseconds.
    AsLinux,
}

/// The buffer of a connection.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Tuning {
    room: Room,
    /// Memory of a full-sized segment.
    segment: u32,
    mss: u16,
    /// Several subflows share it.
    pub shared: bool,
    pub reads: Reads,
    /// What it was before it changed, and when.
    changed_at: Instant,
    ends_at: Instant,
    before: Room,
    began_at: Instant,
    from: u64,
    /// Bytes read in the last round trip in which more was read than before.
    bytes: u64,
}

impl Tuning {
    /// Of a connection with segments of `mss` bytes; `shared` if it is one of Multipath TCP.
    pub fn new(mss: u16, shared: bool) -> Self {
        let room = Room { memory: memory::INITIAL_BYTES as u32, ratio: Ratio::ASSUMED };
        Tuning {
            room,
            before: room,
            changed_at: Instant::NEVER,
            shared,
            reads: if shared { Reads::Later } else { Reads::AtOnce },
            mss,
            segment: memory::of_segment(full_bytes(mss)) as u32,
            began_at: Instant::ZERO,
            ends_at: Instant::ZERO,
            from: 0,
            bytes: INITIAL_SEGMENTS * u64::from(mss),
        }
    }

    pub fn begin(&mut self, now: Instant) {
        self.began_at = self.counted(now);
    }

    pub fn room(&self) -> Room {
        self.room
    }

    /// The buffer that an acknowledgment tells of: a change comes from the application's reading, which follows.
    #[inline]
    pub fn room_at(&self, now: Instant) -> Room {
        if now == self.changed_at { self.before } else { self.room }
    }

    /// Data for which there is memory beside so many pieces, of which `unread` bytes are in order and which take so much less than
    /// full segments.
    #[inline]
    pub fn free(&self, room: Room, pieces: u64, unread: u64, spared_bytes: u64) -> u64 {
        // Pieces may be longer than segments on a network that joins them.
        let mss = u64::from(self.mss);
        let held = if unread > pieces * mss { unread / mss } else { pieces };
        let taken = (held * u64::from(self.segment)).saturating_sub(spared_bytes);
        room.ratio.data(u64::from(room.memory).saturating_sub(taken))
    }

    /// What so many pieces leave free that take `memory`.
    pub fn spared(&self, pieces: u64, memory: u64) -> u64 {
        (pieces * u64::from(self.segment)).saturating_sub(memory)
    }

    /// The first segment of a TCP connection was measured: this shows at once.
    pub fn measured(&mut self, ratio: Ratio) {
        self.room.ratio = ratio;
    }

    /// What may be announced of a buffer of such room beside what is held, in pieces, unread and spared bytes as [`free`](Self::free)
    /// has them, in units of so many bytes where it is little; and whether more than half of the buffer is taken.
    #[inline(always)]
    pub fn open(&self, room: Room, held: (u64, u64, u64), rcv_ssthresh: &RcvSsthresh, unit: u64) -> (u64, bool) {
        let whole = room.ratio.data(room.memory.into());
        let mut open = self.free(room, held.0, held.1, held.2);
        let tight = open < whole.min(rcv_ssthresh.clamp.into()) / 2;
        if tight {
            open &= !(unit - 1);
            if open < whole >> 4 || open < rcv_ssthresh.longest.into() {
                open = 0;
            }
        }
        (open.min(rcv_ssthresh.bytes.into()), tight)
    }

    /// The same once the application has read.
    #[cold]
    pub fn open_when_read(&self, held: (u64, u64, u64), rcv_ssthresh: &RcvSsthresh, unit: u64) -> (u64, bool) {
        self.open(self.room, held, rcv_ssthresh, unit)
    }

    /// Whether a round trip has passed since the size was last looked at.
    #[inline]
    pub fn round_is_over(&self, now: Instant) -> bool {
        now >= self.ends_at
    }

    /// Round trips are shorter than was known when this one began. On TCP this counts at once (`tcp_rcv_space_adjust`); MPTCP
    /// waits as long as one was when the buffer was last looked at (`mptcp_rcv_space_adjust` keeps it).
    pub fn look_again(&mut self) {
        self.ends_at = Instant::ZERO;
    }

    /// Dynamic right-sizing: if more was read in the last round trip than in any before, the buffer holds twice that and 16
    /// segments, and as much more as a sender that goes on growing so needs in the next two. It never shrinks. Answers whether it
    /// has grown.
    pub fn next_round(&mut self, now: Instant, seen: Seen) -> bool {
        let mut room = Room { ratio: seen.ratio, ..self.room };
        if seen.rtt.is_zero() {
            self.change(now, room);
            return false;
        }
        self.ends_at = self.began_at + seen.rtt;
        if now < self.ends_at {
            self.change(now, room);
            return false; // it takes longer now
        }
        let bytes = (seen.read - self.from).saturating_sub(seen.unread);
        if !self.began_at.is_zero() && bytes > self.bytes {
            let steady = 2 * bytes + 16 * u64::from(seen.mss);
            let wanted =
                steady + 2 * (u128::from(steady) * u128::from(bytes - self.bytes) / u128::from(self.bytes)) as u64;
            let memory =
                if seen.halves_memory { memory::of_halves(wanted, seen.mss.into()) } else { room.ratio.memory(wanted) };
            room.memory = room.memory.max(memory.min(memory::MAX_BYTES) as u32);
            self.bytes = bytes;
        }
        let grown = room.memory > self.room.memory;
        self.change(now, room);
        self.begin(now);
        (self.from, self.ends_at) = (seen.read, self.began_at + seen.rtt);
        grown
    }

    fn counted(&self, now: Instant) -> Instant {
        if self.reads == Reads::AsLinux { Instant::ZERO + Duration::from_micros(now.as_micros()) } else { now }
    }

    /// An acknowledgment follows the reading that changed the buffer.
    pub fn tell_change(&mut self) {
        self.changed_at = Instant::NEVER;
    }

    fn change(&mut self, now: Instant, room: Room) {
        if room != self.room {
            if self.reads != Reads::AtOnce {
                (self.before, self.changed_at) = (self.room, now);
            }
            self.room = room;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RTT: Duration = Duration::from_millis(50);

    fn seen(read: u64) -> Seen {
        Seen { rtt: RTT, ratio: Ratio::of_segment(1448), read, unread: 0, mss: 1460, halves_memory: false }
    }

    #[test]
    fn a_round_trip_that_turns_out_shorter_is_over_earlier() {
        let mut tuning = Tuning::new(1460, false);
        tuning.begin(Instant::from_nanos(1));
        assert!(!tuning.next_round(Instant::ZERO + RTT, seen(20_000)));
        assert!(!tuning.round_is_over(Instant::ZERO + RTT - Duration::from_nanos(5)));
        tuning.look_again();
        assert!(tuning.round_is_over(Instant::ZERO + RTT - Duration::from_nanos(5)));
        assert!(tuning.next_round(
            Instant::ZERO + RTT - Duration::from_nanos(5),
            Seen { rtt: RTT - Duration::from_nanos(10), ..seen(20_000) }
        ));
    }

    /// Of three pieces one has 280 bytes, which take 1,280 of memory, not 2,304.
    #[test]
    fn short_pieces_spare_memory() {
        let tuning = Tuning::new(1460, false);
        assert_eq!(tuning.spared(3, 2 * 2_304 + 1_280), 1_024);
    }

    /// From 100,999.9 to 150,999.0 µs are 49,999.1 µs, but 50,000 for a clock that has whole ones.
    #[test]
    fn a_round_trip_in_whole_microseconds() {
        let at = Instant::from_nanos;
        let over = |reads| {
            let mut tuning = Tuning { reads, ..Tuning::new(1460, true) };
            tuning.begin(at(1));
            tuning.next_round(at(100_999_900), seen(20_000));
            tuning.round_is_over(at(150_999_000))
        };
        assert_eq!([Reads::Later, Reads::AsLinux].map(over), [false, true]);
    }

    /// Linux 6.1: 2 · 20,000 + 16 · 1,460 and 46,868 more are 110,228 bytes, 75 whole segments. One of them takes 2,356 of memory, to which
    /// five times 128 are added until half of it holds 1,460: 2,996.
    #[test]
    fn without_a_ratio_the_buffer_grows_by_whole_segments() {
        let mut tuning = Tuning::new(1460, false);
        tuning.begin(Instant::from_nanos(1));
        let seen = Seen { halves_memory: true, ratio: Ratio::ASSUMED, ..seen(20_000) };
        assert!(tuning.next_round(Instant::ZERO + RTT + Duration::from_nanos(1), seen));
        assert_eq!(tuning.room().memory, 75 * 2_996);
    }

    #[test]
    fn the_buffer_grows_with_what_is_read_and_stays_within_its_bounds() {
        let mut tuning = Tuning::new(1460, false);
        tuning.begin(Instant::from_nanos(1));
        assert!(!tuning.next_round(Instant::ZERO + RTT, seen(10_000)), "the round trip is not over");
        // 2 · 20,000 + 16 · 1,460 = 63,360, and 2 · 63,360 · (20,000 - 14,600)/14,600 = 46,868 more; 160 of 256 are data.
        assert!(tuning.next_round(Instant::ZERO + RTT + Duration::from_nanos(1), seen(20_000)));
        assert_eq!(tuning.room().memory, 110_228 * 256 / 160);
        assert!(
            !tuning.next_round(Instant::ZERO + 2 * RTT + Duration::from_nanos(1), seen(40_000)),
            "no more than in the round trip before"
        );
        assert!(tuning.next_round(Instant::ZERO + 3 * RTT + Duration::from_nanos(1), seen(100_000_000)));
        assert_eq!(tuning.room().memory, 6 << 20);
    }
}
