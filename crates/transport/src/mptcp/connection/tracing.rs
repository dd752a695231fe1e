//! A traced connection tells what it decides ([`Trace`]). Decisions are told where they are made, by [`Connection::tell`]; what
//! follows from them on a subflow (its state, window, losses and timers) is compared with what was told last, by
//! [`Connection::observe`], after each step that may have changed it. Without a trace both are one test.

use std::net::SocketAddr;

use wire::MptcpOption;

use super::Connection;
use crate::congestion::{Phase, View};
use crate::mptcp::state::tracing::{CONNECTION_TIMERS, SUBFLOW_TIMERS, Tracing};
use crate::mptcp::state::usual::Usual;
use crate::names::SubflowId;
use crate::offset::Offset;
use crate::queue::Sendable;
use crate::scheduler::{Decision, Demand, PacketScheduler, SubflowSet, usable};
use crate::tcp::subflow::{State, Subflow};
use crate::time::Instant;
use crate::trace::{
    self, AddressOption, Candidate, Decided, Direction, FallbackReason, LossRule, Pause, Reason, Recovery,
    ReinjectionReason, Sent, Timer, TimerChange, Trace, TraceEvent, Verdict, WindowReason,
};

pub(super) fn id(r: usize) -> SubflowId {
    SubflowId(r as u8)
}

pub(super) fn ids(mut set: SubflowSet) -> Vec<SubflowId> {
    std::iter::from_fn(|| set.pop()).map(id).collect()
}

/// None: infinite, as long as nothing was lost.
fn finite(ssthresh: f64) -> Option<f64> {
    ssthresh.is_finite().then_some(ssthresh)
}

fn timers<P: Sendable>(subflow: &Subflow<P>) -> [(Timer, Instant); SUBFLOW_TIMERS] {
    let first = match subflow.state() {
        State::TimeWait => Timer::TimeWait,
        State::SynSent | State::SynReceived => Timer::Handshake,
        _ if subflow.is_active_open() && subflow.join().is_some_and(|j| !j.confirmed) => Timer::Handshake,
        // With nothing outstanding it is that of the probe of the subflow's own window.
        State::Established if subflow.board().is_empty() => Timer::WindowProbe,
        _ => Timer::Retransmission,
    };
    let (reordering_at, probe_at) = subflow.rack_timers();
    [
        (first, subflow.timer()),
        (Timer::DelayedAck, subflow.acknowledging().deadline),
        (Timer::Reordering, reordering_at),
        (Timer::Probe, probe_at),
    ]
}

impl<P: Sendable> Connection<P> {
    /// From now on `trace` hears what the connection decides; it begins with the subflows that there are. The connection sends
    /// what it would send without.
    pub fn set_trace(&mut self, now: Instant, trace: Box<dyn Trace>) {
        self.usual = Usual::new(false, false);
        let mut tracing = Tracing::new(trace);
        tracing.data_una = self.tx.una();
        self.trace = Some(Box::new(tracing));
        if self.is_fallback() {
            let why = FallbackReason::NotCapable;
            self.tell(now, |_| TraceEvent::Fallback { subflow: SubflowId(0), why });
        }
        self.observe(now, None);
    }

    /// Tells what is decided now.
    #[inline]
    pub(super) fn tell(&mut self, now: Instant, event: impl FnOnce(&Self) -> TraceEvent) {
        if self.trace.is_some() {
            let event = event(self);
            if let Some(tracing) = &mut self.trace {
                tracing.to.event(now, &event);
            }
        }
    }

    /// Tells what has changed since the last call; of subflow `by` only, where there is one.
    #[inline]
    pub(super) fn observe(&mut self, now: Instant, by: Option<usize>) {
        if self.trace.is_some() {
            self.observe_changes(now, by);
        }
    }

    #[cold]
    fn observe_changes(&mut self, now: Instant, by: Option<usize>) {
        let Some(mut tracing) = self.trace.take() else { return };
        if self.tx.una() > tracing.data_una {
            tracing.data_una = self.tx.una();
            let (data_offset, window_bytes) = (self.tx.una().octets(), self.tx.right().beyond(self.tx.una()));
            tracing.to.event(now, &TraceEvent::DataAck { subflow: by.map(id), data_offset, window_bytes });
        }
        match by {
            Some(r) => self.observe_subflow(now, r, &mut tracing),
            None => (0..self.subflows.len()).for_each(|r| self.observe_subflow(now, r, &mut tracing)),
        }
        let own = self.own_timers();
        for ((timer, at), told_at) in CONNECTION_TIMERS.into_iter().zip(own).zip(&mut tracing.timers) {
            if let Some(event) = timer_changed(None, timer, at, told_at) {
                tracing.to.event(now, &event);
            }
        }
        self.trace = Some(tracing);
    }

