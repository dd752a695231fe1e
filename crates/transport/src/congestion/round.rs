//! Round trips counted in what is acknowledged.

/// A round ends when all that was in flight at its beginning has been acknowledged, which is what RFC 9406 §4.2 says
/// with sequence numbers (windowEnd = SND.NXT). Exact while segments are full and nothing is lost; a loss must
/// begin a new round, for what is repaired in recovery is not counted here.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Round {
    /// Segments of the round that are still to be acknowledged.
    left: f64,
}

impl Round {
    /// Counts an acknowledgment, after which `in_flight` segments are in the network: true when it ended the round.
    pub fn ended_by(&mut self, acked_segments: f64, in_flight: u32) -> bool {
        self.left -= acked_segments;
        // Segments acknowledged in part add up with rounding errors.
        let ended = self.left < 1e-6;
        if ended {
            self.left = f64::from(in_flight);
        }
        ended
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_round_is_what_was_in_flight() {
        let mut round = Round::default();
        assert!(round.ended_by(1.0, 10), "the first acknowledgment begins a round");
        let ends: Vec<bool> = (0..20).map(|_| round.ended_by(1.0, 12)).collect();
        let at: Vec<usize> = (0..20).filter(|&i| ends[i]).collect();
        assert_eq!(at, [9], "ten segments, then twelve");
        for _ in 0..10 {
            assert!(!round.ended_by(0.1, 0));
        }
        assert!(round.ended_by(1.0, 5));
        assert!(round.ended_by(7.0, 0), "an acknowledgment of more ends it");
        assert!(round.ended_by(0.2, 0), "with nothing in flight each acknowledgment is a round");
    }
}
