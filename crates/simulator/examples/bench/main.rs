//! Runs one workload of the benchmark: `cargo run --release -p simulator --example bench WORKLOAD [SECONDS]`. Prints
//! one line of JSON. `make bench` (tools/bench) runs all of them and prints the table; docs/performance.md explains the
//! numbers.

mod fat_tree;
mod workloads;

use scenario::outcome::Outcome;
use workloads::Workload;

/// CPU time of this thread in seconds, as counted by Linux.
fn cpu_s() -> f64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").expect("this benchmark needs Linux's schedstat");
    text.split_whitespace().next().and_then(|ns| ns.parse::<f64>().ok()).expect("nanoseconds on the CPU") / 1e9
}

/// Peak resident memory of this process in bytes.
fn peak_rss_bytes() -> u64 {
    let text = std::fs::read_to_string("/proc/self/status").expect("this benchmark needs Linux's /proc");
    let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("the high-water mark");
    line.trim_end_matches("kB").trim().parse::<u64>().expect("a number of kB") * 1024
}

/// Utilisation: the receivers' share of the optimum, or the load of the fullest link.
fn utilisation(workload: &Workload, outcome: &Outcome) -> f64 {
    match workload.optimum_bps {
        // Only full segments are sent: the goodput plus headers.
        Some(optimum_bps) => {
            let sum_bps: f64 = outcome.connections.iter().filter_map(|connection| connection.goodput_bps).sum();
            sum_bps / (optimum_bps * workloads::MPTCP_SHARE)
        }
        None => outcome.links.iter().map(|row| row.utilization).fold(0.0, f64::max),
    }
}

/// A digest of the outcome, which shows whether a change altered it.
fn digest(outcome: &Outcome) -> Result<String, serde_json::Error> {
    let text = serde_json::to_string(&(&outcome.connections, &outcome.links))?;
    let hash = <sha2::Sha256 as sha2::Digest>::digest(text);
    Ok(hash.iter().take(8).map(|byte| format!("{byte:02x}")).collect())
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let name = arguments.first().map_or("", String::as_str);
    let seconds = arguments.get(1).map(|seconds| seconds.parse::<f64>()).transpose()?;
    let Some(mut workload) = workloads::workload(name) else {
        eprintln!("no workload {name:?}; there are {}", workloads::NAMES);
        std::process::exit(2);
    };
    let duration_s = seconds.unwrap_or(workload.seconds);
    let description = workload.description(duration_s);
    let before_s = cpu_s();
    let outcome = simulator::simulate(&description, &mut |_| true)?;
    let took_s = cpu_s() - before_s;
    let drops: u64 = outcome.links.iter().map(|row| row.drops).sum();
    let subflows = outcome.connections.iter().flat_map(|connection| &connection.subflows);
    let sent_segments: u64 = subflows.map(|subflow| subflow.segments_sent).sum();
    let answer = serde_json::json!({
        "workload": name,
        "simulated_s": duration_s,
        "cpu_s": took_s,
        "packet_hops": outcome.work.packet_hops,
        "segments_delivered": outcome.work.segments_delivered,
        "events": outcome.work.events,
        "peak_rss_bytes": peak_rss_bytes(),
        "utilisation": utilisation(&workload, &outcome),
        "drops": drops,
        "data_segments_under_way": (sent_segments as i64) - (outcome.work.segments_delivered + drops) as i64,
        "digest": digest(&outcome)?,
    });
    println!("{answer}");
    Ok(())
}
