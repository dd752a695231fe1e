//! A legal network whose values come from their whole ranges. Ranges without a declaration in Rust are those of
//! `python/mptcplab/scenario`.

use super::draw::Draw;
use crate::common::{MS, SECOND};
use algorithm::{About, Capability};
use network::middlebox::MiddleboxConfig;
use network::{LossConfig, MediumConfig, QueueConfig};
use scenario::convert;
use scenario::description::{Description, Named, TcpOptions};
use serde_json::{Map, Value, json};
use transport::algorithm::Family;

const HOUR: u64 = 3600 * SECOND;
const LONGEST: u64 = 30 * 24 * HOUR;
const RATE_MOST: u64 = 1_000_000_000_000;
/// A scenario file may ask for a million; each takes some 20 kB.
const COUNT_MOST: u64 = 100;

/// A member of a family, with its settings.
fn kind(draw: &mut Draw, table: &[About]) -> Value {
    let about = *draw.one_of(table);
    let mut all = draw.settings(&about, false);
    all.insert("kind".into(), json!(about.name));
    Value::Object(all)
}

fn queue(draw: &mut Draw, shared: bool) -> Value {
    let fits = |about: &&About| !shared || !about.capabilities.has(Capability::AsksTransmitter);
    let table: Vec<About> = QueueConfig::TABLE.iter().filter(fits).copied().collect();
    let mut queue = kind(draw, &table);
    queue["limit"] = draw.limit();
    queue
}

fn loss(draw: &mut Draw) -> Value {
    if draw.flag() { json!({ "kind": "none" }) } else { kind(draw, LossConfig::TABLE) }
}

fn rate(draw: &mut Draw) -> u64 {
    draw.whole("rate", [100_000, 20_000_000], [1, RATE_MOST])
}

fn direction(draw: &mut Draw, traces: usize, shared: bool) -> Value {
    let trace = (!shared && traces > 0 && draw.chance(0.3)).then(|| draw.below(traces as u64));
    let shaper = draw.chance(0.2).then(|| {
        let rate_bps =
            if draw.chance(0.1) { 0 } else { draw.whole("shaper.rate", [500_000, 20_000_000], [1, RATE_MOST]) };
        let burst_bytes = draw.whole("shaper.burst", [1_000, 100_000], [0, 1_000_000_000]);
        json!({ "rate_bps": rate_bps, "burst_bytes": burst_bytes, "polices": draw.flag(), "queue": queue(draw, false) })
    });
    let disorder = draw.chance(0.2).then(|| {
        let jitter_ns = draw.whole("jitter", [1, 10 * MS], [0, HOUR]);
        let by_ns = draw.whole("reorder.by", [MS, 20 * MS], [1, HOUR]);
        let [reorder, duplicate] = [0, 1].map(|_| if draw.is_wild() { 1.0 } else { 0.01 });
        json!({ "jitter_ns": jitter_ns, "reorder": reorder, "by_ns": by_ns, "duplicate": duplicate })
    });
    json!({
        "rate_bps": if trace.is_some() { 0 } else { rate(draw) },
        "trace": trace,
        "delay_ns": draw.whole("delay", [10_000, 50 * MS], [0, HOUR]),
        "queue": queue(draw, shared),
        "loss": loss(draw),
        "shaper": shaper,
        "disorder": disorder,
    })
}

fn link(draw: &mut Draw, number: usize, traces: usize, media: usize) -> Value {
    let medium = (media > 0 && draw.chance(0.5)).then_some(0);
    let shared = medium.is_some();
    let boxes = if draw.chance(0.3) { 1 + draw.below(3) } else { 0 };
    let metered = draw.chance(0.2).then(|| {
        json!({ "price_per_gb": 1e6, "cap_bytes": draw.whole("cap", [1, 1_000_000], [1, 1_000_000_000_000_000]), "backup": draw.flag() })
    });
    json!({
        "name": format!("l{number}"),
        "medium": medium,
        "down": direction(draw, traces, shared),
        "up": direction(draw, traces, shared),
        "middleboxes": (0..boxes).map(|_| kind(draw, MiddleboxConfig::TABLE)).collect::<Vec<_>>(),
        "metered": metered,
    })
}

