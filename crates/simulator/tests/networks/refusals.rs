//! Descriptions that cannot be run are rejected before anything runs, with location and reason.

use crate::common::*;
use network::loss;
use scenario::Invalid;
use scenario::description::{Application, Arrivals, Description, Limit, LossConfig, Named, Protocol, Size};
use simulator::SimulateError;

fn with(name: &str, parameter: &str, value: u32) -> Named {
    Named { name: name.into(), parameters: [(parameter.into(), value.into())].into_iter().collect() }
}

fn flows(size: Size, rate_per_s: f64) -> Application {
    Application::Flows { size, arrivals: Arrivals::Poisson { rate_per_s } }
}

fn good() -> Description {
    let mut description = with_links(description(SECOND), vec![link("a", MBIT, MS, Limit::Packets(10))]);
    description.connections = vec![tcp("t", 0, file(1000))];
    description.events = vec![event(SECOND / 2, 0, dead(true))];
    description
}

#[test]
fn what_is_wrong_is_named() {
    type Spoil = fn(&mut Description);
    let cases: &[(Spoil, &str)] = &[
        (|d| d.duration_ns = 0, "the duration must be positive"),
        (|d| d.warmup_ns = SECOND, "the warm-up (1000000000 ns) must end before the run does (1000000000 ns)"),
        (|d| d.sample_ns = Some(0), "the distance of samples must be positive"),
        (|d| d.links.push(d.links[0].clone()), "two links are called \"a\""),
        (|d| d.connections.push(d.connections[0].clone()), "two connections are called \"t\""),
        (|d| d.links[0].down.rate_bps = 0, "link \"a\" down: rate_bps: found 0"),
        (
            |d| d.links[0].up.loss = LossConfig::Bernoulli(loss::Bernoulli { probability: 1.5 }),
            "link \"a\" up: probability: found 1.5",
        ),
        (|d| d.paths[0].links.clear(), "path \"a\": it has no link"),
        (|d| d.paths[0].links = vec![1], "path \"a\": there is no link 1 (1 links)"),
        (|d| d.paths[0].links = vec![0; 256], "path \"a\": at most 255 links, found 256"),
        (|d| d.paths[0].reversed = vec![true, false], "path \"a\": of 1 links, 2 are said to be reversed or not"),
        (
            |d| d.connections[0].application = Application::Rate { rate_bps: 0 },
            "connection \"t\": its rate must be positive",
        ),
        (
            |d| d.connections[0].application = flows(Size::Constant { mean_bytes: 1 }, 0.0),
            "connection \"t\": flows must arrive at 1e-12 to 1e9 per second, found 0",
        ),
        (
            |d| d.connections[0].application = flows(Size::Pareto { mean_bytes: 1, shape: 1.0 }, 5.0),
            "connection \"t\": the shape of a Pareto distribution with a mean is above 1, found 1",
        ),
        (|d| d.connections[0].paths.clear(), "connection \"t\": it has no path"),
        (|d| d.connections[0].paths = vec![3], "connection \"t\": there is no path 3 (1 paths)"),
        (|d| d.connections[0].paths = vec![0, 0], "connection \"t\": TCP takes one path, found 2"),
        (|d| d.connections[0].mss_bytes = 40, "connection \"t\": the MSS must be 88 to 65495 bytes, found 40"),
        (|d| d.connections[0].mss_bytes = 65_500, "connection \"t\": the MSS must be"),
        (|d| d.connections[0].receive_buffer_bytes = Some(0), "connection \"t\": the receive buffer must be positive"),
        (|d| d.connections[0].start_ns = [2, 1], "connection \"t\": it starts between 2 ns and 1 ns"),
        (
            |d| (d.connections[0].start_ns, d.connections[0].stop_ns) = ([0, 9], Some(8)),
            "connection \"t\": it stops at 8 ns, before its latest start at 9 ns",
        ),
        (
            |d| d.connections[0].count = 20_000_000,
            "connections times their paths must be at most 16777214, found 20000000",
        ),
        (
            |d| d.connections[0].count = 10_000_000,
            "three times the connections and twice the links together must be at most 16777216",
        ),
        (
            |d| d.connections[0].congestion.name = "vivace".into(),
            "connection \"t\": congestion control: found \"vivace\"; expected reno, cubic",
        ),
        (
            |d| d.connections[0].scheduler.name = "nearest".into(),
            "connection \"t\": scheduler: found \"nearest\"; expected min-rtt, ",
        ),
        (
            |d| d.connections[0].path_manager.name = "userspace".into(),
            "connection \"t\": path manager: found \"userspace\"; expected default, ",
        ),
        (
            |d| drop(d.connections[0].congestion.parameters.insert("k".into(), 1.into())),
            "connection \"t\": congestion control \"reno\": found the parameter \"k\"; expected variant",
        ),
        (
            |d| drop(d.connections[0].congestion.parameters.insert("variant".into(), "bsd".into())),
            "connection \"t\": variant of the congestion control \"reno\": found \"bsd\"; expected ",
        ),
        (
            |d| d.connections[0].congestion = with("lia", "variant", 3),
            "connection \"t\": variant of the congestion control \"lia\": found 3; expected \"paper\" or \"linux\"",
        ),
        (
            |d| drop(d.connections[0].scheduler.parameters.insert("reinjection".into(), "all".into())),
            "connection \"t\": reinjection of the scheduler \"min-rtt\": found \"all\"; expected \"none\" or \"orp\"",
        ),
        (
            |d| drop(d.connections[0].scheduler.parameters.insert("segments".into(), 3.into())),
            "connection \"t\": scheduler \"min-rtt\": found the parameter \"segments\"; expected reinjection",
        ),
        (
            |d| d.connections[0].path_manager = with("ndiffports", "subflows", 256),
            "connection \"t\": subflows of the path manager \"ndiffports\": found 256; expected a whole number from 1 to 255",
        ),
        (|d| d.events[0].link = 7, "event 0: there is no link 7 (1 links)"),
        (|d| d.events[0].set.link.rate_bps = Some(0), "event 0: rate_bps: found 0"),
    ];
    assert!(try_run(&good()).is_ok());
    for (spoil, expected) in cases {
        let mut description = good();
        spoil(&mut description);
        match try_run(&description) {
            Err(SimulateError::Invalid(Invalid(found))) => {
                assert!(found.starts_with(expected), "\"{found}\" for \"{expected}\"")
            }
            other => panic!("{other:?} for \"{expected}\""),
        }
    }
}

