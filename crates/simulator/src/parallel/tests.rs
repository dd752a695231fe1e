use super::*;
use std::sync::atomic::AtomicUsize;

#[test]
fn nobody_passes_before_all_have_come() {
    const THREADS: usize = 4;
    let (gate, come) = (Gate::new(THREADS), AtomicUsize::new(0));
    std::thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                for round in 1..=500 {
                    come.fetch_add(1, Ordering::Relaxed);
                    assert!(gate.pass());
                    assert!(come.load(Ordering::Relaxed) >= THREADS * round);
                    assert!(gate.pass());
                }
            });
        }
    });
}

#[test]
fn who_panics_lets_the_others_go() {
    let gate = Gate::new(2);
    std::thread::scope(|scope| {
        let panics = scope.spawn(|| {
            let _alarm = Alarm(&gate);
            panic!("for the test");
        });
        assert!(!gate.pass());
        assert!(panics.join().is_err());
    });
}
