//! A connection as Python sees it: read-only objects that are filled on access and invalid after the call.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use pyo3::exceptions::{PyIndexError, PyRuntimeError};
use pyo3::prelude::*;
use pyo3::types::PyFrozenSet;
use transport::Duration;
use transport::congestion::{Ack, Phase, Sample, View};
use transport::scheduler::{Carried, Context, Counters, Demand, SubflowSet};

/// The subflows of a connection during the current call. Its memory is reused for the next call.
#[derive(Debug, Default)]
pub struct Table {
    /// The number of the current call, odd; even: there is none.
    call: AtomicU64,
    views: Mutex<Vec<View>>,
    counters: Mutex<Vec<Counters>>,
}

impl Table {
    /// The argument of a call: valid until [`close`](Self::close).
    pub fn open(self: &Arc<Self>, group: &[View]) -> PySubflows {
        let mut views = self.views.lock().unwrap_or_else(PoisonError::into_inner);
        views.clear();
        views.extend_from_slice(group);
        let call = self.call.fetch_add(1, Ordering::Relaxed) + 1;
        PySubflows { table: Arc::clone(self), call }
    }

    /// The call is over.
    pub fn close(&self) {
        self.call.fetch_add(1, Ordering::Relaxed);
    }

    fn check(&self, call: u64) -> PyResult<()> {
        match self.call.load(Ordering::Relaxed) == call {
            true => Ok(()),
            false => Err(PyRuntimeError::new_err(
                "this view of a subflow is from an earlier call; keep the numbers that are needed, not the view",
            )),
        }
    }
}

/// The subflows of a connection, by id.
#[pyclass(name = "Subflows", module = "mptcplab._core", frozen, sequence)]
pub struct PySubflows {
    table: Arc<Table>,
    call: u64,
}

impl PySubflows {
    fn view(&self, index: usize) -> PyResult<View> {
        self.table.check(self.call)?;
        let views = self.table.views.lock().unwrap_or_else(PoisonError::into_inner);
        let count = views.len();
        views
            .get(index)
            .copied()
            .ok_or_else(|| PyIndexError::new_err(format!("there is no subflow {index}: the connection has {count}")))
    }
}

#[pymethods]
impl PySubflows {
    fn __len__(&self) -> PyResult<usize> {
        self.table.check(self.call)?;
        Ok(self.table.views.lock().unwrap_or_else(PoisonError::into_inner).len())
    }

    fn __iter__(own: PyRef<'_, Self>) -> PyResult<PySubflowIterator> {
        own.table.check(own.call)?;
        Ok(PySubflowIterator { subflows: own.into(), next: AtomicUsize::new(0) })
    }

    fn __getitem__(&self, index: usize) -> PyResult<PySubflow> {
        Ok(PySubflow { table: Arc::clone(&self.table), call: self.call, id: index, view: self.view(index)? })
    }
}

/// Iterates over the subflows in the order of their ids.
#[pyclass(name = "SubflowIterator", module = "mptcplab._core", frozen)]
pub struct PySubflowIterator {
    subflows: Py<PySubflows>,
    next: AtomicUsize,
}

