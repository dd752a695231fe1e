//! Efficiency: features that lose no packets cost almost nothing. Each middlebox, option and kind of loss is compared
//! with the run without it, in goodput, timeouts, and retransmissions per loss.

use crate::common::*;
use network::{loss, middlebox};
use scenario::description::{
    Application, Connection, Description, Limit, LossConfig, LossDetection, MiddleboxConfig, TcpOptions,
};

/// Results of one minute of a TCP download over 20 Mbit/s with an RTT of 20 ms.
#[derive(Debug)]
struct Found {
    goodput_bps: f64,
    timeouts: u64,
    retransmissions: u64,
    /// Data segments lost by the link.
    lost: f64,
}

fn scenario(boxes: &[MiddleboxConfig], loss: &LossConfig, tcp: TcpOptions) -> Description {
    let mut network = with_links(description(60 * SECOND), vec![link("a", 20 * MBIT, 10 * MS, Limit::Packets(60))]);
    network.links[0].middleboxes = boxes.to_vec();
    network.links[0].down.loss = *loss;
    let stream = Application::Bulk;
    network.connections = vec![Connection { tcp, ..crate::common::tcp("t", 0, stream) }];
    network
}

fn found(network: &Description) -> Found {
    let outcome = run(network);
    let subflow = &outcome.connections[0].subflows[0];
    Found {
        goodput_bps: subflow.goodput_bps.unwrap(),
        timeouts: subflow.timeouts.unwrap(),
        retransmissions: subflow.retransmissions,
        lost: outcome.links[0].drops as f64,
    }
}

/// Number of packets that a middlebox which splits at `max_bytes` makes of a segment of 1448 bytes.
fn parts(max_bytes: u16) -> i32 {
    i32::from(1448_u16.div_ceil(max_bytes))
}

/// Probability that a segment loses at least one of its parts.
fn of_segment(probability: f64, max_bytes: u16) -> f64 {
    1.0 - (1.0 - probability).powi(parts(max_bytes))
}

const SACKS: [LossDetection; 2] = [LossDetection::RackTlp, LossDetection::Sack];

fn detecting(loss_detection: LossDetection) -> TcpOptions {
    TcpOptions { loss_detection, ..TcpOptions::default() }
}

/// The receiver acknowledges the parts selectively one by one, so blocks end within segments (issue 14, finding 1). A
/// link that loses one packet in 200 loses at least one part of a segment with the loss probability of the run
/// compared.
#[test]
fn a_box_that_splits_costs_what_its_packets_lose() {
    for loss_detection in SACKS {
        for max_bytes in [1447, 700] {
            let tcp = detecting(loss_detection);
            let split = [MiddleboxConfig::Splitting(middlebox::splitting::Config { max_bytes })];
            let boxed = found(&scenario(&split, &LossConfig::Bernoulli(loss::Bernoulli { probability: 0.005 }), tcp));
            let probability = of_segment(0.005, max_bytes);
            let whole = found(&scenario(&[], &LossConfig::Bernoulli(loss::Bernoulli { probability }), tcp));
            assert!((0.85..1.2).contains(&(boxed.goodput_bps / whole.goodput_bps)), "{boxed:?} {whole:?}");
            // RACK needs no timeout. Duplicate ACK counting needs one if a retransmission is lost too, with probability
            // 1/200 per part.
            let allowed = if loss_detection == LossDetection::RackTlp { 0 } else { 4 };
            assert!(boxed.timeouts <= allowed, "{loss_detection:?} {max_bytes}: {boxed:?}");
            assert!(boxed.retransmissions as f64 <= 1.05 * boxed.lost, "{loss_detection:?} {max_bytes}: {boxed:?}");
        }
        // Without loss except in the queue: the cost is the headers of the parts, and a queue that holds fewer bytes.
        let whole = found(&scenario(&[], &LossConfig::None, detecting(loss_detection)));
        for max_bytes in [1447, 700] {
            let split = [MiddleboxConfig::Splitting(middlebox::splitting::Config { max_bytes })];
            let boxed = found(&scenario(&split, &LossConfig::None, detecting(loss_detection)));
            let headers = f64::from(1448 + 52) / f64::from(1448 + 52 * parts(max_bytes));
            assert!(boxed.goodput_bps > 0.95 * headers * whole.goodput_bps, "{max_bytes}: {boxed:?} {whole:?}");
            assert!(boxed.timeouts == 0 && boxed.retransmissions as f64 <= boxed.lost, "{max_bytes}: {boxed:?}");
        }
    }
}

/// Without SACK, each part of a segment that was retransmitted needlessly causes a duplicate ACK. Three of them must
/// not start a recovery (RFC 6582 §3.2, `recover`; issue 14, findings 16 and 20): needless retransmissions would cause
/// more of them.
#[test]
fn a_box_that_splits_starts_no_storm_without_sack() {
    let tcp = detecting(LossDetection::Newreno);
    for loss in [LossConfig::None, LossConfig::Bernoulli(loss::Bernoulli { probability: 0.005 })] {
        for max_bytes in [1447, 700] {
            let boxed =
                found(&scenario(&[MiddleboxConfig::Splitting(middlebox::splitting::Config { max_bytes })], &loss, tcp));
            println!("{loss:?} {max_bytes} {boxed:?}");
            assert!(boxed.retransmissions as f64 <= 3.0 * boxed.lost, "{loss:?} {max_bytes}: {boxed:?}");
        }
    }
}

/// For each kind of loss, the retransmissions equal the losses, with slightly more without SACK.
#[test]
fn retransmissions_are_losses() {
    let bursts = LossConfig::GilbertElliott(loss::GilbertElliott {
        good_to_bad: 0.002,
        bad_to_good: 0.3,
        loss_good: 0.0,
        loss_bad: 0.5,
    });
    let periodic = LossConfig::Periodic(loss::Periodic { every_packets: 100 });
    for loss in [LossConfig::None, LossConfig::Bernoulli(loss::Bernoulli { probability: 0.01 }), periodic, bursts] {
        for (loss_detection, factor) in
            [(LossDetection::RackTlp, 1.05), (LossDetection::Sack, 1.05), (LossDetection::Newreno, 2.5)]
        {
            let found = found(&scenario(&[], &loss, detecting(loss_detection)));
            println!("{loss:?} {loss_detection:?} {found:?}");
            assert!(
                found.retransmissions as f64 <= factor * found.lost + 2.0,
                "{loss:?} {loss_detection:?}: {found:?}"
            );
        }
    }
}

/// Middleboxes that lose nothing and change no content cost nothing.
#[test]
fn boxes_that_only_rename_cost_nothing() {
    for loss in [LossConfig::None, LossConfig::Bernoulli(loss::Bernoulli { probability: 0.01 })] {
        for loss_detection in [LossDetection::RackTlp, LossDetection::Sack, LossDetection::Newreno] {
            let bare = found(&scenario(&[], &loss, detecting(loss_detection)));
            for renames in [
                MiddleboxConfig::Nat(middlebox::nat::Config {}),
                MiddleboxConfig::SequenceRewriting(middlebox::sequence_rewriting::Config { sack: true }),
            ] {
                let boxed = found(&scenario(&[renames], &loss, detecting(loss_detection)));
                assert_eq!(format!("{boxed:?}"), format!("{bare:?}"), "{renames:?} {loss:?} {loss_detection:?}");
            }
        }
    }
}
