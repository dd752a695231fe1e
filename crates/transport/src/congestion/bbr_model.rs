//! What BBR knows of the path: bandwidth, round trip, what losses have shown to be safe (draft-ietf-ccwg-bbr, 5.5).

use std::collections::VecDeque;

use super::{Delivery, View};
use crate::time::{Duration, Instant};

pub(super) const SECOND: Duration = Duration::from_secs(1);
pub(super) const MSECOND: Duration = Duration::from_millis(1);
/// BBR.LossThresh.
pub(super) const LOSS_THRESHOLD: f64 = 0.02;
/// BBR.Beta.
pub(super) const BETA: f64 = 0.7;
/// BBR.Headroom.
const HEADROOM: f64 = 0.15;
const PROBE_RTT_INTERVAL: Duration = Duration::from_secs(5);
const MIN_RTT_WINDOW: Duration = Duration::from_secs(10);

/// States; the numbers are those of the column.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum State {
    Startup,
    Drain,
    Down,
    Cruise,
    Refill,
    Up,
    ProbeRtt,
}

impl State {
    /// Of section 5.6.1, table.
    pub(super) const fn pacing_gain(self) -> f64 {
        match self {
            State::Startup => 2.77,
            State::Drain => 0.5,
            State::Down => 0.9,
            State::Cruise | State::Refill | State::ProbeRtt => 1.0,
            State::Up => 1.25,
        }
    }

    /// Likewise.
    pub(super) const fn cwnd_gain(self) -> f64 {
        match self {
            State::Up => 2.25,
            State::ProbeRtt => 0.5,
            _ => 2.0,
        }
    }

    pub(super) const fn is_probe_bw(self) -> bool {
        matches!(self, State::Down | State::Cruise | State::Refill | State::Up)
    }
}

/// What acknowledgments tell of a probe for bandwidth (BBR.ack_phase).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Phase {
    None,
    Refilling,
    Starting,
    Feedback,
    Stopping,
}

/// An acknowledgment, in the amounts that the model computes with: bytes, and bytes per second.
#[derive(Clone, Copy, Debug)]
pub(super) struct Event {
    pub(super) now: Instant,
    pub(super) acked: f64,
    pub(super) delivered: f64,
    pub(super) in_flight: f64,
    pub(super) rtt: Option<Duration>,
    /// It has a sample.
    pub(super) delivers: bool,
    pub(super) rate: f64,
    pub(super) bytes: f64,
    pub(super) prior_delivered: f64,
    pub(super) app_limited: bool,
    pub(super) tx_in_flight: f64,
    pub(super) lost: f64,
}

impl Event {
    pub(super) fn of(delivery: &Delivery<'_>) -> Self {
        let sample = delivery.sample;
        Event {
            acked: delivery.acked as f64,
            in_flight: delivery.in_flight as f64,
            rtt: delivery.rtt,
            delivers: sample.is_some(),
            rate: sample.and_then(|s| s.rate).unwrap_or(0.0),
            bytes: sample.map_or(0.0, |s| s.bytes as f64),
            prior_delivered: sample.map_or(0.0, |s| s.prior_delivered as f64),
            app_limited: sample.is_some_and(|s| s.app_limited),
            tx_in_flight: sample.map_or(0.0, |s| s.in_flight as f64),
            lost: sample.map_or(0.0, |s| s.lost as f64),
            ..Self::at(delivery.now, delivery.delivered as f64)
        }
    }

    /// Nothing but the time.
    pub(super) const fn at(now: Instant, delivered: f64) -> Self {
        Event {
            now,
            acked: 0.0,
            delivered,
            in_flight: 0.0,
            rtt: None,
            delivers: false,
            rate: 0.0,
            bytes: 0.0,
            prior_delivered: 0.0,
            app_limited: false,
            tx_in_flight: 0.0,
            lost: 0.0,
        }
    }

    /// IsInflightTooHigh.
    pub(super) fn too_lossy(&self) -> bool {
        self.lost > self.tx_in_flight * LOSS_THRESHOLD
    }
}

