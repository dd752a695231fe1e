//! One connection's data: one end writes, the other reads at once and checks the place of every byte.

use crate::SimulateError;
use crate::validate::GROWTH_LIMIT_BYTES;
use network::middlebox::ALTERED;
use transport::{Connection, Event};
use wire::Span;

/// The client's end.
pub const CLIENT: usize = 0;
/// The server's end.
pub const SERVER: usize = 1;

/// How much is sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Amount {
    /// As much as the connection takes, until it is stopped.
    Endless,
    /// So many bytes, then the end.
    Bytes(u64),
    /// One full segment now; its application offers the others, until it is stopped.
    Steps,
}

/// What has happened to a transfer since it was last asked, as bits: see the constants.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct News(u8);

impl News {
    /// The sender may write.
    pub const ESTABLISHED: News = News(1);
    /// The last byte has arrived.
    pub const COMPLETED: News = News(2);
    /// The reader has come to the end of the stream, or the connection has failed.
    pub const ENDED: News = News(4);
    /// One end is done with the connection.
    pub const OVER: News = News(8);

    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    pub fn has(self, news: News) -> bool {
        self.0 & news.0 != 0
    }

    fn add(&mut self, news: News) {
        self.0 |= news.0;
    }
}

/// What one connection carries.
pub struct Transfer {
    /// Whose it is, an index into the applications.
    pub application: u32,
    pub start_ns: u64,
    /// The number of the client's address on the first path; the others follow.
    pub first_address: u32,
    /// Its subflows, as numbered in `Fabric::subflows`, in the order they were opened.
    pub subflows: Vec<u32>,
    amount: Amount,
    /// The end that writes, [`CLIENT`] or [`SERVER`].
    pub sender: usize,
    /// A full segment's data, once the connection stands.
    pub step_bytes: u64,
    established: bool,
    stopped: bool,
    /// In-order bytes that the other end has read.
    pub bytes_read: u64,
    /// Of those, how many before the end of the warm-up.
    pub warm_bytes: u64,
    pub last_read_ns: u64,
    /// When the last byte arrived, once it is known to be the last.
    pub completion_ns: Option<u64>,
    /// The reader has come to the end of the stream, or the connection has failed.
    pub ended: bool,
    /// The ends that are done with the connection.
    pub over: [bool; 2],
    news: News,
    /// It stands for a connection that a host made by mistake of a subflow of this one.
    pub stray_of: Option<u32>,
    /// How many bytes more than were sent have come, because a box changed the content; `None` while it changed none.
    grown: Option<i64>,
    /// What was read last had been changed.
    altered: bool,
}

impl Transfer {
    pub fn new(application: u32, start_ns: u64, first_address: u32, amount: Amount, sender: usize) -> Transfer {
        Transfer {
            application,
            start_ns,
            first_address,
            subflows: Vec::new(),
            amount,
            sender,
            step_bytes: 0,
            established: false,
            stopped: false,
            bytes_read: 0,
            warm_bytes: 0,
            last_read_ns: start_ns,
            completion_ns: None,
            ended: false,
            over: [false; 2],
            news: News::default(),
            stray_of: None,
            grown: None,
            altered: false,
        }
    }

    /// The end that reads.
    pub fn receiver(&self) -> usize {
        1 - self.sender
    }

    /// What has happened since the last call.
    #[inline]
    pub fn take_news(&mut self) -> News {
        std::mem::take(&mut self.news)
    }

    /// Reads all there is at `side` and handles the connection's events. `now_ns` is the time.
    #[inline(always)]
    pub fn poll(&mut self, now_ns: u64, side: usize, connection: &mut Connection<Span>) -> Result<(), Misplaced> {
        if connection.has_news() { self.poll_news(now_ns, side, connection) } else { Ok(()) }
    }

    fn poll_news(&mut self, now_ns: u64, side: usize, connection: &mut Connection<Span>) -> Result<(), Misplaced> {
        while let Some(span) = connection.read() {
            self.read(now_ns, side, span)?;
        }
        while let Some(event) = connection.poll_event() {
            self.event(now_ns, side, connection, &event);
        }
        Ok(())
    }

