//! Middleboxes as "How hard can it be?" (Raiciu 2012) and RFC 8684 list them: the connection falls back, closes the
//! subflow or does not mind, and the data is whole. Stripping of options stands in `mptcp_fallback`, rewriting of
//! payload in `mptcp_checksum`.

use std::collections::BTreeMap;

use crate::common::{CLIENT, Crossing, Log, MS, Pair, Path, SECOND, SERVER, finish, mptcp_options, transfer};
use transport::{Config, Event, SubflowId};
use wire::{Flags, MptcpOption, Options, Payload, SackBlock, SackBlocks, Segment, Span};

fn both(config: Config) -> [Config; 2] {
    [config.clone(), config]
}

fn lossy(ms: u64) -> Path {
    Path { loss: 5, ..Path::clean(ms * MS) }
}

const BOTH_WAYS: [usize; 2] = [CLIENT, SERVER];

/// Both paths carried data, and MPTCP is spoken.
fn assert_unharmed(pair: &mut Pair, receiver: usize, least: u64) {
    let c = pair.connection(receiver);
    assert!(!c.is_fallback());
    let new: Vec<_> = (0..c.subflow_count()).map(|r| c.statistics(SubflowId(r as u8)).new_bytes_received).collect();
    assert!(new.len() >= 2 && new[..2].iter().all(|&n| n > least), "{new:?}");
}

#[test]
fn address_translation_does_not_matter() {
    // MP_JOIN names the connection by its token, not by addresses (RFC 8684 §3.2).
    for sender in BOTH_WAYS {
        let mut pair = Pair::new(1, both(Config::default()), vec![lossy(10), lossy(15)]);
        pair.nat = true;
        transfer(&mut pair, sender, 4_000_000);
        assert_unharmed(&mut pair, 1 - sender, 200_000);
    }
}

#[test]
fn rewritten_sequence_numbers_do_not_matter() {
    // A firewall that randomises initial sequence numbers: mappings speak of relative ones (RFC 8684 §3.3.1).
    for (sender, checksum) in [(CLIENT, false), (SERVER, false), (SERVER, true)] {
        let config = Config { checksum, ..Config::default() };
        let mut pair = Pair::new(1, both(config), vec![lossy(10), lossy(15)]);
        pair.tap(move |_, side, path, s| {
            let shift = |of: usize| 0x9e37_79b9_u32.wrapping_mul(1 + of as u32 + 2 * path as u32);
            s.seq = s.seq.wrapping_add(shift(side));
            let back = |n: u32| n.wrapping_sub(shift(1 - side));
            if s.flags.ack() {
                s.ack = back(s.ack);
            }
            let mut blocks = SackBlocks::default();
            for b in s.options.sack.as_slice() {
                blocks.push(SackBlock { left: back(b.left), right: back(b.right) });
            }
            s.options.sack = blocks;
            true
        });
        transfer(&mut pair, sender, 4_000_000);
        assert_unharmed(&mut pair, 1 - sender, 200_000);
    }
}

/// The two halves of a data segment, each with the options of the whole or only the first with them.
fn split(segment: &Segment<Span>, copy: bool) -> [Segment<Span>; 2] {
    let len = segment.payload.len();
    let (mut first, mut second) = (segment.clone(), segment.clone());
    first.payload = first.payload.slice(0, len / 2);
    first.flags = Flags(first.flags.0 & !Flags::FIN.0);
    second.payload = second.payload.slice(len / 2, len);
    second.seq = second.seq.wrapping_add(len as u32 / 2);
    if !copy {
        second.options = Options { timestamps: second.options.timestamps, ..Options::default() };
    }
    [first, second]
}

#[test]
fn split_segments_are_put_together_by_their_mapping() {
    for sender in BOTH_WAYS {
        for copy in [false, true] {
            let mut pair = Pair::new(1, both(Config::default()), vec![lossy(10), lossy(15)]);
            pair.middlebox(move |_, side, _, s| {
                if s.payload.len() < 2 {
                    return vec![Crossing::new(side, s)];
                }
                split(&s, copy).map(|part| Crossing::new(side, part)).into()
            });
            transfer(&mut pair, sender, 4_000_000);
            assert_unharmed(&mut pair, 1 - sender, 100_000);
        }
    }
}

