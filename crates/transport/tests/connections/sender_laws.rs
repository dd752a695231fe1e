//! What holds for a sender whatever the network does: no new data beyond the window but what limited transmit allows.

use crate::common::{CLIENT, MS, Pair, Path};
use proptest::prelude::*;
use transport::congestion::Choice;
use transport::{Config, LossDetection, Protocol, SubflowId, TcpOptions};

/// Controls that know only one subflow, so that they do for TCP.
fn control() -> impl Strategy<Value = Choice> {
    prop::sample::select(vec!["reno", "cubic"]).prop_map(|name| Choice::named(name).expect("in the table"))
}

proptest! {
    #![proptest_config(ProptestConfig { max_shrink_iters: 300, ..ProptestConfig::with_cases(200) })]

    /// RFC 5681 §3.2: on each of the first two duplicate acknowledgments one new segment beyond the window, and no more, whether
    /// the acknowledgments come of losses, reordering or duplication.
    #[test]
    fn no_new_data_beyond_the_window_and_two_segments(
        seed: u64,
        congestion in control(),
        flags in any::<(bool, bool, bool)>(),
        delay_ms in 1u64..100,
        jitter_ms in prop_oneof![Just(0u64), 1u64..20],
        loss in prop_oneof![Just(0u64), 1u64..50],
        duplication in prop_oneof![Just(0u64), 1u64..100],
        bytes in 50_000u64..300_000,
    ) {
        let (sack, rack, frto) = flags;
        let loss_detection = if rack { LossDetection::RackTlp } else { LossDetection::Sack };
        let tcp = TcpOptions { sack, frto, loss_detection, ..TcpOptions::default() };
        let config = Config { protocol: Protocol::Tcp, congestion, tcp, ..Config::default() };
        let path = Path { jitter_ns: jitter_ms * MS, loss, duplication, ..Path::clean(delay_ms * MS) };
        let mut pair = Pair::new(seed, [config.clone(), config], vec![path]);
        pair.connection(CLIENT).offer(bytes);
        let mut before = 0;
        let mut worst = None;
        pair.run_until(600_000 * MS, |p| {
            let connection = p.connection(CLIENT);
            let statistics = connection.statistics(SubflowId(0));
            let new = statistics.data_segments_sent - statistics.retransmissions;
            let view = &connection.views()[0];
            if new > before && f64::from(view.in_flight) > view.cwnd.max(1.0) + 2.0 {
                worst.get_or_insert((p.now_ns, p.connection(CLIENT).views()[0]));
            }
            before = new;
            worst.is_some() || p.read[1 - CLIENT] == bytes
        });
        prop_assert!(worst.is_none(), "{:?}", worst);
    }
}
