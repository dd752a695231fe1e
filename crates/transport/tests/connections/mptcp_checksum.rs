//! DSS checksums: negotiation, mappings over several segments, and what a failure does (RFC 8684 §3.3.1, §3.7).

use crate::common::{CLIENT, Crossing, Log, MS, Pair, Path, SECOND, SERVER, mptcp_options, transfer};
use transport::{Config, Event, Instant, SubflowId};
use wire::{Dss, Mapping, MptcpOption, Payload, Segment, Span};

fn with(checksum: bool) -> Config {
    Config { checksum, ..Config::default() }
}

fn both(config: Config) -> [Config; 2] {
    [config.clone(), config]
}

fn mapping(segment: &mut Segment<Span>) -> Option<&mut Mapping> {
    segment.options.dss.as_mut()?.mapping.as_mut()
}

/// What a payload rewriter does, as far as MPTCP can see it: the checksum does not fit the data any more.
fn spoil(segment: &mut Segment<Span>) {
    if let Some(checksum) = mapping(segment).and_then(|m| m.checksum.as_mut()) {
        *checksum ^= 0x5a5a;
    }
}

#[test]
fn checksums_are_used_when_either_side_asks() {
    for (client, server) in [(false, false), (true, false), (false, true), (true, true)] {
        let mut pair = Pair::new(1, [with(client), with(server)], vec![Path::clean(10 * MS), Path::clean(20 * MS)]);
        let mappings: Log<bool> = Log::default();
        let seen = mappings.clone();
        pair.tap(move |_, _, _, s| {
            seen.borrow_mut().extend(mapping(s).map(|m| m.checksum.is_some()));
            for option in mptcp_options(s) {
                if let MptcpOption::MpCapable(wire::MpCapable { data: Some((_, checksum)), .. }) = option {
                    seen.borrow_mut().push(checksum.is_some());
                }
            }
            true
        });
        transfer(&mut pair, CLIENT, 1_000_000);
        assert!(mappings.borrow().len() > 500 && mappings.borrow().iter().all(|&c| c == (client || server)));
        assert_eq!(pair.connection(SERVER).subflow_count(), 2);
        assert!(!pair.connection(SERVER).is_fallback() && !pair.connection(CLIENT).is_fallback());
    }
}

#[test]
fn a_checksum_takes_no_room_from_the_data() {
    let mss: Vec<_> = [false, true]
        .map(|checksum| {
            let mut pair = Pair::new(1, both(with(checksum)), vec![Path::clean(10 * MS)]);
            transfer(&mut pair, SERVER, 100_000);
            pair.connection(SERVER).views()[0].mss
        })
        .into();
    assert_eq!(mss, [1460 - 12 - 28; 2]);
}

/// Splits data segments in two; the mapping stays on the first part, as segmentation offload leaves it.
fn split(side: usize, segment: Segment<Span>) -> Vec<Crossing> {
    let len = segment.payload.len();
    if len < 2 {
        return vec![Crossing::new(side, segment)];
    }
    let (mut first, mut second) = (segment.clone(), segment);
    first.payload = first.payload.slice(0, len / 2);
    second.payload = second.payload.slice(len / 2, len);
    second.seq = second.seq.wrapping_add(len as u32 / 2);
    first.flags = wire::Flags(first.flags.0 & !wire::Flags::FIN.0);
    if let Some(dss) = &mut second.options.dss {
        (dss.mapping, dss.data_fin) = (None, false);
    }
    second.options.rare = None;
    vec![Crossing::new(side, first), Crossing::new(side, second)]
}

#[test]
fn mappings_that_span_several_segments_are_verified_whole() {
    for loss in [0, 20] {
        let lossy = Path { loss, ..Path::clean(10 * MS) };
        let mut pair = Pair::new(3, both(with(true)), vec![lossy, Path::clean(15 * MS)]);
        pair.middlebox(|_, side, _, segment| split(side, segment));
        transfer(&mut pair, SERVER, 2_000_000);
        assert!(!pair.connection(CLIENT).is_fallback());
        let new: Vec<_> = (0..2).map(|r| pair.connection(CLIENT).statistics(SubflowId(r)).new_bytes_received).collect();
        assert!(loss > 0 || new.iter().all(|&n| n > 300_000), "{new:?}");
    }
}

#[test]
fn a_failure_on_one_of_several_subflows_resets_it_with_mp_fail_and_the_data_goes_elsewhere() {
    let mut pair = Pair::new(1, both(with(true)), vec![Path::clean(10 * MS), Path::clean(10 * MS)]);
    let resets: Log<Vec<MptcpOption>> = Log::default();
    let seen = resets.clone();
    let first_bad = Log::default();
    let bad = first_bad.clone();
    pair.tap(move |now_ns, side, path, s| {
        if side == SERVER && path == 1 && now_ns > SECOND {
            if let Some(m) = mapping(s) {
                bad.borrow_mut().push(m.dsn);
            }
            spoil(s);
        }
        if s.flags.rst() {
            assert_eq!((side, path), (CLIENT, 1));
            seen.borrow_mut().push(mptcp_options(s).to_vec());
        }
        true
    });
    transfer(&mut pair, SERVER, 5_000_000);
    let wire::DataNumber::Long(dsn) = first_bad.borrow()[0] else { panic!("64 bits are sent") };
    // RFC 8684 §3.7: MP_FAIL with the start of the mapping; §3.6: reason 6, and not transient.
    assert_eq!(resets.borrow()[0], [MptcpOption::MpFail { dsn }, MptcpOption::MpTcpRst { flags: 0, reason: 6 }]);
    assert!(pair.events[SERVER].iter().any(|&(at, e)| at < 2 * SECOND && e == Event::SubflowClosed(SubflowId(1))));
    assert!(!pair.connection(CLIENT).is_fallback());
    assert_eq!(pair.connection(CLIENT).subflow_count(), 2, "the path is not tried again");
}

