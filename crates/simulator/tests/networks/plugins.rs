//! External algorithms, created by closures for each end of each connection with the connection's name.

use std::sync::{Arc, Mutex};

use crate::common::*;
use network::loss;
use scenario::description::{Application, Description, LossConfig};
use scenario::{Invalid, Plugins};
use simulator::{SimulateError, simulate, simulate_with};
use transport::congestion::{Choice, Classic, CongestionControl, Reno};
use transport::path_manager::{self, Fullmesh};
use transport::scheduler::{self, MinRtt};

fn two_paths() -> Description {
    let loss = LossConfig::Bernoulli(loss::Bernoulli { probability: 0.003 });
    let link = |name: &str, delay_ms: u64| lossy(bdp_link(name, 10 * MBIT, delay_ms * MS), loss);
    let mut description = with_links(description(4 * SECOND), vec![link("a", 10), link("b", 30)]);
    let mut both = mptcp("both", &[0, 1], Application::Bulk);
    both.congestion = named("reno");
    let mut one = tcp("one", 0, Application::Bulk);
    one.count = 2;
    description.connections = vec![both, one];
    description
}

#[test]
fn closures_get_the_built_in_ones_results_and_the_connections_names() {
    let built_in = two_paths();
    let mut outside = built_in.clone();
    for connection in &mut outside.connections {
        connection.congestion = named("my own");
    }
    outside.connections[0].scheduler = named("my own");
    outside.connections[0].path_manager = named("my own");
    let made = Arc::new(Mutex::new(Vec::new()));
    let told = Arc::clone(&made);
    let control = Choice::custom("mine", move |origin| -> Box<dyn CongestionControl> {
        told.lock().unwrap().push((origin.label().unwrap_or_default().to_owned(), origin.is_initiator()));
        Box::new(Classic::new(Reno))
    });
    let mut plugins = Plugins::default();
    plugins.congestion.insert("my own".into(), control);
    plugins.schedulers.insert("my own".into(), scheduler::Choice::custom("mine", |_| Box::new(MinRtt)));
    let mesh = path_manager::Choice::custom("mine", |_| Box::new(Fullmesh::default()));
    plugins.path_managers.insert("my own".into(), mesh);

    let expected = simulate(&built_in, &mut |_| true).unwrap();
    assert_eq!(simulate_with(&outside, &plugins, &mut |_| true, None).unwrap(), expected);
    let mut made = made.lock().unwrap().clone();
    made.sort();
    let each = |name: &str, initiator| (name.to_owned(), initiator);
    assert_eq!(
        made,
        [
            each("both", false),
            each("both", true),
            each("one", false),
            each("one", false),
            each("one", true),
            each("one", true)
        ]
    );
}

#[test]
fn a_name_that_is_nobodys_is_refused() {
    let mut description = two_paths();
    description.connections[0].congestion = named("my own");
    let refused = simulate_with(&description, &Plugins::default(), &mut |_| true, None);
    assert!(matches!(refused, Err(SimulateError::Invalid(Invalid(reason))) if reason.contains("my own")));
}
