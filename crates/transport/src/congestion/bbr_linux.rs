//! BBR, version 1, as Linux has it.

use rand_core::{RngCore, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use super::bbr_model::{Event, MSECOND_NS, SECOND_NS, State, WindowMax};
use super::bbr_policer::Policer;
use super::{Ack, Bbr, Delivery, Feedback, Phase, SinglePath, Steering, View, Window};
use crate::algorithm::{Given, Make};
use crate::plugin::{Kind, Origin};

/// 2/ln 2, which doubles the rate each round trip.
const HIGH_GAIN: f64 = 2.885;
/// A phase takes a round trip: one to probe, one to drain what that queued, six to cruise.
const CYCLE: [f64; 8] = [1.25, 0.75, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0];
const MIN_RTT_WINDOW_NS: u64 = 10 * SECOND_NS;

/// N. Cardwell, Y. Cheng, C. S. Gunn, S. H. Yeganeh, V. Jacobson, "BBR: Congestion-Based Congestion Control", ACM Queue
/// 14(5), 2016; draft-cardwell-iccrg-bbr-congestion-control-00, with the compensation for aggregated acknowledgments that
/// Linux has since 5.1.
///
/// The bandwidth is the largest rate of ten round trips, the round trip the least of ten seconds. Startup and drain with gains
/// 2.885 and its inverse; then the cycle above, of which the phase at the start is drawn. When the least round trip is ten
/// seconds old, four segments for 200 ms. Losses change the window only in the first round trip of a recovery. While a
/// policer is believed to be there, its rate takes the place of the bandwidth.
#[derive(Clone, Debug)]
pub struct BbrLinux {
    seed: u64,
    mss: f64,
    /// Bytes.
    cwnd: f64,
    initial_cwnd: f64,
    prior_cwnd: f64,
    pacing_rate: f64,
    state: State,
    bw: WindowMax,
    extra: WindowMax,
    extra_since_ns: u64,
    extra_delivered: f64,
    round: u64,
    next_round_delivered: f64,
    min_rtt_ns: Option<u64>,
    min_rtt_stamp_ns: u64,
    probe_rtt_done_ns: Option<u64>,
    probe_rtt_round_done: bool,
    idle_restart: bool,
    full_bw: f64,
    full_bw_count: u32,
    full_bw_reached: bool,
    phase: usize,
    phase_began_ns: u64,
    recovery: Phase,
    /// In the first round trip of a recovery.
    conserves: bool,
    policer: Policer,
    /// Bytes found lost so far.
    lost: f64,
}

impl Make for BbrLinux {
    fn make(_: &Given, origin: &Origin) -> Self {
        BbrLinux::new(origin.seed(Kind::Congestion))
    }
}

impl BbrLinux {
    /// With a seed for the phase at the start of a cycle.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        BbrLinux {
            seed,
            mss: 1.0,
            cwnd: 0.0,
            initial_cwnd: 0.0,
            prior_cwnd: 0.0,
            pacing_rate: 0.0,
            state: State::Startup,
            bw: WindowMax::default(),
            extra: WindowMax::default(),
            extra_since_ns: 0,
            extra_delivered: 0.0,
            round: 0,
            next_round_delivered: 0.0,
            min_rtt_ns: None,
            min_rtt_stamp_ns: 0,
            probe_rtt_done_ns: None,
            probe_rtt_round_done: false,
            idle_restart: false,
            full_bw: 0.0,
            full_bw_count: 0,
            full_bw_reached: false,
            phase: 0,
            phase_began_ns: 0,
            recovery: Phase::Open,
            conserves: false,
            policer: Policer::default(),
            lost: 0.0,
        }
    }

    fn begin(&mut self, view: &View, now_ns: u64) {
        self.mss = f64::from(view.mss);
        self.initial_cwnd = view.cwnd * self.mss;
        self.cwnd = self.initial_cwnd;
        let srtt_ns = if view.srtt_ns == 0 { MSECOND_NS } else { view.srtt_ns };
        self.pacing_rate = HIGH_GAIN * self.initial_cwnd * 1e9 / srtt_ns as f64;
        (self.extra_since_ns, self.min_rtt_stamp_ns) = (now_ns, now_ns);
    }

    fn pacing_gain(&self) -> f64 {
        match self.state {
            State::Startup => HIGH_GAIN,
            State::Drain => 1.0 / HIGH_GAIN,
            State::ProbeRtt => 1.0,
            _ if self.policer.rate().is_some() => 1.0,
            _ => CYCLE[self.phase],
        }
    }

    /// At which it sends: the policer's rate, or the largest of ten round trips.
    fn rate(&self) -> f64 {
        self.policer.rate().unwrap_or(self.bw.get())
    }

    fn cwnd_gain(&self) -> f64 {
        match self.state {
            State::Startup | State::Drain => HIGH_GAIN,
            State::ProbeRtt => 1.0,
            _ => 2.0,
        }
    }

    /// Segments that Linux sends at once: a millisecond's, but two, or one at less than 1.2 Mbit/s.
    fn burst(&self) -> f64 {
        let least = if self.pacing_rate < 150e3 { 1.0 } else { 2.0 };
        ((self.pacing_rate / 1024.0).min(65_536.0) / self.mss).floor().max(least)
    }

    /// The path's content times a gain, with room for what waits in the hosts: three bursts, to an even number.
    fn inflight(&self, rate: f64, gain: f64) -> f64 {
        let Some(min_rtt_ns) = self.min_rtt_ns else { return self.initial_cwnd };
        let content = gain * rate * min_rtt_ns as f64 * 1e-9;
        let segments = (content / self.mss).ceil() + 3.0 * self.burst();
        let even = 2.0 * (segments / 2.0).ceil();
        let probing = self.state == State::Cruise && self.phase == 0;
        (even + if probing { 2.0 } else { 0.0 }) * self.mss
    }

    /// Bandwidth, rounds, aggregation, and whether the pipe is full; whether a round begins.
    fn update_model(&mut self, event: &Event, lost: bool) -> bool {
        let mut round_start = false;
        // A sample without a rate is none.
        if event.rate > 0.0 {
            if event.prior_delivered >= self.next_round_delivered {
                self.next_round_delivered = event.delivered;
                self.round += 1;
                round_start = true;
                self.conserves = false;
            }
            let cycles = self.state == State::Cruise;
            if self.policer.heard(event, lost, self.lost, round_start, cycles) {
                self.enter_cycle(event.now_ns);
            }
            if !event.app_limited || event.rate >= self.bw.get() {
                self.bw.push(self.round, event.rate, 10);
            }
        }
        let mut expected = self.rate() * event.now_ns.saturating_sub(self.extra_since_ns) as f64 * 1e-9;
        if self.extra_delivered <= expected {
            self.extra_delivered = 0.0;
            self.extra_since_ns = event.now_ns;
            expected = 0.0;
        }
        self.extra_delivered += event.acked;
        self.extra.push(self.round, (self.extra_delivered - expected).min(self.cwnd), 10);
        if !self.full_bw_reached && round_start && !event.app_limited {
            if self.bw.get() >= 1.25 * self.full_bw {
                (self.full_bw, self.full_bw_count) = (self.bw.get(), 0);
            } else {
                self.full_bw_count += 1;
                self.full_bw_reached = self.full_bw_count >= 3;
            }
        }
        round_start
    }

    /// Phases go by what was in flight before the acknowledgment.
    fn update_state(&mut self, event: &Event, lost: f64) {
        let before = event.in_flight + event.acked + lost;
        let content = self.inflight(self.bw.get(), 1.0);
        if self.state == State::Startup && self.full_bw_reached {
            self.state = State::Drain;
        }
        if self.state == State::Drain && event.in_flight <= content {
            self.enter_cycle(event.now_ns);
        }
        if self.state != State::Cruise {
            return;
        }
        let whole = event.now_ns.saturating_sub(self.phase_began_ns) > self.min_rtt_ns.unwrap_or(0);
        let over = match self.pacing_gain() {
            gain if gain > 1.0 => whole && (lost > 0.0 || before >= self.inflight(self.bw.get(), gain)),
            gain if gain < 1.0 => whole || before <= content,
            _ => whole,
        };
        if over {
            self.phase = (self.phase + 1) % CYCLE.len();
            self.phase_began_ns = event.now_ns;
        }
    }

    /// In any phase but the one that drains.
    fn enter_cycle(&mut self, now_ns: u64) {
        self.state = State::Cruise;
        let draw = Xoshiro256PlusPlus::seed_from_u64(self.seed ^ now_ns).next_u64() % (CYCLE.len() as u64 - 1);
        self.phase = if draw == 0 { 0 } else { draw as usize + 1 };
        self.phase_began_ns = now_ns;
    }

    /// The least round trip; whether it is being measured anew.
    fn update_min_rtt(&mut self, event: &Event, round_start: bool) -> bool {
        let expired = event.now_ns > self.min_rtt_stamp_ns + MIN_RTT_WINDOW_NS;
        if let Some(rtt_ns) = event.rtt_ns
            && (expired || self.min_rtt_ns.is_none_or(|old_ns| rtt_ns <= old_ns))
        {
            self.min_rtt_ns = Some(rtt_ns);
            self.min_rtt_stamp_ns = event.now_ns;
        }
        if expired && !self.idle_restart && self.state != State::ProbeRtt {
            self.state = State::ProbeRtt;
            self.save_cwnd();
            self.probe_rtt_done_ns = None;
        }
        let probing = self.state == State::ProbeRtt;
        if probing {
            match self.probe_rtt_done_ns {
                None if event.in_flight <= 4.0 * self.mss => {
                    self.probe_rtt_done_ns = Some(event.now_ns + 200 * MSECOND_NS);
                    self.probe_rtt_round_done = false;
                    self.next_round_delivered = event.delivered;
                }
                None => {}
                Some(done_ns) => {
                    self.probe_rtt_round_done |= round_start;
                    if self.probe_rtt_round_done && event.now_ns > done_ns {
                        self.end_probe_rtt(event.now_ns);
                    }
                }
            }
        }
        if event.delivers {
            self.idle_restart = false;
        }
        probing
    }

    fn end_probe_rtt(&mut self, now_ns: u64) {
        self.min_rtt_stamp_ns = now_ns;
        self.cwnd = self.cwnd.max(self.prior_cwnd);
        if self.full_bw_reached {
            self.enter_cycle(now_ns);
        } else {
            self.state = State::Startup;
        }
    }

    fn save_cwnd(&mut self) {
        let fresh = self.recovery == Phase::Open && self.state != State::ProbeRtt;
        self.prior_cwnd = if fresh { self.cwnd } else { self.prior_cwnd.max(self.cwnd) };
    }

    fn set_window(&mut self, view: &View, event: &Event, lost: f64) {
        if event.acked > 0.0 {
            self.adapt_window(view, event, lost);
        }
        if self.state == State::ProbeRtt {
            self.cwnd = self.cwnd.min(4.0 * self.mss);
        }
    }

    fn adapt_window(&mut self, view: &View, event: &Event, lost: f64) {
        self.cwnd = (self.cwnd - lost).max(self.mss);
        let before = std::mem::replace(&mut self.recovery, view.phase);
        if view.phase == Phase::Recovery && before != Phase::Recovery {
            self.conserves = true;
            self.next_round_delivered = event.delivered;
            self.cwnd = event.in_flight + event.acked.max(self.mss);
        } else if view.phase == Phase::Open && before != Phase::Open {
            self.conserves = false;
            self.cwnd = self.cwnd.max(self.prior_cwnd);
        }
        if self.conserves {
            self.cwnd = self.cwnd.max(event.in_flight + event.acked);
        } else {
            let extra = self.extra.get().min(0.1 * self.rate());
            let target = self.inflight(self.rate(), self.cwnd_gain()) + if self.full_bw_reached { extra } else { 0.0 };
            if self.full_bw_reached {
                self.cwnd = (self.cwnd + event.acked).min(target);
            } else if self.cwnd < target || event.delivered < self.initial_cwnd {
                self.cwnd += event.acked;
            }
            self.cwnd = self.cwnd.max(4.0 * self.mss);
        }
    }
}

