//! An option of a header before its content is parsed.

use crate::OptionError;

/// One option, its length checked against the bytes present.
pub(crate) struct Raw<'a> {
    pub(crate) kind: u8,
    pub(crate) name: &'static str,
    /// What follows kind and length.
    pub(crate) body: &'a [u8],
    /// Offset of the kind byte.
    pub(crate) offset: usize,
}

impl Raw<'_> {
    /// An error at `at` bytes after the kind byte.
    pub(crate) fn error(
        &self,
        field: &'static str,
        at: usize,
        found: Option<u64>,
        expected: &'static str,
    ) -> OptionError {
        OptionError { option: self.name, kind: self.kind, field, offset: self.offset + at, found, expected }
    }

    pub(crate) fn wrong_length(&self, expected: &'static str) -> OptionError {
        self.error("length", 1, Some(2 + self.body.len() as u64), expected)
    }

    pub(crate) fn fixed_length(&self, length: usize) -> Result<(), OptionError> {
        if self.body.len() + 2 == length {
            return Ok(());
        }
        Err(self.wrong_length(match length {
            2 => "2",
            3 => "3",
            4 => "4",
            _ => "10",
        }))
    }

    pub(crate) fn only_once(&self, there_already: bool) -> Result<(), OptionError> {
        if there_already {
            return Err(self.error("kind", 0, Some(self.kind.into()), "this option once in a segment"));
        }
        Ok(())
    }
}
