//! Calls of Python objects: what they share in a run, and how failures are handled.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use pyo3::exceptions::{PyKeyboardInterrupt, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyBool;
use transport::plugin::{Kind, Origin};

use super::given::Given;

/// Maximum number of calls of one object within a millisecond of the run: more segments than any host sends.
const MOST_CALLS: u32 = 100_000;
const MILLISECOND_NS: u64 = 1_000_000;

/// Why a call has no result.
pub enum Problem {
    /// It raised.
    Raised(PyErr),
    /// It returned a wrong value; the text gives the value and what was expected.
    Answered(String),
}

impl From<PyErr> for Problem {
    fn from(error: PyErr) -> Self {
        Problem::Raised(error)
    }
}

pub type Answer<T> = Result<T, Problem>;

/// The first problem of a run, and where it arose.
struct Failure {
    problem: Problem,
    method: &'static str,
    place: Place,
    now_ns: u64,
}

/// An end of the connections of one description that a class serves.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct End {
    name: String,
    connection: Option<String>,
    initiator: bool,
}

/// The end of a connection that an object serves.
#[derive(Clone, Debug)]
struct Place {
    end: End,
    /// How many objects were made for the same end before.
    number: u32,
}

/// What the calls of a run share.
#[derive(Default)]
pub struct Calls {
    failed: AtomicBool,
    failure: Mutex<Option<Failure>>,
    /// Number of objects made, by connection and end.
    made: Mutex<BTreeMap<End, u32>>,
    /// Calls begun plus calls ended: odd during a call.
    steps: AtomicU64,
    /// Time limit of the current call.
    limit_ms: AtomicU64,
    /// Python's identifier of the calling thread.
    thread: AtomicU64,
    /// Virtual time at which the last call began.
    now_ns: AtomicU64,
    /// The exception that `progress` raised during a long call.
    cancelled: Mutex<Option<PyErr>>,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Calls {
    /// Whether a call has failed. No further calls are made then, and the run ends.
    pub fn have_failed(&self) -> bool {
        self.failed.load(Ordering::Relaxed)
    }

    fn fail(&self, failure: Failure) {
        let mut first = locked(&self.failure);
        if first.is_none() {
            *first = Some(failure);
        }
        self.failed.store(true, Ordering::Relaxed);
    }

    fn begin(&self, py: Python<'_>, limit_ms: u64, now_ns: u64) -> PyResult<()> {
        if self.thread.load(Ordering::Relaxed) == 0 {
            let thread: u64 = py.import("threading")?.call_method0("get_ident")?.extract()?;
            self.thread.store(thread, Ordering::Relaxed);
        }
        self.limit_ms.store(limit_ms, Ordering::Relaxed);
        self.now_ns.store(now_ns, Ordering::Relaxed);
        self.steps.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }

    fn end(&self) {
        self.steps.fetch_add(1, Ordering::Relaxed);
    }
}

impl Failure {
    fn into_error(self, py: Python<'_>) -> PyResult<PyErr> {
        let (error, text) = match self.problem {
            // Ctrl-C is not the plug-in's fault; sys.exit() is.
            Problem::Raised(error) if error.is_instance_of::<PyKeyboardInterrupt>(py) => return Ok(error),
            Problem::Raised(error) => (Some(error.into_value(py)), None),
            Problem::Answered(text) => (None, Some(text)),
        };
        let Place { end: End { name, connection, initiator }, number } = self.place;
        let arguments = (name, self.method, self.now_ns, connection, initiator, number, text, error);
        let made = py.import("mptcplab.plugins.running")?.call_method1("failure", arguments)?;
        Ok(PyErr::from_value(made))
    }
}

/// A class with its parameters. Each end of each connection that names it gets an object of its own.
pub struct Class {
    pub kind: Kind,
    pub name: String,
    pub is_rule: bool,
    pub repairs_as_kernel: bool,
    /// Names of the columns that it adds to samples.
    pub columns: Vec<String>,
    make: Py<PyAny>,
    methods: Vec<String>,
    limit_ms: u64,
    calls: Arc<Calls>,
}

impl Class {
    pub fn new(given: Given, calls: Arc<Calls>) -> PyResult<Self> {
        let Given { kind, name, is_rule, repairs_as_kernel, make, methods, columns, call_limit_s, key: _ } = given;
        let kind = match kind.as_str() {
            "congestion" => Kind::Congestion,
            "scheduler" => Kind::Scheduler,
            "path_manager" => Kind::PathManager,
            other => return Err(PyValueError::new_err(format!("there is no kind {other:?} of plug-ins"))),
        };
        let limit = Duration::try_from_secs_f64(call_limit_s).map_err(|e| PyValueError::new_err(e.to_string()))?;
        let limit_ms = u64::try_from(limit.as_millis()).unwrap_or(u64::MAX);
        Ok(Class { kind, name, is_rule, repairs_as_kernel, columns, make, methods, limit_ms, calls })
    }

