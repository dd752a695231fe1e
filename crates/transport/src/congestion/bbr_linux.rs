//! BBR, version 1, as Linux has it: segments, microseconds and whole numbers.

use rand_core::{RngCore, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use super::bbr_linux_max::{AckedMax, RunningMax};
use super::bbr_model::{Event, State};
use super::bbr_policer::Policer;
use super::{Ack, Bbr, Delivery, Feedback, Phase, SinglePath, Steering, View, Window};
use crate::algorithm::{Given, Make};
use crate::plugin::{Kind, Origin};
use crate::time::{Duration, Instant};

/// A bandwidth of one segment per microsecond.
const BANDWIDTH_UNIT: u64 = 1 << 24;
/// A gain of one.
const UNIT: u64 = 256;
/// 2/ln 2, which doubles the rate each round trip, and its inverse.
const HIGH_GAIN: u64 = UNIT * 2885 / 1000 + 1;
const DRAIN_GAIN: u64 = UNIT * 1000 / 2885;
/// A phase takes a round trip: one to probe, one to drain what that queued, six to cruise.
const CYCLE: [u64; 8] = [UNIT * 5 / 4, UNIT * 3 / 4, UNIT, UNIT, UNIT, UNIT, UNIT, UNIT];
const BANDWIDTH_ROUNDS: u64 = 10;
const MIN_RTT_WINDOW_MS: u64 = 10_000;
const PROBE_RTT_MS: u64 = 200;
/// The initial window of RFC 6928, whatever the connection began with.
const INITIAL_WINDOW: u64 = 10;
const LEAST_WINDOW: u64 = 4;
/// Below it, in bytes per second, segments leave one by one: 1.2 Mbit/s.
pub(crate) const LEAST_BURST_RATE: u64 = 1_200_000 / 8;
/// The most that leaves at once, in bytes, headers left out.
const LARGEST_BURST: u64 = 65_536 - 1 - 320;
/// Room for aggregated acknowledgments: a tenth of a second's data.
const AGGREGATION_US: u64 = 100_000;

/// N. Cardwell, Y. Cheng, C. S. Gunn, S. H. Yeganeh, V. Jacobson, "BBR: Congestion-Based Congestion Control", ACM Queue
/// 14(5), 2016; draft-cardwell-iccrg-bbr-congestion-control-00; in the units and with the rounding of Linux 6.12
/// (net/ipv4/tcp_bbr.c).
///
/// The bandwidth is the largest rate of ten round trips, the round trip the least of ten seconds. Startup and drain with gains
/// 2.89 and its inverse; then the cycle above, of which the phase at the start is drawn. When the least round trip is ten
/// seconds old, four segments for 200 ms. Losses change the window only in the first round trip of a recovery. While a
/// policer is believed to be there, its rate takes the place of the bandwidth.
///
/// A timer's tick is a millisecond.
#[derive(Clone, Debug)]
pub struct BbrLinux {
    seed: u64,
    mss: u64,
    /// Segments, as all amounts of data below.
    cwnd: u64,
    prior_cwnd: u64,
    /// Bytes per second.
    pacing_rate: u64,
    state: State,
    /// Of [`BANDWIDTH_UNIT`], as all bandwidths.
    bandwidth: RunningMax,
    policed: Option<u64>,
    /// Of the pace, as the last acknowledgment left it.
    gain: u64,
    extra: AckedMax,
    extra_since_us: u64,
    extra_acked: u64,
    round: u64,
    next_round_delivered: u64,
    /// When something was delivered last.
    delivered_us: u64,
    min_rtt_us: Option<u64>,
    min_rtt_stamp_ms: u64,
    probe_rtt_done_ms: Option<u64>,
    probe_rtt_round_done: bool,
    idle_restart: bool,
    full_bandwidth: u64,
    full_count: u32,
    full: bool,
    phase: usize,
    phase_began_us: u64,
    recovery: Phase,
    /// In the first round trip of a recovery.
    conserves: bool,
    policer: Policer,
    /// Bytes found lost so far.
    lost_bytes: u64,
}

/// An acknowledgment.
#[derive(Clone, Copy, Debug)]
struct Reply {
    now_us: u64,
    acked: u64,
    /// In all.
    delivered: u64,
    lost: u64,
    in_flight: u64,
    /// How long pacing holds back what is sent next.
    held_us: u64,
    rtt_us: Option<u64>,
    /// Whether the newest segment that it acknowledges says what was delivered since it was sent.
    delivers: bool,
    /// That, the time it took, and what had been delivered before, if the time is not shorter than any round trip.
    rate: Option<(u64, u64, u64)>,
    app_limited: bool,
}

/// How long ago something was, by stamps of whole microseconds.
fn whole_us(now: Instant, ago: Duration) -> u64 {
    now.as_micros() - now.saturating_sub(ago).as_micros()
}

impl Make for BbrLinux {
    fn make(_: &Given, origin: &Origin) -> Self {
        BbrLinux::new(origin.seed(Kind::Congestion))
    }
}

impl Reply {
    fn of(delivery: &Delivery<'_>, mss: u64) -> Self {
        let since = |ago| whole_us(delivery.now, ago);
        let rate = delivery.sample.and_then(|sample| {
            let prior = sample.prior_segments;
            // The quotient of two whole numbers is given as its inverse.
            let interval = Duration::from_nanos((sample.bytes as f64 * 1e9 / sample.rate?).round() as u64);
            Some((delivery.delivered_segments - prior, since(interval), prior))
        });
        Reply {
            now_us: delivery.now.as_micros(),
            acked: delivery.acked_segments.into(),
            delivered: delivery.delivered_segments,
            lost: delivery.lost.len() as u64,
            in_flight: delivery.in_flight.div_ceil(mss),
            held_us: delivery.departs_at.saturating_since(delivery.now).as_micros(),
            rtt_us: delivery.rtt.map(since),
            delivers: delivery.sample.is_some(),
            rate: rate.filter(|&(_, interval_us, _)| interval_us > 0),
            app_limited: delivery.sample.is_some_and(|sample| sample.app_limited),
        }
    }

    fn now_ms(&self) -> u64 {
        self.now_us / 1_000
    }
}

impl BbrLinux {
    /// With a seed for the phase at the start of a cycle.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        BbrLinux {
            seed,
            mss: 1,
            cwnd: 0,
            prior_cwnd: 0,
            pacing_rate: 0,
            state: State::Startup,
            bandwidth: RunningMax::default(),
            policed: None,
            gain: HIGH_GAIN,
            extra: AckedMax::default(),
            extra_since_us: 0,
            extra_acked: 0,
            round: 0,
            next_round_delivered: 0,
            delivered_us: 0,
            min_rtt_us: None,
            min_rtt_stamp_ms: 0,
            probe_rtt_done_ms: None,
            probe_rtt_round_done: false,
            idle_restart: false,
            full_bandwidth: 0,
            full_count: 0,
            full: false,
            phase: 0,
            phase_began_us: 0,
            recovery: Phase::Open,
            conserves: false,
            policer: Policer::default(),
            lost_bytes: 0,
        }
    }

    /// As the connection is established: the handshake's round trip is the first, and sets the first pace.
    fn begin(&mut self, view: &View, now: Instant) {
        self.mss = u64::from(view.mss.max(1));
        self.cwnd = (view.cwnd as u64).max(1);
        let rtt_us = if view.srtt.is_zero() { 1_000 } else { view.srtt.as_micros().max(1) };
        self.pacing_rate = self.pace(self.cwnd * BANDWIDTH_UNIT / rtt_us, HIGH_GAIN);
        self.min_rtt_us = (!view.min_rtt.is_zero()).then(|| whole_us(now, view.min_rtt));
        (self.extra_since_us, self.min_rtt_stamp_ms) = (now.as_micros(), now.as_millis());
    }

    /// Bytes per second, a hundredth less than the bandwidth times the gain.
    fn pace(&self, bandwidth: u64, gain: u64) -> u64 {
        let bytes = bandwidth.saturating_mul(self.mss).saturating_mul(gain) / UNIT;
        bytes.saturating_mul(1_000_000 / 100 * 99) / BANDWIDTH_UNIT
    }

    fn pacing_gain(&self) -> u64 {
        match self.state {
            State::Startup => HIGH_GAIN,
            State::Drain => DRAIN_GAIN,
            State::ProbeRtt => UNIT,
            _ if self.policed.is_some() => UNIT,
            _ => CYCLE[self.phase],
        }
    }

    /// At which it sends: the policer's, or the largest of ten round trips.
    fn rate(&self) -> u64 {
        self.policed.unwrap_or(self.bandwidth.get())
    }

    fn cwnd_gain(&self) -> u64 {
        match self.state {
            State::Startup | State::Drain => HIGH_GAIN,
            State::ProbeRtt => UNIT,
            _ => 2 * UNIT,
        }
    }

    /// Segments that leave at once: a millisecond's, but two, or one at less than 1.2 Mbit/s.
    fn burst(&self) -> u64 {
        let least = if self.pacing_rate < LEAST_BURST_RATE { 1 } else { 2 };
        ((self.pacing_rate >> 10).min(LARGEST_BURST) / self.mss).clamp(least, 127)
    }

    /// The path's content times a gain.
    fn content(&self, bandwidth: u64, gain: u64) -> u64 {
        let Some(min_rtt_us) = self.min_rtt_us else { return INITIAL_WINDOW };
        (bandwidth.saturating_mul(min_rtt_us).saturating_mul(gain) / UNIT).div_ceil(BANDWIDTH_UNIT)
    }

    /// With room for what waits in the hosts: three bursts, to an even number, and two more where it probes.
    fn with_room(&self, segments: u64) -> u64 {
        let probing = self.state == State::Cruise && self.phase == 0;
        (segments + 3 * self.burst()).next_multiple_of(2) + if probing { 2 } else { 0 }
    }

    fn inflight(&self, gain: u64) -> u64 {
        self.with_room(self.content(self.bandwidth.get(), gain))
    }

    /// Of what is in flight, what will be when pacing lets the next burst go: with that burst where it is to become more.
    fn in_flight_then(&self, in_flight: u64, reply: &Reply) -> u64 {
        let leaving = self.rate() * reply.held_us / BANDWIDTH_UNIT;
        let more = if self.gain > UNIT { self.burst() } else { 0 };
        (in_flight + more).saturating_sub(leaving)
    }

    /// Bandwidth and rounds; whether a round begins.
    fn update_bandwidth(&mut self, event: &Event, reply: &Reply) -> bool {
        let Some((delivered, interval_us, prior_delivered)) = reply.rate else { return false };
        let round_start = prior_delivered >= self.next_round_delivered;
        if round_start {
            self.next_round_delivered = reply.delivered;
            self.round += 1;
            self.conserves = false;
        }
        let cycles = self.state == State::Cruise;
        if self.policer.heard(event, reply.lost > 0, self.lost_bytes as f64, round_start, cycles) {
            self.enter_cycle();
        }
        self.look_at_policer();
        let bandwidth = delivered * BANDWIDTH_UNIT / interval_us;
        if !reply.app_limited || bandwidth >= self.bandwidth.get() {
            self.bandwidth.push(self.round, bandwidth, BANDWIDTH_ROUNDS);
        }
        round_start
    }

    /// Its rate is in bytes per second.
    fn look_at_policer(&mut self) {
        let unit = BANDWIDTH_UNIT as f64 / 1e6 / self.mss as f64;
        let found = self.policer.rate().map(|rate| (rate * unit) as u64);
        if found.is_some() && self.policed.is_none() {
            self.gain = UNIT;
        }
        self.policed = found;
    }

    /// How much more is acknowledged than the bandwidth lets expect.
    fn update_aggregation(&mut self, reply: &Reply, round_start: bool) {
        if reply.acked == 0 || reply.rate.is_none() {
            return;
        }
        if round_start {
            self.extra.round();
        }
        let mut expected = self.rate() * (reply.now_us - self.extra_since_us) / BANDWIDTH_UNIT;
        if self.extra_acked <= expected || self.extra_acked + reply.acked >= 1 << 20 {
            (self.extra_acked, self.extra_since_us, expected) = (0, reply.now_us, 0);
        }
        self.extra_acked += reply.acked;
        self.extra.push((self.extra_acked - expected).min(self.cwnd));
    }

    /// Phases go by what was in flight before the acknowledgment.
    fn update_phase(&mut self, reply: &Reply) {
        if self.state != State::Cruise {
            return;
        }
        let whole = self.delivered_us - self.phase_began_us > self.min_rtt_us.unwrap_or(u64::MAX);
        let before = || self.in_flight_then(reply.in_flight + reply.acked + reply.lost, reply);
        let over = match self.gain {
            gain if gain > UNIT => whole && (reply.lost > 0 || before() >= self.inflight(gain)),
            gain if gain < UNIT => whole || before() <= self.inflight(UNIT),
            _ => whole,
        };
        if over {
            self.phase = (self.phase + 1) % CYCLE.len();
            self.phase_began_us = self.delivered_us;
        }
    }

    fn update_full(&mut self, reply: &Reply, round_start: bool) {
        if self.full || !round_start || reply.app_limited {
            return;
        }
        if self.bandwidth.get() >= self.full_bandwidth * 5 / 4 {
            (self.full_bandwidth, self.full_count) = (self.bandwidth.get(), 0);
        } else {
            self.full_count += 1;
            self.full = self.full_count >= 3;
        }
    }

    fn update_drain(&mut self, reply: &Reply) {
        if self.state == State::Startup && self.full {
            self.state = State::Drain;
        }
        if self.state == State::Drain && self.in_flight_then(reply.in_flight, reply) <= self.inflight(UNIT) {
            self.enter_cycle();
        }
    }

    /// In any phase but the one that drains.
    fn enter_cycle(&mut self) {
        self.state = State::Cruise;
        let seed = self.seed ^ self.delivered_us;
        let draw = Xoshiro256PlusPlus::seed_from_u64(seed).next_u64() % (CYCLE.len() as u64 - 1);
        self.phase = if draw == 0 { 0 } else { draw as usize + 1 };
        self.phase_began_us = self.delivered_us;
    }

    /// The least round trip; whether it is being measured anew.
    fn update_min_rtt(&mut self, reply: &Reply, round_start: bool) -> bool {
        let expired = reply.now_ms() > self.min_rtt_stamp_ms + MIN_RTT_WINDOW_MS;
        if let Some(rtt_us) = reply.rtt_us
            && (expired || self.min_rtt_us.is_none_or(|old_us| rtt_us < old_us))
        {
            self.min_rtt_us = Some(rtt_us);
            self.min_rtt_stamp_ms = reply.now_ms();
        }
        if expired && !self.idle_restart && self.state != State::ProbeRtt {
            self.state = State::ProbeRtt;
            self.save_cwnd();
            self.probe_rtt_done_ms = None;
        }
        let probing = self.state == State::ProbeRtt;
        if probing {
            if self.probe_rtt_done_ms.is_some() {
                self.probe_rtt_round_done |= round_start;
                if self.probe_rtt_round_done {
                    self.end_probe_rtt(reply.now_ms());
                }
            } else if reply.in_flight <= LEAST_WINDOW {
                self.probe_rtt_done_ms = Some(reply.now_ms() + PROBE_RTT_MS);
                self.probe_rtt_round_done = false;
                self.next_round_delivered = reply.delivered;
            }
        }
        if reply.delivers {
            self.idle_restart = false;
        }
        probing
    }

    /// If its time is over.
    fn end_probe_rtt(&mut self, now_ms: u64) {
        if self.probe_rtt_done_ms.is_none_or(|done_ms| now_ms <= done_ms) {
            return;
        }
        self.min_rtt_stamp_ms = now_ms;
        self.cwnd = self.cwnd.max(self.prior_cwnd);
        if self.full {
            self.enter_cycle();
        } else {
            self.state = State::Startup;
        }
    }

    fn save_cwnd(&mut self) {
        let fresh = self.recovery == Phase::Open && self.state != State::ProbeRtt;
        self.prior_cwnd = if fresh { self.cwnd } else { self.prior_cwnd.max(self.cwnd) };
    }

    fn set_pace(&mut self, gain: u64) {
        let rate = self.pace(self.rate(), gain);
        if self.full || rate > self.pacing_rate {
            self.pacing_rate = rate;
        }
    }

    fn set_window(&mut self, phase: Phase, reply: &Reply) {
        if reply.acked > 0 {
            self.adapt_window(phase, reply);
        }
        if self.state == State::ProbeRtt {
            self.cwnd = self.cwnd.min(LEAST_WINDOW);
        }
    }

    fn adapt_window(&mut self, phase: Phase, reply: &Reply) {
        self.cwnd = self.cwnd.saturating_sub(reply.lost).max(1);
        let before = std::mem::replace(&mut self.recovery, phase);
        if phase == Phase::Recovery && before != Phase::Recovery {
            self.conserves = true;
            self.next_round_delivered = reply.delivered;
            self.cwnd = reply.in_flight + reply.acked;
        } else if phase == Phase::Open && before != Phase::Open {
            self.conserves = false;
            self.cwnd = self.cwnd.max(self.prior_cwnd);
        }
        if self.conserves {
            self.cwnd = self.cwnd.max(reply.in_flight + reply.acked);
            return;
        }
        let most = self.rate() * AGGREGATION_US / BANDWIDTH_UNIT;
        let extra = if self.full { self.extra.get().min(most) } else { 0 };
        let target = self.with_room(self.content(self.rate(), self.cwnd_gain()) + extra);
        if self.full {
            self.cwnd = (self.cwnd + reply.acked).min(target);
        } else if self.cwnd < target || 1 + reply.delivered < INITIAL_WINDOW {
            // The SYN counts as delivered.
            self.cwnd += reply.acked;
        }
        self.cwnd = self.cwnd.max(LEAST_WINDOW);
    }
}

