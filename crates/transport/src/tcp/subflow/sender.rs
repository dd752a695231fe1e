//! What an acknowledgment or a timer does to a sender: loss detection, recovery, undo, window.

use wire::Timestamps;

use super::Subflow;
use crate::congestion::{Delivery, Phase, Sample, View, Window};
use crate::numbers::SeqNumber;
use crate::queue::Sendable;
use crate::tcp::arrival::Arrival;
use crate::tcp::control::Control;
use crate::tcp::recovery::{Frto, Recovery};
use crate::tcp::scoreboard::{Copies, Delivered};
use crate::time::{Duration, Instant};
use crate::trace::{Spurious, WindowReason};

/// RFC 6675 §2: DupThresh.
const DUP_THRESH: u32 = 3;

impl<P: Sendable> Subflow<P> {
    /// Whether losses are found by time (RFC 8985).
    pub fn uses_rack(&self) -> bool {
        self.sack && self.detection.is_by_time()
    }

    /// Segments believed to be in the network. Without SACK each duplicate ACK stands for one that left it.
    pub fn pipe(&self) -> u32 {
        let gone = if self.sack { 0 } else { self.detection.duplicates() };
        self.board.pipe().saturating_sub(gone)
    }

    /// An acknowledgment with this window field came while nothing was outstanding. With SACK it says nothing.
    pub fn note_idle_window(&mut self, window: u16) {
        self.detection.hear_window(window);
    }

    /// The acknowledgment of a segment: scoreboard, RTT, recovery and window.
    #[inline(always)]
    pub fn acknowledged(&mut self, now: Instant, arrival: Arrival<'_>, mut control: Control<'_>) {
        if arrival.sack.is_empty() && self.acknowledges_next(arrival.ack) {
            debug_assert!(self.is_clean(control.view()));
            self.acknowledged_in_order(now, arrival.ack, &mut control);
        } else {
            // Copies of their own: what is never in memory costs the other case nothing.
            let kept = arrival;
            self.acknowledged_otherwise(now, &kept, &mut control.copy());
        }
    }

    /// As [`acknowledged`](Self::acknowledged), not in place.
    #[inline(never)]
    pub fn acknowledged_apart(&mut self, now: Instant, arrival: Arrival<'_>, control: Control<'_>) {
        self.acknowledged(now, arrival, control);
    }

    /// Whether an acknowledgment up to `ack` is of a whole segment at least, and the sender clean.
    #[inline(always)]
    pub fn acknowledges_next(&self, ack: u64) -> bool {
        self.detection.is_clean() && self.board.covers_first(ack)
    }

    /// As [`is_clean`](Self::is_clean), as far as it is remembered.
    #[inline(always)]
    pub fn is_known_clean(&self) -> bool {
        self.detection.is_clean()
    }

    /// Whether nothing that was sent is lost, selectively acknowledged, in the network again or probed for, nothing of it goes
    /// out at a rate, and acknowledgments are told apart by SACK.
    pub fn is_clean(&self, view: &View) -> bool {
        view.phase == Phase::Open
            && self.detection.shortcuts()
            && self.sack
            && self.board.is_unmarked()
            && self.detection.is_by_time()
            && self.rack.probe.is_none()
            && self.rack.timer.is_never()
            && self.rtt.backoff == 0
            && !self.probe_due
            && self.pacing.is_none()
            && self.rate.is_none()
    }

