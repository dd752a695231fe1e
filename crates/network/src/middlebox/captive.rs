//! A captive path: it lets connections be made and swallows what they carry, as a hotspot before the login does. Hosts
//! see a path that stands and does not answer.

use super::Transit;

/// Swallows all content from a time on until another.
#[derive(Clone, Copy, Debug)]
pub struct Captive {
    /// From then on.
    pub from_ns: u64,
    /// Until then; `u64::MAX` without an end.
    pub until_ns: u64,
}

impl Captive {
    pub(super) fn process<P: wire::Payload>(self, now_ns: u64, transit: Transit<P>) -> Option<Transit<P>> {
        let awake = (self.from_ns..self.until_ns).contains(&now_ns);
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
        let captive = Captive { from_ns: 10, until_ns: 20 };
        for (now_ns, passes) in [(9, true), (10, false), (19, false), (20, true)] {
            assert!(captive.process(now_ns, syn(Way::Up, 1)).is_some());
            assert!(captive.process(now_ns, data(Way::Down, 1, b"")).is_some());
            assert_eq!(captive.process(now_ns, data(Way::Down, 1, b"abc")).is_some(), passes, "at {now_ns}");
        }
    }
}
