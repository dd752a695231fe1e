//! An outcome as Python objects: rows as JSON, samples as numpy arrays.

use numpy::{Element, PyArray1};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use scenario::outcome::{Connection, Link, LinkSamples, Outcome, SubflowSamples, Work};
use serde::Serialize;

/// The part of the outcome passed as JSON; serde_json prints floats such that they are read back to the last bit.
#[derive(Serialize)]
struct Summary<'a> {
    connections: &'a [Connection],
    links: &'a [Link],
    work: Work,
}

/// The parts of an outcome passed to Python.
pub struct Answer {
    summary: String,
    subflow_samples: SubflowSamples,
    link_samples: LinkSamples,
}

impl Answer {
    /// From an outcome, without Python.
    pub fn new(outcome: Outcome) -> PyResult<Answer> {
        let Outcome { connections, links, subflow_samples, link_samples, work } = outcome;
        let summary = serde_json::to_string(&Summary { connections: &connections, links: &links, work })
            .map_err(|error| PyValueError::new_err(error.to_string()))?;
        Ok(Answer { summary, subflow_samples, link_samples })
    }

    /// The dictionary `Outcome` of `_core.pyi`. Without samples the key is missing: empty columns would be half of
    /// what Python keeps of a short run.
    pub fn into_python(self, py: Python<'_>) -> PyResult<Bound<'_, PyDict>> {
        let Answer { summary, subflow_samples, link_samples } = self;
        let subflow_samples = match subflow_samples.time_s.is_empty() {
            true => None,
            false => Some(Bound::new(py, Samples(Contents::Subflows(subflow_samples)))?),
        };
        let link_samples = match link_samples.time_s.is_empty() {
            true => None,
            false => Some(Bound::new(py, Samples(Contents::Links(link_samples)))?),
        };
        let answer = PyDict::new(py);
        answer.set_item("summary", summary)?;
        answer.set_item("subflow_samples", subflow_samples)?;
        answer.set_item("link_samples", link_samples)?;
        Ok(answer)
    }
}

/// Samples of a simulation. They become arrays when they are first used: loading numpy takes longer than a short run.
#[pyclass(name = "SimulatedSamples", module = "mptcplab._core")]
pub struct Samples(Contents);

enum Contents {
    Subflows(SubflowSamples),
    Links(LinkSamples),
    Columns(Py<PyDict>),
}

#[pymethods]
impl Samples {
    /// The columns by name, the same each time. The arrays take over the samples' memory; nothing is copied.
    fn columns(slf: &Bound<'_, Self>) -> PyResult<Py<PyDict>> {
        let py = slf.py();
        // Before the borrow: while numpy loads, another thread may call this too.
        py.import("numpy")?;
        let held = &mut slf.borrow_mut().0;
        let columns = match held {
            Contents::Subflows(samples) => of_subflows(py, std::mem::take(samples), Form::Arrays)?.unbind(),
            Contents::Links(samples) => of_links(py, std::mem::take(samples), Form::Arrays)?.unbind(),
            Contents::Columns(columns) => columns.clone_ref(py),
        };
        *held = Contents::Columns(columns.clone_ref(py));
        Ok(columns)
    }
}

/// The Python object of a column.
#[derive(Clone, Copy)]
pub enum Form {
    /// A numpy array; loads numpy.
    Arrays,
    /// The bytes of an array, little-endian, for callers that pass them on: numpy takes longer to load than a guest to boot.
    Bytes,
}

/// Element types of columns.
pub(crate) trait Number: Element {
    fn bytes(column: &[Self]) -> Vec<u8>;
}

macro_rules! number {
    ($($kind:ty),*) => {$(
        impl Number for $kind {
            fn bytes(column: &[Self]) -> Vec<u8> {
                column.iter().flat_map(|value| value.to_le_bytes()).collect()
            }
        }
    )*};
}

number!(f64, u8, u32, u64);

/// A dictionary of the columns of a struct, all of which are named; what follows a semicolon is left out.
macro_rules! columns {
    ($py:ident, $form:expr, $samples:expr, $kind:ident { $($name:ident),* $(; $other:ident)? }) => {{
        let $kind { $($name),* $(, $other: _)? } = $samples;
        let columns = PyDict::new($py);
        $(columns.set_item(stringify!($name), $crate::columns::column($py, $name, $form))?;)*
        columns
    }};
}
pub(crate) use columns;

pub fn of_subflows(py: Python<'_>, mut samples: SubflowSamples, form: Form) -> PyResult<Bound<'_, PyDict>> {
    let own = std::mem::take(&mut samples.own);
    let columns = columns!(py, form, samples, SubflowSamples { time_s, connection, subflow, goodput_bps, cwnd_segments, srtt_s,
        in_flight_segments; own });
    let shown = PyDict::new(py);
    for (name, values) in own {
        shown.set_item(name, column(py, values, form))?;
    }
    columns.set_item("own", shown)?;
    Ok(columns)
}

pub fn of_links(py: Python<'_>, samples: LinkSamples, form: Form) -> PyResult<Bound<'_, PyDict>> {
    Ok(columns!(py, form, samples, LinkSamples { time_s, link, queue_packets, queue_bytes, utilization, drops }))
}

pub(crate) fn column<T: Number>(py: Python<'_>, column: Vec<T>, form: Form) -> Bound<'_, PyAny> {
    match form {
        Form::Arrays => PyArray1::from_vec(py, column).into_any(),
        Form::Bytes => PyBytes::new(py, &T::bytes(&column)).into_any(),
    }
}
