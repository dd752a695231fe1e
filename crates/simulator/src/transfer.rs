//! The data of one connection: one end writes; the other reads, at once unless its application reads slowly, and checks the
//! offset of every byte.

use crate::SimulateError;
use application::{Amount, CLIENT, GROWTH_LIMIT_BYTES, News, Stream};
use network::middlebox::ALTERED;
use transport::{AbortReason, Connection, Event, Instant};
use wire::Span;

/// The data that one connection carries.
pub struct Transfer {
    /// Index of the application it belongs to.
    pub application: u32,
    /// Number of the client's address on the first path. The addresses on the other paths follow.
    pub first_address: u32,
    /// Its subflows, as numbered in `Fabric::subflows`, in the order in which they were opened.
    pub subflows: Vec<u32>,
    pub stream: Stream,
    /// If a host mistook a subflow of another transfer for a new connection, that transfer.
    pub stray_of: Option<u32>,
}

impl Transfer {
    pub fn new(application: u32, first_address: u32, stream: Stream) -> Transfer {
        Transfer { application, first_address, subflows: Vec::new(), stream, stray_of: None }
    }

    /// Takes the events since the last call.
    #[inline]
    pub fn take_news(&mut self) -> News {
        self.stream.take_news()
    }

    /// When the application at `side` reads what has arrived but was not read, or `u64::MAX`.
    #[inline(always)]
    pub fn next_read_ns(&self, now_ns: u64, side: usize, connection: &Connection<Span>) -> u64 {
        let waits = self.stream.is_read_in_stages() && side != self.stream.sender && connection.peek().is_some();
        if waits { self.stream.next_read_ns(now_ns) } else { u64::MAX }
    }

    /// Reads the data at `side` that the application takes now, and handles the connection's events at `now_ns`.
    #[inline(always)]
    pub fn poll(&mut self, now_ns: u64, side: usize, connection: &mut Connection<Span>) -> Result<(), Misplaced> {
        if connection.has_news() { self.poll_news(now_ns, side, connection) } else { Ok(()) }
    }

    fn poll_news(&mut self, now_ns: u64, side: usize, connection: &mut Connection<Span>) -> Result<(), Misplaced> {
        let in_stages = self.stream.is_read_in_stages() && side != self.stream.sender;
        while (!in_stages || self.stream.takes(now_ns) > 0)
            && let Some(span) = connection.read()
        {
            self.read(now_ns, side, span)?;
        }
        while let Some(event) = connection.poll_event() {
            match event {
                Event::EndOfStream if in_stages && connection.peek().is_some() => self.stream.end_waits(),
                _ => self.event(now_ns, side, connection, &event),
            }
        }
        if in_stages && connection.peek().is_none() && self.stream.take_waiting_end() {
            self.event(now_ns, side, connection, &Event::EndOfStream);
        }
        Ok(())
    }

    #[inline(always)]
    fn read(&mut self, now_ns: u64, side: usize, span: Span) -> Result<(), Misplaced> {
        let stream = &mut self.stream;
        // Only the asking end writes to the sender's end. Anything else that arrives there is wrong.
        if side == stream.sender || span.offset != stream.bytes_read {
            if side == stream.sender && stream.is_dialogue() {
                return read_question(stream, side, span);
            }
            read_altered(stream, side, span)?;
        }
        let stream = &mut self.stream;
        stream.read(now_ns, u64::from(span.len));
        match stream.amount() {
            // Data sent on a subflow before its join is confirmed (`at_once`) can end up in a stray connection.
            Amount::Bytes(size_bytes)
                if stream.bytes_read > size_bytes && stream.grown.is_none() && self.stray_of.is_none() =>
            {
                Err(Misplaced { side, found: size_bytes, expected: size_bytes })
            }
            _ => Ok(()),
        }
    }

    #[cold]
    fn event(&mut self, now_ns: u64, side: usize, connection: &mut Connection<Span>, event: &Event) {
        let stream = &mut self.stream;
        match event {
            Event::Established if side == stream.sender => {
                stream.establish(now_ns, connection.views().first().map_or(1, |view| u64::from(view.mss).max(1)));
                offer(now_ns, stream, connection);
            }
            Event::Established => stream.establish_asker(now_ns),
            Event::EndOfStream if side != stream.sender => {
                stream.end(now_ns);
                connection.close(Instant::from_nanos(now_ns));
            }
            Event::Flushed if side == stream.sender => stream.flush(now_ns),
            Event::SubflowClosed(_) | Event::SubflowEstablished(_) if side == stream.sender => {
                stream.set_interrupted(now_ns, connection.is_interrupted());
            }
            Event::Closed => stream.end_is_over(side),
            Event::Aborted => {
                let why = connection.abort_reason().unwrap_or(AbortReason::Local);
                stream.fail(now_ns, side, why.words());
            }
            _ => {}
        }
    }

