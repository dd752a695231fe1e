//! The handshake of a connection, as far as it is TCP's (RFC 9293 §3.5, RFC 7323 §2, RFC 6298 §2).

use std::net::IpAddr;

use wire::{Segment, Timestamps};

use super::acknowledge::NEVER;
use super::subflow::{State, Subflow};
use crate::Config;
use crate::congestion::{View, Window};
use crate::numbers::SeqNumber;
use crate::queue::Stream;

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
const LEAST_GUESS_NS: u64 = 1_000_000;

impl<P: Stream> Subflow<P> {
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
            self.peer_scales = true;
            self.snd_wscale = shift.min(14); // RFC 7323 §2.3
            self.rcv_wscale = scale;
        }
    }

    /// The SYN or SYN/ACK goes out. Answers when it goes out again.
    pub fn syn_sent(&mut self, now_ns: u64) -> u64 {
        self.snd_nxt = 1;
        self.syn_sent_ns = now_ns;
        self.timer_ns = now_ns + self.rtt.rto_ns();
        self.timer_ns
    }

    /// Data can be carried from now on.
    pub fn establish(&mut self, now_ns: u64, view: &mut View) {
        if self.rtt.samples == 0 {
            // The SYN was retransmitted: the time since then stands in until the first sample. The answer may be to the
            // first one, and come at that very moment: a control divides by it.
            view.srtt_ns = (now_ns - self.syn_sent_ns).max(LEAST_GUESS_NS);
        }
        self.sent.established_ns = now_ns;
        self.sent.cwnd_integral_until_ns = now_ns;
    }

    /// The shift count that a SYN or SYN/ACK offers: an answer only where the peer has offered one (RFC 7323 §2.2).
    pub fn offered_scale(&self, scale: u8, passive: bool) -> Option<u8> {
        (!passive || self.peer_scales).then_some(scale)
    }

    /// Our SYN was acknowledged, by a segment with these timestamps.
    pub fn synchronise(&mut self, now_ns: u64, timestamps: Option<Timestamps>, view: &mut View) {
        self.snd_una = 1;
        self.snd_nxt = 1;
        self.state = State::Established;
        self.timer_ns = NEVER;
        let echo_ms = timestamps.filter(|t| self.timestamps && t.echo != 0).map(|t| t.echo);
        let waited_ms = |echo_ms: u32| Self::ts_now(now_ns).wrapping_sub(echo_ms);
        match echo_ms {
            _ if self.retries == 0 => self.take_rtt(now_ns - self.syn_sent_ns, view),
            // Karn: a SYN that was sent twice gives no sample, unless timestamps tell which was answered (RFC 7323 §4.1).
            Some(echo_ms) if waited_ms(echo_ms) < 1 << 20 => {
                self.take_rtt(u64::from(waited_ms(echo_ms).max(1)) * 1_000_000, view);
            }
            _ => self.rtt.syn_lost(),
        }
        // "If the SYN or SYN/ACK is lost, the initial window … MUST be one segment" (RFC 5681 §3.1): unless it was the first
        // one that was answered after all.
        let sent_ms = Self::ts_now(self.syn_sent_ns);
        let answered_first = echo_ms.is_some_and(|echo_ms| (echo_ms.wrapping_sub(sent_ms) as i32) < 0);
        if self.retries > 0 && !answered_first {
            let ssthresh = view.ssthresh;
            self.set_window(now_ns, Window { cwnd: 1.0, ssthresh }, view);
        }
        self.retries = 0;
        self.rtt.backoff = 0;
    }
}
