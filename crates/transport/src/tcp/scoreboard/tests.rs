use super::*;
use crate::time::{Duration, Instant};
use wire::Span;

/// Ten segments of 100 bytes from sequence number 1, sent at 1…10 ns.
fn board() -> Scoreboard<Span> {
    let mut b = Scoreboard::new();
    for i in 0..10 {
        b.push(
            1 + 100 * i,
            Offset::after(100 * i),
            Span { offset: 100 * i, len: 100 },
            false,
            Instant::from_nanos(1 + i),
        );
    }
    b
}

fn sack(b: &mut Scoreboard<Span>, blocks: &[(u32, u32)]) -> Delivered {
    let blocks: Vec<_> = blocks.iter().map(|&(left, right)| SackBlock { left, right }).collect();
    let mut delivered = b.nothing_delivered(Copies::default());
    b.selectively_acknowledge(&blocks, u64::from, Instant::from_nanos(100), &mut delivered);
    delivered
}

#[test]
fn pipe_counts_what_is_in_the_network() {
    let mut b = board();
    assert_eq!(b.pipe(), 10);
    assert_eq!(sack(&mut b, &[(201, 301)]).segments, 1);
    assert!(!b.find_losses(3));
    assert_eq!(b.pipe(), 9);
    assert_eq!(sack(&mut b, &[(201, 501)]).segments, 2);
    // Three sacked (segments 2, 3, 4) above segments 0 and 1: both are lost.
    assert!(b.find_losses(3));
    assert_eq!(b.pipe(), 5);
    assert_eq!(b.retransmit(Instant::from_nanos(200)).map(|s| s.seq), Some(1));
    assert_eq!(b.retransmit(Instant::from_nanos(200)).map(|s| s.seq), Some(101));
    assert!(b.retransmit(Instant::from_nanos(200)).is_none());
    assert_eq!(b.pipe(), 7);
    let mut delivered = Delivered::default();
    b.acknowledge(501, Instant::from_nanos(300), &mut delivered);
    assert_eq!((delivered.segments, delivered.bytes, delivered.once), (2, 200, Once::default()));
    assert!(delivered.advanced);
    assert_eq!((b.pipe(), b.outstanding()), (5, 5));
}

/// Parts of the second segment, as a box makes them: 40 bytes, 30 more, then all of it. The last is walked through from where
/// the second ended.
#[test]
fn a_block_within_a_segment_does_not_hide_it_from_the_next() {
    let mut b = board();
    assert_eq!(sack(&mut b, &[(501, 531), (101, 141), (141, 171)]).segments, 0);
    assert_eq!(sack(&mut b, &[(101, 201)]).segments, 1);
    assert_eq!(b.pipe(), 9);
}

#[test]
fn the_sample_is_the_age_of_the_oldest_sent_once() {
    let mut b = board();
    let mut delivered = Delivered::default();
    b.acknowledge(201, Instant::from_nanos(50), &mut delivered);
    let (rtt, last_rtt) =
        (delivered.once.rtt(Instant::from_nanos(50)), delivered.once.last_rtt(Instant::from_nanos(50)));
    assert_eq!((rtt, last_rtt), (Some(Duration::from_nanos(49)), Some(Duration::from_nanos(48))));
}

#[test]
fn what_waited_behind_a_retransmission_gives_no_sample() {
    let mut b = board();
    b.mark_first_lost();
    assert_eq!(b.retransmit(Instant::from_nanos(1_000)).map(|s| s.seq), Some(1));
    let mut delivered = Delivered::default();
    b.acknowledge(501, Instant::from_nanos(1_010), &mut delivered);
    assert_eq!((delivered.segments, delivered.once), (5, Once::default()));
}

/// That the first block has grown is seen at once; with the blocks in another order it is searched for.
#[test]
fn a_block_that_grows_marks_what_is_new() {
    let (mut one, mut other) = (board(), board());
    for board in [&mut one, &mut other] {
        sack(board, &[(301, 401), (101, 201)]);
    }
    for to in [401, 451, 501, 601, 601, 701] {
        let (first, second) = ((301, to), (101, 201));
        let (ours, theirs) = (sack(&mut one, &[first, second]), sack(&mut other, &[second, first]));
        assert_eq!((ours, one.sacked()), (theirs, other.sacked()), "{to}");
    }
    assert_eq!(one.sacked(), 5);
    assert_eq!(sack(&mut one, &[(301, 1101), (101, 201)]).segments, 0, "never sent");
    assert_eq!(sack(&mut one, &[(301, 801), (101, 201)]).segments, 1);
}

