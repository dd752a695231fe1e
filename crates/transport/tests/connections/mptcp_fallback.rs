//! Back to TCP wherever options are lost (RFC 8684 §3.7): for each place and direction, the data is whole.

use crate::common::{CLIENT, Log, MS, Pair, Path, SECOND, SERVER, mptcp_options, strip, transfer};
use transport::{Config, Event, SubflowId};
use wire::{MptcpOption, Segment, Span};

fn both(config: Config) -> [Config; 2] {
    [config.clone(), config]
}

/// A transfer in either direction over one path whose middlebox strips options where `when` says so. Answers whether
/// the two ends fell back.
fn transfer_over(
    paths: usize,
    sender: usize,
    checksum: bool,
    when: impl Fn(u64, usize, &Segment<Span>) -> bool + Copy + 'static,
) -> [bool; 2] {
    let config = Config { checksum, ..Config::default() };
    let mut pair = Pair::new(1, both(config), vec![Path { loss: 5, ..Path::clean(10 * MS) }; paths]);
    pair.tap(move |now_ns, side, _, s| {
        if when(now_ns, side, s) {
            strip(s);
        }
        true
    });
    transfer(&mut pair, sender, 2_000_000);
    [CLIENT, SERVER].map(|side| pair.connection(side).is_fallback())
}

const BOTH_WAYS: [usize; 2] = [CLIENT, SERVER];

#[test]
fn options_stripped_from_a_syn_of_either_side() {
    for sender in BOTH_WAYS {
        for stripped in BOTH_WAYS {
            let fallback = transfer_over(2, sender, false, move |_, side, s| s.flags.syn() && side == stripped);
            // A SYN without the option: the server never offered MPTCP; it was only asked for at the client.
            assert_eq!(fallback, [true, true], "sender {sender}, stripped {stripped}");
        }
    }
}

#[test]
fn options_stripped_from_everything_but_the_syns() {
    for sender in BOTH_WAYS {
        for checksum in [false, true] {
            assert_eq!(transfer_over(2, sender, checksum, |_, _, s| !s.flags.syn()), [true, true], "sender {sender}");
        }
    }
}

#[test]
fn options_stripped_in_one_direction_but_on_the_syns() {
    for sender in BOTH_WAYS {
        for stripped in BOTH_WAYS {
            for checksum in [false, true] {
                let fallback = transfer_over(1, sender, checksum, move |_, side, s| !s.flags.syn() && side == stripped);
                assert_eq!(fallback, [true, true], "sender {sender}, stripped {stripped}, checksum {checksum}");
            }
        }
    }
}

#[test]
fn options_stripped_from_data_only_and_from_acknowledgments_only() {
    for sender in BOTH_WAYS {
        let data = transfer_over(1, sender, false, |_, _, s| !s.flags.syn() && s.payload.len > 0);
        assert_eq!(data, [true, true], "data, sender {sender}");
        let acks = transfer_over(1, sender, false, |_, _, s| !s.flags.syn() && s.payload.len == 0);
        assert_eq!(acks, [true, true], "acknowledgments, sender {sender}");
    }
}

#[test]
fn options_stripped_later_on_the_only_subflow() {
    // The path is rerouted: from then on options are lost, in one direction or in both.
    for sender in BOTH_WAYS {
        for stripped in [Some(CLIENT), Some(SERVER), None] {
            for checksum in [false, true] {
                let fallback = transfer_over(1, sender, checksum, move |now_ns, side, _| {
                    now_ns > SECOND && stripped.is_none_or(|s| s == side)
                });
                assert_eq!(fallback, [true, true], "sender {sender}, stripped {stripped:?}, checksum {checksum}");
            }
        }
    }
}