/// Non-decreasing times in milliseconds, the last above 0.
fn trace(draw: &mut Draw) -> String {
    let mut time_ms = 0_u64;
    let lines = 1 + draw.below(20);
    let text = (0..lines).map(|_| {
        time_ms =
            time_ms.saturating_add(draw.whole("trace.gap", [1, 100], [0, 18_446_744_073_709])).min(18_446_744_073_709);
        format!("{time_ms}\n")
    });
    let text: String = text.collect();
    if time_ms == 0 { text + "1\n" } else { text }
}

/// A path of one link or, occasionally, of up to the maximum. No link with middleboxes is crossed twice or in reverse.
fn path(draw: &mut Draw, links: &[Value]) -> Value {
    let length = draw.whole("path.links", [1, 3], [1, 60]);
    let boxed = |link: usize| links[link]["middleboxes"].as_array().is_some_and(|boxes| !boxes.is_empty());
    let mut over: Vec<usize> = Vec::new();
    for _ in 0..length {
        let link = draw.below(links.len() as u64) as usize;
        if !(boxed(link) && over.contains(&link)) {
            over.push(link);
        }
    }
    let reversed: Vec<bool> = over.iter().map(|&link| !boxed(link) && draw.chance(0.2)).collect();
    json!({ "name": "p", "links": over, "reversed": reversed })
}

/// An algorithm of a family with parameters, or without them if they are incompatible.
fn algorithm<F: Family>(draw: &mut Draw) -> Value {
    let row = draw.one_of(F::table());
    let mut parameters = draw.settings(&row.about, true);
    let named = Named { name: row.about.name.to_owned(), parameters: parameters.clone() };
    if convert::choice::<F>(&named).is_err() {
        parameters.clear();
    }
    parameters.insert("name".into(), json!(row.about.name));
    Value::Object(parameters)
}

fn size(draw: &mut Draw, key: &str) -> u64 {
    draw.whole(key, [1, 300_000], [1, 1_000_000_000_000_000])
}

fn flows(draw: &mut Draw) -> Value {
    let mean = size(draw, "flows.mean");
    let size = match draw.below(3) {
        0 => json!({ "distribution": "constant", "mean_bytes": mean }),
        1 => json!({ "distribution": "exponential", "mean_bytes": mean }),
        _ => {
            json!({ "distribution": "pareto", "mean_bytes": mean, "shape": draw.one_of(&[1_f64.next_up(), 1.2, 100.0]) })
        }
    };
    let rate = draw.whole("flows.rate", [1_000_000, 100_000_000], [1, 1_000_000_000_000]) as f64 / 1e6;
    let arrivals = match draw.below(3) {
        0 => json!({ "distribution": "poisson", "rate_per_s": rate }),
        1 => json!({ "distribution": "periodic", "rate_per_s": rate }),
        _ => json!({ "distribution": "at-once", "count": draw.whole("flows.count", [1, 5], [1, COUNT_MOST]) }),
    };
    json!({ "kind": "flows", "size": size, "arrivals": arrivals })
}

fn web(draw: &mut Draw) -> Value {
    let objects = (0..1 + draw.below(4)).map(|place| {
        let size_bytes = size(draw, "web.size");
        let count = if place == 0 { 1 } else { draw.whole("web.count", [1, 5], [1, 10_000]) };
        json!({ "size_bytes": size_bytes, "count": count, "after": (place > 0).then(|| draw.below(place)) })
    });
    let objects: Vec<Value> = objects.collect();
    let multiplexed = draw.flag();
    json!({
        "kind": "web",
        "objects": objects,
        "connections": if multiplexed { 1 } else { draw.whole("web.connections", [1, 6], [1, 100]) },
        "multiplexed": multiplexed,
        "request_bytes": draw.whole("web.request", [1, 1_000], [1, 1_000_000]),
        "think_ns": draw.whole("web.think", [MS, SECOND], [0, HOUR]),
        "pages": draw.flag().then(|| draw.whole("web.pages", [1, 3], [1, 1_000_000])),
    })
}

