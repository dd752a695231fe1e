//! CUBIC (RFC 9438), with HyStart++ (RFC 9406) in its first slow start.

use super::hystart::HyStart;
use super::{Ack, SinglePath, View, Window};
use crate::algorithm::{About, Algorithm, Capability, Given, Make, Parameter};
use crate::plugin::Origin;
use crate::time::Instant;

/// RFC 9438 §4.6 and §5.1.
const BETA: f64 = 0.7;
/// Segments per second cubed.
const C: f64 = 0.4;
/// §4.3: with it the Reno-friendly window has Reno's mean for a decrease to β.
const ALPHA: f64 = 3.0 * (1.0 - BETA) / (1.0 + BETA);
/// RFC 8511 §4: with a loss leaving 0.7, a congestion mark leaves 0.85.
const BETA_ECN: f64 = 0.85;
const MIN_SSTHRESH: f64 = 2.0;

/// In congestion avoidance the window follows W(t) = C·(t − K)³ + W_max (equation 1), t being the time since it began and
/// K = ∛((W_max − cwnd_epoch)/C) (equation 2): for each segment acknowledged it moves by (target − cwnd)/cwnd, where
/// target = W(t + RTT), kept between cwnd and 1.5 cwnd (§4.2). Where W(t) is below W_est, which grows by
/// α·acked/cwnd from cwnd_epoch with α = 3(1 − β)/(1 + β), and with 1 from the window before the loss on, the window is
/// W_est (Reno-friendly region, §4.3). Decrease: to 0.7; W_max is the window before, or 0.85 of it when that was below
/// the W_max before (fast convergence, §4.7).
///
/// The decrease is of cwnd, as §4.6 allows where an unused window does not grow.
#[derive(Clone, Debug)]
pub struct Cubic {
    state: State,
    /// The state before the last reduction (§4.9).
    undo: Option<State>,
    hystart: HyStart,
    last_ack_at: Instant,
    fast_convergence: bool,
}

impl Algorithm for Cubic {
    const ABOUT: About = About::new(
        <Cubic as SinglePath>::NAME,
        "uncoupled: the window is a cubic function of the time since the last loss",
        "RFC 9438",
    )
    .parameters(&[
        Parameter::flag(
            "fast_convergence",
            true,
            "release bandwidth to new flows after a loss below the last maximum (§4.7)",
        )
        .fixed_in_kernel(),
        Parameter::variant("the RFC with HyStart++, or Linux's computation with its HyStart (\"linux\")"),
    ])
    .with(Capability::InKernel);

    fn check(given: &Given) -> Result<(), [&'static str; 2]> {
        let apart = given.is_linux() && !given.flag("fast_convergence");
        if apart {
            Err(["fast_convergence = false with variant = \"linux\"", "one of them: Linux converges fast always"])
        } else {
            Ok(())
        }
    }
}

impl Make for Cubic {
    fn make(given: &Given, _: &Origin) -> Self {
        Cubic { fast_convergence: given.flag("fast_convergence"), ..Cubic::default() }
    }
}

#[derive(Clone, Copy, Debug, Default)]
struct State {
    /// Window before the last reduction; None: the next epoch begins at its plateau (§4.8, §4.10).
    w_max: Option<f64>,
    cwnd_prior: f64,
    epoch: Option<Epoch>,
}

/// A stage of congestion avoidance.
#[derive(Clone, Copy, Debug)]
struct Epoch {
    began_at: Instant,
    k_s: f64,
    w_max: f64,
    w_est: f64,
}

impl Default for Cubic {
    fn default() -> Self {
        Cubic {
            state: State::default(),
            undo: None,
            hystart: HyStart::default(),
            last_ack_at: Instant::ZERO,
            fast_convergence: true,
        }
    }
}

impl Cubic {
    /// Without fast convergence, which §4.7 says not to use where only one flow is.
    #[must_use]
    pub fn without_fast_convergence() -> Self {
        Cubic { fast_convergence: false, ..Cubic::default() }
    }

