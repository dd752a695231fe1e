//! The behaviour of applications that exchange questions and answers: the part of [`crate::Runtime`] that differs
//! between them.

use std::collections::VecDeque;

use crate::action::Action;
use crate::outcome::{Playback, Transfers};
use crate::stream::Amount;

/// Receives an application's events and responds with actions. Transfers are named by their numbers.
pub(crate) trait Script: Send {
    /// The application starts.
    fn start(&mut self, now_ns: u64, todo: &mut Todo);
    /// The wake-up time that was asked for last has come.
    fn wake(&mut self, todo: &mut Todo);
    /// A connection that the script asked for is open. Connections open in the order in which they were asked for.
    fn opened(&mut self, transfer: u32);
    /// The end that writes first may write.
    fn stands(&mut self, now_ns: u64, transfer: u32, todo: &mut Todo);
    /// The number of answers read on a transfer has reached this count.
    fn answered(&mut self, now_ns: u64, transfer: u32, answers: u64, todo: &mut Todo);
    /// The last byte of a transfer has arrived.
    fn completed(&mut self, _at_ns: u64, _transfer: u32, _todo: &mut Todo) {}
    /// A transfer has ended or failed.
    fn ended(&mut self, _now_ns: u64, _transfer: u32, _todo: &mut Todo) {}
    /// Playback statistics of a video until `until_ns`.
    fn playback(&self, _until_ns: u64) -> Option<Playback> {
        None
    }
}

/// Collects the actions that a script asks for.
pub(crate) struct Todo<'a> {
    application: u32,
    actions: &'a mut VecDeque<Action>,
    parts: &'a mut Transfers,
    warmup_ns: u64,
    finished: bool,
}

impl<'a> Todo<'a> {
    /// Collects actions for the application with this number.
    pub fn new(
        application: u32,
        actions: &'a mut VecDeque<Action>,
        parts: &'a mut Transfers,
        warmup_ns: u64,
    ) -> Todo<'a> {
        Todo { application, actions, parts, warmup_ns, finished: false }
    }

    /// Opens a connection.
    pub fn open(&mut self, amount: Amount) {
        self.actions.push_back(Action::Open { application: self.application, amount });
    }

    /// Asks a question on a connection.
    pub fn ask(&mut self, transfer: u32, question_bytes: u64, answer_bytes: u64) {
        self.actions.push_back(Action::Ask { transfer, question_bytes, answer_bytes });
    }

    /// Wakes the application at `at_ns`.
    pub fn wake(&mut self, at_ns: u64) {
        self.actions.push_back(Action::Wake { application: self.application, at_ns });
    }

    /// Closes a connection.
    pub fn close(&mut self, transfer: u32) {
        self.actions.push_back(Action::Stop { transfer });
    }

    /// The application is finished, as if its stop time had come.
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

/// Test support that drives scripts by hand.
#[cfg(test)]
pub(crate) mod hand {
    use super::*;

    /// The actions and parts of a script.
    #[derive(Default)]
    pub struct Hand {
        actions: VecDeque<Action>,
        pub parts: Transfers,
        pub finished: bool,
    }

    impl Hand {
        /// Lets the script act and returns the actions it asks for.
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