    fn observe_subflow(&mut self, now: Instant, r: usize, tracing: &mut Tracing) {
        let state = self.state(id(r));
        let (subflow, view) = (&mut self.subflows[r], &self.views[r]);
        let (why, spurious) = subflow.take_notes();
        tracing.told(r);
        let Tracing { to, subflows, .. } = tracing;
        let told = &mut subflows[r];
        let mut tell = |event: TraceEvent| to.event(now, &event);
        let begins = told.state.is_empty();
        if told.state != state {
            told.state = state;
            let (local, remote) = trace::ends(subflow.tuple());
            tell(TraceEvent::StateChanged { subflow: id(r), state, local, remote });
        }
        let lost: Vec<(u64, u64, Offset)> = subflow.board().lost().map(|s| (s.seq, s.data_len(), s.offset)).collect();
        let timeouts = subflow.losses().map_or(0, |losses| losses.timeouts);
        let rule = if std::mem::replace(&mut told.timeouts, timeouts) < timeouts {
            LossRule::Timeout
        } else if subflow.uses_rack() {
            LossRule::RackTime
        } else {
            LossRule::DuplicateAcks
        };
        for &(seq, bytes, offset) in lost.iter().filter(|lost| !told.lost.contains(&lost.0)) {
            tell(TraceEvent::SegmentLost { subflow: id(r), seq, bytes, data_offset: offset.octets(), rule });
        }
        told.lost = lost.iter().map(|lost| lost.0).collect();
        if why == WindowReason::TailLossProbe {
            let (seq, bytes, offset) = told.probe;
            let rule = LossRule::TailLossProbe;
            tell(TraceEvent::SegmentLost { subflow: id(r), seq, bytes, data_offset: offset.octets(), rule });
        }
        if let Some(shown_by) = spurious {
            tell(TraceEvent::LossSpurious { subflow: id(r), shown_by });
        }
        let recovering = view.phase != Phase::Open;
        if recovering && (!told.recovering || rule == LossRule::Timeout) {
            let after = if view.phase == Phase::Loss { Recovery::Timeout } else { Recovery::Loss };
            let recovery_point = subflow.recovery_point();
            tell(TraceEvent::RecoveryEntered { subflow: id(r), after, recovery_point });
        } else if told.recovering && !recovering {
            tell(TraceEvent::RecoveryLeft { subflow: id(r) });
        }
        told.recovering = recovering;
        if (told.cwnd, told.ssthresh) != (view.cwnd, view.ssthresh) {
            (told.cwnd, told.ssthresh) = (view.cwnd, view.ssthresh);
            tell(TraceEvent::WindowChanged {
                subflow: id(r),
                cwnd_segments: view.cwnd,
                ssthresh_segments: finite(view.ssthresh),
                in_flight_segments: view.in_flight,
                mss_bytes: view.mss,
                srtt_ns: view.srtt.as_nanos(),
                min_rtt_ns: view.min_rtt.as_nanos(),
                why: if begins { WindowReason::Begin } else { why },
            });
        }
        let path = (view.active, view.potentially_failed, view.backup);
        if (told.active, told.suspected, told.backup) != path {
            let (active, suspected, backup) = path;
            (told.active, told.suspected, told.backup) = path;
            tell(TraceEvent::PathState { subflow: id(r), active, suspected, backup });
        }
        for ((timer, at), told_at) in timers(subflow).into_iter().zip(&mut told.timers) {
            if let Some(event) = timer_changed(Some(id(r)), timer, at, told_at) {
                tell(event);
            }
        }
    }

    /// Timers are about to be looked at whose time has come.
    #[cold]
    pub(super) fn tell_expired(&mut self, now: Instant) {
        let Some(mut tracing) = self.trace.take() else { return };
        let expired = |subflow, timer, at: Instant| TraceEvent::TimerUpdated {
            subflow,
            timer,
            change: TimerChange::Expired,
            at_ns: Some(at.as_nanos()),
        };
        for (r, subflow) in self.subflows.iter().enumerate() {
            tracing.told(r);
            let Tracing { to, subflows, .. } = &mut *tracing;
            for (i, (timer, at)) in timers(subflow).into_iter().enumerate() {
                // The probe takes the place of a timeout that is due too (RFC 8985 §7.2).
                if at <= Instant::from_nanos(now.as_nanos()) && !(i == 0 && subflow.rack_timers().1 <= now) {
                    subflows[r].timers[i] = Instant::NEVER;
                    to.event(now, &expired(Some(id(r)), timer, at));
                }
            }
        }
        let own = self.own_timers();
        for (i, (timer, at)) in CONNECTION_TIMERS.into_iter().zip(own).enumerate() {
            if at <= now {
                tracing.timers[i] = Instant::NEVER;
                tracing.to.event(now, &expired(None, timer, at));
            }
        }
        self.trace = Some(tracing);
    }