    /// The object for one end of a connection, made when it is first called.
    pub fn object(self: &Arc<Self>, origin: &Origin) -> Object {
        let connection = origin.label().map(str::to_owned);
        let end = End { name: self.name.clone(), connection, initiator: origin.is_initiator() };
        let mut made = locked(&self.calls.made);
        let before = made.entry(end.clone()).or_default();
        let place = Place { end, number: *before };
        *before += 1;
        Object {
            class: Arc::clone(self),
            place,
            seed: origin.seed(self.kind),
            methods: OnceLock::new(),
            now_ns: AtomicU64::new(0),
            calls_now: AtomicU32::new(0),
        }
    }
}

/// An object of a plug-in's class.
pub struct Object {
    class: Arc<Class>,
    place: Place,
    seed: u64,
    /// Its bound methods, in the order of the adapter's list; None: not overridden.
    methods: OnceLock<Vec<Option<Py<PyAny>>>>,
    now_ns: AtomicU64,
    /// Number of calls in this millisecond.
    calls_now: AtomicU32,
}

impl fmt::Debug for Object {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of {:?}", self.class.name, self.place)
    }
}

impl Object {
    /// The time of the next call. Too many calls within a millisecond are a failure: the run would not end.
    pub fn set_now(&self, now_ns: u64) {
        if self.now_ns.swap(now_ns, Ordering::Relaxed) / MILLISECOND_NS != now_ns / MILLISECOND_NS {
            self.calls_now.store(0, Ordering::Relaxed);
        } else if self.calls_now.fetch_add(1, Ordering::Relaxed) == MOST_CALLS {
            let text = format!("it was called {MOST_CALLS} times within a millisecond, as if without an end");
            self.fail("its methods", Problem::Answered(text));
        }
    }

    /// Whether the class overrides the method.
    pub fn has(&self, method: &str) -> bool {
        self.class.methods.iter().any(|each| each == method)
    }

    /// Calls the method `names[index]` by `call`. `None` if it or an earlier call failed; the run is about to end.
    pub fn call<T>(
        &self,
        names: &'static [&'static str],
        index: usize,
        call: impl FnOnce(Python<'_>, &Bound<'_, PyAny>) -> Answer<T>,
    ) -> Option<T> {
        if self.class.calls.have_failed() {
            return None;
        }
        Python::attach(|py| {
            if self.methods.get().is_none() {
                self.make(py, names)?;
            }
            let method = self.methods.get()?[index].as_ref()?.bind(py);
            self.watched(py, names[index], || call(py, method))
        })
    }

    /// Makes the object and looks its methods up, once.
    fn make(&self, py: Python<'_>, names: &'static [&'static str]) -> Option<()> {
        let methods = self.watched(py, "__init__", || {
            let object = self.class.make.bind(py).call1((self.seed,))?;
            let bound = |name: &&str| match self.has(name) {
                true => object.getattr(*name).map(|method| Some(method.unbind())),
                false => Ok(None),
            };
            Ok(names.iter().map(bound).collect::<PyResult<Vec<_>>>()?)
        })?;
        self.methods.set(methods).ok()
    }

    /// Returns what `call` returns, supervised by the watchdog.
    fn watched<T>(&self, py: Python<'_>, method: &'static str, call: impl FnOnce() -> Answer<T>) -> Option<T> {
        let calls = &self.class.calls;
        let answer = calls
            .begin(py, self.class.limit_ms, self.now_ns.load(Ordering::Relaxed))
            .map_err(Problem::from)
            .and_then(|()| {
                let answer = call();
                calls.end();
                answer
            });
        answer.map_err(|problem| self.fail(method, problem)).ok()
    }

    /// Records that the method that was called last returned an invalid value.
    pub fn refuse(&self, method: &'static str, text: String) {
        self.fail(method, Problem::Answered(text));
    }

    fn fail(&self, method: &'static str, problem: Problem) {
        self.class.calls.fail(Failure {
            problem,
            method,
            place: self.place.clone(),
            now_ns: self.now_ns.load(Ordering::Relaxed),
        });
    }
}

