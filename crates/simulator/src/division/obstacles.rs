//! What keeps a network from being divided.

use scenario::description::{Application, Description, Direction, Queue};

/// Congestion controls that draw random numbers from their host's stream, in the order in which its connections begin.
const DRAWING: [&str; 4] = ["bbr", "bbr-linux", "pert", "mppert"];

/// Whether the departure of each packet is known as it arrives, so that the other end can be told.
pub fn can_be_cut(way: &Direction) -> bool {
    matches!(way.queue, Queue::DropTail { .. } | Queue::Red { .. } | Queue::Pie { .. })
}

/// `Ok` when nothing in the description touches several parts at once.
///
/// # Errors
/// What does.
pub fn none(description: &Description) -> Result<(), String> {
    if !description.media.is_empty() {
        return Err("links share a medium".to_owned());
    }
    if let Some(link) = description.links.iter().find(|link| !link.middleboxes.is_empty()) {
        return Err(format!("there are middleboxes on link «{}»", link.name));
    }
    let apart = |way: &Direction| matches!(way.queue, Queue::FqCodel { .. } | Queue::Cake { .. });
    if let Some(link) = description.links.iter().find(|link| apart(&link.down) || apart(&link.up)) {
        return Err(format!("the queue of link «{}» has a place for each flow by its number", link.name));
    }
    for connection in &description.connections {
        let name = &connection.name;
        if !matches!(connection.application, Application::Bulk | Application::Rate { .. }) {
            return Err(format!("connection «{name}» sends something else than bulk data or a rate"));
        }
        if connection.stop_ns.is_some() {
            return Err(format!("connection «{name}» stops during the run"));
        }
        if DRAWING.contains(&connection.congestion.name.as_str()) {
            return Err(format!("the congestion control of connection «{name}» draws random numbers"));
        }
    }
    Ok(())
}
