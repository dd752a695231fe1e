//! Where threads wait for each other. They meet some hundred thousand times a second, so they wait awake for a while; then they
//! sleep, which leaves the processor to the one that all wait for, if it has none.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};

/// How often a thread looks before it sleeps: for some tens of microseconds.
const LOOKS: u32 = 2_000;

/// A place that opens when all threads have come.
pub struct Gate {
    threads: usize,
    waiting: AtomicUsize,
    /// How often it opened.
    opened: AtomicUsize,
    /// One of them will not come any more.
    broken: AtomicBool,
    asleep: AtomicUsize,
    bed: Mutex<()>,
    bell: Condvar,
}

impl Gate {
    pub fn new(threads: usize) -> Gate {
        Gate {
            threads,
            waiting: AtomicUsize::new(0),
            opened: AtomicUsize::new(0),
            broken: AtomicBool::new(false),
            asleep: AtomicUsize::new(0),
            bed: Mutex::new(()),
            bell: Condvar::new(),
        }
    }

    /// Waits until all have come. What one did before is visible to all afterwards. False when one has panicked.
    pub fn pass(&self) -> bool {
        let opened = self.opened.load(Ordering::SeqCst);
        if self.waiting.fetch_add(1, Ordering::SeqCst) + 1 == self.threads {
            self.waiting.store(0, Ordering::SeqCst);
            self.opened.store(opened.wrapping_add(1), Ordering::SeqCst);
            self.ring();
            return !self.broken.load(Ordering::SeqCst);
        }
        let waits = || self.opened.load(Ordering::SeqCst) == opened && !self.broken.load(Ordering::SeqCst);
        let mut looks = 0;
        while waits() {
            looks += 1;
            match looks < LOOKS {
                true => std::hint::spin_loop(),
                false => self.sleep(waits),
            }
        }
        !self.broken.load(Ordering::SeqCst)
    }

    /// Sleeps for as long as it `waits`. Either it finds that this has changed after it has said that it sleeps, or who changes
    /// it finds it asleep.
    #[cold]
    fn sleep(&self, waits: impl Fn() -> bool) {
        let mut bed = self.bed.lock().unwrap_or_else(PoisonError::into_inner);
        self.asleep.fetch_add(1, Ordering::SeqCst);
        while waits() {
            bed = self.bell.wait(bed).unwrap_or_else(PoisonError::into_inner);
        }
        self.asleep.fetch_sub(1, Ordering::SeqCst);
    }

    /// Wakes those who sleep.
    fn ring(&self) {
        if self.asleep.load(Ordering::SeqCst) > 0 {
            drop(self.bed.lock().unwrap_or_else(PoisonError::into_inner));
            self.bell.notify_all();
        }
    }
}

/// Lets the others go on when its thread panics, so that the panic is seen.
pub struct Alarm<'a>(pub &'a Gate);

impl Drop for Alarm<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.broken.store(true, Ordering::SeqCst);
            self.0.ring();
        }
    }
}
