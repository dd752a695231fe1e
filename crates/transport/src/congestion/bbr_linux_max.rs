//! Maxima over the last round trips, as version 1 of BBR keeps them in Linux: of few values, not of all.

/// A value and the round in which it was the largest.
#[derive(Clone, Copy, Debug, Default)]
struct Best {
    round: u64,
    value: u64,
}

/// The largest value of the last rounds, of which the three best are kept: the largest, the largest since, the largest since
/// that. Where nothing as good comes, the second and third are chosen anew after a quarter and half of the time
/// (K. Nichols; lib/win_minmax.c).
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct RunningMax {
    best: [Best; 3],
}

impl RunningMax {
    pub(super) fn get(&self) -> u64 {
        self.best[0].value
    }

    /// Of the present round and of the `rounds` before it.
    pub(super) fn push(&mut self, round: u64, value: u64, rounds: u64) {
        let new = Best { round, value };
        let [first, second, third] = self.best;
        if value >= first.value || round - third.round > rounds {
            self.best = [new; 3];
            return;
        }
        if value >= second.value {
            self.best = [first, new, new];
        } else if value >= third.value {
            self.best[2] = new;
        }
        let age = round - first.round;
        if age > rounds {
            let [_, second, third] = self.best;
            self.best = if round - second.round > rounds { [third, new, new] } else { [second, third, new] };
        } else if self.best[1].round == first.round && age > rounds / 4 {
            self.best = [first, new, new];
        } else if self.best[2].round == self.best[1].round && age > rounds / 2 {
            self.best[2] = new;
        }
    }
}

/// The largest value of five to ten round trips: of the present five and of the five before.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct AckedMax {
    five: [u64; 2],
    rounds: u32,
}

impl AckedMax {
    /// A round begins.
    pub(super) fn round(&mut self) {
        self.rounds += 1;
        if self.rounds == 5 {
            *self = AckedMax { five: [0, self.five[0]], rounds: 0 };
        }
    }

    pub(super) fn push(&mut self, value: u64) {
        self.five[0] = self.five[0].max(value);
    }

    pub(super) fn get(&self) -> u64 {
        self.five[0].max(self.five[1])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(values: &[(u64, u64)]) -> u64 {
        let mut max = RunningMax::default();
        for &(round, value) in values {
            max.push(round, value, 10);
        }
        max.get()
    }

    #[test]
    fn the_largest_counts_for_the_window_and_one_round_more() {
        assert_eq!(after(&[(1, 9), (2, 5)]), 9);
        assert_eq!(after(&[(1, 9), (2, 9), (12, 5)]), 9, "as large is as good, and newer");
        assert_eq!(after(&[(1, 9), (5, 5), (8, 4), (11, 3)]), 9);
        // Ten rounds later nothing is kept of what lies in between but the best since.
        assert_eq!(after(&[(1, 9), (5, 5), (8, 4), (12, 3)]), 5);
        assert_eq!(after(&[(1, 9), (13, 3)]), 3, "nothing was heard for longer than the window");
    }

    #[test]
    fn the_second_and_third_are_chosen_anew() {
        // Round 4 is past a quarter: what it brings is the second.
        assert_eq!(after(&[(1, 9), (4, 5), (12, 1)]), 5);
        // The third is chosen past half of the time, and takes over where the second is too old.
        assert_eq!(after(&[(1, 9), (4, 5), (7, 4), (14, 1)]), 5);
        assert_eq!(after(&[(1, 9), (4, 5), (7, 4), (12, 1), (15, 1)]), 4);
    }

    #[test]
    fn aggregation_is_of_five_to_ten_rounds() {
        let mut max = AckedMax::default();
        max.push(7);
        for round in 1..=9 {
            max.round();
            assert_eq!(max.get(), 7, "round {round}");
        }
        max.push(3);
        max.round();
        assert_eq!(max.get(), 3);
    }
}
