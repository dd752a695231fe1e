//! A control of single paths on each subflow by itself.

use super::{Ack, CongestionControl, Delivery, Feedback, Sample, Steering, View, Window};
use crate::algorithm::{Given, Make};
use crate::plugin::Origin;
use crate::time::Instant;

/// A control that knows one path only. The methods are those of [`CongestionControl`].
pub trait SinglePath: std::fmt::Debug + Send + Clone {
    /// Its name.
    const NAME: &'static str;
    /// Whether [`on_sample`](Self::on_sample) is to be called.
    const SAMPLES: bool = false;

    /// New data was acknowledged, outside of fast recovery: the new window.
    fn on_ack(&mut self, view: &View, ack: &Ack) -> Window;

    /// A sample of the round-trip time, also during fast recovery.
    fn on_sample(&mut self, _view: &View, _sample: &Sample) {}

    /// What [`on_delivery`](Self::on_delivery) is for.
    const FEEDBACK: Feedback = Feedback::Acks;

    /// What an acknowledgment brought.
    fn on_delivery(&mut self, _view: &View, _delivery: &Delivery<'_>) -> Option<Steering> {
        None
    }

    /// The subflow became active.
    fn on_join(&mut self, _view: &View, _now: Instant) -> Option<f64> {
        None
    }

    /// The first segment after a pause for lack of data.
    fn on_restart(&mut self, _view: &View, _now: Instant) -> Option<f64> {
        None
    }

    /// Its own numbers: see [`CongestionControl::show`].
    fn show(&self, _view: &View, _now: Instant, _columns: &mut [f64]) {}

    /// A loss was found by duplicate acknowledgments: the new ssthresh.
    fn on_loss(&mut self, view: &View) -> f64;

    /// The retransmission timer expired: the new ssthresh.
    fn on_timeout(&mut self, view: &View) -> f64;

    /// A congestion mark was echoed: the new ssthresh; with `abe` as RFC 8511 has it.
    fn on_ecn(&mut self, view: &View, abe: bool) -> f64;

    /// The last loss or timeout was none.
    fn on_undo(&mut self, view: &View);
}

/// One C for each subflow, none knowing of the others.
#[derive(Debug, Default)]
pub struct PerSubflow<C> {
    /// What each subflow begins with; on the heap, for every connection has room for the largest control.
    fresh: Box<C>,
    subflows: Vec<C>,
}

impl<C: SinglePath> PerSubflow<C> {
    /// Each subflow begins with `fresh`.
    pub fn new(fresh: C) -> Self {
        PerSubflow { fresh: Box::new(fresh), subflows: Vec::new() }
    }

    fn of(&mut self, r: usize) -> &mut C {
        if r >= self.subflows.len() {
            self.subflows.resize(r + 1, C::clone(&self.fresh));
        }
        &mut self.subflows[r]
    }
}

impl<R: SinglePath + Make> Make for PerSubflow<R> {
    fn make(given: &Given, origin: &Origin) -> Self {
        PerSubflow::new(R::make(given, origin))
    }
}

impl<C: SinglePath> CongestionControl for PerSubflow<C> {
    fn name(&self) -> &'static str {
        C::NAME
    }

    fn on_ack(&mut self, group: &[View], r: usize, ack: &Ack) -> Window {
        self.of(r).on_ack(&group[r], ack)
    }

    fn wants_samples(&self) -> bool {
        C::SAMPLES
    }

    fn on_sample(&mut self, group: &[View], r: usize, sample: &Sample) {
        self.of(r).on_sample(&group[r], sample);
    }

    fn feedback(&self) -> Feedback {
        C::FEEDBACK
    }

    fn on_delivery(&mut self, group: &[View], r: usize, delivery: &Delivery<'_>) -> Option<Steering> {
        self.of(r).on_delivery(&group[r], delivery)
    }

    fn on_restart(&mut self, group: &[View], r: usize, now: Instant) -> Option<f64> {
        self.of(r).on_restart(&group[r], now)
    }

    fn on_loss(&mut self, group: &[View], r: usize, _now: Instant) -> f64 {
        self.of(r).on_loss(&group[r])
    }

    fn on_timeout(&mut self, group: &[View], r: usize, _now: Instant) -> f64 {
        self.of(r).on_timeout(&group[r])
    }

    fn on_ecn(&mut self, group: &[View], r: usize, _now: Instant, abe: bool) -> f64 {
        self.of(r).on_ecn(&group[r], abe)
    }

    fn on_undo(&mut self, group: &[View], r: usize, _now: Instant) {
        self.of(r).on_undo(&group[r]);
    }

    fn show(&self, group: &[View], r: usize, now: Instant, columns: &mut [f64]) {
        if let Some(subflow) = self.subflows.get(r) {
            subflow.show(&group[r], now, columns);
        }
    }

    fn on_join(&mut self, group: &[View], r: usize, now: Instant) -> Option<f64> {
        *self.of(r) = C::clone(&self.fresh);
        self.of(r).on_join(&group[r], now)
    }
}

#[cfg(test)]
mod tests {
    use super::super::Cubic;
    use super::*;
    use crate::time::Duration;

    #[test]
    fn subflows_do_not_know_of_each_other() {
        let mut alone = PerSubflow::new(Cubic::default());
        let mut both = PerSubflow::new(Cubic::default());
        let mut v = View { cwnd: 100.0, srtt: Duration::from_millis(50), active: true, ..View::new(10.0, 1420) };
        let mut sibling = v;
        for n in 1..1000 {
            let now = Instant::from_millis(n);
            let ack = Ack { now, acked_segments: 1.0, rtt: Some(Duration::from_millis(50)), cwnd_limited: true };
            if n % 300 == 7 {
                let ssthresh = alone.on_loss(&[v], 0, now);
                assert_eq!(both.on_loss(&[v, sibling], 0, now), ssthresh);
                (v.cwnd, v.ssthresh) = (ssthresh, ssthresh);
            }
            let w = alone.on_ack(&[v], 0, &ack);
            assert_eq!(both.on_ack(&[v, sibling], 0, &ack), w);
            (v.cwnd, v.ssthresh) = (w.cwnd, w.ssthresh);
            sibling.cwnd = both.on_ack(&[v, sibling], 1, &ack).cwnd;
        }
        assert!(v.cwnd < 100.0 && sibling.cwnd > 1000.0, "one lost, the other did not");
    }
}