#[pymethods]
impl PySubflowIterator {
    fn __iter__(own: PyRef<'_, Self>) -> PyRef<'_, Self> {
        own
    }

    fn __next__(&self) -> PyResult<Option<PySubflow>> {
        let subflows = self.subflows.get();
        let next = self.next.fetch_add(1, Ordering::Relaxed);
        if next < subflows.__len__()? { subflows.__getitem__(next).map(Some) } else { Ok(None) }
    }
}

/// The state of a subflow.
#[pyclass(name = "Subflow", module = "mptcplab._core", frozen)]
pub struct PySubflow {
    table: Arc<Table>,
    call: u64,
    id: usize,
    view: View,
}

impl PySubflow {
    fn seen(&self) -> PyResult<&View> {
        self.table.check(self.call).map(|()| &self.view)
    }
}

/// Getters of fields of the view, each with its type.
macro_rules! fields {
    ($($name:ident: $type:ty = $value:expr;)*) => {
        #[pymethods]
        impl PySubflow {
            #[getter]
            fn id(&self) -> PyResult<usize> {
                self.seen().map(|_| self.id)
            }
            $(
                #[getter]
                fn $name(&self) -> PyResult<$type> {
                    let value: fn(&View) -> $type = $value;
                    self.seen().map(value)
                }
            )*
            fn __repr__(&self) -> String {
                match self.seen() {
                    Ok(view) => format!("<Subflow {}: {view:?}>", self.id),
                    Err(_) => format!("<Subflow {} of an earlier call>", self.id),
                }
            }
        }
    };
}

fields! {
    cwnd: f64 = |view| view.cwnd;
    ssthresh: f64 = |view| view.ssthresh;
    srtt_ns: u64 = |view| view.srtt.as_nanos();
    srtt_s: f64 = View::srtt_s;
    rttvar_ns: u64 = |view| view.rttvar.as_nanos();
    min_rtt_ns: u64 = |view| view.min_rtt.as_nanos();
    in_flight: u32 = |view| view.in_flight;
    queued: u32 = |view| view.queued;
    mss: u32 = |view| view.mss;
    phase: &'static str = |view| match view.phase {
        Phase::Open => "open",
        Phase::Recovery => "recovery",
        Phase::Loss => "loss",
    };
    bytes_since_loss: u64 = |view| view.bytes_since_loss;
    bytes_between_losses: u64 = |view| view.bytes_between_losses;
    active: bool = |view| view.active;
    backup: bool = |view| view.backup;
    potentially_failed: bool = |view| view.potentially_failed;
    held: bool = |view| view.held;
    in_slow_start: bool = View::in_slow_start;
    has_room: bool = View::has_room;
    usable: bool = transport::scheduler::usable;
}

/// An acknowledgment.
#[pyclass(name = "Ack", module = "mptcplab._core", frozen)]
pub struct PyAck(pub Ack);

#[pymethods]
impl PyAck {
    #[getter]
    fn now_ns(&self) -> u64 {
        self.0.now.as_nanos()
    }

    #[getter]
    fn acked_segments(&self) -> f64 {
        self.0.acked_segments
    }

    #[getter]
    fn rtt_ns(&self) -> Option<u64> {
        self.0.rtt.map(Duration::as_nanos)
    }

    #[getter]
    fn cwnd_limited(&self) -> bool {
        self.0.cwnd_limited
    }

    fn __repr__(&self) -> String {
        format!("<{:?}>", self.0)
    }
}

/// A sample of the round-trip time.
#[pyclass(name = "RttSample", module = "mptcplab._core", frozen)]
pub struct PySample(pub Sample);

#[pymethods]
impl PySample {
    #[getter]
    fn rtt_ns(&self) -> u64 {
        self.0.rtt.as_nanos()
    }

    #[getter]
    fn now_ns(&self) -> u64 {
        self.0.now.as_nanos()
    }

    #[getter]
    fn recovering(&self) -> bool {
        self.0.recovering
    }

    #[getter]
    fn segments_sent(&self) -> u64 {
        self.0.segments_sent
    }

    #[getter]
    fn segments_sent_again(&self) -> u64 {
        self.0.segments_sent_again
    }

    fn __repr__(&self) -> String {
        format!("<{:?}>", self.0)
    }
}

fn ids(mut set: SubflowSet) -> Vec<usize> {
    std::iter::from_fn(|| set.pop()).collect()
}

/// The data to send.
#[pyclass(name = "Demand", module = "mptcplab._core", frozen)]
pub struct PyDemand(pub Demand);

#[pymethods]
impl PyDemand {
    #[getter]
    fn is_new(&self) -> bool {
        self.0 == Demand::New
    }

    #[getter]
    fn tried<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyFrozenSet>> {
        match self.0 {
            Demand::New => PyFrozenSet::empty(py),
            Demand::Reinjection { tried } => PyFrozenSet::new(py, ids(tried)),
        }
    }

