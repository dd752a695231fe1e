//! How far the end of the stream that this host sends has come (RFC 8684 §3.3.3); under TCP it is the FIN's.

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
    /// The connection is no more.
    pub over: bool,
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
