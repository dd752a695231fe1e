//! The handshake of a connection, as far as it is TCP's (RFC 9293 §3.5, RFC 7323 §2, RFC 6298 §2).

use std::net::IpAddr;

use wire::{Segment, Timestamps};

use super::{Join, State, Subflow};
use crate::Config;
use crate::congestion::{View, Window};
use crate::numbers::SeqNumber;
use crate::queue::Sendable;
use crate::reassembly::Piece;
use crate::tcp::opening::Scales;
use crate::time::{Duration, Instant};

/// The least MSS a peer may announce that is taken at its word (RFC 9293 §3.7.1 lets it be absurdly small): options
/// of 40 bytes and data must fit.
const MIN_MSS: u32 = 88;
/// Without an MSS option (RFC 9293 §3.7.1, MUST-15): what the smallest packets that every network carries leave.
const fn default_mss(peer: IpAddr) -> u16 {
    match peer {
        IpAddr::V4(_) => 536,
        IpAddr::V6(_) => 1220,
    }
}

/// A round-trip time that is guessed is not less than this.
const LEAST_GUESS: Duration = Duration::from_millis(1);

impl<P: Sendable> Subflow<P> {
    /// Its SYN is to go out, from the address with this id.
    pub fn open_from(&mut self, local_id: u8, backup: bool) {
        (self.local_id, self.backup) = (local_id, backup);
        self.syn_due = true;
    }

    /// The peer's SYN opens it.
    pub fn accept(&mut self) {
        self.active_open = false;
        self.answer_syn();
    }

    /// The peer's SYN is to be answered.
    pub fn answer_syn(&mut self) {
        self.state = State::SynReceived;
        self.syn_due = true;
    }

    /// The SYN or SYN/ACK is to go out once more.
    pub fn owe_syn(&mut self) {
        self.syn_due = true;
    }

    /// Whether a SYN or SYN/ACK is to go out, which now does.
    pub fn take_syn(&mut self) -> bool {
        std::mem::take(&mut self.syn_due)
    }

    /// Nobody has seen a segment of it.
    pub fn is_unsent(&self) -> bool {
        self.state == State::SynSent && self.syn_due && self.retries == 0
    }

    /// Text on the peer's SYN waits until the connection is there.
    pub fn keep_text_on_syn(&mut self, piece: Piece<P>) {
        self.reorder.insert(1, piece);
    }

    /// The peer calls its address so.
    pub fn learn_remote_id(&mut self, remote_id: u8) {
        self.remote_id = remote_id;
    }

    /// Whether it is to be a backup, as this end sees it.
    pub fn set_backup(&mut self, backup: bool) {
        self.backup = backup;
    }

    /// It joins a connection, with these nonces.
    pub fn begin_join(&mut self, join: Join) {
        self.join = Some(join);
    }

    /// The peer has shown that it knows the keys, or need not.
    pub fn confirm_join(&mut self) {
        self.join.get_or_insert_default().confirmed = true;
    }

    /// The third ACK goes out until the fourth arrives. Answers when the next one does.
    pub fn await_fourth_ack(&mut self, now: Instant) -> Instant {
        self.timer = self.rtt.expiry(now);
        self.timer
    }

    /// The peer acknowledges: whether it is the fourth ACK of a join.
    pub fn take_fourth_ack(&mut self) -> bool {
        let Some(join) = self.join.as_mut().filter(|j| !j.confirmed) else { return false };
        join.confirmed = true;
        self.timer = Instant::NEVER;
        self.retries = 0;
        self.rtt.backoff = 0;
        true
    }

    /// Takes what the peer's SYN or SYN/ACK offers.
    pub fn negotiate(&mut self, config: &Config, scale: u8, syn: &Segment<P>) {
        let rare = syn.options.rare.as_deref();
        self.learn_irs(SeqNumber::sent(syn.seq));
        self.rcv_nxt = 1;
        let peer_mss = rare.and_then(|o| o.mss).unwrap_or_else(|| default_mss(self.tuple().remote.ip().to_canonical()));
        self.mss = u32::from(peer_mss).max(MIN_MSS).min(u32::from(config.mss));
        self.sack = config.tcp.offers_sack() && rare.is_some_and(|o| o.sack_permitted);
        self.ecn.negotiate(config.tcp.ecn, syn.flags);
        self.timestamps = config.tcp.timestamps;
        self.learn_timestamps(syn.options.timestamps);
        self.right = 1 + u64::from(syn.window);
        if let Some(shift) = rare.and_then(|o| o.window_scale) {
            self.opening.note_scaling();
            self.scales = Scales::agreed(shift, scale);
        }
    }

