//! The thread that drives the emulated links in real time.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};
use rustix::io::Errno;
use scenario::description::Description;

use super::emulated_links::{Delivery, EmulatedLinks};
use super::lateness::Lateness;
use super::{Captures, EmulatorError, Network, Quality, Report};
use crate::clock::{Clock, sleep_exactly, thread_cpu_ns, timespec};
use crate::offload::{Cut, FRAME_LIMIT, HEADER_LEN};
use crate::system;
use crate::tun::Tun;

/// Below the kernel's own threads, which have 50.
const FIFO_PRIORITY: i32 = 40;
/// Maximum duration of a wait, so that a request to stop is noticed.
const LONGEST_WAIT_NS: u64 = 20_000_000;
/// Packets read from one port before the others get their turn.
const BATCH: usize = 64;

/// An emulation that runs on its own thread.
pub struct Running {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<Result<Report, EmulatorError>>>,
}

impl Running {
    /// Starts the emulation of `description`. Time 0 is the origin of `clock`.
    ///
    /// # Errors
    /// `network` does not fit the description, or no thread can be created.
    pub fn start(description: Arc<Description>, network: Network, clock: Clock) -> Result<Running, EmulatorError> {
        EmulatedLinks::new(&description, &network).map_err(EmulatorError::Invalid)?;
        let stop = Arc::new(AtomicBool::new(false));
        let asked = Arc::clone(&stop);
        let thread = std::thread::Builder::new()
            .name("emulator".into())
            .spawn(move || emulate(&description, network, clock, &asked))?;
        Ok(Running { stop, thread: Some(thread) })
    }

    /// Whether it has ended by itself, at the end of the scenario or with an error.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.thread.as_ref().is_none_or(JoinHandle::is_finished)
    }

    /// Stops the emulation and returns its results so far.
    ///
    /// # Errors
    /// The error that ended the emulation earlier.
    pub fn finish(mut self) -> Result<Report, EmulatorError> {
        self.stop.store(true, Ordering::Relaxed);
        match self.thread.take().map(JoinHandle::join) {
            Some(Ok(report)) => report,
            Some(Err(panic)) => std::panic::resume_unwind(panic),
            None => unreachable!("the thread is taken once"),
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            // The error is dropped, because the caller has not asked for it.
            let _ = thread.join();
        }
    }
}

fn emulate(
    description: &Description,
    network: Network,
    clock: Clock,
    stop: &AtomicBool,
) -> Result<Report, EmulatorError> {
    let _awake = stay_awake();
    let real_time = system::schedule_fifo(FIFO_PRIORITY).is_ok();
    sleep_exactly()?;
    let mut emulated = EmulatedLinks::new(description, &network).map_err(EmulatorError::Invalid)?;
    let captures = network.captures;
    let tuns: Vec<Tun> = network.ports.into_iter().map(|port| port.tun).collect();
    let waiting = epoll::create(CreateFlags::CLOEXEC).map_err(io::Error::from)?;
    for (port, tun) in tuns.iter().enumerate() {
        epoll::add(&waiting, tun, EventData::new_u64(port as u64), EventFlags::IN).map_err(io::Error::from)?;
    }
    let mut exit = Exit { tuns: &tuns, clock, lateness: Lateness::new(), refused: 0, captures, error: None };
    let mut frame = vec![0; FRAME_LIMIT];
    let mut ready: Vec<Event> = Vec::with_capacity(tuns.len().max(1));
    let cpu_before_ns = thread_cpu_ns();
    loop {
        let now_ns = clock.now_ns();
        if now_ns >= description.duration_ns || stop.load(Ordering::Relaxed) {
            break;
        }
        emulated.advance(now_ns, &mut |delivery| exit.hand_over(&delivery));
        if let Some(error) = exit.error.take() {
            return Err(error.into());
        }
        let wait_ns = emulated.next_ns().saturating_sub(clock.now_ns()).min(LONGEST_WAIT_NS);
        ready.clear();
        match epoll::wait(&waiting, rustix::buffer::spare_capacity(&mut ready), Some(&timespec(wait_ns))) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(io::Error::from(error).into()),
        }
        for event in &ready {
            take_in(&mut emulated, event.data.u64() as usize, &mut frame, &mut exit)?;
        }
    }
    // What is due at the end is still performed. Later packets stay on their links.
    let end_ns = description.duration_ns.min(clock.now_ns());
    emulated.advance(end_ns, &mut |delivery| exit.hand_over(&delivery));
    let (received, unrouted) = (emulated.received, emulated.unrouted);
    let (lateness, refused) = (exit.lateness.summary(), exit.refused);
    exit.captures.finish()?;
    let (links, link_samples, flows) = emulated.finish(end_ns.max(description.warmup_ns + 1));
    let cpu_ns = thread_cpu_ns() - cpu_before_ns;
    let quality = Quality { lateness, received, unrouted, refused, cpu_ns, real_time };
    Ok(Report { links, link_samples, flows, quality })
}

/// Reads packets of one port, each at the time it is found. A frame that the host hands over as several packets gives
/// several packets with the same time.
fn take_in(emulated: &mut EmulatedLinks, port: usize, frame: &mut [u8], exit: &mut Exit) -> Result<(), EmulatorError> {
    let mut taken = 0;
    while taken < BATCH {
        let Some(length) = exit.tuns[port].receive(frame)? else { return Ok(()) };
        let frame = &frame[..length];
        let now_ns = exit.clock.now_ns();
        emulated.advance(now_ns, &mut |delivery| exit.hand_over(&delivery));
        let Some(mut cut) = Cut::new(frame) else {
            emulated.unreadable();
            taken += 1;
            continue;
        };
        loop {
            let slot = emulated.place();
            let Some(length) = cut.next(frame, emulated.memory(slot)) else {
                emulated.give_back(slot);
                break;
            };
            exit.captures.incoming(port, now_ns, &mut emulated.memory(slot)[..length])?;
            emulated.accept(now_ns, port, slot, length.saturating_sub(HEADER_LEN));
            taken += 1;
        }
    }
    Ok(())
}

/// The outgoing side of the emulation.
struct Exit<'t> {
    tuns: &'t [Tun],
    clock: Clock,
    lateness: Lateness,
    refused: u64,
    captures: Captures,
    error: Option<io::Error>,
}

impl Exit<'_> {
    fn hand_over(&mut self, delivery: &Delivery) {
        // Read before the call, in which the kernel takes the packet all the way to the socket.
        let now_ns = self.clock.now_ns();
        self.lateness.add(now_ns.saturating_sub(delivery.due_ns));
        if let Err(error) = self.captures.packet(delivery.port, now_ns, delivery.frame) {
            self.error = Some(error);
        }
        match self.tuns[delivery.port].send(delivery.frame) {
            Ok(true) => {}
            Ok(false) => self.refused += 1,
            Err(error) => self.error = Some(error),
        }
    }
}

/// Keeps the processors out of idle states that are slow to leave, while the file is open. If that is not possible,
/// wake-ups are later, which the lateness shows.
fn stay_awake() -> Option<File> {
    let mut file = OpenOptions::new().write(true).open("/dev/cpu_dma_latency").ok()?;
    file.write_all(&0_i32.to_ne_bytes()).ok()?;
    Some(file)
}
