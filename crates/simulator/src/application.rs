//! What the connections of one row of the outcome send, and when: one connection for `bulk`, `file` and `rate`, one
//! after another for `requests` and `flows`.

use crate::arrivals::ArrivalProcess;
use crate::description::{self, Connection, Description, Way};
use crate::outcome::Transfers;
use crate::tally::Tally;
use crate::transfer::{Amount, CLIENT, SERVER, Transfer};
use transport::DelayHistogram;

/// One of the `count` connections of a kind; or, of an application that repeats, what opens them.
pub struct Application {
    /// Index into the description's connections.
    pub kind: u32,
    /// 0 to count − 1.
    pub index: u32,
    pub start_ns: u64,
    pub content: description::Application,
    /// The end that writes, [`CLIENT`] or [`SERVER`].
    pub sender: usize,
    pub stopped: bool,
    /// Its transfers, in the order of opening. Those of an application that repeats leave when they are over.
    pub transfers: Vec<u32>,
    /// Of an application that repeats: what the transfers that left have counted, by path in the order of first use.
    pub tallies: Vec<Tally>,
    /// Bytes read by transfers that left: in all, and before the end of the warm-up.
    pub bytes_read: u64,
    pub warm_bytes: u64,
    /// How long those waited for the ones before them.
    pub delays: DelayHistogram,
    /// When the last byte of a transfer that left was read.
    pub last_read_ns: u64,
    /// Whether a transfer that left had fallen back to TCP.
    pub fallback: bool,
    /// Of an application that repeats: what was begun after the warm-up.
    pub done: Transfers,
    /// When flows arrive and how large they are.
    pub arrivals: Option<Box<ArrivalProcess>>,
    /// Of `rate`: when its first step was offered, and how many since.
    pub steps: (u64, u64),
}

impl Application {
    pub fn new(kind: u32, index: u32, start_ns: u64, description: &Description) -> Application {
        let connection = &description.connections[kind as usize];
        let arrivals = match connection.application {
            description::Application::Flows { size, arrivals } => {
                let name = format!("connection/{}/{index}", connection.name);
                Some(Box::new(ArrivalProcess::new(description.seed, &name, start_ns, size, arrivals)))
            }
            _ => None,
        };
        Application {
            kind,
            index,
            start_ns,
            content: connection.application,
            sender: match connection.direction {
                Way::Up => CLIENT,
                Way::Down => SERVER,
            },
            stopped: false,
            transfers: Vec::new(),
            tallies: Vec::new(),
            bytes_read: 0,
            warm_bytes: 0,
            delays: DelayHistogram::default(),
            last_read_ns: start_ns,
            fallback: false,
            done: Transfers::default(),
            arrivals,
            steps: (0, 0),
        }
    }

    /// When it stops, if it does.
    pub fn stop_ns(&self, connection: &Connection) -> Option<u64> {
        let limit_ns = match self.content {
            description::Application::Requests { limit_ns, .. } => limit_ns,
            _ => None,
        };
        let limited_ns = limit_ns.map(|limit_ns| self.start_ns.saturating_add(limit_ns));
        [connection.stop_ns, limited_ns].into_iter().flatten().min()
    }

    /// What its first or only transfer sends; a flow's size is drawn when it comes.
    pub fn amount(&self) -> Amount {
        match self.content {
            description::Application::Bulk => Amount::Endless,
            description::Application::File { size_bytes } | description::Application::Requests { size_bytes, .. } => {
                Amount::Bytes(size_bytes)
            }
            description::Application::Rate { .. } => Amount::Steps,
            description::Application::Flows { .. } => Amount::Bytes(0),
        }
    }

    /// When the next step of a rate is due, `bytes` each: a step is offered when the rate has made up for all before.
    pub fn next_step_ns(&self, bytes: u64) -> u64 {
        let description::Application::Rate { rate_bps } = self.content else { return u64::MAX };
        let (first_ns, steps) = self.steps;
        let bits = 8 * u128::from(bytes) * u128::from(steps + 1);
        let after_ns = (bits * 1_000_000_000).div_ceil(u128::from(rate_bps));
        u64::try_from(u128::from(first_ns) + after_ns).unwrap_or(u64::MAX)
    }

    /// What left before now was left before the end of the warm-up.
    pub fn warm_up_ends(&mut self) {
        self.warm_bytes = self.bytes_read;
        self.tallies.iter_mut().for_each(Tally::warm_up_ends);
    }

    /// Where the tally of `path` stands; it is made when there is none.
    pub fn tally_position(&mut self, path: u32) -> usize {
        self.tallies.iter().position(|tally| tally.path == path).unwrap_or_else(|| {
            self.tallies.push(Tally::empty(path));
            self.tallies.len() - 1
        })
    }

    /// When the last byte arrived, if there is nothing more to come.
    pub fn completion_ns(&self, transfers: &[Transfer]) -> Option<u64> {
        let own = || self.transfers.iter().map(|&number| &transfers[number as usize]);
        if !self.content.repeats() {
            return own().next()?.completion_ns;
        }
        let over = self.stopped && own().all(|transfer| transfer.ended);
        over.then(|| own().map(|transfer| transfer.last_read_ns).fold(self.last_read_ns, u64::max))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rate(rate_bps: u64) -> Application {
        let mut description: Description = serde_json::from_str(
            r#"{"duration_ns": 1, "seed": 0, "warmup_ns": 0, "sample_ns": null, "through_wire": false, "traces": [], "links": [],
                "paths": [], "events": [], "connections": [{"name": "c", "count": 1, "paths": [], "protocol": "tcp",
                "congestion": {"name": "reno"}, "scheduler": {"name": "min-rtt"}, "path_manager": {"name": "default"},
                "application": {"kind": "rate", "rate_bps": 1}, "direction": "down", "start_ns": [0, 0],
                "stop_ns": null, "mss_bytes": 1460, "receive_buffer_bytes": null, "ecn": false,
                "checksum": false, "tcp": {"loss_detection": "rack-tlp", "frto": true, "nagle": true, "pacing": false,
                "abe": false, "timestamps": true, "initial_window": 10, "rto_min_ns": 1, "rto_max_ns": 2,
                "segments_per_ack": 2, "ack_delay_ns": 0, "quick_acks": 16, "retries": 15, "syn_retries": 6}}]}"#,
        )
        .unwrap();
        description.connections[0].application = description::Application::Rate { rate_bps };
        Application::new(0, 0, 0, &description)
    }

    #[test]
    fn steps_keep_to_the_rate_without_drift() {
        // 1000 bytes at 3 Mbit/s: 2 666 666⅔ ns each, rounded up; the third is due at 8 ms sharp.
        let mut application = rate(3_000_000);
        application.steps = (1_000, 0);
        let mut due_ns = Vec::new();
        for step in 0..6 {
            application.steps.1 = step;
            due_ns.push(application.next_step_ns(1000) - 1_000);
        }
        assert_eq!(due_ns, [2_666_667, 5_333_334, 8_000_000, 10_666_667, 13_333_334, 16_000_000]);
        // The slowest of rates ends beyond all time, without an overflow.
        let mut slowest = rate(1);
        slowest.steps = (0, u64::MAX - 1);
        assert_eq!(slowest.next_step_ns(1000), u64::MAX);
    }
}
