//! The receive window: one for the connection, whatever the number of subflows (RFC 8684 §3.3.1), and the automatic
//! size of its buffer.

use crate::ReceiveBuffer;
use crate::place::Place;
use crate::tcp::acknowledge::INITIAL_WINDOW_BYTES;

/// What Linux's first 131,072 bytes of memory (`tcp_rmem`) hold of data, where 1,424 bytes take 2,304: the largest window that
/// it announces (621 times 128) before the buffer grows.
const INITIAL_AUTO_BYTES: u64 = 79_488;
/// Linux's `tcp_rmem`.
const MAX_AUTO_BYTES: u64 = 6 << 20;

/// Linux starts with ten segments as what was read before.
const INITIAL_SEGMENTS: u64 = 10;

/// Pieces that wait may be smaller than this on average only if they are few.
const LEAST_MEAN_BYTES: u64 = 128;
/// So many in any case.
const MORE_PIECES: u64 = 256;

/// The receive buffer of a connection. Places in the stream count from 0.
#[derive(Clone, Copy, Debug)]
pub struct ReceiveWindow {
    /// What the peer may have outstanding: what arrivals have earned, up to `room`.
    size: u64,
    /// What the buffer holds now: the window grows up to it. 0: it is announced whole, and nothing grows.
    room: u64,
    max: u64,
    /// Bytes the application has read.
    read: u64,
    /// The largest right edge that was announced: it must not move back (RFC 9293 §3.8.6.2.1).
    announced: Place,
    /// The scale of the window field that the peer knows.
    told_scale: u8,
    round_ends_ns: u64,
    round_from: u64,
    /// Bytes read in the last round trip in which more was read than before.
    round_bytes: u64,
}

impl ReceiveWindow {
    pub fn new(buffer: ReceiveBuffer) -> Self {
        let (size, room, max) = match buffer {
            ReceiveBuffer::Auto => (INITIAL_WINDOW_BYTES, INITIAL_AUTO_BYTES, MAX_AUTO_BYTES),
            ReceiveBuffer::Fixed(bytes) => (bytes, 0, bytes),
        };
        let mut window = ReceiveWindow {
            size,
            room,
            max,
            read: 0,
            announced: Place::FIRST,
            told_scale: 0,
            round_ends_ns: 0,
            round_from: 0,
            round_bytes: 0,
        };
        window.told_scale = window.scale();
        window
    }

    /// The scale that was agreed on: ours, or none where the peer has not offered to scale (RFC 7323 §2.2).
    pub fn agree_scale(&mut self, scale: u8) {
        self.told_scale = scale;
    }

    /// The window scale to offer: the least that lets the whole buffer be announced (RFC 7323 §2.3, at most 14).
    pub fn scale(&self) -> u8 {
        (0..14).find(|&s| self.max >> s <= 0xffff).unwrap_or(14)
    }

    /// Size of the window now, bytes.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// Up to how many bytes the window grows now; 0 if it does not.
    #[inline]
    pub fn room(&self) -> u64 {
        self.room
    }

    /// A subflow's arrivals have earned so large a window.
    pub fn grow(&mut self, size: u64) {
        self.size = self.size.max(size.min(self.room));
    }

    /// The end of what the peer may send.
    pub fn right(&self) -> Place {
        Place::after(self.read + self.size).max(self.announced)
    }

    /// Whether the `len` bytes from `at` on lie below that end.
    #[inline]
    pub fn allows(&self, at: Place, len: u64) -> bool {
        // What was announced settles it for every peer that keeps to it.
        let end = at.saturating_add(len);
        end <= self.announced || end <= self.right()
    }

    /// How many pieces may wait behind a hole: as many as fill the window with segments of [`LEAST_MEAN_BYTES`], and some
    /// more. So what is kept about the pieces takes no more than twice the memory of the window.
    #[inline]
    pub fn allows_pieces(&self, pieces: usize) -> bool {
        (pieces as u64) < MORE_PIECES || (pieces as u64) < MORE_PIECES + self.size / LEAST_MEAN_BYTES
    }

    /// The window field of a segment that acknowledges up to `rcv_nxt`, and remembers it as announced.
    pub fn announce(&mut self, rcv_nxt: Place, scale: u8) -> u16 {
        let field = ((self.right().beyond(rcv_nxt)) >> scale).min(0xffff);
        self.announced = self.announced.max(rcv_nxt + (field << scale));
        field as u16
    }

