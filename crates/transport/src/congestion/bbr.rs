//! BBR, version 3: a model of the path, its bandwidth and its round trip, sets the rate and the window.

use rand_core::{RngCore, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use super::bbr_model::{BETA, Event, LOSS_THRESHOLD, MSECOND, Model, Phase as Probe, SECOND, State};
use super::{Ack, Delivery, Feedback, Phase, SinglePath, Steering, View, Window};
use crate::algorithm::{About, Algorithm, Capability, Column, Given, Make, Parameter};
use crate::plugin::{Kind, Origin};
use crate::time::{Duration, Instant};

/// Numbers that both versions show.
pub(super) const COLUMNS: [Column; 3] = [
    Column::new("bandwidth_bps", "bit/s", "bandwidth estimate used for pacing"),
    Column::new("path_rtt_s", "s", "RTT without queueing, as estimated"),
    Column::new(
        "state",
        "",
        "0: startup, 1: drain, 2: probe down, 3: cruise, 4: refill, 5: probe up, 6: probe the round trip",
    ),
];

/// draft-ietf-ccwg-bbr, by its function names: this file decides the states (section 5.3), `bbr_model.rs` keeps the
/// model of the path (5.5), and what follows from both for rate and window is below (5.6).
///
/// Startup doubles the rate each round trip (pacing gain 2.77) until three rounds bring less than a quarter more, or too
/// many losses; drain empties the queue that this made (0.5). Then the cycle: down (0.9), cruise (1), refill (1) for a
/// round, up (1.25); every five seconds the window falls to half of the path's content for 200 ms, to measure the round
/// trip. The rate is gain · bandwidth · 0.99, the window twice bandwidth · round trip, within what losses have shown
/// to be safe.
#[derive(Clone, Debug)]
pub struct Bbr {
    model: Model,
    random: Option<Xoshiro256PlusPlus>,
    seed: u64,
    /// Bytes; kept here, for the transport's own recovery changes the one in the view.
    cwnd: f64,
    initial_cwnd: f64,
    prior_cwnd: f64,
    recovering: bool,
    /// The window was full in this round, and in the one before.
    limited: (bool, bool),
    undo: Undo,
}

/// What a recovery that proves spurious brings back.
#[derive(Clone, Copy, Debug)]
struct Undo {
    state: Option<State>,
    short: (f64, f64),
    long: f64,
}

impl Algorithm for Bbr {
    const ABOUT: About = About::new(
        <Bbr as SinglePath>::NAME,
        "uncoupled: paces by a model of the path's bandwidth and RTT",
        "draft-ietf-ccwg-bbr",
    )
    .parameters(&[Parameter::variant("version 3 (the IETF draft), or version 1 as in Linux (\"linux\")")])
    .columns(&COLUMNS)
    .with(Capability::Random)
    .with(Capability::InKernel);
}

impl Make for Bbr {
    fn make(_: &Given, origin: &Origin) -> Self {
        Bbr::new(origin.seed(Kind::Congestion))
    }
}

impl Bbr {
    /// With a seed for the times between probes.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Bbr {
            model: Model::new(),
            random: None,
            seed,
            cwnd: 0.0,
            initial_cwnd: 0.0,
            prior_cwnd: 0.0,
            recovering: false,
            limited: (false, false),
            undo: Undo { state: None, short: (0.0, 0.0), long: f64::INFINITY },
        }
    }

    /// Between 0 and 1, another for each subflow: it begins with when the first answer came.
    fn draw(&mut self, now: Instant) -> f64 {
        let seed = self.seed ^ now.as_nanos();
        let random = self.random.get_or_insert_with(|| Xoshiro256PlusPlus::seed_from_u64(seed));
        (random.next_u64() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// InitPacingRate and the initial window.
    fn begin(&mut self, view: &View, now: Instant) {
        self.model.mss = f64::from(view.mss);
        self.initial_cwnd = view.cwnd * self.model.mss;
        self.cwnd = self.initial_cwnd;
        let srtt = if view.srtt.is_zero() { MSECOND } else { view.srtt };
        self.model.pacing_rate = State::Startup.pacing_gain() * self.initial_cwnd * 1e9 / srtt.as_nanos() as f64;
        self.model.begin(view, now);
    }

    fn start_down(&mut self, event: &Event) {
        self.model.reset_congestion_signals();
        self.model.up_acked_per_inc = f64::INFINITY;
        self.model.rounds_since_up = u64::from(self.draw(event.now) < 0.5);
        self.model.probe_wait =
            2 * SECOND + Duration::from_nanos((self.draw(event.now) * SECOND.as_nanos() as f64) as u64);
        self.model.cycle_stamp = event.now;
        self.model.probe = Probe::Stopping;
        self.model.start_round(event);
        self.model.state = State::Down;
    }

    fn start_refill(&mut self, event: &Event) {
        let model = &mut self.model;
        model.reset_short_term();
        model.up_rounds = 0;
        model.up_acked = 0.0;
        model.was_precautionary = false;
        model.probe = Probe::Refilling;
        model.start_round(event);
        model.state = State::Refill;
    }

    fn start_up(&mut self, event: &Event) {
        let cwnd = self.cwnd;
        let model = &mut self.model;
        model.probe = Probe::Starting;
        model.start_round(event);
        model.reset_full_bw(event.rate);
        model.state = State::Up;
        model.raise_slope(cwnd);
    }

    /// CheckStartupDone and CheckDrainDone.
    fn leave_startup(&mut self, event: &Event) {
        let model = &mut self.model;
        let lossy = model.loss_round_start && self.recovering && model.lost_ranges >= 6 && event.too_lossy();
        if model.state == State::Startup && !model.full_bw_reached && lossy {
            self.undo.state = Some(State::Startup);
            model.full_bw_reached = true;
            model.full_bw_now = true;
            model.inflight_long = model.bdp(1.0, self.initial_cwnd).max(model.inflight_latest);
        }
        if model.state == State::Startup && model.full_bw_reached {
            model.state = State::Drain;
            model.drain_round = model.round;
        }
        let drained = event.in_flight <= model.inflight(1.0, self.initial_cwnd);
        if model.state == State::Drain && (drained || model.round > model.drain_round + 3) {
            self.start_down(event);
        }
    }

    /// UpdateProbeBWCyclePhase.
    fn cycle(&mut self, event: &Event) {
        if !self.model.full_bw_reached || self.adapt_long_term(event) || !self.model.state.is_probe_bw() {
            return;
        }
        let state = self.model.state;
        match state {
            State::Down | State::Cruise => {
                let model = &self.model;
                let rounds = model.bdp(1.0, self.initial_cwnd).min(self.cwnd) / model.mss;
                let waited = event.now > model.cycle_stamp + model.probe_wait;
                if waited || model.rounds_since_up as f64 >= rounds.min(63.0) {
                    self.start_refill(event);
                } else if model.state == State::Down
                    && event.in_flight <= model.inflight_with_headroom()
                    && event.in_flight <= model.budget(model.max_bw() * model.min_rtt_s())
                {
                    self.model.state = State::Cruise;
                }
            }
            State::Refill if self.model.round_start => {
                self.model.is_probe_sample = true;
                self.start_up(event);
            }
            State::Up if self.is_time_to_go_down(event) => {
                self.model.was_too_high = false;
                self.start_down(event);
            }
            _ => {}
        }
    }

    fn is_time_to_go_down(&mut self, event: &Event) -> bool {
        let full = self.is_cwnd_limited();
        let model = &mut self.model;
        if model.was_too_high && event.in_flight >= model.inflight_long {
            model.was_precautionary = true;
            return true;
        }
        if full && self.cwnd >= model.inflight_long {
            model.reset_full_bw(event.rate);
            return false;
        }
        model.full_bw_now
    }

    const fn is_cwnd_limited(&self) -> bool {
        self.limited.0 || self.limited.1
    }

    /// AdaptLongTermModel: whether it has decided the next state.
    fn adapt_long_term(&mut self, event: &Event) -> bool {
        let full = self.is_cwnd_limited();
        let model = &mut self.model;
        if model.probe == Probe::Starting && model.round_start {
            model.probe = Probe::Feedback;
        }
        if model.probe == Probe::Stopping && model.round_start {
            model.is_probe_sample = false;
            model.probe = Probe::None;
            if model.state.is_probe_bw() && !event.app_limited {
                model.advance_max_bw();
            }
            if model.state.is_probe_bw() && model.was_precautionary && !model.was_too_high {
                self.start_refill(event);
                return true;
            }
        }
        if !event.too_lossy() && model.inflight_long.is_finite() {
            model.inflight_long = model.inflight_long.max(event.tx_in_flight);
            if model.state == State::Up && full && self.cwnd >= model.inflight_long {
                model.probe_upward(event, self.cwnd);
            }
        }
        false
    }

    /// HandleLostPacket.
    fn lost(&mut self, event: &Event, lost: &super::LostPacket) {
        if !self.model.loss_in_round {
            self.model.loss_round_delivered = event.delivered;
            self.save();
        }
        self.model.loss_in_round = true;
        self.model.lost_ranges += u32::from(lost.begins_range);
        let (in_flight, lost_bytes, size) = (lost.in_flight as f64, lost.lost as f64, lost.bytes as f64);
        if !self.model.is_probe_sample || lost_bytes <= in_flight * LOSS_THRESHOLD {
            return;
        }
        // InflightAtLoss, HandleInflightTooHigh.
        let prefix = (LOSS_THRESHOLD * (in_flight - size) - (lost_bytes - size)) / (1.0 - LOSS_THRESHOLD);
        let at_loss = in_flight - size + prefix;
        self.model.was_too_high = true;
        self.model.is_probe_sample = false;
        if !lost.app_limited {
            let target = self.model.bdp(1.0, self.initial_cwnd).min(self.cwnd);
            self.model.inflight_long = at_loss.max(target * BETA);
        }
        if self.model.state == State::Up {
            self.undo.state = Some(State::Up);
            self.start_down(event);
        }
    }

    /// SaveCwnd and SaveStateUponLoss.
    fn save(&mut self) {
        self.save_cwnd();
        self.undo = Undo { state: None, short: self.model.short_term(), long: self.model.inflight_long };
    }

    fn save_cwnd(&mut self) {
        let fresh = !self.recovering && self.model.state != State::ProbeRtt;
        self.prior_cwnd = if fresh { self.cwnd } else { self.prior_cwnd.max(self.cwnd) };
    }

    /// CheckProbeRTT; whether rate samples are to be ignored.
    fn probe_rtt(&mut self, event: &Event) -> bool {
        if self.model.state != State::ProbeRtt && self.model.probe_rtt_expired && !self.model.idle_restart {
            self.save_cwnd();
            self.model.state = State::ProbeRtt;
            self.model.probe_rtt_done_stamp = None;
            self.model.probe = Probe::Stopping;
            self.model.start_round(event);
        }
        let probing = self.model.state == State::ProbeRtt;
        if probing {
            match self.model.probe_rtt_done_stamp {
                None if event.in_flight <= self.probe_rtt_cwnd() => {
                    self.model.probe_rtt_done_stamp = Some(event.now + 200 * MSECOND);
                    self.model.probe_rtt_round_done = false;
                    self.model.start_round(event);
                }
                None => {}
                Some(_) => {
                    self.model.probe_rtt_round_done |= self.model.round_start;
                    if self.model.probe_rtt_round_done {
                        self.end_probe_rtt(event);
                    }
                }
            }
        }
        if event.delivers {
            self.model.idle_restart = false;
        }
        probing
    }

    /// CheckProbeRTTDone and ExitProbeRTT.
    fn end_probe_rtt(&mut self, event: &Event) {
        if self.model.probe_rtt_done_stamp.is_none_or(|at| event.now <= at) {
            return;
        }
        self.model.probe_rtt_stamp = event.now;
        self.cwnd = self.cwnd.max(self.prior_cwnd);
        self.model.reset_short_term();
        if self.model.full_bw_reached {
            self.start_down(event);
            self.model.state = State::Cruise;
        } else {
            self.model.state = State::Startup;
        }
    }

    fn probe_rtt_cwnd(&self) -> f64 {
        self.model.bdp(0.5, self.initial_cwnd).max(4.0 * self.model.mss)
    }

    /// SetPacingRate and SetCwnd.
    fn control(&mut self, event: &Event) {
        let rate = self.model.state.pacing_gain() * self.model.bw * 0.99;
        if self.model.full_bw_reached || rate > self.model.pacing_rate {
            self.model.pacing_rate = rate;
        }
        let model = &self.model;
        let most = model.budget(model.bdp(model.state.cwnd_gain(), self.initial_cwnd) + model.extra_acked());
        if model.full_bw_reached {
            self.cwnd = (self.cwnd + event.acked).min(most);
        } else if self.cwnd < most || event.delivered < self.initial_cwnd {
            self.cwnd += event.acked;
        }
        let least = 4.0 * model.mss;
        self.cwnd = self.cwnd.max(least);
        if model.state == State::ProbeRtt {
            self.cwnd = self.cwnd.min(self.probe_rtt_cwnd());
        }
        let cap = match model.state {
            State::Cruise | State::ProbeRtt => model.inflight_with_headroom(),
            state if state.is_probe_bw() => model.inflight_long,
            _ => f64::INFINITY,
        };
        self.cwnd = self.cwnd.min(cap.min(model.short_term().1).max(least));
    }
}

impl SinglePath for Bbr {
    const NAME: &'static str = "bbr";
    const FEEDBACK: Feedback = Feedback::Steering;

    fn on_ack(&mut self, view: &View, _ack: &Ack) -> Window {
        Window { cwnd: view.cwnd, ssthresh: view.ssthresh }
    }

    fn on_join(&mut self, view: &View, now: Instant) -> Option<f64> {
        self.begin(view, now);
        Some(self.model.pacing_rate)
    }

    fn on_delivery(&mut self, view: &View, delivery: &Delivery<'_>) -> Option<Steering> {
        let event = Event::of(delivery);
        let recovering = view.phase != Phase::Open;
        if self.recovering && !recovering {
            self.cwnd = self.cwnd.max(self.prior_cwnd);
        }
        self.recovering = recovering;
        self.limited.0 |= delivery.cwnd_limited;
        for lost in delivery.lost {
            self.lost(&event, lost);
        }
        self.model.update_delivery(&event, self.cwnd);
        if self.model.round_start {
            self.limited = (delivery.cwnd_limited, self.limited.0);
        }
        self.model.update_aggregation(&event, self.cwnd);
        self.model.check_full_bw(&event);
        self.leave_startup(&event);
        if event.delivers {
            self.cycle(&event);
        }
        self.model.update_min_rtt(&event);
        let limited = self.probe_rtt(&event);
        self.model.finish(&event);
        self.control(&event);
        let window = Window { cwnd: self.cwnd / self.model.mss, ssthresh: view.ssthresh };
        Some(Steering { window, pacing: Some(self.model.pacing_rate), limited })
    }

    fn on_restart(&mut self, _view: &View, now: Instant) -> Option<f64> {
        self.model.idle_restart = true;
        self.model.extra_since = now;
        if self.model.state == State::ProbeRtt {
            self.end_probe_rtt(&Event::at(now, self.model.delivered));
        }
        if self.model.state.is_probe_bw() {
            self.model.pacing_rate = self.model.bw * 0.99;
        }
        (self.model.pacing_rate > 0.0).then_some(self.model.pacing_rate)
    }

    fn on_loss(&mut self, view: &View) -> f64 {
        self.save();
        view.cwnd.max(2.0)
    }

    fn on_timeout(&mut self, view: &View) -> f64 {
        self.save();
        self.cwnd = self.cwnd.min(self.model.mss);
        view.cwnd.max(2.0)
    }

    fn on_ecn(&mut self, view: &View, _abe: bool) -> f64 {
        view.cwnd.max(2.0) // the draft leaves marks open
    }

    fn on_undo(&mut self, _view: &View) {
        self.cwnd = self.cwnd.max(self.prior_cwnd);
        self.model.undo(self.undo.short, self.undo.long);
        let event = Event::at(self.model.now, self.model.delivered);
        match self.undo.state.take() {
            Some(State::Startup) if self.model.state != State::Startup => {
                self.model.full_bw_reached = false;
                if self.model.state != State::ProbeRtt {
                    self.model.state = State::Startup;
                }
            }
            Some(State::Up) if !matches!(self.model.state, State::Up | State::ProbeRtt) => self.start_refill(&event),
            _ => {}
        }
    }

    fn show(&self, _view: &View, _now: Instant, columns: &mut [f64]) {
        columns[0] = 8.0 * self.model.bw;
        columns[1] = self.model.min_rtt_s();
        columns[2] = self.model.state as u8 as f64;
    }
}

#[cfg(test)]
#[path = "bbr_tests.rs"]
mod tests;

#[cfg(test)]
#[path = "bbr_states_tests.rs"]
mod states_tests;
