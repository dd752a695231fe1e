//! The same description gives the same outcome, to the last bit; components without traffic change nothing.

use crate::common::*;
use network::loss;
use scenario::description::{Application, Description, Limit, LossConfig};
use scenario::outcome::Outcome;

/// Two lossy paths, a coupled connection beside others, random start times, a changing link, samples.
fn busy() -> Description {
    let loss = LossConfig::Bernoulli(loss::Bernoulli { probability: 0.01 });
    let links = vec![
        lossy(link("a", 10 * MBIT, 5 * MS, Limit::Packets(30)), loss),
        lossy(link("b", 5 * MBIT, 30 * MS, Limit::Packets(50)), loss),
    ];
    let mut description = with_links(description(10 * SECOND), links);
    description.connections = vec![mptcp("m", &[0, 1], Application::Bulk), tcp("t", 0, file(400_000))];
    description.connections[0].count = 2;
    description.connections[1].count = 5;
    description.connections[1].start_ns = [0, 3 * SECOND];
    description.warmup_ns = SECOND;
    description.sample_ns = Some(100 * MS);
    description.events = vec![event(4 * SECOND, 1, dead(true)), event(5 * SECOND, 1, dead(false))];
    description
}

/// All values of an outcome: shortest round-trip decimals, including NaN, which does not compare equal.
fn text(outcome: &Outcome) -> String {
    format!("{outcome:?}")
}

#[test]
fn twice_in_one_process_gives_the_same_outcome() {
    let first = run(&busy());
    assert_eq!(text(&first), text(&run(&busy())));
    assert!(first.connections.iter().all(|c| c.bytes_delivered > 0), "the scenario is not as busy as it should be");
    assert!(first.links.iter().all(|l| l.drops > 0));
}

#[test]
fn another_seed_gives_another_outcome() {
    let mut other = busy();
    other.seed = 2;
    assert_ne!(text(&run(&busy())), text(&run(&other)));
}

#[test]
fn watching_changes_nothing() {
    let mut busy = busy();
    (busy.duration_ns, busy.through_wire) = (100 * SECOND, false);
    let mut calls = 0;
    let watched = simulator::simulate(&busy, &mut |_| {
        calls += 1;
        true
    });
    assert_eq!(text(&watched.unwrap()), text(&run(&busy)));
    assert!(calls > 0, "too few events to be watched");
}

#[test]
fn the_way_through_the_codec_changes_nothing() {
    let mut direct = busy();
    direct.through_wire = false;
    assert_eq!(text(&run(&busy())), text(&run(&direct)));
}

#[test]
fn an_unused_link_changes_nothing_but_its_own_row() {
    let plain = busy();
    let mut more = plain.clone();
    // In front, so that every index shifts; with changes of its own.
    more.links.insert(
        0,
        lossy(link("idle", MBIT, MS, Limit::Packets(10)), LossConfig::Bernoulli(loss::Bernoulli { probability: 0.5 })),
    );
    more.paths.iter_mut().flat_map(|path| &mut path.links).for_each(|link| *link += 1);
    more.events.iter_mut().for_each(|event| event.link += 1);
    more.events.push(event(2 * SECOND, 0, dead(true)));
    more.events.insert(0, event(3 * SECOND, 0, dead(false)));
    let (plain, more) = (run(&plain), run(&more));

    assert_eq!(plain.work, more.work);
    assert_eq!(format!("{:?}", plain.connections), format!("{:?}", more.connections));
    assert_eq!(format!("{:?}", plain.subflow_samples), format!("{:?}", more.subflow_samples));
    assert!(more.links[..2].iter().all(|row| row.utilization == 0.0 && row.loss_rate.is_none()));
    let rows = |rows: &[scenario::outcome::Link], from: usize| -> Vec<String> {
        rows[2 * from..]
            .iter()
            .map(|row| format!("{:?}", scenario::outcome::Link { link: row.link - from, ..row.clone() }))
            .collect()
    };
    assert_eq!(rows(&plain.links, 0), rows(&more.links, 1));
    let samples = |outcome: &Outcome, from: u32| -> Vec<String> {
        let samples = &outcome.link_samples;
        (0..samples.time_s.len())
            .filter(|&row| samples.link[row] >= 2 * from)
            .map(|row| {
                format!(
                    "{} {} {} {} {} {}",
                    samples.time_s[row],
                    samples.link[row] - 2 * from,
                    samples.queue_packets[row],
                    samples.queue_bytes[row],
                    samples.utilization[row],
                    samples.drops[row]
                )
            })
            .collect()
    };
    assert_eq!(samples(&plain, 0), samples(&more, 1));
    assert_eq!(plain.link_samples.time_s.len(), 4 * 100);
}

/// With this many links the main loop prefetches, which must affect the speed only.
#[test]
fn looking_ahead_in_a_large_network_changes_nothing() {
    let small = run(&busy());
    let mut large = busy();
    let idle = (0..60).map(|number| link(&format!("idle-{number}"), 10 * MBIT, 5 * MS, Limit::Packets(30)));
    large.links.extend(idle);
    let large = run(&large);
    assert_eq!(format!("{:?}", small.connections), format!("{:?}", large.connections));
    assert_eq!(format!("{:?}", small.links), format!("{:?}", &large.links[..4]));
}
