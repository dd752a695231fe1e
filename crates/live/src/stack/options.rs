//! Options of a stack's connections, by name, as passed by Python.

use scenario::convert;
use scenario::description::Named;
use serde::Deserialize;
use transport::algorithm::{Choice, ChoiceError, Family};
use transport::{Config, Protocol, ReceiveBuffer, path_manager};

/// Options of a connection. Absent ones take the transport's defaults.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Options {
    /// `mptcp` or `tcp`.
    pub protocol: Option<String>,
    /// Maximum segment size in bytes.
    pub mss: Option<u16>,
    /// Receive buffer in bytes.
    pub receive_buffer: Option<u64>,
    /// Congestion control.
    pub congestion: Option<Algorithm>,
    /// Variant of the congestion control, `paper` or `linux`: short for its parameter of this name.
    pub variant: Option<String>,
    /// Scheduler.
    pub scheduler: Option<Algorithm>,
    /// Path manager.
    pub path_manager: Option<Algorithm>,
    /// Whether to request DSS checksums.
    pub checksum: bool,
    /// Whether to refuse joins to the address of the first subflow (flag C of MP_CAPABLE).
    pub refuse_joins_to_first_address: bool,
    /// Whether to offer explicit congestion notification.
    pub ecn: bool,
    /// Whether to pace segments.
    pub pacing: bool,
    /// Time to live, or hop limit with IPv6, of its packets.
    pub ttl: Option<std::num::NonZeroU8>,
    /// Differentiated services code point of its packets.
    pub dscp: Option<u8>,
}

/// An algorithm: its name, or a table of its name and parameters.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
pub enum Algorithm {
    /// The name, with default parameters.
    Name(String),
    /// The name and parameters.
    Table(Named),
}

impl From<&str> for Algorithm {
    fn from(name: &str) -> Self {
        Algorithm::Name(name.to_owned())
    }
}

impl Algorithm {
    fn choice<F: Family>(&self, variant: Option<&String>) -> Result<Choice<F>, ChoiceError> {
        let mut named = match self {
            Algorithm::Name(name) => Named { name: name.clone(), parameters: serde_json::Map::new() },
            Algorithm::Table(named) => named.clone(),
        };
        named.parameters.extend(variant.map(|variant| ("variant".to_owned(), variant.as_str().into())));
        convert::choice(&named)
    }
}

/// An invalid option.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OptionsError {
    /// Unknown protocol.
    #[error("protocol: found \"{0}\"; expected mptcp or tcp")]
    Protocol(String),
    /// A code point with more than 6 bits.
    #[error("dscp: found {0}; expected a number from 0 to 63")]
    Dscp(u8),
    /// Unknown algorithm, or invalid parameters.
    #[error("{option}: {reason}")]
    Algorithm {
        /// The option.
        option: &'static str,
        /// The reason.
        reason: ChoiceError,
    },
}

impl Options {
    /// The transport's configuration for these options.
    ///
    /// # Errors
    /// The first invalid option.
    pub fn config(&self) -> Result<Config, OptionsError> {
        let mut config = Config {
            checksum: self.checksum,
            join_first_address: !self.refuse_joins_to_first_address,
            ..Config::default()
        };
        config.tcp.ecn = self.ecn;
        config.tcp.pacing = self.pacing;
        config.ip.hop_limit = self.ttl.map_or(config.ip.hop_limit, std::num::NonZeroU8::get);
        config.ip.dscp = self.dscp.unwrap_or(config.ip.dscp);
        if config.ip.dscp > 63 {
            return Err(OptionsError::Dscp(config.ip.dscp));
        }
        if let Some(protocol) = &self.protocol {
            config.protocol = match protocol.as_str() {
                "mptcp" => Protocol::Mptcp,
                "tcp" => Protocol::Tcp,
                other => return Err(OptionsError::Protocol(other.to_owned())),
            };
        }
        config.mss = self.mss.unwrap_or(config.mss);
        if let Some(bytes) = self.receive_buffer {
            config.receive_buffer = ReceiveBuffer::Fixed(bytes);
        }
        let wrong = |option| move |reason| OptionsError::Algorithm { option, reason };
        if let Some(algorithm) = &self.congestion {
            config.congestion = algorithm.choice(self.variant.as_ref()).map_err(wrong("congestion"))?;
        }
        if let Some(algorithm) = &self.scheduler {
            config.scheduler = algorithm.choice(None).map_err(wrong("scheduler"))?;
        }
        if let Some(algorithm) = &self.path_manager {
            config.path_manager = algorithm.choice(None).map_err(wrong("path_manager"))?;
            let asked_for = path_manager::subflows_asked_for(&config.path_manager);
            config.max_subflows = config.max_subflows.max(asked_for.unwrap_or(0));
        }
        Ok(config)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(json: &str) -> Result<Config, OptionsError> {
        serde_json::from_str::<Options>(json).unwrap().config()
    }

    #[test]
    fn names_and_parameters_are_checked() {
        let config = read(r#"{"congestion": "olia", "variant": "linux", "mss": 1440}"#).unwrap();
        assert_eq!((format!("{:?}", config.congestion), config.mss), (r#"olia(variant "linux")"#.to_owned(), 1440));
        let config = read(r#"{"ttl": 9, "dscp": 46}"#).unwrap();
        assert_eq!((config.ip.hop_limit, config.ip.dscp), (9, 46));
        let error = read(r#"{"dscp": 64}"#).unwrap_err();
        assert_eq!(error.to_string(), "dscp: found 64; expected a number from 0 to 63");
        assert!(serde_json::from_str::<Options>(r#"{"ttl": 0}"#).is_err(), "nothing would arrive");
        let error = read(r#"{"congestion": "vivace"}"#).unwrap_err();
        assert!(
            error.to_string().starts_with("congestion: congestion control: found \"vivace\"; expected reno, "),
            "{error}"
        );
        let config = read(r#"{"path_manager": {"name": "ndiffports", "subflows": 12}}"#).unwrap();
        assert_eq!((format!("{:?}", config.path_manager), config.max_subflows), ("ndiffports(subflows 12)".into(), 12));
        let error = read(r#"{"scheduler": {"name": "round-robin", "segments": 0}}"#).unwrap_err();
        assert!(error.to_string().ends_with("found 0; expected a whole number from 1 to 255"), "{error}");
    }
}
