//! How losses are found, and what an end remembers for it between acknowledgments.

use crate::{LossDetection, Receiver, TcpOptions};

/// How losses are found, and what is remembered for it.
#[derive(Debug)]
pub struct Detection {
    /// Acknowledgments in a row that say nothing new, where there is no SACK.
    duplicate_acks: u32,
    /// The window field of the last acknowledgment.
    last_window: u16,
    /// Remembered of the sender's `is_clean`: acknowledgments and new data have nothing else to look after.
    clean: bool,
    by: LossDetection,
    /// See [`TcpOptions::shortcuts`].
    shortcuts: bool,
    /// See [`TcpOptions::impatient`].
    impatient: bool,
    /// Acknowledgments are made and read as in Linux ([`Receiver::Linux`]).
    as_linux: bool,
}

impl Detection {
    pub fn new(options: &TcpOptions) -> Self {
        let (by, shortcuts, impatient) = (options.loss_detection, options.shortcuts, options.impatient);
        let as_linux = options.receiver == Receiver::Linux;
        Detection { duplicate_acks: 0, last_window: 0, clean: false, by, shortcuts, impatient, as_linux }
    }

    /// By time (RFC 8985).
    #[inline(always)]
    pub fn is_by_time(&self) -> bool {
        self.by == LossDetection::RackTlp
    }

    #[inline(always)]
    pub fn shortcuts(&self) -> bool {
        self.shortcuts
    }

    pub fn is_impatient(&self) -> bool {
        self.impatient
    }

    /// Whether acknowledgments are made and read as in Linux.
    pub fn is_as_linux(&self) -> bool {
        self.as_linux
    }

    #[inline(always)]
    pub fn is_clean(&self) -> bool {
        self.clean
    }

    pub fn set_clean(&mut self, clean: bool) {
        self.clean = clean;
    }

    /// An acknowledgment with this window field came. Answers whether the last one had another.
    pub fn hear_window(&mut self, field: u16) -> bool {
        std::mem::replace(&mut self.last_window, field) != field
    }

    /// Duplicate acknowledgments in a row.
    pub fn duplicates(&self) -> u32 {
        self.duplicate_acks
    }

    pub fn note_duplicate(&mut self) {
        self.duplicate_acks += 1;
    }

    /// Takes out of these as many as there are, and no more than `most`. Answers how many.
    pub fn take_duplicates(&mut self, most: u32) -> u32 {
        let taken = self.duplicate_acks.min(most);
        self.duplicate_acks -= taken;
        taken
    }

    /// Duplicate acknowledgments until now tell of nothing.
    pub fn forget_duplicates(&mut self) {
        self.duplicate_acks = 0;
    }
}