    /// Stops the sender: steps already offered are still sent, other data not yet sent is withdrawn. `connection` is
    /// the sender's end; `None` if it has not started yet.
    pub fn stop(&mut self, now_ns: u64, connection: Option<&mut Connection<Span>>) {
        self.stream.stop();
        if let Some(connection) = connection
            && self.stream.is_established()
        {
            if !self.stream.keeps_its_word() {
                connection.withdraw();
            }
            connection.close(Instant::from_nanos(now_ns));
        }
    }
}

/// A simulated connection accepts any amount of data at once: the application only passes its length.
fn offer(now_ns: u64, stream: &Stream, connection: &mut Connection<Span>) {
    match stream.amount() {
        // Stopped before it started: the stream is empty.
        _ if stream.is_stopped() => connection.close(Instant::from_nanos(now_ns)),
        Amount::Endless => connection.offer(u64::MAX),
        Amount::Bytes(size_bytes) => {
            connection.offer(size_bytes);
            connection.close(Instant::from_nanos(now_ns));
        }
        Amount::Steps => connection.offer(stream.step_bytes),
        // Answers are offered when the question is heard.
        Amount::Answers => {}
    }
}

/// Whether an unexpected span is nevertheless right: content at its place that a middlebox changed, unnoticed or after
/// a fallback to TCP (RFC 8684 §3.7); or the data after it, shifted by the number of bytes inserted.
#[cold]
fn read_altered(stream: &mut Stream, side: usize, span: Span) -> Result<(), Misplaced> {
    let due = stream.bytes_read.wrapping_add_signed(-stream.grown.unwrap_or(0));
    let offset = span.offset & !ALTERED;
    let wrong = Misplaced { side, found: offset, expected: due };
    if side == stream.sender {
        return Err(wrong);
    }
    let moved = due.wrapping_sub(offset) as i64;
    let known = stream.grown.is_some() && moved.unsigned_abs() <= u64::from(GROWTH_LIMIT_BYTES);
    if span.offset & ALTERED != 0 && (moved == 0 || known) {
        stream.grown = Some(stream.grown.unwrap_or(0) + moved);
        stream.altered = true;
        return Ok(());
    }
    if moved != 0 && !(known && stream.altered) {
        return Err(wrong);
    }
    stream.grown = stream.grown.map(|grown| grown + moved);
    stream.altered = false;
    Ok(())
}

/// The answering end reads a part of a question.
#[cold]
fn read_question(stream: &mut Stream, side: usize, span: Span) -> Result<(), Misplaced> {
    if span.offset != stream.question_bytes_read() {
        return Err(Misplaced { side, found: span.offset, expected: stream.question_bytes_read() });
    }
    stream.read_question(u64::from(span.len));
    Ok(())
}

/// A byte read at the wrong offset of the stream.
pub struct Misplaced {
    side: usize,
    found: u64,
    expected: u64,
}

impl Misplaced {
    /// Makes the error for the connection called `name`.
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
    use application::SERVER;

    fn download(amount: Amount) -> Transfer {
        Transfer::new(0, 0, Stream::new(5, amount, SERVER))
    }

    fn span(offset: u64, len: u32) -> Span {
        Span { offset, len }
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
                "connection \"download\" number 2: its {end} read byte {position} of the stream where byte {due} was due"
            )
        };
        // Duplicated, skipped, out of order, beyond the end, at the sending end.
        assert_eq!(error(&[(CLIENT, span(0, 50)), (CLIENT, span(49, 50))]), Some(text("client", 49, 50)));
        assert_eq!(error(&[(CLIENT, span(0, 50)), (CLIENT, span(51, 49))]), Some(text("client", 51, 50)));
        assert_eq!(error(&[(CLIENT, span(50, 50))]), Some(text("client", 50, 0)));
        assert!(error(&[(CLIENT, span(0, 101))]).is_some());
        assert_eq!(error(&[(SERVER, span(0, 1))]), Some(text("server", 0, 0)));
    }
}
