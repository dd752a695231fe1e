//! What a link is told when it is made, and when it changes.

use std::sync::Arc;

use crate::config_error::{ConfigError, probability, require};
use crate::disorder::DisorderConfig;
use crate::trace::Trace;

/// One direction of a link.
#[derive(Clone, Debug, PartialEq)]
pub struct LinkConfig {
    /// Capacity in bits per second; at least 1, or 0 where there is a trace.
    pub rate_bps: u64,
    /// Propagation delay in nanoseconds.
    pub delay_ns: u64,
    /// Queue discipline.
    pub queue: QueueConfig,
    /// Random loss on the wire.
    pub loss: LossConfig,
    /// What the link can send and when, in place of a rate.
    pub trace: Option<Arc<Trace>>,
    /// Whether it sends only when a [`crate::Medium`] lets it.
    pub shared: bool,
    /// It sends at its rate on average, but up to so much at once: a shaper.
    pub bucket: Option<BucketConfig>,
    /// It has no capacity, but the packets leave it at other times, in another order or twice.
    pub disorder: Option<DisorderConfig>,
}

/// A token bucket in front of a link: the tokens come in at the rate, in bits per second.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BucketConfig {
    /// The most that may be sent at once, in bytes.
    pub burst_bytes: u64,
    /// Whether packets that find too few tokens are dropped in place of queued.
    pub polices: bool,
}

/// The most a queue holds, the packet being sent and the arriving one counted. An empty queue accepts any packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// Bytes, headers included.
    Bytes(u64),
    /// Packets.
    Packets(u64),
}

/// A queue discipline with its parameters.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum QueueConfig {
    /// First in, first out; what does not fit is dropped.
    DropTail {
        /// The most it holds.
        limit: Limit,
    },
    /// Random early detection (Floyd & Jacobson 1993). The average queue is in packets.
    Red {
        /// The most it holds.
        limit: Limit,
        /// Average queue from which packets are dropped early.
        min_packets: f64,
        /// Average queue at which the drop probability is `max_probability`.
        max_packets: f64,
        /// Drop probability at `max_packets`, in [0, 1].
        max_probability: f64,
        /// Weight of a new sample in the average, in (0, 1].
        weight: f64,
        /// Whether the probability rises to 1 between `max_packets` and twice that (Floyd 2000), and does not jump.
        gentle: bool,
        /// Whether ECN-capable packets are marked where they would be dropped by chance.
        ecn: bool,
    },
    /// Controlled delay (RFC 8289): decides at the head, by the time a packet waited. See [`QueueConfig::codel`] for
    /// the values of the RFC.
    CoDel {
        /// The most it holds.
        limit: Limit,
        /// The wait that is acceptable as a standing queue, in nanoseconds.
        target_ns: u64,
        /// How long the wait may stay above the target, in nanoseconds; at least 1.
        interval_ns: u64,
        /// With no more than this many bytes behind the head nothing is dropped: one packet of the largest size.
        mtu_bytes: u32,
        /// Whether ECN-capable packets are marked where they would be dropped.
        ecn: bool,
    },
    /// Proportional integral controller enhanced (RFC 8033): drops on arrival, at random. See [`QueueConfig::pie`] for the
    /// values of the RFC.
    Pie {
        /// The most it holds.
        limit: Limit,
        /// The queueing delay that it holds, in nanoseconds.
        target_ns: u64,
        /// Time between two updates of the drop probability, in nanoseconds; at least 1.
        update_ns: u64,
        /// How long a burst is let pass after a calm time, in nanoseconds.
        max_burst_ns: u64,
        /// Weight of the distance from the target, in 1/s.
        alpha_per_s: f64,
        /// Weight of the growth since the last update, in 1/s.
        beta_per_s: f64,
        /// Behind no more than two packets of this size nothing is dropped.
        mtu_bytes: u32,
        /// Whether ECN-capable packets are marked where they would be dropped, below a probability of 10 %.
        ecn: bool,
    },
    /// A queue for each flow with controlled delay at its head, served in turn (RFC 8290). See
    /// [`QueueConfig::fq_codel`] for the values of the RFC.
    FqCoDel {
        /// The most that all queues hold together.
        limit: Limit,
        /// As of CoDel.
        target_ns: u64,
        /// As of CoDel.
        interval_ns: u64,
        /// As of CoDel.
        mtu_bytes: u32,
        /// Values of the hash over flows; at least 1.
        queues: u16,
        /// Bytes that a queue may send in a round; at least 1.
        quantum_bytes: u32,
        /// Whether ECN-capable packets are marked where they would be dropped.
        ecn: bool,
        /// Whether hosts get equal shares, and their flows equal parts of those, as of Cake (Høiland-Jørgensen 2018).
        isolates_hosts: bool,
    },
    /// A short queue for scalable controls, known by ECT(1), beside one for all others, with coupled signals (RFC 9332). See
    /// [`QueueConfig::dualpi2`] for the values of the RFC.
    DualPi2 {
        /// The most that both queues hold together.
        limit: Limit,
        /// The queueing delay that it holds in the classic queue, in nanoseconds.
        target_ns: u64,
        /// Time between two updates of the probability, in nanoseconds; at least 1.
        update_ns: u64,
        /// Weight of the distance from the target, in 1/s.
        alpha_per_s: f64,
        /// Weight of the growth since the last update, in 1/s.
        beta_per_s: f64,
        /// The marking probability of the short queue in units of the root of the classic one; above 0.
        coupling: f64,
        /// The wait from which packets of the short queue are marked, in nanoseconds.
        step_ns: u64,
        /// Fraction of the bytes that the classic queue gets while both have packets, in [0, 1].
        classic_share: f64,
    },
}

