//! Schedulers in Python.

use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBool, PyInt, PyType};
use transport::Instant;
use transport::congestion::View;
use transport::plugin::Origin;
use transport::scheduler::{Choice, Context, Decision, Demand, PacketScheduler, Repair, SubflowSet, usable};

use super::calls::{Answer, Class, Object, Problem, wrong};
use super::views::{PyContext, PyDemand, Table};

const METHODS: &[&str] = &["choose", "when_idle", "when_dry"];
const EXPECTED: &str = "the id of a subflow, Send, Bind, Repeat, Wait, Pass or None";
const EXPECTED_IDLE: &str = "Repeat, Penalise, Pass or None";

/// The class that the description names.
pub fn choice(class: Arc<Class>) -> Choice {
    let name = class.name.clone();
    Choice::custom(&name, move |origin| make(&class, origin))
}

/// Makes a scheduler for one end of a connection.
pub fn make(class: &Arc<Class>, origin: &Origin) -> Box<dyn PacketScheduler> {
    let repair = if class.repairs_as_kernel { Repair::Kernel } else { Repair::Prompt };
    Box::new(PyScheduler { object: class.object(origin), table: Arc::default(), repair })
}

#[derive(Debug)]
struct PyScheduler {
    object: Object,
    table: Arc<Table>,
    repair: Repair,
}

impl PacketScheduler for PyScheduler {
    fn name(&self) -> &'static str {
        "plug-in"
    }

    fn choose(&mut self, demand: Demand, group: &[View], context: &Context) -> Decision {
        self.object.set_now(context.now.as_nanos());
        let asked = self.object.call(METHODS, 0, |_, method| {
            let subflows = self.table.open(group);
            let context_seen = PyContext::new(&self.table, context, group.len());
            let answer = method.call1((PyDemand(demand), subflows, context_seen));
            self.table.close();
            decision(&answer?, demand, group, context)
        });
        asked.unwrap_or(Decision::Blocked)
    }

    fn when_dry(&mut self, group: &[View], context: &Context) {
        self.aside(2, group, context, |_| Ok(()));
    }

    fn when_idle(&mut self, group: &[View], context: &Context) -> Decision {
        let asked = self.aside(1, group, context, |answer| idle_decision(answer, group, context));
        asked.unwrap_or(Decision::Blocked)
    }

    fn repair(&self) -> Repair {
        self.repair
    }
}