/// The largest of the values of the last rounds.
#[derive(Clone, Debug, Default)]
pub(super) struct WindowMax {
    /// (round, value), falling in value.
    values: VecDeque<(u64, f64)>,
}

impl WindowMax {
    pub(super) fn push(&mut self, round: u64, value: f64, rounds: u64) {
        while self.values.back().is_some_and(|&(_, last)| last <= value) {
            self.values.pop_back();
        }
        self.values.push_back((round, value));
        while self.values.front().is_some_and(|&(of, _)| of + rounds <= round) {
            self.values.pop_front();
        }
    }

    pub(super) fn get(&self) -> f64 {
        self.values.front().map_or(0.0, |&(_, value)| value)
    }
}

/// The names are those of the draft without BBR, in full words.
#[derive(Clone, Debug)]
pub(super) struct Model {
    pub(super) mss: f64,
    /// Bytes per second.
    pub(super) pacing_rate: f64,
    pub(super) state: State,
    pub(super) probe: Phase,
    pub(super) now: Instant,
    pub(super) delivered: f64,
    pub(super) round: u64,
    pub(super) round_start: bool,
    next_round_delivered: f64,
    /// Of the cycle before, and of this one.
    max_bw: (f64, f64),
    pub(super) bw: f64,
    bw_short: f64,
    inflight_short: f64,
    pub(super) inflight_long: f64,
    min_rtt: Option<Duration>,
    min_rtt_stamp: Instant,
    probe_rtt_delay: Duration,
    pub(super) probe_rtt_stamp: Instant,
    pub(super) probe_rtt_expired: bool,
    pub(super) probe_rtt_done_stamp: Option<Instant>,
    pub(super) probe_rtt_round_done: bool,
    pub(super) idle_restart: bool,
    pub(super) full_bw_reached: bool,
    pub(super) full_bw_now: bool,
    full_bw: f64,
    full_bw_count: u32,
    pub(super) drain_round: u64,
    pub(super) loss_in_round: bool,
    pub(super) loss_round_start: bool,
    pub(super) loss_round_delivered: f64,
    pub(super) lost_ranges: u32,
    bw_latest: f64,
    pub(super) inflight_latest: f64,
    pub(super) is_probe_sample: bool,
    pub(super) was_too_high: bool,
    pub(super) was_precautionary: bool,
    pub(super) rounds_since_up: u64,
    pub(super) probe_wait: Duration,
    pub(super) cycle_stamp: Instant,
    pub(super) up_rounds: u32,
    pub(super) up_acked: f64,
    pub(super) up_acked_per_inc: f64,
    pub(super) extra_since: Instant,
    extra_delivered: f64,
    extra: WindowMax,
}

impl Model {
    pub(super) fn new() -> Self {
        Model {
            mss: 1.0,
            pacing_rate: 0.0,
            state: State::Startup,
            probe: Phase::None,
            now: Instant::ZERO,
            delivered: 0.0,
            round: 0,
            round_start: false,
            next_round_delivered: 0.0,
            max_bw: (0.0, 0.0),
            bw: 0.0,
            bw_short: f64::INFINITY,
            inflight_short: f64::INFINITY,
            inflight_long: f64::INFINITY,
            min_rtt: None,
            min_rtt_stamp: Instant::ZERO,
            probe_rtt_delay: Duration::MAX,
            probe_rtt_stamp: Instant::ZERO,
            probe_rtt_expired: false,
            probe_rtt_done_stamp: None,
            probe_rtt_round_done: false,
            idle_restart: false,
            full_bw_reached: false,
            full_bw_now: false,
            full_bw: 0.0,
            full_bw_count: 0,
            drain_round: 0,
            loss_in_round: false,
            loss_round_start: false,
            loss_round_delivered: 0.0,
            lost_ranges: 0,
            bw_latest: 0.0,
            inflight_latest: 0.0,
            is_probe_sample: false,
            was_too_high: false,
            was_precautionary: false,
            rounds_since_up: 0,
            probe_wait: Duration::ZERO,
            cycle_stamp: Instant::ZERO,
            up_rounds: 0,
            up_acked: 0.0,
            up_acked_per_inc: f64::INFINITY,
            extra_since: Instant::ZERO,
            extra_delivered: 0.0,
            extra: WindowMax::default(),
        }
    }