    #[inline(always)]
    fn read(&mut self, now_ns: u64, side: usize, span: Span) -> Result<(), Misplaced> {
        // Nobody writes to the sender's end: whatever arrives there is wrong.
        if side == self.sender || span.offset != self.bytes_read {
            self.read_altered(side, span)?;
        }
        self.bytes_read += u64::from(span.len);
        self.last_read_ns = now_ns;
        if let Amount::Bytes(size_bytes) = self.amount {
            if self.grown.is_some() {
                // The end of the stream tells.
                return Ok(());
            }
            if self.bytes_read > size_bytes {
                return Err(Misplaced { side, found: size_bytes, expected: size_bytes });
            }
            if self.bytes_read == size_bytes {
                self.complete(now_ns);
            }
        }
        Ok(())
    }

    /// Whether a span that is not the one that was due is right all the same: content that a box changed on its way,
    /// which nothing noticed or which fell back to TCP (RFC 8684 §3.7), in its place; or what follows such, moved by as
    /// many bytes as were put in.
    #[cold]
    fn read_altered(&mut self, side: usize, span: Span) -> Result<(), Misplaced> {
        let due = self.bytes_read.wrapping_add_signed(-self.grown.unwrap_or(0));
        let offset = span.offset & !ALTERED;
        let wrong = Misplaced { side, found: offset, expected: due };
        if side == self.sender {
            return Err(wrong);
        }
        let moved = due.wrapping_sub(offset) as i64;
        let known = self.grown.is_some() && moved.unsigned_abs() <= u64::from(GROWTH_LIMIT_BYTES);
        if span.offset & ALTERED != 0 && (moved == 0 || known) {
            self.grown = Some(self.grown.unwrap_or(0) + moved);
            self.altered = true;
            return Ok(());
        }
        if moved != 0 && !(known && self.altered) {
            return Err(wrong);
        }
        self.grown = self.grown.map(|grown| grown + moved);
        self.altered = false;
        Ok(())
    }

    #[cold]
    fn event(&mut self, now_ns: u64, side: usize, connection: &mut Connection<Span>, event: &Event) {
        match event {
            Event::Established if side == self.sender => {
                self.established = true;
                self.news.add(News::ESTABLISHED);
                self.write(now_ns, connection);
            }
            Event::EndOfStream if side != self.sender => {
                self.end_of_stream(now_ns);
                connection.close(now_ns);
            }
            Event::Closed => self.over(side),
            Event::Aborted => {
                self.over(side);
                self.end();
            }
            _ => {}
        }
    }

    fn write(&mut self, now_ns: u64, connection: &mut Connection<Span>) {
        match self.amount {
            // Stopped before it could begin: the stream is empty.
            _ if self.stopped => connection.close(now_ns),
            Amount::Endless => connection.offer(u64::MAX),
            Amount::Bytes(size_bytes) => {
                connection.offer(size_bytes);
                connection.close(now_ns);
            }
            Amount::Steps => {
                self.step_bytes = connection.views().first().map_or(1, |view| u64::from(view.mss).max(1));
                connection.offer(self.step_bytes);
            }
        }
    }

    fn end_of_stream(&mut self, now_ns: u64) {
        match self.amount {
            _ if self.completion_ns.is_some() => {}
            Amount::Endless | Amount::Steps => self.complete(self.last_read_ns),
            Amount::Bytes(0) => self.complete(now_ns),
            Amount::Bytes(size_bytes) if self.grown.is_some_and(|grown| self.is_whole(size_bytes, grown)) => {
                self.complete(self.last_read_ns);
            }
            // A file that was stopped before its last byte was sent never becomes complete.
            Amount::Bytes(_) => {}
        }
        self.end();
    }

    /// Whether all of a stream of `size_bytes` has been read, in which a box put `grown` bytes; what it put in at the
    /// very end shows in nothing that follows.
    fn is_whole(&self, size_bytes: u64, grown: i64) -> bool {
        let missing = size_bytes.wrapping_add_signed(grown).wrapping_sub(self.bytes_read) as i64;
        missing == 0 || (self.altered && missing.unsigned_abs() <= u64::from(GROWTH_LIMIT_BYTES))
    }