fn video(draw: &mut Draw) -> Value {
    let mut ladder: Vec<u64> =
        (0..1 + draw.below(5)).map(|_| draw.whole("video.rate", [100_000, 5_000_000], [1_000, RATE_MOST])).collect();
    ladder.sort_unstable();
    ladder.dedup();
    // reservoir < upper ≤ buffer − segment, and startup + segment ≤ buffer.
    let segment = draw.whole("video.segment", [100 * MS, 4 * SECOND], [MS, HOUR / 2]);
    let buffer = draw.whole("video.buffer", [2 * segment, 8 * segment], [segment + 2 * MS, HOUR]).max(segment + 2 * MS);
    let upper = draw.whole("video.upper", [buffer - segment; 2], [2 * MS, buffer - segment]);
    json!({
        "kind": "video",
        "ladder_bps": ladder,
        "segment_ns": segment,
        "buffer_ns": buffer,
        "reservoir_ns": draw.whole("video.reservoir", [upper - 1; 2], [MS, upper - 1]),
        "upper_ns": upper,
        "startup_ns": draw.whole("video.startup", [MS; 2], [MS, buffer - segment]),
        "segments": draw.flag().then(|| draw.whole("video.segments", [1, 5], [1, 86_400_000])),
        "request_bytes": draw.whole("video.request", [1, 1_000], [1, 1_000_000]),
    })
}

fn application(draw: &mut Draw) -> Value {
    match draw.below(12) {
        0 => json!({ "kind": "bulk" }),
        1 => {
            let limit_ns = draw.flag().then(|| draw.whole("requests.limit", [SECOND, 10 * SECOND], [1, 24 * HOUR]));
            json!({ "kind": "requests", "size_bytes": size(draw, "requests.size"), "limit_ns": limit_ns })
        }
        2 => json!({ "kind": "rate", "rate_bps": draw.whole("rate.rate", [10_000, 1_000_000], [1, RATE_MOST]) }),
        3 => flows(draw),
        4 => {
            let interval_ns = draw.whole("ping.interval", [20 * MS, SECOND], [MS, HOUR]);
            json!({ "kind": "ping", "size_bytes": draw.whole("ping.size", [64; 2], [1, 1_000_000]), "interval_ns": interval_ns })
        }
        5 => web(draw),
        6 => video(draw),
        7 => {
            json!({ "kind": "ftp", "size_bytes": size(draw, "ftp.size"), "files": draw.whole("ftp.files", [1, 3], [1, 1_000_000]) })
        }
        _ => json!({ "kind": "file", "size_bytes": size(draw, "file.size") }),
    }
}

/// A time from 0 to the longest duration. Late times are rare, because nothing happens before them.
fn moment(draw: &mut Draw, key: &str) -> u64 {
    if draw.chance(0.8) { draw.below(SECOND) } else { draw.whole(key, [1, SECOND], [0, LONGEST]) }
}

fn connection(draw: &mut Draw, number: usize, links: &[Value], paths: &[Value]) -> Value {
    let protocol = if draw.chance(0.2) { "tcp" } else { "mptcp" };
    let count = if protocol == "tcp" { 1 } else { draw.whole("connection.paths", [1, 4], [1, 255]) };
    let over: Vec<usize> = (0..count).map(|_| draw.below(paths.len() as u64) as usize).collect();
    let application = application(draw);
    let dialogue = ["ping", "web", "video", "ftp"].iter().any(|kind| application["kind"] == *kind);
    // No proxy may be next to a server that sends.
    let last = |&path: &usize| paths[path]["links"].as_array().and_then(|links| links.last()).and_then(Value::as_u64);
    let proxy = over.iter().filter_map(last).any(|link| {
        links[link as usize]["middleboxes"]
            .as_array()
            .is_some_and(|boxes| boxes.iter().any(|each| each["kind"] == "proactive-acks"))
    });
    let (application, up) = match (proxy, dialogue) {
        (true, true) => (json!({ "kind": "bulk" }), true),
        (true, false) => (application, true),
        (false, true) => (application, false),
        (false, false) => (application, draw.flag()),
    };
    let mut start_ns = [moment(draw, "start.from"), moment(draw, "start.to")];
    start_ns.sort_unstable();
    json!({
        "name": format!("c{number}"),
        "count": draw.whole("count", [1, 2], [1, COUNT_MOST]),
        "paths": over,
        "protocol": protocol,
        "congestion": algorithm::<transport::congestion::Controls>(draw),
        "scheduler": algorithm::<transport::scheduler::Schedulers>(draw),
        "path_manager": algorithm::<transport::path_manager::PathManagers>(draw),
        "application": application,
        "direction": if up { "up" } else { "down" },
        "start_ns": start_ns,
        "stop_ns": draw.chance(0.3).then(|| start_ns[1].saturating_add(moment(draw, "stop"))),
        "mss_bytes": draw.whole("mss", [1_460; 2], [88, 65_495]),
        "receive_buffer_bytes": draw.chance(0.3).then(|| draw.whole("receive_buffer", [2_000, 1_000_000], [1, u64::MAX])),
        "ecn": draw.flag(),
        "checksum": draw.flag(),
        "tcp": draw.settings(&TcpOptions::ABOUT, false),
    })
}

