//! Schedulers in Python.

use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBool, PyInt, PyType};
use transport::congestion::View;
use transport::plugin::Origin;
use transport::scheduler::{Choice, Context, Decision, Demand, PacketScheduler, SubflowSet, usable};

use super::calls::{Answer, Class, Object, Problem, wrong};
use super::views::{PyContext, PyDemand, Table};

const METHODS: &[&str] = &["choose"];
const EXPECTED: &str = "the id of a subflow, Send(…), Wait(…) or None";

/// The choice of a class.
pub fn choice(class: Arc<Class>) -> Choice {
    let name = class.name.clone();
    Choice::custom(&name, move |origin| make(&class, origin))
}

/// A scheduler of its own for the end of a connection.
pub fn make(class: &Arc<Class>, origin: &Origin) -> Box<dyn PacketScheduler> {
    Box::new(PyScheduler { object: class.object(origin), table: Arc::default() })
}

#[derive(Debug)]
struct PyScheduler {
    object: Object,
    table: Arc<Table>,
}

impl PacketScheduler for PyScheduler {
    fn name(&self) -> &'static str {
        "plug-in"
    }

    fn choose(&mut self, demand: Demand, group: &[View], context: &Context) -> Decision {
        self.object.set_now(context.now_ns);
        let asked = self.object.call(METHODS, 0, |_, method| {
            let subflows = self.table.open(group);
            let context_seen = PyContext::new(&self.table, context, group.len());
            let answer = method.call1((PyDemand(demand), subflows, context_seen));
            self.table.close();
            decision(&answer?, group, context.now_ns)
        });
        asked.unwrap_or(Decision::Blocked)
    }
}

/// The decision that a Python value stands for, if it can be carried out.
fn decision(answer: &Bound<'_, PyAny>, group: &[View], now_ns: u64) -> Answer<Decision> {
    let py = answer.py();
    if answer.is_none() {
        return no_stall(group, "it answered None").map(|()| Decision::Blocked);
    }
    if is_whole(answer) {
        return Ok(Decision::Send { on: SubflowSet::one(subflow(answer, group)?), burst: 1 });
    }
    if answer.is_instance(class(py, &SEND, "Send")?)? {
        let burst = answer.getattr("burst")?;
        let count = if is_whole(&burst) { burst.extract::<u32>().ok() } else { None };
        let burst = count.filter(|&count| count >= 1).ok_or_else(|| wrong(&burst, "a burst of 1 segment or more"))?;
        return Ok(Decision::Send { on: set(&answer.getattr("on")?, group)?, burst });
    }
    if answer.is_instance(class(py, &WAIT, "Wait")?)? {
        let until = answer.getattr("until_ns")?;
        if until.is_none() {
            return no_stall(group, "it waits without a time").map(|()| Decision::Wait { until_ns: u64::MAX });
        }
        let until_ns = if is_whole(&until) { until.extract::<u64>().ok() } else { None };
        let later = until_ns.filter(|&until_ns| until_ns > now_ns);
        let until_ns = later.ok_or_else(|| wrong(&until, &format!("a time after now, {now_ns} ns")))?;
        return Ok(Decision::Wait { until_ns });
    }
    Err(wrong(answer, EXPECTED))
}

/// With nothing under way nobody would ask again.
fn no_stall(group: &[View], answered: &str) -> Answer<()> {
    let idle = group.iter().all(|view| view.in_flight == 0 && !view.held);
    let only_backups = !group.iter().any(|v| v.active && !v.potentially_failed && !v.backup);
    let able = group.iter().position(|view| usable(view) && (only_backups || !view.backup));
    match able.filter(|_| idle) {
        Some(r) => Err(Problem::Answered(format!(
            "{answered} with nothing under way, so that it would never be asked again; expected subflow {r}, which can \
             take a segment, or a time to wait until"
        ))),
        None => Ok(()),
    }
}

/// One id or several.
fn set(on: &Bound<'_, PyAny>, group: &[View]) -> Answer<SubflowSet> {
    let mut set = SubflowSet::default();
    if is_whole(on) {
        set.insert(subflow(on, group)?);
        return Ok(set);
    }
    let expected = "the id of a subflow, or some ids";
    for each in on.try_iter().map_err(|_| wrong(on, expected))? {
        set.insert(subflow(&each?, group)?);
    }
    if set == SubflowSet::default() { Err(wrong(on, "at least one subflow")) } else { Ok(set) }
}

/// The id of a subflow that can take a segment.
fn subflow(id: &Bound<'_, PyAny>, group: &[View]) -> Answer<usize> {
    let known = if is_whole(id) { id.extract::<usize>().ok() } else { None }.filter(|&r| r < group.len());
    let r = known.ok_or_else(|| wrong(id, &format!("the id of one of the {} subflows, from 0 on", group.len())))?;
    let view = &group[r];
    if usable(view) {
        return Ok(r);
    }
    let why = match view {
        View { active: false, .. } => "is not active".to_owned(),
        View { potentially_failed: true, .. } => "is potentially failed".to_owned(),
        View { held: true, .. } => "is held by pacing".to_owned(),
        View { in_flight, cwnd, .. } => format!("has {in_flight} segments in flight and a window of {cwnd}"),
    };
    Err(wrong(id, &format!("a subflow that can take a segment (usable): {r} {why}")))
}

fn is_whole(value: &Bound<'_, PyAny>) -> bool {
    value.is_instance_of::<PyInt>() && !value.is_instance_of::<PyBool>()
}

static SEND: PyOnceLock<Py<PyType>> = PyOnceLock::new();
static WAIT: PyOnceLock<Py<PyType>> = PyOnceLock::new();

fn class<'py>(py: Python<'py>, cell: &'static PyOnceLock<Py<PyType>>, name: &str) -> PyResult<&'py Bound<'py, PyType>> {
    cell.import(py, "mptcplab.plugins.base", name)
}
