//! Hostile and broken networks: segments are changed, repeated, invented. Nothing panics, no timer stands still (the
//! harness checks that), memory stays bounded; and where a checksum protects the data, no wrong byte is delivered.

use crate::common::{CLIENT, Crossing, MS, Pair, Path, SECOND, SERVER, mptcp_options};
use proptest::prelude::*;
use rand_core::{RngCore, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use transport::{Config, Event, Instant, Protocol, ReceiveBuffer};
use wire::{
    AddAddr, DataNumber, Dss, Flags, Mapping, MpCapable, MpJoin, MptcpOption, Options, RareOptions, SackBlock, Segment,
    Span, Timestamps,
};

/// Draws for the mutations.
struct Dice(Xoshiro256PlusPlus);

impl Dice {
    fn new(seed: u64) -> Self {
        Dice(Xoshiro256PlusPlus::seed_from_u64(seed))
    }

    fn below(&mut self, n: u64) -> u64 {
        self.0.next_u64() % n
    }

    /// A number near `n`, or any.
    fn near(&mut self, n: u64) -> u64 {
        match self.below(4) {
            0 => self.0.next_u64(),
            1 => n.wrapping_add(self.below(3)).wrapping_sub(1),
            2 => n.wrapping_add(self.below(100_000)).wrapping_sub(50_000),
            _ => n ^ (1 << self.below(64)),
        }
    }

    fn near32(&mut self, n: u32) -> u32 {
        self.near(u64::from(n)) as u32
    }

    fn number(&mut self, n: u64) -> DataNumber {
        let n = self.near(n);
        if self.below(3) == 0 { DataNumber::short(n) } else { DataNumber::Long(n) }
    }

    fn coin(&mut self) -> bool {
        self.below(2) == 0
    }
}

fn long(n: DataNumber) -> u64 {
    match n {
        DataNumber::Long(n) => n,
        DataNumber::Short(n) => u64::from(n),
    }
}

/// An option that may or may not make sense; keys are those of the connection when they were seen.
fn any_option(dice: &mut Dice, keys: [u64; 2]) -> MptcpOption {
    let key = keys[dice.below(2) as usize] ^ (u64::from(dice.below(4) == 0));
    let id = dice.below(12) as u8;
    let address = std::net::Ipv4Addr::new(10, 9, 9, dice.below(20) as u8).into();
    let port = dice.coin().then(|| dice.below(3) as u16 + 79);
    match dice.below(9) {
        0 => {
            let (from, to) = if dice.coin() { (keys[0], keys[1]) } else { (keys[1], keys[0]) };
            let hmac = Some(wire::keys::add_addr_hmac(from, to, id, address, port) ^ dice.below(2));
            MptcpOption::AddAddr(AddAddr { echo: false, id, address, port, hmac })
        }
        1 => MptcpOption::AddAddr(AddAddr { echo: true, id, address, port, hmac: None }),
        2 => MptcpOption::RemoveAddr((0..1 + dice.below(4)).map(|_| dice.below(12) as u8).collect()),
        3 => MptcpOption::MpPrio { backup: dice.coin() },
        4 => MptcpOption::MpFail { dsn: dice.near(wire::keys::idsn(key)) },
        5 if dice.below(20) == 0 => MptcpOption::MpFastclose { receiver_key: key },
        5 | 6 => MptcpOption::MpTcpRst { flags: dice.below(16) as u8, reason: dice.below(8) as u8 },
        7 => MptcpOption::MpCapable(MpCapable {
            version: 1,
            flags: dice.below(256) as u8,
            sender_key: dice.coin().then_some(key),
            receiver_key: None,
            data: None,
        }),
        _ => MptcpOption::MpJoin(MpJoin::Syn {
            backup: dice.coin(),
            address_id: id,
            token: wire::keys::token(key),
            nonce: dice.0.next_u64() as u32,
        }),
    }
}

fn add_option(s: &mut Segment<Span>, option: MptcpOption) {
    s.options.rare.get_or_insert_with(|| Box::new(RareOptions::default())).mptcp.push(option);
}

/// Changes something of a segment.
fn mutate(dice: &mut Dice, s: &mut Segment<Span>, keys: [u64; 2]) {
    match dice.below(14) {
        0 => s.seq = dice.near32(s.seq),
        1 => s.ack = dice.near32(s.ack),
        2 => s.flags = Flags(s.flags.0 ^ (1 << dice.below(8))),
        3 => s.window = dice.0.next_u64() as u16,
        4 => s.options.timestamps = dice.coin().then(|| Timestamps { value: dice.0.next_u64() as u32, echo: 1 }),
        5 => {
            s.options.sack.push(SackBlock { left: dice.near32(s.ack), right: dice.near32(s.ack) });
        }
        6 => s.options.dss = None,
        7 | 8 => {
            let dss = s.options.dss.get_or_insert_with(Dss::default);
            let known = dss.mapping.unwrap_or(Mapping { dsn: DataNumber::Long(0), ssn: 1, len: 1, checksum: None });
            dss.mapping = Some(Mapping {
                dsn: if dice.coin() { dice.number(long(known.dsn)) } else { known.dsn },
                ssn: if dice.coin() { dice.near32(known.ssn) } else { known.ssn },
                len: if dice.coin() { dice.near(u64::from(known.len)) as u16 } else { known.len },
                checksum: if dice.below(8) == 0 { Some(dice.below(65_536) as u16) } else { known.checksum },
            });
            dss.data_fin ^= dice.below(8) == 0;
        }
        9 => {
            if let Some(dss) = &mut s.options.dss {
                dss.data_ack = dss.data_ack.map(|n| dice.number(long(n)));
            }
        }
        10 => s.payload.len = (s.payload.len as u64 + dice.below(2_000)) as u32 / 2,
        11 => s.options = Options::default(),
        _ => {
            let option = any_option(dice, keys);
            add_option(s, option);
        }
    }
}

/// A network that changes a segment in `every`, keeps some to send them again later, and invents some.
fn hostile(seed: u64, every: u64) -> impl FnMut(u64, usize, usize, Segment<Span>) -> Vec<Crossing> {
    let mut dice = Dice::new(seed);
    let mut old: Vec<(usize, Segment<Span>)> = Vec::new();
    let mut keys = [1, 2];
    move |_, side, _, s| {
        for option in mptcp_options(&s) {
            if let MptcpOption::MpCapable(MpCapable { sender_key: Some(key), .. }) = option {
                keys[side] = *key;
            }
        }
        if old.len() < 64 {
            old.push((side, s.clone()));
        } else {
            let i = dice.below(64) as usize;
            old[i] = (side, s.clone());
        }
        if dice.below(every) > 0 {
            return vec![Crossing::new(side, s)];
        }
        let mut changed = s.clone();
        match dice.below(6) {
            0 => {
                // An old segment, from whichever side it was.
                let i = dice.below(old.len() as u64) as usize;
                let (from, again) = old[i].clone();
                vec![Crossing::new(from, again), Crossing::new(side, s)]
            }
            1 => {
                changed.flags =
                    [Flags::RST, Flags::RST | Flags::ACK, Flags::SYN, Flags::SYN | Flags::ACK][dice.below(4) as usize];
                changed.payload = Span::default();
                let option = any_option(&mut dice, keys);
                add_option(&mut changed, option);
                vec![Crossing::new(side, changed), Crossing::new(side, s)]
            }
            _ => {
                for _ in 0..1 + dice.below(3) {
                    mutate(&mut dice, &mut changed, keys);
                }
                vec![Crossing::new(side, changed)]
            }
        }
    }
}

fn config() -> impl Strategy<Value = Config> {
    let buffer = prop_oneof![Just(ReceiveBuffer::Auto), (3_000u64..200_000).prop_map(ReceiveBuffer::Fixed)];
    (0..8u8, any::<bool>(), buffer).prop_map(|(kind, checksum, receive_buffer)| Config {
        protocol: if kind == 0 { Protocol::Tcp } else { Protocol::Mptcp },
        checksum,
        receive_buffer,
        keep_without_subflow_ns: 20 * SECOND,
        ..Config::default()
    })
}

/// More than any buffer of these tests and twice what is in flight, in segments of one byte: never reached; a leak is.
const MANY: usize = 60_000;

proptest! {
    #![proptest_config(ProptestConfig { max_shrink_iters: 200, ..ProptestConfig::with_cases(300) })]

    #[test]
    fn nothing_that_arrives_panics_or_grows_without_bound(
        seed: u64,
        client in config(),
        server in config(),
        paths in 1usize..4,
        every in prop_oneof![2u64..10, 10u64..200],
    ) {
        let mut pair = Pair::new(seed, [client, server], vec![Path { loss: 5, ..Path::clean(10 * MS) }; paths]);
        (pair.checking, pair.follow_first) = (false, true);
        pair.middlebox(hostile(seed, every));
        pair.run_until(SECOND, |p| p.ids[SERVER].is_some());
        for side in [CLIENT, SERVER] {
            if pair.ids[side].is_some() {
                pair.connection(side).offer(300_000);
                if seed & 1 == side as u64 {
                    let now_ns = pair.now_ns;
                    pair.connection(side).close(Instant::from_nanos(now_ns));
                }
            }
        }
        let mut most = 0;
        pair.run_until(200 * SECOND, |p| {
            for side in [CLIENT, SERVER] {
                if p.ids[side].is_some() {
                    most = most.max(p.connection(side).items_held());
                }
            }
            p.segments > 300_000
        });
        prop_assert!(most < MANY, "{most} things held");
        prop_assert!(pair.segments <= 300_000, "a storm of segments");
    }

    /// Mappings and checksums are changed, nothing else: what is delivered is right, and either all is or the
    /// connection ends. Not of every seed: 16 bits miss one of 65,535 changed lengths, and a lost reset leaves one side waiting.
    #[test]
    fn no_wrong_byte_passes_the_checksum(seed: u64, paths in 1usize..4, every in 20u64..2_000) {
        let config = Config { checksum: true, keep_without_subflow_ns: 20 * SECOND, ..Config::default() };
        let mut pair = Pair::new(seed, [config.clone(), config], vec![Path { loss: 5, ..Path::clean(10 * MS) }; paths]);
        let mut dice = Dice::new(seed);
        pair.middlebox(move |_, side, _, mut s| {
            if s.payload.len > 0 && dice.below(every) == 0
                && let Some(Dss { mapping: Some(m), .. }) = &mut s.options.dss {
                    match dice.below(4) {
                        _ if m.len == 0 => {} // nothing protects the infinite mapping
                        0 => m.dsn = dice.number(long(m.dsn)),
                        1 => m.ssn = dice.near32(m.ssn),
                        2 => m.len = (dice.near(u64::from(m.len)) as u16).max(1),
                        _ => m.checksum = m.checksum.map(|c| dice.near(u64::from(c)) as u16),
                    }
                }
            vec![Crossing::new(side, s)]
        });
        let up = pair.run_until(60 * SECOND, |p| p.saw(SERVER, Event::Established));
        prop_assert!(up);
        pair.connection(SERVER).offer(600_000);
        let now_ns = pair.now_ns;
        pair.connection(SERVER).close(Instant::from_nanos(now_ns));
        let ended = |p: &mut Pair, side| p.saw(side, Event::Closed) || p.saw(side, Event::Aborted);
        let done = pair.run_until(1_800 * SECOND, |p| ended(p, CLIENT) && ended(p, SERVER));
        prop_assert!(done, "stuck: {:?} {:?}", pair.read, pair.events);
        let whole = pair.read[CLIENT] == 600_000;
        prop_assert!(whole || pair.saw(CLIENT, Event::Aborted), "{:?} {:?}", pair.read, pair.events);
    }
}
