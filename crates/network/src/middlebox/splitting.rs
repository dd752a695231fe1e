//! A middlebox that splits segments into smaller ones and copies the options to each, like a TSO engine, at the sender
//! or anywhere else (Honda 2011; Raiciu 2012). Each part then carries the DSS of the whole. This is harmless because a
//! mapping contains its own subflow sequence number (RFC 8684 §3.3.1).

use algorithm::declare::size;
use algorithm::{About, Declared, declared};
use wire::{Flags, Payload};

use super::Transit;

declared! {
    /// Settings of the middlebox.
    pub struct Config {
        /// maximum payload of a part
        max_bytes: u16 = size("size", 536, [1, super::MOST_CONTENT]),
    }
}

/// The declaration of the middlebox.
pub(super) const ABOUT: About =
    About::new("splitting", "splits segments and copies the options to each part", "Raiciu 2012; Honda 2011")
        .parameters(Config::PARAMETERS);

/// Splits payload longer than a maximum. PSH and FIN stay on the last part, CWR on the first (RFC 3168 §6.1.2). SYNs
/// and urgent segments are not split.
#[derive(Clone, Debug)]
pub struct Splitting {
    mss: usize,
}

impl Splitting {
    /// Splits into parts with at most `mss` bytes of payload.
    ///
    /// # Panics
    /// When `mss` is 0.
    #[must_use]
    pub const fn new(mss: u16) -> Self {
        assert!(mss > 0, "a segment of no bytes cuts nothing");
        Self { mss: mss as usize }
    }

    pub(super) fn process<P: Payload>(&self, transit: Transit<P>, out: &mut Vec<Transit<P>>) {
        let whole = &transit.segment;
        let len = whole.payload.len();
        if len <= self.mss || whole.flags.syn() || whole.flags.urg() {
            out.push(transit);
            return;
        }
        for from in (0..len).step_by(self.mss) {
            let to = len.min(from + self.mss);
            let mut segment = whole.clone();
            segment.payload = whole.payload.slice(from, to);
            segment.seq = whole.seq.wrapping_add(from as u32);
            if from > 0 {
                segment.flags.0 &= !Flags::CWR.0;
            }
            if to < len {
                segment.flags.0 &= !(Flags::PSH | Flags::FIN).0;
            }
            out.push(Transit { segment, ..transit });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::Way;
    use super::super::tests::{data, syn, with_dss};
    use super::*;

    #[test]
    fn the_parts_are_the_whole_with_options_on_each() {
        let mut whole = with_dss(data(Way::Down, u32::MAX - 1, b"abcdefgh"));
        whole.segment.flags = Flags::ACK | Flags::PSH | Flags::FIN | Flags::CWR;
        let mut out = Vec::new();
        Splitting::new(3).process(whole.clone(), &mut out);
        let parts: Vec<_> = out.iter().map(|t| (t.segment.seq, &t.segment.payload[..], t.segment.flags)).collect();
        assert_eq!(
            parts,
            [
                (u32::MAX - 1, &b"abc"[..], Flags::ACK | Flags::CWR),
                (1, b"def", Flags::ACK),
                (4, b"gh", Flags::ACK | Flags::PSH | Flags::FIN),
            ]
        );
        for part in &out {
            assert_eq!((part.way, part.ends), (whole.way, whole.ends));
            assert_eq!((&part.segment.options, part.segment.ack), (&whole.segment.options, whole.segment.ack));
        }
    }

    #[test]
    fn what_fits_and_what_cannot_be_cut_passes() {
        let mut urgent = data(Way::Up, 1, b"abcd");
        urgent.segment.flags = Flags::ACK | Flags::URG;
        let mut fast_open = syn(Way::Up, 1);
        fast_open.segment.payload = b"abcd".to_vec();
        for transit in [data(Way::Up, 1, b"abc"), data(Way::Up, 1, b""), urgent, fast_open] {
            let mut out = Vec::new();
            Splitting::new(3).process(transit.clone(), &mut out);
            assert_eq!(out, [transit]);
        }
    }
}