/// Loss on the wire, random or regular: such a packet has taken its place in the queue and its share of the capacity.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum LossConfig {
    /// None.
    None,
    /// Each packet independently.
    Bernoulli {
        /// Probability of loss, in [0, 1].
        probability: f64,
    },
    /// Two states (Gilbert 1960, Elliott 1963); before each packet the transition is drawn, then its loss in the
    /// state reached.
    GilbertElliott {
        /// Probability to go from good to bad, in [0, 1].
        good_to_bad: f64,
        /// Probability to go from bad to good, in [0, 1].
        bad_to_good: f64,
        /// Loss probability in the good state, in [0, 1].
        loss_good: f64,
        /// Loss probability in the bad state, in [0, 1].
        loss_bad: f64,
    },
    /// One packet of every so many, the last of them: the regular losses that response functions assume (Mathis 1997,
    /// RFC 9438 §5.1).
    Periodic {
        /// Packets from one loss to the next; at least 1.
        every_packets: u64,
    },
}

/// A change of a running link; what is `None` stays as it is.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Change {
    /// True: the link is dead: its queue is lost, and so is what arrives. False: it works again.
    pub dead: Option<bool>,
    /// New capacity in bits per second, at least 1, for the packets in the queue too.
    pub rate_bps: Option<u64>,
    /// New propagation delay in nanoseconds for packets that have not departed yet; none overtakes another.
    pub delay_ns: Option<u64>,
    /// New random loss for packets that arrive from now on; Gilbert–Elliott starts in the good state.
    pub loss: Option<LossConfig>,
}

fn rate(found: u64) -> Result<(), ConfigError> {
    require(found > 0, "rate_bps", found as f64, "at least 1 bit/s (a link that carries nothing is `dead`)")
}

impl LinkConfig {
    /// A link of constant rate, drop-tail or other, without loss.
    #[must_use]
    pub const fn with_rate(rate_bps: u64, delay_ns: u64, queue: QueueConfig) -> Self {
        Self {
            rate_bps,
            delay_ns,
            queue,
            loss: LossConfig::None,
            trace: None,
            shared: false,
            bucket: None,
            disorder: None,
        }
    }

    /// A link that sends when a trace says so, without loss.
    #[must_use]
    pub const fn with_trace(trace: Arc<Trace>, delay_ns: u64, queue: QueueConfig) -> Self {
        Self {
            rate_bps: 0,
            delay_ns,
            queue,
            loss: LossConfig::None,
            trace: Some(trace),
            shared: false,
            bucket: None,
            disorder: None,
        }
    }

