//! Numbers that a stranger must not guess: keys, nonces, initial sequence numbers, ports.
//!
//! In simulation they come from the host's seeded generator, so that a run can be repeated. On real packets they come from
//! a source that the driver gives, the operating system's, and the seeded generator serves plug-ins only.

use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use rand_core::{RngCore, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::names::Tuple;
use crate::time::Instant;

/// RFC 6528 §3: the clock of initial sequence numbers ticks every 4 µs.
const ISN_TICK_NS: u64 = 4_000;

/// A host's or a connection's source of such numbers.
#[derive(Clone, Debug)]
pub(crate) struct Secrets {
    seeded: Xoshiro256PlusPlus,
    system: Option<Arc<System>>,
}

/// Writes random bytes that nobody can guess.
pub(crate) type Fill = Box<dyn Fn(&mut [u8]) + Send + Sync>;

/// What stands behind real packets.
struct System {
    fill: Fill,
    /// Of the keyed hashes; drawn when the host is made.
    key: [u8; 32],
}

impl fmt::Debug for System {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("System") // the key is nobody's business
    }
}

/// What a keyed hash is for: no two uses share an input.
#[repr(u8)]
enum Purpose {
    SequenceNumber,
    Token,
}

impl Secrets {
    pub fn seeded(seeded: Xoshiro256PlusPlus) -> Self {
        Secrets { seeded, system: None }
    }

    pub fn system(seeded: Xoshiro256PlusPlus, fill: Fill) -> Self {
        let mut key = [0; 32];
        fill(&mut key);
        Secrets { seeded, system: Some(Arc::new(System { fill, key })) }
    }

    /// For a connection: the same source, and a seeded generator of its own.
    pub fn for_connection(&mut self) -> Self {
        Secrets { seeded: Xoshiro256PlusPlus::seed_from_u64(self.seeded.next_u64()), system: self.system.clone() }
    }

    /// What plug-ins draw from; nothing of it needs to be secret.
    pub fn generator(&self) -> &Xoshiro256PlusPlus {
        &self.seeded
    }

    pub fn draw_u64(&mut self) -> u64 {
        let Some(system) = &self.system else { return self.seeded.next_u64() };
        let mut bytes = [0; 8];
        (system.fill)(&mut bytes);
        u64::from_ne_bytes(bytes)
    }

    pub fn draw_u32(&mut self) -> u32 {
        let Some(system) = &self.system else { return self.seeded.next_u32() };
        let mut bytes = [0; 4];
        (system.fill)(&mut bytes);
        u32::from_ne_bytes(bytes)
    }

    /// The initial sequence number of a subflow: the clock plus a keyed hash of both ends (RFC 6528 §3), so that a later
    /// subflow between the same ends begins above an earlier one, and nobody else can tell where.
    pub fn initial_sequence_number(&mut self, now: Instant, tuple: Tuple) -> u32 {
        let Some(system) = &self.system else { return self.seeded.next_u32() };
        let mut message = Vec::with_capacity(37);
        message.push(Purpose::SequenceNumber as u8);
        for end in [tuple.local, tuple.remote] {
            append(&mut message, end);
        }
        system.hash(&message).wrapping_add(now.as_nanos() / ISN_TICK_NS) as u32
    }

    /// What stands for a token where tokens are looked up. The time of a search tells how far two numbers agree; about
    /// keyed hashes that is of no use to anybody.
    pub fn blinded(&self, token: u32) -> u64 {
        let Some(system) = &self.system else { return token.into() };
        let [a, b, c, d] = token.to_be_bytes();
        system.hash(&[Purpose::Token as u8, a, b, c, d])
    }
}

impl System {
    fn hash(&self, message: &[u8]) -> u64 {
        wire::keys::keyed_hash(&self.key, message)
    }
}

fn append(message: &mut Vec<u8>, end: SocketAddr) {
    match end.ip() {
        IpAddr::V4(v4) => message.extend(v4.octets()),
        IpAddr::V6(v6) => message.extend(v6.octets()),
    }
    message.extend(end.port().to_be_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tuple(port: u16) -> Tuple {
        let end = |host: u8, port| SocketAddr::from(([10, 0, 0, host], port));
        Tuple { local: end(1, port), remote: end(2, 80) }
    }

    /// A source that counts its calls, so that the test knows the key.
    fn counting() -> Secrets {
        let calls = std::sync::atomic::AtomicU8::new(0);
        let fill = move |out: &mut [u8]| out.fill(calls.fetch_add(1, std::sync::atomic::Ordering::Relaxed));
        Secrets::system(Xoshiro256PlusPlus::seed_from_u64(1), Box::new(fill))
    }

    /// By Python: sha256(bytes(32) + bytes.fromhex("00" "0a000001c350" "0a0000020050")), bytes 4 to 8.
    #[test]
    fn an_initial_sequence_number_is_the_clock_plus_a_keyed_hash_of_the_ends() {
        let mut secrets = counting();
        let at = |secrets: &mut Secrets, now, port| secrets.initial_sequence_number(now, tuple(port));
        let first = at(&mut secrets, Instant::ZERO, 50_000);
        assert_eq!(first, 0xa1b4_8c75);
        // Later between the same ends: 250,000 a second more, also past the end of the numbers.
        assert_eq!(at(&mut secrets, Instant::from_secs(1), 50_000), first.wrapping_add(250_000));
        assert_eq!(at(&mut secrets, Instant::from_secs(40000), 50_000), first.wrapping_add(10_000_000_000_u64 as u32));
        // Between others: elsewhere altogether.
        assert!(at(&mut secrets, Instant::ZERO, 50_001).abs_diff(first) > 1 << 16);
        let other = &mut Secrets::system(Xoshiro256PlusPlus::seed_from_u64(1), Box::new(|out| out.fill(9)));
        assert!(at(other, Instant::ZERO, 50_000).abs_diff(first) > 1 << 16);
    }

    #[test]
    fn with_a_source_nothing_secret_comes_from_the_seed() {
        let mut secrets = counting();
        assert_eq!(secrets.draw_u64(), 0x0101_0101_0101_0101, "the second call, after the key");
        let mut connection = secrets.for_connection();
        assert_eq!(connection.draw_u32(), 0x0202_0202);
        assert_eq!(secrets.draw_u32(), 0x0303_0303);
        assert_ne!(secrets.blinded(7), 7);
        assert_eq!(secrets.blinded(7), connection.blinded(7));
        assert!(!format!("{secrets:?}").contains("key"));
    }

    /// The order of the draws is part of what a seed means.
    #[test]
    fn without_one_all_comes_from_the_seed_in_order() {
        let mut expected = Xoshiro256PlusPlus::seed_from_u64(5);
        let mut secrets = Secrets::seeded(expected.clone());
        assert_eq!(secrets.draw_u64(), expected.next_u64());
        let mut connection = secrets.for_connection();
        let mut own = Xoshiro256PlusPlus::seed_from_u64(expected.next_u64());
        assert_eq!(connection.initial_sequence_number(Instant::from_nanos(99), tuple(1)), own.next_u32());
        assert_eq!(connection.draw_u32(), own.next_u32());
        assert_eq!(secrets.blinded(7), 7);
    }
}
