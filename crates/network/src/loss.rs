//! Loss on the wire. Drawn, where it is random, once a packet, when the queue accepts it, after any draw of the queue discipline.

use algorithm::declare::{given_packets, given_percentage, percentage};
use algorithm::{About, Declared, declared};
use rand_core::RngCore;

use crate::probability::Probability;

declared! {
    /// Each packet independently.
    pub struct Bernoulli {
        required {
            /// probability of loss; the same as the string
            probability: f64 = given_percentage("probability"),
        }
    }
}

declared! {
    /// Gilbert (1960) and Elliott (1963): a Markov chain of two states with a loss probability in each; before each packet the
    /// transition is drawn, then its loss in the state reached. The stationary share of the bad state is `good_to_bad` /
    /// (`good_to_bad` + `bad_to_good`); its mean stay is 1 / `bad_to_good` packets.
    pub struct GilbertElliott {
        required {
            /// transition probability, drawn before each packet
            good_to_bad: f64 = given_percentage("good_to_bad"),
            /// transition probability back
            bad_to_good: f64 = given_percentage("bad_to_good"),
        }
        /// loss probability in the good state
        loss_good: f64 = percentage("loss_good", 0.0),
        /// loss probability in the bad state
        loss_bad: f64 = percentage("loss_bad", 1.0),
    }
}

declared! {
    /// One packet of every so many, the last of them: the regular losses that response functions assume.
    pub struct Periodic {
        required {
            /// every n-th packet is lost, acknowledgments included in the count
            every_packets: u64 = given_packets("every", [1, 1_000_000_000_000]),
        }
    }
}

algorithm::kinds! {
    /// Loss on the wire, random or regular: such a packet has taken its place in the queue and its share of the capacity.
    #[derive(Copy)]
    pub enum LossConfig of "loss" {
        Bernoulli(Bernoulli) =
            About::new("bernoulli", "drops each packet independently", "—").parameters(Bernoulli::PARAMETERS),
        GilbertElliott(GilbertElliott) =
            About::new("gilbert-elliott", "two loss rates, in a good and a bad state", "Gilbert 1960; Elliott 1963")
                .parameters(GilbertElliott::PARAMETERS),
        Periodic(Periodic) = About::new("periodic", "drops every n-th packet", "Mathis 1997; RFC 9438 §5.1")
            .parameters(Periodic::PARAMETERS),
        @other {
            /// None.
            None = "none",
        }
    }
}

impl LossConfig {
    /// Each packet independently.
    #[must_use]
    pub const fn bernoulli(probability: f64) -> Self {
        Self::Bernoulli(Bernoulli { probability })
    }

    /// The last packet of every so many.
    #[must_use]
    pub const fn periodic(every_packets: u64) -> Self {
        Self::Periodic(Periodic { every_packets })
    }
}

#[derive(Clone, Debug)]
pub(crate) enum Loss {
    None,
    Bernoulli(Probability),
    GilbertElliott(Chain),
    Periodic(Count),
}

/// One packet of every so many.
#[derive(Clone, Debug)]
pub(crate) struct Count {
    every_packets: u64,
    /// Packets since the last loss.
    passed: u64,
}

#[derive(Clone, Debug)]
pub(crate) struct Chain {
    /// Probability to leave the good state and the bad one.
    leave: [Probability; 2],
    /// Probability of loss in the good state and the bad one.
    loss: [Probability; 2],
    /// 0 good, 1 bad.
    state: usize,
}

impl Loss {
    pub(crate) fn new(config: &LossConfig) -> Self {
        match *config {
            LossConfig::None => Self::None,
            LossConfig::Bernoulli(Bernoulli { probability }) => Self::Bernoulli(Probability::new(probability)),
            LossConfig::GilbertElliott(GilbertElliott { good_to_bad, bad_to_good, loss_good, loss_bad }) => {
                Self::GilbertElliott(Chain {
                    leave: [Probability::new(good_to_bad), Probability::new(bad_to_good)],
                    loss: [Probability::new(loss_good), Probability::new(loss_bad)],
                    state: 0,
                })
            }
            LossConfig::Periodic(Periodic { every_packets }) => Self::Periodic(Count { every_packets, passed: 0 }),
        }
    }

    /// Whether the next packet is lost. Draws: Bernoulli one; Gilbert–Elliott the transition, then the loss in the
    /// state reached; each only where its probability is neither 0 nor 1. Periodic: none.
    #[inline]
    pub(crate) fn strikes(&mut self, rng: &mut impl RngCore) -> bool {
        match self {
            Self::None => false,
            Self::Bernoulli(probability) => probability.happens(rng),
            Self::GilbertElliott(chain) => chain.strikes(rng),
            Self::Periodic(count) => count.strikes(),
        }
    }
}

impl Count {
    fn strikes(&mut self) -> bool {
        self.passed += 1;
        let lost = self.passed >= self.every_packets;
        if lost {
            self.passed = 0;
        }
        lost
    }
}

impl Chain {
    fn strikes(&mut self, rng: &mut impl RngCore) -> bool {
        if self.leave[self.state].happens(rng) {
            self.state = 1 - self.state;
        }
        self.loss[self.state].happens(rng)
    }
}

#[cfg(test)]
mod tests;
