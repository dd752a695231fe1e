//! What an end tells its congestion control, and what that answers.

use crate::congestion::{Ack, Controller, Delivery, Sample, Steering, View, Window};
use crate::time::Instant;

/// A subflow's place among those that one congestion control looks at. The methods are those of
/// [`CongestionControl`](crate::congestion::CongestionControl).
pub struct Control<'a> {
    group: &'a mut [View],
    r: usize,
    controller: &'a mut Controller,
}

impl<'a> Control<'a> {
    /// Of the subflow that `group[r]` shows.
    #[inline(always)]
    pub fn new(group: &'a mut [View], r: usize, controller: &'a mut Controller) -> Self {
        Control { group, r, controller }
    }

    /// A copy: one that is handed on in memory leaves this one in registers.
    #[inline(always)]
    pub fn copy(&mut self) -> Control<'_> {
        Control { group: self.group, r: self.r, controller: self.controller }
    }

    /// What it sees of the subflow.
    #[inline(always)]
    pub fn view(&self) -> &View {
        &self.group[self.r]
    }

    #[inline(always)]
    pub fn view_mut(&mut self) -> &mut View {
        &mut self.group[self.r]
    }

    #[inline(always)]
    pub fn on_ack(&mut self, ack: &Ack) -> Window {
        self.controller.on_ack(self.group, self.r, ack)
    }

    pub fn on_sample(&mut self, sample: &Sample) {
        self.controller.on_sample(self.group, self.r, sample);
    }

    pub fn on_delivery(&mut self, delivery: &Delivery<'_>) -> Option<Steering> {
        self.controller.on_delivery(self.group, self.r, delivery)
    }

    pub fn on_loss(&mut self, now: Instant) -> f64 {
        self.controller.on_loss(self.group, self.r, now)
    }

    pub fn on_timeout(&mut self, now: Instant) -> f64 {
        self.controller.on_timeout(self.group, self.r, now)
    }

    pub fn on_ecn(&mut self, now: Instant, abe: bool) -> f64 {
        self.controller.on_ecn(self.group, self.r, now, abe)
    }

    pub fn on_undo(&mut self, now: Instant) {
        self.controller.on_undo(self.group, self.r, now);
    }
}
