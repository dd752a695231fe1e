//! Decompresses captures: gzip, Zstandard and xz, recognised by the first bytes of the file, not by its name.

use ruzstd::decoding::errors::{FrameDecoderError, ReadFrameHeaderError};
use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};
use std::io::{self, BufRead, BufReader, Chain, Cursor, Read};

/// A stream whose first bytes have been read ahead.
type Begun<R> = Chain<Cursor<Vec<u8>>, R>;

/// The bytes of a capture, decompressed if necessary.
pub struct Unpacked<R: Read> {
    packed: Packed<Begun<R>>,
    /// Name of the compression format.
    kind: Option<&'static str>,
    /// Why decompression ended before the end of the file.
    failure: Option<String>,
}

enum Packed<R: Read> {
    Plain(R),
    Gzip(flate2::read::MultiGzDecoder<R>),
    Zstandard(Box<Frames<BufReader<R>>>),
    Xz(Box<lzma_rust2::XzReader<R>>),
}

impl<R: Read> Unpacked<R> {
    pub fn new(mut inner: R) -> io::Result<Unpacked<R>> {
        let mut beginning = Vec::new();
        inner.by_ref().take(6).read_to_end(&mut beginning)?;
        let first = beginning.clone();
        let begun = Cursor::new(beginning).chain(inner);
        let (packed, kind) = match first[..] {
            [0x1f, 0x8b, ..] => (Packed::Gzip(flate2::read::MultiGzDecoder::new(begun)), Some("gzip")),
            [0x28, 0xb5, 0x2f, 0xfd, ..] => {
                (Packed::Zstandard(Box::new(Frames::new(BufReader::new(begun)))), Some("Zstandard"))
            }
            [0xfd, b'7', b'z', b'X', b'Z', 0] => {
                (Packed::Xz(Box::new(lzma_rust2::XzReader::new(begun, true))), Some("xz"))
            }
            _ => (Packed::Plain(begun), None),
        };
        Ok(Unpacked { packed, kind, failure: None })
    }

    /// Describes why decompression ended early.
    pub fn failure(&self) -> Option<String> {
        let (kind, failure) = (self.kind?, self.failure.as_ref()?);
        Some(format!("the {kind} data are cut off or damaged ({failure})"))
    }
}

impl<R: Read> Read for Unpacked<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = match &mut self.packed {
            Packed::Plain(inner) => return inner.read(buffer),
            _ if self.failure.is_some() => return Ok(0),
            Packed::Gzip(inner) => inner.read(buffer),
            Packed::Zstandard(inner) => inner.read(buffer),
            Packed::Xz(inner) => inner.read(buffer),
        };
        match read {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => Err(error),
            // A system error is passed on. Damaged data is read up to the damage.
            Err(error) if error.raw_os_error().is_none() => {
                self.failure = Some(error.to_string());
                Ok(0)
            }
            read => read,
        }
    }
}

/// A sequence of Zstandard frames.
struct Frames<R> {
    inner: R,
    decoder: FrameDecoder,
    within: bool,
}

impl<R: BufRead> Frames<R> {
    fn new(inner: R) -> Frames<R> {
        Frames { inner, decoder: FrameDecoder::new(), within: false }
    }

    /// Begins the next frame, or skips a skippable one (RFC 8878 §3.1.2). Returns false at the end.
    fn begin(&mut self) -> io::Result<bool> {
        if self.inner.fill_buf()?.is_empty() {
            return Ok(false);
        }
        match self.decoder.reset(&mut self.inner) {
            Ok(()) => self.within = true,
            Err(FrameDecoderError::ReadFrameHeaderError(ReadFrameHeaderError::SkipFrame { length, .. })) => {
                io::copy(&mut self.inner.by_ref().take(u64::from(length)), &mut io::sink())?;
            }
            Err(error) => return Err(io::Error::other(error.to_string())),
        }
        Ok(true)
    }
}

impl<R: BufRead> Read for Frames<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            if !self.within {
                if !self.begin()? {
                    return Ok(0);
                }
                continue;
            }
            let read = self.decoder.read(buffer)?;
            if read > 0 || buffer.is_empty() {
                return Ok(read);
            }
            if self.decoder.is_finished() {
                self.within = false;
                continue;
            }
            let wanted = BlockDecodingStrategy::UptoBytes(buffer.len());
            self.decoder.decode_blocks(&mut self.inner, wanted).map_err(|error| io::Error::other(error.to_string()))?;
        }
    }
}
