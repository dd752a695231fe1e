//! How the connections of a stack behave, by names: what Python hands over.

use serde::Deserialize;
use transport::congestion::Variant;
use transport::{Config, Protocol, ReceiveBuffer, congestion, path_manager, scheduler};

/// Options of a connection. What is absent has the transport's default.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Options {
    /// `mptcp` or `tcp`.
    pub protocol: Option<String>,
    /// Maximum segment size, bytes.
    pub mss: Option<u16>,
    /// Receive buffer, bytes.
    pub receive_buffer: Option<u64>,
    /// Congestion control.
    pub congestion: Option<String>,
    /// Its variant, `paper` or `linux`.
    pub variant: Option<String>,
    /// Scheduler.
    pub scheduler: Option<String>,
    /// Path manager: `default`, `fullmesh` or `backup`.
    pub path_manager: Option<String>,
    /// Whether DSS checksums are asked for.
    pub checksum: bool,
    /// Whether joins to the address of the first subflow are refused (flag C of MP_CAPABLE).
    pub refuse_joins_to_first_address: bool,
    /// Whether explicit congestion notification is offered.
    pub ecn: bool,
    /// Whether segments are paced.
    pub pacing: bool,
}

/// An option that nothing goes by.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{option}: found «{found}», expected {expected}")]
pub struct OptionsError {
    option: &'static str,
    found: String,
    expected: &'static str,
}

fn wrong(option: &'static str, found: &str, expected: &'static str) -> OptionsError {
    OptionsError { option, found: found.to_owned(), expected }
}

impl Options {
    /// What the transport takes.
    ///
    /// # Errors
    /// A name that it does not know.
    pub fn config(&self) -> Result<Config, OptionsError> {
        let mut config = Config {
            checksum: self.checksum,
            join_first_address: !self.refuse_joins_to_first_address,
            ..Config::default()
        };
        config.tcp.ecn = self.ecn;
        config.tcp.pacing = self.pacing;
        if let Some(protocol) = &self.protocol {
            config.protocol = match protocol.as_str() {
                "mptcp" => Protocol::Mptcp,
                "tcp" => Protocol::Tcp,
                other => return Err(wrong("protocol", other, "mptcp or tcp")),
            };
        }
        config.mss = self.mss.unwrap_or(config.mss);
        if let Some(bytes) = self.receive_buffer {
            config.receive_buffer = ReceiveBuffer::Fixed(bytes);
        }
        let variant = match self.variant.as_deref() {
            None => None,
            Some("paper") => Some(Variant::Paper),
            Some("linux") => Some(Variant::Linux),
            Some(other) => return Err(wrong("variant", other, "paper or linux")),
        };
        if let Some(name) = &self.congestion {
            config.congestion = congestion::Choice::by_name(name, variant).ok_or_else(|| {
                wrong("congestion", name, "a name that `mptcplab list congestion` shows for the engine stack")
            })?;
        }
        if let Some(name) = &self.scheduler {
            config.scheduler = match name.as_str() {
                "min-rtt" => scheduler::Choice::MinRtt,
                "round-robin" => scheduler::Choice::RoundRobin { segments: 1, cwnd_limited: true },
                "redundant" => scheduler::Choice::Redundant,
                "blest" => scheduler::Choice::Blest { slow_start: true },
                "ecf" => scheduler::Choice::Ecf { linux: false },
                "dmptcp" => scheduler::Choice::Dmptcp,
                "linux" => scheduler::Choice::Linux,
                other => {
                    return Err(wrong(
                        "scheduler",
                        other,
                        "min-rtt, round-robin, redundant, blest, ecf, dmptcp or linux",
                    ));
                }
            };
        }
        if let Some(name) = &self.path_manager {
            config.path_manager = match name.as_str() {
                "default" => path_manager::Choice::Passive,
                "fullmesh" => path_manager::Choice::Fullmesh,
                "backup" => path_manager::Choice::Backup,
                other => return Err(wrong("path_manager", other, "default, fullmesh or backup")),
            };
        }
        Ok(config)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_checked() {
        let config =
            Options { congestion: Some("olia".into()), mss: Some(1440), ..Options::default() }.config().unwrap();
        assert_eq!((format!("{:?}", config.congestion), config.mss), ("Olia".to_owned(), 1440));
        let error = Options { congestion: Some("bbr".into()), ..Options::default() }.config().unwrap_err();
        assert!(error.to_string().starts_with("congestion: found «bbr», expected a name"), "{error}");
    }
}
