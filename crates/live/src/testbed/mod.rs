//! One end of a run between real machines. The engine `testbed` has an agent on each machine, which plays its end of
//! every connection over the kernel's sockets and reports what it saw. Nothing here is emulated.

mod callers;
mod half;
mod machine;
mod opening;
mod plan;

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use application::outcome::{Connection, SubflowSamples};
use serde::Serialize;

use crate::clock::Clock;
use crate::engine::RunError;
use crate::linux::sampling;
use crate::linux::traffic::Traffic;
use machine::Machine;
pub use plan::{End, Host, Plan};

const LOOK_AFTER: Duration = Duration::from_millis(20);
/// How long sockets stay open after the end, so that the other end, whose clock may lag, sees no early close.
const LINGER: Duration = Duration::from_millis(500);

/// The outcome as seen by one end.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The rows of the tables.
    pub summary: Summary,
    /// Samples of subflows, ordered by time.
    pub subflow_samples: SubflowSamples,
}

/// The rows of the tables.
#[derive(Clone, Debug, Serialize)]
pub struct Summary {
    /// Connections in the scenario's order, `count` of each kind. Values that only the other end knows are zero or
    /// absent.
    pub connections: Vec<Connection>,
    /// Callers that were rejected.
    pub refused: u64,
}

/// Plays one end of a plan in real time. `watch` is called every 20 ms with the time in nanoseconds. If it returns
/// false, the run ends with [`RunError::Stopped`].
///
/// # Errors
/// [`RunError`].
pub fn run(plan: &Plan, watch: &mut dyn FnMut(u64) -> bool) -> Result<Outcome, RunError> {
    if plan.hosts.len() != plan.description.connections.len() {
        return Err(RunError::Invalid("each kind of connection has its hosts".into()));
    }
    let paths = plan.description.paths.len();
    if plan.hosts.iter().any(|host| host.paths.is_empty() || host.paths.iter().any(|&(_, path)| path >= paths)) {
        return Err(RunError::Invalid("the client's addresses are those of the description's paths".into()));
    }
    let clock = Clock::from(plan.zero_ns);
    let stop = AtomicBool::new(false);
    let mut stopped = false;
    let mut traffic = Traffic::new(&plan.description, Machine::new(plan), clock)?;
    std::thread::scope(|scope| {
        let played = std::thread::Builder::new().name("testbed".into()).spawn_scoped(scope, || traffic.run(&stop))?;
        while !played.is_finished() {
            #[allow(clippy::disallowed_methods)] // the wall clock is what this crate is about
            std::thread::sleep(LOOK_AFTER);
            if !stopped && !watch(clock.now_ns()) {
                stopped = true;
                stop.store(true, Ordering::Relaxed);
            }
        }
        played.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })?;
    if stopped {
        return Err(RunError::Stopped);
    }
    #[allow(clippy::disallowed_methods)] // as above
    std::thread::sleep(LINGER);
    let end_ns = clock.now_ns().min(plan.description.duration_ns);
    let Traffic { runtime, transfers, samples, endpoint, .. } = traffic;
    let run_ns = (plan.description.warmup_ns, end_ns);
    let row = |application| sampling::row(application, &transfers, run_ns, |_| (0, 0));
    let connections = runtime.applications.iter().map(row).collect();
    Ok(Outcome { summary: Summary { connections, refused: endpoint.refused }, subflow_samples: samples })
}
