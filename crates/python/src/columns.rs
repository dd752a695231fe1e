//! An outcome as Python objects: the few rows as JSON, the many samples as numpy arrays.

use numpy::{Element, PyArray1};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde::Serialize;
use simulator::outcome::{Connection, Link, LinkSamples, Outcome, SubflowSamples, Work};

/// What of the outcome goes over as JSON; serde_json prints floats so that they are read back to the last bit.
#[derive(Serialize)]
struct Summary<'a> {
    connections: &'a [Connection],
    links: &'a [Link],
    work: Work,
}

/// The dictionary `Outcome` of `_core.pyi`. The arrays take the outcome's memory over, nothing is copied.
pub fn to_python(py: Python<'_>, outcome: Outcome) -> PyResult<Bound<'_, PyDict>> {
    let Outcome { connections, links, subflow_samples, link_samples, work } = outcome;
    let summary = serde_json::to_string(&Summary { connections: &connections, links: &links, work })
        .map_err(|error| PyValueError::new_err(error.to_string()))?;
    let answer = PyDict::new(py);
    answer.set_item("summary", summary)?;
    answer.set_item("subflow_samples", of_subflows(py, subflow_samples)?)?;
    answer.set_item("link_samples", of_links(py, link_samples)?)?;
    Ok(answer)
}

pub fn of_subflows(py: Python<'_>, samples: SubflowSamples) -> PyResult<Bound<'_, PyDict>> {
    let SubflowSamples { time_s, connection, subflow, goodput_bps, cwnd_segments, srtt_s, in_flight_segments } =
        samples;
    let columns = PyDict::new(py);
    columns.set_item("time_s", array(py, time_s))?;
    columns.set_item("connection", array(py, connection))?;
    columns.set_item("subflow", array(py, subflow))?;
    columns.set_item("goodput_bps", array(py, goodput_bps))?;
    columns.set_item("cwnd_segments", array(py, cwnd_segments))?;
    columns.set_item("srtt_s", array(py, srtt_s))?;
    columns.set_item("in_flight_segments", array(py, in_flight_segments))?;
    Ok(columns)
}

pub fn of_links(py: Python<'_>, samples: LinkSamples) -> PyResult<Bound<'_, PyDict>> {
    let LinkSamples { time_s, link, queue_packets, queue_bytes, utilization, drops } = samples;
    let columns = PyDict::new(py);
    columns.set_item("time_s", array(py, time_s))?;
    columns.set_item("link", array(py, link))?;
    columns.set_item("queue_packets", array(py, queue_packets))?;
    columns.set_item("queue_bytes", array(py, queue_bytes))?;
    columns.set_item("utilization", array(py, utilization))?;
    columns.set_item("drops", array(py, drops))?;
    Ok(columns)
}

fn array<T: Element>(py: Python<'_>, column: Vec<T>) -> Bound<'_, PyArray1<T>> {
    PyArray1::from_vec(py, column)
}
