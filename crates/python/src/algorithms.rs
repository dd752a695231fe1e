//! The declared tables of algorithms, queues and so on, for `mptcplab.registry`.

use algorithm::{Family, json};
use network::middlebox::MiddleboxConfig;
use network::{LossConfig, MediumConfig, QueueConfig};
use serde_json::Value;
use transport::{TcpOptions, congestion::Controls, path_manager::PathManagers, scheduler::Schedulers};

/// By family, in the order of the tables.
pub fn tables() -> Value {
    serde_json::json!({
        "congestion": table::<Controls>(),
        "schedulers": table::<Schedulers>(),
        "path-managers": table::<PathManagers>(),
        "queues": json::table(QueueConfig::TABLE),
        "losses": json::table(LossConfig::TABLE),
        "middleboxes": json::table(MiddleboxConfig::TABLE),
        "media": json::table(&[MediumConfig::ABOUT]),
        "tcp": json::table(&[TcpOptions::ABOUT]),
    })
}

fn table<F: Family>() -> Value {
    json::table(F::table().iter().map(|row| &row.about))
}
