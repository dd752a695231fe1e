//! A captive path: it lets connections be established but drops their payload, like a hotspot before the login. To
//! hosts, the path looks established but unresponsive.

use algorithm::declare::{HOUR, time};
use algorithm::{About, Declared, Order, declared};

use super::Transit;

const LATEST_NS: u64 = 30 * 24 * HOUR;

declared! {
    /// Drops all payload from one time to another.
    pub struct Captive {
        /// start of the captive period
        from_ns: u64 = time("from", 0, [0, LATEST_NS]),
        /// end of the captive period
        until_ns: Option<u64> = time("until", 0, [0, LATEST_NS]).optional(),
    }
}

/// The declaration of the middlebox.
pub(super) const ABOUT: About = About::new(
    "captive",
    "lets connections be established but drops all payload, like a hotspot before the login",
    "—",
)
.parameters(Captive::PARAMETERS)
.orders(&[Order::less("from", "until")]);

impl Captive {
    pub(super) fn process<P: wire::Payload>(self, now_ns: u64, transit: Transit<P>) -> Option<Transit<P>> {
        let awake = now_ns >= self.from_ns && self.until_ns.is_none_or(|until_ns| now_ns < until_ns);
        (!awake || transit.segment.payload.is_empty()).then_some(transit)
    }
}

#[cfg(test)]
mod tests {
    use super::super::Way;
    use super::super::tests::{data, syn};
    use super::*;

    #[test]
    fn what_carries_nothing_passes_and_content_only_outside_its_time() {
        let captive = Captive { from_ns: 10, until_ns: Some(20) };
        for (now_ns, passes) in [(9, true), (10, false), (19, false), (20, true)] {
            assert!(captive.process(now_ns, syn(Way::Up, 1)).is_some());
            assert!(captive.process(now_ns, data(Way::Down, 1, b"")).is_some());
            assert_eq!(captive.process(now_ns, data(Way::Down, 1, b"abc")).is_some(), passes, "at {now_ns}");
        }
    }
}