    /// [`acknowledged`](Self::acknowledged), whatever there is to look after.
    #[inline(never)]
    fn acknowledged_otherwise(&mut self, now: Instant, arrival: &Arrival<'_>, control: &mut Control<'_>) {
        let ack = arrival.ack;
        if let Some(pacing) = &mut self.pacing {
            control.view_mut().held |= pacing.acknowledged(now);
        }
        let (una_before, pipe_before, phase_before) = (self.snd_una, control.view().in_flight, control.view().phase);
        let room = self.rate.is_some().then(|| {
            let (view, waits) = (control.view(), self.groups.as_ref().is_some_and(|groups| groups.waits()));
            (view.has_room() && !waits, view.free_segments() == 0)
        });
        let copies = self.copies(arrival.timestamps, control.view().min_rtt);
        let as_linux = self.detection.is_as_linux();
        let in_order_at = if as_linux { self.board.last_up_to(ack, now, copies) } else { None };
        let mut delivered = self.board.nothing_delivered(copies);
        if ack > self.snd_una {
            self.board.acknowledge(ack, now, &mut delivered);
            self.snd_una = ack;
            self.retries = 0;
            control.view_mut().potentially_failed = false;
        }
        let window_moved = !self.sack && self.detection.hear_window(arrival.window);
        let in_order = delivered.segments;
        // End of what arrived twice, where that is reported.
        let mut duplicate_end = None;
        if self.sack {
            if let Some(&first) = arrival.sack.as_slice().first() {
                let (una, iss) = (self.snd_una, self.our_number(0));
                let expand = |edge: u32| SeqNumber::acknowledged(edge).place(iss, una);
                // RFC 2883 §4: a first block below the acknowledgment reports a duplicate.
                let (left, right) = (expand(first.left), expand(first.right));
                duplicate_end = (right <= una && left < right).then_some(right);
                // What arrived out of order is not what the timestamp is of: it echoes the last segment in order.
                delivered.copies.echo_ms = None;
                self.board.selectively_acknowledge(arrival.sack.as_slice(), expand, now, &mut delivered);
                if let Some(groups) = &mut self.groups {
                    let blocks = arrival.sack.as_slice().iter().map(|block| (expand(block.left), expand(block.right)));
                    groups.tell(una, blocks.filter(|&(_, right)| right <= self.snd_nxt), control.view().mss.into());
                }
            }
        } else if delivered.advanced {
            let known = self.detection.take_duplicates(delivered.segments.saturating_sub(1));
            delivered.announced = delivered.segments - known;
            // Only a recovery accounts for duplicates that are left; those before an acknowledgment that advances are none of
            // the three in a row that tell of a loss (RFC 5681 §3.2).
            if phase_before != Phase::Recovery {
                self.detection.forget_duplicates();
            }
        } else if arrival.empty
            && !arrival.signals // RFC 8684 §3.4: MPTCP's signals are no duplicate acknowledgments
            && !window_moved // RFC 5681 §2, a duplicate acknowledgment, (e)
            && !self.board.is_empty()
            && ack == self.snd_una
            // After a timeout they tell of segments that were sent again in vain: nothing is estimated from them.
            && phase_before != Phase::Loss
        {
            self.detection.note_duplicate();
            delivered.announced = 1;
        }
        if self.sack {
            // For Linux what came in vain was delivered, too (`tcp_dsack_seen`).
            delivered.announced = delivered.segments + u32::from(as_linux && duplicate_end.is_some());
        }
        let beyond = delivered.segments > in_order;
        if let Some(rtt) = self.rtt_by_timestamp(now, arrival, &delivered, beyond).or(delivered.once.rtt(now)) {
            self.rtt.backoff = 0;
            self.take_rtt(now, rtt, control.view_mut());
        } else if let (true, false, Some(sent_at)) =
            (delivered.advanced || self.rtt.backoff > 0, delivered.says_again, delivered.answered_copy_at)
        {
            // Karn's rule knows no timestamps: where they tell that the last copy was answered, that is a sample, as in Linux
            // (RFC 7323 §4.1). Without, a sender that repairs a window of losses would not see the queue grow, nor, backed
            // off, ever measure a round trip longer than its timeout (RFC 6298 §5, last paragraph). An earlier copy tells
            // nothing: its answer may have been lost.
            self.rtt.backoff = 0;
            self.take_rtt(now, now - sent_at, control.view_mut());
        }
        if self.rtt.told {
            self.tell(now, delivered.once.last_rtt(now), control.copy());
        }
        // As Linux does it, what arrives beyond a hole puts the timeout off when it was sent before the hole was repaired: in
        // a long queue the repair is still behind it (RFC 6298 §5.3 knows no selective acknowledgments).
        if delivered.advanced || self.board.first_sent_at().is_some_and(|sent_at| delivered.once.oldest_at < sent_at) {
            if self.detection.is_impatient() { self.restart_once(now, phase_before) } else { self.restart_timer(now) }
        }
        control.view_mut().bytes_since_loss += delivered.bytes;
        let duplicate_reported = duplicate_end.is_some();
        // Linux does not wait longer before it has seen the network reorder.
        if duplicate_reported && (!as_linux || self.rack.has_seen_reordering()) {
            self.rack.duplicate_reported(self.snd_una, self.snd_nxt);
        }
        if let Some(spurious) = self.is_spurious(arrival, &delivered, duplicate_end, control.view().phase) {
            self.notes.spurious = Some(spurious);
            self.undo(now, control);
            // It was the original that arrived: what was taken for a delivery of the retransmission (RFC 8985 §6.2 step 2 has no
            // sign but the smallest RTT) would tell of new losses at once. In Linux it does.
            if spurious == Spurious::FRto && !as_linux {
                (delivered.latest, self.rack.latest) = Default::default();
            }
        }
        if as_linux {
            // The kernel's programs know what was acknowledged in order (`bytes_acked`).
            let view = control.view_mut();
            view.bytes_since_loss = view.bytes_since_loss + (self.snd_una - una_before) - delivered.bytes;
            self.rack.delivered_as_linux(&delivered, in_order_at, now);
        }
        self.recover(now, &delivered, control);
        let duplicate = !delivered.advanced && arrival.empty && arrival.sack.is_empty();
        self.settle_probe(now, ack, duplicate_reported, duplicate, control);
        control.view_mut().in_flight = self.pipe();
        // The ACK that ends a recovery sets the window to ssthresh (RFC 6582 §3.2 step 3) and no more: without SACK it
        // acknowledges at once what all the duplicate ACKs have announced.
        // In Linux it counts as any other (`tcp_may_raise_cwnd`).
        let ends = phase_before == Phase::Recovery && !self.detection.is_as_linux();
        let recovering = ends || control.view().phase == Phase::Recovery;
        // So does a duplicate acknowledgment leave the window alone, whatever it acknowledges selectively (§3.2 step 1);
        // the cumulative one that follows where nothing was lost counts in full (§3.1). In slow start after a timeout
        // what had arrived before it says nothing of the path now.
        if !recovering && delivered.advanced && !self.growth.is_steered() {
            let bytes = if phase_before == Phase::Open { delivered.cumulative_bytes } else { delivered.bytes };
            let segments = if self.sack { delivered.announced } else { delivered.segments };
            let brought = (bytes, segments, delivered.once.last_rtt(now));
            self.grow(now, (una_before, pipe_before), brought, control);
        }
        if let Some((has_room, full)) = room {
            let marked = arrival.marked && self.ecn.scalable;
            self.report(now, &delivered, (pipe_before, has_room, full, marked), control);
        }
        if delivered.advanced {
            self.arm_probe(now, control.view());
        }
        let clean = self.is_clean(control.view());
        self.detection.set_clean(clean);
        if self.groups.is_some() {
            self.keep_group_rate(control.view(), clean);
        }
    }

