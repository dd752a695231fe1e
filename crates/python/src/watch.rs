//! Progress and Ctrl-C during a simulation.

// The wall clock decides here when Python is called, never what is simulated.
#![allow(clippy::disallowed_types)]

use std::time::{Duration, Instant};

use pyo3::prelude::*;

/// Taking the GIL costs microseconds and may wait for another thread, so it is taken rarely.
const INTERVAL: Duration = Duration::from_millis(50);

/// Asks Python at most every [`INTERVAL`] whether to go on.
pub struct Watch {
    progress: Option<Py<PyAny>>,
    asked: Instant,
    error: Option<PyErr>,
}

impl Watch {
    /// With a callable that receives the virtual time in seconds, if any.
    pub fn new(progress: Option<Py<PyAny>>) -> Watch {
        Watch { progress, asked: Instant::now(), error: None }
    }

    /// Whether to go on; false once a signal handler or the callable raised.
    #[allow(clippy::cast_precision_loss)] // a progress bar needs no nanoseconds
    pub fn go_on(&mut self, now_ns: u64) -> bool {
        if self.asked.elapsed() < INTERVAL {
            return self.error.is_none();
        }
        self.asked = Instant::now();
        let asked = Python::attach(|py| {
            py.check_signals()?;
            match &self.progress {
                Some(progress) => progress.call1(py, (now_ns as f64 / 1e9,)).map(drop),
                None => Ok(()),
            }
        });
        self.error = asked.err();
        self.error.is_none()
    }

    /// The exception raised, if any.
    pub fn into_error(self) -> Option<PyErr> {
        self.error
    }
}
