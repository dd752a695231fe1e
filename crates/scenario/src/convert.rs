//! From the description to what the transport and the links are made with.

use crate::description::{
    self, Change, Connection, Description, Direction, Disorder, Limit, Loss, LossDetection, Named, Protocol, Queue,
    Shaper, Share, Tcp, WindowValidation,
};
use crate::random;
use crate::{Invalid, Plugins};
use network::{BucketConfig, DisorderConfig, Link, LinkConfig, LossConfig, Medium, MediumConfig, QueueConfig, Trace};
use std::sync::Arc;
use transport::algorithm::{Choice, ChoiceError, Family, Value};
use transport::{Config, ReceiveBuffer, path_manager};

/// The traces; `validate` has read them before.
pub fn traces(description: &Description) -> Vec<Arc<Trace>> {
    let read = |text: &String| Arc::new(Trace::parse(text).unwrap_or_else(|error| panic!("a trace: {error}")));
    description.traces.iter().map(read).collect()
}

/// Of each direction of a link, the stage before it and the one behind it, as [`links`] counts them.
pub fn stages(description: &Description) -> Vec<[Option<u32>; 2]> {
    let mut next = 2 * description.links.len() as u32;
    let mut number = |there: bool| {
        next += u32::from(there);
        there.then(|| next - 1)
    };
    let directions = description.links.iter().flat_map(|link| [&link.down, &link.up]);
    directions.map(|way| [way.shaper.is_some(), way.disorder.is_some()].map(&mut number)).collect()
}

/// The directions of links in `route` with the stages before and behind each of them; what is no direction stays.
pub fn with_stages(route: &[u32], stages: &[[Option<u32>; 2]]) -> Vec<u32> {
    let whole = route.iter().flat_map(|&entry| {
        let [before, behind] = stages.get(entry as usize).copied().unwrap_or_default();
        [before, Some(entry), behind]
    });
    whole.flatten().collect()
}

/// All links: of each the direction down, then up; then the stages before and behind them, as [`stages`] numbers them.
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

/// One direction of a link; its trace, if it has one, is one of `traces`.
pub fn direction(direction: &Direction, traces: &[Arc<Trace>]) -> LinkConfig {
    LinkConfig {
        rate_bps: direction.rate_bps,
        delay_ns: direction.delay_ns,
        queue: queue(&direction.queue),
        loss: loss(&direction.loss),
        trace: direction.trace.map(|number| Arc::clone(&traces[number])),
        shared: false,
        bucket: None,
        disorder: None,
    }
}

/// The stage before a link.
pub fn shaper(shaper: &Shaper) -> LinkConfig {
    let bucket = Some(BucketConfig { burst_bytes: shaper.burst_bytes, polices: shaper.polices });
    LinkConfig { bucket, ..LinkConfig::with_rate(shaper_bps(shaper.rate_bps), 0, queue(&shaper.queue)) }
}

/// The rate of a shaper's tokens: one of 0 lets everything pass, at a rate far above that of any link.
pub const fn shaper_bps(rate_bps: u64) -> u64 {
    const OPEN_BPS: u64 = 1_000_000_000_000_000;
    if rate_bps == 0 { OPEN_BPS } else { rate_bps }
}

/// The stage behind a link, whose rate and queue mean nothing.
pub fn disorder(Disorder { jitter_ns, reorder, by_ns, duplicate }: Disorder) -> LinkConfig {
    let disorder = Some(DisorderConfig { jitter_ns, reorder, by_ns, duplicate });
    LinkConfig { disorder, ..LinkConfig::with_rate(1, 0, QueueConfig::DropTail { limit: network::Limit::Packets(0) }) }
}

/// The media, each between the directions of its links as [`links`] counts them, and of each of those its medium.
pub fn media(description: &Description) -> (Vec<Medium>, Vec<Option<usize>>) {
    let of_link: Vec<Option<usize>> = description.links.iter().flat_map(|link| [link.medium; 2]).collect();
    let media = description.media.iter().enumerate().map(|(number, medium)| {
        let links = of_link.iter().enumerate().filter(|&(_, &of)| of == Some(number));
        Medium::new(self::medium(medium), links.map(|(link, _)| link))
    });
    (media.collect(), of_link)
}

