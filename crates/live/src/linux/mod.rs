//! The engine `linux`: the kernel's Multipath TCP in network namespaces, over emulated links, with programs of ours on
//! both ends. Python furnishes the hosts (namespaces, interfaces, addresses, path manager) and hands over a [`Plan`].
//!
//! Two threads: the emulator, and one that is all programs. Nothing is left when the process ends, however it ends.

mod application;
pub(crate) mod info;
mod plan;
mod sampling;
pub(crate) mod socket;
mod track;
mod traffic;
mod transfer;

use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use simulator::description::Description;

use crate::clock::Clock;
use crate::emulator::{EmulatorError, Report, Running};
use crate::engine::outcome::{self, Connection, Emulation, Outcome, Summary};
use crate::engine::{SET_OFF, beside, network};
use application::Application;
pub use plan::{Hosts, Plan};
use track::Tally;
use traffic::{Pair, Traffic};
use transfer::Transfer;

/// Why there is no outcome.
#[derive(Debug, thiserror::Error)]
pub enum LinuxError {
    /// The plan does not fit together.
    #[error("{0}")]
    Invalid(String),
    /// `watch` answered that the run shall end.
    #[error("stopped")]
    Stopped,
    /// The emulator failed.
    #[error(transparent)]
    Emulator(#[from] EmulatorError),
    /// The programs failed.
    #[error("programs on the hosts: {0}")]
    Programs(#[from] io::Error),
}

/// Runs a plan to its end, by the machine's clock. `watch` is called every 20 ms with the time in nanoseconds; when it
/// answers false the run ends with [`LinuxError::Stopped`].
///
/// # Errors
/// [`LinuxError`].
pub fn run(
    plan: &Plan,
    tuns: Vec<OwnedFd>,
    namespaces: &[[OwnedFd; 2]],
    watch: &mut dyn FnMut(u64) -> bool,
) -> Result<Outcome, LinuxError> {
    let description = Arc::new(plan.description.clone());
    if plan.hosts.len() != description.connections.len() || namespaces.len() != plan.hosts.len() {
        return Err(LinuxError::Invalid("each kind of connection has a pair of hosts".into()));
    }
    let network = network(&plan.ports, tuns, plan.packet_bytes).map_err(EmulatorError::Machine)?;
    let clock = plan.zero_ns.map_or_else(|| Clock::start_in(SET_OFF), Clock::from);
    let emulator = Running::start(Arc::clone(&description), network, clock)?;
    let pairs: Vec<Pair<'_>> = plan
        .hosts
        .iter()
        .zip(namespaces)
        .map(|(hosts, [client, server])| Pair { hosts, client: borrow(client), server: borrow(server) })
        .collect();
    let play = |stop: &AtomicBool| {
        let mut traffic = Traffic::new(&description, &pairs, clock)?;
        traffic.run(stop)?;
        let end_ns = clock.now_ns().min(description.duration_ns);
        let Traffic { applications, transfers, samples, .. } = traffic;
        Ok::<Rows, LinuxError>(Rows { applications, transfers, samples, end_ns })
    };
    let played = beside(&emulator, (clock, description.duration_ns), watch, "programs", play)?;
    let Some(rows) = played else { return Err(LinuxError::Stopped) };
    let report = emulator.finish()?;
    Ok(rows.into_outcome(&description, report))
}

fn borrow(fd: &OwnedFd) -> BorrowedFd<'_> {
    std::os::fd::AsFd::as_fd(fd)
}

/// What is left of the programs when they have ended.
struct Rows {
    applications: Vec<Application>,
    transfers: Vec<Option<Transfer>>,
    samples: simulator::outcome::SubflowSamples,
    end_ns: u64,
}

impl Rows {
    fn into_outcome(self, description: &Description, report: Report) -> Outcome {
        let Rows { applications, transfers, samples, end_ns } = self;
        let connections = applications
            .into_iter()
            .map(|application| connection(application, &transfers, description.warmup_ns, end_ns, &report))
            .collect();
        let emulation = Emulation::from(&report);
        Outcome {
            summary: Summary { connections, links: report.links, flows: report.flows, emulation },
            subflow_samples: samples,
            link_samples: report.link_samples,
        }
    }
}

fn connection(
    mut application: Application,
    transfers: &[Option<Transfer>],
    warmup_ns: u64,
    end_ns: u64,
    report: &Report,
) -> Connection {
    let repeats = application.repeats();
    for transfer in application.transfers.clone().into_iter().filter_map(|place| transfers[place].as_ref()) {
        application.bytes_read += transfer.read;
        application.warm_bytes += transfer.warm_read;
        application.fallback |= transfer.fallback;
        for tally in transfer.tracks.iter().map(Tally::of) {
            if repeats { application.add(tally) } else { application.tallies.push(tally) }
        }
    }
    let from_ns = application.start_ns.max(warmup_ns);
    let to_ns = application.completion_ns.unwrap_or(end_ns).min(end_ns);
    let window_ns = to_ns.saturating_sub(from_ns);
    let arrived = application.tallies.iter().map(Tally::bytes).sum();
    let counts = |key: &_| outcome::sent_and_lost(report, key);
    let bytes = application.bytes_read - application.warm_bytes;
    Connection {
        kind: application.kind,
        index: application.index,
        start_s: application.start_ns as f64 / 1e9,
        goodput_bps: (window_ns > 0).then(|| bytes as f64 * 8e9 / window_ns as f64),
        bytes_delivered: application.bytes_read,
        completion_s: application.completion_ns.map(|at_ns| (at_ns.saturating_sub(application.start_ns)) as f64 / 1e9),
        out_of_order_delay_mean_s: None,
        out_of_order_delay_p95_s: None,
        fallback: application.fallback,
        transfers: repeats.then(|| application.done.clone()),
        subflows: application.tallies.iter().map(|tally| tally.row(arrived, window_ns, counts)).collect(),
        failure: application.failure,
    }
}
