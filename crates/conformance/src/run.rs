//! Plays a case to a subject.

use std::net::SocketAddr;

use wire::{Flags, IpHeader, Options, RareOptions, SackBlock, Segment, Timestamps, UnknownOption};

use crate::case::{Action, Case, Field, Number, Settings, Step, What, When};
use crate::content;
use crate::dialogue::{Dialogue, Flow, flag_names};
use crate::options::{self, Made};
use crate::subject::{Cannot, Subject};

/// How a case went.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Outcome {
    /// As it must.
    Met,
    /// Otherwise: the line, and what happened.
    Failed {
        /// Its number.
        line: usize,
        /// The line, what was expected and what was found.
        problem: String,
    },
    /// It could not be played.
    Impossible(String),
}

/// Why a step could not be gone beyond.
enum Stop {
    Problem(String),
    Impossible(String),
}

impl From<Cannot> for Stop {
    fn from(cannot: Cannot) -> Stop {
        Stop::Impossible(cannot.0)
    }
}

fn problem<T>(text: impl Into<String>) -> Result<T, Stop> {
    Err(Stop::Problem(text.into()))
}

struct Player<'a, S> {
    subject: &'a mut S,
    dialogue: Dialogue,
    iss: u32,
    /// What the host has sent and no line has expected yet.
    waiting: Option<Received>,
    /// When the last line was done.
    last_ns: u64,
    /// Whether the host has sent anything that the lines since the last action could not expect.
    log: Vec<String>,
}

/// A segment of the host.
#[derive(Clone)]
struct Received {
    at_ns: u64,
    ends: (SocketAddr, SocketAddr),
    ip: IpHeader,
    segment: Segment<Vec<u8>>,
}

/// Plays the case.
pub fn run(case: &Case, subject: &mut impl Subject) -> Outcome {
    let settings: &Settings = &case.settings;
    let dialogue = Dialogue { flows: Vec::new(), host_key: None, peer_data_next: 1, host_data_next: 1 };
    let mut player = Player { subject, dialogue, iss: settings.iss, waiting: None, last_ns: 0, log: Vec::new() };
    let acts_as_client = case.steps.iter().any(|step| matches!(step.what, What::Do(Action::Connect)));
    let (peer, host) = if acts_as_client { ("10.0.0.2:80", "10.0.0.1:0") } else { ("10.0.0.2:5000", "10.0.0.1:80") };
    player.flow_at(0, peer.parse().expect("an end"), host.parse().expect("an end"));
    for step in &case.steps {
        match player.step(step) {
            Ok(()) => {}
            Err(Stop::Problem(text)) => {
                let before = player.log.iter().rev().take(6).rev().cloned().collect::<Vec<_>>().join("; ");
                return Outcome::Failed { line: step.line, problem: format!("{}: {text} [{before}]", step.text) };
            }
            Err(Stop::Impossible(text)) => return Outcome::Impossible(text),
        }
    }
    // After the last line, too, nothing unexpected may be sent.
    let until_ns = player.subject.now_ns();
    match player.nothing_until(until_ns) {
        Err(Stop::Problem(text)) => Outcome::Failed {
            line: case.steps.last().map_or(0, |s| s.line),
            problem: format!("after the last line: {text}"),
        },
        _ => Outcome::Met,
    }
}

