//! What parts tell each other at the end of a window. Each place is written by one thread in one window and read by another in
//! the next, with a meeting of all between; the locks are never contended, they let the compiler know that.

use crate::flows::Parcel;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

/// On a line of the cache of its own, so that threads that write neighbours do not disturb each other.
#[repr(align(128))]
struct Line<T>(T);

/// Parcels and times of two windows: of the even ones, and of the odd ones.
pub struct Post {
    parts: usize,
    /// By window, sender and receiver.
    parcels: [Vec<Line<Mutex<Parcel>>>; 2],
    /// By window and part: when something happens next in it, or in another because of what it sent.
    next_ns: [Vec<Line<AtomicU64>>; 2],
}

impl Post {
    pub fn new(parts: usize) -> Post {
        let parcels = || (0..parts * parts).map(|_| Line(Mutex::new(Parcel::default()))).collect();
        let times = || (0..parts).map(|_| Line(AtomicU64::new(u64::MAX))).collect();
        Post { parts, parcels: [parcels(), parcels()], next_ns: [times(), times()] }
    }

    /// Part `from` has got so far: what it has for each of the others, and when something happens next.
    pub fn send(&self, window: u64, from: usize, next_ns: u64, parcels: &mut [Parcel]) {
        let half = window as usize % 2;
        for (to, parcel) in parcels.iter_mut().enumerate().filter(|(_, parcel)| !parcel.is_empty()) {
            let mut place = self.place(half, from, to);
            std::mem::swap(&mut *place, parcel);
        }
        self.next_ns[half][from].0.store(next_ns, Ordering::Release);
    }

    /// What the others have sent part `to`, in their order.
    pub fn receive(&self, window: u64, to: usize, mut take: impl FnMut(&mut Parcel)) {
        let others = (0..self.parts).filter(|&from| from != to);
        others.for_each(|from| take(&mut self.place(window as usize % 2, from, to)));
    }

    /// When something happens next anywhere.
    pub fn earliest_ns(&self, window: u64) -> u64 {
        let times = self.next_ns[window as usize % 2].iter();
        times.map(|line| line.0.load(Ordering::Acquire)).min().unwrap_or(u64::MAX)
    }

    fn place(&self, half: usize, from: usize, to: usize) -> std::sync::MutexGuard<'_, Parcel> {
        self.parcels[half][from * self.parts + to].0.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}