impl SinglePath for BbrLinux {
    const NAME: &'static str = <Bbr as SinglePath>::NAME;
    const FEEDBACK: Feedback = Feedback::Steering;

    fn on_ack(&mut self, view: &View, _ack: &Ack) -> Window {
        Window { cwnd: view.cwnd, ssthresh: view.ssthresh }
    }

    fn on_delivery(&mut self, view: &View, delivery: &Delivery<'_>) -> Option<Steering> {
        if self.cwnd == 0.0 {
            self.begin(view, delivery.now_ns);
        }
        let event = Event::of(delivery);
        let lost: u64 = delivery.lost.iter().map(|packet| packet.bytes).sum();
        self.lost = delivery.lost_in_all as f64;
        let round_start = self.update_model(&event, lost > 0);
        self.update_state(&event, lost as f64);
        let limited = self.update_min_rtt(&event, round_start);
        let rate = self.pacing_gain() * self.rate() * 0.99;
        if self.full_bw_reached || rate > self.pacing_rate {
            self.pacing_rate = rate;
        }
        self.set_window(view, &event, lost as f64);
        let window = Window { cwnd: self.cwnd / self.mss, ssthresh: view.ssthresh };
        Some(Steering { window, pacing: Some(self.pacing_rate), limited })
    }

    fn on_restart(&mut self, _view: &View, now_ns: u64) -> Option<f64> {
        self.idle_restart = true;
        (self.extra_since_ns, self.extra_delivered) = (now_ns, 0.0);
        if self.state == State::ProbeRtt && self.probe_rtt_done_ns.is_some_and(|at_ns| now_ns > at_ns) {
            self.end_probe_rtt(now_ns);
        }
        if self.state == State::Cruise {
            self.pacing_rate = 0.99 * self.rate();
        }
        (self.pacing_rate > 0.0).then_some(self.pacing_rate)
    }

