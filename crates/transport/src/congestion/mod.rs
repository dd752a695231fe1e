//! Congestion control: one controller a connection, one algorithm a file.
//!
//! A controller decides the windows of all subflows of its connection; plain TCP is a group of one. It sees its
//! subflows as read-only [`View`]s and answers with a new [`Window`] for one of them. Windows are in segments, and
//! may be fractions: the transport sends while fewer than ⌊cwnd⌋ segments are in flight.
//!
//! What all loss-based controls share, slow start, the reaction to loss, the floor of the windows, stands once in
//! [`Classic`]; Reno, LIA and their kin are [`Rule`]s for it. The Multipath TCP kernel's integer forms of them are
//! [`CountingRule`]s for [`Counting`], and a control of one path is lifted by [`PerSubflow`]. To add one: a file that
//! declares it, with its numbers in a test, its line in the table below, its page (docs/add-an-algorithm.md).

mod balia;
mod balia_linux;
mod bbr;
mod bbr_linux;
mod bbr_linux_max;
mod bbr_model;
mod bbr_policer;
mod classic;
pub mod contract;
mod correlation;
mod counting;
mod coupled;
mod cubic;
mod cubic_linux;
mod dctcp;
mod epsilon;
#[cfg(test)]
mod equilibrium_tests;
mod ewtcp;
mod groups;
mod hystart;
mod lia;
mod lia_linux;
mod little;
mod mppert;
mod olia;
mod olia_linux;
mod per_subflow;
mod pert;
mod reno;
mod reno_linux;
mod responding;
mod rfc8382;
mod round;
mod sharing;
mod wvegas;
mod wvegas_linux;

built_in! {
    /// A controller: the built-in ones without a virtual call, one from outside by its box.
    enum Controller, dyn CongestionControl:
    reno::Reno: Classic<Reno> | reno_linux::RenoLinux: PerSubflow<RenoLinux>,
    cubic::Cubic: PerSubflow<Cubic> | cubic_linux::CubicLinux: PerSubflow<CubicLinux>,
    ewtcp::Ewtcp: Classic<Ewtcp>,
    coupled::Coupled: Classic<Coupled>,
    lia::Lia: Classic<Lia> | lia_linux::LiaLinux: Box<Counting<LiaLinux>>,
    olia::Olia: Box<Classic<Olia>> | olia_linux::OliaLinux: Box<Counting<OliaLinux>>,
    balia::Balia: Classic<Balia> | balia_linux::BaliaLinux: Counting<BaliaLinux>,
    wvegas::Wvegas | wvegas_linux::WvegasLinux,
    pert::Pert: Box<Responding<Pert>>,
    mppert::Mppert: Box<Responding<Mppert>>,
    epsilon::Epsilon: Box<Classic<Epsilon>>,
    dctcp::Dctcp: PerSubflow<Dctcp>,
    bbr::Bbr: PerSubflow<Bbr> | bbr_linux::BbrLinux: PerSubflow<BbrLinux>,
}

pub(crate) use bbr_linux::LEAST_BURST_RATE;
pub use classic::{Classic, Rule};
pub use counting::{Counting, CountingRule};
pub use groups::Groups;
pub use per_subflow::{PerSubflow, SinglePath};
pub use responding::{Mode, Responding, Share};
pub use sharing::{Action, Method, Shared, Sharing};

use std::sync::LazyLock;

use crate::algorithm::{self, Column, Family, Given, Row, built_in};
use crate::time::{Duration, Instant};

/// The congestion controls.
#[derive(Debug)]
pub struct Controls;

impl Family for Controls {
    const NOUN: &'static str = "congestion control";
    type Built = Controller;
    type Outside = dyn CongestionControl;

    fn table() -> &'static [Row<Controller>] {
        static WITH_SHARING: LazyLock<Vec<Row<Controller>>> = LazyLock::new(|| sharing::offered(TABLE));
        &WITH_SHARING
    }

    fn outside(algorithm: Box<dyn CongestionControl>) -> Controller {
        Controller::Custom(algorithm)
    }

    fn finish(built: Controller, given: &Given) -> Controller {
        match Sharing::read(given) {
            Some(sharing) => Controller::Custom(Box::new(Shared::new(built, &sharing))),
            None => built,
        }
    }

    fn columns(given: &Given) -> &'static [Column] {
        if Sharing::read(given).is_some() { &sharing::COLUMNS } else { &[] }
    }
}

