//! Checks a description before anything runs. Errors name the location of values that are out of range or unknown.

use crate::event_queue::TARGET_LIMIT;
use crate::flows::{CLIENT_ADDRESS_LIMIT, FIRST_PORT};
use algorithm::Declared;
use network::{LinkConfig, Trace};
use scenario::Invalid;
use scenario::convert;
use scenario::description::{
    Application, Arrivals, Connection, Description, MiddleboxConfig, Protocol, Size, TcpOptions, Way,
};
use std::collections::BTreeSet;

/// The largest TCP segment in an IPv4 packet with headers of 20 bytes each (RFC 9293 §3.7.1).
const MSS_LARGEST: u16 = u16::MAX - 40;
/// The smallest MSS that leaves room for data beside 40 bytes of options. Linux also refuses smaller ones.
const MSS_LEAST: u16 = 88;
/// An address identifier is one byte (RFC 8684 §3.2).
const PATHS_LIMIT: usize = 255;
pub fn check(description: &Description) -> Result<(), Invalid> {
    measurement(description)?;
    for (number, text) in description.traces.iter().enumerate() {
        Trace::parse(text).map_err(|error| Invalid(format!("trace {number}: {error}")))?;
    }
    links(description)?;
    paths(description)?;
    let mut names = BTreeSet::new();
    for connection in &description.connections {
        if !names.insert(&connection.name) {
            return Err(Invalid(format!("two connections are called \"{}\"", connection.name)));
        }
        self::connection(description, connection)
            .map_err(|reason| Invalid(format!("connection \"{}\": {reason}", connection.name)))?;
    }
    totals(description)?;
    events(description)
}

fn measurement(description: &Description) -> Result<(), Invalid> {
    let invalid = |reason: String| Err(Invalid(reason));
    if description.duration_ns == 0 {
        return invalid("the duration must be positive".into());
    }
    if description.warmup_ns >= description.duration_ns {
        return invalid(format!(
            "the warm-up ({} ns) must end before the run does ({} ns)",
            description.warmup_ns, description.duration_ns
        ));
    }
    if description.sample_ns == Some(0) {
        return invalid("the distance of samples must be positive".into());
    }
    Ok(())
}

fn links(description: &Description) -> Result<(), Invalid> {
    let mut names = BTreeSet::new();
    let traces = convert::traces(description);
    for medium in &description.media {
        let named = |error| Invalid(format!("medium \"{}\": {error}", medium.name));
        medium.config.check().map_err(named)?;
    }
    for link in &description.links {
        if let Some(medium) = link.medium.filter(|&medium| medium >= description.media.len()) {
            let count = description.media.len();
            return Err(Invalid(format!("link \"{}\": there is no medium {medium} ({count} media)", link.name)));
        }
        if !names.insert(&link.name) {
            // Names seed the random numbers: two links with the same name would lose the same packets.
            return Err(Invalid(format!("two links are called \"{}\"", link.name)));
        }
        for (way, direction) in [("down", &link.down), ("up", &link.up)] {
            let invalid = |reason: String| Invalid(format!("link \"{}\" {way}: {reason}", link.name));
            if let Some(trace) = direction.trace.filter(|&trace| trace >= traces.len()) {
                return Err(invalid(format!("there is no trace {trace} ({} traces)", traces.len())));
            }
            let config = LinkConfig { shared: link.medium.is_some(), ..convert::direction(direction, &traces) };
            config.check().map_err(|error| invalid(error.to_string()))?;
            let stages = [direction.shaper.as_ref().map(convert::shaper), direction.disorder.map(convert::disorder)];
            for stage in stages.into_iter().flatten() {
                stage.check().map_err(|error| invalid(error.to_string()))?;
            }
        }
        for (number, middlebox) in link.middleboxes.iter().enumerate() {
            middlebox
                .check()
                .map_err(|error| Invalid(format!("link \"{}\" middlebox {number}: {error}", link.name)))?;
        }
    }
    Ok(())
}

fn events(description: &Description) -> Result<(), Invalid> {
    let traces = convert::traces(description);
    for (number, event) in description.events.iter().enumerate() {
        let invalid = |reason: String| Invalid(format!("event {number}: {reason}"));
        if event.link >= description.links.len() {
            return Err(invalid(format!("there is no link {} ({} links)", event.link, description.links.len())));
        }
        let link = &description.links[event.link];
        for (changes, direction) in [(event.down, &link.down), (event.up, &link.up)] {
            let change = event.set.link;
            let checked = match changes {
                true => change.check_on(&convert::direction(direction, &traces)),
                false => change.check(),
            };
            checked.map_err(|error| invalid(error.to_string()))?;
            if changes && event.set.shaper_bps.is_some() && direction.shaper.is_none() {
                return Err(invalid(format!("link \"{}\" has no shaper to change", link.name)));
            }
        }
    }
    Ok(())
}

fn paths(description: &Description) -> Result<(), Invalid> {
    for path in &description.paths {
        let invalid = |reason: String| Err(Invalid(format!("path \"{}\": {reason}", path.name)));
        if path.links.is_empty() {
            return invalid("it has no link".into());
        }
        // The middleboxes of a link are a route entry of their own.
        let boxed = |link: usize| description.links.get(link).is_some_and(|link| !link.middleboxes.is_empty());
        let with_boxes: Vec<usize> = path.links.iter().copied().filter(|&link| boxed(link)).collect();
        if path.links.len() + with_boxes.len() > usize::from(u8::MAX) {
            return invalid(format!("at most {} links, found {}", u8::MAX, path.links.len()));
        }
        if let Some(twice) = with_boxes.iter().enumerate().find(|&(at, link)| with_boxes[..at].contains(link)) {
            return invalid(format!("it crosses link {} twice, which has middleboxes", twice.1));
        }
        let reversed = path.links.iter().zip(&path.reversed).find(|&(&link, &reversed)| reversed && boxed(link));
        if let Some((link, _)) = reversed {
            return invalid(format!("it crosses link {link} from its far end, where its middleboxes are"));
        }
        if !path.reversed.is_empty() && path.reversed.len() != path.links.len() {
            let [links, reversed] = [&path.links.len(), &path.reversed.len()];
            return invalid(format!("of {links} links, {reversed} are said to be reversed or not"));
        }
        if let Some(link) = path.links.iter().find(|&&link| link >= description.links.len()) {
            return invalid(format!("there is no link {link} ({} links)", description.links.len()));
        }
    }
    Ok(())
}

