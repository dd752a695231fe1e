//! How far the end of the stream that this host sends has come (RFC 8684 §3.3.3); under TCP it is the FIN's.

/// Why a connection was aborted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AbortReason {
    /// The peer answered the SYN with a reset, or a hard ICMP error did (RFC 9293 §3.9.2.2).
    Refused,
    /// The peer reset the connection, or its last subflow.
    Reset,
    /// The peer did not answer: SYN or data went out as often as may be, or no subflow came back in time.
    TimedOut,
    /// The peer ended the connection with MP_FASTCLOSE.
    FastClose,
    /// This host ended it: the application, or a peer that broke the protocol.
    Local,
}

impl AbortReason {
    /// What the connection did or suffered, in words.
    pub fn words(self) -> &'static str {
        match self {
            AbortReason::Refused => "the peer refused it",
            AbortReason::Reset => "the peer reset it",
            AbortReason::TimedOut => "it gave up without an answer",
            AbortReason::FastClose => "the peer ended it with MP_FASTCLOSE",
            AbortReason::Local => "it was aborted",
        }
    }
}

/// The end.
#[derive(Clone, Copy, Debug, Default)]
pub struct Ending {
    /// The application writes no more.
    pub requested: bool,
    pub data_fin_sent: bool,
    /// The DATA_FIN is to be sent again.
    pub data_fin_due: bool,
    /// The peer has acknowledged it.
    pub fin_acknowledged: bool,
    /// The application knows that everything has arrived.
    pub flushed: bool,
    /// The application reads no more either: what arrives from now on is lost (RFC 9293 §3.6.1).
    pub read_closed: bool,
    /// The connection is no more.
    pub over: bool,
    /// What took its last subflow, or will be the reason if it ends now.
    pub cause: Option<AbortReason>,
}

impl Ending {
    /// Whether the DATA_FIN is under way.
    #[inline]
    pub fn is_data_fin_outstanding(&self) -> bool {
        self.data_fin_sent && !self.fin_acknowledged
    }

    /// The DATA_FIN may have been lost with what carried it.
    pub fn repeat_data_fin(&mut self) {
        if self.is_data_fin_outstanding() {
            self.data_fin_due = true;
        }
    }
}
