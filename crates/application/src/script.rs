//! What an application does that asks and answers over its connections: the part of [`crate::Runtime`] that differs
//! from one to the other.

use std::collections::VecDeque;

use crate::action::Action;
use crate::outcome::{Playback, Transfers};
use crate::stream::Amount;

/// Hears what happens to an application and says what is to be done. Transfers are called by their numbers.
pub(crate) trait Script: Send {
    /// It starts.
    fn start(&mut self, now_ns: u64, todo: &mut Todo);
    /// The last wake-up time it asked for.
    fn wake(&mut self, todo: &mut Todo);
    /// A connection that it asked for is open, in the order of asking.
    fn opened(&mut self, transfer: u32);
    /// Who writes first may write.
    fn stands(&mut self, now_ns: u64, transfer: u32, todo: &mut Todo);
    /// The number of answers read on a transfer has reached this count.
    fn answered(&mut self, now_ns: u64, transfer: u32, answers: u64, todo: &mut Todo);
    /// The last byte of a transfer has arrived.
    fn completed(&mut self, _at_ns: u64, _transfer: u32, _todo: &mut Todo) {}
    /// A transfer has ended or failed.
    fn ended(&mut self, _now_ns: u64, _transfer: u32, _todo: &mut Todo) {}
    /// Playback of a video until then.
    fn playback(&self, _until_ns: u64) -> Option<Playback> {
        None
    }
}

/// Takes down what a script wants done.
pub(crate) struct Todo<'a> {
    application: u32,
    actions: &'a mut VecDeque<Action>,
    parts: &'a mut Transfers,
    warmup_ns: u64,
    finished: bool,
}

impl<'a> Todo<'a> {
    /// Of the application of this number.
    pub fn new(
        application: u32,
        actions: &'a mut VecDeque<Action>,
        parts: &'a mut Transfers,
        warmup_ns: u64,
    ) -> Todo<'a> {
        Todo { application, actions, parts, warmup_ns, finished: false }
    }

    /// Open a connection.
    pub fn open(&mut self, amount: Amount) {
        self.actions.push_back(Action::Open { application: self.application, amount });
    }

    /// Ask over a connection.
    pub fn ask(&mut self, transfer: u32, question_bytes: u64, answer_bytes: u64) {
        self.actions.push_back(Action::Ask { transfer, question_bytes, answer_bytes });
    }

    /// Wake it then.
    pub fn wake(&mut self, at_ns: u64) {
        self.actions.push_back(Action::Wake { application: self.application, at_ns });
    }

    /// Close a connection.
    pub fn close(&mut self, transfer: u32) {
        self.actions.push_back(Action::Stop { transfer });
    }

    /// It has done all it wanted: as if its time to stop had come.
    pub fn finish(&mut self) {
        self.finished = true;
    }

    pub fn is_finished(&self) -> bool {
        self.finished
    }

    /// A part begins.
    pub fn begins(&mut self, now_ns: u64) {
        self.parts.begun += u64::from(now_ns >= self.warmup_ns);
    }

    /// A part that began at `start_ns` is complete.
    pub fn is_done(&mut self, start_ns: u64, size_bytes: u64, now_ns: u64) {
        if start_ns >= self.warmup_ns {
            self.parts.start_s.push(start_ns as f64 / 1e9);
            self.parts.size_bytes.push(size_bytes);
            self.parts.completion_s.push(now_ns.saturating_sub(start_ns) as f64 / 1e9);
        }
    }
}

/// Drives scripts by hand.
#[cfg(test)]
pub(crate) mod hand {
    use super::*;

    /// Actions of a script, and its parts.
    #[derive(Default)]
    pub struct Hand {
        actions: VecDeque<Action>,
        pub parts: Transfers,
        pub finished: bool,
    }

    impl Hand {
        /// Has it do something: what it wants done.
        pub fn act(&mut self, what: impl FnOnce(&mut Todo)) -> Vec<Action> {
            let mut todo = Todo::new(0, &mut self.actions, &mut self.parts, 0);
            what(&mut todo);
            self.finished |= todo.is_finished();
            self.actions.drain(..).collect()
        }
    }

    pub const OPEN: Action = Action::Open { application: 0, amount: Amount::Answers };

    pub fn wake(at_ns: u64) -> Action {
        Action::Wake { application: 0, at_ns }
    }

    pub fn ask(transfer: u32, question_bytes: u64, answer_bytes: u64) -> Action {
        Action::Ask { transfer, question_bytes, answer_bytes }
    }

    pub fn close(transfer: u32) -> Action {
        Action::Stop { transfer }
    }
}
