//! What the readers of a case say of a word that means nothing.

/// A mistake without its place.
pub struct Mistake {
    /// What stands there.
    pub found: String,
    /// What could stand there.
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
