//! Prints what the parts of the network declare, as JSON; with a queue of a description as argument, the parsed queue.

use network::middlebox::MiddleboxConfig;
use network::{LossConfig, MediumConfig, QueueConfig};
use serde_json::json;

fn main() {
    if let Some(queue) = std::env::args().nth(1) {
        let read = serde_json::from_str::<QueueConfig>(&queue);
        println!("{:?}", read.map(|queue| (queue.check(), queue)));
        return;
    }
    let tables = json!({
        "queues": algorithm::json::table(QueueConfig::TABLE),
        "losses": algorithm::json::table(LossConfig::TABLE),
        "middleboxes": algorithm::json::table(MiddleboxConfig::TABLE),
        "media": algorithm::json::table(&[MediumConfig::ABOUT]),
    });
    println!("{tables}");
}