#[test]
fn options_stripped_later_on_one_of_several_subflows_reset_it_as_middlebox_interference() {
    for sender in BOTH_WAYS {
        for stripped in BOTH_WAYS {
            let mut pair = Pair::new(1, both(Config::default()), vec![Path::clean(10 * MS); 2]);
            let resets: Log<(usize, usize, Vec<MptcpOption>)> = Log::default();
            let seen = resets.clone();
            pair.tap(move |now_ns, side, path, s| {
                if s.flags.rst() {
                    seen.borrow_mut().push((side, path, mptcp_options(s).to_vec()));
                } else if now_ns > SECOND && path == 1 && side == stripped {
                    strip(s);
                }
                true
            });
            transfer(&mut pair, sender, 5_000_000);
            // Whoever misses the options resets: the one that they were sent to.
            let expected = (1 - stripped, 1, vec![MptcpOption::MpTcpRst { flags: 0, reason: 6 }]);
            assert_eq!(resets.borrow()[0], expected, "sender {sender}, stripped {stripped}");
            assert!(BOTH_WAYS.iter().all(|&side| !pair.connection(side).is_fallback()));
            assert!(BOTH_WAYS.iter().all(|&side| pair.saw(side, Event::SubflowClosed(SubflowId(1)))));
        }
    }
}

#[test]
fn a_join_whose_options_are_stripped_is_reset_and_the_connection_goes_on() {
    for stripped in BOTH_WAYS {
        let mut pair = Pair::new(1, both(Config::default()), vec![Path::clean(10 * MS); 2]);
        pair.tap(move |_, side, path, s| {
            if path == 1 && side == stripped && s.flags.syn() {
                strip(s);
            }
            true
        });
        // A SYN without MP_JOIN opens another connection at the server; its SYN/ACK has no MP_JOIN, so the client
        // resets the subflow.
        pair.follow_first = true;
        transfer(&mut pair, SERVER, 1_000_000);
        assert!(pair.saw(CLIENT, Event::SubflowClosed(SubflowId(1))));
        assert!(!pair.saw(CLIENT, Event::SubflowEstablished(SubflowId(1))));
        assert!(!pair.connection(CLIENT).is_fallback());
    }
}

#[test]
fn syns_with_mp_capable_that_are_dropped_are_followed_by_plain_ones() {
    let mut pair = Pair::new(1, both(Config::default()), vec![Path::clean(10 * MS)]);
    let syns: Log<bool> = Log::default();
    let seen = syns.clone();
    pair.tap(move |_, side, _, s| {
        let capable = mptcp_options(s).iter().any(|o| matches!(o, MptcpOption::MpCapable(_)));
        if side == CLIENT && s.flags.syn() {
            seen.borrow_mut().push(capable);
        }
        !capable
    });
    transfer(&mut pair, CLIENT, 100_000);
    assert_eq!(*syns.borrow(), [true, true, true, false], "the first SYN and two retransmissions have the option");
    assert!(BOTH_WAYS.iter().all(|&side| side == SERVER || pair.connection(side).is_fallback()));
}

#[test]
fn a_plain_syn_after_one_with_mp_capable_that_did_arrive_means_tcp_at_both_ends() {
    // The answers are lost, not the SYNs: the server has seen MP_CAPABLE and must forget it.
    let mut pair = Pair::new(1, both(Config::default()), vec![Path::clean(10 * MS)]);
    let mut answers = 0;
    pair.tap(move |_, side, _, s| {
        let answer = side == SERVER && s.flags.syn();
        answers += u32::from(answer);
        !answer || answers > 5
    });
    transfer(&mut pair, CLIENT, 100_000);
    assert!(BOTH_WAYS.iter().all(|&side| pair.connection(side).is_fallback()));
}

#[test]
fn after_the_fallback_no_option_of_mptcp_is_sent_once_the_peer_knows() {
    let mut pair = Pair::new(1, both(Config::default()), vec![Path::clean(10 * MS)]);
    let late: Log<(u64, usize)> = Log::default();
    let seen = late.clone();
    pair.tap(move |now_ns, side, _, s| {
        if side == SERVER && !s.flags.syn() && now_ns < 500 * MS {
            strip(s);
        } else if (s.options.dss.is_some() || !mptcp_options(s).is_empty()) && !s.flags.syn() {
            seen.borrow_mut().push((now_ns, side));
        }
        true
    });
    transfer(&mut pair, SERVER, 2_000_000);
    assert!(late.borrow().iter().all(|&(at, _)| at < SECOND), "{late:?}");
}
