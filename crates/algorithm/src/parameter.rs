//! A parameter: its type, default, range and unit, and its description in messages.

use std::fmt;

use crate::words::one_of;

/// A parameter of an algorithm.
#[derive(Clone, Copy, Debug)]
pub struct Parameter {
    /// Name in scenario files.
    pub name: &'static str,
    /// Summary in one line.
    pub summary: &'static str,
    /// Unit of its number; empty if there is none.
    pub unit: &'static str,
    /// Type, default and range.
    pub domain: Domain,
    /// Whether Linux supports its default only.
    pub fixed_in_kernel: bool,
    /// Name in descriptions; empty if it equals `name`.
    pub field: &'static str,
    /// Whether the minimum itself is excluded.
    pub above_least: bool,
    /// Whether the value may be absent, which is then the default.
    pub absent: Absent,
    /// What messages call a value, in place of its type.
    pub noun: &'static str,
}

/// Whether a parameter may be absent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Absent {
    /// It always has a value.
    Never,
    /// Its key may be omitted, which differs from any value.
    LeftOut,
    /// The value may be the word `"none"`, which is the same as omitting the key.
    None,
}

/// The dimension of a quantity, and the unit of its number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Measure {
    /// Nanoseconds.
    Time,
    /// Bytes.
    Size,
    /// Packets.
    Packets,
}

/// Type, default and range of a parameter.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Domain {
    /// A boolean.
    Flag {
        /// Default.
        default: bool,
    },
    /// One of several words.
    Word {
        /// Default.
        default: &'static str,
        /// The words.
        choices: &'static [&'static str],
    },
    /// An integer.
    Whole {
        /// Default.
        default: u64,
        /// Minimum.
        min: u64,
        /// Maximum.
        max: u64,
    },
    /// A number.
    Number {
        /// Default.
        default: f64,
        /// Minimum.
        min: f64,
        /// Maximum.
        max: f64,
    },
    /// An integer with a unit, which scenario files include (`"5 ms"`).
    Quantity {
        /// Dimension of the quantity.
        of: Measure,
        /// Default; `None` if the value must be given.
        default: Option<u64>,
        /// Minimum.
        min: i64,
        /// Maximum.
        max: i64,
    },
    /// A fraction from 0 to 1, given as a percentage in scenario files (`"1 %"`).
    Percentage {
        /// Default; `None` if the value must be given.
        default: Option<f64>,
    },
    /// A required queue length: a number of packets, possibly fractional. Scenario files may also give a time, a size
    /// or a multiple of the BDP.
    Length,
    /// The capacity of a queue ([`Length`](Domain::Length) or bytes), accompanied by the key `at_least`.
    Limit {
        /// Default as in a scenario file; empty if the value must be given.
        default: &'static str,
    },
    /// The size of the largest packet that the scenario's connections send. It cannot be set in scenario files.
    LargestPacket {
        /// Default in bytes if there is no scenario.
        default: u64,
    },
}

impl Parameter {
    const fn new(name: &'static str, domain: Domain, summary: &'static str) -> Self {
        let (unit, field, noun) = ("", "", "");
        let (fixed_in_kernel, above_least, absent) = (false, false, Absent::Never);
        Parameter { name, summary, unit, domain, fixed_in_kernel, field, above_least, absent, noun }
    }

    pub(crate) const fn in_domain(name: &'static str, domain: Domain) -> Self {
        Parameter::new(name, domain, "")
    }

    /// Sets the name in descriptions and the summary, which come from the field.
    #[must_use]
    pub const fn of(self, field: &'static str, doc: &'static str) -> Self {
        Parameter { field, summary: doc.trim_ascii(), ..self }
    }

    /// Excludes the minimum itself.
    #[must_use]
    pub const fn above_least(self) -> Self {
        Parameter { above_least: true, ..self }
    }

    /// Allows the key to be omitted, which is the default.
    #[must_use]
    pub const fn optional(self) -> Self {
        Parameter { absent: Absent::LeftOut, ..self }
    }

    /// Allows the word `"none"` in place of a value, which is the default.
    #[must_use]
    pub const fn or_none(self) -> Self {
        Parameter { absent: Absent::None, ..self }
    }

