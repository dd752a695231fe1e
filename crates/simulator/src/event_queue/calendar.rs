//! Events of the near future, at most one for each target: a calendar (R. Brown, "Calendar Queues", Communications of the
//! ACM 31(10), 1988) of 4,096 days that are laid over time again and again. A day has its events in a list through the
//! targets themselves, so nothing is allocated or moved, and a bitmap tells the next day that has any.

use super::Entry;

const DAYS: usize = 4096;
const WORDS: usize = DAYS / 64;
/// Ends a list.
const NONE: u32 = u32::MAX;

/// The event of a target.
#[derive(Clone, Copy)]
struct Slot {
    time_ns: u64,
    /// What orders events of one time: the lower half of an [`Entry`].
    order: u64,
    /// The target with the next event of the same day.
    next: u32,
}

impl Slot {
    #[inline]
    fn entry(&self) -> Entry {
        Entry(u128::from(self.time_ns) << 64 | u128::from(self.order))
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
    /// A day is 2^`day_bits` nanoseconds long.
    day_bits: u32,
    span_ns: u64,
    /// Today, numbered from 0 at the beginning of time: no event is earlier.
    today: u64,
    /// Days with events, and the words of these bits that are not 0.
    days: [u64; WORDS],
    words: u64,
    /// The first target of each day.
    first: Box<[u32; DAYS]>,
    slots: Vec<Slot>,
}

impl Calendar {
    /// How long a day is in a calendar for events that mostly lie less than `span_ns` ahead; a power of two.
    pub fn day_ns(span_ns: u64) -> u64 {
        (span_ns / (DAYS as u64 - 1)).max(1).checked_next_power_of_two().unwrap_or(1 << 63)
    }

    /// For targets below `targets`, whose events mostly lie less than `span_ns` ahead.
    pub fn new(targets: usize, span_ns: u64) -> Calendar {
        Calendar {
            day_bits: Self::day_ns(span_ns).trailing_zeros(),
            span_ns,
            today: 0,
            days: [0; WORDS],
            words: 0,
            first: Box::new([NONE; DAYS]),
            slots: vec![Slot { time_ns: 0, order: 0, next: NONE }; targets],
        }
    }

    /// Enters `entry`; false, and nothing is entered, when its target has no place here or its day lies too far ahead. Its
    /// target has no event here yet.
    #[inline]
    pub fn push(&mut self, entry: Entry) -> bool {
        let (target, time_ns) = (entry.target(), entry.time_ns());
        let day = time_ns >> self.day_bits;
        debug_assert!(day >= self.today, "an event of the past");
        if day - self.today >= DAYS as u64 {
            return false;
        }
        let Some(slot) = self.slots.get_mut(target as usize) else { return false };
        let day = day as usize % DAYS;
        *slot = Slot { time_ns, order: entry.0 as u64, next: self.first[day] };
        self.first[day] = target;
        self.days[day / 64] |= 1 << (day % 64);
        self.words |= 1 << (day / 64);
        true
    }

    /// Takes the earliest event when it comes before `limit`.
    #[inline]
    pub fn pop_before(&mut self, limit: Entry) -> Option<Entry> {
        let day = self.next_day(self.today)?;
        let (mut before, mut target) = (NONE, self.first[day]);
        let mut earliest = self.slots[target as usize];
        let mut previous = target;
        let mut next = earliest.next;
        // As a rule a day has no second event.
        while next != NONE {
            let slot = self.slots[next as usize];
            if slot.entry() < earliest.entry() {
                (before, target, earliest) = (previous, next, slot);
            }
            previous = next;
            next = slot.next;
        }
        if earliest.entry() >= limit {
            return None;
        }
        self.unlink(day, before, earliest.next);
        debug_assert_eq!(earliest.entry().target(), target);
        Some(earliest.entry())
    }

    /// No event will be entered for a time before `now_ns`, and none that is here is earlier.
    #[inline]
    pub fn advance(&mut self, now_ns: u64) {
        self.today = now_ns >> self.day_bits;
    }

    /// In how many days lie what [`Calendar::new`] was told.
    pub fn days_ahead(&self) -> u64 {
        self.span_ns >> self.day_bits
    }

    /// The target of the event that follows `cursor`, by days, no more than `days` ahead. It is a guess: of a day that has
    /// changed since, events are left out or come from elsewhere.
    #[inline]
    pub fn following(&self, cursor: &mut Cursor, days: u64) -> Option<u32> {
        let mut target = cursor.next;
        if target == NONE {
            let from = (cursor.day + 1).max(self.today);
            if from > self.today + days {
                return None;
            }
            let place = self.next_day(from)?;
            let ahead = (place as u64).wrapping_sub(from) % DAYS as u64;
            if ahead > days {
                return None;
            }
            cursor.day = from + ahead;
            target = self.first[place];
        }
        cursor.next = self.slots.get(target as usize)?.next;
        Some(target)
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

    /// Takes out all events, in no order.
    pub fn drain(&mut self) -> Vec<Entry> {
        let mut entries = Vec::new();
        for first in self.first.iter_mut() {
            while *first != NONE {
                let slot = self.slots[*first as usize];
                entries.push(slot.entry());
                *first = slot.next;
            }
        }
        self.days = [0; WORDS];
        self.words = 0;
        entries
    }

    /// The place of the first day with events, from `day` on.
    #[inline]
    fn next_day(&self, day: u64) -> Option<usize> {
        let today = day as usize % DAYS;
        let word = today / 64;
        let rest = self.days[word] >> (today % 64);
        if rest != 0 {
            return Some((today + rest.trailing_zeros() as usize) % DAYS);
        }
        let later = self.words & (u64::MAX << word << 1);
        // Else the days before today, which are those of the next round.
        let words = if later == 0 { self.words } else { later };
        if words == 0 {
            return None;
        }
        let word = words.trailing_zeros() as usize;
        Some((word * 64 + self.days[word % WORDS].trailing_zeros() as usize) % DAYS)
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
                self.words &= !(1 << (day / 64));
            }
        }
    }
}
