//! Parameters for [`declared!`](crate::declared): type, default and range. Their names in descriptions and their
//! summaries come from the fields.

use crate::parameter::{Domain, Measure, Parameter};

/// Nanoseconds in a microsecond.
pub const MICROSECOND: u64 = 1_000;
/// Nanoseconds in a millisecond.
pub const MILLISECOND: u64 = 1_000_000;
/// Nanoseconds in a second.
pub const SECOND: u64 = 1_000_000_000;
/// Nanoseconds in an hour.
pub const HOUR: u64 = 3600 * SECOND;

/// A boolean.
#[must_use]
pub const fn flag(name: &'static str, default: bool) -> Parameter {
    Parameter::flag(name, default, "")
}

/// One of several words.
#[must_use]
pub const fn word(name: &'static str, default: &'static str, choices: &'static [&'static str]) -> Parameter {
    Parameter::word(name, default, choices, "")
}

/// An integer from `min` to `max`.
#[must_use]
pub const fn whole(name: &'static str, default: u64, range: [u64; 2]) -> Parameter {
    Parameter::whole(name, default, range, "")
}

/// A number from `min` to `max`.
#[must_use]
pub const fn number(name: &'static str, default: f64, range: [f64; 2]) -> Parameter {
    Parameter::number(name, default, range, "")
}

/// A time in nanoseconds.
#[must_use]
pub const fn time(name: &'static str, default: u64, [min, max]: [u64; 2]) -> Parameter {
    quantity(name, Measure::Time, Some(default), [min as i64, max as i64])
}

/// A size in bytes.
#[must_use]
pub const fn size(name: &'static str, default: u64, range: [i64; 2]) -> Parameter {
    quantity(name, Measure::Size, Some(default), range)
}

/// A number of packets.
#[must_use]
pub const fn packets(name: &'static str, default: u64, range: [i64; 2]) -> Parameter {
    quantity(name, Measure::Packets, Some(default), range)
}

/// A number of packets that must be given.
#[must_use]
pub const fn given_packets(name: &'static str, range: [i64; 2]) -> Parameter {
    quantity(name, Measure::Packets, None, range)
}

/// A fraction, given as a percentage in scenario files.
#[must_use]
pub const fn percentage(name: &'static str, default: f64) -> Parameter {
    Parameter::in_domain(name, Domain::Percentage { default: Some(default) })
}

/// A fraction that must be given.
#[must_use]
pub const fn given_percentage(name: &'static str) -> Parameter {
    Parameter::in_domain(name, Domain::Percentage { default: None })
}

/// A required queue length.
#[must_use]
pub const fn length(name: &'static str) -> Parameter {
    Parameter::in_domain(name, Domain::Length)
}

/// The capacity of a queue. The default is written as in a scenario file; `""` if it must be given.
#[must_use]
pub const fn limit(default: &'static str) -> Parameter {
    Parameter::in_domain("limit", Domain::Limit { default })
}

/// The size of the largest packet of the scenario.
#[must_use]
pub const fn largest_packet() -> Parameter {
    Parameter::in_domain("mtu", Domain::LargestPacket { default: 1_500 })
}

const fn quantity(name: &'static str, of: Measure, default: Option<u64>, [min, max]: [i64; 2]) -> Parameter {
    Parameter::in_domain(name, Domain::Quantity { of, default, min, max })
}