/// A medium.
pub const fn medium(medium: &description::Medium) -> MediumConfig {
    MediumConfig {
        share: match medium.share {
            Share::Frames => network::Share::Frames,
            Share::Airtime => network::Share::Airtime,
        },
        overhead_ns: medium.overhead_ns,
        packets: medium.aggregate_packets,
        longest_ns: medium.longest_ns,
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

/// A change of the shaper before a link, if it is one.
pub fn shaper_change(change: &Change) -> Option<network::Change> {
    change.shaper_bps.map(|bps| network::Change { rate_bps: Some(shaper_bps(bps)), ..network::Change::default() })
}

/// A client's connection hears what becomes of its address `id`.
pub fn tell<P: transport::Stream>(connection: &mut transport::Connection<P>, now_ns: u64, id: u8, set: &Change) {
    match set.address {
        Some(true) => connection.address_back(now_ns, id),
        Some(false) => connection.address_gone(now_ns, id),
        None => {}
    }
    if let Some(backup) = set.backup {
        connection.set_address_backup(now_ns, id, backup);
    }
}

fn queue(queue: &Queue) -> QueueConfig {
    match *queue {
        Queue::DropTail { limit } => QueueConfig::DropTail { limit: self::limit(limit) },
        Queue::Red { limit, min_packets, max_packets, max_probability, weight, gentle, ecn } => {
            let limit = self::limit(limit);
            QueueConfig::Red { limit, min_packets, max_packets, max_probability, weight, gentle, ecn }
        }
        Queue::Codel { limit, target_ns, interval_ns, mtu_bytes, ecn } => {
            QueueConfig::CoDel { limit: self::limit(limit), target_ns, interval_ns, mtu_bytes, ecn }
        }
        Queue::FqCodel { limit, target_ns, interval_ns, mtu_bytes, queues, quantum_bytes, ecn } => {
            let (limit, isolates_hosts) = (self::limit(limit), false);
            QueueConfig::FqCoDel {
                limit,
                target_ns,
                interval_ns,
                mtu_bytes,
                queues,
                quantum_bytes,
                ecn,
                isolates_hosts,
            }
        }
        Queue::Cake { limit, target_ns, interval_ns, mtu_bytes, queues, quantum_bytes, ecn } => {
            let (limit, isolates_hosts) = (self::limit(limit), true);
            QueueConfig::FqCoDel {
                limit,
                target_ns,
                interval_ns,
                mtu_bytes,
                queues,
                quantum_bytes,
                ecn,
                isolates_hosts,
            }
        }
        Queue::Pie { limit, target_ns, update_ns, max_burst_ns, alpha_per_s, beta_per_s, mtu_bytes, ecn } => {
            let limit = self::limit(limit);
            QueueConfig::Pie { limit, target_ns, update_ns, max_burst_ns, alpha_per_s, beta_per_s, mtu_bytes, ecn }
        }
        Queue::DualPi2 { limit, target_ns, update_ns, alpha_per_s, beta_per_s, coupling, step_ns, classic_share } => {
            QueueConfig::DualPi2 {
                limit: self::limit(limit),
                target_ns,
                update_ns,
                alpha_per_s,
                beta_per_s,
                coupling,
                step_ns,
                classic_share,
            }
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
        Loss::Periodic { every_packets } => LossConfig::Periodic { every_packets },
    }
}

/// How the two ends of a connection behave: the client's configuration, then the server's. The client alone manages
/// paths: it is the one with several addresses.
/// Algorithms that `plugins` has under the names that the connection gives are those, before the built-in ones.
pub fn transport(connection: &Connection, plugins: &Plugins) -> Result<[Config; 2], Invalid> {
    let place = |reason: ChoiceError| Invalid(format!("connection «{}»: {reason}", connection.name));
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
    // A description names all paths that are to be used; a path manager may ask for more of a path.
    let paths = u8::try_from(connection.paths.len()).unwrap_or(u8::MAX);
    let asked_for = path_manager::subflows_asked_for(&path_manager).unwrap_or(paths);
    let server = Config {
        protocol: match connection.protocol {
            Protocol::Tcp => transport::Protocol::Tcp,
            Protocol::Mptcp => transport::Protocol::Mptcp,
        },
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
        capable_syn_retries: connection.tcp.mptcp_syn_retries,
        tcp: tcp(&connection.tcp, connection.ecn, connection.application.is_dialogue()),
        ..defaults
    };
    let client = match connection.protocol {
        Protocol::Tcp => server.clone(),
        Protocol::Mptcp => Config { path_manager, ..server.clone() },
    };
    Ok([client, server])
}

fn tcp(tcp: &Tcp, ecn: bool, dialogue: bool) -> transport::TcpOptions {
    transport::TcpOptions {
        shortcuts: true,
        loss_detection: match tcp.loss_detection {
            LossDetection::RackTlp => transport::LossDetection::RackTlp,
            // Without SACK there is nothing else than three duplicates (RFC 6582).
            LossDetection::Sack | LossDetection::Newreno => transport::LossDetection::Sack,
        },
        sack: tcp.loss_detection != LossDetection::Newreno,
        frto: tcp.frto,
        impatient: transport::TcpOptions::default().impatient,
        r1: transport::TcpOptions::default().r1,
        // Programs that ask and answer set TCP_NODELAY.
        nagle: tcp.nagle && !dialogue,
        pacing: tcp.pacing,
        ecn,
        abe: tcp.abe,
        timestamps: tcp.timestamps,
        initial_window: tcp.initial_window,
        initial_ssthresh: tcp.initial_ssthresh,
        window_validation: match tcp.window_validation {
            WindowValidation::Rfc7661 => transport::WindowValidation::Rfc7661,
            WindowValidation::Linux => transport::WindowValidation::Linux,
        },
        rto_min_ns: tcp.rto_min_ns,
        rto_max_ns: tcp.rto_max_ns,
        rto_backoff: tcp.rto_backoff,
        segments_per_ack: tcp.segments_per_ack,
        ack_delay_ns: tcp.ack_delay_ns,
        quick_acks: tcp.quick_acks,
        retries: tcp.retries,
        syn_retries: tcp.syn_retries,
    }
}

/// An algorithm of a family by its name, with its parameters.
pub fn choice<F: Family>(named: &Named) -> Result<Choice<F>, ChoiceError> {
    Choice::with(&named.name, named.parameters.iter().map(|(name, value)| (name, self::value(value))))
}

/// The value of a parameter; what is none, as a list, is a word that no parameter has.
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