    fn complete(&mut self, at_ns: u64) {
        self.completion_ns = Some(at_ns);
        self.news.add(News::COMPLETED);
    }

    fn end(&mut self) {
        self.ended = true;
        self.news.add(News::ENDED);
    }

    fn over(&mut self, side: usize) {
        self.over[side] = true;
        self.news.add(News::OVER);
    }

    /// Whether its application may still offer data.
    pub fn is_writing(&self) -> bool {
        self.established && !self.stopped && !self.over[self.sender]
    }

    /// The sender offers nothing more; what it offered in steps is still sent, else what was never sent is taken back.
    /// `connection` is its end; without one it has not started yet.
    pub fn stop(&mut self, now_ns: u64, connection: Option<&mut Connection<Span>>) {
        self.stopped = true;
        if let Some(connection) = connection
            && self.established
        {
            if self.amount != Amount::Steps {
                connection.withdraw();
            }
            connection.close(now_ns);
        }
    }
}

/// A byte that was read in the wrong place of the stream.
pub struct Misplaced {
    side: usize,
    found: u64,
    expected: u64,
}

impl Misplaced {
    /// The error for the connection called `name`.
    pub fn into_error(self, name: &str, index: u32) -> SimulateError {
        SimulateError::Corrupt {
            connection: name.to_owned(),
            index,
            end: if self.side == CLIENT { "client" } else { "server" },
            position: self.found,
            expected: self.expected,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn download(amount: Amount) -> Transfer {
        Transfer::new(0, 5, 0, amount, SERVER)
    }

    fn span(offset: u64, len: u32) -> Span {
        Span { offset, len }
    }

    #[test]
    fn a_file_is_complete_with_its_last_byte() {
        let mut transfer = download(Amount::Bytes(100));
        assert!(transfer.read(10, CLIENT, span(0, 60)).is_ok());
        assert_eq!((transfer.bytes_read, transfer.completion_ns), (60, None));
        assert!(transfer.read(20, CLIENT, span(60, 40)).is_ok());
        transfer.end_of_stream(30);
        assert_eq!((transfer.bytes_read, transfer.completion_ns), (100, Some(20)));
    }

    #[test]
    fn a_stream_without_a_size_is_complete_when_it_ended() {
        let mut transfer = download(Amount::Endless);
        assert!(transfer.read(10, CLIENT, span(0, 60)).is_ok());
        assert_eq!(transfer.completion_ns, None);
        transfer.end_of_stream(30);
        assert_eq!(transfer.completion_ns, Some(10));
    }

    #[test]
    fn a_file_cut_short_is_not_complete() {
        let mut transfer = download(Amount::Bytes(100));
        assert!(transfer.read(10, CLIENT, span(0, 60)).is_ok());
        transfer.end_of_stream(30);
        assert_eq!(transfer.completion_ns, None);
    }

    #[test]
    fn every_misplaced_byte_is_found() {
        let error = |spans: &[(usize, Span)]| {
            let mut transfer = download(Amount::Bytes(100));
            let misplaced = spans.iter().find_map(|&(side, span)| transfer.read(10, side, span).err());
            misplaced.map(|misplaced| misplaced.into_error("download", 2).to_string())
        };
        assert_eq!(error(&[(CLIENT, span(0, 50)), (CLIENT, span(50, 50))]), None);
        let text = |end, position, due| {
            format!(
                "connection «download» number 2: its {end} read byte {position} of the stream where byte {due} was due"
            )
        };
        // Doubled, left out, out of order, beyond the end, at the end that sends.
        assert_eq!(error(&[(CLIENT, span(0, 50)), (CLIENT, span(49, 50))]), Some(text("client", 49, 50)));
        assert_eq!(error(&[(CLIENT, span(0, 50)), (CLIENT, span(51, 49))]), Some(text("client", 51, 50)));
        assert_eq!(error(&[(CLIENT, span(50, 50))]), Some(text("client", 50, 0)));
        assert!(error(&[(CLIENT, span(0, 101))]).is_some());
        assert_eq!(error(&[(SERVER, span(0, 1))]), Some(text("server", 0, 0)));
    }
}