    /// Whether a link can be made of it.
    ///
    /// # Errors
    /// The first parameter outside its range.
    pub fn check(&self) -> Result<(), ConfigError> {
        match self.trace {
            None => rate(self.rate_bps)?,
            Some(_) => require(
                self.rate_bps == 0,
                "rate_bps",
                self.rate_bps as f64,
                "0, for the trace says what the link sends",
            )?,
        }
        if let Some(disorder) = self.disorder {
            disorder.check()?;
        }
        if self.shared {
            require(self.trace.is_none(), "trace", 1.0, "a rate, for a medium says when the link sends")?;
            let delay = "a queue that does not ask how long the link will take (a medium says when it sends)";
            require(!matches!(self.queue, QueueConfig::Pie { .. }), "queue", 1.0, delay)?;
        }
        self.queue.check()?;
        self.loss.check()
    }
}

impl QueueConfig {
    /// CoDel with the values that RFC 8289 recommends: target 5 ms, interval 100 ms; packets of up to 1,500 bytes.
    #[must_use]
    pub const fn codel(limit: Limit, ecn: bool) -> Self {
        Self::CoDel { limit, target_ns: 5_000_000, interval_ns: 100_000_000, mtu_bytes: 1_500, ecn }
    }

    /// PIE with the values that RFC 8033 recommends: target and update 15 ms, bursts of 150 ms, α 0.125 and β 1.25 a
    /// second; packets of up to 1,500 bytes.
    #[must_use]
    pub const fn pie(limit: Limit, ecn: bool) -> Self {
        Self::Pie {
            limit,
            target_ns: 15_000_000,
            update_ns: 15_000_000,
            max_burst_ns: 150_000_000,
            alpha_per_s: 0.125,
            beta_per_s: 1.25,
            mtu_bytes: 1_500,
            ecn,
        }
    }

    /// FQ-CoDel with the values that RFC 8290 recommends: CoDel's, 1,024 queues, a quantum of 1,514 bytes.
    #[must_use]
    pub const fn fq_codel(limit: Limit, ecn: bool) -> Self {
        let (target_ns, interval_ns, mtu_bytes, isolates_hosts) = (5_000_000, 100_000_000, 1_500, false);
        let (queues, quantum_bytes) = (1_024, 1_514);
        Self::FqCoDel { limit, target_ns, interval_ns, mtu_bytes, queues, quantum_bytes, ecn, isolates_hosts }
    }

    /// DualPI2 with the values that RFC 9332 derives in its appendix A from a target of 15 ms and round trips of up to
    /// 100 ms: an update every 15 ms, α 0.15 and β 3 a second, a coupling of 2; a step at 1 ms, and a tenth of the bytes for
    /// the classic queue.
    #[must_use]
    pub const fn dualpi2(limit: Limit) -> Self {
        Self::DualPi2 {
            limit,
            target_ns: 15_000_000,
            update_ns: 15_000_000,
            alpha_per_s: 0.15,
            beta_per_s: 3.0,
            coupling: 2.0,
            step_ns: 1_000_000,
            classic_share: 0.1,
        }
    }

