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

/// What goes over to Python of an outcome.
pub struct Answer {
    summary: String,
    subflow_samples: SubflowSamples,
    link_samples: LinkSamples,
}

impl Answer {
    /// Of an outcome; needs no Python.
    pub fn new(outcome: Outcome) -> PyResult<Answer> {
        let Outcome { connections, links, subflow_samples, link_samples, work } = outcome;
        let summary = serde_json::to_string(&Summary { connections: &connections, links: &links, work })
            .map_err(|error| PyValueError::new_err(error.to_string()))?;
        Ok(Answer { summary, subflow_samples, link_samples })
    }

    /// The dictionary `Outcome` of `_core.pyi`. The arrays take the outcome's memory over, nothing is copied; where nothing
    /// was sampled there are none, for they would be half of what Python keeps of a short run.
    pub fn into_python(self, py: Python<'_>) -> PyResult<Bound<'_, PyDict>> {
        let Answer { summary, subflow_samples, link_samples } = self;
        let subflow_samples = match subflow_samples.time_s.is_empty() {
            true => None,
            false => Some(of_subflows(py, subflow_samples)?),
        };
        let link_samples = match link_samples.time_s.is_empty() {
            true => None,
            false => Some(of_links(py, link_samples)?),
        };
        let answer = PyDict::new(py);
        answer.set_item("summary", summary)?;
        answer.set_item("subflow_samples", subflow_samples)?;
        answer.set_item("link_samples", link_samples)?;
        Ok(answer)
    }
}

pub fn of_subflows(py: Python<'_>, samples: SubflowSamples) -> PyResult<Bound<'_, PyDict>> {
    let SubflowSamples { time_s, connection, subflow, goodput_bps, cwnd_segments, srtt_s, in_flight_segments, own } =
        samples;
    let columns = PyDict::new(py);
    columns.set_item("time_s", array(py, time_s))?;
    columns.set_item("connection", array(py, connection))?;
    columns.set_item("subflow", array(py, subflow))?;
    columns.set_item("goodput_bps", array(py, goodput_bps))?;
    columns.set_item("cwnd_segments", array(py, cwnd_segments))?;
    columns.set_item("srtt_s", array(py, srtt_s))?;
    columns.set_item("in_flight_segments", array(py, in_flight_segments))?;
    let shown = PyDict::new(py);
    for (name, values) in own {
        shown.set_item(name, array(py, values))?;
    }
    columns.set_item("own", shown)?;
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
