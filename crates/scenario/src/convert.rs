//! Converts the description to the configurations of the transport and the links.

use crate::description::{Change, Connection, Description, Direction, Named, Protocol, Shaper, TcpOptions};
use crate::random;
use crate::{Invalid, Plugins};
use network::{BucketConfig, DisorderConfig, Limit, Link, LinkConfig, Medium, QueueConfig, Trace};
use std::net::IpAddr;
use std::sync::Arc;
use transport::algorithm::{Choice, ChoiceError, Family, Value};
use transport::{Config, Instant, ReceiveBuffer, path_manager};

/// The traces, which `validate` has parsed before.
pub fn traces(description: &Description) -> Vec<Arc<Trace>> {
    let read = |text: &String| Arc::new(Trace::parse(text).unwrap_or_else(|error| panic!("a trace: {error}")));
    description.traces.iter().map(read).collect()
}

/// For each direction of a link, the indices of the stages before and after it, as numbered by [`links`].
pub fn stages(description: &Description) -> Vec<[Option<u32>; 2]> {
    let mut next = 2 * description.links.len() as u32;
    let mut number = |there: bool| {
        next += u32::from(there);
        there.then(|| next - 1)
    };
    let directions = description.links.iter().flat_map(|link| [&link.down, &link.up]);
    directions.map(|way| [way.shaper.is_some(), way.disorder.is_some()].map(&mut number)).collect()
}

/// The entries of `route`, with the stages before and after each link direction. Other entries are unchanged.
pub fn with_stages(route: &[u32], stages: &[[Option<u32>; 2]]) -> Vec<u32> {
    let whole = route.iter().flat_map(|&entry| {
        let [before, behind] = stages.get(entry as usize).copied().unwrap_or_default();
        [before, Some(entry), behind]
    });
    whole.flatten().collect()
}

/// All links: the directions down and up of each, then the stages before and after them, as numbered by [`stages`].
pub fn links<T: Copy + Default>(description: &Description) -> Vec<Link<T>> {
    let traces = traces(description);
    let mut links = Vec::with_capacity(2 * description.links.len());
    for link in &description.links {
        for (way, direction) in [("down", &link.down), ("up", &link.up)] {
            let generator = random::generator(description.seed, &format!("link/{}/{way}", link.name));
            let config = LinkConfig { shared: link.medium.is_some(), ..self::direction(direction, &traces) };
            links.push(Link::new(config, generator));
        }
    }
    for link in &description.links {
        for (way, direction) in [("down", &link.down), ("up", &link.up)] {
            let generator = |what| random::generator(description.seed, &format!("link/{}/{way}/{what}", link.name));
            links.extend(direction.shaper.as_ref().map(|shaper| Link::new(self::shaper(shaper), generator("shaper"))));
            links.extend(direction.disorder.map(|disorder| Link::new(self::disorder(disorder), generator("disorder"))));
        }
    }
    links
}

/// One direction of a link. Its trace, if it has one, is an index into `traces`.
pub fn direction(direction: &Direction, traces: &[Arc<Trace>]) -> LinkConfig {
    LinkConfig {
        rate_bps: direction.rate_bps,
        delay_ns: direction.delay_ns,
        queue: direction.queue.clone(),
        loss: direction.loss,
        trace: direction.trace.map(|number| Arc::clone(&traces[number])),
        shared: false,
        bucket: None,
        disorder: None,
    }
}

/// The shaper before a link.
pub fn shaper(shaper: &Shaper) -> LinkConfig {
    let bucket = Some(BucketConfig { burst_bytes: shaper.burst_bytes, polices: shaper.polices });
    LinkConfig { bucket, ..LinkConfig::with_rate(shaper_bps(shaper.rate_bps), 0, shaper.queue.clone()) }
}

/// The rate of a shaper's tokens. 0 means unlimited and is mapped to a rate far above that of any link.
pub const fn shaper_bps(rate_bps: u64) -> u64 {
    const OPEN_BPS: u64 = 1_000_000_000_000_000;
    if rate_bps == 0 { OPEN_BPS } else { rate_bps }
}

/// The stage after a link, whose rate and queue are not used.
pub fn disorder(disorder: DisorderConfig) -> LinkConfig {
    let disorder = Some(disorder);
    LinkConfig { disorder, ..LinkConfig::with_rate(1, 0, QueueConfig::drop_tail(Limit::Packets(0))) }
}

/// The media, each shared by the directions of its links as numbered by [`links`], and the medium of each of these
/// directions.
pub fn media(description: &Description) -> (Vec<Medium>, Vec<Option<usize>>) {
    let of_link: Vec<Option<usize>> = description.links.iter().flat_map(|link| [link.medium; 2]).collect();
    let media = description.media.iter().enumerate().map(|(number, medium)| {
        let links = of_link.iter().enumerate().filter(|&(_, &of)| of == Some(number));
        Medium::new(medium.config, links.map(|(link, _)| link))
    });
    (media.collect(), of_link)
}