    /// BBROnInit: the clocks start, and the handshake's round trip is the first.
    pub(super) fn begin(&mut self, view: &View, now: Instant) {
        self.min_rtt = (!view.min_rtt.is_zero()).then_some(view.min_rtt);
        self.extra_since = now;
        self.min_rtt_stamp = now;
        self.probe_rtt_stamp = now;
    }

    pub(super) const fn max_bw(&self) -> f64 {
        self.max_bw.0.max(self.max_bw.1)
    }

    pub(super) fn advance_max_bw(&mut self) {
        if self.max_bw.1 > 0.0 {
            self.max_bw = (self.max_bw.1, 0.0);
        }
    }

    pub(super) fn min_rtt_s(&self) -> f64 {
        self.min_rtt.unwrap_or_default().as_secs_f64()
    }

    pub(super) fn extra_acked(&self) -> f64 {
        self.extra.get()
    }

    pub(super) const fn short_term(&self) -> (f64, f64) {
        (self.bw_short, self.inflight_short)
    }

    /// BDPMultiple.
    pub(super) fn bdp(&self, gain: f64, initial_cwnd: f64) -> f64 {
        if self.min_rtt.is_none() { initial_cwnd } else { gain * self.bw * self.min_rtt_s() }
    }

    /// QuantizationBudget: at least three send quanta, of what leaves in a millisecond, two segments to 64 KiB (BBR.send_quantum).
    pub(super) const fn budget(&self, inflight: f64) -> f64 {
        let quantum = (1e-3 * self.pacing_rate).min(65_536.0).max(2.0 * self.mss);
        let inflight = inflight.max(3.0 * quantum);
        if matches!(self.state, State::Up) { inflight + 2.0 * self.mss } else { inflight }
    }

    /// Inflight.
    pub(super) fn inflight(&self, gain: f64, initial_cwnd: f64) -> f64 {
        self.budget(self.bdp(gain, initial_cwnd))
    }

    pub(super) fn inflight_with_headroom(&self) -> f64 {
        let headroom = self.mss.max(HEADROOM * self.inflight_long);
        if self.inflight_long.is_finite() { (self.inflight_long - headroom).max(4.0 * self.mss) } else { f64::INFINITY }
    }

    pub(super) const fn start_round(&mut self, event: &Event) {
        self.next_round_delivered = event.delivered;
    }

    pub(super) const fn reset_congestion_signals(&mut self) {
        self.loss_in_round = false;
        self.bw_latest = 0.0;
        self.inflight_latest = 0.0;
    }

    pub(super) const fn reset_short_term(&mut self) {
        self.bw_short = f64::INFINITY;
        self.inflight_short = f64::INFINITY;
    }

    /// ResetFullBW, with a new baseline.
    pub(super) const fn reset_full_bw(&mut self, baseline: f64) {
        self.full_bw = baseline;
        self.full_bw_count = 0;
        self.full_bw_now = false;
    }

    /// HandleSpuriousLossDetection, of the model.
    pub(super) fn undo(&mut self, short: (f64, f64), long: f64) {
        self.loss_in_round = false;
        self.reset_full_bw(0.0);
        self.bw_short = self.bw_short.max(short.0);
        self.inflight_short = self.inflight_short.max(short.1);
        self.inflight_long = self.inflight_long.max(long);
    }

