//! The actions that applications ask of the driver.

use crate::stream::Amount;

/// An action for the driver. Applications are named by their index, transfers by the number that the driver gave them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Action {
    /// Open a connection that carries this amount of data, and report it with [`crate::Runtime::opened`].
    Open {
        /// The application that owns it.
        application: u32,
        /// The amount of data it carries.
        amount: Amount,
    },
    /// Call [`crate::Runtime::wake`] at the given time.
    Wake {
        /// The application.
        application: u32,
        /// The time of the call.
        at_ns: u64,
    },
    /// The sender of the transfer writes one more step ([`crate::Stream::offer_step`]).
    Write {
        /// The transfer.
        transfer: u32,
    },
    /// The client's end of the transfer writes a question ([`crate::Stream::ask`]).
    Ask {
        /// The transfer.
        transfer: u32,
        /// Size of the question.
        question_bytes: u64,
        /// Size of the answer.
        answer_bytes: u64,
    },
    /// The sender of the transfer writes nothing more ([`crate::Stream::stop`]).
    Stop {
        /// The transfer.
        transfer: u32,
    },
}
