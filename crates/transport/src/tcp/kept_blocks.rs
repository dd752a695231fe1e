//! The SACK blocks that a receiver as Linux's remembers: the four touched last, each as far as it was told of what it holds. One that
//! is forgotten does not come back, also where a later segment joins what it was of (`tcp_sack_new_ofo_skb`, `tcp_sack_maybe_coalesce`,
//! `tcp_sack_remove`).

/// `TCP_NUM_SACKS`.
const MOST: usize = 4;

/// The latest first.
#[derive(Clone, Copy, Debug, Default)]
pub struct KeptBlocks {
    blocks: [(u64, u64); MOST],
    len: usize,
}

impl KeptBlocks {
    pub fn all(&self) -> &[(u64, u64)] {
        &self.blocks[..self.len]
    }

    /// Which of them, from 0 on, what lies between these numbers touches; their number if none.
    pub fn place_of(&self, from: u64, to: u64) -> usize {
        self.all().iter().position(|&block| touches(block, (from, to))).unwrap_or(self.len)
    }

    /// What lies between these numbers has come behind a hole.
    pub fn keep(&mut self, from: u64, to: u64) {
        let place = self.place_of(from, to);
        let mut latest = (from, to);
        if place < self.len {
            latest = joined(self.blocks[place], latest);
        } else {
            self.len = (self.len + 1).min(MOST);
        }
        self.blocks.copy_within(..place.min(MOST - 1), 1);
        self.blocks[0] = latest;
        // The latest may reach others now.
        let mut kept = 1;
        for place in 1..self.len {
            let block = self.blocks[place];
            if touches(self.blocks[0], block) {
                self.blocks[0] = joined(self.blocks[0], block);
            } else {
                self.blocks[kept] = block;
                kept += 1;
            }
        }
        self.len = kept;
    }

    /// All before `next` is there.
    pub fn forget_below(&mut self, next: u64) {
        let mut kept = 0;
        for place in 0..self.len {
            if self.blocks[place].0 > next {
                self.blocks[kept] = self.blocks[place];
                kept += 1;
            }
        }
        self.len = kept;
    }
}

fn touches(one: (u64, u64), other: (u64, u64)) -> bool {
    other.0 <= one.1 && one.0 <= other.1
}

fn joined(one: (u64, u64), other: (u64, u64)) -> (u64, u64) {
    (one.0.min(other.0), one.1.max(other.1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_four_touched_last_are_kept_as_far_as_they_were_told() {
        let mut kept = KeptBlocks::default();
        for from in [10, 30, 50, 70, 90] {
            kept.keep(from, from + 10);
        }
        assert_eq!(kept.all(), [(90, 100), (70, 80), (50, 60), (30, 40)], "the first is forgotten");
        // What joins it is a block of its own; one that is touched is the latest, and the others stay.
        kept.keep(20, 25);
        assert_eq!(kept.all(), [(20, 25), (90, 100), (70, 80), (50, 60)]);
        assert_eq!([kept.place_of(60, 65), kept.place_of(26, 29)], [3, 4]);
        kept.keep(60, 65);
        assert_eq!(kept.all(), [(50, 65), (20, 25), (90, 100), (70, 80)]);
        // Three become one.
        kept.keep(65, 90);
        assert_eq!(kept.all(), [(50, 100), (20, 25)]);
        kept.forget_below(20);
        assert_eq!(kept.all(), [(50, 100)]);
        kept.forget_below(50);
        assert_eq!(kept.all(), []);
    }
}
