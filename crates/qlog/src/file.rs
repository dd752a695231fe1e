//! The trace file of one end of a connection.

use std::fmt;
use std::fs::OpenOptions;
use std::io::{self, Write};
use std::net::SocketAddr;
use std::path::PathBuf;

use serde_json::json;
use transport::{Instant, SubflowId, Trace, TraceEvent};

use crate::failure::Failure;

/// Finds the path of a subflow by its local and remote address; `None` if the addresses do not determine it.
pub type PathOf = Box<dyn Fn(SocketAddr, SocketAddr) -> Option<usize> + Send>;

/// Bytes that are written in one go. A file is open only while it is written to: a run may have thousands of them.
const CHUNK_BYTES: usize = 1 << 16;
/// RFC 7464 §2.2.
const RECORD_SEPARATOR: u8 = 0x1e;
const NS_PER_MS: u64 = 1_000_000;

/// An end of a connection.
pub struct File {
    failure: Failure,
    place: PathBuf,
    waiting: Vec<u8>,
    failed: bool,
    paths: Vec<String>,
    path_of: PathOf,
    /// The name of each subflow.
    names: Vec<String>,
}

impl fmt::Debug for File {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("File").field("place", &self.place).finish_non_exhaustive()
    }
}

impl File {
    pub fn new(
        failure: Failure,
        place: PathBuf,
        (name, end): (&str, &str),
        paths: Vec<String>,
        path_of: PathOf,
    ) -> Self {
        let header = json!({
            "qlog_version": "0.3",
            "qlog_format": "JSON-SEQ",
            "title": format!("{name}, {end}"),
            "trace": {
                "title": format!("{name}, {end}"),
                "vantage_point": {"name": name, "type": end},
                "common_fields": {"protocol_type": ["TCP", "MPTCP"], "reference_time": 0, "time_format": "relative"},
            },
        });
        let (waiting, names) = (Vec::new(), Vec::new());
        let mut file = File { failure, place, waiting, failed: false, paths, path_of, names };
        file.record(&header.to_string());
        file
    }

    fn record(&mut self, json: &str) {
        self.waiting.push(RECORD_SEPARATOR);
        self.waiting.extend_from_slice(json.as_bytes());
        self.waiting.push(b'\n');
        if self.waiting.len() >= CHUNK_BYTES {
            self.write();
        }
    }

    fn write(&mut self) {
        if !self.failed {
            let opened = OpenOptions::new().append(true).create(true).open(&self.place);
            if let Err(error) = opened.and_then(|mut file| file.write_all(&self.waiting)) {
                self.failed = true;
                self.failure.note(io::Error::new(error.kind(), format!("{}: {error}", self.place.display())));
            }
        }
        self.waiting.clear();
    }

    /// The name of a subflow: its path, with a number from the second subflow of a path on.
    fn learn(&mut self, subflow: SubflowId, local: &str, remote: &str) {
        let r = usize::from(subflow.0);
        let path = match (local.parse(), remote.parse()) {
            (Ok(local), Ok(remote)) => (self.path_of)(local, remote).and_then(|path| self.paths.get(path)),
            _ => None,
        };
        let name = match path {
            Some(path) => {
                let before = self.names.iter().take(r).filter(|name| name.split('#').next() == Some(path)).count();
                if before == 0 { path.clone() } else { format!("{path}#{}", before + 1) }
            }
            None => format!("subflow {r}"),
        };
        if self.names.len() <= r {
            self.names.resize(r + 1, String::new());
        }
        self.names[r] = name;
    }

    fn event_record(&mut self, now_ns: u64, group: &str, event: &str) {
        let (ms, ns) = (now_ns / NS_PER_MS, now_ns % NS_PER_MS);
        let group = serde_json::Value::from(group);
        // An event is an object with a name and data, which is not empty.
        let rest = event.strip_prefix('{').unwrap_or(event);
        self.record(&format!("{{\"time\":{ms}.{ns:06},\"group_id\":{group},{rest}"));
    }
}

impl Trace for File {
    fn event(&mut self, now: Instant, event: &TraceEvent) {
        // The id of a join that failed is given out again.
        if let TraceEvent::StateChanged { subflow, state, local, remote } = event
            && (self.names.get(usize::from(subflow.0)).is_none_or(String::is_empty) || state.starts_with("SYN-"))
        {
            self.learn(*subflow, local, remote);
        }
        let name = event.subflow().and_then(|r| self.names.get(usize::from(r.0))).filter(|name| !name.is_empty());
        let group = name.cloned().unwrap_or_else(|| "connection".to_owned());
        match serde_json::to_string(event) {
            Ok(json) => self.event_record(now.as_nanos(), &group, &json),
            Err(error) => self.failure.note(error.into()),
        }
        if let Some(metrics) = metrics(event) {
            self.event_record(now.as_nanos(), &group, &metrics);
        }
    }
}

/// A congestion window in the form of the QUIC schema (draft-ietf-quic-qlog-quic-events, metrics_updated): bytes and milliseconds.
fn metrics(event: &TraceEvent) -> Option<String> {
    let &TraceEvent::WindowChanged {
        cwnd_segments,
        ssthresh_segments,
        in_flight_segments,
        mss_bytes,
        srtt_ns,
        min_rtt_ns,
        ..
    } = event
    else {
        return None;
    };
    let bytes = |segments: f64| (segments * f64::from(mss_bytes)) as u64;
    let ms = |ns: u64| ns as f64 / NS_PER_MS as f64;
    let mut data = json!({
        "congestion_window": bytes(cwnd_segments),
        "bytes_in_flight": u64::from(in_flight_segments) * u64::from(mss_bytes),
    });
    if let Some(ssthresh) = ssthresh_segments {
        data["ssthresh"] = bytes(ssthresh).into();
    }
    if srtt_ns > 0 {
        data["smoothed_rtt"] = ms(srtt_ns).into();
    }
    if min_rtt_ns > 0 && min_rtt_ns < u64::MAX {
        data["min_rtt"] = ms(min_rtt_ns).into();
    }
    Some(json!({"name": "recovery:metrics_updated", "data": data}).to_string())
}

impl Drop for File {
    fn drop(&mut self) {
        self.write();
    }
}
