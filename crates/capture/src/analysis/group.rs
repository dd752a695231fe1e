//! Groups legs into subflows (the same subflow seen at several points) and subflows into connections.

use super::kinship::Numbers;
use super::leg::{Capable, Join, Leg};
use std::collections::BTreeMap;
use std::net::SocketAddr;
use wire::keys;

/// The end that opened the connection.
pub const CLIENT: usize = 0;
/// The other end.
pub const SERVER: usize = 1;

/// A leg of a subflow, and which end of the leg is the client.
#[derive(Clone, Copy, Debug)]
pub struct Seen {
    pub leg: usize,
    pub client_end: usize,
}

/// A subflow.
#[derive(Debug)]
pub struct Sub {
    pub legs: Vec<Seen>,
    /// The end of the connection that opened it.
    pub opened_by: usize,
    pub join: Option<Join>,
    pub start_ns: u64,
    /// The observation points nearest to the client and to the server.
    pub nearest: [Place; 2],
}

/// The best observation point for one side of a subflow.
#[derive(Clone, Copy, Debug)]
pub struct Place {
    pub seen: Seen,
    /// Whether it is located at that side, as far as can be determined.
    pub is_there: bool,
}

/// A connection.
#[derive(Debug, Default)]
pub struct Group {
    pub subs: Vec<Sub>,
    pub version: Option<u8>,
    /// Whether at least one side asked for MPTCP.
    pub mptcp: bool,
    /// Whether the beginning was captured.
    pub complete: bool,
    pub keys: [Option<u64>; 2],
    pub checksum: bool,
    /// MP_CAPABLE of each end of the first subflow, merged over its legs.
    pub capable: [Option<Capable>; 2],
}

impl Group {
    pub fn token(&self, side: usize) -> Option<u32> {
        self.keys[side].map(|key| if self.version == Some(0) { keys::v0::token(key) } else { keys::token(key) })
    }

    pub fn idsn(&self, side: usize) -> Option<u64> {
        self.keys[side].map(|key| if self.version == Some(0) { keys::v0::idsn(key) } else { keys::idsn(key) })
    }
}

/// Identifies legs at different points as the same subflow, even if a NAT changed the addresses.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Identity {
    Keys(u64, u64),
    Join(u32, u32),
}

/// A subflow not yet assigned to a connection.
struct Loose {
    legs: Vec<usize>,
    capable: [Option<Capable>; 2],
    join: Option<Join>,
    start_ns: u64,
    mptcp: bool,
}

impl Loose {
    /// Whether nothing in its handshake identifies its connection.
    fn is_orphan(&self) -> bool {
        let named = self.join.is_some_and(|join| join.token.is_some());
        self.mptcp && !named && keys_of(self.capable).iter().all(Option::is_none)
    }
}

