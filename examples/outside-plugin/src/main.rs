//! A congestion control that is not in the tree: a Reno that keeps the part β of its window on a loss.
//!
//! Reads the description of a scenario (JSON) from standard input, runs it with this control in place of `reno`, once for each β
//! given, and prints the goodput of its connections:
//!
//! ```text
//! python -c 'import json, mptcplab; print(json.dumps(mptcplab.Scenario.load("scenarios/one-link.toml").description()))' \
//!   | cargo run --manifest-path examples/outside-plugin/Cargo.toml -- 0.5 0.9
//! ```

use std::error::Error;

use scenario::{Description, Plugins};
use simulator::simulate_with;
use transport::congestion::{Choice, Classic, Rule, View};

/// w ← w + 1/w per segment acknowledged, w ← β·w on loss.
#[derive(Debug)]
struct Gentle {
    beta: f64,
}

impl Rule for Gentle {
    const NAME: &'static str = "gentle";

    fn increase(&mut self, group: &[View], r: usize) -> f64 {
        1.0 / group[r].cwnd
    }

    fn decrease(&mut self, group: &[View], r: usize) -> f64 {
        self.beta * group[r].cwnd
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let description: Description = serde_json::from_reader(std::io::stdin())?;
    for beta in std::env::args().skip(1) {
        let beta: f64 = beta.parse()?;
        // The function is called for each end of each connection, and has β from here.
        let gentle = Choice::custom("gentle", move |_| Box::new(Classic::new(Gentle { beta })));
        let plugins = Plugins { congestion: [("reno".to_owned(), gentle)].into(), ..Plugins::default() };
        let outcome = simulate_with(&description, &plugins, &mut |_| true, None)?;
        for connection in &outcome.connections {
            let goodput_bps = connection.goodput_bps.unwrap_or(f64::NAN);
            println!("{beta} {:.4} Mbit/s", goodput_bps / 1e6);
        }
    }
    Ok(())
}