#[test]
fn a_failure_on_the_only_subflow_ends_in_an_infinite_mapping_both_ways() {
    for (lost, from_ns) in [(false, 0), (false, SECOND), (true, SECOND)] {
        let mut pair = Pair::new(1, both(with(true)), vec![Path { loss: 5, ..Path::clean(10 * MS) }]);
        let signals: Log<(usize, &str)> = Log::default();
        let seen = signals.clone();
        let mut dropped = 0;
        pair.tap(move |now_ns, side, _, s| {
            if side == SERVER && now_ns >= from_ns && s.payload.len > 0 {
                spoil(s);
            }
            let fail = mptcp_options(s).iter().any(|o| matches!(o, MptcpOption::MpFail { .. }));
            let infinite = mapping(s).is_some_and(|m| m.len == 0);
            seen.borrow_mut().extend(fail.then_some((side, "MP_FAIL")));
            seen.borrow_mut().extend(infinite.then_some((side, "infinite")));
            // Its loss, either way, is repaired.
            let drop = lost && (fail || infinite) && dropped < 6;
            dropped += u32::from(drop);
            !drop
        });
        transfer(&mut pair, SERVER, 3_000_000);
        for side in [CLIENT, SERVER] {
            assert!(pair.connection(side).is_fallback());
            assert_eq!(pair.connection(side).subflow_count(), 1);
            for what in ["MP_FAIL", "infinite"] {
                assert!(signals.borrow().contains(&(side, what)), "{lost} {from_ns}: side {side} sent no {what}");
            }
        }
    }
}

#[test]
fn a_rewriter_that_changes_the_length_of_data_is_survived_after_the_fallback() {
    // A middlebox that replaces text: sequence numbers behind it move. The peers see a checksum failure; from the
    // infinite mapping on the stream is the subflow's, and what it brings is the middlebox's business.
    let mut pair = Pair::new(1, both(with(true)), vec![Path::clean(10 * MS)]);
    pair.checking = false;
    let mut inserted_at: Option<u32> = None;
    pair.middlebox(move |now_ns, side, _, mut s| {
        if side == SERVER {
            if s.payload.len > 0 && now_ns > SECOND && inserted_at.is_none() {
                inserted_at = Some(s.seq);
            }
            if let Some(at) = inserted_at {
                if s.seq == at && s.payload.len > 0 {
                    s.payload.len += 10;
                    spoil(&mut s);
                } else if (s.seq.wrapping_sub(at) as i32) > 0 {
                    s.seq = s.seq.wrapping_add(10);
                }
            }
        } else if let Some(at) = inserted_at {
            let beyond = s.ack.wrapping_sub(at) as i32;
            s.ack = s.ack.wrapping_sub(beyond.clamp(0, 10) as u32);
            s.options.sack = wire::SackBlocks::default();
        }
        vec![Crossing::new(side, s)]
    });
    assert!(pair.run_until(SECOND, |p| p.saw(SERVER, Event::Established)));
    pair.connection(SERVER).offer(3_000_000);
    let now_ns = pair.now_ns;
    pair.connection(SERVER).close(Instant::from_nanos(now_ns));
    assert!(pair.run_until(600 * SECOND, |p| p.saw(SERVER, Event::Closed)), "{:?} {:?}", pair.events, pair.read);
    assert_eq!(pair.read[CLIENT], 3_000_010);
}

#[test]
fn a_missing_or_uncalled_for_checksum_resets_the_subflow() {
    for negotiated in [true, false] {
        let mut pair = Pair::new(1, both(with(negotiated)), vec![Path::clean(10 * MS), Path::clean(10 * MS)]);
        let resets: Log<Vec<MptcpOption>> = Log::default();
        let seen = resets.clone();
        pair.tap(move |now_ns, side, path, s| {
            if side == SERVER
                && path == 1
                && now_ns > SECOND
                && let Some(m) = mapping(s)
            {
                m.checksum = if negotiated { None } else { Some(0x1234) };
            }
            if s.flags.rst() && side == CLIENT {
                seen.borrow_mut().push(mptcp_options(s).to_vec());
            }
            true
        });
        transfer(&mut pair, SERVER, 5_000_000);
        let [MptcpOption::MpTcpRst { reason: 1, .. }] = resets.borrow()[0][..] else { panic!("{resets:?}") };
    }
}

#[test]
fn a_lone_data_fin_has_a_checksum_and_a_wrong_one_is_not_believed() {
    let mut pair = Pair::new(1, both(with(true)), vec![Path::clean(10 * MS)]);
    let mut spoilt = 0;
    pair.tap(move |_, _, _, s| {
        if let Some(Dss { data_fin: true, mapping: Some(m), .. }) = &mut s.options.dss
            && s.payload.len == 0
            && spoilt < 4
        {
            spoilt += 1;
            m.checksum = m.checksum.map(|c| c ^ 1);
        }
        true
    });
    assert!(pair.run_until(SECOND, |p| p.saw(SERVER, Event::Established)));
    pair.connection(SERVER).offer(100_000);
    pair.run_until(2 * SECOND, |_| false);
    crate::common::finish(&mut pair, SERVER, 100_000);
    assert!(!pair.connection(CLIENT).is_fallback());
}