    fn on_loss(&mut self, view: &View) -> f64 {
        self.save_cwnd();
        view.cwnd.max(2.0)
    }

    fn on_timeout(&mut self, view: &View) -> f64 {
        self.save_cwnd();
        self.full_bw = 0.0;
        // What is under way is lost; the next report of losses has it.
        let lost = self.lost + f64::from(view.in_flight) * self.mss;
        if self.policer.timed_out(lost, self.state == State::Cruise) {
            self.enter_cycle(self.policer.heard_ns());
        }
        self.cwnd = self.cwnd.min(self.mss);
        view.cwnd.max(2.0)
    }

    fn on_ecn(&mut self, view: &View, _abe: bool) -> f64 {
        view.cwnd.max(2.0) // version 1 knows no marks
    }

    fn on_undo(&mut self, _view: &View) {
        (self.full_bw, self.full_bw_count) = (0.0, 0);
        self.policer.reset(self.lost);
        self.cwnd = self.cwnd.max(self.prior_cwnd);
    }

    fn show(&self, _view: &View, _now_ns: u64, columns: &mut [f64]) {
        columns[0] = 8.0 * self.bw.get();
        columns[1] = self.min_rtt_ns.unwrap_or(0) as f64 * 1e-9;
        columns[2] = match self.state {
            State::Cruise if CYCLE[self.phase] > 1.0 => f64::from(State::Up as u8),
            State::Cruise if CYCLE[self.phase] < 1.0 => f64::from(State::Down as u8),
            state => f64::from(state as u8),
        };
    }
}

#[cfg(test)]
#[path = "bbr_linux_tests.rs"]
mod tests;