    /// UpdateLatestDeliverySignals and UpdateCongestionSignals.
    pub(super) fn update_delivery(&mut self, event: &Event, cwnd: f64) {
        (self.now, self.delivered) = (event.now, event.delivered);
        (self.loss_round_start, self.round_start) = (false, false);
        if !event.delivers {
            return;
        }
        self.bw_latest = self.bw_latest.max(event.rate);
        self.inflight_latest = self.inflight_latest.max(event.bytes);
        if event.prior_delivered >= self.loss_round_delivered {
            self.loss_round_delivered = event.delivered;
            self.loss_round_start = true;
        }
        if event.prior_delivered >= self.next_round_delivered {
            self.start_round(event);
            self.round += 1;
            self.rounds_since_up += 1;
            self.round_start = true;
        }
        if event.rate > 0.0 && (event.rate >= self.max_bw() || !event.app_limited) {
            self.max_bw.1 = self.max_bw.1.max(event.rate);
        }
        if !self.loss_round_start {
            return;
        }
        if self.loss_in_round && !matches!(self.state, State::Startup | State::Refill | State::Up) {
            if self.bw_short.is_infinite() {
                self.bw_short = self.max_bw();
            }
            if self.inflight_short.is_infinite() {
                self.inflight_short = cwnd;
            }
            self.bw_short = self.bw_latest.max(BETA * self.bw_short);
            self.inflight_short = self.inflight_latest.max(BETA * self.inflight_short);
        }
        self.loss_in_round = false;
    }

    /// UpdateACKAggregation.
    pub(super) fn update_aggregation(&mut self, event: &Event, cwnd: f64) {
        let mut expected = self.bw * (event.now - self.extra_since.min(event.now)).as_nanos() as f64 * 1e-9;
        if self.extra_delivered <= expected {
            self.extra_delivered = 0.0;
            self.extra_since = event.now;
            expected = 0.0;
        }
        self.extra_delivered += event.acked;
        let extra = (self.extra_delivered - expected).min(cwnd);
        self.extra.push(self.round, extra, if self.full_bw_reached { 10 } else { 1 });
    }

    /// CheckFullBWReached.
    pub(super) fn check_full_bw(&mut self, event: &Event) {
        if self.full_bw_now || !self.round_start || event.app_limited {
            return;
        }
        if event.rate >= 1.25 * self.full_bw {
            self.reset_full_bw(event.rate);
            return;
        }
        self.full_bw_count += 1;
        self.full_bw_now = self.full_bw_count >= 3;
        self.full_bw_reached |= self.full_bw_now;
    }

    /// RaiseInflightLongtermSlope.
    pub(super) fn raise_slope(&mut self, cwnd: f64) {
        let growth = f64::from(1_u32 << self.up_rounds);
        self.up_rounds = (self.up_rounds + 1).min(30);
        self.up_acked_per_inc = (cwnd / growth).max(self.mss);
    }

    /// ProbeInflightLongtermUpward, where the window is what limits.
    pub(super) fn probe_upward(&mut self, event: &Event, cwnd: f64) {
        self.up_acked += event.acked;
        if self.up_acked >= self.up_acked_per_inc {
            let delta = (self.up_acked / self.up_acked_per_inc).floor();
            self.up_acked -= delta * self.up_acked_per_inc;
            self.inflight_long += delta * self.mss;
        }
        if self.round_start {
            self.raise_slope(cwnd);
        }
    }

    /// UpdateMinRTT.
    pub(super) fn update_min_rtt(&mut self, event: &Event) {
        self.probe_rtt_expired = event.now > self.probe_rtt_stamp + PROBE_RTT_INTERVAL;
        if let Some(rtt) = event.rtt
            && (rtt < self.probe_rtt_delay || self.probe_rtt_expired)
        {
            self.probe_rtt_delay = rtt;
            self.probe_rtt_stamp = event.now;
        }
        let expired = event.now > self.min_rtt_stamp + MIN_RTT_WINDOW;
        let known = self.probe_rtt_delay != Duration::MAX;
        if known && (expired || self.min_rtt.is_none_or(|old| self.probe_rtt_delay < old)) {
            self.min_rtt = Some(self.probe_rtt_delay);
            self.min_rtt_stamp = self.probe_rtt_stamp;
        }
    }

    /// AdvanceLatestDeliverySignals and BoundBWForModel.
    pub(super) fn finish(&mut self, event: &Event) {
        if self.loss_round_start {
            self.bw_latest = event.rate;
            self.inflight_latest = event.bytes;
            self.lost_ranges = 0;
        }
        self.bw = self.max_bw().min(self.bw_short);
    }
}

#[cfg(test)]
#[path = "bbr_model_tests.rs"]
mod tests;