    /// Whether each parameter is in its range.
    ///
    /// # Errors
    /// The first parameter outside its range.
    pub fn check(&self) -> Result<(), ConfigError> {
        let weight = |found: f64| found >= 0.0 && found.is_finite();
        let (min_packets, max_packets, max_probability, weight) = match *self {
            Self::DropTail { .. } => return Ok(()),
            Self::CoDel { interval_ns, .. } => {
                return require(interval_ns > 0, "interval_ns", interval_ns as f64, "at least 1 ns");
            }
            Self::FqCoDel { interval_ns, queues, quantum_bytes, .. } => {
                require(interval_ns > 0, "interval_ns", interval_ns as f64, "at least 1 ns")?;
                require(queues > 0, "queues", f64::from(queues), "at least 1")?;
                return require(quantum_bytes > 0, "quantum_bytes", f64::from(quantum_bytes), "at least 1 byte");
            }
            Self::Pie { update_ns, alpha_per_s, beta_per_s, .. } => {
                require(update_ns > 0, "update_ns", update_ns as f64, "at least 1 ns")?;
                require(weight(alpha_per_s), "alpha_per_s", alpha_per_s, "at least 0")?;
                return require(weight(beta_per_s), "beta_per_s", beta_per_s, "at least 0");
            }
            Self::DualPi2 { update_ns, alpha_per_s, beta_per_s, coupling, classic_share, .. } => {
                require(update_ns > 0, "update_ns", update_ns as f64, "at least 1 ns")?;
                require(weight(alpha_per_s), "alpha_per_s", alpha_per_s, "at least 0")?;
                require(weight(beta_per_s), "beta_per_s", beta_per_s, "at least 0")?;
                require(coupling > 0.0 && coupling.is_finite(), "coupling", coupling, "more than 0")?;
                return probability("classic_share", classic_share);
            }
            Self::Red { min_packets, max_packets, max_probability, weight, .. } => {
                (min_packets, max_packets, max_probability, weight)
            }
        };
        require(min_packets >= 0.0 && min_packets.is_finite(), "min_packets", min_packets, "at least 0")?;
        require(
            max_packets > 0.0 && max_packets >= min_packets && max_packets.is_finite(),
            "max_packets",
            max_packets,
            "more than 0 and at least min_packets",
        )?;
        probability("max_probability", max_probability)?;
        require(weight > 0.0 && weight <= 1.0, "weight", weight, "more than 0 and at most 1")
    }
}

impl LossConfig {
    /// Whether each parameter is in its range.
    ///
    /// # Errors
    /// The first parameter outside its range.
    pub fn check(&self) -> Result<(), ConfigError> {
        match *self {
            Self::None => Ok(()),
            Self::Bernoulli { probability: p } => probability("probability", p),
            Self::GilbertElliott { good_to_bad, bad_to_good, loss_good, loss_bad } => {
                probability("good_to_bad", good_to_bad)?;
                probability("bad_to_good", bad_to_good)?;
                probability("loss_good", loss_good)?;
                probability("loss_bad", loss_bad)
            }
            Self::Periodic { every_packets } => {
                require(every_packets >= 1, "every_packets", every_packets as f64, "at least 1")
            }
        }
    }
}

impl Change {
    /// Whether a link can be changed so.
    ///
    /// # Errors
    /// The first parameter outside its range.
    pub fn check(&self) -> Result<(), ConfigError> {
        if let Some(found) = self.rate_bps {
            rate(found)?;
        }
        self.loss.map_or(Ok(()), |loss| loss.check())
    }

    /// As [`Self::check`], and whether a link made of `link` can take it: one with a trace has no rate to change.
    ///
    /// # Errors
    /// The first parameter outside its range.
    pub fn check_on(&self, link: &LinkConfig) -> Result<(), ConfigError> {
        self.check_with(link.trace.is_some())
    }