/// The acknowledgment of the fourth segment was lost, so that the next one tells of two at once, the newest first (RFC 2018 §4).
#[test]
fn what_one_acknowledgment_tells_of_is_not_reordered() {
    let mut b = board();
    assert!(!sack(&mut b, &[(501, 601), (301, 401)]).reordered);
    let mut delivered = b.nothing_delivered(Copies::default());
    b.acknowledge(201, Instant::from_nanos(110), &mut delivered);
    assert!(delivered.reordered, "the first two came after the fourth");
}

#[test]
fn what_comes_after_later_data_is_reordered() {
    let mut b = board();
    assert!(!sack(&mut b, &[(501, 601)]).reordered);
    assert!(!sack(&mut b, &[(701, 801), (501, 601)]).reordered);
    assert!(sack(&mut b, &[(301, 401), (701, 801), (501, 601)]).reordered);
}

/// All but the last were told of or are sent again and acknowledged; the last was sent before that, and the peer has nothing beyond:
/// that is enough to tell that it is lost (RFC 8985 §6.2 step 5).
#[test]
fn what_was_sent_again_tells_of_a_lost_tail() {
    let mut b = board();
    sack(&mut b, &[(101, 901)]);
    b.mark_first_lost();
    b.retransmit(Instant::from_nanos(30)).expect("the first");
    b.acknowledge(901, Instant::from_nanos(50), &mut Delivered::default());
    let found = |b: &mut Scoreboard<Span>, latest| {
        b.find_losses_by_time(latest, || Duration::from_nanos(20), Instant::from_nanos(50)).0
    };
    assert!(!found(&mut b, (Instant::from_nanos(9), 901)), "of what was sent before");
    assert!(found(&mut b, (Instant::from_nanos(30), 101)));
}

#[test]
fn time_tells_a_loss_and_a_lost_retransmission() {
    let mut b = board();
    let rtt = 20;
    // Segment 4 (sent at 5) is delivered at 25: those sent before it are lost once their own 20 ns are over.
    let delivered = sack(&mut b, &[(401, 501)]);
    assert_eq!(delivered.latest, (Instant::from_nanos(5), 501));
    assert_eq!(
        b.find_losses_by_time((Instant::from_nanos(5), 501), || Duration::from_nanos(rtt + 2), Instant::from_nanos(25)),
        (true, Instant::from_nanos(26))
    );
    assert_eq!(b.pipe(), 10 - 1 - 3, "those of 1, 2 and 3 ns; that of 4 ns has one left");
    assert_eq!(
        b.find_losses_by_time((Instant::from_nanos(5), 501), || Duration::from_nanos(rtt + 2), Instant::from_nanos(26)),
        (true, Instant::NEVER)
    );
    assert_eq!(b.pipe(), 10 - 1 - 4);
    assert_eq!(b.retransmit(Instant::from_nanos(30)).map(|s| s.seq), Some(1));
    assert_eq!(b.retransmit(Instant::from_nanos(31)).map(|s| s.seq), Some(101));
    // The second retransmission arrives, the first does not: it is lost again.
    sack(&mut b, &[(101, 201), (401, 501)]);
    assert_eq!(
        b.find_losses_by_time((Instant::from_nanos(31), 201), || Duration::from_nanos(rtt), Instant::from_nanos(51)),
        (true, Instant::NEVER)
    );
    assert_eq!(b.retransmit(Instant::from_nanos(52)).map(|s| s.seq), Some(1));
}

/// Where the search for losses goes on moves with a block that grows from there: the next hole is found all the same, and what was sent
/// after the latest that was delivered is not.
#[test]
fn a_block_that_grows_hides_no_hole_behind_it() {
    let mut b = board();
    let lost = |b: &mut Scoreboard<Span>, latest: (u64, u64)| {
        let (found, _) = b.find_losses_by_time(
            (Instant::from_nanos(latest.0), latest.1),
            || Duration::from_nanos(20),
            Instant::from_nanos(100),
        );
        (found, b.lost_ends().collect::<Vec<_>>())
    };
    sack(&mut b, &[(101, 201)]);
    assert_eq!(lost(&mut b, (2, 201)), (true, vec![101]));
    sack(&mut b, &[(101, 301)]);
    assert_eq!(lost(&mut b, (3, 301)), (false, vec![101]));
    sack(&mut b, &[(101, 501)]);
    sack(&mut b, &[(701, 801), (101, 501)]);
    assert_eq!(lost(&mut b, (8, 801)), (true, vec![101, 601, 701]));
}

