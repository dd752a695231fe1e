//! A firewall that drops SYNs with Multipath TCP options, like one that drops unknown options (Honda 2011, §4). The
//! client gets no answer and finally retries without the option (RFC 8684 §3.1, §3.7).

use algorithm::declare::word;
use algorithm::{About, Declared, declared, words};
use wire::MptcpOption;

use super::Transit;

words! {
    /// The SYNs that are dropped.
    pub enum Unwanted {
        /// Those with any option of kind 30.
        All = "all",
        /// Those with MP_CAPABLE; those with MP_JOIN pass.
        Capable = "capable",
    }
}

declared! {
    /// Drops SYNs, and SYN/ACKs, with an option of kind 30.
    pub struct SynFilter {
        /// all of them, or only those with MP_CAPABLE
        drops: Unwanted = word("drops", "all", Unwanted::WORDS),
    }
}

/// The declaration of the middlebox.
pub(super) const ABOUT: About = About::new(
    "syn-filter",
    "silently drops SYNs and SYN/ACKs with Multipath TCP options",
    "Honda 2011; RFC 8684 §3.7",
)
.parameters(SynFilter::PARAMETERS);

impl SynFilter {
    pub(super) fn process<P>(self, transit: Transit<P>) -> Option<Transit<P>> {
        let options = transit.segment.options.rare.iter().flat_map(|rare| rare.mptcp.iter());
        let mut unwanted =
            options.filter(|option| self.drops == Unwanted::All || matches!(option, MptcpOption::MpCapable(_)));
        let dropped = transit.segment.flags.syn() && unwanted.next().is_some();
        drop(unwanted);
        (!dropped).then_some(transit)
    }
}

#[cfg(test)]
mod tests {
    use super::super::Way;
    use super::super::tests::{data, syn, with_dss};
    use super::*;

    #[test]
    fn only_syns_with_the_option_are_dropped() {
        for drops in [Unwanted::All, Unwanted::Capable] {
            let filter = SynFilter { drops };
            assert_eq!(filter.process(syn(Way::Up, 1)), None);
            let data = with_dss(data(Way::Up, 2, b"abc"));
            assert_eq!(filter.process(data.clone()), Some(data));
            let mut plain = syn(Way::Up, 1);
            if let Some(rare) = &mut plain.segment.options.rare {
                rare.mptcp.clear();
            }
            assert_eq!(filter.process(plain.clone()), Some(plain));
        }
    }
}
