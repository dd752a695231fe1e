//! What a connection knows of addresses, its own and the peer's, beyond those of its subflows. What is done about them is in
//! `add_addr.rs` and `remove_addr.rs`.

use std::net::{IpAddr, SocketAddr};

use wire::AddAddr;

use crate::path_manager::{LocalAddress, RemoteAddress};
use crate::time::{Duration, Instant};

/// Addresses of the peer that are remembered; what goes beyond is not.
const MAX_REMOTE: usize = 16;
const SECOND: Duration = Duration::from_secs(1);

/// An address that we have announced.
#[derive(Clone, Copy, Debug)]
struct Announcement {
    option: AddAddr,
    /// How often it was sent.
    sent: u32,
    /// When it is due again; never once the echo was seen.
    next_at: Instant,
}

/// The addresses; of a connection of TCP, which has no use for them, none.
#[derive(Debug, Default)]
pub struct Addresses(Option<Box<Known>>);

/// What is known of addresses.
#[derive(Debug, Default)]
struct Known {
    local: Vec<LocalAddress>,
    /// The port of the first subflow.
    port: u16,
    remote: Vec<RemoteAddress>,
    announced: Vec<Announcement>,
    /// Local ids that may not be used any more.
    withdrawn: Vec<u8>,
    /// Local ids of addresses without an endpoint that were used, in their order.
    numbered: Vec<u8>,
    /// Joins of announced addresses that nobody has answered, one less with every second.
    unanswered: u8,
    /// Since when the next second counts.
    counted_at: Instant,
}

impl Addresses {
    /// Those of a connection whose first subflow has the port `port`.
    pub fn new(local: Vec<LocalAddress>, port: u16) -> Self {
        Addresses(Some(Box::new(Known { local, port, ..Known::default() })))
    }

    fn known(&self) -> &Known {
        static NONE: Known = Known {
            local: Vec::new(),
            port: 0,
            remote: Vec::new(),
            announced: Vec::new(),
            withdrawn: Vec::new(),
            numbered: Vec::new(),
            unanswered: 0,
            counted_at: Instant::ZERO,
        };
        self.0.as_deref().unwrap_or(&NONE)
    }

    /// Addresses of either side.
    pub fn len(&self) -> usize {
        self.known().remote.len() + self.known().announced.len() + self.known().withdrawn.len()
    }

    /// The port of the first subflow.
    pub fn port(&self) -> u16 {
        self.known().port
    }

    /// The local address with this id.
    pub fn local(&self, id: u8) -> Option<LocalAddress> {
        self.known().local.iter().find(|a| a.id == id).copied()
    }

    /// The local address that is this one.
    pub fn local_at(&self, address: IpAddr) -> Option<LocalAddress> {
        self.known().local.iter().find(|a| a.address == address).copied()
    }

    /// Local addresses that may be used.
    pub fn usable(&self) -> Vec<LocalAddress> {
        self.known().local.iter().copied().filter(|a| !self.is_withdrawn(a.id)).collect()
    }

    /// The peer's addresses.
    pub fn remotes(&self) -> &[RemoteAddress] {
        &self.known().remote
    }

    /// The peer's address with this id.
    pub fn remote(&self, id: u8) -> Option<RemoteAddress> {
        self.known().remote.iter().find(|a| a.id == id).copied()
    }

    /// The peer has an address. False: it is not taken, for the id stands for another address, which has to be removed
    /// first, or there are too many.
    pub fn learn(&mut self, id: u8, address: SocketAddr) -> bool {
        match self.remote(id) {
            Some(known) => known.address == address,
            None if self.known().remote.len() >= MAX_REMOTE => false,
            None => {
                let remote = &mut self.0.get_or_insert_default().remote;
                remote.reserve_exact(1);
                remote.push(RemoteAddress { id, address });
                true
            }
        }
    }

    /// The peer has an address no more. Answers whether it was known.
    pub fn forget_remote(&mut self, id: u8) -> bool {
        let before = self.known().remote.len();
        self.0.get_or_insert_default().remote.retain(|a| a.id != id);
        self.known().remote.len() < before
    }

    /// Whether one more address that the peer has announced may be tried, and counts it: `at_once` of them, and another for
    /// every answer and every second. A peer could have this host send SYNs to whomever it names (RFC 8684 §5).
    pub fn may_try(&mut self, now: Instant, at_once: u8) -> bool {
        let known = self.0.get_or_insert_default();
        let seconds = now.saturating_since(known.counted_at) / SECOND;
        known.unanswered = known.unanswered.saturating_sub(seconds.min(u8::MAX.into()) as u8);
        known.counted_at = if known.unanswered == 0 { now } else { known.counted_at + seconds * SECOND };
        if known.unanswered >= at_once {
            return false;
        }
        known.unanswered += 1;
        true
    }

    /// One that was tried has answered, and knows the keys.
    pub fn tried_well(&mut self) {
        if let Some(known) = &mut self.0 {
            known.unanswered = known.unanswered.saturating_sub(1);
        }
    }

    /// The number on the wire of a local id: that of the id itself below `first`, and beyond it the next that is free.
    pub fn number(&mut self, local_id: u8, first: u8) -> u8 {
        if local_id < first {
            return local_id;
        }
        let numbered = &mut self.0.get_or_insert_default().numbered;
        let place = numbered.iter().position(|&id| id == local_id).unwrap_or_else(|| {
            numbered.push(local_id);
            numbered.len() - 1
        });
        first.saturating_add(place as u8)
    }

