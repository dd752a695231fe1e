//! The hosts if one of them is the kernel's.

use std::os::fd::OwnedFd;

use application::{CLIENT, SERVER};

use super::hosts::StackHosts;
use super::kernel::{Happened, Kernel, LOOK_NS};
use crate::engine::agenda::Due;
use crate::engine::{RunError, kernel_step_bytes};

impl StackHosts<'_> {
    /// Handles what is due on the kernel's side, if there is one. Returns whether there is more.
    pub fn turn_kernel(&mut self) -> Result<bool, RunError> {
        let Some(kernel) = &mut self.kernel else { return Ok(false) };
        let (again, happened) = (std::mem::take(&mut kernel.again), kernel.poll()?);
        for number in again {
            self.serve_kernel(number)?;
        }
        for each in happened {
            match each {
                Happened::Called(client, socket) => {
                    let Some(number) = self.callers.remove(&client) else { continue };
                    self.adopt(number, socket)?;
                    self.serve_kernel(number)?;
                }
                Happened::Ready(number, flags) => {
                    let Some(transfer) = self.transfers.get_mut(number).and_then(Option::as_mut) else { continue };
                    if transfer.kernel.as_mut().is_some_and(|end| end.events(flags)) {
                        let side = self.kernel.as_ref().map_or(CLIENT, |kernel| kernel.side);
                        transfer.stream.fail(self.clock.now_ns(), side, "the kernel reports an error");
                    }
                    self.serve_kernel(number)?;
                }
            }
        }
        Ok(self.kernel.as_ref().is_some_and(|kernel| !kernel.again.is_empty()))
    }

    /// Lets the kernel's client connect for a transfer.
    pub fn call(&mut self, number: usize, kind: usize) -> Result<(), RunError> {
        let Some(kernel) = &self.kernel else { return Ok(()) };
        let path = self.description.connections[kind].paths[0];
        let (socket, local) = kernel.call(kind, self.plan.client(0, path, 0), self.plan.server(kind))?;
        self.callers.insert(local, number);
        self.adopt(number, socket)
    }

    fn adopt(&mut self, number: usize, socket: OwnedFd) -> Result<(), RunError> {
        let (Some(kernel), Some(transfer)) = (&self.kernel, &mut self.transfers[number]) else { return Ok(()) };
        let kind = self.runtime.applications[transfer.application as usize].kind;
        Ok(kernel.adopt(number, kind as usize, socket, transfer)?)
    }

    fn serve_kernel(&mut self, number: usize) -> Result<(), RunError> {
        let now_ns = self.clock.now_ns();
        let (Some(kernel), Some(transfer)) = (&mut self.kernel, &mut self.transfers[number]) else { return Ok(()) };
        let kind = self.runtime.applications[transfer.application as usize].kind;
        let step_bytes = kernel_step_bytes(&self.description.connections[kind as usize]);
        if kernel.serve(now_ns, step_bytes, transfer) {
            kernel.again.push(number);
        }
        self.check(number)?;
        self.take_news(now_ns, number);
        Ok(())
    }

    /// Records what the kernel reports about all subflows.
    pub fn look(&mut self, now_ns: u64) {
        if let Some(Kernel { side, .. }) = self.kernel {
            self.transfers.iter_mut().flatten().for_each(|transfer| transfer.look(now_ns, side));
        }
    }

    /// Measures now, and schedules the next measurement.
    pub fn look_and_go_on(&mut self, now_ns: u64, at_ns: u64) {
        self.look(now_ns);
        self.agenda.push(at_ns.saturating_add(LOOK_NS), Due::Look);
    }

    /// The sender of a transfer may have something to write.
    pub fn touch_sender(&mut self, number: usize) {
        let Some(transfer) = &self.transfers[number] else { return };
        let sender = transfer.stream.sender;
        match (&mut self.kernel, transfer.ids[sender]) {
            (Some(kernel), _) if kernel.side == sender => kernel.again.push(number),
            (_, Some(id)) => self.drivers[sender].touch(id),
            _ => {}
        }
    }

    /// Whether both ends are finished. An end that was never created will not be, once the other has given up.
    pub fn is_over(&self, number: usize) -> bool {
        let Some(transfer) = &self.transfers[number] else { return true };
        [CLIENT, SERVER].into_iter().all(|side| {
            let kernels = self.kernel.as_ref().is_some_and(|kernel| kernel.side == side) && transfer.kernel.is_some();
            transfer.stream.over[side] || (transfer.ids[side].is_none() && !kernels)
        })
    }
}