fn connection(description: &Description, connection: &Connection) -> Result<(), String> {
    if connection.paths.is_empty() {
        return Err("it has no path".into());
    }
    if connection.paths.len() > PATHS_LIMIT {
        return Err(format!("at most {PATHS_LIMIT} paths, found {}", connection.paths.len()));
    }
    if let Some(path) = connection.paths.iter().find(|&&path| path >= description.paths.len()) {
        return Err(format!("there is no path {path} ({} paths)", description.paths.len()));
    }
    if connection.protocol == Protocol::Tcp && connection.paths.len() > 1 {
        return Err(format!("TCP takes one path, found {}", connection.paths.len()));
    }
    if !(MSS_LEAST..=MSS_LARGEST).contains(&connection.mss_bytes) {
        return Err(format!("the MSS must be {MSS_LEAST} to {MSS_LARGEST} bytes, found {}", connection.mss_bytes));
    }
    if connection.receive_buffer_bytes == Some(0) {
        return Err("the receive buffer must be positive".into());
    }
    connection.tcp.check_as(&TcpOptions::ABOUT).map_err(|error| error.to_string())?;
    if connection.direction == Way::Down {
        proxies(description, connection)?;
    }
    let [earliest, latest] = connection.start_ns;
    if earliest > latest {
        return Err(format!("it starts between {earliest} ns and {latest} ns: the first must not be the later"));
    }
    if connection.stop_ns.is_some_and(|stop_ns| stop_ns < latest) {
        return Err(format!(
            "it stops at {} ns, before its latest start at {latest} ns",
            connection.stop_ns.unwrap_or(0)
        ));
    }
    if connection.application.is_dialogue() && connection.direction == Way::Up {
        return Err("the server answers what the client asks: its direction is down".into());
    }
    match &connection.application {
        Application::Bulk | Application::File { .. } | Application::Requests { .. } => Ok(()),
        Application::Rate { rate_bps: 0 } => Err("its rate must be positive".into()),
        Application::Rate { .. } => Ok(()),
        Application::Flows { size, arrivals } => flows(*size, *arrivals),
        Application::Ping(settings) => settings.check(),
        Application::Web(settings) => settings.check(),
        Application::Video(settings) => settings.check(),
        Application::Ftp(settings) => settings.check(),
    }
}

/// Rejects a proxy at the server itself, which would acknowledge the server's data instantly and forever.
fn proxies(description: &Description, connection: &Connection) -> Result<(), String> {
    let links = connection.paths.iter().filter_map(|&path| description.paths[path].links.last());
    for link in links.map(|&link| &description.links[link]) {
        if link.middleboxes.iter().any(|each| matches!(each, MiddleboxConfig::ProactiveAcks(_))) {
            return Err(format!(
                "it sends down over link \"{}\", behind whose proxy with proactive ACKs there must be another link",
                link.name
            ));
        }
    }
    Ok(())
}

fn flows(size: Size, arrivals: Arrivals) -> Result<(), String> {
    match arrivals {
        // Within these bounds, the time between arrivals is at least 1 ns and at most some thousand years.
        Arrivals::Poisson { rate_per_s } | Arrivals::Periodic { rate_per_s }
            if !(1e-12..=1e9).contains(&rate_per_s) =>
        {
            return Err(format!("flows must arrive at 1e-12 to 1e9 per second, found {rate_per_s}"));
        }
        Arrivals::AtOnce { count: 0 } => return Err("a burst has at least one flow, found 0".to_owned()),
        _ => {}
    }
    match size {
        Size::Pareto { shape, .. } if !(shape > 1.0 && shape.is_finite()) => {
            Err(format!("the shape of a Pareto distribution with a mean is above 1, found {shape}"))
        }
        _ => Ok(()),
    }
}

/// Limits of addresses, ports and event targets.
fn totals(description: &Description) -> Result<(), Invalid> {
    let invalid = |reason: String| Err(Invalid(reason));
    let kinds = description.connections.len();
    let kinds_limit = usize::from(u16::MAX - FIRST_PORT) + 1;
    if kinds > kinds_limit {
        return invalid(format!("at most {kinds_limit} kinds of connections, found {kinds}"));
    }
    let addresses: u64 = description.connections.iter().map(|c| u64::from(c.count) * c.paths.len() as u64).sum();
    if addresses > u64::from(CLIENT_ADDRESS_LIMIT) {
        return invalid(format!(
            "connections times their paths must be at most {CLIENT_ADDRESS_LIMIT}, found {addresses}"
        ));
    }
    let connections: u64 = description.connections.iter().map(|c| u64::from(c.count)).sum();
    // Targets: each application, both ends of its connection, both directions of a link, stages, the middleboxes, and
    // the media.
    let stages = convert::stages(description).iter().flatten().flatten().count() as u64;
    let targets = 3 * connections + 2 * description.links.len() as u64 + stages + 2;
    if targets > TARGET_LIMIT as u64 {
        return invalid(format!(
            "three times the connections and twice the links together must be at most {TARGET_LIMIT}, found {targets}"
        ));
    }
    Ok(())
}