    /// The SYN or SYN/ACK goes out. Answers when it goes out again.
    pub fn syn_sent(&mut self, now: Instant) -> Instant {
        self.snd_nxt = 1;
        self.opening.note_sent(now);
        self.timer = self.rtt.expiry(now);
        self.timer
    }

    /// Data can be carried from now on.
    pub fn establish(&mut self, now: Instant, view: &mut View) {
        if self.rtt.samples == 0 {
            // The SYN was retransmitted: the time since then stands in until the first sample. The answer may be to the
            // first one, and come at that very moment: a control divides by it.
            view.srtt = (now - self.opening.sent_at()).max(LEAST_GUESS);
        }
        self.sent.established_at = now;
        self.sent.cwnd_integral_until = now;
    }

    /// The shift count that a SYN or SYN/ACK offers: an answer only where the peer has offered one (RFC 7323 §2.2).
    pub fn offered_scale(&self, scale: u8, passive: bool) -> Option<u8> {
        (!passive || self.opening.peer_scales()).then_some(scale)
    }

    /// Our SYN was acknowledged, by a segment with these timestamps.
    pub fn synchronise(&mut self, now: Instant, timestamps: Option<Timestamps>, view: &mut View) {
        self.snd_una = 1;
        self.snd_nxt = 1;
        self.state = State::Established;
        self.timer = Instant::NEVER;
        let echo_ms = timestamps.filter(|t| self.timestamps && t.echo != 0).map(|t| t.echo);
        let waited_ms = |echo_ms: u32| Self::ts_now(now).wrapping_sub(echo_ms);
        // Linux knows when it answered the SYN of a join no more, and takes what timestamps tell (`tcp_check_req` leaves before
        // `tcp_synack_rtt_meas`, which then has no request).
        let forgotten = self.rtt.ticks && self.join().is_some() && !self.is_active_open();
        match echo_ms {
            _ if self.retries == 0 && !forgotten => self.take_rtt(now, now - self.opening.sent_at(), view),
            // Karn: a SYN that was sent twice gives no sample, unless timestamps tell which was answered (RFC 7323 §4.1).
            Some(echo_ms) if waited_ms(echo_ms) < 1 << 20 => {
                self.take_rtt(now, Duration::from_millis(waited_ms(echo_ms).max(1).into()), view);
            }
            _ => self.rtt.syn_lost(),
        }
        // "If the SYN or SYN/ACK is lost, the initial window … MUST be one segment" (RFC 5681 §3.1): unless it was the first
        // one that was answered after all.
        let sent_ms = Self::ts_now(self.opening.sent_at());
        let answered_first = echo_ms.is_some_and(|echo_ms| (echo_ms.wrapping_sub(sent_ms) as i32) < 0);
        if self.retries > 0 && !answered_first {
            let ssthresh = view.ssthresh;
            self.set_window(now, Window { cwnd: 1.0, ssthresh }, view);
        }
        self.retries = 0;
        self.rtt.backoff = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::super::established;
    use super::*;
    use crate::{TcpOptions, Timers};
    use wire::{RareOptions, Span};

    /// The MSS and the shift count after a SYN with these.
    fn negotiated(mss: Option<u16>, window_scale: Option<u8>) -> (u32, u8, u8) {
        let mut end = established(&TcpOptions::default());
        let rare = RareOptions { mss, window_scale, ..RareOptions::default() };
        let mut syn: Segment<Span> = Segment { window: 9_000, ..Segment::default() };
        syn.options.rare = Some(Box::new(rare));
        end.negotiate(&Config::default(), 7, &syn);
        assert_eq!((end.right, end.rcv_nxt, end.sack, end.timestamps), (9_001, 1, false, false));
        (end.mss, end.scales.window(1).trailing_zeros() as u8, end.scales.ours())
    }

    #[test]
    fn the_smaller_mss_holds_and_scaling_is_used_where_both_offer_it() {
        assert_eq!(negotiated(Some(1_200), Some(3)), (1_200, 3, 7));
        assert_eq!(negotiated(Some(9_000), None), (1_460, 0, 0), "ours; no scaling without the peer's");
        assert_eq!(negotiated(None, Some(14)), (536, 14, 7), "RFC 9293 §3.7.1, MUST-15");
        assert_eq!(negotiated(Some(1), Some(15)), (MIN_MSS, 14, 7), "RFC 7323 §2.3: at most 14");
    }

    /// Our SYN, which went out at 100 ms and `again`, is acknowledged at 1,150 ms: samples, round trip and window.
    fn synchronised(again: bool, echo_ms: Option<u32>) -> (u64, u64, f64) {
        let mut end = established(&TcpOptions::default());
        let mut view = View::new(10.0, 1_448);
        end.syn_sent(Instant::from_millis(100));
        if again {
            end.retries = 1;
            end.syn_sent(Instant::from_millis(1_100));
        }
        end.synchronise(Instant::from_millis(1_150), echo_ms.map(|echo| Timestamps { value: 1, echo }), &mut view);
        assert_eq!((end.state, end.snd_una, end.timer, end.retries), (State::Established, 1, Instant::NEVER, 0));
        (end.rtt.samples, view.srtt / Duration::from_millis(1), view.cwnd)
    }

    /// RFC 6298 §3 (Karn) and RFC 5681 §3.1: "the initial window MUST be one segment" after a SYN that was lost.
    #[test]
    fn a_syn_that_was_sent_twice_gives_no_sample_unless_a_timestamp_tells_which_was_answered() {
        assert_eq!(synchronised(false, None), (1, 1_050, 10.0));
        assert_eq!(synchronised(true, None), (0, 0, 1.0));
        assert_eq!(synchronised(true, Some(1_100)), (1, 50, 1.0), "the second");
        assert_eq!(synchronised(true, Some(100)), (1, 1_050, 10.0), "the first: it was late, not lost");
    }

    /// The answer to a join went out at 100 ms: 50.3 ms are 50 by timestamps, which is all that Linux has then. Without them it takes none,
    /// and 3 s until it has (`tcp_init_metrics`).
    #[test]
    fn linux_measures_no_round_trip_of_a_join_that_it_answers() {
        let sample = |timers, active, echo: Option<u32>| {
            let options = TcpOptions { timers, ..TcpOptions::default() };
            let (mut end, mut view) = (established(&options), View::new(10.0, 1_448));
            end.begin_join(Join::default());
            end.active_open = active;
            end.syn_sent(Instant::from_millis(100));
            let timestamps = echo.map(|echo| Timestamps { value: 1, echo });
            end.synchronise(Instant::from_nanos(150_300_000), timestamps, &mut view);
            (end.rtt.samples, view.srtt.as_micros(), end.rtt.base_rto() == Duration::from_secs(3))
        };
        let exact = (1, 50_300, false);
        assert_eq!(sample(Timers::Exact, false, Some(100)), exact);
        assert_eq!(sample(Timers::Linux, true, Some(100)), exact);
        assert_eq!(sample(Timers::Linux, false, Some(100)), (1, 50_000, false));
        assert_eq!(sample(Timers::Linux, false, None), (0, 0, true));
    }

    #[test]
    fn an_answer_offers_scaling_only_to_a_peer_that_did() {
        let mut end = established(&TcpOptions::default());
        assert_eq!((end.offered_scale(7, false), end.offered_scale(7, true)), (Some(7), None));
        end.opening.note_scaling();
        assert_eq!(end.offered_scale(7, true), Some(7));
    }

    /// RFC 8684 §3.2: the third ACK goes out until the fourth arrives; before that no data does.
    #[test]
    fn a_join_waits_for_its_fourth_ack() {
        let mut end = established(&TcpOptions::default());
        assert!(!end.take_fourth_ack(), "it joins nothing");
        end.begin_join(Join::default());
        assert!(!end.can_send());
        let second = Instant::from_millis(1_000);
        assert_eq!(end.await_fourth_ack(second), second + end.rtt.rto());
        (end.retries, end.rtt.backoff) = (2, 2);
        assert!(end.take_fourth_ack() && end.can_send());
        assert_eq!((end.timer, end.retries, end.rtt.backoff), (Instant::NEVER, 0, 0));
        assert!(!end.take_fourth_ack(), "once");
    }
}