/// Groups all legs into connections, ordered by start time.
pub fn group(legs: &[Leg]) -> Vec<Group> {
    let mut loose = subflows(legs);
    loose.sort_by_key(|sub| sub.start_ns);
    let mut groups: Vec<Group> = Vec::new();
    // Connections by token, with the side that uses the token in its joins.
    let mut by_token: BTreeMap<u32, (usize, usize)> = BTreeMap::new();
    let (joins, firsts): (Vec<Loose>, Vec<Loose>) = loose.into_iter().partition(|sub| sub.join.is_some());
    // For subflows without a captured handshake: the sequence numbers of the subflows so far, with the group of each
    // and the side that opened it.
    let mut known: Vec<(Numbers, usize, usize)> = Vec::new();
    let orphans = firsts.iter().any(Loose::is_orphan) || joins.iter().any(Loose::is_orphan);
    let numbers = |sub: &Loose| if orphans { Numbers::of(&legs[sub.legs[0]]) } else { Numbers::default() };
    let kin = |known: &[(Numbers, usize, usize)], numbers: Numbers| {
        known.iter().find_map(|(other, group, opened_by)| {
            let same = numbers.kin(other)?;
            Some((*group, if same { *opened_by } else { 1 - *opened_by }))
        })
    };
    for sub in firsts {
        let numbers = numbers(&sub);
        if let Some((number, side)) = sub.is_orphan().then(|| kin(&known, numbers)).flatten() {
            known.push((numbers, number, side));
            groups[number].subs.push(opened_by(sub, side, legs));
            continue;
        }
        if sub.mptcp {
            known.push((numbers, groups.len(), CLIENT));
        }
        let group = first(sub, legs);
        for side in [CLIENT, SERVER] {
            if let Some(token) = group.token(side) {
                by_token.insert(token, (groups.len(), 1 - side));
            }
        }
        groups.push(group);
    }
    for sub in joins {
        let token = sub.join.and_then(|join| join.token);
        let numbers = numbers(&sub);
        let named = token.and_then(|token| by_token.get(&token).copied());
        let (number, caller) = match named.or_else(|| if orphans { kin(&known, numbers) } else { None }) {
            Some((number, caller)) => {
                // Other joins with this token belong to the same connection.
                if let Some(token) = token {
                    by_token.entry(token).or_insert((number, caller));
                }
                (number, caller)
            }
            None => {
                // The beginning was not captured; other joins with the same token belong to this connection.
                groups.push(Group { mptcp: true, ..Group::default() });
                if let Some(token) = token {
                    by_token.insert(token, (groups.len() - 1, CLIENT));
                }
                (groups.len() - 1, CLIENT)
            }
        };
        known.push((numbers, number, caller));
        let opened = opened_by(sub, caller, legs);
        groups[number].subs.push(opened);
    }
    for group in &mut groups {
        group.subs.sort_by_key(|sub| sub.start_ns);
    }
    groups.sort_by_key(|group| group.subs.first().map_or(u64::MAX, |sub| sub.start_ns));
    groups
}

/// Distinguishes connections that used the same ports: the first, the second, or the one whose SYN has this number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Which {
    Nth(u32),
    WithSyn(u32),
}

/// Identifies the connection of each leg. If all points saw the same number of connections on a pair of ports,
/// connections are matched in order, even where a middlebox changed the sequence numbers. Otherwise only the sequence
/// numbers of the SYNs identify them.
fn which(legs: &[Leg]) -> Vec<Which> {
    let mut seen: BTreeMap<[SocketAddr; 2], BTreeMap<u32, u32>> = BTreeMap::new();
    for leg in legs {
        *seen.entry(leg.tuple).or_default().entry(leg.point).or_default() += 1;
    }
    let of = |leg: &Leg| {
        let counts = &seen[&leg.tuple];
        let equal = counts.values().all(|count| Some(count) == counts.values().next());
        match leg.ends[leg.opener].isn {
            Some(isn) if !equal => Which::WithSyn(isn),
            _ => Which::Nth(leg.generation),
        }
    };
    legs.iter().map(of).collect()
}

fn subflows(legs: &[Leg]) -> Vec<Loose> {
    let mut found: Vec<Loose> = Vec::new();
    let mut by_identity: BTreeMap<Identity, usize> = BTreeMap::new();
    let mut by_tuple: BTreeMap<([SocketAddr; 2], Which), usize> = BTreeMap::new();
    let which = which(legs);
    for (number, leg) in legs.iter().enumerate() {
        let capable = [leg.capable(leg.opener), leg.capable(1 - leg.opener)];
        let join = leg.join();
        let identity = match (keys_of(capable), join) {
            (_, Some(Join { token: Some(token), nonces: [Some(nonce), _], .. })) => Some(Identity::Join(token, nonce)),
            ([Some(first), Some(second)], _) => Some(Identity::Keys(first, second)),
            _ => None,
        };
        let known = identity
            .and_then(|identity| by_identity.get(&identity))
            .or_else(|| by_tuple.get(&(leg.tuple, which[number])));
        let place = known.copied().unwrap_or(found.len());
        if place == found.len() {
            let start_ns = u64::MAX;
            found.push(Loose { legs: Vec::new(), capable: [None, None], join: None, start_ns, mptcp: false });
        }
        let sub = &mut found[place];
        sub.legs.push(number);
        for (known, new) in sub.capable.iter_mut().zip(capable) {
            *known = merged(*known, new);
        }
        sub.join = match (sub.join, join) {
            (Some(known), Some(new)) => Some(merged_join(known, new)),
            (known, new) => known.or(new),
        };
        sub.start_ns = sub.start_ns.min(leg.records.span_ns().map_or(u64::MAX, |(first_ns, _)| first_ns));
        sub.mptcp |= leg.records.iter().take(64).any(|record| record.has.mptcp());
        by_tuple.insert((leg.tuple, which[number]), place);
        if let Some(identity) = identity {
            by_identity.insert(identity, place);
        }
    }
    found
}

