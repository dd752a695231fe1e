//! A calendar queue for events of the near future, at most one per target (R. Brown, "Calendar Queues", Communications
//! of the ACM 31(10), 1988). It has 4,096 days that are reused cyclically. The events of a day form a list linked
//! through their targets, so that nothing is allocated or moved. A bitmap finds the next day with events; 64 days are a
//! week.

use super::stamp::Stamp;

const DAYS: usize = 4096;
const WEEKS: usize = DAYS / 64;
/// End of a list.
const NONE: u32 = u32::MAX;
/// Stands for no time and target.
pub const NOTHING: (u64, u32) = (u64::MAX, NONE);

/// The event of a target.
#[derive(Clone, Copy)]
struct Slot {
    time_ns: u64,
    since_ns: u64,
    /// The target with the next event of the same day.
    next: u32,
    /// The caller's note on the event, for prefetching.
    note: u32,
}

impl Slot {
    /// The stamp of `target`'s event in this slot.
    #[inline]
    fn stamp(&self, target: u32) -> Stamp {
        Stamp::new(self.since_ns, self.time_ns, target)
    }
}

/// Position of the prefetching.
pub struct Cursor {
    /// Day of the event looked at last.
    day: u64,
    /// The target with the next event of that day.
    next: u32,
}

impl Default for Cursor {
    fn default() -> Self {
        Cursor { day: 0, next: NONE }
    }
}

/// The calendar.
pub struct Calendar {
    /// The current week, numbered from time 0. No event lies in an earlier one.
    week: u64,
    /// Events at or after this time do not fit. It lies before the current week recurs, so that all days with events
    /// are in the future.
    end_ns: u64,
    /// Bitmap of the days with events, and a bitmap of its nonzero words. The bit of the current week may be set
    /// although its word is 0.
    days: [u64; WEEKS],
    weeks: u64,
    slots: Vec<Slot>,
    /// The first target of each day.
    first: Box<[u32; DAYS]>,
    /// The length of a day is 2^`day_bits` ns.
    day_bits: u32,
    span_ns: u64,
    /// Total length of all weeks but one.
    reach_ns: u64,
}

impl Calendar {
    /// Length of a day in a calendar for events that mostly lie less than `span_ns` ahead; a power of two.
    pub fn day_ns(span_ns: u64) -> u64 {
        (span_ns / (DAYS as u64 - 128)).max(1).checked_next_power_of_two().unwrap_or(1 << 63)
    }

    /// A calendar for targets below `targets`, whose events mostly lie less than `span_ns` ahead.
    pub fn new(targets: usize, span_ns: u64) -> Calendar {
        let day_ns = Self::day_ns(span_ns);
        let mut calendar = Calendar {
            week: 0,
            end_ns: 0,
            days: [0; WEEKS],
            weeks: 0,
            slots: vec![Slot { time_ns: 0, since_ns: 0, next: NONE, note: NONE }; targets],
            first: Box::new([NONE; DAYS]),
            day_bits: day_ns.trailing_zeros(),
            span_ns,
            reach_ns: day_ns.saturating_mul(DAYS as u64 - 64),
        };
        calendar.turn_to(0);
        calendar
    }

    /// Inserts an event. Returns false, without inserting, if the target has no slot here or the time lies too far
    /// ahead. The target must not have an event yet. `note` is what [`Self::following`] returns for it.
    #[inline(always)]
    pub fn push(&mut self, since_ns: u64, time_ns: u64, target: u32, note: u32) -> bool {
        debug_assert!(time_ns >> self.day_bits >> 6 >= self.week, "an event of the past");
        if time_ns >= self.end_ns {
            return false;
        }
        let Some(slot) = self.slots.get_mut(target as usize) else { return false };
        let day = (time_ns >> self.day_bits) as usize % DAYS;
        *slot = Slot { time_ns, since_ns, next: self.first[day], note };
        self.first[day] = target;
        self.days[day / 64] |= 1 << (day % 64);
        self.weeks |= 1 << (day / 64);
        true
    }