    /// Sets what messages call a value.
    #[must_use]
    pub const fn noun(self, noun: &'static str) -> Self {
        Parameter { noun, ..self }
    }

    /// A boolean.
    #[must_use]
    pub const fn flag(name: &'static str, default: bool, summary: &'static str) -> Self {
        Parameter::new(name, Domain::Flag { default }, summary)
    }

    /// One of several words.
    #[must_use]
    pub const fn word(
        name: &'static str,
        default: &'static str,
        choices: &'static [&'static str],
        summary: &'static str,
    ) -> Self {
        Parameter::new(name, Domain::Word { default, choices }, summary)
    }

    /// An integer from `min` to `max`.
    #[must_use]
    pub const fn whole(name: &'static str, default: u64, [min, max]: [u64; 2], summary: &'static str) -> Self {
        Parameter::new(name, Domain::Whole { default, min, max }, summary)
    }

    /// A number from `min` to `max`.
    #[must_use]
    pub const fn number(name: &'static str, default: f64, [min, max]: [f64; 2], summary: &'static str) -> Self {
        Parameter::new(name, Domain::Number { default, min, max }, summary)
    }

    /// Selects the form of an algorithm: its authors' equations, or the integer arithmetic of the Linux code.
    #[must_use]
    pub const fn variant(summary: &'static str) -> Self {
        Parameter::word("variant", "paper", &["paper", "linux"], summary)
    }

    /// Sets the unit.
    #[must_use]
    pub const fn unit(self, unit: &'static str) -> Self {
        Parameter { unit, ..self }
    }

    /// Marks a parameter of which Linux supports the default only.
    #[must_use]
    pub const fn fixed_in_kernel(self) -> Self {
        Parameter { fixed_in_kernel: true, ..self }
    }

    /// The default value.
    ///
    /// # Panics
    /// If it has no default and must be given.
    #[must_use]
    pub fn default(&self) -> Value {
        self.default_if_any().unwrap_or_else(|| panic!("the parameter {} must be given", self.name))
    }

    /// The default value, if there is one.
    #[must_use]
    pub fn default_if_any(&self) -> Option<Value> {
        Some(match self.domain {
            Domain::Flag { default } => Value::Flag(default),
            Domain::Word { default, .. } => Value::Word(default.to_owned()),
            Domain::Whole { default, .. } => Value::Whole(default),
            Domain::Number { default, .. } => Value::Number(default),
            Domain::Quantity { default, .. } => Value::Whole(default?),
            Domain::Percentage { default } => Value::Number(default?),
            Domain::Length => return None,
            Domain::Limit { default } => return (!default.is_empty()).then(|| Value::Word(default.to_owned())),
            Domain::LargestPacket { default } => Value::Whole(default),
        })
    }

    /// Whether a number is in the range.
    #[must_use]
    pub fn holds(&self, found: f64) -> bool {
        let above = |min: f64| if self.above_least { found > min } else { found >= min };
        match self.domain {
            Domain::Whole { min, max, .. } => above(min as f64) && found <= max as f64,
            Domain::Number { min, max, .. } => above(min) && found <= max,
            Domain::Quantity { min, max, .. } => above(min as f64) && found <= max as f64,
            Domain::Percentage { .. } => (0.0..=1.0).contains(&found),
            Domain::Length => found >= 0.0 && found.is_finite(),
            Domain::Flag { .. } | Domain::Word { .. } | Domain::Limit { .. } | Domain::LargestPacket { .. } => true,
        }
    }

    /// The valid values, in words.
    #[must_use]
    pub fn expected(&self) -> String {
        let unit = if self.unit.is_empty() { String::new() } else { format!(" {}", self.unit) };
        match self.domain {
            Domain::Flag { .. } => "true or false".to_owned(),
            Domain::Word { choices, .. } => {
                one_of(&choices.iter().map(|choice| format!("\"{choice}\"")).collect::<Vec<_>>())
            }
            Domain::Whole { min, max, .. } => format!("a whole number from {min} to {max}{unit}"),
            Domain::Number { min, max, .. } if self.above_least => {
                format!("a number above {min} and at most {max}{unit}")
            }
            Domain::Number { min, max, .. } => format!("a number from {min} to {max}{unit}"),
            Domain::Quantity { of, min, max, .. } => {
                let [noun, unit] = match of {
                    Measure::Time => ["a time", "ns"],
                    Measure::Size => ["a size", "bytes"],
                    Measure::Packets => ["a number", "packets"],
                };
                format!("{noun} from {min} to {max} {unit}")
            }
            Domain::Percentage { .. } => "a fraction from 0 to 1".to_owned(),
            Domain::Length => "a length of at least 0 packets".to_owned(),
            Domain::Limit { .. } => "a length in packets or bytes".to_owned(),
            Domain::LargestPacket { .. } => "a size in bytes".to_owned(),
        }
    }

    /// The value, if it is valid for this parameter.
    #[must_use]
    pub fn accept(&self, value: Value) -> Option<Value> {
        match (self.domain, value) {
            (Domain::Flag { .. }, value @ Value::Flag(_)) => Some(value),
            (Domain::Word { choices, .. }, Value::Word(word)) => {
                choices.contains(&word.as_str()).then_some(Value::Word(word))
            }
            (Domain::Whole { min, max, .. }, Value::Whole(n)) => (min..=max).contains(&n).then_some(Value::Whole(n)),
            (Domain::Number { min, max, .. }, Value::Number(x)) => (min..=max).contains(&x).then_some(Value::Number(x)),
            (Domain::Number { .. }, Value::Whole(n)) => self.accept(Value::Number(n as f64)),
            _ => None,
        }
    }

    /// Values for tests: the ends of the range and one in between.
    #[must_use]
    pub fn samples(&self) -> Vec<Value> {
        match self.domain {
            Domain::Flag { .. } => vec![Value::Flag(false), Value::Flag(true)],
            Domain::Word { choices, .. } => choices.iter().map(|&word| Value::Word(word.to_owned())).collect(),
            // The maximum of a count is often unreachable for a connection: a few more than the default suffice.
            Domain::Whole { default, min, max } => {
                [min, default, (2 * default + 1).min(max)].map(Value::Whole).to_vec()
            }
            Domain::Number { default, min, max } => [min, default, max].map(Value::Number).to_vec(),
            Domain::Quantity { default, min, max, .. } => {
                let least = u64::try_from(min).unwrap_or(0);
                [least, default.unwrap_or(least), max.unsigned_abs()].map(Value::Whole).to_vec()
            }
            Domain::Percentage { default } => [0.0, default.unwrap_or(0.5), 1.0].map(Value::Number).to_vec(),
            Domain::Length | Domain::Limit { .. } | Domain::LargestPacket { .. } => Vec::new(),
        }
    }
}