#[test]
fn a_loss_that_was_none_is_forgotten() {
    let mut b = board();
    b.mark_lost_on_timeout(Instant::from_nanos(100), None);
    b.retransmit(Instant::from_nanos(50));
    b.forget_losses();
    assert_eq!((b.pipe(), b.has_unrepaired()), (10, false));
}

#[test]
fn nonsense_blocks_are_ignored() {
    let mut b = board();
    for block in [(301, 201), (301, 301), (901, 1101), (0, 1)] {
        assert_eq!(sack(&mut b, &[block]).segments, 0, "{block:?}");
    }
    // Not a whole segment: nothing is marked.
    assert_eq!(sack(&mut b, &[(250, 350)]).segments, 0);
}

#[test]
fn a_timeout_marks_all_but_the_sacked() {
    let mut b = board();
    sack(&mut b, &[(901, 1001)]);
    b.mark_lost_on_timeout(Instant::from_nanos(100), None);
    assert_eq!(b.pipe(), 0);
    let again: Vec<_> = std::iter::from_fn(|| b.retransmit(Instant::from_nanos(5)).map(|s| s.seq)).collect();
    assert_eq!(again, (0..9).map(|i| 1 + 100 * i).collect::<Vec<_>>());
    assert_eq!(b.pipe(), 9);
    // A second timeout finds the retransmissions lost as well.
    b.mark_lost_on_timeout(Instant::from_nanos(100), None);
    assert_eq!((b.pipe(), b.has_unrepaired()), (0, true));
}

/// RFC 8985 §6.3: those sent a moment ago are not lost, the first is in any case.
#[test]
fn a_timeout_leaves_what_was_just_sent() {
    let mut b = board();
    sack(&mut b, &[(901, 1001)]);
    b.mark_lost_on_timeout(Instant::from_nanos(25), Some(Duration::from_nanos(20)));
    assert_eq!(b.pipe(), 4, "those sent at 6 ns and later");
    assert_eq!(
        b.find_losses_by_time((Instant::from_nanos(10), 1001), || Duration::from_nanos(20), Instant::from_nanos(26)),
        (true, Instant::from_nanos(27)),
        "they are looked at later"
    );
    let mut b = board();
    b.mark_lost_on_timeout(Instant::from_nanos(11), Some(Duration::from_nanos(20)));
    assert_eq!((b.pipe(), b.retransmit(Instant::from_nanos(11)).map(|s| s.seq)), (9, Some(1)));
    assert!(b.retransmit(Instant::from_nanos(11)).is_none());
}

/// RFC 2018 §8: the left edge is sent again although it was selectively acknowledged.
#[test]
fn a_timeout_marks_a_left_edge_that_was_sacked() {
    let mut b = board();
    sack(&mut b, &[(101, 301)]);
    b.acknowledge(101, Instant::from_nanos(50), &mut Delivered::default());
    b.mark_lost_on_timeout(Instant::from_nanos(100), None);
    assert_eq!((b.sacked(), b.pipe()), (0, 0));
    assert_eq!(b.retransmit(Instant::from_nanos(100)).map(|s| s.seq), Some(101));
    // It can be acknowledged again.
    assert_eq!(sack(&mut b, &[(101, 301)]).segments, 2);
}

#[test]
fn a_partial_acknowledgment_cuts_a_segment() {
    let mut b = board();
    let mut delivered = Delivered::default();
    b.acknowledge(151, Instant::from_nanos(50), &mut delivered);
    let first = b.iter().next().unwrap();
    assert_eq!((first.seq, first.offset.octets(), first.payload().offset, first.len()), (151, 150, 150, 50));
    assert_eq!((first.is_part(), delivered.segments, delivered.bytes), (true, 1, 150));
    b.acknowledge(161, Instant::from_nanos(60), &mut delivered);
    let whole = |b: &Scoreboard<Span>, seq| b.whole_of(seq).map(|w| (w.seq, w.offset.octets(), w.payload));
    assert_eq!(whole(&b, 161), Some((101, 100, Span { offset: 100, len: 100 })), "cut twice");
    assert_eq!(whole(&b, 201), None, "not cut");
    b.acknowledge(201, Instant::from_nanos(70), &mut delivered);
    assert_eq!(whole(&b, 161), None, "all of it is acknowledged");
}
