//! How a connection comes to be: SYN, SYN/ACK, ACK with MP_CAPABLE (RFC 9293 §3.5, RFC 8684 §3.1).

use crate::mptcp::first_windows::first_window;
use std::sync::Arc;

use wire::{Flags, MpCapable, MpJoin, MptcpOption, RareOptions, Segment};

use super::Connection;
use crate::mptcp::options::{CAPABLE_A, CAPABLE_C, capable};
use crate::mptcp::state::addresses::Addresses;
use crate::names::Tuple;
use crate::numbers::SeqNumber;
use crate::offset::Offset;
use crate::path_manager::PathEvent;
use crate::queue::Sendable;
use crate::reassembly::{Piece, UNMAPPED};
use crate::secrets::Secrets;
use crate::tcp::subflow::{State, Subflow};
use crate::time::Instant;
use crate::trace::FallbackReason;
use crate::{Config, LocalAddress, Receiver};

impl<P: Sendable> Connection<P> {
    /// Active open.
    pub(crate) fn open(
        now: Instant,
        config: Arc<Config>,
        local: &[LocalAddress],
        tuple: Tuple,
        key: u64,
        secrets: Secrets,
    ) -> Self {
        let mut c = Connection::new(config, true, key, secrets);
        c.set_clock(now);
        if c.level.is_multipath() {
            c.addresses = Addresses::new(local.to_vec(), tuple.local.port());
            c.addresses.learn(0, tuple.remote);
        }
        let iss = c.secrets.initial_sequence_number(now, tuple);
        let mut subflow = Subflow::new(tuple, iss, c.config.mss, &c.config.tcp);
        subflow.open_from(local[0].id, local[0].backup);
        c.add_subflow(subflow);
        c.begin_at_once(now, tuple);
        c
    }

    /// Passive open by a SYN. A peer that does not offer MPTCP version 1 with HMAC-SHA256 gets TCP.
    pub(crate) fn accept(
        now: Instant,
        config: Arc<Config>,
        addresses: &[LocalAddress],
        tuple: Tuple,
        key: u64,
        secrets: Secrets,
        syn: &Segment<P>,
    ) -> Self {
        let mut c = Connection::new(config, false, key, secrets);
        c.set_clock(now);
        let offered = capable(syn).is_some_and(|m| m.version >= 1 && m.sender_key.is_none());
        if offered {
            // The address of the connection has id 0, whatever it is called elsewhere (RFC 8684 §3.2).
            let own = &c.config.addresses;
            let backup = own.iter().any(|a| a.address == tuple.local.ip() && a.backup);
            let mut local = vec![LocalAddress { id: 0, address: tuple.local.ip(), backup }];
            if own.is_empty() {
                local.extend(addresses.iter().filter(|a| a.id != 0 && a.address != tuple.local.ip()));
            } else {
                // The same address with another port is announced under an id of its own.
                local.extend(own);
            }
            c.addresses = Addresses::new(local, tuple.local.port());
            c.learn_flags(capable(syn).map_or(0, |m| m.flags), tuple);
        } else {
            c.level.become_single();
            c.fallback.receive_single();
        }
        let iss = c.secrets.initial_sequence_number(now, tuple);
        let mut subflow = Subflow::new(tuple, iss, c.config.mss, &c.config.tcp);
        subflow.accept();
        subflow.negotiate(&c.config, c.rx.window.scale(), syn);
        c.rx.window.agree_scale(subflow.scales().ours());
        c.tx.begin(syn.window);
        if c.level.takes_text_on_syn() && !syn.payload.is_empty() {
            // Text on a SYN waits for the connection (RFC 9293 §3.10.7.2).
            let piece = Piece { at: 1, payload: syn.payload.clone(), offset: UNMAPPED, arrived_at: now };
            subflow.keep_text_on_syn(piece);
        }
        c.add_subflow(subflow);
        c.begin_at_once(now, tuple);
        c
    }

    /// A segment in SYN-SENT (RFC 9293 §3.10.7.3).
    pub(super) fn receive_in_syn_sent(&mut self, now: Instant, r: usize, segment: &mut Segment<P>) {
        let acceptable = segment.flags.ack() && self.subflows[r].our_seq(segment.ack) == 1;
        if segment.flags.rst() {
            if acceptable {
                self.receive_reset(now, r, segment);
            }
            return;
        }
        if segment.flags.syn() && !segment.flags.ack() {
            self.open_simultaneously(r, segment);
            return;
        }
        if segment.flags.ack() && !acceptable {
            // Of another connection, which the peer has not forgotten: the reset ends it there (§3.5.1, figure 9).
            self.answer_with_reset(r, segment);
            return;
        }
        if !segment.flags.syn() {
            return;
        }
        self.subflows[r].negotiate(&self.config, self.rx.window.scale(), segment);
        if self.subflows[r].join().is_some() {
            self.join_answered(now, r, segment);
            return;
        }
        match capable(segment) {
            Some(MpCapable { version: 1, flags, sender_key: Some(key), receiver_key: None, .. })
                if self.level.is_multipath() =>
            {
                let tuple = self.subflows[r].tuple();
                self.learn_key(*key);
                self.learn_flags(*flags, tuple);
            }
            // "If a SYN/ACK … does not contain the MP_CAPABLE option" it is TCP (RFC 8684 §3.1, §3.7).
            _ => {
                self.never_spoke_mptcp(r, FallbackReason::NotCapable);
            }
        }
        self.begin(now, r, segment);
        if self.level.takes_text_on_syn() && !segment.payload.is_empty() {
            // "continue processing at the sixth step" (§3.10.7.3). Multipath TCP gives it no place: it comes again.
            let payload = std::mem::replace(&mut segment.payload, P::empty());
            self.receive_data(now, r, 1, &segment.options, payload);
        }
    }