/// Joins two data segments of a path that follow each other, in sequence and in the stream, into one with the options of
/// the first. A segment waits for the next one of its direction.
fn coalescer(on: impl Fn(u64, usize) -> bool) -> impl FnMut(u64, usize, usize, Segment<Span>) -> Vec<Crossing> {
    let mut waiting: BTreeMap<(usize, usize), Segment<Span>> = BTreeMap::new();
    move |now_ns, side, path, s| {
        let Some(mut first) = waiting.remove(&(side, path)) else {
            if on(now_ns, path) && s.payload.len > 0 && !s.flags.fin() {
                waiting.insert((side, path), s);
                return Vec::new();
            }
            return vec![Crossing::new(side, s)];
        };
        let next = first.seq.wrapping_add(first.payload.len) == s.seq
            && first.payload.offset + u64::from(first.payload.len) == s.payload.offset;
        if next && s.payload.len > 0 && first.payload.len + s.payload.len < 9_000 {
            first.payload.len += s.payload.len;
            (first.flags, first.ack) = (first.flags | s.flags, s.ack);
            return vec![Crossing::new(side, first)];
        }
        vec![Crossing::new(side, first), Crossing::new(side, s)]
    }
}

#[test]
fn coalesced_segments_lose_a_mapping_and_the_only_subflow_falls_back() {
    for sender in BOTH_WAYS {
        let mut pair = Pair::new(1, both(Config::default()), vec![lossy(10)]);
        pair.middlebox(coalescer(|_, _| true));
        transfer(&mut pair, sender, 2_000_000);
        assert!(BOTH_WAYS.iter().all(|&side| pair.connection(side).is_fallback()));
    }
}

#[test]
fn coalesced_segments_lose_a_mapping_and_one_of_several_subflows_is_reset() {
    let mut pair = Pair::new(1, both(Config::default()), vec![Path::clean(10 * MS), Path::clean(15 * MS)]);
    let reasons: Log<u8> = Log::default();
    let seen = reasons.clone();
    pair.tap(move |_, _, _, s| {
        seen.borrow_mut().extend(mptcp_options(s).iter().filter_map(|o| match o {
            MptcpOption::MpTcpRst { reason, .. } => Some(*reason),
            _ => None,
        }));
        true
    });
    pair.middlebox(coalescer(|now_ns, path| path == 1 && now_ns > SECOND));
    transfer(&mut pair, SERVER, 5_000_000);
    assert_eq!(reasons.borrow().first(), Some(&6), "middlebox interference");
    assert!(!pair.connection(CLIENT).is_fallback());
}

/// A proxy that acknowledges data before it is delivered, without options, and delivers it later by itself.
fn proxy(on: usize, from_ns: u64) -> impl FnMut(u64, usize, usize, Segment<Span>) -> Vec<Crossing> {
    let mut acknowledged: BTreeMap<usize, u32> = BTreeMap::new();
    move |now_ns, side, path, s| {
        if path != on || now_ns < from_ns || s.payload.len == 0 {
            return vec![Crossing::new(side, s)];
        }
        let end = s.seq.wrapping_add(s.payload.len);
        let top = acknowledged.entry(side).or_insert(end);
        if (end.wrapping_sub(*top) as i32) > 0 {
            *top = end;
        }
        let options = Options { timestamps: s.options.timestamps.map(swap), ..Options::default() };
        let ack = Segment {
            src_port: s.dst_port,
            dst_port: s.src_port,
            seq: s.ack,
            ack: *top,
            flags: Flags::ACK,
            window: 0xffff,
            urgent: 0,
            options,
            payload: Span::default(),
        };
        vec![Crossing::new(1 - side, ack), Crossing { delay_ns: 20 * MS, ..Crossing::new(side, s) }]
    }
}

fn swap(t: wire::Timestamps) -> wire::Timestamps {
    wire::Timestamps { value: t.echo, echo: t.value }
}

#[test]
fn pro_active_acknowledgments_on_the_only_path_mean_tcp() {
    for sender in BOTH_WAYS {
        let mut pair = Pair::new(1, both(Config::default()), vec![Path::clean(10 * MS)]);
        pair.middlebox(proxy(0, 0));
        transfer(&mut pair, sender, 2_000_000);
        assert!(pair.connection(sender).is_fallback());
    }
}