    /// An acknowledgment that advanced restarts the timer, but of those that repair a part of a recovery only the first one (RFC
    /// 6582 §3.2 step 3).
    #[cold]
    fn restart_once(&mut self, now: Instant, phase_before: Phase) {
        let partial = !self.sack && phase_before == Phase::Recovery && self.snd_una < self.recovery_point();
        let waits = self.losses.as_ref().is_some_and(|losses| losses.recovery.waits);
        if !(partial && waits) {
            self.restart_timer(now);
        }
        if let Some(losses) = &mut self.losses {
            losses.recovery.waits |= partial;
        }
    }

    /// Tells the control what was delivered, and does as it says. `before` the acknowledgment: what was in flight, and
    /// whether there was room for more, which means that there was nothing to send, and whether the window was full; and
    /// whether it echoes a mark.
    fn report(
        &mut self,
        now: Instant,
        delivered: &Delivered,
        (pipe_before, had_room, full, marked): (u32, bool, bool, bool),
        control: &mut Control<'_>,
    ) {
        let Some(rate) = &mut self.rate else { return };
        let mss = u64::from(control.view().mss);
        if had_room {
            rate.paused(u64::from(pipe_before) * mss);
        }
        rate.find_lost(&self.board);
        let sample = rate.acknowledged(now, delivered, self.snd_una, control.view().min_rtt);
        let lost = rate.take_lost();
        let delivery = Delivery {
            now,
            acked: delivered.bytes,
            delivered: rate.delivered,
            acked_segments: if delivered.bytes > 0 { delivered.segments } else { 0 },
            delivered_segments: rate.delivered_segments,
            marked,
            rtt: delivered.once.last_rtt(now),
            in_flight: u64::from(control.view().in_flight) * mss,
            lost: &lost,
            lost_in_all: rate.lost,
            app_limited: rate.is_limited(),
            cwnd_limited: full,
            departs_at: self.pacing.as_ref().map_or(now, |pacing| pacing.departs_at(now)),
            sample,
        };
        if let Some(steering) = control.on_delivery(&delivery) {
            self.set_window(now, steering.window, control.view_mut());
            if steering.limited
                && let Some(rate) = &mut self.rate
            {
                rate.limited(u64::from(control.view().in_flight) * mss);
            }
            if let Some(to) = steering.pacing {
                self.pace_at(to, control.view().mss);
            }
        }
    }

    /// [`acknowledged`](Self::acknowledged) of a clean sender: the other steps find nothing.
    #[inline(always)]
    fn acknowledged_in_order(&mut self, now: Instant, ack: u64, control: &mut Control<'_>) {
        let view = control.view_mut();
        let before = (self.snd_una, view.in_flight);
        let delivered = self.board.acknowledge_in_order(ack);
        self.snd_una = ack;
        self.retries = 0;
        view.potentially_failed = false;
        if let Some(rtt) = delivered.once.rtt(now) {
            self.take_rtt(now, rtt, view);
        }
        self.restart_timer(now);
        view.bytes_since_loss += delivered.bytes;
        self.rack.delivered(&delivered, now);
        self.rack.timer = Instant::NEVER;
        view.in_flight = self.board.outstanding();
        if self.rtt.told {
            self.tell(now, delivered.once.last_rtt(now), control.copy());
        }
        let brought = (delivered.bytes, delivered.segments, delivered.once.last_rtt(now));
        self.grow(now, before, brought, control);
        if self.rtt.ticks {
            self.arm_probe(now, control.view());
        } else if self.board.is_empty() {
            self.rack.probe_at = Instant::NEVER;
        } else {
            self.rack.arm_probe(now, control.view().srtt, self.board.outstanding(), self.timer);
        }
    }

    /// The control hears of a sample, if there is one.
    #[cold]
    fn tell(&self, now: Instant, rtt: Option<Duration>, mut control: Control<'_>) {
        if let Some(rtt) = rtt {
            let sample = Sample {
                rtt: rtt.max(Duration::NANOSECOND),
                now,
                recovering: control.view().phase == Phase::Recovery,
                segments_sent: self.sent.data_segments,
                segments_sent_again: self.sent.retransmissions,
            };
            control.on_sample(&sample);
        }
    }

    /// The peer reports a mark (RFC 3168 §6.1.2): a reaction as to a loss, without retransmission, and none while a
    /// loss is being repaired.
    pub fn marked(&mut self, now: Instant, control: &mut Control<'_>, abe: bool) {
        if control.view().phase != Phase::Open {
            return;
        }
        let ssthresh = self.whole(control.on_ecn(now, abe));
        let view = control.view_mut();
        view.bytes_between_losses = std::mem::take(&mut view.bytes_since_loss);
        self.losses.get_or_insert_default().marks += 1;
        self.notes.window(WindowReason::Ecn);
        self.set_window(now, Window { cwnd: ssthresh.min(view.cwnd), ssthresh }, view);
    }

    /// Phase by phase: is the recovery over, is something lost, what may be sent.
    fn recover(&mut self, now: Instant, delivered: &Delivered, control: &mut Control<'_>) {
        let over = self.snd_una >= self.recovery_point();
        match control.view().phase {
            Phase::Open => {}
            // RFC 6675 §5.1 and RFC 5681 §3.2 step 6: the window deflates to ssthresh.
            Phase::Recovery if over => {
                self.end_recovery(control.view_mut());
                let ssthresh = control.view().ssthresh;
                let again = self.sent.retransmissions;
                let safe = self.growth.validation.repaired(ssthresh, again);
                let cwnd = safe.map_or(ssthresh, |safe| safe.min(ssthresh));
                self.notes.window(WindowReason::Recovered);
                self.set_window(now, Window { cwnd, ssthresh }, control.view_mut());
            }
            Phase::Loss if over => self.end_recovery(control.view_mut()),
            Phase::Recovery if !self.sack && delivered.advanced => {
                self.board.mark_first_lost(); // RFC 6582 §3.2 step 3, partial acknowledgment
            }
            Phase::Recovery | Phase::Loss => {}
        }
        if self.uses_rack() {
            self.rack.delivered(delivered, now);
        }
        self.detect(now, delivered, false, control);
    }