    /// The last segment written, new on subflow `r`, goes out with `bytes` of data from `offset` on.
    #[inline]
    pub(super) fn tell_sent(&mut self, now: Instant, r: usize, (offset, bytes, fin): (Offset, u64, bool), why: Sent) {
        if self.trace.is_some() {
            let seq = self.subflows[r].snd_nxt() - bytes - u64::from(fin);
            self.tell_segment(now, r, (seq, offset, bytes, fin), why);
        }
    }

    /// A segment goes out.
    #[cold]
    pub(super) fn tell_segment(
        &mut self,
        now: Instant,
        r: usize,
        (seq, offset, bytes, fin): (u64, Offset, u64, bool),
        why: Sent,
    ) {
        self.observe(now, Some(r));
        let repeated = matches!(why, Sent::Probe | Sent::Retransmission | Sent::Timeout);
        if let Some(tracing) = &mut self.trace {
            if why == Sent::Probe {
                tracing.told(r).probe = (seq, bytes, offset);
            }
            if why == Sent::Reinjection {
                let (mut from, reason) = (std::mem::take(&mut tracing.reinjects), tracing.reason_for(offset));
                let carries =
                    |s: &Subflow<P>| s.board().iter().any(|s| (s.offset..s.offset + s.len()).contains(&offset));
                let others = self.subflows.iter().enumerate().filter(|&(other, s)| other != r && carries(s));
                others.for_each(|(other, _)| from.insert(other));
                let from = ids(from);
                let data_offset = offset.octets();
                tracing.to.event(now, &TraceEvent::Reinjected { from, to: id(r), data_offset, bytes, why: reason });
            }
        }
        self.tell(now, |c| TraceEvent::SegmentSent {
            subflow: id(r),
            seq,
            bytes,
            fin,
            data_offset: offset.octets(),
            why,
            in_flight_segments: c.views[r].in_flight,
            cwnd_segments: c.views[r].cwnd,
        });
        if self.level.is_multipath() && bytes > 0 && !repeated {
            self.tell(now, |c| {
                let data_fin = c.ending.is_requested() && offset + bytes == c.tx.end();
                let dsn = c.numbers.ours(offset).on_wire();
                TraceEvent::Mapping { subflow: id(r), dsn, ssn: seq as u32, bytes, data_fin }
            });
        }
    }

    /// Data that subflow `from` carries is to be sent on others.
    #[inline]
    pub(super) fn tell_queued(
        &mut self,
        now: Instant,
        from: Option<usize>,
        (start, end): (Offset, Offset),
        why: ReinjectionReason,
    ) {
        if self.trace.is_some() && start < end {
            let una = self.tx.una();
            if let Some(tracing) = &mut self.trace {
                tracing.queue(una, start, end, why);
            }
            let (data_offset, bytes) = (start.octets(), end - start);
            self.tell(now, |_| TraceEvent::ReinjectionQueued { from: from.map(id), data_offset, bytes, why });
        }
    }

    /// An option goes out, or was taken; of those that are no matter of addresses nothing is told.
    #[inline]
    pub(super) fn tell_option(&mut self, now: Instant, r: usize, option: &MptcpOption, direction: Direction) {
        if self.trace.is_none() {
            return;
        }
        let mut told = |option, address_id, address, backup| {
            let event = TraceEvent::Address { subflow: id(r), option, direction, address_id, address, backup };
            self.tell(now, |_| event);
        };
        match option {
            MptcpOption::AddAddr(add) => {
                let kind = if add.echo { AddressOption::AddAddrEcho } else { AddressOption::AddAddr };
                let address =
                    add.port.map_or(add.address.to_string(), |port| SocketAddr::new(add.address, port).to_string());
                told(kind, Some(add.id), Some(address), None);
            }
            MptcpOption::RemoveAddr(ids) => {
                ids.iter().for_each(|&id| told(AddressOption::RemoveAddr, Some(id), None, None));
            }
            MptcpOption::MpPrio { backup } => told(AddressOption::MpPrio, None, None, Some(*backup)),
            _ => {}
        }
    }

    /// Nothing is sent for now.
    #[inline]
    pub(super) fn tell_pause(&mut self, now: Instant, why: Pause) {
        if let Some(tracing) = &mut self.trace
            && tracing.pause.replace(why) != Some(why)
        {
            self.tell(now, |_| TraceEvent::Paused { why });
        }
    }