/// The change of the shaper before a link, if `change` contains one.
pub fn shaper_change(change: &Change) -> Option<network::Change> {
    change.shaper_bps.map(|bps| network::Change { rate_bps: Some(shaper_bps(bps)), ..network::Change::default() })
}

/// Tells a client's connection about the change `set` of its address `id`.
pub fn tell<P: transport::Sendable>(connection: &mut transport::Connection<P>, now_ns: u64, id: u8, set: &Change) {
    match set.address {
        Some(true) => connection.address_back(Instant::from_nanos(now_ns), id),
        Some(false) => connection.address_gone(Instant::from_nanos(now_ns), id),
        None => {}
    }
    if let Some(backup) = set.backup {
        connection.set_address_backup(Instant::from_nanos(now_ns), id, backup);
    }
}

/// The configurations of the two ends of each connection, told the kernel's paths; `server` is the servers' address of a
/// number.
pub fn transports(
    description: &Description,
    plugins: &Plugins,
    server: impl Fn(usize) -> IpAddr,
) -> Result<Vec<[Config; 2]>, Invalid> {
    let both = |connection: &Connection| {
        let mut configs = transport(connection, plugins)?;
        if let Some(told) = &connection.kernel_paths {
            told.configure(&mut configs, &server);
        }
        Ok(configs)
    };
    description.connections.iter().map(both).collect()
}

/// The configurations of the two ends of a connection: the client's, then the server's. Only the client manages paths,
/// because it has several addresses. An algorithm in `plugins` takes precedence over a built-in one of the same name.
pub fn transport(connection: &Connection, plugins: &Plugins) -> Result<[Config; 2], Invalid> {
    let place = |reason: ChoiceError| Invalid(format!("connection \"{}\": {reason}", connection.name));
    let defaults = Config::default();
    let label = &connection.name;
    let mut joins_at_once = false;
    let path_manager = match plugins.path_manager(&connection.path_manager.name, label) {
        Some(choice) => choice,
        None => {
            let at_once = connection.path_manager.parameters.get("at_once");
            joins_at_once = at_once.and_then(serde_json::Value::as_bool).unwrap_or(false);
            self::choice(&connection.path_manager).map_err(place)?
        }
    };
    // A description lists all paths to be used. A path manager may request several subflows per path.
    let paths = u8::try_from(connection.paths.len()).unwrap_or(u8::MAX);
    let asked_for = path_manager::subflows_asked_for(&path_manager).unwrap_or(paths);
    let server = Config {
        protocol: connection.protocol,
        mss: connection.mss_bytes,
        receive_buffer: connection.receive_buffer_bytes.map_or(ReceiveBuffer::Auto, ReceiveBuffer::Fixed),
        congestion: match plugins.congestion(&connection.congestion.name, label) {
            Some(choice) => choice,
            None => self::choice(&connection.congestion).map_err(place)?,
        },
        scheduler: match plugins.scheduler(&connection.scheduler.name, label) {
            Some(choice) => choice,
            None => self::choice(&connection.scheduler).map_err(place)?,
        },
        path_manager: path_manager::Choice::named("default").expect("in the table"),
        max_subflows: defaults.max_subflows.max(asked_for),
        checksum: connection.checksum,
        joins_at_once,
        tcp: TcpOptions {
            ecn: connection.ecn,
            // Programs that exchange questions and answers set TCP_NODELAY.
            nagle: connection.tcp.nagle && !connection.application.is_dialogue(),
            ..connection.tcp
        },
        ..defaults
    };
    let client = match connection.protocol {
        Protocol::Tcp => server.clone(),
        Protocol::Mptcp => Config { path_manager, ..server.clone() },
    };
    Ok([client, server])
}

/// An algorithm of a family by name, with its parameters.
pub fn choice<F: Family>(named: &Named) -> Result<Choice<F>, ChoiceError> {
    Choice::with(&named.name, named.parameters.iter().map(|(name, value)| (name, self::value(value))))
}

/// The value of a parameter. An unsupported value, such as a list, becomes a word that no parameter accepts.
fn value(json: &serde_json::Value) -> Value {
    match json {
        serde_json::Value::Bool(flag) => Value::Flag(*flag),
        serde_json::Value::String(word) => Value::Word(word.clone()),
        other => match (other.as_u64(), other.as_f64()) {
            (Some(whole), _) => Value::Whole(whole),
            (None, Some(number)) => Value::Number(number),
            (None, None) => Value::Word(other.to_string()),
        },
    }
}