impl PyScheduler {
    /// Applies `read` to the result of an optional method.
    fn aside<T>(
        &self,
        index: usize,
        group: &[View],
        context: &Context,
        read: impl FnOnce(&Bound<'_, PyAny>) -> Answer<T>,
    ) -> Option<T> {
        if !self.object.has(METHODS[index]) {
            return None;
        }
        self.object.set_now(context.now.as_nanos());
        self.object.call(METHODS, index, |_, method| {
            let subflows = self.table.open(group);
            let answer = method.call1((subflows, PyContext::new(&self.table, context, group.len())));
            self.table.close();
            read(&answer?)
        })
    }
}

/// Converts a Python value to a decision, if it can be carried out.
fn decision(answer: &Bound<'_, PyAny>, demand: Demand, group: &[View], context: &Context) -> Answer<Decision> {
    let (py, now_ns) = (answer.py(), context.now.as_nanos());
    if answer.is_none() {
        return no_stall(group, "it answered None").map(|()| Decision::Blocked);
    }
    if is_whole(answer) {
        return Ok(Decision::Send { on: SubflowSet::one(subflow(answer, group, can_send)?), burst: 1 });
    }
    if answer.is_instance(class(py, &SEND, "Send")?)? {
        let burst = answer.getattr("burst")?;
        let count = if is_whole(&burst) { burst.extract::<u32>().ok() } else { None };
        let burst = count.filter(|&count| count >= 1).ok_or_else(|| wrong(&burst, "a burst of 1 segment or more"))?;
        return Ok(Decision::Send { on: set(&answer.getattr("on")?, group, can_send)?, burst });
    }
    if answer.is_instance(class(py, &WAIT, "Wait")?)? {
        let until = answer.getattr("until_ns")?;
        if until.is_none() {
            return no_stall(group, "it waits without a time").map(|()| Decision::Wait { until: Instant::NEVER });
        }
        let until_ns = if is_whole(&until) { until.extract::<u64>().ok() } else { None };
        let later = until_ns.filter(|&until_ns| until_ns > now_ns);
        let until_ns = later.ok_or_else(|| wrong(&until, &format!("a time after now, {now_ns} ns")))?;
        return Ok(Decision::Wait { until: Instant::from_nanos(until_ns) });
    }
    if answer.is_instance(class(py, &BIND, "Bind")?)? {
        let bytes = whole(&answer.getattr("bytes")?).filter(|&bytes| bytes >= 1);
        let bytes = bytes.ok_or_else(|| wrong(answer, "at least 1 byte to bind"))?;
        return Ok(Decision::Bind { on: set(&answer.getattr("on")?, group, established)?, bytes });
    }
    if let Some(repeat) = repeat(answer, group, context)? {
        return Ok(repeat);
    }
    if answer.is_instance(class(py, &PASS, "Pass")?)? {
        return match demand {
            Demand::Reinjection { .. } => Ok(Decision::Pass),
            Demand::New => Err(wrong(answer, "Pass for a reinjection only: behind new data there is nothing")),
        };
    }
    Err(wrong(answer, EXPECTED))
}

/// Converts a Python value to the action for when nothing more can be sent.
fn idle_decision(answer: &Bound<'_, PyAny>, group: &[View], context: &Context) -> Answer<Decision> {
    let py = answer.py();
    if answer.is_none() {
        return Ok(Decision::Blocked);
    }
    if let Some(repeat) = repeat(answer, group, context)? {
        return Ok(repeat);
    }
    if answer.is_instance(class(py, &PASS, "Pass")?)? {
        return Ok(Decision::Pass);
    }
    if answer.is_instance(class(py, &PENALISE, "Penalise")?)? {
        return Ok(Decision::Penalise { subflows: set(&answer.getattr("on")?, group, established)? });
    }
    Err(wrong(answer, EXPECTED_IDLE))
}

/// Bytes to assign again (reinjection).
fn repeat(answer: &Bound<'_, PyAny>, group: &[View], context: &Context) -> Answer<Option<Decision>> {
    if !answer.is_instance(class(answer.py(), &REPEAT, "Repeat")?)? {
        return Ok(None);
    }
    let ends = (whole(&answer.getattr("start")?), whole(&answer.getattr("end")?));
    let (acknowledged, sent) = (context.acknowledged_bytes, context.sent_bytes);
    match ends {
        (Some(from), Some(to)) if acknowledged <= from && from < to && to <= sent => {
            Ok(Some(Decision::Repeat { on: set(&answer.getattr("on")?, group, established)?, from, to }))
        }
        _ => {
            Err(wrong(answer, &format!("bytes that were sent and are not acknowledged: from {acknowledged} to {sent}")))
        }
    }
}

fn whole(value: &Bound<'_, PyAny>) -> Option<u64> {
    if is_whole(value) { value.extract().ok() } else { None }
}

/// With nothing in flight there would be no further call.
fn no_stall(group: &[View], answered: &str) -> Answer<()> {
    let idle = group.iter().all(|view| view.in_flight == 0 && view.queued == 0 && !view.held);
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
fn set(on: &Bound<'_, PyAny>, group: &[View], refused: Refused) -> Answer<SubflowSet> {
    let mut set = SubflowSet::default();
    if is_whole(on) {
        set.insert(subflow(on, group, refused)?);
        return Ok(set);
    }
    let expected = "the id of a subflow, or some ids";
    for each in on.try_iter().map_err(|_| wrong(on, expected))? {
        set.insert(subflow(&each?, group, refused)?);
    }
    if set == SubflowSet::default() { Err(wrong(on, "at least one subflow")) } else { Ok(set) }
}

/// The error for an unsuitable subflow: states what would be suitable.
type Refused = fn(&View) -> Option<String>;

/// To send on, a subflow must be able to take a segment.
fn can_send(view: &View) -> Option<String> {
    let why = match view {
        view if usable(view) => return None,
        View { active: false, .. } => "it is not active".to_owned(),
        View { potentially_failed: true, .. } => "it is potentially failed".to_owned(),
        View { held: true, .. } => "it is held by pacing".to_owned(),
        View { in_flight, cwnd, .. } => format!("it has {in_flight} segments in flight and a window of {cwnd}"),
    };
    Some(format!("a subflow that can take a segment (usable): {why}"))
}

/// To assign data to, a subflow must be established.
fn established(view: &View) -> Option<String> {
    (!view.active).then(|| "a subflow that is active".to_owned())
}

/// The id of a suitable subflow.
fn subflow(id: &Bound<'_, PyAny>, group: &[View], refused: Refused) -> Answer<usize> {
    let known = if is_whole(id) { id.extract::<usize>().ok() } else { None }.filter(|&r| r < group.len());
    let r = known.ok_or_else(|| wrong(id, &format!("the id of one of the {} subflows, from 0 on", group.len())))?;
    refused(&group[r]).map_or(Ok(r), |expected| Err(wrong(id, &expected)))
}

fn is_whole(value: &Bound<'_, PyAny>) -> bool {
    value.is_instance_of::<PyInt>() && !value.is_instance_of::<PyBool>()
}

static SEND: PyOnceLock<Py<PyType>> = PyOnceLock::new();
static WAIT: PyOnceLock<Py<PyType>> = PyOnceLock::new();
static BIND: PyOnceLock<Py<PyType>> = PyOnceLock::new();
static REPEAT: PyOnceLock<Py<PyType>> = PyOnceLock::new();
static PENALISE: PyOnceLock<Py<PyType>> = PyOnceLock::new();
static PASS: PyOnceLock<Py<PyType>> = PyOnceLock::new();

fn class<'py>(py: Python<'py>, cell: &'static PyOnceLock<Py<PyType>>, name: &str) -> PyResult<&'py Bound<'py, PyType>> {
    cell.import(py, "mptcplab.plugins.base", name)
}
