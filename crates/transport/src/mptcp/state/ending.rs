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
    requested: bool,
    data_fin_sent: bool,
    /// The DATA_FIN is to be sent again.
    data_fin_due: bool,
    /// The peer has acknowledged it.
    fin_acknowledged: bool,
    /// The application knows that everything has arrived.
    flushed: bool,
    /// The application reads no more either: what arrives from now on is lost (RFC 9293 §3.6.1).
    read_closed: bool,
    /// The connection is no more.
    over: bool,
    /// What took its last subflow, or will be the reason if it ends now.
    cause: Option<AbortReason>,
}

impl Ending {
    /// The application writes no more: whether that is news.
    pub fn request(&mut self) -> bool {
        !std::mem::replace(&mut self.requested, true)
    }

    #[inline(always)]
    pub fn is_requested(&self) -> bool {
        self.requested
    }

    /// The application reads no more.
    pub fn close_reading(&mut self) {
        self.read_closed = true;
    }

    #[inline(always)]
    pub fn is_read_closed(&self) -> bool {
        self.read_closed
    }

    /// The DATA_FIN goes out.
    pub fn note_data_fin_sent(&mut self) {
        self.data_fin_sent = true;
    }

    #[inline(always)]
    pub fn is_data_fin_sent(&self) -> bool {
        self.data_fin_sent
    }

    /// The peer has acknowledged it.
    pub fn note_end_acknowledged(&mut self) {
        self.fin_acknowledged = true;
    }

    #[inline(always)]
    pub fn is_end_acknowledged(&self) -> bool {
        self.fin_acknowledged
    }

    /// Whether a DATA_FIN is to go out, for the first time or again.
    pub fn owes_data_fin(&self) -> bool {
        self.requested && !self.fin_acknowledged && (!self.data_fin_sent || self.data_fin_due)
    }

    /// It is not to be sent again.
    pub fn cancel_data_fin(&mut self) {
        self.data_fin_due = false;
    }

    /// The application is told that everything has arrived.
    pub fn set_flushed(&mut self) {
        self.flushed = true;
    }

    pub fn is_flushed(&self) -> bool {
        self.flushed
    }

    /// The connection is no more: whether that is news.
    pub fn set_finished(&mut self) -> bool {
        !std::mem::replace(&mut self.over, true)
    }

    #[inline(always)]
    pub fn has_finished(&self) -> bool {
        self.over
    }

    /// What takes a subflow, and with the last the connection.
    pub fn blame(&mut self, cause: AbortReason) {
        self.cause = Some(cause);
    }

    pub fn cause(&self) -> Option<AbortReason> {
        self.cause
    }

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

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 8684 §3.3.3: a DATA_FIN goes out until it is acknowledged.
    #[test]
    fn a_data_fin_is_due_until_it_is_acknowledged() {
        let mut ending = Ending::default();
        assert!(!ending.owes_data_fin() && ending.request() && !ending.request());
        assert!(ending.owes_data_fin());
        ending.repeat_data_fin();
        ending.note_data_fin_sent();
        assert!(!ending.owes_data_fin() && ending.is_data_fin_outstanding(), "none was lost before it went out");
        ending.repeat_data_fin();
        assert!(ending.owes_data_fin());
        ending.cancel_data_fin();
        assert!(!ending.owes_data_fin());
        ending.repeat_data_fin();
        ending.note_end_acknowledged();
        assert!(!ending.owes_data_fin() && !ending.is_data_fin_outstanding());
    }

    #[test]
    fn a_connection_ends_once() {
        let mut ending = Ending::default();
        assert!(ending.set_finished() && !ending.set_finished() && ending.has_finished());
    }
}
