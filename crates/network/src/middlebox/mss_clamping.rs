//! A router that lowers the MSS which SYNs announce, because a link that it knows takes shorter packets than the hosts' own: PPPoE
//! (RFC 2516 §7), tunnels, mobile networks. Both ends then send segments that fit, without path MTU discovery (RFC 4459 §3.2).

use algorithm::declare::size;
use algorithm::{About, Declared, declared};

use super::Transit;

declared! {
    /// Settings of the middlebox.
    pub struct MssClamping {
        /// largest MSS that passes; the default suits PPPoE
        mss_bytes: u16 = size("size", 1452, [88, 65_495]),
    }
}

/// The declaration of the middlebox.
pub(super) const ABOUT: About =
    About::new("mss-clamping", "lowers the maximum segment size that SYNs and SYN/ACKs announce", "RFC 4459 §3.2")
        .parameters(MssClamping::PARAMETERS);

impl MssClamping {
    pub(super) fn process<P>(self, mut transit: Transit<P>) -> Transit<P> {
        if transit.segment.flags.syn()
            && let Some(rare) = &mut transit.segment.options.rare
            && let Some(mss) = &mut rare.mss
        {
            *mss = (*mss).min(self.mss_bytes);
        }
        transit
    }
}

#[cfg(test)]
mod tests {
    use super::super::Way;
    use super::super::tests::{data, syn, syn_ack};
    use super::*;

    #[test]
    fn an_announced_mss_becomes_no_larger_and_nothing_else_changes() {
        let mss = |mss_bytes, transit| MssClamping { mss_bytes }.process(transit);
        for announced in [syn(Way::Up, 1), syn_ack(9, 2)] {
            assert_eq!(mss(1_460, announced.clone()), announced);
            let lowered = mss(1_240, announced.clone());
            assert_eq!(lowered.segment.options.rare.as_ref().and_then(|rare| rare.mss), Some(1_240));
            let mut expected = announced;
            expected.segment.options.rare.as_mut().unwrap().mss = Some(1_240);
            assert_eq!(lowered, expected);
        }
        // A SYN without the option (then 536 bytes are the rule) gets none.
        let mut bare = syn(Way::Up, 1);
        bare.segment.options.rare.as_mut().unwrap().mss = None;
        assert_eq!(mss(1_240, bare.clone()), bare);
        let content = data(Way::Up, 2, &[7; 1_400]);
        assert_eq!(mss(1_240, content.clone()), content);
    }
}
