//! Captures: writing what a simulation's hosts send and receive as pcapng, and analysing captures.

use crate::columns::{Form, columns};
use crate::watch::Watch;
use capture::analysis::laws::{self, Violation};
use capture::analysis::report::{Acks, Analysis, Segments};
use capture::analysis::{Analyser, Options};
use capture::{CaptureError, Writer};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use scenario::description::Description;
use simulator::{Interface, Tap};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufWriter, Read};
use std::path::{Path, PathBuf};

/// One file for each interface of the hosts: the client's and the server's end of each path.
pub struct Files {
    writers: BTreeMap<Interface, Writer<BufWriter<File>>>,
    error: Option<io::Error>,
}

impl Files {
    /// Makes `client-PATH.pcapng` and `server-PATH.pcapng` in `directory`, which exists.
    pub fn create(directory: &Path, description: &Description, snap_length: u32) -> io::Result<Files> {
        let mut writers = BTreeMap::new();
        for (path, named) in (0..).zip(&description.paths) {
            for (client, side) in [(true, "client"), (false, "server")] {
                let name = format!("{side}-{}", named.name);
                let file = File::create_new(directory.join(file_name(&name, path)))?;
                let mut writer = Writer::new(BufWriter::new(file), snap_length)?;
                writer.interface(&name)?;
                writers.insert(Interface { path, client }, writer);
            }
        }
        Ok(Files { writers, error: None })
    }
}

/// A file name that every file system accepts, different for each path.
fn file_name(name: &str, path: u32) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
    if name.chars().all(plain) {
        return format!("{name}.pcapng");
    }
    let changed: String = name.chars().map(|c| if plain(c) { c } else { '_' }).collect();
    format!("{changed}-{path}.pcapng")
}

impl Tap for Files {
    fn packet(&mut self, interface: Interface, now_ns: u64, bytes: &[u8]) {
        let Some(writer) = self.writers.get_mut(&interface).filter(|_| self.error.is_none()) else { return };
        // An IPv4 packet has 65,535 bytes at most.
        if let Err(error) = writer.packet(0, now_ns, bytes, bytes.len() as u32) {
            self.error = Some(error);
        }
    }

    fn finish(&mut self) -> Result<(), String> {
        let flushed = self.writers.values_mut().try_for_each(Writer::flush);
        match self.error.take().or(flushed.err()) {
            Some(error) => Err(error.to_string()),
            None => Ok(()),
        }
    }
}

/// Analyse captures that belong together; the dictionary `CaptureAnalysis` of `_core.pyi`.
///
/// `-` is the standard input. `broken_laws` has the number of a connection and a text for each invariant that the analysis violates.
/// Without `series` the columns of `sent`, `received` and `acks` are empty, which saves 100 bytes of memory per packet.
///
/// The GIL is released. At most every 50 ms signals are checked and `progress` is called with the bytes of packets that
/// were read; an exception from either ends the analysis and is raised.
///
/// Raises ValueError with the arguments path and reason if it is not a capture, OSError if it cannot be read.
#[pyfunction]
#[pyo3(signature = (paths, from_s=None, to_s=None, progress=None, series=true))]
pub fn analyze<'py>(
    py: Python<'py>,
    paths: Vec<PathBuf>,
    from_s: Option<f64>,
    to_s: Option<f64>,
    progress: Option<Py<PyAny>>,
    series: bool,
) -> PyResult<Bound<'py, PyDict>> {
    let mut watch = Watch::new(progress);
    let analysed = py.detach(|| {
        let mut analyser = Analyser::default();
        let mut before = 0;
        for path in &paths {
            let mut last = 0;
            let read = open(path).map_err(CaptureError::from).and_then(|file| {
                analyser.read(&name(path), file, &mut |bytes| {
                    last = bytes;
                    // The watch counts nanoseconds and reports seconds.
                    watch.go_on((before + bytes).saturating_mul(1_000_000_000))
                })
            });
            match read {
                Ok(true) => before += last,
                Ok(false) => return Ok(None),
                Err(error) => return Err((path.clone(), error)),
            }
        }
        Ok(Some(analyser.finish(Options { from_s, to_s, series })))
    });
    if let Some(raised) = watch.into_error() {
        return Err(raised);
    }
    match analysed {
        Ok(analysis) => to_python(py, analysis.unwrap_or_default()),
        Err((_, CaptureError::Io(error))) => Err(error.into()),
        Err((path, error)) => Err(PyValueError::new_err((name(&path), error.to_string()))),
    }
}

/// A file, or the standard input, which is called `-`.
fn open(path: &Path) -> io::Result<Box<dyn Read>> {
    Ok(if path == Path::new("-") { Box::new(io::stdin()) } else { Box::new(File::open(path)?) })
}

fn name(path: &Path) -> String {
    if path == Path::new("-") { "standard input".to_owned() } else { path.display().to_string() }
}

fn to_python(py: Python<'_>, analysis: Analysis) -> PyResult<Bound<'_, PyDict>> {
    let summary = serde_json::to_string(&analysis).map_err(|error| PyValueError::new_err(error.to_string()))?;
    let broken: Vec<(usize, String)> =
        laws::violations(&analysis).into_iter().map(|Violation { connection, text }| (connection, text)).collect();
    let answer = PyDict::new(py);
    answer.set_item("broken_laws", broken)?;
    answer.set_item("summary", summary)?;
    answer.set_item("sent", segments(py, analysis.series.sent)?)?;
    answer.set_item("received", segments(py, analysis.series.received)?)?;
    let acks = analysis.series.acks;
    answer.set_item(
        "acks",
        columns!(py, Form::Arrays, acks, Acks { time_s, connection, direction, subflow, offset, window }),
    )?;
    Ok(answer)
}

fn segments(py: Python<'_>, segments: Segments) -> PyResult<Bound<'_, PyDict>> {
    Ok(columns!(py, Form::Arrays, segments, Segments { time_s, connection, direction, subflow, offset, length, note }))
}
