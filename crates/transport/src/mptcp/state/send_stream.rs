//! The stream that this host sends: what was written, sent and acknowledged at the data level.

use crate::offset::Offset;
use crate::queue::{SendQueue, Sendable};

/// Edges of the stream, and its bytes from the first unacknowledged on.
#[derive(Debug)]
#[repr(C)]
pub struct SendStream<P: Sendable> {
    /// First byte not acknowledged at the data level.
    una: Offset,
    /// The peer's window ends here.
    right: Offset,
    /// First byte never sent, nor bound to a subflow to be sent.
    nxt: Offset,
    /// End of what was written.
    end: Offset,
    queue: P::Queue,
    /// What the application says that it will have written in all.
    announced: Option<u64>,
    /// How often the window kept the fastest subflow from sending though it had room.
    blocks: u64,
}

impl<P: Sendable> SendStream<P> {
    pub fn new() -> Self {
        SendStream {
            end: Offset::FIRST,
            una: Offset::FIRST,
            nxt: Offset::FIRST,
            right: Offset::FIRST,
            queue: P::Queue::default(),
            announced: None,
            blocks: 0,
        }
    }

    #[inline]
    pub fn end(&self) -> Offset {
        self.end
    }

    #[inline]
    pub fn una(&self) -> Offset {
        self.una
    }

    #[inline]
    pub fn nxt(&self) -> Offset {
        self.nxt
    }

    #[inline]
    pub fn right(&self) -> Offset {
        self.right
    }

    /// Bytes written and never sent.
    #[inline]
    pub fn unsent(&self) -> u64 {
        self.end - self.nxt
    }

    /// New bytes that the peer's window allows.
    #[inline]
    pub fn open(&self) -> u64 {
        self.right.beyond(self.nxt)
    }

    /// How often the window kept the fastest subflow from sending though it had room.
    pub fn blocks(&self) -> u64 {
        self.blocks
    }

    /// The window has no room for a segment; `fastest`: the fastest subflow could have carried it.
    pub fn note_block(&mut self, fastest: bool) {
        self.blocks += u64::from(fastest);
    }

    /// The whole window: what may be under way at once.
    pub fn window(&self) -> u64 {
        self.right.beyond(self.una)
    }

    /// Whether something is sent and not acknowledged at the data level.
    #[inline]
    pub fn is_outstanding(&self) -> bool {
        self.una < self.nxt
    }

    /// Whether all that was written is sent.
    #[inline]
    pub fn is_sent(&self) -> bool {
        self.nxt == self.end
    }

    pub fn write(&mut self, payload: P) {
        self.end = self.end.saturating_add(self.queue.push(payload));
    }

    /// So many bytes more, whose content follows from their places.
    pub fn offer(&mut self, bytes: u64) {
        self.end = self.end.saturating_add(bytes);
    }

    /// The application will have written so much in all.
    pub fn announce(&mut self, bytes: u64) {
        self.announced = Some(bytes);
    }

    /// How long the stream will have become, where that is known; `ended`: the application writes no more.
    pub fn flow_bytes(&self, ended: bool) -> Option<u64> {
        let written = self.end.octets();
        if ended {
            (self.end < Offset::LAST).then_some(written)
        } else {
            self.announced.map(|bytes| bytes.max(written))
        }
    }

    /// What was written and never sent is taken back.
    pub fn withdraw(&mut self) {
        self.end = self.nxt;
    }

    /// The bytes `[from, from + len)`.
    #[inline]
    pub fn slice(&self, from: Offset, len: u64) -> P {
        self.queue.slice(from.octets(), len as u32)
    }

    /// The next `len` bytes are sent, or bound to a subflow.
    #[inline]
    pub fn advance(&mut self, len: u64) {
        self.nxt += len;
    }

    /// What lies at `to` and beyond was bound to a subflow and not sent: it is unsent again.
    pub fn retreat(&mut self, to: Offset) {
        self.nxt = to.max(self.una);
    }

    /// The window that the peer told on its handshake.
    pub fn begin(&mut self, window: u16) {
        self.right = Offset::after(u64::from(window));
    }

    /// The peer's window reaches up to `right`, which may be less than before (RFC 9293 §3.8.6).
    #[inline(always)]
    pub fn draw_back(&mut self, right: Offset) {
        self.right = right;
    }

    /// The peer's window reaches up to `right`. Answers whether it grew: it never shrinks.
    #[inline(always)]
    pub fn open_to(&mut self, right: Offset) -> bool {
        let grew = right > self.right;
        if grew {
            self.right = right;
        }
        grew
    }

    /// Everything below `to` has arrived. Answers whether that is news.
    #[inline(always)]
    pub fn acknowledge(&mut self, to: Offset, kept: Offset) -> bool {
        let news = to > self.una;
        if news {
            self.una = to;
            self.queue.release(kept.min(to).octets());
        }
        news
    }
}