/// Which congestion control a connection gets.
pub type Choice = algorithm::Choice<Controls>;

/// What a controller, a scheduler and the transport know of a subflow. `group[r]` is the subflow with id r; one that
/// is not [`active`](View::active) takes no part in sums.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct View {
    /// Congestion window in segments.
    pub cwnd: f64,
    /// Slow start threshold in segments; infinite until the first loss, unless [`crate::TcpOptions`] gives one.
    pub ssthresh: f64,
    /// Smoothed round-trip time (RFC 6298); 0 before the first sample.
    pub srtt: Duration,
    /// Its mean deviation (RFC 6298).
    pub rttvar: Duration,
    /// Smallest round-trip time seen; 0 before the first sample.
    pub min_rtt: Duration,
    /// Segments believed to be in the network (the "pipe" of RFC 6675).
    pub in_flight: u32,
    /// Segments bound to this subflow and not sent yet.
    pub queued: u32,
    /// Bytes of data a segment carries.
    pub mss: u32,
    /// Loss recovery.
    pub phase: Phase,
    /// Bytes acknowledged since the last loss event.
    pub bytes_since_loss: u64,
    /// Bytes acknowledged between the last two loss events.
    pub bytes_between_losses: u64,
    /// Established, with an RTT sample, not closed.
    pub active: bool,
    /// To be used only when no other subflow works (RFC 8684 §3.3.8).
    pub backup: bool,
    /// A retransmission timeout occurred and nothing was acknowledged since.
    pub potentially_failed: bool,
    /// Pacing, or the peer's window of this subflow, holds it back for the moment.
    pub held: bool,
}

impl View {
    /// A subflow that is not established yet.
    #[must_use]
    pub fn new(initial_window: f64, mss: u32) -> Self {
        View {
            cwnd: initial_window,
            ssthresh: f64::INFINITY,
            srtt: Duration::ZERO,
            rttvar: Duration::ZERO,
            min_rtt: Duration::ZERO,
            in_flight: 0,
            queued: 0,
            mss,
            phase: Phase::Open,
            bytes_since_loss: 0,
            bytes_between_losses: 0,
            active: false,
            backup: false,
            potentially_failed: false,
            held: false,
        }
    }

    /// Whether the window is below the slow start threshold.
    pub fn in_slow_start(&self) -> bool {
        self.cwnd < self.ssthresh
    }

    /// Smoothed RTT in seconds.
    pub fn srtt_s(&self) -> f64 {
        self.srtt.as_secs_f64()
    }

    /// How many segments more the congestion window allows, whatever pacing says.
    pub fn free_segments(&self) -> u32 {
        (self.cwnd as u32).saturating_sub(self.in_flight)
    }

    /// Whether another segment fits in the congestion window, and neither pacing nor the peer's window of this subflow holds it
    /// back.
    pub fn has_room(&self) -> bool {
        f64::from(self.in_flight) + 1.0 <= self.cwnd && !self.held
    }
}

/// Loss recovery of a subflow.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Phase {
    /// No loss is being repaired.
    #[default]
    Open,
    /// Fast recovery (RFC 6675, RFC 6582).
    Recovery,
    /// After a retransmission timeout, until all that was in flight then is acknowledged.
    Loss,
}

/// A window as a controller sets it.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Window {
    /// Congestion window in segments.
    pub cwnd: f64,
    /// Slow start threshold in segments.
    pub ssthresh: f64,
}

/// An acknowledgment of new data, outside of fast recovery.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Ack {
    /// When it arrived.
    pub now: Instant,
    /// What it acknowledged for the first time, cumulatively or selectively, in segments; 1 where acknowledgments are
    /// counted ([`Growth::Acks`](crate::Growth::Acks)).
    pub acked_segments: f64,
    /// The RTT sample it gave.
    pub rtt: Option<Duration>,
    /// Whether the window, not the application or the receiver, limited what was sent (RFC 7661): a window that was
    /// not used must not grow.
    pub cwnd_limited: bool,
}

