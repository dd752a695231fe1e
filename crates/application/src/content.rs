//! What a scenario says of an application.

use serde::Deserialize;

use crate::settings;

/// What a connection sends.
#[derive(Clone, Debug, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Content {
    /// As much as the connection takes, from start to stop.
    Bulk,
    /// This many bytes, then close.
    File {
        /// Size.
        size_bytes: u64,
    },
    /// One object after another, each over its own connection: the next is opened when the last has ended. The
    /// request itself is not sent; it would go with the last segment of the handshake.
    Requests {
        /// Size of an object.
        size_bytes: u64,
        /// How long after the start no request is made any more and the one under way is cut off, if not before by
        /// the application's stop.
        limit_ns: Option<u64>,
    },
    /// Data at a constant rate, in steps of one full segment: one is offered as soon as the connection stands, another
    /// whenever the rate has made up for the last.
    Rate {
        /// Application data per second.
        rate_bps: u64,
    },
    /// Flows that arrive from start to stop, each over its own connection; those under way at the stop go on.
    Flows {
        /// Sizes, drawn for each flow.
        size: Size,
        /// When the next one arrives.
        arrivals: Arrivals,
    },
    /// Small messages that the server echoes, all over one connection.
    Ping(settings::Ping),
    /// Web pages, one after another.
    Web(settings::Web),
    /// A video that is watched while it is loaded.
    Video(settings::Video),
    /// Files by FTP: commands over one connection, each file over one of its own.
    Ftp(settings::Ftp),
}

impl Content {
    /// Whether it opens one connection after another.
    pub fn repeats(&self) -> bool {
        matches!(self, Content::Requests { .. } | Content::Flows { .. } | Content::Web(_) | Content::Ftp(_))
    }

    /// Whether its result lists parts with a time each: requests, flows, pings, pages, segments, files.
    pub fn has_parts(&self) -> bool {
        !matches!(self, Content::Bulk | Content::File { .. } | Content::Rate { .. })
    }

    /// Whether its programs ask and answer. Such turn Nagle's algorithm off.
    pub fn is_dialogue(&self) -> bool {
        matches!(self, Content::Ping(_) | Content::Web(_) | Content::Video(_) | Content::Ftp(_))
    }
}

/// Sizes of flows.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq)]
#[serde(tag = "distribution", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Size {
    /// All alike.
    Constant {
        /// Size.
        mean_bytes: u64,
    },
    /// Exponentially distributed.
    Exponential {
        /// Mean.
        mean_bytes: u64,
    },
    /// The probability of more than x is (m/x)^shape, of more than m = mean (shape − 1)/shape it is 1.
    Pareto {
        /// Mean.
        mean_bytes: u64,
        /// Shape, above 1.
        shape: f64,
    },
}

/// Arrivals of flows.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq)]
#[serde(tag = "distribution", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Arrivals {
    /// The times between are independent and exponentially distributed; so is that to the first.
    Poisson {
        /// Mean number per second.
        rate_per_s: f64,
    },
    /// The first at once, the others at equal distances.
    Periodic {
        /// Number per second.
        rate_per_s: f64,
    },
    /// All at the start.
    AtOnce {
        /// How many.
        count: u32,
    },
}
