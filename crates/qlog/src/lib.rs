//! The decisions of connections, written as qlog: one file for each end, with the extension `.sqlog`.
//!
//! The format is that of the main schema, version 0.3 (draft-ietf-quic-qlog-main-schema-02), serialised as JSON-SEQ (RFC 7464): a
//! record separator, an object and a newline, the first of them the header. Later drafts changed the header, and qvis, which draws
//! such files, reads no later version. Times are milliseconds from the beginning of the run.
//!
//! The events `tcp:…` and `mptcp:…` are an extension, since no published schema knows TCP: [`transport::trace`] describes them, and
//! so does docs/how-to/trace.md. Congestion windows are also written as `recovery:metrics_updated`, an event of the QUIC schema. The field
//! `group_id` of an event is the path of its subflow, or `connection`: qvis shows each as a trace of its own.
//!
//! The crate `qlog` of crates.io has no `group_id` and takes times from the machine's clock; these files have the times of the run.

mod failure;
mod file;

use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use scenario::description::Description;
use transport::Trace;

use failure::Failure;
use file::File;
pub use file::PathOf;

/// The directory of a run's trace files.
#[derive(Clone, Debug)]
pub struct Folder(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    directory: PathBuf,
    failure: Failure,
    /// Number of connections that each application has opened.
    opened: Mutex<BTreeMap<u32, u32>>,
}

/// A connection of a run.
#[derive(Clone, Copy, Debug)]
pub struct Of {
    /// Index into the description's connections.
    pub kind: usize,
    /// Index among the `count` connections of this description.
    pub index: u32,
    /// Index among the connections that its application has opened.
    pub number: u32,
}

impl Folder {
    /// `directory` must exist and contain no trace files.
    #[must_use]
    pub fn new(directory: PathBuf) -> Self {
        Folder(Arc::new(Shared { directory, failure: Failure::default(), opened: Mutex::default() }))
    }

    /// The number of the connection that `application` opens now.
    #[must_use]
    pub fn next_number(&self, application: u32) -> u32 {
        let mut opened = self.0.opened.lock().unwrap_or_else(PoisonError::into_inner);
        let count = opened.entry(application).or_default();
        *count += 1;
        *count - 1
    }

    /// A file for one end of a connection.
    #[must_use]
    pub fn file(&self, description: &Description, of: Of, client: bool, path_of: PathOf) -> Box<dyn Trace> {
        let end = if client { "client" } else { "server" };
        let kind = &description.connections[of.kind];
        let mut name = kind.name.clone();
        if kind.count > 1 {
            name += &format!("-{}", of.index);
        }
        if of.number > 0 {
            name += &format!("-{}", of.number);
        }
        let plain = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
        let mut file_name: String = name.chars().map(|c| if plain(c) { c } else { '_' }).collect();
        if file_name != name {
            file_name += &format!("-{}", of.kind); // still another for another connection
        }
        let place = self.0.directory.join(format!("{file_name}-{end}.sqlog"));
        let paths = description.paths.iter().map(|path| path.name.clone()).collect();
        Box::new(File::new(self.0.failure.clone(), place, (&name, end), paths, path_of))
    }

    /// Writes what is left at the end of a run, after its connections are gone.
    ///
    /// # Errors
    /// The first error of writing a file.
    pub fn finish(&self) -> io::Result<()> {
        self.0.failure.take().map_or(Ok(()), Err)
    }
}