fn event(draw: &mut Draw, links: &[Value]) -> Value {
    let number = draw.below(links.len() as u64) as usize;
    let link = &links[number];
    let (down, up) = (draw.flag(), draw.flag());
    let on = |key: &str| [(down, "down"), (up, "up")].iter().any(|&(on, way)| on && !link[way][key].is_null());
    let both = |key: &str| [(down, "down"), (up, "up")].iter().all(|&(on, way)| !on || !link[way][key].is_null());
    let mut set = Map::new();
    match draw.below(7) {
        0 if !on("trace") => set.insert("rate_bps".into(), json!(rate(draw))),
        1 => set.insert("delay_ns".into(), json!(draw.whole("event.delay", [1, 50 * MS], [0, HOUR]))),
        2 => set.insert("loss".into(), loss(draw)),
        3 if both("shaper") => {
            set.insert("shaper_bps".into(), json!(draw.whole("event.shaper", [500_000, 20_000_000], [0, RATE_MOST])))
        }
        4 => set.insert("address".into(), json!(draw.flag())),
        5 => set.insert("backup".into(), json!(draw.flag())),
        _ => set.insert("dead".into(), json!(draw.flag())),
    };
    json!({ "at_ns": moment(draw, "event.at"), "link": number, "down": down, "up": up, "set": set })
}

/// The network of a seed, with the keys that are at an end of their range.
pub fn of_seed(seed: u64) -> (Description, Draw) {
    let mut draw = Draw::new(seed);
    let traces: Vec<String> = (0..draw.below(3)).map(|_| trace(&mut draw)).collect();
    let media: Vec<Value> = (0..draw.below(2))
        .map(|_| {
            let mut medium = draw.settings(&MediumConfig::ABOUT, false);
            medium.insert("name".into(), json!("air"));
            Value::Object(medium)
        })
        .collect();
    let links: Vec<Value> =
        (0..1 + draw.below(4) as usize).map(|n| link(&mut draw, n, traces.len(), media.len())).collect();
    let paths: Vec<Value> = (0..1 + draw.below(4)).map(|_| path(&mut draw, &links)).collect();
    let connections: Vec<Value> =
        (0..1 + draw.below(3) as usize).map(|n| connection(&mut draw, n, &links, &paths)).collect();
    let events: Vec<Value> = (0..draw.below(5)).map(|_| event(&mut draw, &links)).collect();
    let duration_ns = draw.whole("duration", [SECOND / 4, 4 * SECOND], [1, LONGEST]);
    let description = json!({
        "duration_ns": duration_ns,
        "seed": draw.whole("seed", [1, 1000], [0, u64::MAX]),
        "warmup_ns": draw.whole("warmup", [1; 2], [0, LONGEST]).min(duration_ns - 1),
        // A scenario file may ask for 10⁷ samples of every link and subflow.
        "sample_ns": draw.chance(0.7).then(|| draw.whole("sample", [100 * MS; 2], [1_000, LONGEST]).max(duration_ns / 1_000)),
        "through_wire": draw.flag(),
        "traces": traces,
        "media": media,
        "links": links,
        "paths": paths,
        "connections": connections,
        "events": events,
    });
    (serde_json::from_value(description).expect("a description"), draw)
}
