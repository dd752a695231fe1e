//! Misuse by the caller panics at once.

use network::Change;

use super::*;

#[test]
#[should_panic(expected = "rate_bps: found 0, expected at least 1 bit/s")]
fn a_rate_of_zero_is_refused() {
    let _ = link_of(0, 0, UNLIMITED);
}

#[test]
#[should_panic(expected = "change of a link: rate_bps: found 0")]
fn a_change_to_a_rate_of_zero_is_refused() {
    link_of(1, 0, UNLIMITED).change(0, Change { rate_bps: Some(0), ..Change::default() }, &mut |_| ());
}

#[test]
#[should_panic(expected = "nothing under way")]
fn nothing_is_delivered_twice() {
    let mut link = link_of(8, 0, UNLIMITED);
    send(&mut link, 0, 0, 1);
    let _ = link.deliver(1_000_000_000);
    let _ = link.deliver(1_000_000_000);
}

#[test]
#[cfg(debug_assertions)]
#[should_panic(expected = "delivered at 999999999, before 1000000000")]
fn nothing_is_delivered_early() {
    let mut link = link_of(8, 0, UNLIMITED);
    send(&mut link, 0, 0, 1);
    let _ = link.deliver(999_999_999);
}
