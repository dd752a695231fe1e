//! The engine `stack`: our own transport at both ends of emulated links, with real packets and the real clock.
//!
//! There are two hosts, one for all clients and one for all servers. Each is a [`Driver`] behind a TUN device in a
//! network namespace whose kernel routes between that device and the emulator's: packets are written, routed, delayed,
//! lost and read like those of any host. Python sets up the namespaces and passes a [`Plan`]. There are two threads:
//! the emulator's, and one for the hosts with their programs.

mod hosts;
mod kernel;
mod kernel_end;
mod kernel_side;
mod marks;
mod outcome;
mod plan;
mod transfer;

use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use crate::clock::Clock;
use crate::emulator::Running;
use crate::engine::outcome::Outcome;
use crate::engine::{RunError, SET_OFF, beside, network};
use hosts::StackHosts;
pub use plan::Plan;
use scenario::Plugins;

/// Runs a plan to its end in real time. `tuns` are the emulator's devices in the order of the plan's ports. `hosts` are
/// the devices of the clients' and the servers' stack or, for a host that is the kernel's, its network namespace.
/// `plugins` are external algorithms that the description names. `watch` is called every 20 ms with the time in
/// nanoseconds; if it returns false, the run ends with [`RunError::Stopped`]. The decisions of connections are
/// written to the folder `traces`, if there is one.
///
/// # Errors
/// [`RunError`].
pub fn run(
    plan: &Plan,
    plugins: &Plugins,
    tuns: Vec<OwnedFd>,
    hosts: [OwnedFd; 2],
    watch: &mut dyn FnMut(u64) -> bool,
    traces: Option<qlog::Folder>,
) -> Result<Outcome, RunError> {
    let description = Arc::new(plan.description.clone());
    let network = network(&plan.ports, tuns, plan.packet_bytes)?;
    let clock = Clock::start_in(SET_OFF);
    let mut hosts = StackHosts::new(plan, plugins, hosts, clock, network.translations.clone())?;
    hosts.traces = traces;
    let emulator = Running::start(Arc::clone(&description), network, clock)?;
    let play = |stop: &AtomicBool| {
        hosts.run(stop)?;
        Ok(hosts)
    };
    let hosts = beside(&emulator, (clock, description.duration_ns), watch, "hosts", play)?;
    let report = emulator.finish()?;
    Ok(hosts.into_outcome(report))
}