    /// The peer's SYN/ACK opens the connection, and is acknowledged.
    fn begin(&mut self, now: Instant, r: usize, segment: &Segment<P>) {
        self.rx.window.agree_scale(self.subflows[r].scales().ours());
        self.tx.begin(segment.window);
        self.synchronise(now, r, segment);
        self.become_established(now, r);
        self.owe_acknowledgment(r);
    }

    /// The flags of the peer's MP_CAPABLE on its SYN or SYN/ACK. A: "checksums MUST be used if either host requires
    /// them". C: "the receiver MUST NOT try to open any additional subflows toward this address and port" (RFC 8684
    /// §3.1).
    fn learn_flags(&mut self, flags: u8, tuple: Tuple) {
        if flags & CAPABLE_A != 0 {
            self.require_checksum();
        }
        self.addresses.forget_remote(0);
        if flags & CAPABLE_C == 0 {
            self.addresses.learn(0, tuple.remote);
        }
    }

    /// Checksums are in use. (Linux's receiver drops what lies beyond its window, and has acknowledged it on the subflow before.)
    pub(super) fn require_checksum(&mut self) {
        self.fallback.require_checksum();
        if self.config.tcp.receiver != Receiver::Linux {
            self.rx.window.take_mappings_whole();
        }
    }

    /// The peer's SYN crossed ours (RFC 9293 §3.5, figure 8). Both ends then answer with SYN/ACK. RFC 8684 §3.1 knows
    /// no such handshake for MPTCP, so it is TCP.
    fn open_simultaneously(&mut self, r: usize, syn: &Segment<P>) {
        if self.subflows[r].join().is_some() {
            return; // a join is never answered by a bare SYN
        }
        self.never_spoke_mptcp(r, FallbackReason::SimultaneousOpen);
        self.subflows[r].negotiate(&self.config, self.rx.window.scale(), syn);
        self.subflows[r].answer_syn();
        self.due.attention.insert(r);
    }

    /// A segment in SYN-RECEIVED (RFC 9293 §3.10.7.4). Answers whether it completes the handshake and is to be
    /// processed further as one of an established subflow.
    pub(super) fn receive_in_syn_received(&mut self, now: Instant, r: usize, segment: &Segment<P>) -> bool {
        // First: the sequence number. The SYN may come again, with data.
        let seq = self.subflows[r].their_seq(segment.seq);
        let inside = (1..=self.rx.window.right().octets().max(1)).contains(&seq);
        if segment.flags.rst() {
            if seq == 1 {
                self.receive_reset(now, r, segment);
            } else if inside {
                self.challenge(now, r); // RFC 5961 §3.2
            }
            return false;
        }
        if !inside && !segment.flags.syn() {
            self.challenge(now, r);
            return false;
        }
        if segment.flags.syn() {
            if SeqNumber::sent(segment.seq) == self.subflows[r].their_number(0) && !segment.flags.ack() {
                if self.level.is_multipath() && r == 0 && capable(segment).is_none() {
                    // The peer has given up MP_CAPABLE after losses: so do we (RFC 8684 §3.1).
                    self.never_spoke_mptcp(r, FallbackReason::NoAnswer);
                }
                self.subflows[r].owe_syn(); // our SYN/ACK was lost
                self.due.attention.insert(r);
            } else if self.subflows[r].is_active_open() && self.subflows[r].our_seq(segment.ack) == 1 {
                // A simultaneous open: the peer's SYN/ACK acknowledges our SYN.
                self.begin(now, r, segment);
            } else {
                self.challenge(now, r); // another connection: what the peer says to this ends the old one
            }
            return false;
        }
        if !segment.flags.ack() {
            return false;
        }
        if self.subflows[r].our_seq(segment.ack) != 1 {
            self.answer_with_reset(r, segment); // fifth: an unacceptable ACK
            return false;
        }
        if self.subflows[r].join().is_some() {
            if !self.join_confirmed(now, r, segment) {
                return false;
            }
        } else if self.level.is_multipath() && !self.config.joins_at_once {
            match capable(segment) {
                Some(MpCapable { version: 1, sender_key: Some(key), receiver_key: Some(ours), .. })
                    if wire::keys::same_u64(*ours, self.keys.local) =>
                {
                    self.learn_key(*key);
                    self.set_fully_established();
                }
                // A DSS that overtook the third ACK, or the ACK is lost: without its key nothing can be mapped, so it
                // counts as lost. The peer sends the key again until it sees a DSS (RFC 8684 §3.1).
                None if segment.options.dss.is_some() => return false,
                // A third ACK without the keys: the path or the peer does not speak MPTCP (RFC 8684 §3.1, §3.7).
                _ => {
                    self.never_spoke_mptcp(r, FallbackReason::NotCapable);
                }
            }
        }
        self.synchronise(now, r, segment);
        self.become_established(now, r);
        if self.subflows[r].has_pieces() {
            self.drain_subflow(now, r); // what came with the SYN
            self.owe_acknowledgment(r);
        }
        if self.subflows[r].join().is_some() {
            // The fourth ACK: it tells the peer that the subflow may carry data (RFC 8684 §3.2).
            self.owe_acknowledgment(r);
        } else if self.is_fully_established() {
            self.hear_first_window(r, segment);
            self.manage_paths(now, PathEvent::FullyEstablished);
        }
        true
    }

