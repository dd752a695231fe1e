//! Path managers in Python.

use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::{PyBool, PyInt, PyTuple};
use transport::Instant;
use transport::path_manager::{Choice, PathAction, PathContext, PathEvent, PathPolicy};
use transport::plugin::Origin;

use super::calls::{Answer, Class, Object, wrong};

const METHODS: &[&str] = &["on_event"];
const BASE: &str = "mptcplab.plugins.base";

/// The class that the description names.
pub fn choice(class: Arc<Class>) -> Choice {
    let name = class.name.clone();
    Choice::custom(&name, move |origin| make(&class, origin))
}

/// Makes a path manager for one end of a connection.
pub fn make(class: &Arc<Class>, origin: &Origin) -> Box<dyn PathPolicy> {
    Box::new(PyPathPolicy { object: class.object(origin) })
}

#[derive(Debug)]
struct PyPathPolicy {
    object: Object,
}

impl PathPolicy for PyPathPolicy {
    fn name(&self) -> &'static str {
        "plug-in"
    }

    fn on_event(&mut self, event: PathEvent, context: &PathContext<'_>, actions: &mut Vec<PathAction>) {
        self.object.set_now(context.now.as_nanos());
        let asked = self.object.call(METHODS, 0, |py, method| {
            let answer = method.call1((told(py, event)?, seen(py, context)?))?;
            wanted(&answer, context)
        });
        actions.extend(asked.unwrap_or_default());
    }
}

/// Converts an event to one of the classes of `base.py`.
fn told(py: Python<'_>, event: PathEvent) -> PyResult<Bound<'_, PyAny>> {
    let base = py.import(BASE)?;
    match event {
        PathEvent::FullyEstablished => base.call_method0("FullyEstablished"),
        PathEvent::SubflowEstablished { local_id, remote_id } => {
            base.call_method1("SubflowEstablished", (local_id, remote_id))
        }
        PathEvent::SubflowClosed { local_id, remote_id, transient } => {
            base.call_method1("SubflowClosed", (local_id, remote_id, transient))
        }
        PathEvent::AddressAdded { remote_id } => base.call_method1("AddressAdded", (remote_id,)),
        PathEvent::AddressEchoed { local_id } => base.call_method1("AddressEchoed", (local_id,)),
        PathEvent::AddressRemoved { remote_id } => base.call_method1("AddressRemoved", (remote_id,)),
        PathEvent::LocalAddressRemoved { local_id } => base.call_method1("LocalAddressRemoved", (local_id,)),
        PathEvent::LocalAddressAdded { local_id } => base.call_method1("LocalAddressAdded", (local_id,)),
        PathEvent::Timer => base.call_method0("Timer"),
    }
}

/// Converts the state to a `PathContext` of `base.py`.
fn seen<'py>(py: Python<'py>, context: &PathContext<'_>) -> PyResult<Bound<'py, PyAny>> {
    let base = py.import(BASE)?;
    let local = context.local.iter().map(|a| base.call_method1("LocalAddress", (a.id, a.address, a.backup)));
    let remote =
        context.remote.iter().map(|a| base.call_method1("RemoteAddress", (a.id, a.address.ip(), a.address.port())));
    let local = PyTuple::new(py, local.collect::<PyResult<Vec<_>>>()?)?;
    let remote = PyTuple::new(py, remote.collect::<PyResult<Vec<_>>>()?)?;
    let open = PyTuple::new(py, context.open)?;
    base.call_method1("PathContext", (context.now.as_nanos(), context.initiator, local, remote, open))
}

/// Converts the actions that a method returned; None means none.
fn wanted(answer: &Bound<'_, PyAny>, context: &PathContext<'_>) -> Answer<Vec<PathAction>> {
    if answer.is_none() {
        return Ok(Vec::new());
    }
    let expected = "actions, such as [Join(local_id, remote_id)]";
    let each = answer.try_iter().map_err(|_| wrong(answer, expected))?;
    each.map(|action| self::action(&action?, context)).collect()
}

fn action(wanted: &Bound<'_, PyAny>, context: &PathContext<'_>) -> Answer<PathAction> {
    let module = wanted.get_type().module()?;
    let class = wanted.get_type().name()?;
    let name = if module == BASE { class.to_str()? } else { "" };
    let local_id = || octet(wanted, "local_id");
    let remote_id = || octet(wanted, "remote_id");
    let action = match name {
        "Join" => PathAction::Join { local_id: local_id()?, remote_id: remote_id()?, backup: flag(wanted, "backup")? },
        "Announce" => PathAction::Announce { local_id: local_id()?, port: port(wanted)? },
        "Withdraw" => PathAction::Withdraw { local_id: local_id()? },
        "SetBackup" => {
            PathAction::SetBackup { local_id: local_id()?, remote_id: remote_id()?, backup: flag(wanted, "backup")? }
        }
        "Close" => PathAction::Close { local_id: local_id()?, remote_id: remote_id()? },
        "WakeAt" => PathAction::WakeAt { at: Instant::from_nanos(whole(wanted, "at_ns", "a time in nanoseconds")?) },
        _ => return Err(wrong(wanted, "Join, Announce, Withdraw, SetBackup, Close or WakeAt")),
    };
    let own = |id| context.local.iter().any(|address| address.id == id);
    let known = |id| context.remote.iter().any(|address| address.id == id);
    let refused = match action {
        PathAction::Join { local_id, .. }
        | PathAction::Announce { local_id, .. }
        | PathAction::Withdraw { local_id }
            if !own(local_id) =>
        {
            format!("a local_id among those of this host: {:?}", ids(context.local.iter().map(|each| each.id)))
        }
        PathAction::Join { remote_id, .. } if !known(remote_id) => {
            format!("a remote_id among those of the peer: {:?}", ids(context.remote.iter().map(|each| each.id)))
        }
        PathAction::SetBackup { local_id, remote_id, .. } | PathAction::Close { local_id, remote_id }
            if !context.open.contains(&(local_id, remote_id)) =>
        {
            format!("a subflow that is open: {:?}", context.open)
        }
        PathAction::WakeAt { at } if at < context.now => format!("a time not before now, {}", context.now.as_nanos()),
        _ => return Ok(action),
    };
    Err(wrong(wanted, &refused))
}

fn ids(each: impl Iterator<Item = u8>) -> Vec<u8> {
    each.collect()
}

fn whole<'py, T: FromPyObjectOwned<'py>>(action: &Bound<'py, PyAny>, name: &str, expected: &str) -> Answer<T> {
    let value = action.getattr(name)?;
    let is_whole = value.is_instance_of::<PyInt>() && !value.is_instance_of::<PyBool>();
    let read = if is_whole { value.extract::<T>().ok() } else { None };
    read.ok_or_else(|| wrong(action, &format!("{expected} for {name}")))
}

fn octet(action: &Bound<'_, PyAny>, name: &str) -> Answer<u8> {
    whole(action, name, "an address id, 0 to 255,")
}

fn port(action: &Bound<'_, PyAny>) -> Answer<Option<u16>> {
    if action.getattr("port")?.is_none() { Ok(None) } else { whole(action, "port", "a port or None").map(Some) }
}

fn flag(action: &Bound<'_, PyAny>, name: &str) -> Answer<bool> {
    let value = action.getattr(name)?;
    value.extract::<bool>().map_err(|_| wrong(action, &format!("True or False for {name}")))
}
