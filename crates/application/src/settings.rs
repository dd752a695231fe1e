//! Settings of applications that exchange questions and answers.

use serde::Deserialize;

/// `ping`: see `ping.rs`.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct Ping {
    /// Size of a message and of its echo.
    pub size_bytes: u64,
    /// Time between messages.
    pub interval_ns: u64,
}

impl Ping {
    /// Checks the settings.
    ///
    /// # Errors
    /// A description of the mistake.
    pub fn check(&self) -> Result<(), String> {
        if self.size_bytes == 0 || self.interval_ns == 0 {
            return Err("the size and the interval of its messages must be positive".to_owned());
        }
        Ok(())
    }
}

/// `web`: see `web.rs`.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct Web {
    /// The document, followed by the objects it needs.
    pub objects: Vec<WebObject>,
    /// Maximum number of connections per page; 1 if `multiplexed`.
    pub connections: u32,
    /// Whether a connection requests objects before earlier ones have arrived.
    pub multiplexed: bool,
    /// Size of a request for an object.
    pub request_bytes: u64,
    /// Time from the end of a page to the start of the next.
    pub think_ns: u64,
    /// Number of pages; if absent, as many as the run time allows.
    pub pages: Option<u64>,
}

/// A group of equal objects.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct WebObject {
    /// Size of each object.
    pub size_bytes: u64,
    /// Number of objects.
    pub count: u32,
    /// Index of an earlier group, all of whose objects must arrive before these are requested. Absent for the document.
    pub after: Option<usize>,
}

impl Web {
    /// Checks the settings.
    ///
    /// # Errors
    /// A description of the mistake.
    pub fn check(&self) -> Result<(), String> {
        let Some(document) = self.objects.first() else { return Err("its pages have no document".to_owned()) };
        if document.count != 1 || document.after.is_some() {
            return Err("a page has one document, which depends on nothing".to_owned());
        }
        let wrong = |&(place, each): &(usize, &WebObject)| {
            each.size_bytes == 0 || each.count == 0 || each.after.is_none_or(|after| after >= place)
        };
        if let Some((place, _)) = self.objects.iter().enumerate().skip(1).find(wrong) {
            return Err(format!(
                "object {place} of its pages must have a size and a number and depend on an earlier one"
            ));
        }
        if document.size_bytes == 0 || self.connections == 0 || self.request_bytes == 0 || self.pages == Some(0) {
            return Err("its document, connections, requests and pages must be positive".to_owned());
        }
        Ok(())
    }
}

/// `video`: see `video.rs`.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct Video {
    /// Available bit rates, in ascending order.
    pub ladder_bps: Vec<u64>,
    /// Playing time of a segment.
    pub segment_ns: u64,
    /// Capacity of the buffer in playing time. A segment is requested when there is room for it.
    pub buffer_ns: u64,
    /// At or below this buffer level the lowest bit rate is chosen.
    pub reservoir_ns: u64,
    /// At or above this buffer level the highest bit rate is chosen; above `reservoir_ns`.
    pub upper_ns: u64,
    /// Buffered playing time needed to start, and to resume after a stall.
    pub startup_ns: u64,
    /// Number of segments, if the video ends.
    pub segments: Option<u64>,
    /// Size of a request.
    pub request_bytes: u64,
}

impl Video {
    /// Checks the settings.
    ///
    /// # Errors
    /// A description of the mistake.
    pub fn check(&self) -> Result<(), String> {
        if self.ladder_bps.first().is_none_or(|&least| least == 0) || !self.ladder_bps.is_sorted_by(|a, b| a < b) {
            return Err("its bit rates must be positive and rise".to_owned());
        }
        if self.segment_ns == 0 || self.request_bytes == 0 || self.segments == Some(0) {
            return Err("its segments, their number and their requests must be positive".to_owned());
        }
        if self.reservoir_ns >= self.upper_ns || self.upper_ns > self.buffer_ns.saturating_sub(self.segment_ns) {
            return Err("of its buffer: reservoir < upper ≤ buffer − segment".to_owned());
        }
        if self.startup_ns.saturating_add(self.segment_ns) > self.buffer_ns {
            return Err("its buffer must hold what it starts with, and a segment".to_owned());
        }
        Ok(())
    }
}

/// `ftp`: see `ftp.rs`.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct Ftp {
    /// Size of a file.
    pub size_bytes: u64,
    /// Number of files.
    pub files: u64,
}

impl Ftp {
    /// Checks the settings.
    ///
    /// # Errors
    /// A description of the mistake.
    pub fn check(&self) -> Result<(), String> {
        if self.files == 0 { Err("it has no files".to_owned()) } else { Ok(()) }
    }
}