impl<S: Subject> Player<'_, S> {
    fn flow_at(&mut self, index: usize, peer: SocketAddr, host: SocketAddr) {
        if self.dialogue.flows.len() <= index {
            self.dialogue.flows.resize(index + 1, None);
        }
        self.dialogue.flows[index] = Some(Flow::new(index, peer, host, self.iss));
    }

    fn check_flow(&self, index: usize) -> Result<(), Stop> {
        match self.dialogue.flows.get(index) {
            Some(Some(_)) => Ok(()),
            _ => problem(format!("there is no flow {index}: “flow {index} peer=… host=…” comes before")),
        }
    }

    fn window(&self, when: When) -> (u64, u64) {
        match when {
            When::Now => (self.last_ns, self.subject.now_ns()),
            When::At(from, to) => (from, to),
            When::After(from, to) => (self.last_ns + from, self.last_ns + to),
        }
    }

    fn step(&mut self, step: &Step) -> Result<(), Stop> {
        let (from_ns, to_ns) = self.window(step.when);
        match &step.what {
            What::Expect { flow, fields, optional } => {
                self.check_flow(*flow)?;
                let slack_ns = self.subject.tolerance_ns();
                let give = |ns: u64| if step.when == When::Now { ns } else { ns + slack_ns };
                let to_ns = if step.when == When::Now { self.subject.now_ns() + slack_ns } else { give(to_ns) };
                let from_ns = if step.when == When::Now { 0 } else { from_ns.saturating_sub(slack_ns) };
                return self.expect(*flow, fields, from_ns, to_ns, *optional);
            }
            What::Silence => {
                self.nothing_until(to_ns)?;
                self.last_ns = self.subject.now_ns();
                return Ok(());
            }
            What::Anything => {
                while let Some(received) = self.next(to_ns) {
                    self.took(&received);
                }
                self.last_ns = self.subject.now_ns();
                return Ok(());
            }
            What::Flow(index, peer, host) => {
                self.flow_at(*index, *peer, *host);
                return Ok(());
            }
            _ => {}
        }
        // Before an action of the case the host must have been silent.
        self.nothing_until(to_ns.max(self.subject.now_ns()))?;
        self.last_ns = self.subject.now_ns();
        match &step.what {
            What::Send(flow, fields) => {
                self.check_flow(*flow)?;
                let packet = self.packet(*flow, fields)?;
                self.subject.arrive(&packet);
            }
            What::Icmp(flow, icmp) => {
                self.check_flow(*flow)?;
                match icmp.packet(self.dialogue.flow(*flow)) {
                    Some(packet) => self.subject.arrive(&packet),
                    None => return problem("only flows of IPv4 have ICMP here"),
                }
            }
            What::Do(action) => {
                let ends = self.ends(0);
                self.subject.act(*action, ends)?;
            }
            What::See(sight) => {
                let flow = if let crate::case::Sight::State(flow, _) = sight { *flow } else { 0 };
                self.check_flow(flow)?;
                let ends = self.ends(flow);
                let deadline_ns = self.subject.now_ns() + self.subject.tolerance_ns();
                loop {
                    match self.subject.see(sight, ends)? {
                        Ok(()) => break,
                        // A kernel may need a moment.
                        Err(found) if self.subject.now_ns() >= deadline_ns => return problem(found),
                        Err(found) => {
                            if self.waiting.is_some() {
                                return problem(found);
                            }
                            let soon_ns = (self.subject.now_ns() + 2_000_000).min(deadline_ns);
                            self.nothing_until(soon_ns)?;
                        }
                    }
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn ends(&self, flow: usize) -> (SocketAddr, SocketAddr) {
        let flow = self.dialogue.flow(flow);
        (flow.host, flow.peer)
    }

    /// The next segment of the host, until then.
    fn next(&mut self, until_ns: u64) -> Option<Received> {
        if let Some(received) = self.waiting.take() {
            return Some(received);
        }
        loop {
            if let Some((at_ns, packet)) = self.subject.take() {
                // Anything but a TCP segment of a known flow is ignored.
                let Ok((ip, segment)) = wire::decode(&packet) else { continue };
                let host = SocketAddr::new(ip.src, segment.src_port);
                let peer = SocketAddr::new(ip.dst, segment.dst_port);
                return Some(Received { at_ns, ends: (host, peer), ip, segment });
            }
            if !self.subject.go_on(until_ns) {
                return None;
            }
        }
    }

    fn nothing_until(&mut self, until_ns: u64) -> Result<(), Stop> {
        match self.next(until_ns) {
            None => Ok(()),
            Some(received) => {
                let text = format!("nothing was to be sent, found {}", self.describe(&received));
                problem(text)
            }
        }
    }

    fn expect(&mut self, index: usize, fields: &[Field], from_ns: u64, to_ns: u64, optional: bool) -> Result<(), Stop> {
        let Some(received) = self.next(to_ns) else {
            return if optional {
                Ok(())
            } else {
                problem(format!("nothing was sent until {}", seconds(self.subject.now_ns())))
            };
        };
        let judged = self
            .judge(index, fields, &received)
            .and_then(|()| if received.at_ns < from_ns { Err("it came too early".to_owned()) } else { Ok(()) });
        match judged {
            Ok(()) => {
                self.took(&received);
                self.last_ns = received.at_ns.max(self.last_ns);
                Ok(())
            }
            Err(_) if optional => {
                self.waiting = Some(received);
                Ok(())
            }
            Err(why) => {
                let text = format!("{why}, found {}", self.describe(&received));
                problem(text)
            }
        }
    }

    /// A segment was accounted for.
    fn took(&mut self, received: &Received) {
        let line = self.describe(received);
        self.log.push(line);
        if let Some(index) = self.flow_of(received) {
            let opens = received.segment.flags.syn() && !received.segment.flags.ack();
            let flow = self.dialogue.flow_mut(index);
            flow.host = received.ends.0;
            flow.opened_by_host |= opens;
            flow.host_sent(&received.segment);
            options::learn(&received.segment, &mut self.dialogue, index);
        }
    }

    /// The flow that a segment belongs to: between the same ends, or the first that waits for the host to open it.
    fn flow_of(&self, received: &Received) -> Option<usize> {
        let flows = || self.dialogue.flows.iter().enumerate().filter_map(|(i, f)| f.as_ref().map(|f| (i, f)));
        let (host, peer) = received.ends;
        let same = flows().find(|(_, f)| f.host == host && f.peer == peer);
        let open = || flows().find(|(_, f)| f.host.port() == 0 && f.host.ip() == host.ip() && f.peer == peer);
        same.or_else(open).map(|(index, _)| index)
    }

    /// Whether a segment is what a line expects.
    fn judge(&mut self, index: usize, fields: &[Field], received: &Received) -> Result<(), String> {
        match self.flow_of(received) {
            Some(found) if found == index => {}
            Some(found) => return Err(format!("it is of flow {found}")),
            None => return Err("it is of no flow that was named".to_owned()),
        }
        let segment = &received.segment;
        let mut flow = self.dialogue.flow(index).clone();
        if segment.flags.syn() {
            flow.host_iss = Some(segment.seq);
        }
        let mut dialogue = self.dialogue.clone();
        options::learn(segment, &mut dialogue, index);
        let seq = flow.of_host(segment.seq);
        let number = |name: &str, wanted: Number, found: i64| {
            if wanted.takes(found) { Ok(()) } else { Err(format!("{name} is {found}")) }
        };
        let rare = segment.options.rare.as_deref();
        let mut len = Number::Exactly(0);
        for field in fields {
            match field {
                Field::Flags(bits) => {
                    // PSH may be set on any data, unless a line names it.
                    let mask = if bits & Flags::PSH.0 != 0 { 0xff } else { !Flags::PSH.0 };
                    if segment.flags.0 & mask != *bits {
                        return Err(format!("it is {}", flag_names(segment.flags)));
                    }
                }
                Field::Reset if !segment.flags.rst() => return Err(format!("it is {}", flag_names(segment.flags))),
                Field::Seq(wanted) => number("seq", *wanted, seq)?,
                Field::Ack(wanted) => number("ack", *wanted, flow.of_peer(segment.ack))?,
                Field::Win(wanted) => number("win", *wanted, segment.window.into())?,
                Field::Urg(wanted) => number("urg", *wanted, segment.urgent.into())?,
                Field::Ttl(wanted) => number("ttl", *wanted, received.ip.hop_limit.into())?,
                Field::Dscp(wanted) => number("dscp", *wanted, received.ip.dscp.into())?,
                Field::Len(wanted) => len = *wanted,
                Field::Mss(wanted) => {
                    number("mss", *wanted, rare.and_then(|o| o.mss).ok_or("it has no mss")?.into())?;
                }
                Field::Wscale(wanted) => {
                    number("wscale", *wanted, rare.and_then(|o| o.window_scale).ok_or("it has no wscale")?.into())?;
                }
                Field::SackOk if !rare.is_some_and(|o| o.sack_permitted) => return Err("it has no sackok".into()),
                Field::Ts(stamp, echo) => {
                    let found = segment.options.timestamps.ok_or("it has no ts")?;
                    number("the timestamp", *stamp, found.value.into())?;
                    if let Some(echo) = echo {
                        number("the echo", *echo, found.echo.into())?;
                    }
                }
                Field::Sack(wanted) => {
                    let found = segment.options.sack;
                    let found: Vec<(i64, i64)> =
                        found.as_slice().iter().map(|b| (flow.of_peer(b.left), flow.of_peer(b.right))).collect();
                    if found != *wanted {
                        return Err(format!("its SACK blocks are {found:?}"));
                    }
                }
                Field::Mptcp(option) => options::fits(option, segment, &dialogue, index)?,
                Field::Without(name) if has(segment, name) => return Err(format!("it has {name}")),
                _ => {}
            }
        }
        number("len", len, segment.payload.len() as i64)?;
        if !segment.payload.is_empty() {
            // Of a stream whose places the options do not tell, TCP's numbers do.
            let mptcp = dialogue.host_key.is_some();
            let place = options::place(segment, &dialogue, seq).or((!mptcp).then_some(seq - 1));
            if let Some(at) = place.filter(|at| *at >= 0)
                && segment.payload != content::bytes(at as u64, segment.payload.len())
            {
                return Err(format!("its bytes are not those of the stream from {at} on"));
            }
        }
        Ok(())
    }

    /// A segment of the peer as it goes over the wire.
    fn packet(&mut self, index: usize, fields: &[Field]) -> Result<Vec<u8>, Stop> {
        let exactly = |number: &Number| match number {
            Number::Exactly(value) => Ok(*value),
            _ => problem("what is sent has exact numbers"),
        };
        let flow = self.dialogue.flow(index).clone();
        let mut segment = Segment::<Vec<u8>> {
            src_port: flow.peer.port(),
            dst_port: flow.host.port(),
            window: 65_535,
            ..Segment::default()
        };
        let (mut seq, mut ack, mut len) = (flow.peer_next, flow.host_next, 0_usize);
        let mut rare = RareOptions::default();
        let (mut raw, mut bad, mut altered, mut at) = (None, false, false, None);
        for field in fields {
            match field {
                Field::Flags(bits) => segment.flags = Flags(*bits),
                Field::Seq(n) => seq = exactly(n)?,
                Field::Ack(n) => ack = exactly(n)?,
                Field::Win(n) => segment.window = exactly(n)? as u16,
                Field::Len(n) => len = exactly(n)? as usize,
                Field::Urg(n) => segment.urgent = exactly(n)? as u16,
                Field::At(place) => at = Some(*place as i64),
                Field::Mss(n) => rare.mss = Some(exactly(n)? as u16),
                Field::Wscale(n) => rare.window_scale = Some(exactly(n)? as u8),
                Field::SackOk => rare.sack_permitted = true,
                Field::Ts(value, echo) => {
                    let echo = echo.as_ref().map(exactly).transpose()?.map_or(flow.host_stamp, |echo| echo as u32);
                    segment.options.timestamps = Some(Timestamps { value: exactly(value)? as u32, echo });
                }
                Field::Sack(blocks) => {
                    for &(left, right) in blocks {
                        let block = SackBlock { left: flow.host_number(left), right: flow.host_number(right) };
                        segment.options.sack.push(block);
                    }
                }
                Field::Raw(bytes) => raw = Some(bytes.clone()),
                Field::BadChecksum => bad = true,
                Field::Altered => altered = true,
                Field::Reset => return problem("what is sent has exact control bits: rst or rstack"),
                Field::Ttl(_) | Field::Dscp(_) => return problem("ttl and dscp are of segments that are expected"),
                Field::Mptcp(_) | Field::Without(_) => {}
            }
        }
        let mut place = seq - 1;
        if let Some((ssn, dsn)) = flow.mapping {
            place = dsn + seq - ssn;
        }
        for field in fields {
            let Field::Mptcp(option) = field else { continue };
            match options::make(option, &mut self.dialogue, index, seq, len) {
                Made::Dss(dss) => segment.options.dss = Some(dss),
                Made::Other(other) => {
                    if option.kind == "capable" && option.has("len") {
                        self.dialogue.peer_data_next = 1 + option.value("len", len as i64);
                        place = 0;
                    }
                    rare.mptcp.push(other);
                }
            }
            if option.kind == "dss"
                && let Some((ssn, dsn)) = self.dialogue.flow(index).mapping
            {
                place = dsn + seq - ssn;
            }
        }
        segment.seq = flow.peer_number(seq);
        segment.ack = if segment.flags.ack() { flow.host_number(ack) } else { 0 };
        segment.payload = content::bytes(at.unwrap_or(place).max(0) as u64, len);
        if altered {
            segment.payload.iter_mut().for_each(|byte| *byte = !*byte);
        }
        if rare != RareOptions::default() {
            segment.options.rare = Some(Box::new(rare));
        }
        self.dialogue.flow_mut(index).said(&segment);
        let mut packet = Vec::new();
        if let Some(raw) = &raw {
            segment.options = Options::default();
            // Room of the right size, which is then written over.
            let len = raw.len().div_ceil(4) * 4;
            let data = vec![0; len.saturating_sub(2)];
            let unknown = vec![UnknownOption { kind: 253, data }];
            segment.options.rare = Some(Box::new(RareOptions { unknown, ..RareOptions::default() }));
        }
        wire::encode(&IpHeader::new(flow.peer.ip(), flow.host.ip()), &segment, &mut packet)
            .map_err(|error| Stop::Problem(format!("no such segment can be written: {error}")))?;
        if raw.is_some() || bad {
            rewrite(&mut packet, raw.as_deref().unwrap_or(&[]), bad);
        }
        Ok(packet)
    }

    fn describe(&self, received: &Received) -> String {
        let segment = &received.segment;
        let index = self.flow_of(received);
        let mut text = format!("{} >", seconds(received.at_ns));
        match index {
            Some(0) => {}
            Some(index) => text += &index.to_string(),
            None => text += &format!("[{} to {}]", received.ends.0, received.ends.1),
        }
        let mut flow = self.dialogue.flow(index.unwrap_or(0)).clone();
        if segment.flags.syn() {
            flow.host_iss = Some(segment.seq);
        }
        text += &format!(" {} seq={}", flag_names(segment.flags), flow.of_host(segment.seq));
        if segment.flags.ack() {
            text += &format!(" ack={}", flow.of_peer(segment.ack));
        }
        text += &format!(" win={} len={}", segment.window, segment.payload.len());
        if let Some(dss) = &segment.options.dss {
            let (host, peer) = (self.dialogue.host_idsn(), self.dialogue.peer_idsn());
            text += " dss[";
            if let Some(ack) = dss.data_ack {
                text += &format!("ack={} ", ack.expand(peer).wrapping_sub(peer) as i64);
            }
            if let Some(m) = dss.mapping {
                text += &format!("dsn={} ssn={} len={}", m.dsn.expand(host).wrapping_sub(host) as i64, m.ssn, m.len);
            }
            text += if dss.data_fin { " fin]" } else { "]" };
        }
        for option in segment.options.rare.as_deref().map_or(&[][..], |rare| &rare.mptcp) {
            text += &format!(" {}[]", options::name(option));
        }
        text
    }
}

fn has(segment: &Segment<Vec<u8>>, name: &str) -> bool {
    let rare = segment.options.rare.as_deref();
    let mptcp = rare.map_or(&[][..], |rare| &rare.mptcp);
    match name {
        "mptcp" => segment.options.dss.is_some() || !mptcp.is_empty(),
        "dss" => segment.options.dss.is_some(),
        "mss" => rare.is_some_and(|o| o.mss.is_some()),
        "wscale" => rare.is_some_and(|o| o.window_scale.is_some()),
        "sackok" => rare.is_some_and(|o| o.sack_permitted),
        "ts" => segment.options.timestamps.is_some(),
        "sack" => !segment.options.sack.is_empty(),
        kind => mptcp.iter().any(|option| options::name(option) == kind),
    }
}

/// Puts other bytes in the place of the options, and makes the checksum right again, or wrong.
fn rewrite(packet: &mut [u8], raw: &[u8], bad: bool) {
    const IP: usize = wire::IPV4_HEADER_LEN;
    const TCP: usize = wire::TCP_HEADER_LEN;
    let room = usize::from(packet[IP + 12] >> 4) * 4 - TCP;
    if !raw.is_empty() {
        packet[IP + TCP..IP + TCP + room].fill(0);
        packet[IP + TCP..IP + TCP + raw.len()].copy_from_slice(raw);
    }
    packet[IP + 16..IP + 18].fill(0);
    let length = (packet.len() - IP) as u16;
    let mut sum: u32 = 6 + u32::from(length);
    for pair in packet[12..].chunks(2) {
        sum += u32::from(pair[0]) << 8 | u32::from(pair.get(1).copied().unwrap_or(0));
    }
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    let sum = if bad { sum as u16 } else { !sum as u16 };
    packet[IP + 16..IP + 18].copy_from_slice(&sum.to_be_bytes());
}

fn seconds(ns: u64) -> String {
    format!("{:.3}", ns as f64 / 1e9)
}
