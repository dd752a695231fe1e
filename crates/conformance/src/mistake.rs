//! Mistakes that the parsers of a case report.

/// A mistake without its place.
pub struct Mistake {
    /// What was found.
    pub found: String,
    /// What was expected.
    pub expected: String,
}

impl Mistake {
    /// Names what was found, in quotation marks, and what would do.
    pub fn new(found: impl std::fmt::Display, expected: impl Into<String>) -> Mistake {
        Mistake { found: format!("“{found}”"), expected: expected.into() }
    }
}

/// What was read, or what was wrong with it.
pub type Read<T> = Result<T, Mistake>;
