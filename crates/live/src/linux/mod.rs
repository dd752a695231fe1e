//! The engine `linux`: the kernel's Multipath TCP in network namespaces over emulated links, with our own programs at
//! both ends. Python sets up the hosts (namespaces, interfaces, addresses, path manager) and passes a [`Plan`].
//!
//! There are two threads: the emulator's, and one for all programs. Nothing remains when the process ends, however it
//! ends.

pub(crate) mod account;
pub(crate) mod info;
mod namespaces;
mod plan;
pub(crate) mod sampling;
pub(crate) mod socket;
pub(crate) mod track;
pub(crate) mod traffic;
mod transfer;
pub(crate) mod turn;

use std::os::fd::{BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use application::Runtime;
use application::outcome::SubflowSamples;
use scenario::description::Description;

use crate::clock::Clock;
use crate::emulator::{FlowKey, Report, Running};
use crate::engine::outcome::{self, Outcome, Summary};
use crate::engine::{RunError, SET_OFF, beside, network};
use namespaces::{Namespaces, Pair};
pub use plan::{Hosts, Plan};
use traffic::Traffic;
use transfer::Transfer;

/// Runs a plan to its end in real time. `watch` is called every 20 ms with the time in nanoseconds. If it returns
/// false, the run ends with [`RunError::Stopped`].
///
/// # Errors
/// [`RunError`].
pub fn run(
    plan: &Plan,
    tuns: Vec<OwnedFd>,
    namespaces: &[[OwnedFd; 2]],
    watch: &mut dyn FnMut(u64) -> bool,
) -> Result<Outcome, RunError> {
    let description = Arc::new(plan.description.clone());
    if plan.hosts.len() != description.connections.len() || namespaces.len() != plan.hosts.len() {
        return Err(RunError::Invalid("each kind of connection has a pair of hosts".into()));
    }
    let network = network(&plan.ports, tuns, plan.packet_bytes)?;
    let translations = network.translations.clone();
    let clock = plan.zero_ns.map_or_else(|| Clock::start_in(SET_OFF), Clock::from);
    let emulator = Running::start(Arc::clone(&description), network, clock)?;
    let pairs: Vec<Pair<'_>> = plan
        .hosts
        .iter()
        .zip(namespaces)
        .map(|(hosts, [client, server])| Pair { hosts, client: borrow(client), server: borrow(server) })
        .collect();
    let play = |stop: &AtomicBool| {
        let hosts = Namespaces::new(&description, &pairs, translations);
        let mut traffic = Traffic::new(&description, hosts, clock)?;
        traffic.run(stop)?;
        let end_ns = clock.now_ns().min(description.duration_ns);
        let Traffic { runtime, transfers, samples, .. } = traffic;
        Ok(Rows { runtime, transfers, samples, end_ns })
    };
    let rows = beside(&emulator, (clock, description.duration_ns), watch, "programs", play)?;
    let report = emulator.finish()?;
    Ok(rows.into_outcome(&description, report))
}

fn borrow(fd: &OwnedFd) -> BorrowedFd<'_> {
    std::os::fd::AsFd::as_fd(fd)
}

/// The state of the programs after their end.
struct Rows {
    runtime: Runtime<FlowKey>,
    transfers: Vec<Option<Transfer>>,
    samples: SubflowSamples,
    end_ns: u64,
}

impl Rows {
    fn into_outcome(self, description: &Description, report: Report) -> Outcome {
        let run_ns = (description.warmup_ns, self.end_ns);
        let counts = |key: &_| outcome::sent_and_lost(&report, key);
        let row = |application| sampling::row(application, &self.transfers, run_ns, counts);
        let connections = self.runtime.applications.iter().map(row).collect();
        let emulation = report.quality;
        Outcome {
            summary: Summary { connections, links: report.links, flows: report.flows, emulation },
            subflow_samples: self.samples,
            link_samples: report.link_samples,
        }
    }
}