#[test]
fn a_run_can_be_stopped() {
    let mut description = good();
    description.duration_ns = 1000 * SECOND;
    description.links[0].down.rate_bps = 100 * MBIT;
    description.events.clear();
    description.connections[0].application = Application::Bulk;
    description.through_wire = false;
    let mut seen = Vec::new();
    let result = simulator::simulate(&description, &mut |now_ns| {
        seen.push(now_ns);
        seen.len() < 3
    });
    assert_eq!(result, Err(SimulateError::Stopped { at_ns: seen[2] }));
    assert!(seen[0] < seen[1] && seen[1] < seen[2] && seen[2] < 1000 * SECOND);
}

#[test]
fn mptcp_takes_what_tcp_takes() {
    let mut description = good();
    description.connections[0].protocol = Protocol::Mptcp;
    assert!(try_run(&description).is_ok());
}

/// 100,000 samples of an idle link: `watch` must be called although there are no events.
#[test]
fn a_run_in_which_nothing_happens_can_be_ended() {
    let mut idle = with_links(description(SECOND), vec![link("a", MBIT, MS, Limit::Packets(10))]);
    idle.sample_ns = Some(10_000);
    let stopped = simulator::simulate(&idle, &mut |_| false);
    assert!(matches!(stopped, Err(SimulateError::Stopped { at_ns }) if at_ns < 100 * MS), "{stopped:?}");
}
