//! Our own stack on TUN devices, for Python. Every call that waits releases the GIL and has a timeout.

use std::net::{IpAddr, SocketAddr};
use std::os::fd::RawFd;
use std::time::Duration;

use live::stack::{Chunk, Ended, Impair, Options, Settings, SocketError, Stack};
use pyo3::exceptions::{PyConnectionError, PyRuntimeError, PyTimeoutError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use transport::path_manager::PathAction;

use crate::live_network::borrow;

fn wrong(error: impl std::fmt::Display) -> PyErr {
    PyValueError::new_err(error.to_string())
}

fn failed(error: SocketError) -> PyErr {
    match error {
        SocketError::TimedOut => PyTimeoutError::new_err(error.to_string()),
        SocketError::Aborted | SocketError::ShutDown | SocketError::Failed(_) => {
            PyConnectionError::new_err(error.to_string())
        }
    }
}

fn span(seconds: f64) -> PyResult<Duration> {
    Duration::try_from_secs_f64(seconds).map_err(wrong)
}

/// A stack that runs in its own thread.
#[pyclass(name = "Stack", module = "mptcplab._core", frozen)]
pub struct PyStack(Stack);

#[pymethods]
impl PyStack {
    /// `settings` is JSON of `live::stack::Settings`; the caller keeps its descriptors and may close them.
    #[new]
    fn new(settings: &str, descriptors: Vec<RawFd>) -> PyResult<Self> {
        let settings: Settings = serde_json::from_str(settings).map_err(wrong)?;
        if let Some(address) = settings.addresses.iter().find(|a| a.device >= descriptors.len()) {
            return Err(wrong(format!(
                "address {} is on device {}, there are {}",
                address.address,
                address.device,
                descriptors.len()
            )));
        }
        let mut devices = Vec::new();
        for descriptor in descriptors {
            devices.push(borrow(descriptor)?.try_clone_to_owned()?);
        }
        let stack = Stack::start(&settings, devices)?;
        Ok(PyStack(stack))
    }

    /// Open a connection; `options` is JSON of `live::stack::Options`.
    fn connect(&self, remote: &str, port: u16, options: &str, from_ids: Vec<u8>) -> PyResult<PySocket> {
        let options: Options = serde_json::from_str(options).map_err(wrong)?;
        let config = options.config().map_err(wrong)?;
        let address: IpAddr = remote.parse().map_err(|_| wrong(format!("{remote:?} is not an IP address")))?;
        Ok(PySocket(self.0.connect(config, from_ids, SocketAddr::new(address, port))))
    }

    /// Accept connections to a port.
    fn listen(&self, port: u16, options: &str) -> PyResult<()> {
        let options: Options = serde_json::from_str(options).map_err(wrong)?;
        let config = options.config().map_err(wrong)?;
        self.0.listen(port, config);
        Ok(())
    }

    /// The next connection to a port. Raises TimeoutError if none arrives in time.
    fn accept(&self, py: Python<'_>, port: u16, timeout_s: f64) -> PyResult<PySocket> {
        let timeout = span(timeout_s)?;
        py.detach(|| self.0.accept(port, timeout)).map(PySocket).map_err(failed)
    }

    /// Reset a connection, under MPTCP with MP_FASTCLOSE.
    fn abort(&self, socket: &PySocket) {
        self.0.abort(&socket.0);
    }

    /// Open a subflow from a local address id to a remote one.
    fn join(&self, socket: &PySocket, local_id: u8, remote_id: u8, backup: bool) {
        self.0.act(&socket.0, PathAction::Join { local_id, remote_id, backup });
    }

    /// Announce a local address to the peer.
    fn announce(&self, socket: &PySocket, local_id: u8, port: Option<u16>) {
        self.0.act(&socket.0, PathAction::Announce { local_id, port });
    }

    /// Withdraw a local address.
    fn withdraw(&self, socket: &PySocket, local_id: u8) {
        self.0.act(&socket.0, PathAction::Withdraw { local_id });
    }

    /// Make subflows backups, or regular ones again.
    fn set_backup(&self, socket: &PySocket, local_id: u8, remote_id: u8, backup: bool) {
        self.0.act(&socket.0, PathAction::SetBackup { local_id, remote_id, backup });
    }

    /// Close subflows gracefully.
    fn close_path(&self, socket: &PySocket, local_id: u8, remote_id: u8) {
        self.0.act(&socket.0, PathAction::Close { local_id, remote_id });
    }

    /// The state of a connection: JSON of `live::stack::ConnectionState`, or None.
    fn look(&self, py: Python<'_>, socket: &PySocket) -> PyResult<Option<String>> {
        let state = py.detach(|| self.0.look(&socket.0));
        state.map(|state| serde_json::to_string(&state)).transpose().map_err(wrong)
    }

    /// The counters of the devices, as JSON.
    fn counters(&self, py: Python<'_>) -> PyResult<String> {
        serde_json::to_string(&py.detach(|| self.0.counters())).map_err(wrong)
    }

    /// Impair a device from now on; `impair` is JSON of `live::stack::Impair`.
    fn impair(&self, device: usize, impair: &str) -> PyResult<()> {
        let impair: Impair = serde_json::from_str(impair).map_err(wrong)?;
        self.0.impair(device, impair);
        Ok(())
    }

    /// Stop the stack. Raises RuntimeError if it had failed before.
    fn stop(&self, py: Python<'_>) -> PyResult<()> {
        py.detach(|| self.0.stop()).map_err(PyRuntimeError::new_err)
    }
}

/// A connection of a stack.
#[pyclass(name = "Socket", module = "mptcplab._core", frozen)]
pub struct PySocket(live::stack::Socket);

#[pymethods]
impl PySocket {
    /// Wait until the connection is established.
    fn wait_established(&self, py: Python<'_>, timeout_s: f64) -> PyResult<()> {
        let timeout = span(timeout_s)?;
        py.detach(|| self.0.wait_established(timeout)).map_err(failed)
    }

    /// Wait for the end: `closed` or `aborted`.
    fn wait_ended(&self, py: Python<'_>, timeout_s: f64) -> PyResult<&'static str> {
        let timeout = span(timeout_s)?;
        py.detach(|| self.0.wait_ended(timeout)).map_err(failed).map(|ended| match ended {
            Ended::Closed => "closed",
            Ended::Aborted => "aborted",
        })
    }

    /// Wait until all data written and the end of the stream are acknowledged.
    fn wait_flushed(&self, py: Python<'_>, timeout_s: f64) -> PyResult<()> {
        let timeout = span(timeout_s)?;
        py.detach(|| self.0.wait_flushed(timeout)).map_err(failed)
    }

    /// Append to the stream.
    fn write(&self, py: Python<'_>, data: &[u8], timeout_s: f64) -> PyResult<()> {
        let timeout = span(timeout_s)?;
        let chunk = Chunk::from(data.to_vec());
        py.detach(|| self.0.write(chunk, timeout)).map_err(failed)
    }

    /// Read the next bytes; empty at the end of the stream.
    fn read<'py>(&self, py: Python<'py>, most: usize, timeout_s: f64) -> PyResult<Bound<'py, PyBytes>> {
        let timeout = span(timeout_s)?;
        let chunks = py.detach(|| self.0.read(most, timeout)).map_err(failed)?.unwrap_or_default();
        let len = chunks.iter().map(|chunk| chunk.0.len()).sum();
        PyBytes::new_with(py, len, |mut out| {
            for chunk in &chunks {
                let (here, rest) = out.split_at_mut(chunk.0.len());
                here.copy_from_slice(&chunk.0);
                out = rest;
            }
            Ok(())
        })
    }

    /// Declare how much will be written in total.
    fn set_flow_size(&self, size_bytes: u64) {
        self.0.set_flow_size(size_bytes);
    }

    /// Close the stream for writing.
    fn close(&self) {
        self.0.close();
    }

    /// The names of the events since the last call.
    fn take_events(&self) -> Vec<String> {
        self.0.take_events().iter().map(|event| format!("{event:?}")).collect()
    }
}