/// The keys of the opener and of the other end. Either end's MP_CAPABLE may carry both.
fn keys_of(capable: [Option<Capable>; 2]) -> [Option<u64>; 2] {
    let [first, second] = capable;
    [
        first.and_then(|c| c.sender_key).or_else(|| second.and_then(|c| c.receiver_key)),
        second.and_then(|c| c.sender_key).or_else(|| first.and_then(|c| c.receiver_key)),
    ]
}

fn merged(known: Option<Capable>, new: Option<Capable>) -> Option<Capable> {
    match (known, new) {
        (Some(known), Some(new)) => Some(Capable {
            sender_key: known.sender_key.or(new.sender_key),
            receiver_key: known.receiver_key.or(new.receiver_key),
            on_syn: known.on_syn || new.on_syn,
            ..known
        }),
        (known, new) => known.or(new),
    }
}

fn merged_join(known: Join, new: Join) -> Join {
    let either = |at: usize| known.nonces[at].or(new.nonces[at]);
    let id = |at: usize| known.address_ids[at].or(new.address_ids[at]);
    Join {
        token: known.token.or(new.token),
        nonces: [either(0), either(1)],
        address_ids: [id(0), id(1)],
        hmac_syn_ack: known.hmac_syn_ack.or(new.hmac_syn_ack),
        hmac_ack: known.hmac_ack.or(new.hmac_ack),
        backup: known.backup || new.backup,
    }
}

/// The connection that this first subflow begins.
fn first(sub: Loose, legs: &[Leg]) -> Group {
    let [asked, answered] = sub.capable;
    let version = answered.or(asked).map(|capable| capable.version);
    Group {
        version,
        mptcp: asked.is_some() || sub.mptcp,
        complete: sub.legs.iter().any(|&leg| legs[leg].ends[legs[leg].opener].syn_ns.is_some()),
        keys: keys_of(sub.capable),
        checksum: [asked, answered].iter().flatten().any(|capable| capable.flags & 0x80 != 0),
        capable: [asked, answered],
        subs: vec![opened_by(sub, CLIENT, legs)],
    }
}

/// The subflow, opened by `side` of its connection.
fn opened_by(sub: Loose, side: usize, legs: &[Leg]) -> Sub {
    // Without a handshake the sender of the first packet counts as the opener. All points must agree on it.
    let opener = |leg: usize| match (&legs[leg], &legs[sub.legs[0]]) {
        (leg, first) if leg.ends[leg.opener].syn_ns.is_none() && leg.tuple == first.tuple => first.opener,
        (leg, _) => leg.opener,
    };
    let seen: Vec<Seen> = sub
        .legs
        .iter()
        .map(|&leg| Seen { leg, client_end: if side == CLIENT { opener(leg) } else { 1 - opener(leg) } })
        .collect();
    // Distance from the client: 0 at the client, 1 at the server.
    let nearness = |seen: &Seen| {
        let to_opener = legs[seen.leg].nearness().unwrap_or(0.5);
        if side == CLIENT { to_opener } else { 1.0 - to_opener }
    };
    let mut ordered = seen.clone();
    ordered.sort_by(|a, b| nearness(b).total_cmp(&nearness(a)));
    let (client, server) = (ordered[0], ordered[ordered.len() - 1]);
    Sub {
        nearest: [
            Place { seen: client, is_there: nearness(&client) >= 0.5 },
            Place { seen: server, is_there: nearness(&server) <= 0.5 },
        ],
        legs: seen,
        opened_by: side,
        join: sub.join,
        start_ns: sub.start_ns,
    }
}
