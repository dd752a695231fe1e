//! Common parts of the real-time engines: the emulator's devices as passed by Python, the hosts' thread beside the
//! emulator's, and the rows of the outcome.

pub(crate) mod agenda;
pub mod outcome;
pub(crate) mod seen;

use std::io;
use std::os::fd::{OwnedFd, RawFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use scenario::description::{Connection, Protocol};
use serde::Deserialize;

use crate::clock::Clock;
use crate::emulator::{self, Asked, Captures, EmulatorError, Network, Route, Running, Translations};

/// Time for the threads to get ready before time 0.
pub(crate) const SET_OFF: Duration = Duration::from_millis(20);
const LOOK_AFTER: Duration = Duration::from_millis(20);

/// Why a run has no outcome.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The plan is inconsistent.
    #[error("{0}")]
    Invalid(String),
    /// `watch` returned false.
    #[error("stopped")]
    Stopped,
    /// The emulator failed.
    #[error(transparent)]
    Emulator(#[from] EmulatorError),
    /// The hosts or their programs failed.
    #[error("hosts: {0}")]
    Hosts(#[from] io::Error),
}

/// TCP options of a data segment, which reduce its payload: timestamps, and with Multipath TCP a mapping with a
/// DATA_ACK.
const TCP_OPTIONS: u16 = 12;
const MPTCP_OPTIONS: u16 = 40;

/// Payload of a full segment sent by the kernel.
pub(crate) fn kernel_step_bytes(connection: &Connection) -> u64 {
    let options = match connection.protocol {
        Protocol::Tcp => TCP_OPTIONS,
        Protocol::Mptcp => MPTCP_OPTIONS,
    };
    u64::from(connection.mss_bytes.saturating_sub(options).max(1))
}

/// A device of the emulator and the routes of packets from it. The caller owns its descriptor.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Port {
    /// Descriptor of the TUN device.
    pub tun: RawFd,
    /// Its routes.
    pub routes: Vec<Route>,
    /// Whether its packets came in by another device before.
    #[serde(default)]
    pub inner: bool,
    /// The capture file for this port.
    #[serde(default)]
    pub capture: Option<Asked>,
}

/// The emulator's network. `tuns` are the devices in the order of `ports`.
pub(crate) fn network(ports: &[Port], tuns: Vec<OwnedFd>, packet_bytes: usize) -> Result<Network, EmulatorError> {
    let captures = Captures::create(ports.iter().map(|port| port.capture.as_ref()))?;
    let devices = tuns.into_iter().zip(ports);
    let ports = devices
        .map(|(tun, port)| emulator::Port { tun: tun.into(), routes: port.routes.clone(), inner: port.inner })
        .collect();
    Ok(Network { ports, packet_bytes, captures, translations: Translations::default() })
}

/// Runs the hosts, `work`, on their own thread called `name`, and returns their result. `work` must end soon after its
/// argument becomes true. `watch` is called every 20 ms with the time in nanoseconds; if it returns false, the run is
/// [stopped](RunError::Stopped).
pub(crate) fn beside<T: Send>(
    emulator: &Running,
    (clock, duration_ns): (Clock, u64),
    watch: &mut dyn FnMut(u64) -> bool,
    name: &str,
    work: impl FnOnce(&AtomicBool) -> Result<T, RunError> + Send,
) -> Result<T, RunError> {
    let stop = AtomicBool::new(false);
    let mut stopped = false;
    let answer = std::thread::scope(|scope| {
        let hosts = std::thread::Builder::new().name(name.into()).spawn_scoped(scope, || work(&stop))?;
        while !hosts.is_finished() {
            #[allow(clippy::disallowed_methods)] // the wall clock is what this crate is about
            std::thread::sleep(LOOK_AFTER);
            let early = emulator.is_over() && clock.now_ns() < duration_ns;
            if !stopped && (early || !watch(clock.now_ns())) {
                stopped = !early;
                stop.store(true, Ordering::Relaxed);
            }
        }
        hosts.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })?;
    if stopped { Err(RunError::Stopped) } else { Ok(answer) }
}