    fn end_recovery(&mut self, view: &mut View) {
        view.phase = Phase::Open;
        self.rack.recovered();
        self.detection.forget_duplicates();
        // Another recovery that begins at once is one with retransmissions of this (`retrans_stamp`, `undo_retrans` of Linux): an answer
        // to those does not say that nothing is lost now.
        let goes_on = self.detection.is_as_linux() && self.board.has_lost();
        if let Some(losses) = &mut self.losses {
            losses.recovery.waits = false;
            losses.earlier = losses.undo.take().and_then(|undo| undo.first).filter(|_| goes_on);
            losses.frto = Frto::Off;
        }
    }

    /// Looks for losses, enters recovery when there are, and sets the window during it. `timed`: nothing was delivered, but time has
    /// passed.
    #[inline(always)]
    fn detect(&mut self, now: Instant, delivered: &Delivered, timed: bool, control: &mut Control<'_>) {
        let mut newly_lost = false;
        if !self.sack {
            // What was sent again in vain makes duplicates too: those that do not acknowledge more than was sent when the last
            // recovery or timeout began tell of no new loss (RFC 6582 §3.2 step 1, `recover`).
            let new = self.snd_una > self.recovery_point();
            if self.detection.duplicates() >= DUP_THRESH && control.view().phase == Phase::Open && new {
                self.board.mark_first_lost();
            }
        } else if !self.detection.is_by_time() {
            self.board.find_losses(DUP_THRESH);
        } else {
            let (v, rack, sacked) = (control.view(), &self.rack, self.board.sacked());
            let as_linux = self.detection.is_as_linux();
            let rtt_and_reo_wnd = || rack.rtt_and_reo_wnd(v.min_rtt, v.srtt, v.phase != Phase::Open, sacked);
            let (found, next) = self.board.find_losses_by_time(rack.latest, rtt_and_reo_wnd, now);
            newly_lost = found && as_linux;
            if self.rtt.ticks { self.rack.wait_in_ticks(now, next) } else { self.rack.timer = next }
        }
        // For Linux what was lost during a recovery, behind its end, is another loss when that is over, though it was sent again
        // already (`tcp_time_to_recover` asks for `lost_out`).
        let lost = self.board.has_unrepaired() || self.detection.is_as_linux() && self.board.has_lost();
        let first = control.view().phase == Phase::Open && lost;
        if first {
            self.begin_recovery(now, delivered.segments, control);
        }
        // In Linux that counts as a segment delivered where it begins a recovery, and later leaves the window alone
        // (`tcp_rack_reo_timeout`).
        let as_timed = timed && self.detection.is_as_linux();
        if control.view().phase == Phase::Recovery && (first || !as_timed) {
            let ssthresh = control.view().ssthresh;
            let pipe = self.pipe();
            let recovery = &mut self.losses.get_or_insert_default().recovery;
            // In Linux an acknowledgment that tells of another loss does not speed the repair up (`tcp_cwnd_reduction`).
            let advanced = delivered.advanced && !newly_lost;
            let cwnd = recovery.window(delivered.announced + u32::from(as_timed), pipe, ssthresh, advanced, first);
            self.notes.window(if first { WindowReason::Loss } else { WindowReason::Recovery });
            self.set_window(now, Window { cwnd, ssthresh }, control.view_mut());
        }
    }

    /// Something is lost, and nothing was being repaired. `delivered`: segments by this acknowledgment.
    #[cold]
    fn begin_recovery(&mut self, now: Instant, delivered: u32, control: &mut Control<'_>) {
        // RecoverFS as RFC 9937 §6.1 mends it: without what was delivered before this acknowledgment.
        let flight = self.board.outstanding() - self.board.sacked() + delivered;
        self.remember(control.view());
        // A window that was not filled says nothing of the path: what was used does (RFC 7661 §4.4.1), or what was in
        // flight (RFC 5681 equation 4).
        let outstanding = self.board.outstanding();
        let safe = self.growth.validation.lost(outstanding, control.view().cwnd, self.sent.retransmissions);
        if let Some(safe) = safe {
            self.set_cwnd(now, safe, control.view_mut());
        } else if 2.0 * f64::from(outstanding) < control.view().cwnd && !self.growth.validation.is_linux() {
            self.set_cwnd(now, f64::from(outstanding).max(1.0), control.view_mut());
        }
        let ssthresh = self.whole(control.on_loss(now));
        // Linux's proportion is that of the window, filled or not.
        let whole = if self.growth.validation.is_linux() { control.view().cwnd as u32 } else { flight };
        self.losses.get_or_insert_default().recovery = Recovery::begin(self.snd_nxt, whole);
        self.rack.probe_at = Instant::NEVER;
        self.rack.probe = None; // RFC 8985 §7.1
        let view = control.view_mut();
        view.phase = Phase::Recovery;
        view.ssthresh = ssthresh;
        view.bytes_between_losses = std::mem::take(&mut view.bytes_since_loss);
    }

    /// The round trip that Linux takes where what was sent again is acknowledged and nothing `beyond` a hole that was not told of before:
    /// that of the timestamp, in whole milliseconds, whatever else is acknowledged (`tcp_ack_update_rtt`).
    #[inline]
    fn rtt_by_timestamp(
        &self,
        now: Instant,
        arrival: &Arrival,
        delivered: &Delivered,
        beyond: bool,
    ) -> Option<Duration> {
        let again = delivered.says_again || delivered.answered_copy_at.is_some();
        if !again || !delivered.advanced || !self.detection.is_as_linux() || beyond {
            return None;
        }
        let echo = arrival.timestamps.filter(|t| self.timestamps && t.echo != 0)?.echo;
        let ms = Self::ts_now(now).wrapping_sub(echo);
        (ms < 1 << 19).then(|| Duration::from_millis(ms.max(1).into()))
    }

