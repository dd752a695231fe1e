//! The options of a TCP header and their order.
//!
//! Written in this order: MSS, SACK-permitted and timestamps, window scale, SACK, DSS, other MPTCP options, unknown
//! options. Each is padded with NOPs to a multiple of four bytes (RFC 7323 appendix A recommends it). Only when
//! that does not fit in 40 bytes are they packed without padding in between, so that whatever was decoded can be encoded.

use crate::big_endian::{be16, be32};
use crate::length::{MAX_OPTIONS_LEN, aligned};
use crate::mptcp_options::{self, Decoded};
use crate::raw_option::Raw;
use crate::{EncodeError, OptionError, Options, RareOptions, SackBlock, SackBlocks, Timestamps, UnknownOption};

/// Option kinds, as IANA's registry of TCP option kind numbers has them.
mod kind {
    pub(super) const END: u8 = 0;
    pub(super) const NOP: u8 = 1;
    pub(super) const MSS: u8 = 2;
    pub(super) const WINDOW_SCALE: u8 = 3;
    pub(super) const SACK_PERMITTED: u8 = 4;
    pub(super) const SACK: u8 = 5;
    pub(super) const TIMESTAMPS: u8 = 8;
    pub(super) const MPTCP: u8 = 30;
}

/// The kinds that [`Options`] has fields for; no [`UnknownOption`] may have one of them.
const KNOWN: [u8; 8] = [
    kind::END,
    kind::NOP,
    kind::MSS,
    kind::WINDOW_SCALE,
    kind::SACK_PERMITTED,
    kind::SACK,
    kind::TIMESTAMPS,
    kind::MPTCP,
];

impl Options {
    /// Reads the options of a TCP header: the bytes between its fixed part and the data. `offset` is that of the first
    /// of them, for error messages.
    ///
    /// # Errors
    /// A malformed option, or a second one of a kind that may occur once: see the crate's documentation.
    pub fn decode(bytes: &[u8], offset: usize) -> Result<Options, OptionError> {
        let mut options = Options::default();
        let mut at = 0;
        while let Some(&kind) = bytes.get(at) {
            match kind {
                kind::END => break,
                kind::NOP => at += 1,
                _ => {
                    let option = split(&bytes[at..], offset + at)?;
                    options.insert(&option)?;
                    at += 2 + option.body.len();
                }
            }
        }
        Ok(options)
    }

    fn insert(&mut self, option: &Raw) -> Result<(), OptionError> {
        let body = option.body;
        match option.kind {
            kind::TIMESTAMPS => {
                option.fixed_length(10)?;
                option.only_once(self.timestamps.is_some())?;
                self.timestamps = Some(Timestamps { value: be32(body, 0), echo: be32(body, 4) });
            }
            kind::SACK => {
                if !matches!(body.len(), 8 | 16 | 24 | 32) {
                    return Err(option.wrong_length("10, 18, 26 or 34"));
                }
                option.only_once(!self.sack.is_empty())?;
                for block in body.chunks_exact(8) {
                    self.sack.push(SackBlock { left: be32(block, 0), right: be32(block, 4) });
                }
            }
            kind::MSS => {
                option.fixed_length(4)?;
                option.only_once(self.rare.as_ref().is_some_and(|rare| rare.mss.is_some()))?;
                self.rare().mss = Some(be16(body, 0));
            }
            kind::WINDOW_SCALE => {
                option.fixed_length(3)?;
                option.only_once(self.rare.as_ref().is_some_and(|rare| rare.window_scale.is_some()))?;
                self.rare().window_scale = Some(body[0]);
            }
            kind::SACK_PERMITTED => {
                option.fixed_length(2)?;
                option.only_once(self.rare.as_ref().is_some_and(|rare| rare.sack_permitted))?;
                self.rare().sack_permitted = true;
            }
            kind::MPTCP => match mptcp_options::decode(option)? {
                Decoded::Dss(dss) => {
                    Raw { name: "DSS", ..*option }.only_once(self.dss.is_some())?;
                    self.dss = Some(dss);
                }
                Decoded::Other(mptcp) => self.rare().mptcp.push(mptcp),
            },
            kind => self.rare().unknown.push(UnknownOption { kind, data: body.to_vec() }),
        }
        Ok(())
    }

    fn rare(&mut self) -> &mut RareOptions {
        self.rare.get_or_insert_default()
    }