/// The value of a parameter.
#[derive(Clone, PartialEq, Debug)]
pub enum Value {
    /// A boolean.
    Flag(bool),
    /// An integer.
    Whole(u64),
    /// A number.
    Number(f64),
    /// A word.
    Word(String),
}

impl From<&str> for Value {
    fn from(word: &str) -> Self {
        Value::Word(word.to_owned())
    }
}

impl From<bool> for Value {
    fn from(flag: bool) -> Self {
        Value::Flag(flag)
    }
}

impl From<u64> for Value {
    fn from(number: u64) -> Self {
        Value::Whole(number)
    }
}

impl From<f64> for Value {
    fn from(number: f64) -> Self {
        Value::Number(number)
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Flag(flag) => write!(f, "{flag}"),
            Value::Whole(number) => write!(f, "{number}"),
            Value::Number(number) => write!(f, "{number}"),
            Value::Word(word) => write!(f, "\"{word}\""),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_their_range_and_unit() {
        let k = Parameter::number("k", 0.0, [-1.0, 1.0], "how far").unit("ms");
        assert_eq!(k.accept(Value::Whole(1)), Some(Value::Number(1.0)));
        assert_eq!(k.accept(Value::Number(f64::NAN)), None);
        assert_eq!(k.accept(Value::Number(1.1)), None);
        assert_eq!(k.expected(), "a number from -1 to 1 ms");
    }
}
