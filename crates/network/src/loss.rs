//! Loss on the wire. Random loss is drawn once per packet, when the queue accepts it, after any draw of the queue
//! discipline.

use algorithm::declare::{given_packets, given_percentage, percentage};
use algorithm::{About, Declared, declared};
use rand_core::RngCore;

use crate::probability::Probability;

declared! {
    /// Independent loss of each packet.
    pub struct Bernoulli {
        required {
            /// probability of loss; the same as the string
            probability: f64 = given_percentage("probability"),
        }
    }
}

declared! {
    /// Gilbert (1960) and Elliott (1963): a Markov chain of two states, each with a loss probability. For each packet
    /// the transition is drawn first, then the loss in the state reached. The stationary probability of the bad state
    /// is `good_to_bad` / (`good_to_bad` + `bad_to_good`); its mean duration is 1 / `bad_to_good` packets.
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
    /// Periodic loss of every n-th packet: the regular losses that response functions assume.
    pub struct Periodic {
        required {
            /// every n-th packet is lost, acknowledgments included in the count
            every_packets: u64 = given_packets("every", [1, 1_000_000_000_000]),
        }
    }
}

algorithm::kinds! {
    /// Loss on the wire, random or periodic. A lost packet has used the queue and the capacity.
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
            /// No loss.
            None = "none",
        }
    }
}

impl LossConfig {
    /// Independent loss of each packet.
    #[must_use]
    pub const fn bernoulli(probability: f64) -> Self {
        Self::Bernoulli(Bernoulli { probability })
    }

    /// Loss of every `every_packets`-th packet.
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

/// State of periodic loss.
#[derive(Clone, Debug)]
pub(crate) struct Count {
    every_packets: u64,
    /// Packets since the last loss.
    passed: u64,
}

#[derive(Clone, Debug)]
pub(crate) struct Chain {
    /// Probabilities of leaving the good state and the bad one.
    leave: [Probability; 2],
    /// Loss probabilities in the good state and the bad one.
    loss: [Probability; 2],
    /// 0 is good, 1 is bad.
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
    /// state reached, each only if its probability is neither 0 nor 1; periodic none.
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
