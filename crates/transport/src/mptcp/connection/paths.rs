//! The path manager and the connection: its events and actions, subflows that come and go, and the time without any ("break
//! before make").

use crate::Receiver;
use crate::names::SubflowId;
use crate::path_manager::{PathAction, PathContext, PathEvent, PathPolicy};
use crate::queue::Sendable;
use crate::time::{Duration, Instant};
use crate::trace::ReinjectionReason;
use wire::Segment;

use super::{Connection, Event};

impl<P: Sendable> Connection<P> {
    /// Asks the path manager and does what it wants.
    pub(super) fn manage_paths(&mut self, now: Instant, event: PathEvent) {
        if !self.level.is_multipath() || self.ending.has_finished() {
            return;
        }
        let local = self.addresses.usable();
        let open: Vec<_> =
            self.subflows.iter().filter(|s| s.is_open()).map(|s| (s.local_id(), s.remote_id())).collect();
        let context = PathContext {
            now,
            initiator: self.is_initiator(),
            local: &local,
            remote: self.addresses.remotes(),
            open: &open,
        };
        let mut actions = Vec::new();
        self.path_manager.on_event(event, &context, &mut actions);
        for action in actions {
            self.act(now, action);
        }
    }

    /// Does what a path manager, or whoever drives the connection, wants.
    pub fn act(&mut self, now: Instant, action: PathAction) {
        self.set_clock(now);
        self.usual.forget();
        match action {
            PathAction::Join { local_id, remote_id, backup } => self.join(now, local_id, remote_id, backup),
            PathAction::Announce { local_id, port } => self.announce(now, local_id, port),
            PathAction::Withdraw { local_id } => self.withdraw_address(now, local_id),
            PathAction::SetBackup { local_id, remote_id, backup } => self.set_backup(local_id, remote_id, backup),
            PathAction::Close { local_id, remote_id } => self.close_path(now, local_id, remote_id),
            PathAction::WakeAt { at } => {
                let at = self.control.ask_path_manager_by(at.max(now + Duration::NANOSECOND));
                self.arm_control(at);
            }
        }
        self.observe(now, None);
    }

    /// Ends the subflows between two addresses in order: "a subflow that is still functioning MUST be closed with a
    /// FIN exchange" (RFC 8684 §3.4.2). What is in flight on them still arrives.
    fn close_path(&mut self, now: Instant, local_id: u8, remote_id: u8) {
        for r in 0..self.subflows.len() {
            let subflow = &self.subflows[r];
            if self.level.is_multipath() && (subflow.local_id(), subflow.remote_id()) == (local_id, remote_id) {
                self.request_fin(now, r);
            }
        }
    }

    pub(super) fn path_timer(&mut self, now: Instant) {
        if self.control.asks_path_manager(now) {
            self.manage_paths(now, PathEvent::Timer);
        }
    }

    /// A subflow has ended. Without another one the connection is over, unless more is to be said and a new subflow may
    /// join.
    pub(super) fn gone(&mut self, now: Instant, r: usize) {
        self.leave(now, r);
        self.report(Event::SubflowClosed(SubflowId(r as u8)));
        let closed = !self.subflows.iter().any(|s| s.is_open());
        if closed && !self.ending.has_finished() {
            let orderly = self.ending.is_flushed() && self.rx.ended();
            if orderly {
                self.finish(Event::Closed);
            } else if self.may_join() && self.config.keep_without_subflow_ns > 0 {
                let until = now.saturating_add(Duration::from_nanos(self.config.keep_without_subflow_ns));
                let at = self.control.interrupt(until);
                self.arm_control(at);
            } else {
                self.finish(Event::Aborted);
            }
        }
        let (subflow, transient) = (&self.subflows[r], self.contexts[r].transient);
        let (local_id, remote_id) = (subflow.local_id(), subflow.remote_id());
        self.manage_paths(now, PathEvent::SubflowClosed { local_id, remote_id, transient });
    }

    /// There is a subflow again: what is due at the data level goes out on it.
    pub(super) fn resume(&mut self, now: Instant) {
        if !self.control.is_interrupted() {
            return;
        }
        self.control.resume();
        self.ending.repeat_data_fin();
        self.reinject_uncarried(now, ReinjectionReason::Resumed);
        self.timers.begin_anew();
        self.arm_data_timer(now);
        self.announcement_timer(now);
    }

    /// The peer has the keys.
    #[inline(always)]
    pub(super) fn note_fully_established(&mut self, now: Instant) {
        if !self.is_fully_established() {
            self.set_fully_established();
            self.manage_paths(now, PathEvent::FullyEstablished);
        }
    }

    /// Our SYN was acknowledged.
    pub(super) fn synchronise(&mut self, now: Instant, r: usize, segment: &Segment<P>) {
        let (subflow, view) = (&mut self.subflows[r], &mut self.views[r]);
        subflow.set_window_edge(self.level.first_edge(subflow.right()));
        subflow.synchronise(now, segment.options.timestamps, view);
        view.backup = subflow.is_backup() || self.contexts[r].peer_backup;
        self.update_segment_octets(r);
    }

    /// A subflow can carry data from now on.
    pub(super) fn become_established(&mut self, now: Instant, r: usize) {
        self.usual.forget();
        let (subflow, view) = (&mut self.subflows[r], &mut self.views[r]);
        subflow.establish(now, view);
        if self.config.tcp.receiver == Receiver::Linux {
            subflow.delay_as_linux();
        }
        view.active = true;
        let (local_id, remote_id) = (subflow.local_id(), subflow.remote_id());
        let rate = self.controller.on_join(&self.views, r, now);
        if let Some(rate) = rate {
            self.subflows[r].pace_at(rate, self.views[r].mss);
        }
        if !self.is_established() {
            self.set_established();
            self.rx.window.begin(now);
            self.report(Event::Established);
        }
        self.report(Event::SubflowEstablished(SubflowId(r as u8)));
        self.resume(now);
        self.manage_paths(now, PathEvent::SubflowEstablished { local_id, remote_id });
        self.due.data = true;
        self.due.attention.insert(r);
    }
}
