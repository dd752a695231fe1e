//! A half-duplex medium shared by several links, of which one sends at a time. This is an abstraction of Wi-Fi, not its
//! MAC: there are no collisions, no retries and no rate control, and the cost of contention is one constant.
//!
//! A *station* is one direction of a link with its own queue, rate and loss. When the medium is free and packets wait,
//! one station sends an *aggregate*: the medium's `overhead_ns` (contention, preamble, acknowledgment), then up to
//! `packets` packets back to back at the station's rate, none of which starts `longest_ns` or more after the first. The
//! medium is busy from the start of the overhead to the end of the last packet, so that the total airtime in an
//! interval is at most the interval.
//!
//! When the medium becomes free, it selects the next station:
//!
//! - [`Share::Frames`]: stations with packets take turns, with one aggregate each. Slow stations then use more of the
//!   time: n stations with one packet of L bits per aggregate and rates rᵢ each send 1/Σ(o + L/rᵢ) packets per second,
//!   where o is the overhead (the anomaly of Heusse et al., INFOCOM 2003).
//! - [`Share::Airtime`]: deficit round robin over airtime (Høiland-Jørgensen et al., USENIX ATC 2017). A station
//!   without credit waits for the next round, in which every station with packets gets [`QUANTUM_NS`] more. The airtime
//!   of an aggregate is subtracted from the credit afterwards.

mod config;

use crate::link::Link;
pub use config::{MediumConfig, Share};

/// Credit that a station gains per round.
const QUANTUM_NS: i64 = 300_000;

#[derive(Clone, Copy, Debug)]
struct Station {
    link: usize,
    credit_ns: i64,
    airtime_ns: u64,
}

/// A shared medium. The caller passes the time and the links to each call.
#[derive(Clone, Debug)]
pub struct Medium {
    config: MediumConfig,
    stations: Vec<Station>,
    /// The station whose turn it is.
    turn: usize,
    free_ns: u64,
}

impl Medium {
    /// Creates an idle medium shared by `links`, given as indexes into the array passed to [`Self::serve`].
    ///
    /// # Panics
    /// When [`MediumConfig::check`] fails.
    #[must_use]
    pub fn new(config: MediumConfig, links: impl IntoIterator<Item = usize>) -> Self {
        config.check().unwrap_or_else(|error| panic!("medium: {error}"));
        let stations = links.into_iter().map(|link| Station { link, credit_ns: 0, airtime_ns: 0 }).collect();
        Self { config, stations, turn: 0, free_ns: 0 }
    }

    /// Time at which the medium becomes free, or since which it has been free.
    #[must_use]
    pub const fn free_ns(&self) -> u64 {
        self.free_ns
    }

    /// Airtime used by one of its links so far, including the whole of its last aggregate.
    #[must_use]
    pub fn airtime_ns(&self, link: usize) -> u64 {
        self.stations.iter().find(|station| station.link == link).map_or(0, |station| station.airtime_ns)
    }

    /// Lets a station send at `now_ns` if the medium is free and a station has packets. Called when a link returns
    /// [`crate::Enqueue::Waiting`] and when the medium becomes free. Packets that arrive at links at or before `now_ns`
    /// must be in their queues by then. `schedule` is called with each link whose [`Link::next_arrival_ns`] has become
    /// known, and that time. Returns whether a station sends; if so, the next call is due at [`Self::free_ns`].
    pub fn serve<T: Copy + Default>(
        &mut self,
        now_ns: u64,
        links: &mut [Link<T>],
        mut schedule: impl FnMut(usize, u64),
    ) -> bool {
        if now_ns < self.free_ns {
            return false;
        }
        while let Some(number) = self.choose(now_ns, links) {
            let station = &mut self.stations[number];
            let link = &mut links[station.link];
            // Packets on the wire precede those sent now.
            let known = link.next_arrival_ns().is_some();
            let end_ns = link.transmit(now_ns, &self.config);
            if let Some(next_ns) = link.next_arrival_ns().filter(|_| !known) {
                schedule(station.link, next_ns);
            }
            // If the queue dropped every packet, nothing was sent.
            let Some(end_ns) = end_ns else { continue };
            station.airtime_ns += end_ns - now_ns;
            station.credit_ns = station.credit_ns.saturating_sub_unsigned(end_ns - now_ns);
            if self.config.share == Share::Frames {
                self.turn = number + 1;
            }
            self.free_ns = end_ns;
            return true;
        }
        false
    }

    /// Skips the rounds before the one in which a station has airtime again: after a packet that takes hours, there are
    /// billions of them.
    fn skip_rounds<T: Copy + Default>(&mut self, now_ns: u64, links: &mut [Link<T>]) {
        let waiting = |station: &Station, links: &mut [Link<T>]| links[station.link].is_waiting(now_ns);
        let rounds = |station: &Station| (station.credit_ns <= 0).then(|| -(station.credit_ns / QUANTUM_NS));
        let all = self.stations.iter().filter(|station| waiting(station, links));
        let Some(least) = all.map(|station| rounds(station).unwrap_or(0)).min() else { return };
        for station in self.stations.iter_mut().filter(|_| least > 0) {
            station.credit_ns += if waiting(station, links) { least * QUANTUM_NS } else { 0 };
        }
    }

    /// Selects the station that sends next.
    fn choose<T: Copy + Default>(&mut self, now_ns: u64, links: &mut [Link<T>]) -> Option<usize> {
        if self.config.share == Share::Airtime {
            self.skip_rounds(now_ns, links);
        }
        let count = self.stations.len();
        let mut without_packets = 0;
        while without_packets < count {
            let number = self.turn % count;
            let station = &mut self.stations[number];
            if !links[station.link].is_waiting(now_ns) {
                without_packets += 1;
            } else if self.config.share == Share::Frames || station.credit_ns > 0 {
                return Some(number);
            } else {
                station.credit_ns += QUANTUM_NS;
                without_packets = 0;
            }
            self.turn = number + 1;
        }
        None
    }
}

#[cfg(test)]
mod tests;