    /// What an acknowledgment with these timestamps tells of copies.
    #[inline]
    fn copies(&self, timestamps: Option<Timestamps>, min_rtt: Duration) -> Copies {
        let echo_ms = timestamps.filter(|t| self.timestamps && t.echo != 0).map(|t| t.echo);
        Copies { echo_ms, min_rtt }
    }

    /// The reordering timer: what was given time has not come (RFC 8985 §6.2 step 5).
    pub fn reordering_timer(&mut self, now: Instant, control: &mut Control<'_>) {
        self.detection.set_clean(false);
        self.rack.timer = Instant::NEVER;
        self.detect(now, &Delivered::default(), true, control);
        control.view_mut().in_flight = self.pipe();
    }

    /// The retransmission timer expired with data outstanding (RFC 6298 §5.4–5.6, RFC 5681 §3.1).
    pub fn timed_out(&mut self, now: Instant, control: &mut Control<'_>, frto: bool) {
        if self.group_rate().is_none() {
            self.keep_group_rate(control.view(), false);
        }
        self.detection.set_clean(false);
        // Equation 4 of RFC 5681 §3.1 holds where the segment was not yet sent again by this timer; not for a
        // retransmission that is lost too.
        let recovering = control.view().phase == Phase::Recovery;
        let fresh = control.view().phase == Phase::Open || (control.view().phase == Phase::Loss && self.retries == 0);
        // RFC 5682 §2.1 step 1: only the first timeout of a window, and not when a recovery was under way. In Linux the repeated
        // ones too (`tcp_enter_loss`).
        let as_linux = self.detection.is_as_linux();
        let looks = control.view().phase == Phase::Open || (as_linux && self.retries > 0);
        self.losses.get_or_insert_default().frto = if frto && looks { Frto::Waiting } else { Frto::Off };
        // It leaves the threshold of a recovery that this timeout ends.
        if recovering && !as_linux {
            // Once more, from the window that the recovery aimed at. An undo returns to the one before the recovery.
            let aim = control.view().ssthresh;
            self.set_cwnd(now, aim, control.view_mut());
            let ssthresh = self.whole(control.on_timeout(now));
            let view = control.view_mut();
            view.ssthresh = ssthresh.min(view.ssthresh);
        } else if fresh {
            self.remember(control.view());
            if let Some(safe) =
                self.growth.validation.lost(self.board.outstanding(), control.view().cwnd, self.sent.retransmissions)
            {
                self.set_cwnd(now, safe, control.view_mut());
            }
            let ssthresh = self.whole(control.on_timeout(now));
            let view = control.view_mut();
            view.ssthresh = ssthresh;
            view.bytes_between_losses = std::mem::take(&mut view.bytes_since_loss);
        }
        let rtt_and_reo_wnd = self.uses_rack().then(|| {
            let view = control.view();
            self.rack.rtt_and_reo_wnd(view.min_rtt, view.srtt, view.phase != Phase::Open, self.board.sacked())
        });
        self.board.mark_lost_on_timeout(now, rtt_and_reo_wnd);
        self.detection.forget_duplicates();
        let losses = self.losses.get_or_insert_default();
        (losses.recovery.point, losses.recovery.sent, losses.recovery.waits) = (self.snd_nxt, 0, false);
        losses.timeouts += 1;
        losses.timeout_times.push(now);
        self.rack.disarm();
        self.rack.probe = None;
        self.probe_due = false;
        let view = control.view_mut();
        view.phase = Phase::Loss;
        view.potentially_failed = true;
        view.in_flight = self.pipe();
        self.notes.window(WindowReason::Timeout);
        // What was sent only now is not held to be lost; in Linux the segment to be sent again comes in addition (`tcp_enter_loss`).
        let beside = if self.detection.is_as_linux() { view.in_flight } else { 0 };
        self.set_cwnd(now, f64::from(beside + 1), view);
        self.retries += 1;
        self.rtt.backoff += 1;
        self.restart_timer(now);
    }
}

#[cfg(test)]
mod tests {
    use super::super::established;
    use super::*;
    use crate::congestion::Controller;
    use crate::offset::Offset;
    use crate::plugin::Origin;
    use crate::{LossDetection, Receiver, TcpOptions, congestion};
    use wire::{SackBlock, SackBlocks, Span};

    struct Sender {
        end: Subflow<Span>,
        views: [View; 1],
        reno: Controller,
    }

    impl Sender {
        /// Ten segments of 100 octets went out at 1 to 10 ms, which fill the window.
        fn new(detection: LossDetection) -> Self {
            Self::with(&TcpOptions { loss_detection: detection, ..TcpOptions::default() })
        }

        /// Losses are found by time, and the peer acknowledges as this one does.
        fn to(receiver: Receiver) -> Self {
            Self::with(&TcpOptions { receiver, ..TcpOptions::default() })
        }

        fn with(options: &TcpOptions) -> Self {
            let mut end = established(options);
            let mut views = [View { cwnd: 10.0, active: true, ..View::new(10.0, 100) }];
            for n in 0..10 {
                let payload = Span { offset: 100 * n, len: 100 };
                end.send_new(Instant::from_millis(1 + n), (Offset::after(100 * n), &payload, false), &mut views[0]);
                end.first_sent(Instant::from_millis(1 + n), &mut views[0]);
            }
            let reno = congestion::Choice::named("reno").unwrap().make(&Origin::alone(1));
            Sender { end, views, reno }
        }