    /// Appends the options, padded to a multiple of four bytes: exactly [`Options::len`] bytes. On an error nothing
    /// is appended.
    ///
    /// # Errors
    /// See [`Options::check`].
    pub fn encode(&self, out: &mut Vec<u8>) -> Result<(), EncodeError> {
        self.check()?;
        let start = out.len();
        let mut writer = Writer { out, start, pad: self.aligned_len() <= MAX_OPTIONS_LEN };
        let rare = self.rare.as_deref();
        if let Some(mss) = rare.and_then(|rare| rare.mss) {
            writer.option(kind::MSS, &mss.to_be_bytes());
        }
        let sack_permitted = rare.is_some_and(|rare| rare.sack_permitted);
        if sack_permitted {
            // Two bytes, in place of the timestamps' NOPs.
            writer.pad_before(2, self.timestamps.is_some());
            writer.option(kind::SACK_PERMITTED, &[]);
        }
        if let Some(Timestamps { value, echo }) = self.timestamps {
            writer.pad_before(2, sack_permitted);
            writer.head(kind::TIMESTAMPS, 8);
            writer.out.extend_from_slice(&value.to_be_bytes());
            writer.out.extend_from_slice(&echo.to_be_bytes());
        }
        if let Some(shift) = rare.and_then(|rare| rare.window_scale) {
            writer.pad_before(1, false);
            writer.option(kind::WINDOW_SCALE, &[shift]);
        }
        if !self.sack.is_empty() {
            writer.pad_before(2, false);
            writer.sack(&self.sack);
        }
        if let Some(dss) = &self.dss {
            writer.head(kind::MPTCP, dss.length() - 2);
            mptcp_options::encode_dss(dss, writer.out);
            writer.pad_after();
        }
        for option in rare.map_or(&[][..], |rare| &rare.mptcp) {
            writer.head(kind::MPTCP, option.length() - 2);
            mptcp_options::encode(option, writer.out);
            writer.pad_after();
        }
        for UnknownOption { kind, data } in rare.map_or(&[][..], |rare| &rare.unknown) {
            writer.option(*kind, data);
            writer.pad_after();
        }
        writer.pad = true;
        writer.pad_after();
        debug_assert_eq!(out.len() - start, self.len(), "the length foretold and the bytes written");
        Ok(())
    }

    /// Whether the options can be written.
    ///
    /// # Errors
    /// [`EncodeError::Option`] for one without a valid form, [`EncodeError::OptionsTooLong`] when together they need
    /// more than 40 bytes.
    pub fn check(&self) -> Result<(), EncodeError> {
        if let Some(rare) = &self.rare {
            rare.mptcp.iter().try_for_each(mptcp_options::check)?;
            if rare.unknown.iter().any(|option| KNOWN.contains(&option.kind)) {
                let reason = "its kind is one this crate knows: put it in its own field";
                return Err(EncodeError::Option { option: "unknown option", reason });
            }
        }
        if self.len() > MAX_OPTIONS_LEN {
            return Err(EncodeError::OptionsTooLong { needed: self.len(), lengths: self.lengths() });
        }
        Ok(())
    }

    /// Each option with the value of its length byte, for a message.
    fn lengths(&self) -> String {
        let mut parts = Vec::new();
        let mut part = |name: &str, length: usize| parts.push(format!("{name} {length}"));
        let rare = self.rare.as_deref();
        if rare.is_some_and(|rare| rare.mss.is_some()) {
            part("MSS", 4);
        }
        if rare.is_some_and(|rare| rare.sack_permitted) {
            part("SACK-permitted", 2);
        }
        if self.timestamps.is_some() {
            part("timestamps", 10);
        }
        if rare.is_some_and(|rare| rare.window_scale.is_some()) {
            part("window scale", 3);
        }
        if !self.sack.is_empty() {
            part("SACK", self.sack.length());
        }
        if let Some(dss) = &self.dss {
            part("DSS", dss.length());
        }
        for option in rare.map_or(&[][..], |rare| &rare.mptcp) {
            part(option.name(), option.length());
        }
        for option in rare.map_or(&[][..], |rare| &rare.unknown) {
            part(&format!("kind {}", option.kind), option.length());
        }
        parts.join(", ")
    }
}

struct Writer<'a> {
    out: &'a mut Vec<u8>,
    start: usize,
    /// Whether options are aligned on four bytes.
    pad: bool,
}

impl Writer<'_> {
    fn head(&mut self, kind: u8, body: usize) {
        self.out.extend_from_slice(&[kind, (2 + body) as u8]);
    }

    fn option(&mut self, kind: u8, body: &[u8]) {
        self.head(kind, body.len());
        self.out.extend_from_slice(body);
    }

    fn sack(&mut self, sack: &SackBlocks) {
        self.head(kind::SACK, 8 * sack.as_slice().len());
        for block in sack.as_slice() {
            self.out.extend_from_slice(&block.left.to_be_bytes());
            self.out.extend_from_slice(&block.right.to_be_bytes());
        }
    }

    fn pad_before(&mut self, nops: usize, neighbour_aligns: bool) {
        if self.pad && !neighbour_aligns {
            self.out.extend_from_slice(&[kind::NOP; 2][..nops]);
        }
    }

    fn pad_after(&mut self) {
        if self.pad {
            let len = self.out.len() - self.start;
            self.out.extend_from_slice(&[kind::NOP; 3][..aligned(len) - len]);
        }
    }
}

fn split(bytes: &[u8], offset: usize) -> Result<Raw<'_>, OptionError> {
    let mut raw = Raw { kind: bytes[0], name: name_of(bytes[0]), body: &[], offset };
    let Some(&length) = bytes.get(1) else {
        return Err(raw.error("length", 1, None, "a byte before the end of the header"));
    };
    if length < 2 {
        return Err(raw.error("length", 1, Some(length.into()), "2 or more"));
    }
    match bytes.get(2..usize::from(length)) {
        Some(body) => raw.body = body,
        None => return Err(raw.error("length", 1, Some(length.into()), "no more than the header has left")),
    }
    Ok(raw)
}

fn name_of(kind: u8) -> &'static str {
    match kind {
        kind::MSS => "MSS",
        kind::WINDOW_SCALE => "window scale",
        kind::SACK_PERMITTED => "SACK-permitted",
        kind::SACK => "SACK",
        kind::TIMESTAMPS => "timestamps",
        kind::MPTCP => "MPTCP",
        _ => "unknown",
    }
}
