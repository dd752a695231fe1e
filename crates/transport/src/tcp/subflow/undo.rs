//! Whether a loss was one after all: what is kept when a recovery or a timeout begins, what shows that it was needless (RFC 3522, RFC
//! 3708, RFC 5682), and the return to what was before (RFC 4015).

use super::Subflow;
use crate::congestion::{Phase, View, Window};
use crate::queue::Sendable;
use crate::tcp::arrival::Arrival;
use crate::tcp::control::Control;
use crate::tcp::recovery::{Frto, Retransmission, Undo};
use crate::tcp::scoreboard::Delivered;
use crate::time::Instant;
use crate::trace::{Spurious, WindowReason};

impl<P: Sendable> Subflow<P> {
    /// What undoing the recovery or the timeout that begins would restore.
    #[cold]
    #[inline(never)]
    pub(super) fn remember(&mut self, view: &View) {
        let bytes = (view.bytes_since_loss, view.bytes_between_losses);
        let (cwnd, ssthresh, from) = (view.cwnd, view.ssthresh, self.snd_una);
        let retransmissions = self.board.retransmitted();
        let as_linux = self.detection.is_as_linux();
        let losses = self.losses.get_or_insert_default();
        // Linux keeps the first one of all that are unanswered, also where a timeout follows another one (`retrans_stamp`).
        let before = losses.undo.take().and_then(|undo| undo.first).filter(|_| as_linux);
        let first = losses.earlier.take().or(before);
        losses.undo = Some(Undo { cwnd, ssthresh, bytes, from, retransmissions, first });
    }

    /// A segment that ends before `end` is sent again.
    pub fn note_retransmission(&mut self, now: Instant, end: u64) {
        if let Some(undo) = self.losses.as_mut().and_then(|losses| losses.undo.as_mut()) {
            undo.retransmissions += 1;
            undo.first.get_or_insert(Retransmission { stamp: Self::ts_now(now), end });
        }
    }

    /// Whether an acknowledgment shows that nothing was lost after all: it answers to what was sent before the
    /// retransmission (Eifel, RFC 3522 §3.2), every retransmission was reported as a duplicate (RFC 3708), or after
    /// a timeout it acknowledges what was sent only once (F-RTO, RFC 5682 §3.1).
    pub(super) fn is_spurious(
        &mut self,
        arrival: &Arrival<'_>,
        delivered: &Delivered,
        duplicate_end: Option<u64>,
        phase: Phase,
    ) -> Option<Spurious> {
        let losses = self.losses.as_mut()?;
        let (Some(undo), point) = (&mut losses.undo, losses.recovery.point) else { return None };
        if phase == Phase::Open {
            return None;
        }
        // The acknowledgment must be one of the retransmission. Below it, it may answer to a retransmission of an earlier recovery,
        // which is older and says nothing of this loss. Linux does not ask for that (`tcp_packet_delayed`).
        if let (true, Some(first), Some(t)) = (self.timestamps && delivered.advanced, undo.first, arrival.timestamps)
            && (arrival.ack >= first.end || self.detection.is_as_linux())
            && t.echo != 0
            && (t.echo.wrapping_sub(first.stamp) as i32) < 0
        {
            return Some(Spurious::Timestamps);
        }
        // Of this recovery: a duplicate from an earlier one must not end it, or each would call for the next.
        if duplicate_end.is_some_and(|end| end > undo.from) && undo.retransmissions > 0 {
            undo.retransmissions -= 1;
            if undo.retransmissions == 0 {
                return Some(Spurious::DuplicateSacks);
            }
        }
        let ack = arrival.ack;
        match losses.frto {
            Frto::Off => None,
            // Without SACK the first acknowledgment may cover what had arrived before the timeout and waited for the segment
            // that was lost: only the second one says something (RFC 5682 §2.1 step 3).
            Frto::Waiting if !self.sack && delivered.advanced && ack < point => {
                losses.frto = Frto::NewDataOnly(self.snd_nxt);
                None
            }
            // What was delivered lies beyond the first segment and was never sent again: it was not lost (§3.1). Linux says so of an
            // acknowledgment of all, too, which may tell of what had arrived before (`tcp_process_loss`).
            _ if delivered.original_end > 0
                && delivered.original_end <= point
                && (ack < point || self.detection.is_as_linux()) =>
            {
                Some(Spurious::FRto)
            }
            Frto::Waiting if delivered.advanced => {
                losses.frto = Frto::NewDataOnly(self.snd_nxt);
                None
            }
            _ => {
                // Step 2a or 3a: a duplicate, or all is acknowledged: an ordinary timeout.
                losses.frto = Frto::Off;
                None
            }
        }
    }

    /// Returns to the window before the loss that was none (RFC 4015 §3).
    pub(super) fn undo(&mut self, now: Instant, control: &mut Control<'_>) {
        let Some(losses) = &mut self.losses else { return };
        let Some(undo) = losses.undo.take() else { return };
        losses.frto = Frto::Off;
        losses.undone += 1;
        self.board.forget_losses();
        self.detection.forget_duplicates();
        let view = control.view_mut();
        view.phase = Phase::Open;
        // Between the losses that were, everything was acknowledged. The kernel's programs do not hear of it.
        if !self.detection.is_as_linux() {
            view.bytes_since_loss += undo.bytes.0;
            view.bytes_between_losses = undo.bytes.1;
        }
        let window = Window { cwnd: view.cwnd.max(self.whole(undo.cwnd)), ssthresh: view.ssthresh.max(undo.ssthresh) };
        self.notes.window(WindowReason::Undo);
        self.set_window(now, window, view);
        control.on_undo(now);
    }
}
