//! Which subflows of a connection are coupled with which.

use super::View;

/// Groups of subflows, by number. At first all are in group 0; a control may change that while it runs.
#[derive(Clone, Debug, Default)]
pub struct Groups {
    /// By subflow; one beyond the end is in group 0.
    of: Vec<u8>,
    /// The views of the last question.
    seen: Vec<View>,
}

impl Groups {
    /// The group of a subflow.
    pub fn of(&self, r: usize) -> u8 {
        self.of.get(r).copied().unwrap_or(0)
    }

    /// Puts a subflow into a group, from the next answer on.
    pub fn put(&mut self, r: usize, group: u8) {
        if self.of.len() <= r {
            if group == 0 {
                return;
            }
            self.of.resize(r + 1, 0);
        }
        self.of[r] = group;
    }

    /// All in one group again.
    pub fn merge(&mut self) {
        self.of.clear();
    }

    /// The connection as the group of subflow `r` sees it: those of other groups are not active, and so take no part in
    /// what a coupled control computes. Nothing is copied while all are in one group.
    pub fn seen<'a>(&'a mut self, group: &'a [View], r: usize) -> &'a [View] {
        let own = self.of(r);
        if (0..group.len()).all(|other| self.of(other) == own) {
            return group;
        }
        self.seen.clear();
        let member = |other: usize| self.of.get(other).copied().unwrap_or(0) == own;
        self.seen.extend(
            group.iter().enumerate().map(|(other, view)| View { active: view.active && member(other), ..*view }),
        );
        &self.seen
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Ack, Classic, CongestionControl, Lia, Rule};
    use super::*;
    use crate::time::{Duration, Instant};

    fn view(cwnd: f64, rtt_ms: u64) -> View {
        View { cwnd, ssthresh: 1.0, srtt: Duration::from_millis(rtt_ms), active: true, ..View::new(10.0, 1420) }
    }

    /// LIA that couples even subflows with even ones, from 1 s on all with all.
    #[derive(Debug)]
    struct Parity(Lia);

    impl Rule for Parity {
        const NAME: &'static str = "parity";
        const REGROUPS: bool = true;

        fn regroup(&mut self, groups: &mut Groups, group: &[View], _r: usize, now: Instant) {
            if now >= Instant::from_secs(1) {
                return groups.merge();
            }
            for r in 0..group.len() {
                groups.put(r, (r % 2) as u8);
            }
        }

        fn increase(&mut self, group: &[View], r: usize) -> f64 {
            self.0.increase(group, r)
        }
    }

    #[test]
    fn a_coupled_rule_computes_over_the_members_of_its_group() {
        let all = [view(10.0, 10), view(7.0, 90), view(20.0, 40), view(5.0, 30)];
        let mut control = Classic::new(Parity(Lia));
        let ack = |now| Ack { now, acked_segments: 1.0, rtt: None, cwnd_limited: true };
        // Windows 10 and 20 with 10 and 40 ms alone: 0.1/2.25 a segment (worked by hand in lia.rs).
        for (r, w) in [(0, 10.0), (2, 20.0)] {
            assert!((control.on_ack(&all, r, &ack(Instant::ZERO)).cwnd - w - 0.1 / 2.25).abs() < 1e-12);
        }
        let odd = Classic::new(Lia).on_ack(&[all[1], all[3]], 0, &ack(Instant::ZERO));
        assert_eq!(control.on_ack(&all, 1, &ack(Instant::ZERO)), odd);
        // Later all are coupled.
        for r in 0..4 {
            let late = ack(Instant::from_secs(2));
            assert_eq!(control.on_ack(&all, r, &late), Classic::new(Lia).on_ack(&all, r, &late));
        }
    }

    #[test]
    fn at_first_all_are_one_group_and_nothing_is_copied() {
        let all = [view(10.0, 10), view(7.0, 90)];
        let mut groups = Groups::default();
        assert!(std::ptr::eq(groups.seen(&all, 1), &all[..]));
        groups.put(1, 3);
        assert_eq!((groups.of(0), groups.of(1), groups.of(9)), (0, 3, 0));
        assert_eq!(groups.seen(&all, 1).iter().map(|v| v.active).collect::<Vec<_>>(), [false, true]);
        groups.put(0, 3);
        assert!(std::ptr::eq(groups.seen(&all, 1), &all[..]));
    }
}
