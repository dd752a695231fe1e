//! Property: no legal scenario panics, and two runs of it give the same packets and the same outcome. Every number is
//! drawn from its whole range, with the ends of the ranges, alone and in pairs, far more often than by chance.

mod draw;
mod network;

use crate::common::environment_number;
use draw::{Draw, End};
use scenario::Description;
use scenario::outcome::Outcome;
use sha2::{Digest, Sha256};
use simulator::{Interface, SimulateError, Tap};
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;

/// Time limit per network. Networks take less than a second: this detects one that never ends.
const PATIENCE: Duration = Duration::from_secs(600);

/// Hashes every packet at the hosts with its time.
struct Hashed(Arc<Mutex<Sha256>>);

impl Tap for Hashed {
    fn packet(&mut self, _: Interface, now_ns: u64, bytes: &[u8]) {
        let mut hash = self.0.lock().unwrap();
        hash.update(now_ns.to_le_bytes());
        hash.update(bytes);
    }

    fn finish(&mut self) -> Result<(), String> {
        Ok(())
    }
}

/// A run of at most some 65,536 events: the hash of its packets, and its outcome or the error.
fn run(description: &Description) -> (String, Result<Outcome, SimulateError>) {
    let hash = Arc::new(Mutex::new(Sha256::new()));
    let outcome = simulator::simulate_tapped(description, &mut |_| false, Box::new(Hashed(Arc::clone(&hash))));
    let packets = hash.lock().unwrap().clone().finalize();
    (format!("{packets:x}"), outcome)
}

/// A NaN or an infinite number in the outcome. Samples use NaN if there is no value.
fn unfit(outcome: &Outcome) -> Option<String> {
    let said = format!("{:?} {:?}", outcome.connections, outcome.links);
    let word = said.split(|c: char| !c.is_alphanumeric()).find(|word| ["NaN", "inf"].contains(word))?;
    let place = said.find(&format!(" {word}")).unwrap_or(0);
    Some(format!("{word} in its outcome: {}", &said[place.saturating_sub(40)..place + 4]))
}

/// What is wrong with the network of a seed, and its keys at an end of their range.
fn of_seed(seed: u64) -> (Option<String>, BTreeSet<End>) {
    let (mut network, Draw { ends, .. }) = network::of_seed(seed);
    let (mut packets, mut outcome) = run(&network);
    if let Err(SimulateError::Stopped { at_ns }) = outcome {
        // Only a run that ends by itself has an outcome.
        network.duration_ns = (at_ns / 4).max(1);
        network.warmup_ns = network.warmup_ns.min(network.duration_ns - 1);
        (packets, outcome) = run(&network);
    }
    let again = run(&network);
    let equal = format!("{again:?}") == format!("{:?}", (&packets, &outcome));
    let fault = match outcome {
        _ if !equal => Some("two runs differ".to_owned()),
        Ok(outcome) => unfit(&outcome),
        Err(SimulateError::Stopped { .. } | SimulateError::TooMany { .. }) => None,
        // Without checksums, changed content is accepted.
        Err(SimulateError::Corrupt { .. }) if changes_content(&network) => None,
        Err(error) => Some(error.to_string()),
    };
    (fault, ends)
}

fn changes_content(network: &Description) -> bool {
    use ::network::middlebox::MiddleboxConfig::PayloadRewriting;
    network.links.iter().flat_map(|link| &link.middleboxes).any(|each| matches!(each, PayloadRewriting(_)))
}

/// As [`of_seed`]. A panic or an endless run is a fault.
fn judged(seed: u64) -> (Option<String>, BTreeSet<End>) {
    let (said, heard) = mpsc::channel();
    let worker = std::thread::spawn(move || {
        // The receiver is gone if it ran out of patience.
        let _ = said.send(of_seed(seed));
    });
    match heard.recv_timeout(PATIENCE) {
        Ok(judged) => judged,
        Err(mpsc::RecvTimeoutError::Timeout) => (Some("it does not end".to_owned()), BTreeSet::new()),
        Err(mpsc::RecvTimeoutError::Disconnected) => {
            let panic = worker.join().expect_err("it said nothing");
            let text = panic.downcast_ref::<String>().cloned();
            let text = text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()));
            (Some(format!("panics: {}", text.unwrap_or_default())), BTreeSet::new())
        }
    }
}

/// Seeds 0 to 299, or up to `EXTREME_CASES` (`make soak-extreme`: 20,000); or the one seed `EXTREME_SEED`, whose
/// network is printed.
#[test]
fn no_legal_network_panics_and_two_runs_are_equal() {
    let one = environment_number("EXTREME_SEED");
    let from = environment_number("EXTREME_FROM").unwrap_or(0);
    let seeds = one.map_or(from..from + environment_number("EXTREME_CASES").unwrap_or(300), |seed| seed..seed + 1);
    if let Some(seed) = one {
        println!("{:#?}", network::of_seed(seed).0);
    }
    let (mut failed, mut ends, mut pairs) = (Vec::new(), BTreeSet::new(), BTreeSet::new());
    for seed in seeds.clone() {
        let (fault, at_ends) = judged(seed);
        if let Some(fault) = fault {
            println!("EXTREME_SEED={seed}: {fault}");
            failed.push(seed);
        }
        let at_ends: Vec<End> = at_ends.into_iter().collect();
        for (place, one) in at_ends.iter().enumerate() {
            pairs.extend(at_ends[place + 1..].iter().map(|other| (one.clone(), other.clone())));
        }
        ends.extend(at_ends);
    }
    let keys: BTreeSet<&String> = ends.iter().map(|(key, _)| key).collect();
    println!(
        "{} networks, {} failed; {} ends of {} keys, {} pairs of them",
        seeds.end - seeds.start,
        failed.len(),
        ends.len(),
        keys.len(),
        pairs.len()
    );
    assert!(failed.is_empty(), "these seeds fail: {failed:?}");
}
