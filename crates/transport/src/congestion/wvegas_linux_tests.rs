//! The kernel's wVegas, its numbers worked by hand.

use super::*;
use crate::time::{Duration, Instant};

fn view(cwnd: f64, ssthresh: f64) -> View {
    View {
        cwnd,
        ssthresh,
        srtt: Duration::from_millis(100),
        min_rtt: Duration::from_nanos(1),
        in_flight: 4,
        active: true,
        ..View::new(10.0, 1420)
    }
}

fn ack(rtt_us: u64) -> Ack {
    // One microsecond less than the kernel will see.
    Ack {
        now: Instant::ZERO,
        acked_segments: 1.0,
        rtt: Some(Duration::from_nanos((rtt_us - 1) * 1000)),
        cwnd_limited: true,
    }
}

fn start(group: &[View], base_us: u64) -> WvegasLinux {
    let mut control = WvegasLinux::default();
    for r in 0..group.len() {
        control.on_ack(group, r, &Ack { cwnd_limited: false, ..ack(base_us) });
    }
    control
}

fn round(control: &mut WvegasLinux, group: &mut [View], r: usize, rtt_us: u64) -> f64 {
    for _ in 0..4 {
        let w = control.on_ack(group, r, &ack(rtt_us));
        (group[r].cwnd, group[r].ssthresh) = (w.cwnd, w.ssthresh);
    }
    group[r].cwnd
}

#[test]
fn slow_start_ends_when_more_than_one_whole_segment_is_queued() {
    // The first three add one each: w = 37 + 3 = 40; diff = ⌊40·20/100⌋ = 8 > 1; ⌊40·0.8⌋ + 1 = 33.
    let mut group = [view(37.0, f64::INFINITY)];
    let mut control = start(&group, 80_000);
    assert_eq!(round(&mut control, &mut group, 0, 100_000), 33.0);
    assert_eq!(group[0].ssthresh, 32.0);
    // diff = ⌊20·9/100⌋ = 1 is not more than 1, where the paper's form stops at 1.8.
    let mut group = [view(17.0, f64::INFINITY)];
    let mut control = start(&group, 91_000);
    assert_eq!(round(&mut control, &mut group, 0, 100_000), 21.0);
}

#[test]
fn it_shows_what_its_last_round_measured() {
    // 20 ms of queue, diff = ⌊30·0.2⌋ = 6 whole segments, α = 10 alone in the sum.
    let mut group = [view(30.0, 10.0)];
    let mut control = start(&group, 80_000);
    round(&mut control, &mut group, 0, 100_000);
    let mut columns = [f64::NAN; 3];
    control.show(&group, 0, Instant::ZERO, &mut columns);
    assert_eq!(columns[1..], [6.0, 10.0]);
    assert!((columns[0] - 0.02).abs() < 1e-12);
}

#[test]
fn weights_come_from_coarse_rates() {
    // Path 0: diff = ⌊30·0.2⌋ = 6 ≥ 2; rate ⌊30·2¹⁶/10⁵⌋ = 19, alone in the sum: α = 10, one more.
    // Path 1: diff = ⌊11·0.2⌋ = 2 ≥ 2; rate ⌊11·2¹⁶/10⁵⌋ = 7, weight 7/26: ⌊10·7/26⌋ = 2 = diff: it stays.
    let mut group = [view(30.0, 10.0), view(11.0, 5.0)];
    let mut control = start(&group, 80_000);
    assert_eq!(round(&mut control, &mut group, 0, 100_000), 31.0);
    control.on_ack(&group, 0, &ack(100_000)); // so that path 0 has samples in its round
    assert_eq!(round(&mut control, &mut group, 1, 100_000), 11.0);
    assert_eq!((control.paths[0].alpha, control.paths[1].alpha), (10, 2));
}

#[test]
fn twice_the_least_queueing_delay_drains() {
    // q = 20 ms is kept; at 120 ms of rtt q = 40 ≥ 2·20. diff = ⌊31·40/120⌋ = 10 = α: w stays 31, then
    // ⌊80·2¹⁶/240⌋ = 21 845 of 2¹⁶: 10.
    let mut group = [view(30.0, 10.0)];
    let mut control = start(&group, 80_000);
    round(&mut control, &mut group, 0, 100_000);
    assert_eq!(round(&mut control, &mut group, 0, 120_000), 10.0);
    assert_eq!(control.paths[0].least_queueing_us, 0);
}

#[test]
fn a_loss_halves_whole_segments_and_alpha_begins_again() {
    let mut group = [view(30.0, 10.0)];
    let mut control = start(&group, 80_000);
    round(&mut control, &mut group, 0, 100_000);
    assert_eq!(control.on_loss(&group, 0, Instant::ZERO), 15.0);
    group[0].cwnd = 15.0;
    control.on_ack(&group, 0, &ack(100_000));
    assert_eq!((control.paths[0].alpha, control.paths[0].base_us), (2, 80_000));
}
