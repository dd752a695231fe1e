//! Configuration of a link, and the changes it accepts during a run.

use std::sync::Arc;

use algorithm::{Capability, ConfigError};
use serde::Deserialize;

use crate::disorder::DisorderConfig;
use crate::loss::LossConfig;
use crate::queue::QueueConfig;
use crate::trace::Trace;
use crate::transmitter::BucketConfig;

/// One direction of a link.
#[derive(Clone, Debug, PartialEq)]
pub struct LinkConfig {
    /// Capacity in bits per second; at least 1, or 0 if there is a trace.
    pub rate_bps: u64,
    /// Propagation delay in nanoseconds.
    pub delay_ns: u64,
    /// Queue discipline.
    pub queue: QueueConfig,
    /// Random loss on the wire.
    pub loss: LossConfig,
    /// Sending opportunities of the link, in place of a rate.
    pub trace: Option<Arc<Trace>>,
    /// Whether it sends only when granted by a [`crate::Medium`].
    pub shared: bool,
    /// Token bucket, which makes it a shaper or policer: it sends at its rate on average, but bursts up to a limit.
    pub bucket: Option<BucketConfig>,
    /// Jitter, reordering and duplication. A link with this has no capacity limit.
    pub disorder: Option<DisorderConfig>,
}

/// A change of a running link; `None` leaves a value unchanged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Change {
    /// True: the link goes down and loses its queue and all arriving packets. False: it works again.
    pub dead: Option<bool>,
    /// New capacity in bits per second, at least 1; it also applies to queued packets.
    pub rate_bps: Option<u64>,
    /// New propagation delay in nanoseconds for packets that have not departed yet. No packet overtakes another.
    pub delay_ns: Option<u64>,
    /// New random loss for packets that arrive from now on. Gilbert–Elliott starts in the good state.
    pub loss: Option<LossConfig>,
}

fn rate(found: u64) -> Result<(), ConfigError> {
    ConfigError::unless(found > 0, "rate_bps", found as f64, "at least 1 bit/s (a link that carries nothing is `dead`)")
}

impl LinkConfig {
    /// A link with a constant rate and without loss.
    #[must_use]
    pub fn with_rate(rate_bps: u64, delay_ns: u64, queue: QueueConfig) -> Self {
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

    /// A link that sends at the opportunities of a trace, without loss.
    #[must_use]
    pub fn with_trace(trace: Arc<Trace>, delay_ns: u64, queue: QueueConfig) -> Self {
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

    /// Checks that the configuration is valid.
    ///
    /// # Errors
    /// The first parameter outside its range.
    pub fn check(&self) -> Result<(), ConfigError> {
        match self.trace {
            None => rate(self.rate_bps)?,
            Some(_) => ConfigError::unless(
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
            ConfigError::unless(self.trace.is_none(), "trace", 1.0, "a rate, for a medium says when the link sends")?;
            let delay = "a queue that does not ask how long the link will take (a medium says when it sends)";
            let asks = self.queue.about().is_some_and(|about| about.capabilities.has(Capability::AsksTransmitter));
            ConfigError::unless(!asks, "queue", 1.0, delay)?;
        }
        self.queue.check()?;
        self.loss.check()
    }
}

impl Change {
    /// Checks that the change is valid.
    ///
    /// # Errors
    /// The first parameter outside its range.
    pub fn check(&self) -> Result<(), ConfigError> {
        if let Some(found) = self.rate_bps {
            rate(found)?;
        }
        self.loss.map_or(Ok(()), |loss| loss.check())
    }

    /// As [`Self::check`], and checks that it applies to a link with the configuration `link`: one with a trace has no
    /// rate to change.
    ///
    /// # Errors
    /// The first parameter outside its range.
    pub fn check_on(&self, link: &LinkConfig) -> Result<(), ConfigError> {
        self.check_with(link.trace.is_some())
    }

    pub(crate) fn check_with(&self, trace: bool) -> Result<(), ConfigError> {
        self.check()?;
        match self.rate_bps {
            Some(found) if trace => ConfigError::unless(
                false,
                "rate_bps",
                found as f64,
                "no change of rate, for the link sends as its trace says",
            ),
            Some(_) | None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::loss::GilbertElliott;
    use crate::queue::{Limit, codel, red};

    fn red(min_packets: f64, max_packets: f64, max_probability: f64, weight: f64) -> QueueConfig {
        let config = red::Config::new(Limit::Packets(100), min_packets, max_packets);
        QueueConfig::Red(red::Config { max_probability, weight, ..config })
    }

    fn codel(interval_ns: u64) -> QueueConfig {
        QueueConfig::CoDel(codel::Config { interval_ns, ecn: true, ..codel::Config::new(Limit::Packets(100)) })
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
            (red(5.0, 15.0, 0.0, 0.002), "max_probability"),
            (red(5.0, 15.0, 0.1, 0.0), "weight"),
            (red(5.0, 15.0, 0.1, f64::NAN), "weight"),
            (codel(0), "interval_ns"),
        ] {
            assert_eq!(named(queue.check()), parameter);
        }
        for p in [-0.1, 1.1, f64::NAN] {
            assert_eq!(named(LossConfig::bernoulli(p).check()), "probability");
            let change = Change { loss: Some(LossConfig::bernoulli(p)), ..Change::default() };
            assert_eq!(named(change.check()), "probability");
        }
        let ge = |good_to_bad, bad_to_good, loss_good, loss_bad| {
            LossConfig::GilbertElliott(GilbertElliott { good_to_bad, bad_to_good, loss_good, loss_bad })
        };
        assert_eq!(named(ge(2.0, 0.1, 0.0, 1.0).check()), "good_to_bad");
        assert_eq!(named(ge(0.1, 2.0, 0.0, 1.0).check()), "bad_to_good");
        assert_eq!(named(ge(0.1, 0.1, 2.0, 1.0).check()), "loss_good");
        assert_eq!(named(ge(0.1, 0.1, 0.0, 2.0).check()), "loss_bad");
    }

    #[test]
    fn what_is_in_range_passes() {
        let loss = LossConfig::GilbertElliott(GilbertElliott::new(0.0, 1.0));
        let link = LinkConfig { loss, ..LinkConfig::with_rate(1, 0, red(0.0, 1.0, 1.0, 1.0)) };
        assert_eq!(link.check(), Ok(()));
        assert_eq!(codel(1).check(), Ok(()));
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
        assert_eq!(change.check_on(&LinkConfig::with_rate(1, 0, link.queue.clone())), Ok(()));
        let others = Change { dead: Some(true), delay_ns: Some(1), rate_bps: None, loss: Some(LossConfig::None) };
        assert_eq!(others.check_on(&link), Ok(()));
    }

    #[test]
    fn the_error_says_what_was_found_and_what_would_do() {
        let error = LossConfig::bernoulli(5.0).check().unwrap_err();
        assert_eq!(error.to_string(), "probability: found 5, expected a fraction from 0 to 1");
    }
}
