//! What uses a connection: one end writes, the other reads at once and checks the place of every byte.

use crate::SimulateError;
use crate::description::{self, Way};
use transport::{Connection, Event};
use wire::Span;

/// The client's end.
pub const CLIENT: usize = 0;
/// The server's end.
pub const SERVER: usize = 1;

/// The applications at both ends of one connection.
pub struct Application {
    /// Index into the description's connections.
    pub kind: u32,
    /// 0 to count − 1.
    pub index: u32,
    pub start_ns: u64,
    /// Its subflows, as numbered in `Fabric::subflows`, in the order they were opened.
    pub subflows: Vec<u32>,
    content: description::Application,
    /// The end that writes, [`CLIENT`] or [`SERVER`].
    pub sender: usize,
    established: bool,
    stopped: bool,
    /// In-order bytes that the other end has read.
    pub bytes_read: u64,
    last_read_ns: u64,
    /// When the last byte arrived, once it is known to be the last.
    pub completion_ns: Option<u64>,
    pub aborted: bool,
}

impl Application {
    pub fn new(kind: u32, index: u32, start_ns: u64, connection: &description::Connection) -> Application {
        Application {
            kind,
            index,
            start_ns,
            subflows: Vec::new(),
            content: connection.application,
            sender: match connection.direction {
                Way::Up => CLIENT,
                Way::Down => SERVER,
            },
            established: false,
            stopped: false,
            bytes_read: 0,
            last_read_ns: start_ns,
            completion_ns: None,
            aborted: false,
        }
    }

    /// The end that reads.
    pub fn receiver(&self) -> usize {
        1 - self.sender
    }

    /// Reads all there is at `side` and handles the connection's events. `now_ns` is the time.
    #[inline]
    pub fn poll(&mut self, now_ns: u64, side: usize, connection: &mut Connection<Span>) -> Result<(), Misplaced> {
        while let Some(span) = connection.read() {
            self.read(now_ns, side, span)?;
        }
        while let Some(event) = connection.poll_event() {
            self.event(now_ns, side, connection, &event);
        }
        Ok(())
    }

    #[inline]
    fn read(&mut self, now_ns: u64, side: usize, span: Span) -> Result<(), Misplaced> {
        // Nobody writes to the sender's end: whatever arrives there is wrong.
        if side == self.sender || span.offset != self.bytes_read {
            return Err(Misplaced { side, found: span.offset, expected: self.bytes_read });
        }
        self.bytes_read += u64::from(span.len);
        self.last_read_ns = now_ns;
        if let description::Application::File { size_bytes } = self.content {
            if self.bytes_read > size_bytes {
                return Err(Misplaced { side, found: size_bytes, expected: size_bytes });
            }
            if self.bytes_read == size_bytes {
                self.completion_ns = Some(now_ns);
            }
        }
        Ok(())
    }

    #[cold]
    fn event(&mut self, now_ns: u64, side: usize, connection: &mut Connection<Span>, event: &Event) {
        match event {
            Event::Established if side == self.sender => {
                self.established = true;
                self.write(now_ns, connection);
            }
            Event::EndOfStream if side != self.sender => {
                self.end_of_stream(now_ns);
                connection.close(now_ns);
            }
            Event::Aborted => self.aborted = true,
            _ => {}
        }
    }

    fn write(&mut self, now_ns: u64, connection: &mut Connection<Span>) {
        match self.content {
            // Stopped before it could begin: the stream is empty.
            _ if self.stopped => connection.close(now_ns),
            description::Application::Bulk => connection.offer(u64::MAX),
            description::Application::File { size_bytes } => {
                connection.offer(size_bytes);
                connection.close(now_ns);
            }
        }
    }

    fn end_of_stream(&mut self, now_ns: u64) {
        self.completion_ns = self.completion_ns.or(match self.content {
            description::Application::Bulk => Some(self.last_read_ns),
            description::Application::File { size_bytes: 0 } => Some(now_ns),
            // A file that was stopped before its last byte was sent never becomes complete.
            description::Application::File { .. } => None,
        });
    }

    /// The sender offers nothing more. `connection` is its end; without one it has not started yet.
    pub fn stop(&mut self, now_ns: u64, connection: Option<&mut Connection<Span>>) {
        self.stopped = true;
        if let Some(connection) = connection
            && self.established
        {
            connection.withdraw();
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
    use crate::description::{Connection, Named, Protocol};

    fn download(content: description::Application) -> Application {
        let named = || Named { name: String::new(), parameters: serde_json::Map::new() };
        let connection = Connection {
            name: "download".into(),
            count: 3,
            paths: vec![0],
            protocol: Protocol::Tcp,
            congestion: named(),
            scheduler: named(),
            path_manager: named(),
            application: content,
            direction: Way::Down,
            start_ns: [5, 5],
            stop_ns: None,
            mss_bytes: 1460,
            receive_buffer_bytes: None,
        };
        Application::new(0, 2, 5, &connection)
    }

    fn span(offset: u64, len: u32) -> Span {
        Span { offset, len }
    }

    #[test]
    fn a_file_is_complete_with_its_last_byte() {
        let mut application = download(description::Application::File { size_bytes: 100 });
        assert!(application.read(10, CLIENT, span(0, 60)).is_ok());
        assert_eq!((application.bytes_read, application.completion_ns), (60, None));
        assert!(application.read(20, CLIENT, span(60, 40)).is_ok());
        application.end_of_stream(30);
        assert_eq!((application.bytes_read, application.completion_ns), (100, Some(20)));
    }

    #[test]
    fn a_stream_without_a_size_is_complete_when_it_ended() {
        let mut application = download(description::Application::Bulk);
        assert!(application.read(10, CLIENT, span(0, 60)).is_ok());
        assert_eq!(application.completion_ns, None);
        application.end_of_stream(30);
        assert_eq!(application.completion_ns, Some(10));
    }

    #[test]
    fn a_file_cut_short_is_not_complete() {
        let mut application = download(description::Application::File { size_bytes: 100 });
        assert!(application.read(10, CLIENT, span(0, 60)).is_ok());
        application.end_of_stream(30);
        assert_eq!(application.completion_ns, None);
    }

    #[test]
    fn every_misplaced_byte_is_found() {
        let error = |spans: &[(usize, Span)]| {
            let mut application = download(description::Application::File { size_bytes: 100 });
            let misplaced = spans.iter().find_map(|&(side, span)| application.read(10, side, span).err());
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