impl Ack {
    /// Slow start (RFC 5681 §3.1, with RFC 3465's byte counting). Answers the window and what is left for congestion avoidance, in
    /// segments: what goes beyond ssthresh.
    #[inline(always)]
    pub(crate) fn slow_start(&self, cwnd: f64, ssthresh: f64) -> (f64, f64) {
        if cwnd < ssthresh {
            let slow = self.acked_segments.min(ssthresh - cwnd);
            (cwnd + slow, self.acked_segments - slow)
        } else {
            (cwnd, self.acked_segments)
        }
    }
}

/// A sample of the round-trip time.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Sample {
    /// Age of the youngest segment that was acknowledged and sent only once: free of the receiver's delay.
    pub rtt: Duration,
    /// When the acknowledgment arrived.
    pub now: Instant,
    /// Whether it arrived during fast recovery, where [`CongestionControl::on_ack`] is not called.
    pub recovering: bool,
    /// Segments with data sent so far, those sent again counted.
    pub segments_sent: u64,
    /// Of those, sent again.
    pub segments_sent_again: u64,
}

/// What a control wants to hear of deliveries.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Feedback {
    /// Nothing beyond [`CongestionControl::on_ack`].
    #[default]
    Acks,
    /// [`CongestionControl::on_delivery`] too.
    Deliveries,
    /// Replaces `on_ack`: what it returns is the window in every phase, including recovery, and the pacing rate.
    Steering,
}

/// What an acknowledgment brought, in any phase. Amounts are bytes of data.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Delivery<'a> {
    /// When it arrived.
    pub now: Instant,
    /// Delivered by it, cumulatively or selectively.
    pub acked: u64,
    /// Delivered so far.
    pub delivered: u64,
    /// Segments delivered by it, whatever they hold.
    pub acked_segments: u32,
    /// And so far.
    pub delivered_segments: u64,
    /// Whether it echoes congestion marks, as RFC 8257 has it.
    pub marked: bool,
    /// The RTT sample it gave.
    pub rtt: Option<Duration>,
    /// In flight after it.
    pub in_flight: u64,
    /// What was found lost since the last one.
    pub lost: &'a [LostPacket],
    /// Bytes found lost so far; what is lost twice counts twice.
    pub lost_in_all: u64,
    /// What is in flight says less than the path can do.
    pub app_limited: bool,
    /// The window was full before it.
    pub cwnd_limited: bool,
    /// When pacing lets go what is sent next.
    pub departs_at: Instant,
    /// How fast the newest segment that it acknowledges was delivered.
    pub sample: Option<RateSample>,
}

/// How fast was delivered what was under way between the sending of a segment and its acknowledgment, in bytes.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct RateSample {
    /// Delivered in that time.
    pub bytes: u64,
    /// Bytes per second; None where the time is shorter than any round trip, and so says nothing.
    pub rate: Option<f64>,
    /// The application limited it.
    pub app_limited: bool,
    /// Delivered when the segment was sent.
    pub prior_delivered: u64,
    /// The same in segments, whatever these hold.
    pub prior_segments: u64,
    /// In flight when it was sent, with it.
    pub in_flight: u64,
    /// Found lost since then.
    pub lost: u64,
}

/// A segment that was found lost; in bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LostPacket {
    /// Its size.
    pub bytes: u64,
    /// In flight when it was sent, with it.
    pub in_flight: u64,
    /// Found lost since then, with it.
    pub lost: u64,
    /// What was in flight then said less than the path can do.
    pub app_limited: bool,
    /// The segment before it was not lost.
    pub begins_range: bool,
}

/// What a control that hears of deliveries sets.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Steering {
    /// The window.
    pub window: Window,
    /// Pacing rate in bytes per second; None: as it is.
    pub pacing: Option<f64>,
    /// Samples of what is in flight now say less than the path can do, for the control holds back.
    pub limited: bool,
}

/// A congestion control for all subflows of a connection.
pub trait CongestionControl: std::fmt::Debug + Send {
    /// Its name as in `mptcplab list congestion`.
    fn name(&self) -> &'static str;

    /// New data of `group[r]` was acknowledged, outside of fast recovery: its new window.
    fn on_ack(&mut self, group: &[View], r: usize, ack: &Ack) -> Window;

    /// Whether [`on_sample`](Self::on_sample) is to be called: asked once for each subflow, so that the others pay nothing.
    fn wants_samples(&self) -> bool {
        false
    }