impl SinglePath for BbrLinux {
    const NAME: &'static str = <Bbr as SinglePath>::NAME;
    const FEEDBACK: Feedback = Feedback::Steering;

    fn on_ack(&mut self, view: &View, _ack: &Ack) -> Window {
        Window { cwnd: view.cwnd, ssthresh: view.ssthresh }
    }

    fn on_join(&mut self, view: &View, now: Instant) -> Option<f64> {
        self.begin(view, now);
        Some(self.pacing_rate as f64)
    }

    fn on_delivery(&mut self, view: &View, delivery: &Delivery<'_>) -> Option<Steering> {
        let reply = Reply::of(delivery, self.mss);
        self.lost_bytes = delivery.lost_in_all;
        if reply.acked > 0 {
            self.delivered_us = reply.now_us;
        }
        let round_start = self.update_bandwidth(&Event::of(delivery), &reply);
        self.update_aggregation(&reply, round_start);
        self.update_phase(&reply);
        self.update_full(&reply, round_start);
        self.update_drain(&reply);
        let limited = self.update_min_rtt(&reply, round_start);
        self.gain = self.pacing_gain();
        self.set_pace(self.gain);
        self.set_window(view.phase, &reply);
        let window = Window { cwnd: self.cwnd as f64, ssthresh: view.ssthresh };
        Some(Steering { window, pacing: Some(self.pacing_rate as f64), limited })
    }

