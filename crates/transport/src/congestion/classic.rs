//! What loss-based controls share: slow start, the thresholds after a loss, the floor of the windows.

use super::{Ack, CongestionControl, Groups, Sample, View, Window};
use crate::algorithm::{Given, Make};
use crate::plugin::Origin;
use crate::time::Instant;

/// How a control behaves in congestion avoidance and on loss; all else is [`Classic`]'s.
pub trait Rule: std::fmt::Debug + Send {
    /// Its name.
    const NAME: &'static str;
    /// Whether [`sample`](Self::sample) is to be called.
    const SAMPLES: bool = false;
    /// Whether [`regroup`](Self::regroup) is to be called, before anything else. What the other methods see are then the
    /// subflows of the group of `r`; those of other groups are not active.
    const REGROUPS: bool = false;

    /// A sample of the round-trip time of `group[r]`, also during fast recovery.
    fn sample(&mut self, _group: &[View], _r: usize, _sample: &Sample) {}

    /// Something happens on `group[r]`, of all subflows: may change which are coupled with which. At first all are.
    fn regroup(&mut self, _groups: &mut Groups, _group: &[View], _r: usize, _now: Instant) {}

    /// Increase of the window of `group[r]`, in segments, per segment acknowledged in congestion avoidance.
    fn increase(&mut self, group: &[View], r: usize) -> f64;

    /// Window of `group[r]`, in segments, after a loss.
    fn decrease(&mut self, group: &[View], r: usize) -> f64 {
        group[r].cwnd / 2.0
    }

    /// Its own numbers of `group[r]`: see [`CongestionControl::show`].
    fn show(&self, _group: &[View], _r: usize, _now: Instant, _columns: &mut [f64]) {}

    /// The least slow start threshold in segments. RFC 5681 §3.1, equation 4: two.
    fn min_ssthresh(&self, _group: &[View]) -> f64 {
        2.0
    }
}

/// A control that is TCP's but for its rule.
#[derive(Debug)]
pub struct Classic<R> {
    rule: R,
    groups: Groups,
}

/// RFC 8511 §3: after a congestion mark 0.8 of the window remains where a loss leaves 0.5, so the reduction is this
/// fraction of what a loss takes.
const ABE_FRACTION: f64 = 0.4;

impl<R: Rule> Classic<R> {
    /// The classic machine with this rule.
    pub fn new(rule: R) -> Self {
        Classic { rule, groups: Groups::default() }
    }

    /// The rule, and what it sees.
    #[inline]
    fn seen<'a>(&'a mut self, group: &'a [View], r: usize, now: Instant) -> (&'a mut R, &'a [View])
    where
        R: Rule,
    {
        let Classic { rule, groups } = self;
        if R::REGROUPS {
            rule.regroup(groups, group, r, now);
            return (rule, groups.seen(group, r));
        }
        (rule, group)
    }
}

impl<R: Rule + Make> Make for Classic<R> {
    fn make(given: &Given, origin: &Origin) -> Self {
        Classic::new(R::make(given, origin))
    }
}

impl<R: Rule> CongestionControl for Classic<R> {
    fn name(&self) -> &'static str {
        R::NAME
    }

    fn on_ack(&mut self, group: &[View], r: usize, ack: &Ack) -> Window {
        let View { cwnd, ssthresh, .. } = group[r];
        if !ack.cwnd_limited {
            return Window { cwnd, ssthresh };
        }
        let (mut cwnd, acked) = ack.slow_start(cwnd, ssthresh);
        if acked > 0.0 {
            let (rule, group) = self.seen(group, r, ack.now);
            cwnd += acked * rule.increase(group, r);
            // A rule with a negative term stops at one segment. (Not `max`, which would hide a NaN.)
            if cwnd < 1.0 {
                cwnd = 1.0;
            }
        }
        Window { cwnd, ssthresh }
    }

    fn wants_samples(&self) -> bool {
        R::SAMPLES
    }

    fn on_sample(&mut self, group: &[View], r: usize, sample: &Sample) {
        self.rule.sample(group, r, sample);
    }

    fn on_loss(&mut self, group: &[View], r: usize, now: Instant) -> f64 {
        let (rule, group) = self.seen(group, r, now);
        rule.decrease(group, r).max(rule.min_ssthresh(group))
    }

    fn on_timeout(&mut self, group: &[View], r: usize, now: Instant) -> f64 {
        self.on_loss(group, r, now)
    }

    fn on_ecn(&mut self, group: &[View], r: usize, now: Instant, abe: bool) -> f64 {
        let (rule, group) = self.seen(group, r, now);
        let (cwnd, lost) = (group[r].cwnd, rule.decrease(group, r));
        let left = if abe { cwnd - ABE_FRACTION * (cwnd - lost) } else { lost };
        left.max(rule.min_ssthresh(group))
    }

    fn show(&self, group: &[View], r: usize, now: Instant, columns: &mut [f64]) {
        self.rule.show(group, r, now, columns);
    }

    fn on_leave(&mut self, _group: &[View], r: usize, _now: Instant) {
        if R::REGROUPS {
            self.groups.put(r, 0);
        }
    }
}

/// Whether nothing couples `group[r]` to a sibling: it is the only active subflow, or not one yet.
pub(super) fn alone(group: &[View], r: usize) -> bool {
    !group[r].active || active_count(group) == 1
}

/// How many subflows take part.
pub(super) fn active_count(group: &[View]) -> usize {
    group.iter().filter(|v| v.active).count()
}

#[cfg(test)]
mod tests {
    use super::super::{Coupled, Reno};
    use super::*;
    use crate::time::Duration;

    fn view(cwnd: f64) -> View {
        View { cwnd, ssthresh: 5.0, srtt: Duration::from_nanos(1), active: true, ..View::new(10.0, 1420) }
    }

    #[test]
    fn a_mark_is_a_loss_or_by_rfc_8511_less() {
        let mut reno = Classic::new(Reno);
        assert_eq!(reno.on_ecn(&[view(20.0)], 0, Instant::ZERO, false), 10.0);
        assert_eq!(reno.on_ecn(&[view(20.0)], 0, Instant::ZERO, true), 16.0, "0.8 of the window");
        assert_eq!(reno.on_ecn(&[view(2.0)], 0, Instant::ZERO, true), 2.0);
        // A coupled control gives up 0.4 of what it would lose: 20 − 0.4·(20 + 10)/2.
        let group = [view(20.0), view(10.0)];
        assert_eq!(Classic::new(Coupled).on_ecn(&group, 0, Instant::ZERO, true), 14.0);
    }
}