    /// The window on a third ACK with MP_CAPABLE, which has no DATA_ACK but acknowledges the IDSN (RFC 8684 §3.3): its scale
    /// counts, unlike that of the SYN.
    fn hear_first_window(&mut self, r: usize, segment: &Segment<P>) {
        self.tx.open_to(Offset::after(self.subflows[r].scales().window(segment.window)));
    }

    pub(super) fn syn(&mut self, now: Instant, r: usize) -> Segment<P> {
        let passive = self.subflows[r].state() == State::SynReceived;
        let mut flags = if passive { Flags::SYN | Flags::ACK } else { Flags::SYN };
        if passive && self.subflows[r].has_ecn() {
            flags = flags | Flags::ECE;
        } else if !passive && self.config.tcp.ecn {
            flags = flags | Flags::ECE | Flags::CWR; // RFC 3168 §6.1.1
        }
        let seq = 0;
        let (told, edge) = (self.subflows[r].told_window(), self.rx.window.told_edge());
        let mut segment = self.segment(now, r, seq, flags);
        // RFC 7323 §2.2: the window of a SYN is not scaled.
        segment.window = first_window(&self.config, !passive).min(0xffff) as u16;
        self.subflows[r].have_told(told); // what it was told is in the SYN
        segment.options.dss = None;
        if self.config.tcp.receiver == Receiver::Linux && self.is_established() {
            self.rx.window.have_announced(edge);
        }
        if !passive {
            segment.ack = 0;
            segment.options.timestamps =
                self.config.tcp.timestamps.then_some(wire::Timestamps { value: now.as_millis() as u32, echo: 0 });
        }
        let mptcp = self.syn_option(r, passive);
        segment.options.rare = Some(Box::new(RareOptions {
            mss: Some(self.config.mss),
            window_scale: self.subflows[r].offered_scale(self.rx.window.scale(), passive),
            sack_permitted: if passive { self.subflows[r].has_sack() } else { self.config.tcp.offers_sack() },
            mptcp: mptcp.into_iter().collect(),
            unknown: Vec::new(),
        }));
        let deadline = self.subflows[r].syn_sent(now);
        self.wake_by(deadline);
        segment
    }

    fn syn_option(&mut self, r: usize, passive: bool) -> Option<MptcpOption> {
        if !self.level.is_multipath() {
            return None;
        }
        let local_id = self.subflows[r].local_id();
        let first = self.config.kernel_paths.as_ref().map_or(u8::MAX, |kernel| kernel.first_without_endpoint);
        let address_id = self.addresses.number(local_id, first);
        let subflow = &self.subflows[r];
        Some(match (subflow.join(), passive) {
            (None, _) => MptcpOption::MpCapable(MpCapable {
                version: 1,
                flags: self.capable_flags(),
                sender_key: passive.then_some(self.keys.local),
                receiver_key: None,
                data: None,
            }),
            (Some(join), false) => MptcpOption::MpJoin(MpJoin::Syn {
                backup: subflow.is_backup(),
                address_id,
                token: wire::keys::token(self.keys.remote.unwrap_or(0)),
                nonce: join.local_nonce,
            }),
            (Some(join), true) => {
                let (local, remote) = (self.keys.local, self.keys.remote.unwrap_or(0));
                MptcpOption::MpJoin(MpJoin::SynAck {
                    backup: subflow.is_backup(),
                    address_id,
                    hmac: wire::keys::join_hmac_syn_ack(remote, local, join.remote_nonce, join.local_nonce),
                    nonce: join.local_nonce,
                })
            }
        })
    }
}
