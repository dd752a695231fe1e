//! Queue disciplines: one a file, chosen by an enum. All have a say when a packet arrives; CoDel has another when the
//! packet is at the head.

mod arrival;
pub(crate) mod codel;
mod drop_tail;
mod dualpi2;
mod fq_codel;
mod isolation;
mod pie;
mod places;
mod red;

use rand_core::RngCore;

use crate::config::QueueConfig;
use crate::counters::DropReason;
use crate::transmitter::Transmitter;
pub(crate) use arrival::{Arrival, Entry};
use codel::CoDel;
pub(crate) use drop_tail::DropTail;
use dualpi2::DualPi2;
use fq_codel::FqCoDel;
use pie::Pie;
use red::Red;

#[derive(Clone, Debug)]
pub(crate) enum Queue {
    DropTail(DropTail),
    /// Boxed: its state would make every drop-tail link larger.
    Red(Box<Red>),
    CoDel(Box<CoDel>),
    Pie(Box<Pie>),
    FqCoDel(Box<FqCoDel>),
    DualPi2(Box<DualPi2>),
}

impl Queue {
    pub(crate) fn new(config: &QueueConfig, rng: &mut impl RngCore) -> Self {
        match *config {
            QueueConfig::DropTail { limit } => Self::DropTail(DropTail::new(limit)),
            QueueConfig::Red { limit, min_packets, max_packets, max_probability, weight, gentle, ecn } => {
                let early = red::Parameters { min_packets, max_packets, max_probability, weight, gentle, ecn };
                Self::Red(Box::new(Red::new(DropTail::new(limit), early)))
            }
            QueueConfig::CoDel { limit, target_ns, interval_ns, mtu_bytes, ecn } => {
                let control = codel::Parameters { target_ns, interval_ns, mtu_bytes, ecn };
                Self::CoDel(Box::new(CoDel::new(DropTail::new(limit), control)))
            }
            QueueConfig::Pie { limit, target_ns, update_ns, max_burst_ns, alpha_per_s, beta_per_s, mtu_bytes, ecn } => {
                let control =
                    pie::Parameters { target_ns, update_ns, max_burst_ns, alpha_per_s, beta_per_s, mtu_bytes, ecn };
                Self::Pie(Box::new(Pie::new(DropTail::new(limit), control)))
            }
            QueueConfig::FqCoDel {
                limit,
                target_ns,
                interval_ns,
                mtu_bytes,
                queues,
                quantum_bytes,
                ecn,
                isolates_hosts,
            } => {
                let control = codel::Parameters { target_ns, interval_ns, mtu_bytes, ecn };
                let limit = DropTail::new(limit);
                let queue = FqCoDel::new(limit, control, queues, quantum_bytes, rng.next_u64());
                Self::FqCoDel(Box::new(if isolates_hosts { queue.isolating() } else { queue }))
            }
            QueueConfig::DualPi2 {
                limit,
                target_ns,
                update_ns,
                alpha_per_s,
                beta_per_s,
                coupling,
                step_ns,
                classic_share,
            } => {
                let control = dualpi2::Parameters {
                    target_ns,
                    update_ns,
                    alpha_per_s,
                    beta_per_s,
                    coupling,
                    step_ns,
                    classic_share,
                };
                Self::DualPi2(Box::new(DualPi2::new(DropTail::new(limit), control)))
            }
        }
    }

    /// Whether the packet may enter.
    #[inline]
    pub(crate) fn admit(&mut self, arrival: Arrival<'_>, rng: &mut impl RngCore) -> Result<Entry, DropReason> {
        match self {
            Self::DropTail(queue) => queue.admit(arrival).map(|()| Entry::Plain),
            Self::Red(queue) => queue.admit(arrival, rng),
            Self::CoDel(queue) => queue.admit(arrival),
            Self::Pie(queue) => queue.admit(arrival, rng),
            Self::FqCoDel(queue) => queue.admit(arrival),
            Self::DualPi2(queue) => queue.admit(arrival),
        }
    }

    /// Catches up with `now_ns` before the transmitter changes.
    pub(crate) fn advance(&mut self, now_ns: u64, transmitter: &Transmitter) {
        if let Self::Pie(queue) = self {
            queue.advance(now_ns, transmitter);
        }
    }

    /// The discipline, if it is drop-tail and nothing else.
    #[inline]
    pub(crate) const fn drop_tail(&self) -> Option<DropTail> {
        match *self {
            Self::DropTail(queue) => Some(queue),
            Self::Red(_) | Self::CoDel(_) | Self::Pie(_) | Self::FqCoDel(_) | Self::DualPi2(_) => None,
        }
    }

    /// Whether it decides at the head of the queue too, so that the departure of a waiting packet is not known.
    #[inline]
    pub(crate) const fn decides_at_head(&self) -> bool {
        matches!(self, Self::CoDel(_) | Self::FqCoDel(_) | Self::DualPi2(_))
    }

    /// Packets dropped at the head.
    pub(crate) const fn dropped_at_head(&self) -> u64 {
        match self {
            Self::DropTail(_) | Self::Red(_) | Self::Pie(_) => 0,
            Self::CoDel(queue) => queue.dropped(),
            Self::FqCoDel(queue) => queue.dropped(),
            Self::DualPi2(queue) => queue.dropped(),
        }
    }

    /// Packets dropped because the queue was full after they had entered it.
    pub(crate) const fn overflowed(&self) -> u64 {
        match self {
            Self::FqCoDel(queue) => queue.overflowed(),
            Self::DropTail(_) | Self::Red(_) | Self::Pie(_) | Self::CoDel(_) | Self::DualPi2(_) => 0,
        }
    }

    /// Whether it needs to know which flow a packet belongs to.
    pub(crate) const fn tells_flows_apart(&self) -> bool {
        matches!(self, Self::FqCoDel(_))
    }

    /// The link died with all that waits.
    pub(crate) fn clear(&mut self) {
        match self {
            Self::FqCoDel(queue) => queue.clear(),
            Self::DualPi2(queue) => queue.clear(),
            Self::DropTail(_) | Self::Red(_) | Self::Pie(_) | Self::CoDel(_) => {}
        }
    }

    /// Packets marked.
    pub(crate) const fn marked(&self) -> u64 {
        match self {
            Self::DropTail(_) => 0,
            Self::Red(queue) => queue.marked(),
            Self::CoDel(queue) => queue.marked(),
            Self::Pie(queue) => queue.marked(),
            Self::FqCoDel(queue) => queue.marked(),
            Self::DualPi2(queue) => queue.marked(),
        }
    }
}