        /// A bare acknowledgment arrives.
        fn hears(&mut self, now: Instant, ack: u64, window: u16, echo_ms: Option<u32>) {
            self.hears_of(now, ack, window, echo_ms, &[]);
        }

        /// One with SACK blocks, each from an octet to before another.
        fn hears_of(&mut self, now: Instant, ack: u64, window: u16, echo_ms: Option<u32>, blocks: &[(u64, u64)]) {
            let timestamps = echo_ms.map(|echo| Timestamps { value: 1, echo });
            let mut sack = SackBlocks::NONE;
            for &(from, to) in blocks {
                let edge = |octet| self.end.our_number(octet).on_wire();
                assert!(sack.push(SackBlock { left: edge(from), right: edge(to) }));
            }
            let sack = &sack;
            let (seq, empty, signals, marked) = (1, true, false, false);
            let arrival = Arrival { seq, ack, window, timestamps, sack, empty, signals, marked };
            self.end.acknowledged(now, arrival, Control::new(&mut self.views, 0, &mut self.reno));
        }

        fn times_out(&mut self, now: Instant) {
            self.end.timed_out(now, &mut Control::new(&mut self.views, 0, &mut self.reno), false);
        }

        fn window(&self) -> (Phase, f64, f64) {
            (self.views[0].phase, self.views[0].cwnd, self.views[0].ssthresh)
        }
    }

    /// RFC 5681 §3.2 and RFC 6582 §3.2: the third duplicate begins a recovery with half of the window, and the acknowledgment
    /// of all that was outstanding then ends it at the threshold, without growth for what it acknowledges.
    #[test]
    fn the_third_duplicate_begins_a_recovery_which_ends_at_the_threshold() {
        let mut sender = Sender::new(LossDetection::Newreno);
        sender.hears(Instant::from_millis(101), 1, 0, None);
        sender.hears(Instant::from_millis(102), 1, 0, None);
        assert_eq!((sender.window(), sender.end.board.has_unrepaired()), ((Phase::Open, 10.0, f64::INFINITY), false));
        sender.hears(Instant::from_millis(103), 1, 7, None);
        assert_eq!(sender.views[0].phase, Phase::Open, "RFC 5681 §2, (e): one that moves the window is none");
        sender.hears(Instant::from_millis(104), 1, 7, None);
        assert_eq!((sender.views[0].phase, sender.views[0].ssthresh), (Phase::Recovery, 5.0));
        assert_eq!(
            sender.end.retransmit(Instant::from_millis(104), &mut sender.views[0]).map(|(data, _)| data.seq),
            Some(1)
        );
        // A partial acknowledgment shows that the next one is lost too (RFC 6582 §3.2 step 3).
        sender.hears(Instant::from_millis(204), 301, 7, None);
        assert_eq!(
            sender.end.retransmit(Instant::from_millis(204), &mut sender.views[0]).map(|(data, _)| data.seq),
            Some(301)
        );
        sender.hears(Instant::from_millis(304), 1_001, 7, None);
        assert_eq!(sender.window(), (Phase::Open, 5.0, 5.0));
    }

    /// RFC 5681 §3.1: one segment after a timeout, and "when … the retransmission timer expires [again] … ssthresh is held".
    #[test]
    fn a_timeout_leaves_one_segment_and_another_one_holds_the_threshold() {
        let mut sender = Sender::new(LossDetection::RackTlp);
        sender.times_out(Instant::from_millis(1_000));
        assert_eq!((sender.window(), sender.views[0].in_flight), ((Phase::Loss, 1.0, 5.0), 0));
        assert_eq!(sender.end.timer, Instant::from_secs(1) + 2 * sender.end.rtt.base_rto(), "RFC 6298 §5.5");
        sender.end.retransmit(Instant::from_millis(1_000), &mut sender.views[0]);
        sender.times_out(Instant::from_millis(3_000));
        assert_eq!(sender.window(), (Phase::Loss, 1.0, 5.0));
        assert_eq!(
            (sender.end.retries, sender.end.rtt.backoff, sender.end.losses.as_ref().unwrap().timeouts),
            (2, 2, 2)
        );
    }

    /// `tcp_enter_loss`: the threshold of the recovery that it ends stays, and each timeout in a row may be taken back by F-RTO.
    #[test]
    fn a_timeout_in_a_recovery_leaves_the_threshold_in_linux() {
        let after = |receiver| {
            let mut sender = Sender::to(receiver);
            sender.hears_of(Instant::from_millis(104), 1, 0, None, &[(101, 401)]);
            assert_eq!((sender.views[0].phase, sender.views[0].ssthresh), (Phase::Recovery, 5.0));
            let Sender { end, views, reno } = &mut sender;
            end.timed_out(Instant::from_millis(1_000), &mut Control::new(views, 0, reno), true);
            let first = end.frto();
            end.timed_out(Instant::from_millis(3_000), &mut Control::new(views, 0, reno), true);
            (views[0].ssthresh, first, end.frto())
        };
        assert_eq!(after(Receiver::Linux), (5.0, Frto::Off, Frto::Waiting));
        assert_eq!(after(Receiver::Usual), (2.5, Frto::Off, Frto::Off));
    }

    /// What arrived beyond a hole counts for the time between losses at once, in Linux when it is acknowledged.
    #[test]
    fn bytes_between_losses_are_those_in_order_in_linux() {
        let after = |receiver| {
            let mut sender = Sender::to(receiver);
            sender.hears_of(Instant::from_millis(104), 1, 0, None, &[(101, 401)]);
            sender.end.retransmit(Instant::from_millis(104), &mut sender.views[0]);
            sender.hears(Instant::from_millis(204), 401, 0, None);
            (sender.views[0].bytes_between_losses, sender.views[0].bytes_since_loss)
        };
        assert_eq!(after(Receiver::Linux), (0, 400));
        assert_eq!(after(Receiver::Usual), (300, 100));
    }

