//! Any bytes as a capture: no panic, neither in reading nor in the analysis.
#![no_main]

use capture::analysis::{Analyser, Options, laws};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|file: &[u8]| {
    let mut analyser = Analyser::default();
    if analyser.read("any", file, &mut |_| true).is_err() {
        return;
    }
    let analysis = analyser.finish(Options::default());
    assert_eq!(laws::violations(&analysis), []);
});
