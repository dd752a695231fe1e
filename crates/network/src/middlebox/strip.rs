//! A middlebox that removes Multipath TCP options from segments, like firewalls and proxies that pass only known
//! options (Honda 2011; RFC 8684 §3.7). If they are removed from SYNs, the handshake falls back to TCP; later, the
//! connection already uses Multipath TCP.

use algorithm::declare::word;
use algorithm::{About, Declared, declared, words};

use super::{Transit, Way};

words! {
    /// The segments from which options are removed.
    pub enum Stripped {
        /// SYN and SYN/ACK.
        Syn = "syn",
        /// All segments with payload.
        Data = "data",
        /// All segments except SYN and SYN/ACK.
        NotSyn = "not-syn",
        /// All segments.
        All = "all",
    }
}

declared! {
    /// Removes all options of kind 30: DSS and all others.
    pub struct Strip {
        /// segments that lose their options; `"data"`: all those with payload
        on: Stripped = word("on", "all", Stripped::WORDS),
        /// the only direction affected; both without it
        way: Option<Way> = word("direction", "", Way::WORDS).optional(),
    }
}

/// The declaration of the middlebox.
pub(super) const ABOUT: About =
    About::new("strip", "removes Multipath TCP options from segments", "Honda 2011; RFC 8684 §3.7")
        .parameters(Strip::PARAMETERS);

impl Strip {
    pub(super) fn process<P: wire::Payload>(&self, mut transit: Transit<P>) -> Transit<P> {
        let segment = &mut transit.segment;
        let chosen = match self.on {
            Stripped::Syn => segment.flags.syn(),
            Stripped::Data => !segment.payload.is_empty(),
            Stripped::NotSyn => !segment.flags.syn(),
            Stripped::All => true,
        };
        if chosen && self.way.is_none_or(|way| way == transit.way) {
            segment.options.dss = None;
            if let Some(rare) = &mut segment.options.rare {
                rare.mptcp.clear();
                if **rare == wire::RareOptions::default() {
                    segment.options.rare = None;
                }
            }
        }
        transit
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{data, syn, syn_ack, with_dss};
    use super::*;
    use wire::{Flags, MptcpOption, RareOptions};

    #[test]
    fn only_what_is_chosen_is_stripped_and_only_of_multipath_tcp() {
        let bare_ack = Transit { segment: with_dss(data(Way::Up, 5, b"")).segment, ..data(Way::Up, 5, b"") };
        let segments = [syn(Way::Up, 1), syn_ack(9, 2), with_dss(data(Way::Up, 2, b"abc")), bare_ack];
        for (from, stripped) in [
            (Stripped::Syn, [true, true, false, false]),
            (Stripped::Data, [false, false, true, false]),
            (Stripped::NotSyn, [false, false, true, true]),
            (Stripped::All, [true; 4]),
        ] {
            for (segment, stripped) in segments.iter().zip(stripped) {
                let out = Strip { on: from, way: None }.process(segment.clone());
                let rare = out.segment.options.rare.as_deref();
                let multipath = out.segment.options.dss.is_some() || rare.is_some_and(|rare| !rare.mptcp.is_empty());
                assert_eq!(multipath, !stripped, "{from:?} {:?}", segment.segment);
                assert_eq!(out.segment.options.timestamps, segment.segment.options.timestamps);
                assert_eq!(rare.and_then(|rare| rare.mss), segment.segment.options.rare.as_ref().and_then(|r| r.mss));
                assert_eq!(
                    (out.segment.payload, out.segment.seq),
                    (segment.segment.payload.clone(), segment.segment.seq)
                );
            }
        }
    }

    #[test]
    fn one_way_alone() {
        let strip = Strip { on: Stripped::All, way: Some(Way::Down) };
        assert_eq!(strip.process(syn(Way::Up, 1)), syn(Way::Up, 1));
        assert_ne!(strip.process(syn_ack(9, 2)), syn_ack(9, 2));
    }

    #[test]
    fn an_empty_box_of_rare_options_goes_too() {
        let mut transit = data(Way::Up, 1, b"");
        transit.segment.flags = Flags::ACK;
        let mptcp = vec![MptcpOption::MpPrio { backup: true }];
        transit.segment.options.rare = Some(Box::new(RareOptions { mptcp, ..RareOptions::default() }));
        let out = Strip { on: Stripped::All, way: None }.process(transit);
        assert_eq!(out.segment.options.rare, None);
    }
}