    /// Takes the earliest event if it comes before `horizon`. Returns its time and target, or [`NOTHING`], which is
    /// returned in registers whereas an `Option` would go through memory.
    #[inline(always)]
    pub fn pop_before(&mut self, horizon: &Stamp) -> (u64, u32) {
        let mut week = self.week;
        let mut days = self.days[week as usize % WEEKS];
        if days == 0 {
            let Some(next) = self.next_week(week + 1) else { return NOTHING };
            week = next;
            days = self.days[week as usize % WEEKS];
        }
        let place = week as usize % WEEKS;
        let day = place * 64 + days.trailing_zeros() as usize;
        let target = self.first[day % DAYS];
        let slot = &self.slots[target as usize];
        let time_ns = slot.time_ns;
        // A day usually has no second event.
        if slot.next != NONE {
            return self.pop_of(week, day, horizon);
        }
        if time_ns >= horizon.time_ns && slot.stamp(target) >= *horizon {
            return NOTHING;
        }
        self.first[day % DAYS] = NONE;
        self.days[place] = days & (days - 1);
        if week != self.week {
            // Only now, because earlier events may still be inserted as long as nothing was taken.
            self.turn_to(week);
        }
        (time_ns, target)
    }

    /// As [`Self::pop_before`], for a day at `day` with several events.
    #[inline(never)]
    fn pop_of(&mut self, week: u64, day: usize, horizon: &Stamp) -> (u64, u32) {
        let (mut before, mut target) = (NONE, self.first[day]);
        let mut earliest = self.slots[target as usize];
        let (mut previous, mut next) = (target, earliest.next);
        while next != NONE {
            let slot = self.slots[next as usize];
            if slot.stamp(next) < earliest.stamp(target) {
                (before, target, earliest) = (previous, next, slot);
            }
            (previous, next) = (next, slot.next);
        }
        if earliest.stamp(target) >= *horizon {
            return NOTHING;
        }
        self.unlink(day, before, earliest.next);
        self.turn_to(week);
        (earliest.time_ns, target)
    }

    /// Advances the time to `now_ns`. No event is earlier, and none will be inserted for an earlier time.
    pub fn advance(&mut self, now_ns: u64) {
        self.turn_to(now_ns >> self.day_bits >> 6);
    }

    /// Sets the current week.
    #[inline]
    fn turn_to(&mut self, week: u64) {
        let before = self.week as usize % WEEKS;
        if self.days[before] == 0 {
            self.weeks &= !(1 << before);
        }
        self.week = week;
        self.end_ns = (week << self.day_bits << 6).saturating_add(self.reach_ns);
    }

    /// The number of days in the `span_ns` given to [`Calendar::new`].
    pub fn days_ahead(&self) -> u64 {
        self.span_ns >> self.day_bits
    }

    /// The target and note of the event that follows `cursor`, in the order of days, at most `days` after `now_ns`.
    /// This is a guess: if a day has changed since, events are skipped or come from another day.
    #[inline]
    pub fn following(&self, cursor: &mut Cursor, now_ns: u64, days: u64) -> Option<(u32, u32)> {
        let mut target = cursor.next;
        if target == NONE {
            let from = (cursor.day + 1).max(self.week * 64);
            let place = from as usize / 64 % WEEKS;
            let rest = self.days[place] >> (from % 64);
            let day = match rest {
                0 => {
                    let week = self.next_week(from / 64 + 1)?;
                    week * 64 + u64::from(self.days[week as usize % WEEKS].trailing_zeros())
                }
                _ => from + u64::from(rest.trailing_zeros()),
            };
            if day > (now_ns >> self.day_bits) + days {
                return None;
            }
            cursor.day = day;
            target = self.first[day as usize % DAYS];
        }
        let slot = self.slots.get(target as usize)?;
        cursor.next = slot.next;
        Some((target, slot.note))
    }

    /// Removes the event of `target`, if there is one.
    pub fn remove(&mut self, target: u32) {
        for day in 0..DAYS {
            let (mut before, mut at) = (NONE, self.first[day]);
            while at != NONE {
                let next = self.slots[at as usize].next;
                if at == target {
                    self.unlink(day, before, next);
                    return;
                }
                (before, at) = (at, next);
            }
        }
    }

    /// The first week with events at or after `from`, which must not be before the current week.
    #[inline]
    fn next_week(&self, from: u64) -> Option<u64> {
        // The current week comes last unless it was asked for: it has no events then.
        let weeks = self.weeks.rotate_right(from as u32 % WEEKS as u32);
        let week = from + u64::from(weeks.trailing_zeros());
        (week < self.week + WEEKS as u64).then_some(week)
    }

    /// Unlinks the event after that of `before`, or the first, from its day's list. `next` is the event after it.
    #[inline]
    fn unlink(&mut self, day: usize, before: u32, next: u32) {
        if before != NONE {
            self.slots[before as usize].next = next;
            return;
        }
        self.first[day] = next;
        if next == NONE {
            let bits = &mut self.days[day / 64];
            *bits &= !(1 << (day % 64));
            if *bits == 0 {
                self.weeks &= !(1 << (day / 64));
            }
        }
    }
}