    /// A sample of the round-trip time of `group[r]`, also during fast recovery; before [`on_ack`](Self::on_ack) of the
    /// same acknowledgment.
    fn on_sample(&mut self, _group: &[View], _r: usize, _sample: &Sample) {}

    /// What it wants to hear of deliveries: asked once for each subflow, so that the others pay nothing.
    fn feedback(&self) -> Feedback {
        Feedback::Acks
    }

    /// What an acknowledgment on `group[r]` brought, after everything else is done about it.
    fn on_delivery(&mut self, _group: &[View], _r: usize, _delivery: &Delivery<'_>) -> Option<Steering> {
        None
    }

    /// After a pause for lack of data the first segment of `group[r]` goes out: a new pacing rate, in bytes per second.
    fn on_restart(&mut self, _group: &[View], _r: usize, _now: Instant) -> Option<f64> {
        None
    }

    /// Loss on `group[r]` was found by its duplicate acknowledgments: the new ssthresh, to which the window will
    /// come during recovery. Called once for each recovery.
    fn on_loss(&mut self, group: &[View], r: usize, now: Instant) -> f64;

    /// The retransmission timer of `group[r]` expired: the new ssthresh (the window becomes one segment).
    fn on_timeout(&mut self, group: &[View], r: usize, now: Instant) -> f64;

    /// The peer echoed a congestion mark seen on `group[r]`: the new ssthresh, to which the window comes at once. Called
    /// at most once for each window of data (RFC 3168 §6.1.2). With `abe` the reduction is the smaller one of
    /// RFC 8511, if the control has one.
    fn on_ecn(&mut self, group: &[View], r: usize, now: Instant, _abe: bool) -> f64 {
        self.on_loss(group, r, now)
    }

    /// The last loss of `group[r]` was none: its window, already restored, is that of before (RFC 4015). A control
    /// that keeps more state than the window restores it here.
    fn on_undo(&mut self, _group: &[View], _r: usize, _now: Instant) {}

    /// Its own numbers of `group[r]` at a sample of the run, in the order of the columns it has declared
    /// ([`crate::algorithm::About::columns`]). What it leaves is NaN: none yet.
    fn show(&self, _group: &[View], _r: usize, _now: Instant, _columns: &mut [f64]) {}

    /// `group[r]` became active: the pacing rate to begin with, in bytes per second, of a control that sets rates.
    fn on_join(&mut self, _group: &[View], _r: usize, _now: Instant) -> Option<f64> {
        None
    }

    /// `group[r]` is no longer active.
    fn on_leave(&mut self, _group: &[View], _r: usize, _now: Instant) {}
}

/// The trait's methods once more, so that the transport calls them without a dispatch through it.
macro_rules! forward {
    ($(fn $method:ident($($arg:ident: $type:ty),*) $(-> $answer:ty)?;)*) => {
        impl Controller {
            $(
                #[doc = concat!("As [`CongestionControl::", stringify!($method), "`].")]
                pub fn $method(&mut self, group: &[View], r: usize, $($arg: $type),*) $(-> $answer)? {
                    each!(self, c => c.$method(group, r, $($arg),*))
                }
            )*
        }

        impl CongestionControl for Controller {
            fn name(&self) -> &'static str {
                each!(self, c => c.name())
            }

            fn wants_samples(&self) -> bool {
                each!(self, c => c.wants_samples())
            }

            fn feedback(&self) -> Feedback {
                each!(self, c => c.feedback())
            }

            fn show(&self, group: &[View], r: usize, now: Instant, columns: &mut [f64]) {
                each!(self, c => c.show(group, r, now, columns));
            }

            $(
                fn $method(&mut self, group: &[View], r: usize, $($arg: $type),*) $(-> $answer)? {
                    each!(self, c => c.$method(group, r, $($arg),*))
                }
            )*
        }
    };
}

forward! {
    fn on_ack(ack: &Ack) -> Window;
    fn on_sample(sample: &Sample);
    fn on_delivery(delivery: &Delivery<'_>) -> Option<Steering>;
    fn on_restart(now: Instant) -> Option<f64>;
    fn on_loss(now: Instant) -> f64;
    fn on_timeout(now: Instant) -> f64;
    fn on_ecn(now: Instant, abe: bool) -> f64;
    fn on_undo(now: Instant);
    fn on_join(now: Instant) -> Option<f64>;
    fn on_leave(now: Instant);
}
