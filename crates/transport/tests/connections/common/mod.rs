//! Two hosts and the paths between them, in virtual time. Every segment goes through the codec; every byte that
//! arrives is checked against its place.

pub mod tcp_peer;

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex};

use rand_core::{RngCore, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use transport::congestion::View;
use transport::plugin::Kind;
use transport::scheduler::{Choice, Context, Decision, Demand, PacketScheduler, SubflowSet, usable};
use transport::{
    Config, Connection, ConnectionId, Duration, Event, Host, Instant, LocalAddress, Trace, TraceEvent, Tuple,
};
use wire::{IpHeader, Segment, Span};

pub const MS: u64 = 1_000_000;
pub const SECOND: u64 = 1_000_000_000;
pub const CLIENT: usize = 0;
pub const SERVER: usize = 1;
const PORT: u16 = 80;

/// A path in both directions. Probabilities are out of 1000.
#[derive(Clone, Debug)]
pub struct Path {
    pub delay_ns: u64,
    /// Added at random, so that segments overtake each other.
    pub jitter_ns: u64,
    /// Bits per second; 0: no serialisation.
    pub rate_bps: u64,
    pub loss: u64,
    pub duplication: u64,
    /// Nothing passes in these intervals.
    pub dead_ns: Vec<(u64, u64)>,
    /// What is sent in these intervals leaves at their end.
    pub stall_ns: Vec<(u64, u64)>,
}

impl Path {
    #[allow(dead_code)] // not every test binary that includes this module uses all of it
    pub fn clean(delay_ns: u64) -> Self {
        Path {
            delay_ns,
            jitter_ns: 0,
            rate_bps: 10_000_000,
            loss: 0,
            duplication: 0,
            dead_ns: Vec::new(),
            stall_ns: Vec::new(),
        }
    }
}

/// What a test sees of a segment on its way.
pub type Tap = Box<dyn FnMut(u64, usize, usize, &mut Segment<Span>) -> bool>;

/// What a test sees of a segment that arrives: (now, receiving side, path, segment).
pub type Ear = Box<dyn FnMut(u64, usize, usize, &Segment<Span>)>;

/// A segment as a middlebox sends it on: from the end `from`, or so it seems.
#[derive(Clone, Debug)]
pub struct Crossing {
    pub from: usize,
    pub segment: Segment<Span>,
    /// Held back so long.
    pub delay_ns: u64,
}

impl Crossing {
    #[allow(dead_code)]
    pub fn new(from: usize, segment: Segment<Span>) -> Self {
        Crossing { from, segment, delay_ns: 0 }
    }
}

/// Keeps what a connection decides.
#[derive(Clone, Debug, Default)]
pub struct Recorder(Arc<Mutex<Vec<(u64, TraceEvent)>>>);

impl Trace for Recorder {
    fn event(&mut self, now: Instant, event: &TraceEvent) {
        self.0.lock().unwrap().push((now.as_nanos(), event.clone()));
    }
}

impl Recorder {
    /// All that was heard.
    #[allow(dead_code)]
    pub fn events(&self) -> Vec<(u64, TraceEvent)> {
        self.0.lock().unwrap().clone()
    }
}

/// What stands on the paths: (now, sending side, path, segment) to what goes on from there.
pub type Middlebox = Box<dyn FnMut(u64, usize, usize, Segment<Span>) -> Vec<Crossing>>;

pub struct Pair {
    pub now_ns: u64,
    pub hosts: [Host<Span>; 2],
    pub ids: [Option<ConnectionId>; 2],
    pub events: [Vec<(u64, Event)>; 2],
    /// In-order bytes read at each end.
    pub read: [u64; 2],
    /// Whether each end reads what arrives.
    pub reading: [bool; 2],
    pub close_on_end: bool,
    paths: Vec<Path>,
    busy_until_ns: Vec<[u64; 2]>,
    flying: BTreeMap<(u64, u64), (usize, Tuple, Segment<Span>)>,
    sequence: u64,
    rng: Xoshiro256PlusPlus,
    tap: Option<Tap>,
    ear: Option<Ear>,
    middlebox: Option<Middlebox>,
    /// The server sees the clients behind other addresses and ports.
    pub nat: bool,
    /// Whether a byte in a wrong place is an error; without a checksum a middlebox can put one there.
    pub checking: bool,
    /// The server's first connection is the one that is driven, also when others are opened.
    pub follow_first: bool,
    pub segments: u64,
    /// The MSS that each end announces.
    mss: [u16; 2],
    /// Who hears what each end decides, from its beginning.
    pub traces: [Option<Recorder>; 2],
}

impl Pair {
    pub fn new(seed: u64, config: [Config; 2], paths: Vec<Path>) -> Self {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
        let mut host = || Host::new(Xoshiro256PlusPlus::seed_from_u64(rng.next_u64()));
        let mut hosts = [host(), host()];
        let [client, server] = config;
        let mss = [client.mss, server.mss];
        hosts[SERVER].listen(PORT, server);
        let local: Vec<_> = (0..paths.len() as u8)
            .map(|id| LocalAddress { id, address: IpAddr::V4(Ipv4Addr::new(10, 0, id, 2)), backup: false })
            .collect();
        let remote = SocketAddr::new(IpAddr::V4(Ipv4Addr::new(10, 9, 9, 9)), PORT);
        let id = hosts[CLIENT].connect(Instant::ZERO, client, &local, 40_000, remote);
        let busy_until_ns = vec![[0; 2]; paths.len()];
        Pair {
            now_ns: 0,
            hosts,
            ids: [Some(id), None],
            events: [Vec::new(), Vec::new()],
            read: [0; 2],
            reading: [true; 2],
            close_on_end: true,
            paths,
            busy_until_ns,
            flying: BTreeMap::new(),
            sequence: 0,
            rng,
            tap: None,
            ear: None,
            middlebox: None,
            nat: false,
            checking: true,
            follow_first: false,
            segments: 0,
            mss,
            traces: [None, None],
        }
    }

    /// Looks at, changes, or (answering false) drops segments: (now, sending side, path, segment).
    #[allow(dead_code)]
    pub fn tap(&mut self, tap: impl FnMut(u64, usize, usize, &mut Segment<Span>) -> bool + 'static) {
        self.tap = Some(Box::new(tap));
    }

    /// Looks at what arrives.
    pub fn listen(&mut self, ear: impl FnMut(u64, usize, usize, &Segment<Span>) + 'static) {
        self.ear = Some(Box::new(ear));
    }

    /// What `side` decides from now on, or from the beginning of the connection.
    #[allow(dead_code)]
    pub fn trace(&mut self, side: usize) -> Recorder {
        let recorder = Recorder::default();
        self.traces[side] = Some(recorder.clone());
        recorder
    }

    /// Puts a middlebox on all paths.
    #[allow(dead_code)]
    pub fn middlebox(&mut self, middlebox: impl FnMut(u64, usize, usize, Segment<Span>) -> Vec<Crossing> + 'static) {
        self.middlebox = Some(Box::new(middlebox));
    }

    pub fn connection(&mut self, side: usize) -> &mut Connection<Span> {
        let id = self.ids[side].expect("the connection does not exist yet");
        self.hosts[side].connection_mut(id)
    }

    pub fn saw(&self, side: usize, event: Event) -> bool {
        self.events[side].iter().any(|&(_, e)| e == event)
    }

    /// Runs until `done` or the time; answers whether `done`.
    pub fn run_until(&mut self, until_ns: u64, mut done: impl FnMut(&mut Self) -> bool) -> bool {
        loop {
            self.pump();
            if done(self) {
                return true;
            }
            let arrival = self.flying.keys().next().map_or(u64::MAX, |k| k.0);
            let timer = (0..2).map(|s| self.next_timeout(s)).min().unwrap_or(u64::MAX);
            let next = arrival.min(timer);
            if next > until_ns {
                self.now_ns = until_ns;
                return false;
            }
            assert!(next >= self.now_ns, "time ran backwards");
            self.now_ns = next;
            if arrival <= timer {
                let (_, (from, tuple, segment)) = self.flying.pop_first().unwrap();
                let to = 1 - from;
                if let Some(ear) = &mut self.ear {
                    ear(self.now_ns, to, path_of(from, tuple), &segment);
                }
                let seen = self.translate(to, Tuple { local: tuple.remote, remote: tuple.local });
                if let Some(at) = self.hosts[to].receive(Instant::from_nanos(self.now_ns), seen, segment)
                    && !(self.follow_first && self.ids[to].is_some())
                {
                    self.ids[to] = Some(at.connection);
                }
            } else {
                for side in 0..2 {
                    if self.next_timeout(side) <= self.now_ns {
                        let now_ns = self.now_ns;
                        self.connection(side).handle_timeout(Instant::from_nanos(now_ns));
                        assert!(self.next_timeout(side) > now_ns, "a timer that does not advance");
                    }
                }
            }
        }
    }

    /// Network address translation between the client and the server, when there is one.
    fn translate(&self, to: usize, seen: Tuple) -> Tuple {
        let IpAddr::V4(client) = seen.remote.ip() else { panic!("IPv4 only") };
        match (self.nat, to) {
            (false, _) => seen,
            (true, SERVER) => {
                let octets = client.octets();
                let outside = Ipv4Addr::new(192, octets[1], octets[2], octets[3]);
                Tuple { remote: SocketAddr::new(IpAddr::V4(outside), seen.remote.port() ^ 0x1000), ..seen }
            }
            (true, _) => {
                let IpAddr::V4(outside) = seen.local.ip() else { panic!("IPv4 only") };
                let octets = outside.octets();
                let inside = Ipv4Addr::new(10, octets[1], octets[2], octets[3]);
                Tuple { local: SocketAddr::new(IpAddr::V4(inside), seen.local.port() ^ 0x1000), ..seen }
            }
        }
    }

    fn next_timeout(&self, side: usize) -> u64 {
        self.ids[side].map_or(u64::MAX, |id| self.hosts[side].connection(id).next_timeout().as_nanos())
    }

    fn pump(&mut self) {
        for side in 0..2 {
            while let Some((tuple, segment)) = self.hosts[side].transmit() {
                self.send(side, tuple, segment);
            }
            let Some(id) = self.ids[side] else { continue };
            if let Some(trace) = self.traces[side].take() {
                self.hosts[side].connection_mut(id).set_trace(Instant::from_nanos(self.now_ns), Box::new(trace));
            }
            loop {
                while self.reading[side] {
                    let Some(span) = self.hosts[side].connection_mut(id).read() else { break };
                    assert!(!self.checking || span.offset == self.read[side], "side {side} got the wrong bytes");
                    self.read[side] += u64::from(span.len);
                }
                while let Some(event) = self.hosts[side].connection_mut(id).poll_event() {
                    self.events[side].push((self.now_ns, event));
                    if event == Event::EndOfStream && self.close_on_end {
                        let now_ns = self.now_ns;
                        self.connection(side).close(Instant::from_nanos(now_ns));
                    }
                }
                let now_ns = self.now_ns;
                let Some((subflow, segment)) =
                    self.hosts[side].connection_mut(id).transmit(Instant::from_nanos(now_ns))
                else {
                    break;
                };
                let tuple = self.hosts[side].connection(id).tuple(subflow);
                self.send(side, tuple, segment);
            }
        }
    }

    fn send(&mut self, side: usize, tuple: Tuple, mut segment: Segment<Span>) {
        self.segments += 1;
        assert!(self.segments < 3_000_000, "a storm of segments: side {side}, {segment:?}");
        through_wire(tuple, &segment);
        let (len, most) = (segment.header_len() + segment.payload.len as usize, 20 + usize::from(self.mss[1 - side]));
        assert!(segment.payload.len == 0 || len <= most, "{len} bytes of TCP where the MSS allows {most}: {segment:?}");
        let path = path_of(side, tuple);
        if let Some(tap) = &mut self.tap
            && !tap(self.now_ns, side, path, &mut segment)
        {
            return;
        }
        let Some(middlebox) = &mut self.middlebox else {
            self.cross(side, tuple, path, segment, 0);
            return;
        };
        let back = Tuple { local: tuple.remote, remote: tuple.local };
        for crossing in middlebox(self.now_ns, side, path, segment) {
            let tuple = if crossing.from == side { tuple } else { back };
            self.cross(crossing.from, tuple, path, crossing.segment, crossing.delay_ns);
        }
    }

    /// A segment goes over its path.
    fn cross(&mut self, side: usize, tuple: Tuple, path: usize, segment: Segment<Span>, held_ns: u64) {
        let p = &self.paths[path];
        let dead = p.dead_ns.iter().any(|&(from, to)| (from..to).contains(&self.now_ns));
        if dead || (p.loss > 0 && self.rng.next_u64() % 1000 < p.loss) {
            return;
        }
        let size = 20 + segment.header_len() as u64 + u64::from(segment.payload.len);
        let busy = &mut self.busy_until_ns[path][side];
        let start = self.now_ns.max(*busy);
        *busy = start + (size * 8 * SECOND).checked_div(p.rate_bps).unwrap_or(0);
        let stalled = p.stall_ns.iter().find(|&&(from, to)| (from..to).contains(&self.now_ns));
        let departure = stalled.map_or(*busy, |&(_, to)| to.max(*busy));
        let copies = 1 + u64::from(p.duplication > 0 && self.rng.next_u64() % 1000 < p.duplication);
        for _ in 0..copies {
            let jitter = if p.jitter_ns > 0 { self.rng.next_u64() % p.jitter_ns } else { 0 };
            self.sequence += 1;
            self.flying
                .insert((departure + p.delay_ns + jitter + held_ns, self.sequence), (side, tuple, segment.clone()));
        }
    }
}

/// The path of a segment that `side` sends: a part of the client's address.
fn path_of(side: usize, tuple: Tuple) -> usize {
    let IpAddr::V4(client) = [tuple.local, tuple.remote][side].ip() else { panic!("IPv4 only") };
    usize::from(client.octets()[2])
}

/// Encodes a segment, decodes it, and checks that nothing was lost, and that its bytes are those of the span.
fn through_wire(tuple: Tuple, segment: &Segment<Span>) {
    let mut bytes = Vec::new();
    let header = IpHeader::new(tuple.local.ip(), tuple.remote.ip());
    wire::encode(&header, segment, &mut bytes).expect("every segment the transport sends can be encoded");
    let size = 20 + segment.header_len() + segment.payload.len as usize;
    assert_eq!(bytes.len(), size, "{segment:?}");
    let (_, decoded) = wire::decode(&bytes).expect("what was encoded can be decoded");
    let same_header = Segment { payload: (), ..header_of(segment) } == header_of(&decoded);
    assert!(same_header, "{segment:?} became {decoded:?}");
    for (i, &byte) in decoded.payload.iter().enumerate() {
        assert_eq!(byte, Span::byte_at(segment.payload.offset + i as u64));
    }
}

fn header_of<P>(s: &Segment<P>) -> Segment<()> {
    Segment {
        src_port: s.src_port,
        dst_port: s.dst_port,
        seq: s.seq,
        ack: s.ack,
        flags: s.flags,
        window: s.window,
        urgent: s.urgent,
        options: s.options.clone(),
        payload: (),
    }
}

/// Sends `bytes` from `side`, closes, and runs until both ends are closed.
#[allow(dead_code)]
pub fn transfer(pair: &mut Pair, side: usize, bytes: u64) {
    assert!(pair.run_until(120 * SECOND, |p| p.saw(side, Event::Established)), "no handshake: {:?}", pair.events);
    pair.connection(side).offer(bytes);
    finish(pair, side, bytes);
}

/// Closes `side`, and runs until both ends are closed and `bytes` were read.
#[allow(dead_code)]
pub fn finish(pair: &mut Pair, side: usize, bytes: u64) {
    let (now_ns, until_ns) = (pair.now_ns, pair.now_ns + 600 * SECOND);
    pair.connection(side).close(Instant::from_nanos(now_ns));
    let done = pair.run_until(until_ns, |p| p.saw(CLIENT, Event::Closed) && p.saw(SERVER, Event::Closed));
    assert!(done, "stuck: read {:?}, events {:?}", pair.read, pair.events);
    assert_eq!(pair.read[1 - side], bytes);
    assert!(pair.saw(side, Event::Flushed));
}

/// The MPTCP options of a segment, DSS apart.
#[allow(dead_code)]
pub fn mptcp_options(segment: &Segment<Span>) -> &[wire::MptcpOption] {
    segment.options.rare.as_deref().map_or(&[], |rare| &rare.mptcp)
}

/// Takes every MPTCP option off a segment.
#[allow(dead_code)]
pub fn strip(segment: &mut Segment<Span>) {
    segment.options.dss = None;
    if let Some(rare) = &mut segment.options.rare {
        rare.mptcp.clear();
    }
}

/// A log that a tap and a test share.
#[allow(dead_code)]
pub type Log<T> = std::rc::Rc<std::cell::RefCell<Vec<T>>>;

/// A scheduler that does all that a scheduler may, at random: what it does with the data must not matter for what arrives.
#[derive(Debug)]
struct Wild(Xoshiro256PlusPlus);

#[allow(dead_code)]
pub fn wild(seed: u64) -> Choice {
    Choice::custom("wild", move |origin| {
        Box::new(Wild(Xoshiro256PlusPlus::seed_from_u64(seed ^ origin.seed(Kind::Scheduler))))
    })
}

impl Wild {
    fn below(&mut self, n: u64) -> u64 {
        (self.0.next_u64() >> 16) % n
    }

    /// Some of those that `may`, one at least.
    fn some(&mut self, group: &[View], may: impl Fn(&View) -> bool) -> Option<SubflowSet> {
        let all: Vec<_> = (0..group.len()).filter(|&r| may(&group[r])).collect();
        let one = *all.get(self.below(all.len().max(1) as u64) as usize)?;
        let mut set = SubflowSet::one(one);
        for r in all {
            if self.below(4) == 0 {
                set.insert(r);
            }
        }
        Some(set)
    }
}

impl PacketScheduler for Wild {
    fn name(&self) -> &'static str {
        "wild"
    }

    fn choose(&mut self, demand: Demand, group: &[View], context: &Context) -> Decision {
        let backups = !group.iter().any(|v| v.active && !v.potentially_failed && !v.backup);
        let works = |v: &View| v.active && !v.potentially_failed && (backups || !v.backup);
        let (from, to) = (context.acknowledged_bytes, context.sent_bytes);
        match self.below(12) {
            0..=3 => match self.some(group, works) {
                Some(on) => Decision::Bind { on, bytes: 1 + self.below(9_000) },
                None => Decision::Blocked,
            },
            4 if from < to => match self.some(group, works) {
                Some(on) => Decision::Repeat { on, from: from + self.below(to - from), to },
                None => Decision::Blocked,
            },
            5 if demand != Demand::New => Decision::Pass,
            6 => Decision::Wait {
                until: context.now + Duration::from_nanos(1) + Duration::from_nanos(self.below(50 * MS)),
            },
            _ => match self.some(group, |v| usable(v) && (backups || !v.backup)) {
                Some(on) => Decision::Send { on, burst: 1 + self.below(4) as u32 },
                None => Decision::Blocked,
            },
        }
    }

    fn when_idle(&mut self, group: &[View], context: &Context) -> Decision {
        match self.below(20) {
            0 => Decision::Pass,
            1 => Decision::Penalise { subflows: SubflowSet(self.below(1 << group.len())) },
            2 if context.acknowledged_bytes < context.sent_bytes => match self.some(group, |v| v.active) {
                Some(on) => Decision::Repeat { on, from: context.acknowledged_bytes, to: context.sent_bytes },
                None => Decision::Blocked,
            },
            _ => Decision::Blocked,
        }
    }
}
