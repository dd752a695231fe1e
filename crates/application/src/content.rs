//! The content that a scenario gives an application.

use serde::Deserialize;

use crate::settings;

/// The data that an application transfers.
#[derive(Clone, Debug, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Content {
    /// As much data as the connection accepts, from start to stop.
    Bulk,
    /// This many bytes, then close.
    File {
        /// Size of the file.
        size_bytes: u64,
    },
    /// Objects in sequence, each over its own connection, which is opened when the previous one has ended. The request
    /// itself is not sent; it would travel with the last segment of the handshake.
    Requests {
        /// Size of an object.
        size_bytes: u64,
        /// Time after the start at which no further request is made and the one in progress is cut off, unless the
        /// application stops earlier.
        limit_ns: Option<u64>,
    },
    /// Data at a constant rate, in steps of one full segment. The first step is offered when the connection is
    /// established, each further one as soon as the rate allows.
    Rate {
        /// Application data per second.
        rate_bps: u64,
    },
    /// Flows that arrive from start to stop, each over its own connection. Flows in progress at the stop continue.
    Flows {
        /// Distribution from which each flow's size is drawn.
        size: Size,
        /// Distribution of the arrival times.
        arrivals: Arrivals,
    },
    /// Small messages that the server echoes, all over a single connection.
    Ping(settings::Ping),
    /// Web pages in sequence.
    Web(settings::Web),
    /// A video that is played while it is downloaded.
    Video(settings::Video),
    /// Files by FTP: commands over a control connection, each file over a connection of its own.
    Ftp(settings::Ftp),
}

impl Content {
    /// Whether the application opens connections in sequence.
    pub fn repeats(&self) -> bool {
        matches!(self, Content::Requests { .. } | Content::Flows { .. } | Content::Web(_) | Content::Ftp(_))
    }

    /// Whether the result lists parts with times of their own: requests, flows, pings, pages, segments, files.
    pub fn has_parts(&self) -> bool {
        !matches!(self, Content::Bulk | Content::File { .. } | Content::Rate { .. })
    }

    /// Whether the application exchanges questions and answers. Such applications turn Nagle's algorithm off.
    pub fn is_dialogue(&self) -> bool {
        matches!(self, Content::Ping(_) | Content::Web(_) | Content::Video(_) | Content::Ftp(_))
    }
}

/// Distribution of flow sizes.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq)]
#[serde(tag = "distribution", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Size {
    /// Constant size.
    Constant {
        /// The size.
        mean_bytes: u64,
    },
    /// Exponential distribution.
    Exponential {
        /// Mean.
        mean_bytes: u64,
    },
    /// Pareto distribution: a size exceeds x with probability (m/x)^shape, where m = mean (shape − 1)/shape is the
    /// minimum.
    Pareto {
        /// Mean.
        mean_bytes: u64,
        /// Shape, above 1.
        shape: f64,
    },
}

/// Distribution of flow arrivals.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq)]
#[serde(tag = "distribution", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Arrivals {
    /// Poisson process: the times between arrivals, and the time to the first, are independent and exponentially
    /// distributed.
    Poisson {
        /// Mean number per second.
        rate_per_s: f64,
    },
    /// The first flow arrives at the start, the others at equal intervals.
    Periodic {
        /// Number per second.
        rate_per_s: f64,
    },
    /// All flows arrive at the start.
    AtOnce {
        /// Number of flows.
        count: u32,
    },
}
