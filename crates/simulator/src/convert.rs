//! From the description to what the transport and the links are made with.

use crate::SimulateError;
use crate::description::{Change, Connection, Description, Direction, Limit, Loss, Named, Protocol, Queue};
use crate::flows::Tag;
use crate::random;
use network::{Link, LinkConfig, LossConfig, QueueConfig};
use transport::congestion::Variant;
use transport::{Config, ReceiveBuffer, congestion, path_manager, scheduler};

/// All links: of each the direction down, then up.
pub fn links(description: &Description) -> Vec<Link<Tag>> {
    let mut links = Vec::with_capacity(2 * description.links.len());
    for link in &description.links {
        for (way, direction) in [("down", &link.down), ("up", &link.up)] {
            let generator = random::generator(description.seed, &format!("link/{}/{way}", link.name));
            links.push(Link::new(self::direction(direction), generator));
        }
    }
    links
}

/// One direction of a link.
pub fn direction(direction: &Direction) -> LinkConfig {
    LinkConfig {
        rate_bps: direction.rate_bps,
        delay_ns: direction.delay_ns,
        queue: queue(&direction.queue),
        loss: loss(&direction.loss),
        trace: None,
    }
}

/// A change of a link.
pub fn change(change: &Change) -> network::Change {
    network::Change {
        dead: change.dead,
        rate_bps: change.rate_bps,
        delay_ns: change.delay_ns,
        loss: change.loss.as_ref().map(loss),
    }
}

fn queue(queue: &Queue) -> QueueConfig {
    match *queue {
        Queue::DropTail { limit } => QueueConfig::DropTail { limit: self::limit(limit) },
        Queue::Red { limit, min_packets, max_packets, max_probability, weight, gentle } => {
            let limit = self::limit(limit);
            QueueConfig::Red { limit, min_packets, max_packets, max_probability, weight, gentle, ecn: false }
        }
        Queue::Codel { limit, target_ns, interval_ns, mtu_bytes } => {
            QueueConfig::CoDel { limit: self::limit(limit), target_ns, interval_ns, mtu_bytes, ecn: false }
        }
    }
}

fn limit(limit: Limit) -> network::Limit {
    match limit {
        Limit::Bytes(bytes) => network::Limit::Bytes(bytes),
        Limit::Packets(packets) => network::Limit::Packets(packets),
    }
}

fn loss(loss: &Loss) -> LossConfig {
    match *loss {
        Loss::None => LossConfig::None,
        Loss::Bernoulli { probability } => LossConfig::Bernoulli { probability },
        Loss::GilbertElliott { good_to_bad, bad_to_good, loss_good, loss_bad } => {
            LossConfig::GilbertElliott { good_to_bad, bad_to_good, loss_good, loss_bad }
        }
    }
}

/// How the two ends of a connection behave: the client's configuration, then the server's. The client alone manages
/// paths: it is the one with several addresses.
pub fn transport(connection: &Connection) -> Result<[Config; 2], SimulateError> {
    let place = |reason: String| SimulateError::Invalid(format!("connection «{}»: {reason}", connection.name));
    let defaults = Config::default();
    let server = Config {
        protocol: match connection.protocol {
            Protocol::Tcp => transport::Protocol::Tcp,
            Protocol::Mptcp => transport::Protocol::Mptcp,
        },
        mss: connection.mss_bytes,
        receive_buffer: connection.receive_buffer_bytes.map_or(ReceiveBuffer::Auto, ReceiveBuffer::Fixed),
        congestion: congestion(&connection.congestion).map_err(place)?,
        scheduler: named("scheduler", &connection.scheduler, scheduler).map_err(place)?,
        path_manager: path_manager::Choice::Passive,
        // A description names all paths that are to be used.
        max_subflows: defaults.max_subflows.max(u8::try_from(connection.paths.len()).unwrap_or(u8::MAX)),
        ..defaults
    };
    let path_manager = named("path manager", &connection.path_manager, path_manager).map_err(place)?;
    let client = match connection.protocol {
        Protocol::Tcp => server.clone(),
        Protocol::Mptcp => Config { path_manager, ..server.clone() },
    };
    Ok([client, server])
}

/// A congestion control by its name and, where it has several forms, its variant.
fn congestion(named: &Named) -> Result<congestion::Choice, String> {
    let mut variant = None;
    for (parameter, value) in &named.parameters {
        variant = match (parameter.as_str(), value.as_str()) {
            ("variant", Some("paper")) => Some(Variant::Paper),
            ("variant", Some("linux")) => Some(Variant::Linux),
            ("variant", _) => return Err(format!("a variant is \"paper\" or \"linux\", found {value}")),
            _ => return Err(format!("the congestion control «{}» takes no parameter «{parameter}»", named.name)),
        };
    }
    match congestion::Choice::by_name(&named.name, variant) {
        Some(choice) => Ok(choice),
        None if congestion::Choice::by_name(&named.name, None).is_some() => {
            Err(format!("the congestion control «{}» has no variants", named.name))
        }
        None => Err(format!("the simulator has no congestion control «{}»", named.name)),
    }
}

fn scheduler(name: &str) -> Option<scheduler::Choice> {
    match name {
        "min-rtt" => Some(scheduler::Choice::MinRtt),
        _ => None,
    }
}

fn path_manager(name: &str) -> Option<path_manager::Choice> {
    match name {
        "default" => Some(path_manager::Choice::Passive),
        "fullmesh" => Some(path_manager::Choice::Fullmesh),
        _ => None,
    }
}

/// Finds a scheduler or path manager by its name. None of those there are takes a parameter.
fn named<C>(what: &str, named: &Named, find: impl Fn(&str) -> Option<C>) -> Result<C, String> {
    let choice = find(&named.name).ok_or_else(|| format!("the simulator has no {what} «{}»", named.name))?;
    match named.parameters.keys().next() {
        None => Ok(choice),
        Some(parameter) => Err(format!("the {what} «{}» takes no parameter «{parameter}»", named.name)),
    }
}
