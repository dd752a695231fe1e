//! From the description to what the transport and the links are made with.

use crate::description::{
    Change, Connection, Description, Direction, Limit, Loss, LossDetection, Named, Protocol, Queue, Tcp,
};
use crate::random;
use crate::{Plugins, SimulateError};
use network::{Link, LinkConfig, LossConfig, QueueConfig, Trace};
use std::sync::Arc;
use transport::congestion::Variant;
use transport::{Config, ReceiveBuffer, congestion, path_manager, scheduler};

/// The traces; `validate` has read them before.
pub fn traces(description: &Description) -> Vec<Arc<Trace>> {
    let read = |text: &String| Arc::new(Trace::parse(text).unwrap_or_else(|error| panic!("a trace: {error}")));
    description.traces.iter().map(read).collect()
}

/// All links: of each the direction down, then up.
pub fn links<T: Copy + Default>(description: &Description) -> Vec<Link<T>> {
    let traces = traces(description);
    let mut links = Vec::with_capacity(2 * description.links.len());
    for link in &description.links {
        for (way, direction) in [("down", &link.down), ("up", &link.up)] {
            let generator = random::generator(description.seed, &format!("link/{}/{way}", link.name));
            links.push(Link::new(self::direction(direction, &traces), generator));
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
        Queue::Red { limit, min_packets, max_packets, max_probability, weight, gentle, ecn } => {
            let limit = self::limit(limit);
            QueueConfig::Red { limit, min_packets, max_packets, max_probability, weight, gentle, ecn }
        }
        Queue::Codel { limit, target_ns, interval_ns, mtu_bytes, ecn } => {
            QueueConfig::CoDel { limit: self::limit(limit), target_ns, interval_ns, mtu_bytes, ecn }
        }
        Queue::FqCodel { limit, target_ns, interval_ns, mtu_bytes, queues, quantum_bytes, ecn } => {
            let limit = self::limit(limit);
            QueueConfig::FqCoDel { limit, target_ns, interval_ns, mtu_bytes, queues, quantum_bytes, ecn }
        }
        Queue::Pie { limit, target_ns, update_ns, max_burst_ns, alpha_per_s, beta_per_s, mtu_bytes, ecn } => {
            let limit = self::limit(limit);
            QueueConfig::Pie { limit, target_ns, update_ns, max_burst_ns, alpha_per_s, beta_per_s, mtu_bytes, ecn }
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
pub fn transport(connection: &Connection, plugins: &Plugins) -> Result<[Config; 2], SimulateError> {
    let place = |reason: String| SimulateError::Invalid(format!("connection «{}»: {reason}", connection.name));
    let defaults = Config::default();
    let label = &connection.name;
    let path_manager = match plugins.path_manager(&connection.path_manager.name, label) {
        Some(choice) => choice,
        None => path_manager(&connection.path_manager, connection.paths.len()).map_err(place)?,
    };
    let asked_for = match path_manager {
        path_manager::Choice::Ndiffports { subflows } => subflows,
        // A description names all paths that are to be used.
        _ => u8::try_from(connection.paths.len()).unwrap_or(u8::MAX),
    };
    let server = Config {
        protocol: match connection.protocol {
            Protocol::Tcp => transport::Protocol::Tcp,
            Protocol::Mptcp => transport::Protocol::Mptcp,
        },
        mss: connection.mss_bytes,
        receive_buffer: connection.receive_buffer_bytes.map_or(ReceiveBuffer::Auto, ReceiveBuffer::Fixed),
        congestion: match plugins.congestion(&connection.congestion.name, label) {
            Some(choice) => choice,
            None => congestion(&connection.congestion).map_err(place)?,
        },
        scheduler: match plugins.scheduler(&connection.scheduler.name, label) {
            Some(choice) => choice,
            None => scheduler(&connection.scheduler).map_err(place)?,
        },
        path_manager: path_manager::Choice::Passive,
        max_subflows: defaults.max_subflows.max(asked_for),
        checksum: connection.checksum,
        tcp: tcp(&connection.tcp, connection.ecn),
        ..defaults
    };
    let client = match connection.protocol {
        Protocol::Tcp => server.clone(),
        Protocol::Mptcp => Config { path_manager, ..server.clone() },
    };
    Ok([client, server])
}

fn tcp(tcp: &Tcp, ecn: bool) -> transport::TcpOptions {
    transport::TcpOptions {
        shortcuts: true,
        loss_detection: match tcp.loss_detection {
            LossDetection::RackTlp => transport::LossDetection::RackTlp,
            // Without SACK there is nothing else than three duplicates (RFC 6582).
            LossDetection::Sack | LossDetection::Newreno => transport::LossDetection::Sack,
        },
        sack: tcp.loss_detection != LossDetection::Newreno,
        frto: tcp.frto,
        nagle: tcp.nagle,
        pacing: tcp.pacing,
        ecn,
        abe: tcp.abe,
        timestamps: tcp.timestamps,
        initial_window: tcp.initial_window,
        initial_ssthresh: tcp.initial_ssthresh,
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

/// A congestion control by its name and, where it has several forms, its variant.
fn congestion(named: &Named) -> Result<congestion::Choice, String> {
    if named.name == "cubic" {
        let mut parameters = Parameters::of("congestion control", named);
        let converging = parameters.flag("fast_convergence", true)?;
        let choice = match (parameters.word("variant", "paper")?, converging) {
            ("paper", true) => congestion::Choice::Cubic,
            ("paper", false) => congestion::Choice::CubicAlone,
            ("linux", true) => congestion::Choice::CubicLinux,
            ("linux", false) => return Err("cubic's variant \"linux\" has fast convergence always".to_owned()),
            (other, _) => return Err(format!("a variant is \"paper\" or \"linux\", found \"{other}\"")),
        };
        return parameters.all_known().map(|()| choice);
    }
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

/// A scheduler by its name, with its parameters.
fn scheduler(named: &Named) -> Result<scheduler::Choice, String> {
    let mut parameters = Parameters::of("scheduler", named);
    let choice = match named.name.as_str() {
        "min-rtt" => match parameters.word("reinjection", "none")? {
            "none" => scheduler::Choice::MinRtt,
            "orp" => scheduler::Choice::MinRttOrp,
            other => return Err(format!("the reinjection of min-rtt is \"none\" or \"orp\", found \"{other}\"")),
        },
        "round-robin" => scheduler::Choice::RoundRobin {
            segments: parameters.octet("segments", 1)?.into(),
            cwnd_limited: parameters.flag("cwnd_limited", true)?,
        },
        "redundant" => scheduler::Choice::Redundant,
        "blest" => scheduler::Choice::Blest { slow_start: parameters.flag("slow_start", true)? },
        "ecf" => scheduler::Choice::Ecf { linux: parameters.is_linux()? },
        "dmptcp" => scheduler::Choice::Dmptcp,
        "linux" => scheduler::Choice::Linux,
        name => return Err(format!("the simulator has no scheduler «{name}»")),
    };
    parameters.all_known().map(|()| choice)
}

/// A path manager by its name, with its parameters, for a connection over `paths` paths.
fn path_manager(named: &Named, paths: usize) -> Result<path_manager::Choice, String> {
    let mut parameters = Parameters::of("path manager", named);
    let choice = match named.name.as_str() {
        "default" => path_manager::Choice::Passive,
        "fullmesh" => path_manager::Choice::Fullmesh,
        "ndiffports" => path_manager::Choice::Ndiffports { subflows: parameters.octet("subflows", 2)? },
        "backup" => path_manager::Choice::Backup,
        // Each path but the first, which opens the connection, leads through a gateway.
        "binder" => path_manager::Choice::Binder { gateways: (1..paths).map(|path| path as u8).collect() },
        name => return Err(format!("the simulator has no path manager «{name}»")),
    };
    parameters.all_known().map(|()| choice)
}

/// The parameters of an algorithm, each to be asked for once. Those that a description leaves out have one value only.
struct Parameters<'n> {
    what: &'static str,
    named: &'n Named,
    asked: Vec<&'static str>,
}

impl<'n> Parameters<'n> {
    fn of(what: &'static str, named: &'n Named) -> Self {
        Parameters { what, named, asked: Vec::new() }
    }

    fn get<T>(
        &mut self,
        name: &'static str,
        default: T,
        expected: &str,
        read: impl Fn(&'n serde_json::Value) -> Option<T>,
    ) -> Result<T, String> {
        self.asked.push(name);
        let Some(value) = self.named.parameters.get(name) else { return Ok(default) };
        read(value)
            .ok_or_else(|| format!("{name} of the {} «{}» is {expected}, found {value}", self.what, self.named.name))
    }

    fn word(&mut self, name: &'static str, default: &'static str) -> Result<&'n str, String> {
        self.get(name, default, "a word", serde_json::Value::as_str)
    }

    fn flag(&mut self, name: &'static str, default: bool) -> Result<bool, String> {
        self.get(name, default, "true or false", serde_json::Value::as_bool)
    }

    fn octet(&mut self, name: &'static str, default: u8) -> Result<u8, String> {
        let read = |value: &serde_json::Value| value.as_u64().and_then(|n| u8::try_from(n).ok()).filter(|&n| n > 0);
        self.get(name, default, "a whole number from 1 to 255", read)
    }

    /// `variant`: as its authors print it, or as Linux code has it.
    fn is_linux(&mut self) -> Result<bool, String> {
        match self.word("variant", "paper")? {
            "paper" => Ok(false),
            "linux" => Ok(true),
            other => Err(format!("the variant of «{}» is \"paper\" or \"linux\", found \"{other}\"", self.named.name)),
        }
    }

    fn all_known(&self) -> Result<(), String> {
        match self.named.parameters.keys().find(|name| !self.asked.contains(&name.as_str())) {
            None => Ok(()),
            Some(name) => Err(format!("the {} «{}» takes no parameter «{name}»", self.what, self.named.name)),
        }
    }
}