    /// Eifel (RFC 3522 §3.2): what is acknowledged was sent before the retransmission.
    #[test]
    fn an_answer_to_the_first_copy_takes_a_timeout_back() {
        let after = |echo_ms| {
            let mut sender = Sender::new(LossDetection::RackTlp);
            sender.times_out(Instant::from_millis(1_000));
            sender.end.retransmit(Instant::from_millis(1_000), &mut sender.views[0]);
            sender.hears(Instant::from_millis(1_001), 101, 0, Some(echo_ms));
            sender.views[0].ssthresh
        };
        assert_eq!(after(999), f64::INFINITY, "as before the timeout");
        assert_eq!(after(1_000), 5.0, "it may be the retransmission's");
    }

    /// RFC 3168 §6.1.2: a mark halves the window, but not while a loss is repaired.
    #[test]
    fn a_mark_counts_as_a_loss_unless_one_is_being_repaired() {
        let mut sender = Sender::new(LossDetection::RackTlp);
        sender.end.marked(Instant::from_millis(100), &mut Control::new(&mut sender.views, 0, &mut sender.reno), false);
        assert_eq!((sender.window(), sender.end.losses.as_ref().unwrap().marks), ((Phase::Open, 5.0, 5.0), 1));
        sender.views[0].phase = Phase::Recovery;
        sender.end.marked(Instant::from_millis(101), &mut Control::new(&mut sender.views, 0, &mut sender.reno), false);
        assert_eq!((sender.window(), sender.end.losses.as_ref().unwrap().marks), ((Phase::Recovery, 5.0, 5.0), 1));
    }

    /// RFC 5681 §3.1, RFC 6298 §2 and §5.3: in slow start the window grows by what is acknowledged, and the timer begins anew.
    #[test]
    fn an_acknowledgment_in_order_opens_the_window() {
        let mut sender = Sender::new(LossDetection::RackTlp);
        sender.hears(Instant::from_millis(101), 201, 0, None);
        assert_eq!(sender.window(), (Phase::Open, 12.0, f64::INFINITY));
        assert_eq!(
            (sender.views[0].srtt, sender.views[0].in_flight, sender.end.snd_una),
            (Duration::from_millis(100), 8, 201)
        );
        assert_eq!(sender.end.timer, Instant::from_millis(101 + 100 + 4 * 50), "SRTT + 4·RTTVAR");
    }

    /// Three of ten segments arrived and their acknowledgments were lost, but one that names the last of them first. With three above
    /// the hole RACK waits for nothing (RFC 8985 §6.2 step 4), unless the network were known to reorder.
    #[test]
    fn blocks_in_any_order_tell_of_a_loss_at_once() {
        for blocks in [[(701, 801), (301, 501)], [(301, 501), (701, 801)]] {
            let mut sender = Sender::new(LossDetection::RackTlp);
            sender.hears_of(Instant::from_millis(108), 1, 0, None, &blocks);
            assert_eq!(sender.views[0].phase, Phase::Recovery, "{blocks:?}");
        }
    }

    /// Where a segment that was sent again is acknowledged, Linux measures by the timestamp, in whole milliseconds; elsewhere it is the
    /// time since the last copy (Karn). Where something is acknowledged selectively, both take the time since that was sent.
    #[test]
    fn a_repaired_hole_is_measured_by_the_timestamp_in_linux() {
        let rtt = |receiver, blocks: &[(u64, u64)]| {
            let mut sender = Sender::to(receiver);
            sender.times_out(Instant::from_millis(1_000));
            sender.end.retransmit(Instant::from_millis(1_000), &mut sender.views[0]);
            // The first segment was sent again, the second was not.
            sender.hears_of(Instant::from_nanos(1_050_400_000), 201, 0, Some(1_000), blocks);
            sender.views[0].srtt
        };
        assert_eq!(rtt(Receiver::Linux, &[]), Duration::from_millis(50));
        assert_eq!(rtt(Receiver::Usual, &[]), Duration::from_nanos(50_400_000));
        // The sixth was sent after 6 ms.
        assert_eq!(rtt(Receiver::Linux, &[(501, 601)]), Duration::from_nanos(1_044_400_000));
        assert_eq!(rtt(Receiver::Usual, &[(501, 601)]), Duration::from_nanos(1_044_400_000));
    }

    /// A block that was told of before says nothing of the round trip now.
    #[test]
    fn what_was_told_of_before_is_not_measured_in_linux() {
        let mut sender = Sender::to(Receiver::Linux);
        sender.hears_of(Instant::from_millis(106), 1, 0, Some(6), &[(501, 601)]);
        sender.times_out(Instant::from_millis(1_000));
        sender.end.retransmit(Instant::from_millis(1_000), &mut sender.views[0]);
        let before = sender.views[0].srtt;
        sender.hears_of(Instant::from_nanos(1_050_400_000), 101, 0, Some(1_000), &[(501, 601)]);
        assert_eq!((before, sender.views[0].srtt), (Duration::from_millis(100), Duration::from_nanos(93_750_000)));
    }