    /// Whether a local id may not be used any more.
    pub fn is_withdrawn(&self, local_id: u8) -> bool {
        self.known().withdrawn.contains(&local_id)
    }

    /// A local address is gone.
    pub fn withdraw(&mut self, local_id: u8) {
        self.0.get_or_insert_default().announced.retain(|a| a.option.id != local_id);
        if !self.is_withdrawn(local_id) {
            self.0.get_or_insert_default().withdrawn.push(local_id);
        }
    }

    /// A local address may be used again.
    pub fn restore(&mut self, local_id: u8) {
        self.0.get_or_insert_default().withdrawn.retain(|&id| id != local_id);
    }

    /// A local address is to be announced, at once.
    pub fn announce(&mut self, now: Instant, option: AddAddr) {
        self.0.get_or_insert_default().withdrawn.retain(|&id| id != option.id);
        self.0.get_or_insert_default().announced.retain(|a| a.option.id != option.id);
        self.0.get_or_insert_default().announced.push(Announcement { option, sent: 0, next_at: now });
    }

    /// The peer has echoed an announcement.
    pub fn echoed(&mut self, add: &AddAddr) {
        let known =
            |a: &Announcement| (a.option.id, a.option.address, a.option.port) == (add.id, add.address, add.port);
        for announcement in self.0.get_or_insert_default().announced.iter_mut().filter(|a| known(a)) {
            announcement.next_at = Instant::NEVER;
        }
    }

    /// The announcements to send now. Each is due again, `most` times, after `wait` of how often it was sent before.
    pub fn take_due(&mut self, now: Instant, wait: impl Fn(u32) -> Duration, most: u32) -> Vec<AddAddr> {
        let mut due = Vec::new();
        for announcement in self.0.get_or_insert_default().announced.iter_mut().filter(|a| a.next_at <= now) {
            due.push(announcement.option);
            let due_at = now + wait(announcement.sent);
            announcement.sent += 1;
            announcement.next_at = if announcement.sent > most { Instant::NEVER } else { due_at };
        }
        due
    }

    /// When the next announcement is due.
    pub fn next_due(&self) -> Instant {
        self.known().announced.iter().map(|a| a.next_at).min().unwrap_or(Instant::NEVER)
    }

    /// TCP is spoken, or nothing any more.
    pub fn forget_announcements(&mut self) {
        if let Some(known) = &mut self.0 {
            known.announced.clear();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::Ipv4Addr;

    #[test]
    fn addresses_without_an_endpoint_are_numbered_in_the_order_of_their_first_use() {
        let mut a = Addresses::default();
        assert_eq!([3, 5, 4, 5, 2, 0].map(|id| a.number(id, 3)), [3, 4, 5, 4, 2, 0]);
        assert_eq!([7, 1].map(|id| Addresses::default().number(id, u8::MAX)), [7, 1]);
    }

    #[test]
    fn an_announcement_is_repeated_like_a_syn_until_its_echo_comes() {
        let mut a = Addresses::default();
        let address = IpAddr::V4(Ipv4Addr::new(10, 0, 1, 2));
        let option = AddAddr { echo: false, id: 3, address, port: None, hmac: Some(0) };
        a.announce(Instant::from_nanos(100), option);
        let mut sent_at = Vec::new();
        for now in 100..2_000 {
            sent_at.extend(
                a.take_due(Instant::from_nanos(now), |sent| Duration::from_nanos(100 << sent), 2).iter().map(|_| now),
            );
        }
        // Twice more, after one and two timeouts.
        assert_eq!((sent_at, a.next_due()), (vec![100, 200, 400], Instant::NEVER));
        a.announce(Instant::from_nanos(2_000), option);
        assert_eq!(a.take_due(Instant::from_nanos(2_000), |_| Duration::from_nanos(100), 2).len(), 1);
        a.echoed(&AddAddr { port: Some(80), ..option });
        assert_eq!(a.next_due(), Instant::from_nanos(2_100), "another port is another address");
        a.echoed(&AddAddr { echo: true, hmac: None, ..option });
        assert_eq!(a.next_due(), Instant::NEVER);
    }

    #[test]
    fn unanswered_tries_are_bounded() {
        let mut a = Addresses::default();
        let mut tried = |from: u64, to: u64| {
            (from..to).step_by(1_000_000).filter(|&at| a.may_try(Instant::from_nanos(at), 8)).count()
        };
        // Eight at once, then one a second.
        assert_eq!(tried(0, 1), 1);
        assert_eq!(tried(1_000_000, (8 * SECOND).as_nanos()), 7 + 7);
        let mut answered = Addresses::default();
        assert!((0..1_000).all(|at| {
            let may = answered.may_try(Instant::from_nanos(at), 8);
            answered.tried_well();
            may
        }));
    }

    #[test]
    fn the_peers_addresses_are_bounded_and_an_id_keeps_its_address() {
        let mut a = Addresses::default();
        let at = |n: u8| SocketAddr::new(IpAddr::V4(Ipv4Addr::new(10, 0, 0, n)), 80);
        for id in 0..40 {
            assert_eq!(a.learn(id, at(id)), usize::from(id) < MAX_REMOTE);
        }
        assert!(a.learn(1, at(1)));
        assert!(!a.learn(1, at(2)));
        assert!(a.forget_remote(1));
        assert!(!a.forget_remote(1));
        assert!(a.learn(1, at(2)));
    }
}
