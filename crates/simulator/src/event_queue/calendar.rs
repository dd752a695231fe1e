//! Events of the near future, at most one for each target: a calendar (R. Brown, "Calendar Queues", Communications of the
//! ACM 31(10), 1988) of 4,096 days that are laid over time again and again. A day has its events in a list through the
//! targets themselves, so nothing is allocated or moved, and a bitmap tells the next day that has any: 64 days are a week.

use super::stamp::Stamp;

const DAYS: usize = 4096;
const WEEKS: usize = DAYS / 64;
/// Ends a list.
const NONE: u32 = u32::MAX;
/// In place of a time and a target.
pub const NOTHING: (u64, u32) = (u64::MAX, NONE);

/// The event of a target.
#[derive(Clone, Copy)]
struct Slot {
    time_ns: u64,
    since_ns: u64,
    /// The target with the next event of the same day.
    next: u32,
    /// What the caller noted about the event, for looking ahead.
    note: u32,
}

impl Slot {
    /// Of the slot of `target`.
    #[inline]
    fn stamp(&self, target: u32) -> Stamp {
        Stamp::new(self.since_ns, self.time_ns, target)
    }
}

/// How far somebody has looked ahead.
pub struct Cursor {
    /// The day of the event looked at last.
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
    /// The week that is now, numbered from 0 at the beginning of time: no event is of an earlier one.
    week: u64,
    /// What comes then or later has no place. That is before this week comes round again, so that all days of it that have
    /// events are still to come.
    end_ns: u64,
    /// Days with events, and the words of these bits that are not 0; this week's may be 0 all the same.
    days: [u64; WEEKS],
    weeks: u64,
    slots: Vec<Slot>,
    /// The first target of each day.
    first: Box<[u32; DAYS]>,
    /// A day is 2^`day_bits` nanoseconds long.
    day_bits: u32,
    span_ns: u64,
    /// How long all weeks but one are.
    reach_ns: u64,
}

impl Calendar {
    /// How long a day is in a calendar for events that mostly lie less than `span_ns` ahead; a power of two.
    pub fn day_ns(span_ns: u64) -> u64 {
        (span_ns / (DAYS as u64 - 128)).max(1).checked_next_power_of_two().unwrap_or(1 << 63)
    }

    /// For targets below `targets`, whose events mostly lie less than `span_ns` ahead.
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

    /// Enters an event; false, and nothing is entered, when its target has no place here or the time lies too far ahead.
    /// The target has no event here yet. `note` is what [`Self::following`] returns for it.
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

    /// Takes the earliest event when it comes before `horizon`: its time and target, or [`NOTHING`], which goes in
    /// registers where an `Option` would go through memory.
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
        // As a rule a day has no second event.
        if slot.next != NONE {
            return self.pop_of(week, day, horizon);
        }
        if time_ns >= horizon.time_ns && slot.stamp(target) >= *horizon {
            return NOTHING;
        }
        self.first[day % DAYS] = NONE;
        self.days[place] = days & (days - 1);
        if week != self.week {
            // Only now: of what is not taken something may still come before.
            self.turn_to(week);
        }
        (time_ns, target)
    }

    /// As [`Self::pop_before`]: the event is one of several on the day at `day`.
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

    /// It is `now_ns`: nothing will be entered for an earlier time, and nothing that is here is earlier.
    pub fn advance(&mut self, now_ns: u64) {
        self.turn_to(now_ns >> self.day_bits >> 6);
    }

    /// From now on it is this week.
    #[inline]
    fn turn_to(&mut self, week: u64) {
        let before = self.week as usize % WEEKS;
        if self.days[before] == 0 {
            self.weeks &= !(1 << before);
        }
        self.week = week;
        self.end_ns = (week << self.day_bits << 6).saturating_add(self.reach_ns);
    }

    /// In how many days lie what [`Calendar::new`] was told.
    pub fn days_ahead(&self) -> u64 {
        self.span_ns >> self.day_bits
    }

    /// The target and the note of the event that follows `cursor`, by days, no more than `days` after `now_ns`. It is a
    /// guess: of a day that has changed since, events are left out or come from elsewhere.
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

    /// Takes out the event of `target`, if there is one.
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

    /// The first week from `from` on that has events, where `from` is not before this week.
    #[inline]
    fn next_week(&self, from: u64) -> Option<u64> {
        // This week comes last: it has none, or it was asked for.
        let weeks = self.weeks.rotate_right(from as u32 % WEEKS as u32);
        let week = from + u64::from(weeks.trailing_zeros());
        (week < self.week + WEEKS as u64).then_some(week)
    }

    /// Takes the event behind that of `before`, or the first, out of its day's list; `next` comes after it.
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