    fn __repr__(&self) -> String {
        format!("<{:?}>", self.0)
    }
}

/// The state of the connection, for a scheduler.
#[pyclass(name = "Context", module = "mptcplab._core", frozen)]
pub struct PyContext {
    table: Arc<Table>,
    call: u64,
    #[pyo3(get)]
    now_ns: u64,
    #[pyo3(get)]
    place: u64,
    #[pyo3(get)]
    available_bytes: u64,
    #[pyo3(get)]
    acknowledged_bytes: u64,
    #[pyo3(get)]
    sent_bytes: u64,
    #[pyo3(get)]
    unsent_bytes: u64,
    #[pyo3(get)]
    free_window_bytes: u64,
    #[pyo3(get)]
    window_bytes: u64,
    #[pyo3(get)]
    window_blocks: u64,
    #[pyo3(get)]
    flow_bytes: Option<u64>,
    #[pyo3(get)]
    left_bytes: Option<u64>,
    #[pyo3(get)]
    outstanding_bytes: u64,
    #[pyo3(get)]
    ended: bool,
    oldest: Option<Carried>,
}

impl PyContext {
    /// For the current call, with the counters of the first `count` subflows.
    pub fn new(table: &Arc<Table>, context: &Context, count: usize) -> Self {
        let mut counters = table.counters.lock().unwrap_or_else(PoisonError::into_inner);
        counters.clear();
        counters.extend((0..count).map(|r| context.counters(r)));
        PyContext {
            table: Arc::clone(table),
            call: table.call.load(Ordering::Relaxed),
            now_ns: context.now.as_nanos(),
            place: context.place,
            available_bytes: context.available_bytes,
            acknowledged_bytes: context.acknowledged_bytes,
            sent_bytes: context.sent_bytes,
            unsent_bytes: context.unsent_bytes,
            free_window_bytes: context.free_window_bytes,
            window_bytes: context.window_bytes,
            window_blocks: context.window_blocks,
            flow_bytes: context.flow_bytes,
            left_bytes: context.left_bytes(),
            outstanding_bytes: context.outstanding_bytes(),
            ended: context.ended,
            oldest: context.oldest(),
        }
    }
}

#[pymethods]
impl PyContext {
    /// `(start, end, on)`, or None.
    #[getter]
    fn oldest<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let Some(Carried { from, to, on }) = self.oldest else { return Ok(None) };
        let carried = py.import("mptcplab.plugins.base")?.getattr("Carried")?;
        carried.call1((from, to, PyFrozenSet::new(py, ids(on))?)).map(Some)
    }

    fn counters(&self, r: usize) -> PyResult<PyCounters> {
        self.table.check(self.call)?;
        let counters = self.table.counters.lock().unwrap_or_else(PoisonError::into_inner);
        let found = counters.get(r).copied();
        found.map(PyCounters).ok_or_else(|| PyIndexError::new_err(format!("there is no subflow {r}")))
    }
}

/// A subflow's counters.
#[pyclass(name = "Counters", module = "mptcplab._core", frozen)]
pub struct PyCounters(Counters);

#[pymethods]
impl PyCounters {
    #[getter]
    fn segments_sent(&self) -> u64 {
        self.0.segments_sent
    }

    #[getter]
    fn segments_lost(&self) -> u64 {
        self.0.segments_lost
    }

    #[getter]
    fn timeouts(&self) -> u64 {
        self.0.timeouts
    }

    #[getter]
    fn acknowledged_bytes(&self) -> u64 {
        self.0.acknowledged_bytes
    }

    #[getter]
    fn segment_bytes(&self) -> u32 {
        self.0.segment_bytes
    }

    #[getter]
    fn silent(&self) -> bool {
        self.0.silent
    }

    #[getter]
    fn unacknowledged_bytes(&self) -> u64 {
        self.0.unacknowledged_bytes
    }

    #[getter]
    fn queued_bytes(&self) -> u64 {
        self.0.queued_bytes
    }

    fn __repr__(&self) -> String {
        format!("<{:?}>", self.0)
    }
}
