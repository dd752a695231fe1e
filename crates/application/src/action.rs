//! What applications want done.

use crate::stream::Amount;

/// What the driver is to do; applications by their number, transfers by the number the driver gave them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Action {
    /// Open a connection that carries so much, and enter it with [`crate::Runtime::opened`].
    Open {
        /// The application that owns it.
        application: u32,
        /// How much it carries.
        amount: Amount,
    },
    /// Call [`crate::Runtime::wake`] at that time.
    Wake {
        /// The application.
        application: u32,
        /// When.
        at_ns: u64,
    },
    /// The sender of the transfer writes one more step: [`crate::Stream::offer_step`].
    Write {
        /// The transfer.
        transfer: u32,
    },
    /// The client's end of the transfer writes a question: [`crate::Stream::ask`].
    Ask {
        /// The transfer.
        transfer: u32,
        /// Its size.
        question_bytes: u64,
        /// The size of its answer.
        answer_bytes: u64,
    },
    /// The sender of the transfer writes nothing more: [`crate::Stream::stop`].
    Stop {
        /// The transfer.
        transfer: u32,
    },
}