/// Interval at which the watchdog checks.
const LOOK_EVERY_MS: u64 = 100;
/// During a call that takes longer than this, the watchdog calls `progress`.
const LONG_MS: u64 = 300;

/// A thread that interrupts calls that take too long. It ends when this value is dropped.
pub struct Watchdog {
    calls: Arc<Calls>,
    over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Watchdog {
    /// Starts supervising calls. During a long one it calls `progress`, which may raise to end the run.
    pub fn start(calls: &Arc<Calls>, progress: Option<Py<PyAny>>) -> std::io::Result<Self> {
        let over = Arc::new(AtomicBool::new(false));
        let (seen, stop) = (Arc::clone(calls), Arc::clone(&over));
        let watch = move || {
            let (mut step, mut since_ms) = (0, 0);
            while !stop.load(Ordering::Relaxed) {
                std::thread::park_timeout(Duration::from_millis(LOOK_EVERY_MS));
                let now = seen.steps.load(Ordering::Relaxed);
                since_ms = if now == step { since_ms + LOOK_EVERY_MS } else { 0 };
                step = now;
                if step % 2 == 0 {
                    continue;
                }
                let cancelled = since_ms >= LONG_MS && progress.as_ref().is_some_and(|ask| seen.is_cancelled(ask));
                if cancelled || since_ms > seen.limit_ms.load(Ordering::Relaxed) {
                    seen.interrupt(step);
                    since_ms = 0;
                }
            }
        };
        let thread = std::thread::Builder::new().name("plug-ins".into()).spawn(watch)?;
        Ok(Watchdog { calls: Arc::clone(calls), over, thread: Some(thread) })
    }

    /// A watchdog without calls to supervise.
    pub fn idle(calls: &Arc<Calls>) -> Self {
        Watchdog { calls: Arc::clone(calls), over: Arc::default(), thread: None }
    }

    /// The exception to raise, if a call has failed.
    pub fn take_error(&self, py: Python<'_>) -> Option<PyErr> {
        if let Some(raised) = locked(&self.calls.cancelled).take() {
            return Some(raised);
        }
        let failure = locked(&self.calls.failure).take()?;
        Some(failure.into_error(py).unwrap_or_else(|error| error))
    }

    /// The supervised calls.
    pub fn calls(&self) -> &Calls {
        &self.calls
    }

    /// Ends the thread. The GIL must not be held, since the thread may be waiting for it.
    pub fn stop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            thread.thread().unpark();
            let _ = thread.join();
        }
    }
}

impl Drop for Watchdog {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
    }
}

impl Calls {
    /// Whether `progress` raises, which ends the run.
    #[allow(clippy::cast_precision_loss)] // as for progress otherwise
    fn is_cancelled(&self, progress: &Py<PyAny>) -> bool {
        let now_s = self.now_ns.load(Ordering::Relaxed) as f64 / 1e9;
        let raised = Python::attach(|py| progress.call1(py, (now_s,)).err());
        let cancelled = raised.is_some();
        if cancelled {
            *locked(&self.cancelled) = raised;
        }
        cancelled
    }

    /// Raises `Overdue` in the call number `step` if it has not ended.
    fn interrupt(&self, step: u64) {
        Python::attach(|py| {
            // No other thread runs between this check and the exception.
            if self.steps.load(Ordering::Relaxed) == step {
                let told = (self.thread.load(Ordering::Relaxed), self.limit_ms.load(Ordering::Relaxed));
                let _ = py.import("mptcplab.plugins.running").and_then(|m| m.call_method1("interrupt", told));
            }
        });
    }
}

/// A condition on a number, in words and as a test.
pub type Accepted = (&'static str, fn(f64) -> bool);

/// The Python value as a number.
pub fn number(value: &Bound<'_, PyAny>, (expected, accept): Accepted) -> Answer<f64> {
    let number = if value.is_instance_of::<PyBool>() { None } else { value.extract::<f64>().ok() };
    number.filter(|&number| accept(number)).ok_or_else(|| wrong(value, expected))
}

/// The error for an invalid return value.
pub fn wrong(value: &Bound<'_, PyAny>, expected: &str) -> Problem {
    let shown = value.repr().map_or_else(|_| "something".to_owned(), |text| text.to_string());
    Problem::Answered(format!("it answered {shown}; expected {expected}"))
}
