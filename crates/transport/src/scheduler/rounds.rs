//! The round model of Dong 2018 §4.1: what a subflow delivers in a number of rounds from its window, threshold and loss
//! rate. The same as `mptcplab.models.rounds` in Python, and tested against the same numbers (tests/vectors/rounds.json).

/// A timeout begins again with one segment (figure 7).
const RESTART: u32 = 1;
/// So many segments must arrive after a lost one for a fast retransmission.
const DUPLICATES: u32 = 3;
/// States rarer than this do not show in a mean.
const RARE: f64 = 1e-12;
/// No estimate looks further ahead.
const MOST_ROUNDS: f64 = 64.0;
/// Windows do not grow beyond this, nor are thresholds larger.
pub(super) const LARGEST: u32 = 1 << 16;

/// Segments that `window` segments at a threshold deliver in `rounds` rounds, with losses of probability `p` each: the
/// mean of eq. 3. A last part of a round counts in proportion. It stops counting at `enough`.
pub(super) fn delivered(window: u32, threshold: u32, p: f64, rounds: f64, enough: f64, states: &mut States) -> f64 {
    let rounds = rounds.min(MOST_ROUNDS);
    // Rounds are whole when the ratio of RTTs is, whatever the last digit of the quotient says.
    let whole = (rounds * (1.0 + 1e-12)) as u32;
    states.begin(window, threshold);
    let mut segments = 0.0;
    for _ in 0..whole {
        segments += states.mean_window() * (1.0 - p);
        if segments >= enough {
            return segments;
        }
        states.next_round(p);
    }
    segments + (rounds - f64::from(whole)).max(0.0) * states.mean_window() * (1.0 - p)
}

/// The distribution of (window, threshold) of a round.
#[derive(Debug, Default)]
pub(super) struct States {
    now: Vec<(u32, u32, f64)>,
    next: Vec<(u32, u32, f64)>,
}

impl States {
    fn begin(&mut self, window: u32, threshold: u32) {
        self.now.clear();
        self.now.push((window.clamp(1, LARGEST), threshold.clamp(1, LARGEST), 1.0));
    }

    fn mean_window(&self) -> f64 {
        self.now.iter().map(|&(window, _, weight)| f64::from(window) * weight).sum()
    }

    /// Eq. 5 to 13: no loss, a loss found by duplicate acknowledgments, a timeout.
    fn next_round(&mut self, p: f64) {
        self.next.clear();
        for &(window, threshold, weight) in &self.now {
            let none = power(1.0 - p, window);
            let timeout = if p > 0.0 { few_arrive(window, p) } else { 0.0 };
            let grown = if window < threshold { 2 * window } else { window + 1 }.min(LARGEST);
            let half = (window / 2).max(1);
            for (w, t, probability) in [
                (grown, threshold, none),
                (half, half.max(2), (1.0 - none - timeout).max(0.0)),
                (RESTART, half.max(2), timeout),
            ] {
                // A window at or past its threshold grows the same whatever that was.
                if weight * probability > RARE {
                    self.next.push((w, if w >= t { w } else { t }, weight * probability));
                }
            }
        }
        self.next.sort_unstable_by_key(|&(window, threshold, _)| (window, threshold));
        self.now.clear();
        for &(window, threshold, weight) in &self.next {
            match self.now.last_mut() {
                Some(last) if (last.0, last.1) == (window, threshold) => last.2 += weight,
                _ => self.now.push((window, threshold, weight)),
            }
        }
        let total: f64 = self.now.iter().map(|state| state.2).sum();
        self.now.iter_mut().for_each(|state| state.2 /= total);
    }
}

/// The probability that something is lost and fewer than three segments arrive.
fn few_arrive(window: u32, p: f64) -> f64 {
    let mut sum = 0.0;
    let mut ways = 1.0;
    for arrived in 0..DUPLICATES.min(window) {
        // C(w, k)·(1−p)^k·p^(w−k)
        sum += ways * power(1.0 - p, arrived) * power(p, window - arrived);
        ways *= f64::from(window - arrived) / f64::from(arrived + 1);
    }
    sum
}

/// By squaring: `powi` may differ from machine to machine.
fn power(base: f64, mut exponent: u32) -> f64 {
    let (mut result, mut square) = (1.0, base);
    while exponent > 0 {
        if exponent & 1 == 1 {
            result *= square;
        }
        square *= square;
        exponent >>= 1;
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    fn segments(window: u32, p: f64, rounds: f64) -> f64 {
        delivered(window, LARGEST, p, rounds, f64::INFINITY, &mut States::default())
    }

    #[test]
    fn the_papers_120_segments() {
        // §4.2.2: 8 + 16 + 32 + 64, 164 KiB of 1400 bytes.
        assert_eq!(segments(8, 0.0, 4.0), 120.0);
        assert_eq!(segments(10, 0.0, 2.5), 50.0);
        assert_eq!(delivered(8, LARGEST, 0.0, 4.0, 20.0, &mut States::default()), 24.0, "enough after two rounds");
    }

    #[test]
    fn figure_7_at_p_0_3() {
        let mut states = States::default();
        states.begin(10, 80);
        states.next_round(0.3);
        let found = |w, t| states.now.iter().find(|state| (state.0, state.1) == (w, t)).map_or(0.0, |state| state.2);
        assert_eq!(states.now.len(), 3);
        assert!((found(20, 80) - power(0.7, 10)).abs() < 1e-12);
        // No, one or two of ten arrive: 0.3¹⁰ + 10·0.7·0.3⁹ + 45·0.7²·0.3⁸.
        let timeout = 5.9049e-6 + 10.0 * 0.7 * 1.9683e-5 + 45.0 * 0.49 * 6.561e-5;
        assert!((found(1, 5) - timeout).abs() < 1e-9);
        assert!((found(5, 5) - (1.0 - power(0.7, 10) - timeout)).abs() < 1e-9);
    }

    #[test]
    fn the_numbers_of_pythons_round_model() {
        let all: serde_json::Value =
            serde_json::from_str(include_str!("../../../../tests/vectors/rounds.json")).unwrap();
        let mut count = 0;
        for case in all["capacity"].as_array().unwrap() {
            let number = |name: &str| case[name].as_f64().unwrap();
            let (window, threshold) = (number("window") as u32, number("threshold") as u32);
            let mut states = States::default();
            let (p, rounds) = (number("loss_rate"), number("rounds"));
            let found = delivered(window, threshold, p, rounds, f64::INFINITY, &mut states);
            assert!((found / number("segments") - 1.0).abs() < 1e-9, "{case}: {found}");
            count += 1;
        }
        assert!(count > 90, "{count}");
    }
}
