use super::*;
use crate::action::Action;
use crate::script::hand::{Hand, OPEN};

const S: u64 = 1_000_000_000;

fn settings(ladder_mbps: &[u64]) -> Settings {
    Settings {
        ladder_bps: ladder_mbps.iter().map(|rate| rate * 1_000_000).collect(),
        segment_ns: 2 * S,
        buffer_ns: 20 * S,
        reservoir_ns: 4 * S,
        upper_ns: 12 * S,
        startup_ns: 2 * S,
        segments: None,
        request_bytes: 300,
    }
}

/// Plays the video until `until_ns`. `done_ns` maps the time and size of a request to the arrival of the segment.
/// Returns the video and the bit rate of each segment in Mbit/s.
fn watch(of: Settings, until_ns: u64, done_ns: impl Fn(u64, u64) -> u64) -> (Video, Vec<u64>, Hand) {
    let (mut video, mut hand) = (Video::new(of, 0), Hand::default());
    assert_eq!(hand.act(|todo| video.start(0, todo)), [OPEN]);
    video.opened(1);
    let (mut now_ns, mut answers, mut rates) = (0, 0, Vec::new());
    let mut wanted = hand.act(|todo| video.stands(0, 1, todo));
    while !hand.finished {
        let [only] = wanted[..] else { panic!("{wanted:?}") };
        now_ns = match only {
            Action::Ask { answer_bytes, .. } => done_ns(now_ns, answer_bytes),
            Action::Wake { at_ns, .. } => at_ns,
            other => panic!("{other:?}"),
        };
        if now_ns > until_ns {
            break;
        }
        wanted = match only {
            Action::Ask { answer_bytes, .. } => {
                answers += 1;
                rates.push(answer_bytes * 8 / 2_000_000);
                hand.act(|todo| video.answered(now_ns, 1, answers, todo))
            }
            _ => hand.act(|todo| video.wake(todo)),
        };
    }
    (video, rates, hand)
}

/// A link of 2.5 Mbit/s without delay.
fn constant(now_ns: u64, bytes: u64) -> u64 {
    now_ns + bytes * 3200
}

#[test]
fn the_buffer_chooses_the_rate() {
    // A segment of 1, 2 and 4 Mbit/s takes 0.8, 1.6 and 3.2 s, so that the buffer level changes by +1.2, +0.4 and −1.2
    // s. Between 4 and 12 s of buffer the map rises from 1 to 4 Mbit/s; it reaches 2 at 6⅔ s. Levels when a segment is
    // requested: 1 Mbit/s at 0, 2, 3.2, 4.4, 5.6; 2 at 6.8, 7.2 … 11.6; 4 at 12, 10.8, 9.6, 8.4, 7.2; 2 at 6 (the map:
    // 1.75).
    let until_ns = 40_800_000_000;
    let (video, rates, hand) = watch(settings(&[1, 2, 4]), until_ns, constant);
    assert_eq!(rates, [&[1; 5][..], &[2; 13], &[4; 5]].concat());
    let seen = video.playback(until_ns).unwrap();
    assert_eq!((seen.startup_s, seen.stalls, seen.stalled_s, seen.switches), (Some(0.8), 0, 0.0, 3));
    assert_eq!(seen.bitrate_mean_bps, Some(51e6 / 23.0));
    assert_eq!((hand.parts.begun, hand.parts.completion_s[0], hand.parts.completion_s[22]), (24, 0.8, 3.2));
}

#[test]
fn an_outage_stalls_for_what_the_buffer_does_not_bridge() {
    // The buffer holds 6 s: each segment is requested when 4 s are left, and arrives 0.8 s later. The one requested at
    // 18 s arrives 10 s late: the 4 s run out at 22 s, and playback resumes at 28.8 s.
    let of = Settings { buffer_ns: 6 * S, reservoir_ns: 2 * S, upper_ns: 5 * S, ..settings(&[1]) };
    let late = |now_ns, bytes| constant(now_ns, bytes) + if now_ns > 17 * S && now_ns < 19 * S { 10 * S } else { 0 };
    let (video, _, hand) = watch(of.clone(), 60 * S, late);
    let asked_s = hand.parts.start_s.iter().copied().find(|&start_s| start_s > 17.0).unwrap();
    let seen = video.playback(60 * S).unwrap();
    assert_eq!((seen.stalls, seen.switches), (1, 0));
    assert!((seen.stalled_s - 6.8).abs() < 1e-9, "{seen:?}, asked at {asked_s}");
    // A stall that has not ended lasts until the end of the run.
    let (video, ..) =
        watch(of, 60 * S, |now_ns, bytes| if now_ns > 17 * S { 100 * S } else { constant(now_ns, bytes) });
    let seen = video.playback(60 * S).unwrap();
    assert_eq!(seen.stalls, 1);
    assert!((seen.stalled_s - (60.0 - asked_s - 4.0)).abs() < 1e-9, "{seen:?}");
}

#[test]
fn a_video_ends_and_its_end_is_no_stall() {
    let of = Settings { segments: Some(3), ..settings(&[1]) };
    let (video, rates, hand) = watch(of, 60 * S, constant);
    assert_eq!((rates.len(), hand.finished, hand.parts.begun), (3, true, 3));
    let seen = video.playback(60 * S).unwrap();
    assert_eq!((seen.startup_s, seen.stalls, seen.stalled_s), (Some(0.8), 0, 0.0));
    // A link slower than the lowest bit rate stalls before every segment but the first.
    let slow = |now_ns, bytes: u64| now_ns + bytes * 12_000;
    let (video, ..) = watch(Settings { segments: Some(3), ..settings(&[1]) }, 60 * S, slow);
    // A segment takes 3 s: playback begins at 3 s and stalls at 5 and 8 s, for 1 s each.
    let seen = video.playback(60 * S).unwrap();
    assert_eq!((seen.startup_s, seen.stalls, seen.stalled_s), (Some(3.0), 2, 2.0));
}