    fn reduce(&mut self, cwnd: f64, beta: f64) -> f64 {
        self.undo = Some(self.state);
        let converging = self.fast_convergence && self.state.w_max.is_some_and(|w_max| cwnd < w_max);
        let w_max = if converging { cwnd * (1.0 + BETA) / 2.0 } else { cwnd };
        self.state = State { w_max: Some(w_max), cwnd_prior: cwnd, epoch: None };
        (cwnd * beta).max(MIN_SSTHRESH)
    }

    fn avoid(&mut self, cwnd: f64, acked: f64, now: Instant, rtt_s: f64) -> f64 {
        let state = &mut self.state;
        let epoch = state.epoch.get_or_insert_with(|| {
            let w_max = state.w_max.map_or(cwnd, |w_max| w_max.max(cwnd));
            state.w_max = Some(w_max);
            Epoch { began_at: now, k_s: cube_root((w_max - cwnd) / C), w_max, w_est: cwnd }
        });
        let w_cubic = |t: f64| {
            let d = t - epoch.k_s;
            C * d * d * d + epoch.w_max
        };
        let t = now.saturating_since(epoch.began_at).as_secs_f64();
        let (now, target) = (w_cubic(t), w_cubic(t + rtt_s));
        let alpha = if epoch.w_est >= state.cwnd_prior { 1.0 } else { ALPHA };
        epoch.w_est += alpha * acked / cwnd;
        if now < epoch.w_est {
            // Not below what it is, and no faster than slow start where the estimate has run ahead.
            return epoch.w_est.clamp(cwnd, cwnd + acked);
        }
        cwnd + acked * (target.clamp(cwnd, 1.5 * cwnd) - cwnd) / cwnd
    }
}

impl SinglePath for Cubic {
    const NAME: &'static str = "cubic";

    fn on_ack(&mut self, view: &View, ack: &Ack) -> Window {
        let View { cwnd, mut ssthresh, .. } = *view;
        let since = ack.now.saturating_since(self.last_ack_at);
        self.last_ack_at = ack.now;
        if ssthresh.is_infinite() {
            let w = self.hystart.on_ack(view, ack);
            if w.ssthresh.is_finite() {
                self.state = State { w_max: None, cwnd_prior: w.cwnd, epoch: None };
            }
            return w;
        }
        if !ack.cwnd_limited {
            // §4.2: t does not include periods in which the window was not the limit.
            if let Some(epoch) = &mut self.state.epoch {
                epoch.began_at += since;
            }
            return Window { cwnd, ssthresh };
        }
        let (mut cwnd, acked) = ack.slow_start(cwnd, ssthresh);
        if acked > 0.0 {
            cwnd = self.avoid(cwnd, acked, ack.now, view.srtt_s());
        }
        ssthresh = ssthresh.max(MIN_SSTHRESH);
        Window { cwnd, ssthresh }
    }

    fn on_loss(&mut self, view: &View) -> f64 {
        self.reduce(view.cwnd, BETA)
    }

    fn on_timeout(&mut self, view: &View) -> f64 {
        let ssthresh = self.reduce(view.cwnd, BETA);
        // §4.8: the stage after a timeout has K = 0 and begins at its own plateau.
        self.state.w_max = None;
        ssthresh
    }

    fn on_ecn(&mut self, view: &View, abe: bool) -> f64 {
        let ssthresh = self.reduce(view.cwnd, if abe { BETA_ECN } else { BETA });
        self.undo = None; // a mark is never spurious
        ssthresh
    }

    fn on_undo(&mut self, _view: &View) {
        if let Some(state) = self.undo.take() {
            self.state = state;
        }
    }
}

/// ∛x for x ≥ 0 to the last bits, by Newton's steps: the same on every machine, which `cbrt` of a C library is not.
pub(super) fn cube_root(x: f64) -> f64 {
    if x <= 0.0 {
        return 0.0;
    }
    // A third of the exponent, the mantissa left as it is: within a factor of two of the root.
    const BIAS: u64 = 1023 << 52;
    let mut y = f64::from_bits(x.to_bits() / 3 + BIAS / 3 * 2);
    for _ in 0..5 {
        y -= (y - x / (y * y)) / 3.0;
    }
    y
}

#[cfg(test)]
#[path = "cubic_tests.rs"]
mod tests;