    /// RFC 6937 §3.1: an acknowledgment that advances lets one more go out than was delivered. In Linux not so one that tells of
    /// another loss (`tcp_cwnd_reduction`). Here three segments and then two were delivered and one was sent again, so that
    /// max(5 − 1, 2) may go out, or one more; the threshold of 5 allows both, as nothing is in flight.
    #[test]
    fn an_acknowledgment_that_tells_of_a_loss_does_not_speed_up_a_repair_in_linux() {
        let window = |receiver| {
            let mut sender = Sender::to(receiver);
            sender.hears_of(Instant::from_millis(104), 1, 0, None, &[(101, 401)]);
            assert_eq!(sender.views[0].phase, Phase::Recovery);
            sender.end.retransmit(Instant::from_millis(104), &mut sender.views[0]);
            // The first four arrived, and the last: the five between are lost.
            sender.hears_of(Instant::from_millis(204), 401, 0, None, &[(901, 1_001)]);
            (sender.views[0].cwnd, sender.end.pipe())
        };
        assert_eq!(window(Receiver::Linux), (4.0, 0));
        assert_eq!(window(Receiver::Usual), (5.0, 0));
    }

    /// What came twice was delivered for Linux (`tcp_dsack_seen`). Of a flight of nine with a threshold of 5.5, three or four were delivered and one
    /// was sent again: 3 · 5.5 / 9 − 1 or 4 · 5.5 / 9 − 1 segments may leave, rounded up (RFC 6937 §3.1). A longer reordering window is only
    /// for a network that reorders, which RFC 8985 §6.2 step 4 does not ask for.
    #[test]
    fn what_came_in_vain_was_delivered_in_linux() {
        let heard = |receiver| {
            let (mut sender, ms) = (Sender::to(receiver), Instant::from_millis);
            sender.hears(ms(101), 101, 0, None);
            sender.hears_of(ms(106), 101, 0, None, &[(201, 501)]);
            sender.end.retransmit(ms(106), &mut sender.views[0]);
            let before = sender.views[0].cwnd;
            let window = || Duration::from_millis(80);
            sender.hears_of(ms(107), 101, 0, None, &[(1, 101), (201, 501)]);
            let patience = sender.end.rack.rtt_and_reo_wnd(window(), window(), false, 0);
            let known = sender.end.rack.rtt_and_reo_wnd(window(), window(), true, 0);
            (sender.views[0].cwnd - before, patience - known)
        };
        assert_eq!(heard(Receiver::Linux), (2.0, Duration::from_millis(20)));
        assert_eq!(heard(Receiver::Usual), (1.0, Duration::from_millis(40)));
    }

    /// The first of ten is lost, and during its repair the eleventh, which is sent again at once. When the ten are acknowledged, Linux
    /// repairs another loss, with the timestamp of the first retransmission: what answers to that says nothing of the second.
    #[test]
    fn what_is_lost_during_a_repair_is_another_loss_behind_its_end_in_linux() {
        let after = |receiver| {
            let (mut sender, ms) = (Sender::to(receiver), Instant::from_millis);
            sender.hears_of(ms(104), 1, 0, Some(100), &[(101, 401)]);
            sender.end.retransmit(ms(104), &mut sender.views[0]);
            for n in 10..15 {
                let payload = Span { offset: 100 * n, len: 100 };
                sender.end.send_new(ms(105), (Offset::after(100 * n), &payload, false), &mut sender.views[0]);
            }
            sender.hears_of(ms(150), 1, 0, Some(100), &[(101, 1_001), (1_101, 1_501)]);
            while sender.end.retransmit(ms(150), &mut sender.views[0]).is_some() {}
            sender.hears_of(ms(204), 1_001, 0, Some(104), &[(1_101, 1_501)]);
            let losses = sender.end.losses.as_ref().unwrap();
            (
                sender.views[0].phase,
                losses.undo.as_ref().and_then(|undo| undo.first).map(|first| first.stamp),
                losses.undone,
            )
        };
        assert_eq!(after(Receiver::Linux), (Phase::Recovery, Some(104), 0));
        assert_eq!(after(Receiver::Usual), (Phase::Open, None, 0));
    }

    /// RFC 3522 §3.2 steps 4 and 5: what answers to the retransmission of an earlier recovery has an older timestamp, and says nothing of the
    /// loss that is being repaired now. What acknowledges that one does.
    #[test]
    fn an_answer_to_an_earlier_retransmission_takes_nothing_back() {
        let after = |echo_ms| {
            let (mut sender, ms) = (Sender::new(LossDetection::RackTlp), Instant::from_millis);
            // The first is lost; the eleventh is found to be lost during its repair, the sixteenth when that is over.
            sender.hears_of(ms(104), 1, 0, Some(1), &[(101, 401)]);
            sender.end.retransmit(ms(104), &mut sender.views[0]);
            for n in 10..20 {
                let payload = Span { offset: 100 * n, len: 100 };
                sender.end.send_new(ms(105), (Offset::after(100 * n), &payload, false), &mut sender.views[0]);
            }
            sender.hears_of(ms(150), 1, 0, Some(1), &[(101, 1_001), (1_101, 1_501)]);
            while sender.end.retransmit(ms(150), &mut sender.views[0]).is_some() {}
            sender.hears_of(ms(204), 1_001, 0, Some(104), &[(1_101, 1_501)]);
            assert_eq!(sender.views[0].phase, Phase::Open);
            sender.hears_of(ms(206), 1_001, 0, Some(104), &[(1_101, 1_501), (1_601, 2_001)]);
            let ssthresh = sender.views[0].ssthresh;
            assert_eq!(sender.views[0].phase, Phase::Recovery);
            assert!(sender.end.retransmit(ms(206), &mut sender.views[0]).is_some());
            sender.hears_of(ms(250), 1_501, 0, Some(150), &[(1_601, 2_001)]);
            assert_eq!((sender.views[0].phase, sender.views[0].ssthresh), (Phase::Recovery, ssthresh));
            sender.hears(ms(306), 2_001, 0, Some(echo_ms));
            sender.end.losses.as_ref().unwrap().undone
        };
        assert_eq!(after(105), 1, "the sixteenth itself came late");
        assert_eq!(after(206), 0, "its second copy arrived");
    }
}