    /// The application has read `len` bytes. Answers whether the peer should be told at once that the window opened:
    /// when it at least doubles and by a segment or half the buffer (RFC 9293 §3.8.6.2.2), as far as the field can tell:
    /// an acknowledgment with the same window would be a duplicate.
    pub fn read(&mut self, len: u64, rcv_nxt: Place, mss: u16) -> bool {
        self.read += len;
        let known = self.announced.beyond(rcv_nxt);
        let room = self.right().beyond(rcv_nxt);
        if room < 2 * known {
            return false; // mostly, and the field tells of no more than there is
        }
        let open = (room >> self.told_scale).min(0xffff) << self.told_scale;
        open > known && open >= 2 * known && open - known >= u64::from(mss).min(self.size / 2).max(1)
    }

    /// Whether a round trip has passed since the size was last looked at.
    pub fn round_is_over(&self, now_ns: u64) -> bool {
        now_ns >= self.round_ends_ns && self.size < self.max
    }

    /// Dynamic right-sizing, as in Linux (`tcp_rcv_space_adjust`): if more was read in the last round trip than in any before,
    /// the buffer holds twice that and 16 segments, and as much more as a sender that goes on growing so needs in the next
    /// two. It never shrinks. Without quick ACKs the window follows at once, with them as segments arrive.
    pub fn next_round(&mut self, now_ns: u64, rtt_ns: u64, mss: u16, at_once: bool) {
        if self.round_ends_ns > 0 && rtt_ns > 0 {
            let mss = u64::from(mss);
            let (bytes, before) = (self.read - self.round_from, self.round_bytes.max(INITIAL_SEGMENTS * mss));
            if bytes > before {
                let steady = 2 * bytes + 16 * mss;
                let wanted = steady + 2 * (u128::from(steady) * u128::from(bytes - before) / u128::from(before)) as u64;
                self.room = self.room.max(wanted.min(self.max));
                self.round_bytes = bytes;
            }
            if at_once {
                self.size = self.room;
            }
        }
        self.round_from = self.read;
        self.round_ends_ns = now_ns + rtt_ns.max(1_000_000);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_right_edge_never_moves_back() {
        let mut w = ReceiveWindow::new(ReceiveBuffer::Fixed(10_000));
        assert_eq!(w.scale(), 0);
        assert_eq!(w.announce(Place::after(0), 0), 10_000);
        assert_eq!(w.announce(Place::after(4_000), 0), 6_000);
        assert!(!w.read(1_000, Place::after(4_000), 1460));
        assert_eq!(w.announce(Place::after(4_000), 0), 7_000);
    }

    #[test]
    fn a_closed_window_that_opens_is_announced() {
        let mut w = ReceiveWindow::new(ReceiveBuffer::Fixed(10_000));
        assert_eq!(w.announce(Place::after(0), 0), 10_000);
        assert_eq!(w.announce(Place::after(10_000), 0), 0);
        assert!(!w.read(1_000, Place::after(10_000), 1460), "not for less than a segment");
        assert!(w.read(1_000, Place::after(10_000), 1460));
        assert_eq!(w.announce(Place::after(10_000), 0), 2_000);
    }

    #[test]
    fn the_buffer_grows_with_what_is_read_and_stays_within_its_bounds() {
        let mut w = ReceiveWindow::new(ReceiveBuffer::Auto);
        assert_eq!(w.scale(), 7);
        assert_eq!(w.right().octets(), 64_240);
        w.next_round(1, 50_000_000, 1460, false);
        w.read(20_000, Place::after(20_000), 1460);
        w.next_round(50_000_001, 50_000_000, 1460, false);
        // 2 · 20,000 + 16 · 1,460 = 63,360, and 2 · 63,360 · (20,000 - 14,600)/14,600 = 46,868 more.
        assert_eq!(w.room(), 63_360 + 46_868);
        assert_eq!(w.right().octets(), 20_000 + 64_240, "nothing has arrived since");
        w.grow(70_000);
        assert_eq!(w.right().octets(), 20_000 + 70_000);
        w.grow(1 << 20);
        assert_eq!(w.right().octets(), 20_000 + 63_360 + 46_868);
        w.next_round(100_000_001, 50_000_000, 1460, true);
        assert_eq!(w.right().octets(), 20_000 + 63_360 + 46_868);
        w.read(100_000_000, Place::after(100_020_000), 1460);
        w.next_round(150_000_001, 50_000_000, 1460, true);
        assert_eq!(w.right().octets(), 100_020_000 + (6 << 20));
    }
}