    /// The scheduler has answered about data from `place` on, or a burst goes on.
    #[cold]
    pub(super) fn tell_decision(
        &mut self,
        now: Instant,
        (demand, place, available_bytes): (Demand, Offset, u64),
        decision: &Decision,
        burst: bool,
    ) {
        let (decided, chosen) = match *decision {
            Decision::Send { on, .. } => (Decided::Send, on),
            Decision::Bind { on, .. } => (Decided::Bind, on),
            Decision::Repeat { on, .. } => (Decided::Repeat, on),
            Decision::Pass => (Decided::Pass, SubflowSet::default()),
            Decision::Wait { .. } => (Decided::Wait, SubflowSet::default()),
            Decision::Blocked | Decision::Penalise { .. } => (Decided::Blocked, SubflowSet::default()),
        };
        let tried = match demand {
            Demand::Reinjection { tried } => Some(tried),
            Demand::New => None,
        };
        let candidates = self.candidates(chosen, tried.unwrap_or_default());
        let Some(tracing) = &mut self.trace else { return };
        if let Some(tried) = tried {
            tracing.reinjects = tried;
        }
        if matches!(decided, Decided::Pass | Decided::Wait | Decided::Blocked) {
            let refusal = (decided, candidates.iter().map(|c| c.verdict).collect::<Vec<_>>());
            if tracing.refusal.as_ref() == Some(&refusal) {
                return;
            }
            tracing.refusal = Some(refusal);
        }
        let could = |c: &&Candidate| {
            use Verdict::{Backup, Chosen, PassedOver, Slower};
            matches!(c.verdict, Chosen | Slower | Backup | PassedOver)
        };
        let shortest = |c: &Candidate| candidates.iter().filter(could).all(|other| other.srtt_ns >= c.srtt_ns);
        let reason = match candidates.iter().filter(could).count() {
            0 => Reason::NoneCould,
            _ if burst => Reason::Burst,
            1 if chosen.0 != 0 => Reason::OnlyOne,
            _ if candidates.iter().any(|c| c.verdict == Verdict::Chosen && shortest(c)) => Reason::ShortestRtt,
            _ => Reason::Rule,
        };
        self.tell(now, |c| TraceEvent::Scheduled {
            scheduler: c.scheduler.name(),
            data_offset: place.octets(),
            available_bytes,
            carried_by: tried.map(ids),
            decision: decided,
            chosen: ids(chosen),
            reason,
            candidates,
        });
    }

    /// The subflows that are open, as the scheduler saw them, with what stands against each.
    fn candidates(&self, chosen: SubflowSet, tried: SubflowSet) -> Vec<Candidate> {
        let quickest = ids(chosen).iter().filter_map(|r| self.views.get(usize::from(r.0))).map(|v| v.srtt).min();
        let preferred = self.views.iter().any(|v| usable(v) && !v.backup);
        let verdict = |r: usize, view: &View| match () {
            () if chosen.contains(r) => Verdict::Chosen,
            () if !view.active => Verdict::NotEstablished,
            () if view.potentially_failed => Verdict::Suspected,
            () if view.held && self.narrow.contains(r) => Verdict::PeerWindow,
            () if view.held => Verdict::Paced,
            () if !view.has_room() => Verdict::WindowFull,
            () if tried.contains(r) => Verdict::CarriedIt,
            () if view.backup && preferred => Verdict::Backup,
            () if quickest.is_some_and(|srtt| srtt < view.srtt) => Verdict::Slower,
            () => Verdict::PassedOver,
        };
        let open = self.views.iter().enumerate().filter(|&(r, _)| self.subflows[r].is_open());
        let candidate = |(r, view): (usize, &View)| Candidate {
            subflow: id(r),
            srtt_ns: view.srtt.as_nanos(),
            cwnd_segments: view.cwnd,
            in_flight_segments: view.in_flight,
            room_segments: view.free_segments(),
            queued_segments: view.queued,
            backup: view.backup,
            verdict: verdict(r, view),
        };
        open.map(candidate).collect()
    }
}

/// What is to be told of a timer; `told_at` is what was, and is brought up to date.
fn timer_changed(subflow: Option<SubflowId>, timer: Timer, at: Instant, told_at: &mut Instant) -> Option<TraceEvent> {
    let before_at = std::mem::replace(told_at, at);
    let (change, at) = match (before_at, at) {
        (Instant::NEVER, Instant::NEVER) => return None,
        (Instant::NEVER, at) => (TimerChange::Set, at),
        (before_at, Instant::NEVER) => (TimerChange::Cancelled, before_at),
        _ => return None,
    };
    Some(TraceEvent::TimerUpdated { subflow, timer, change, at_ns: Some(at.as_nanos()) })
}
