//! Loss on the wire. Drawn, where it is random, once a packet, when the queue accepts it, after any draw of the queue discipline.

use rand_core::RngCore;

use crate::config::LossConfig;
use crate::probability::Probability;

#[derive(Clone, Debug)]
pub(crate) enum Loss {
    None,
    Bernoulli(Probability),
    GilbertElliott(GilbertElliott),
    Periodic(Periodic),
}

/// One packet of every so many.
#[derive(Clone, Debug)]
pub(crate) struct Periodic {
    every_packets: u64,
    /// Packets since the last loss.
    passed: u64,
}

/// Gilbert (1960) and Elliott (1963): a Markov chain of two states with a loss probability in each. The stationary
/// share of the bad state is `good_to_bad` / (`good_to_bad` + `bad_to_good`); its mean stay is 1 / `bad_to_good`
/// packets.
#[derive(Clone, Debug)]
pub(crate) struct GilbertElliott {
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
            LossConfig::Bernoulli { probability } => Self::Bernoulli(Probability::new(probability)),
            LossConfig::GilbertElliott { good_to_bad, bad_to_good, loss_good, loss_bad } => {
                Self::GilbertElliott(GilbertElliott {
                    leave: [Probability::new(good_to_bad), Probability::new(bad_to_good)],
                    loss: [Probability::new(loss_good), Probability::new(loss_bad)],
                    state: 0,
                })
            }
            LossConfig::Periodic { every_packets } => Self::Periodic(Periodic { every_packets, passed: 0 }),
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
            Self::Periodic(periodic) => periodic.strikes(),
        }
    }
}

impl Periodic {
    fn strikes(&mut self) -> bool {
        self.passed += 1;
        let lost = self.passed >= self.every_packets;
        if lost {
            self.passed = 0;
        }
        lost
    }
}

impl GilbertElliott {
    fn strikes(&mut self, rng: &mut impl RngCore) -> bool {
        if self.leave[self.state].happens(rng) {
            self.state = 1 - self.state;
        }
        self.loss[self.state].happens(rng)
    }
}

#[cfg(test)]
mod tests;
