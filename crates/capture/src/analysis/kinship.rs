//! Finds the subflows of one connection if no token identifies it because the handshakes were not captured: their data
//! sequence numbers and DATA_ACKs are close to each other in both directions.

use super::leg::Leg;

/// Maximum distance between the sequence numbers of subflows of one connection, the data in flight: for 64-bit numbers,
/// and for 32-bit ones.
const NEAR: [u64; 2] = [1 << 30, 1 << 24];

/// The data sequence numbers in one direction of a subflow: the first and the last, and whether they have 64 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Range {
    first: u64,
    last: u64,
    long: bool,
}

/// Ranges for the opener's data and for the other end's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Numbers([Option<Range>; 2]);

impl Numbers {
    /// The ranges of a leg.
    pub fn of(leg: &Leg) -> Numbers {
        let mut found = Numbers::default();
        for record in leg.records.iter() {
            let (from, opener) = (record.from(), leg.opener);
            if record.has.mapping() && record.map_len > 0 {
                found.note(usize::from(from != opener), record.dsn, record.has.long_dsn());
            }
            if record.has.data_ack() {
                found.note(usize::from(from == opener), record.data_ack, record.has.long_data_ack());
            }
        }
        found
    }

    fn note(&mut self, side: usize, number: u64, long: bool) {
        let range = self.0[side].get_or_insert(Range { first: number, last: number, long });
        // 64-bit numbers carry more information; 32-bit numbers are compared with their lower half.
        if long && !range.long {
            *range = Range { first: number, last: number, long };
        } else if long == range.long {
            range.last = number;
        }
    }

    /// `None` if the subflows belong to different connections; otherwise whether the same side opened both.
    pub fn kin(&self, other: &Numbers) -> Option<bool> {
        let fits = |swapped: bool| {
            let pairs = [0, 1].map(|side| (self.0[side], other.0[if swapped { 1 - side } else { side }]));
            let mut sure = 0;
            for (one, other) in pairs {
                let (Some(one), Some(other)) = (one, other) else { continue };
                if !one.is_near(other) {
                    return false;
                }
                // One direction with 64 bits is enough, or both with 32 bits.
                sure += if one.long && other.long { 2 } else { 1 };
            }
            sure >= 2
        };
        if fits(false) { Some(true) } else { fits(true).then_some(false) }
    }
}

impl Range {
    fn is_near(self, other: Range) -> bool {
        let long = self.long && other.long;
        let [near, distance]: [u64; 2] = if long {
            [NEAR[0], self.outside(other.first).min(other.outside(self.first))]
        } else {
            let narrow = |range: Range| Range {
                first: 0,
                last: u64::from((range.last as u32).wrapping_sub(range.first as u32)),
                long,
            };
            let between = |one: Range, other: Range| {
                let at = i64::from((other.first as u32).wrapping_sub(one.first as u32) as i32);
                narrow(one).outside(at as u64)
            };
            [NEAR[1], between(self, other).min(between(other, self))]
        };
        distance <= near
    }

    /// Distance of a number from the range; 0 inside.
    fn outside(self, number: u64) -> u64 {
        let length = self.last.wrapping_sub(self.first);
        let length = if length >> 63 == 0 { length } else { 0 };
        let at = number.wrapping_sub(self.first) as i64;
        if at < 0 { at.unsigned_abs() } else { at.unsigned_abs().saturating_sub(length) }
    }
}