    fn on_restart(&mut self, _view: &View, now: Instant) -> Option<f64> {
        self.idle_restart = true;
        (self.extra_since_us, self.extra_acked) = (now.as_micros(), 0);
        if self.state == State::Cruise {
            self.set_pace(UNIT);
        } else if self.state == State::ProbeRtt {
            self.end_probe_rtt(now.as_millis());
        }
        (self.pacing_rate > 0).then_some(self.pacing_rate as f64)
    }

    fn on_loss(&mut self, view: &View) -> f64 {
        self.save_cwnd();
        view.cwnd.max(2.0)
    }

    fn on_timeout(&mut self, view: &View) -> f64 {
        self.save_cwnd();
        self.full_bandwidth = 0;
        // What is under way is lost; the next report of losses has it.
        let lost = self.lost_bytes + u64::from(view.in_flight) * self.mss;
        if self.policer.timed_out(lost as f64, self.state == State::Cruise) {
            self.enter_cycle();
        }
        self.look_at_policer();
        (self.cwnd, self.recovery) = (self.cwnd.min(1), Phase::Loss);
        view.cwnd.max(2.0)
    }

    fn on_ecn(&mut self, view: &View, _abe: bool) -> f64 {
        view.cwnd.max(2.0) // version 1 knows no marks
    }

    fn on_undo(&mut self, _view: &View) {
        (self.full_bandwidth, self.full_count) = (0, 0);
        self.policer.reset(self.lost_bytes as f64);
        self.look_at_policer();
        self.cwnd = self.cwnd.max(self.prior_cwnd);
    }

    fn show(&self, _view: &View, _now: Instant, columns: &mut [f64]) {
        columns[0] = 8e6 * (self.bandwidth.get() * self.mss) as f64 / BANDWIDTH_UNIT as f64;
        columns[1] = self.min_rtt_us.unwrap_or(0) as f64 * 1e-6;
        columns[2] = match self.state {
            State::Cruise if CYCLE[self.phase] > UNIT => f64::from(State::Up as u8),
            State::Cruise if CYCLE[self.phase] < UNIT => f64::from(State::Down as u8),
            state => f64::from(state as u8),
        };
    }
}

#[cfg(test)]
#[path = "bbr_linux_tests.rs"]
mod tests;