    pub(crate) fn check_with(&self, trace: bool) -> Result<(), ConfigError> {
        self.check()?;
        match self.rate_bps {
            Some(found) if trace => {
                require(false, "rate_bps", found as f64, "no change of rate, for the link sends as its trace says")
            }
            Some(_) | None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn red(min_packets: f64, max_packets: f64, max_probability: f64, weight: f64) -> QueueConfig {
        let limit = Limit::Packets(100);
        QueueConfig::Red { limit, min_packets, max_packets, max_probability, weight, gentle: true, ecn: false }
    }

    fn codel(interval_ns: u64) -> QueueConfig {
        QueueConfig::CoDel { limit: Limit::Packets(100), target_ns: 0, interval_ns, mtu_bytes: 0, ecn: true }
    }

    #[test]
    fn what_is_out_of_range_is_named() {
        let named = |result: Result<(), ConfigError>| result.unwrap_err().parameter;
        let link = LinkConfig::with_rate(0, 0, red(5.0, 15.0, 0.1, 0.002));
        assert_eq!(named(link.check()), "rate_bps");
        assert_eq!(named(Change { rate_bps: Some(0), ..Change::default() }.check()), "rate_bps");
        for (queue, parameter) in [
            (red(-1.0, 15.0, 0.1, 0.002), "min_packets"),
            (red(f64::NAN, 15.0, 0.1, 0.002), "min_packets"),
            (red(16.0, 15.0, 0.1, 0.002), "max_packets"),
            (red(0.0, 0.0, 0.1, 0.002), "max_packets"),
            (red(5.0, f64::INFINITY, 0.1, 0.002), "max_packets"),
            (red(5.0, 15.0, 1.1, 0.002), "max_probability"),
            (red(5.0, 15.0, 0.1, 0.0), "weight"),
            (red(5.0, 15.0, 0.1, f64::NAN), "weight"),
            (codel(0), "interval_ns"),
        ] {
            assert_eq!(named(queue.check()), parameter);
        }
        for p in [-0.1, 1.1, f64::NAN] {
            assert_eq!(named(LossConfig::Bernoulli { probability: p }.check()), "probability");
            let change = Change { loss: Some(LossConfig::Bernoulli { probability: p }), ..Change::default() };
            assert_eq!(named(change.check()), "probability");
        }
        let ge = |good_to_bad, bad_to_good, loss_good, loss_bad| LossConfig::GilbertElliott {
            good_to_bad,
            bad_to_good,
            loss_good,
            loss_bad,
        };
        assert_eq!(named(ge(2.0, 0.1, 0.0, 1.0).check()), "good_to_bad");
        assert_eq!(named(ge(0.1, 2.0, 0.0, 1.0).check()), "bad_to_good");
        assert_eq!(named(ge(0.1, 0.1, 2.0, 1.0).check()), "loss_good");
        assert_eq!(named(ge(0.1, 0.1, 0.0, 2.0).check()), "loss_bad");
    }

    #[test]
    fn what_is_in_range_passes() {
        let loss = LossConfig::GilbertElliott { good_to_bad: 0.0, bad_to_good: 1.0, loss_good: 0.0, loss_bad: 1.0 };
        let link = LinkConfig { loss, ..LinkConfig::with_rate(1, 0, red(0.0, 1.0, 1.0, 1.0)) };
        assert_eq!(link.check(), Ok(()));
        assert_eq!(codel(1).check(), Ok(()));
        assert_eq!(QueueConfig::codel(Limit::Packets(1), false).check(), Ok(()));
        assert_eq!(Change { rate_bps: Some(1), loss: Some(loss), ..Change::default() }.check(), Ok(()));
    }

    #[test]
    fn a_link_has_a_rate_or_a_trace() {
        let trace = Arc::new(Trace::parse("1\n").unwrap());
        let link = LinkConfig::with_trace(trace, 0, red(5.0, 15.0, 0.1, 0.002));
        assert_eq!(link.check(), Ok(()));
        let both = LinkConfig { rate_bps: 5, ..link.clone() };
        let error = both.check().unwrap_err();
        assert_eq!(error.to_string(), "rate_bps: found 5, expected 0, for the trace says what the link sends");
        let change = Change { rate_bps: Some(9), ..Change::default() };
        let error = change.check_on(&link).unwrap_err();
        assert_eq!(
            error.to_string(),
            "rate_bps: found 9, expected no change of rate, for the link sends as its trace says"
        );
        assert_eq!(change.check_on(&LinkConfig::with_rate(1, 0, link.queue)), Ok(()));
        let others = Change { dead: Some(true), delay_ns: Some(1), rate_bps: None, loss: Some(LossConfig::None) };
        assert_eq!(others.check_on(&link), Ok(()));
    }

    #[test]
    fn the_error_says_what_was_found_and_what_would_do() {
        let error = LossConfig::Bernoulli { probability: 5.0 }.check().unwrap_err();
        assert_eq!(error.to_string(), "probability: found 5, expected a probability from 0 to 1");
    }
}