#[test]
fn pro_active_acknowledgments_on_one_of_several_paths_reset_its_subflow() {
    for from_ns in [0, SECOND] {
        let mut pair = Pair::new(1, both(Config::default()), vec![Path::clean(10 * MS), Path::clean(15 * MS)]);
        let resets: Log<(usize, usize, Vec<MptcpOption>)> = Log::default();
        let seen = resets.clone();
        pair.tap(move |_, side, path, s| {
            if s.flags.rst() {
                seen.borrow_mut().push((side, path, mptcp_options(s).to_vec()));
            }
            true
        });
        pair.middlebox(proxy(1, from_ns));
        transfer(&mut pair, SERVER, 20_000_000);
        // RFC 8684 §3.7: the sender of data sees an acknowledgment without DATA_ACK.
        assert_eq!(resets.borrow()[0], (SERVER, 1, vec![MptcpOption::MpTcpRst { flags: 0, reason: 6 }]));
        assert!(!pair.connection(SERVER).is_fallback());
    }
}

#[test]
fn data_that_a_proxy_acknowledged_and_lost_is_sent_again_on_another_path() {
    // The proxy copies options that it does not know, so nothing is suspicious; then it loses what it acknowledged. Only
    // the DATA_ACK tells what has arrived (RFC 8684 §3.3.2).
    let mut pair = Pair::new(1, both(Config::default()), vec![Path::clean(10 * MS), Path::clean(15 * MS)]);
    let mut last: Option<Segment<Span>> = None;
    pair.middlebox(move |now_ns, side, path, s| {
        if side == CLIENT && path == 1 && s.flags.ack() && !s.flags.syn() {
            last = Some(s.clone());
        }
        let victim = side == SERVER && path == 1 && s.payload.len > 0 && now_ns > SECOND;
        match &last {
            Some(ack) if victim => {
                let mut forged = ack.clone();
                forged.ack = s.seq.wrapping_add(s.payload.len);
                forged.options.sack = SackBlocks::default();
                forged.options.timestamps = s.options.timestamps.map(swap);
                vec![Crossing::new(1 - side, forged)]
            }
            _ => vec![Crossing::new(side, s)],
        }
    });
    transfer(&mut pair, SERVER, 20_000_000);
    assert!(pair.connection(SERVER).statistics(SubflowId(0)).reinjections > 0);
}

/// Injects resets on a path, with a sequence number that is off by so much.
fn injector(on: usize, off: u32) -> impl FnMut(u64, usize, usize, Segment<Span>) -> Vec<Crossing> {
    let mut done = [false; 2];
    move |now_ns, side, path, s| {
        let mut out = vec![Crossing::new(side, s.clone())];
        if path == on && now_ns > SECOND && !done[side] && s.flags.ack() {
            done[side] = true;
            let seq = s.seq.wrapping_add(off);
            let payload = Span::default();
            out.insert(
                0,
                Crossing::new(side, Segment { flags: Flags::RST, seq, payload, options: Options::default(), ..s }),
            );
        }
        out
    }
}

#[test]
fn an_injected_reset_ends_a_subflow_and_not_the_connection() {
    for paths in [1, 2] {
        let mut pair = Pair::new(1, both(Config::default()), vec![Path::clean(10 * MS); paths]);
        pair.middlebox(injector(paths - 1, 0));
        transfer(&mut pair, SERVER, 8_000_000);
        let closed = Event::SubflowClosed(SubflowId(paths as u8 - 1));
        assert!(pair.events[CLIENT].iter().any(|&(at, e)| e == closed && at < 3 * SECOND));
        assert!(pair.connection(CLIENT).subflow_count() > paths, "the path is used again");
        assert!(!pair.connection(CLIENT).is_fallback());
    }
}

#[test]
fn a_reset_that_only_guesses_the_sequence_number_is_challenged_or_ignored() {
    // In the window: a challenge ACK (RFC 5961 §3.2). Outside: nothing.
    for off in [1_000, 0x4000_0000] {
        let mut pair = Pair::new(1, both(Config::default()), vec![Path::clean(10 * MS); 2]);
        pair.middlebox(injector(1, off));
        assert!(pair.run_until(SECOND, |p| p.saw(SERVER, Event::Established)));
        pair.connection(SERVER).offer(5_000_000);
        pair.run_until(3 * SECOND, |_| false);
        assert!(!pair.saw(CLIENT, Event::SubflowClosed(SubflowId(1))), "{off}");
        finish(&mut pair, SERVER, 5_000_000);
    }
}
