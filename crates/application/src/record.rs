//! The results of an application, summed over its transfers.

use std::collections::{BTreeMap, VecDeque};

use transport::DelayHistogram;

use crate::content::Content;
use crate::mark::{Mark, Present};
use crate::outcome::{Connection, SubflowShare, Transfers};
use crate::stream::Stream;
use crate::tally::{Tally, Window};

/// Identifies a transfer: its start time, size and completion time.
type Key = (u64, u64, u64);
/// Further results of a transfer: the sender's completion time, and its subflows.
type Details = (Option<f64>, Vec<SubflowShare>);

/// The key of a transfer, from its columns.
fn key(start_s: f64, size_bytes: u64, completion_s: f64) -> Key {
    (start_s.to_bits(), size_bytes, completion_s.to_bits())
}

/// Sums over the transfers added so far.
#[derive(Clone, Debug)]
pub struct Record<F> {
    /// Tallies by path in order of first use if the application repeats, else by subflow.
    pub tallies: Vec<Tally<F>>,
    /// Total bytes read; `warm_bytes` are those read before the end of the warm-up.
    pub bytes_read: u64,
    warm_bytes: u64,
    /// Distribution of the time that bytes waited for earlier ones.
    delays: DelayHistogram,
    /// When the last byte was read.
    pub last_read_ns: u64,
    /// Whether any transfer fell back to TCP.
    pub fallback: bool,
    /// For an application with parts: the parts that began after the warm-up.
    pub done: Transfers,
    /// Details of the completed transfers, in the order of addition, which differs from the order of completion.
    details: Vec<(Key, Details)>,
    /// Why the first failed transfer failed.
    pub failure: Option<String>,
    /// For an application that repeats: bytes per path at the last sample.
    sampled: Vec<u64>,
    repeats: bool,
    has_parts: bool,
}

impl<F: Clone> Record<F> {
    /// An empty record.
    pub fn new(start_ns: u64, content: &Content) -> Record<F> {
        Record {
            tallies: Vec::new(),
            bytes_read: 0,
            warm_bytes: 0,
            delays: DelayHistogram::default(),
            last_read_ns: start_ns,
            fallback: false,
            done: Transfers::default(),
            details: Vec::new(),
            failure: None,
            sampled: Vec::new(),
            repeats: content.repeats(),
            has_parts: content.has_parts(),
        }
    }

    /// Adds the counts of a transfer, one tally per subflow. `receiver` holds the distribution of waiting times and
    /// whether the connection fell back.
    pub fn add(&mut self, stream: &Stream, tallies: Vec<Tally<F>>, receiver: Option<(&DelayHistogram, bool)>) {
        if let (true, Some(done_ns)) = (self.repeats, stream.completion_ns) {
            let since_s = |at_ns: u64| (at_ns - stream.start_ns) as f64 / 1e9;
            let key = key(stream.start_ns as f64 / 1e9, stream.bytes_read, since_s(done_ns));
            let carried = tallies.iter().map(Tally::carried).collect();
            self.details.push((key, (stream.flushed_ns.map(since_s), carried)));
        }
        if self.failure.is_none() {
            self.failure = stream.failed();
        }
        for tally in tallies {
            if self.repeats {
                let place = self.place(tally.path);
                self.tallies[place].add(tally);
            } else {
                self.tallies.push(tally);
            }
        }
        if let Some((delays, fallback)) = receiver {
            self.delays.merge(delays);
            self.fallback |= fallback;
        }
        self.bytes_read += stream.bytes_read;
        self.warm_bytes += stream.warm_bytes;
        self.last_read_ns = self.last_read_ns.max(stream.last_read_ns);
    }

    /// Index of the tally of `path`, which is created if needed.
    pub fn place(&mut self, path: u32) -> usize {
        self.tallies.iter().position(|tally| tally.path == path).unwrap_or_else(|| {
            self.tallies.push(Tally::empty(path));
            self.tallies.len() - 1
        })
    }

    /// Ends the warm-up: all counts so far belong to it.
    pub fn warm_up_ends(&mut self) {
        self.warm_bytes = self.bytes_read;
        self.tallies.iter_mut().for_each(Tally::warm_up_ends);
    }

    /// Samples an application that repeats. Returns for each path the bytes that arrived since the last sample and the
    /// current state. `standing` lists the subflows of transfers that are not added yet, each with its path and whether
    /// the transfer is complete; the congestion windows of complete transfers do not count.
    pub fn sample_paths(&mut self, standing: impl Iterator<Item = (u32, Mark, bool)>) -> Vec<(u64, Present)> {
        let mut bytes: Vec<u64> = self.tallies.iter().map(|tally| tally.all_bytes).collect();
        let mut present = vec![Present::default(); bytes.len()];
        for (path, mark, complete) in standing {
            let place = self.place(path);
            bytes.resize(self.tallies.len(), 0);
            present.resize(self.tallies.len(), Present::default());
            bytes[place] += mark.bytes_received;
            if !complete {
                present[place].add(&mark);
            }
        }
        self.sampled.resize(bytes.len(), 0);
        let since =
            bytes.iter().zip(&mut self.sampled).map(|(&now, last)| now.saturating_sub(std::mem::replace(last, now)));
        since.zip(present).collect()
    }

    /// The transfers, once all of them were added. Transfers with equal start, size and completion time get their
    /// details in arbitrary order.
    fn transfers(&mut self) -> Transfers {
        let mut known: BTreeMap<Key, VecDeque<Details>> = BTreeMap::new();
        for (key, details) in self.details.drain(..) {
            known.entry(key).or_default().push_back(details);
        }
        let mut done = std::mem::take(&mut self.done);
        for ((&start_s, &size_bytes), &completion_s) in
            done.start_s.iter().zip(&done.size_bytes).zip(&done.completion_s)
        {
            let details = known.get_mut(&key(start_s, size_bytes, completion_s)).and_then(VecDeque::pop_front);
            let (sender_s, carried) = details.unwrap_or_default();
            done.sender_completion_s.push(sender_s);
            done.subflows.push(carried);
        }
        done
    }

    /// The row of the outcome, once all transfers were added. A connection that failed lived until `failed_ns`. `counted` is as for
    /// [`Tally::row`].
    pub fn row(
        mut self,
        (kind, index): (u32, u32),
        (start_ns, completion_ns, failed_ns): (u64, Option<u64>, Option<u64>),
        (warmup_ns, end_ns): (u64, u64),
        ended: bool,
        counted: impl Fn(&F) -> (u64, u64),
    ) -> Connection {
        let window = Window::of(start_ns, completion_ns.or(failed_ns), warmup_ns, end_ns);
        let transfers = self.has_parts.then(|| self.transfers());
        let arrived = self.tallies.iter().map(Tally::bytes).sum();
        let (delivered, _) = self.delays.totals();
        Connection {
            kind: kind as usize,
            index,
            start_s: start_ns as f64 / 1e9,
            goodput_bps: window.rate((self.bytes_read - self.warm_bytes) as f64 * 8.0),
            bytes_delivered: self.bytes_read,
            completion_s: completion_ns.map(|at_ns| at_ns.saturating_sub(start_ns) as f64 / 1e9),
            sender_completion_s: None,
            establishment_s: None,
            longest_silence_s: None,
            notice_s: None,
            out_of_order_delay_mean_s: self.delays.mean_s(),
            out_of_order_delay_p95_s: self.delays.quantile_s(0.95),
            fallback: self.fallback,
            ended,
            transfers,
            playback: None,
            subflows: self.tallies.iter().map(|tally| tally.row(arrived, delivered, window, &counted)).collect(),
            failure: self.failure,
        }
    }
}
