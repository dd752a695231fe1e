//! `ping`: at each interval the client sends a small message, which the server echoes. All messages use one connection
//! and leave on time whether or not earlier ones were answered, so that a slow answer delays no later message.

use std::collections::VecDeque;

use crate::script::{Script, Todo};
use crate::settings::Ping as Settings;
use crate::stream::Amount;

pub(crate) struct Ping {
    of: Settings,
    transfer: u32,
    /// When the next message is due.
    due_ns: u64,
    /// Due times of the unanswered messages.
    waiting: VecDeque<u64>,
    answered: u64,
}

impl Ping {
    pub fn new(of: Settings) -> Ping {
        Ping { of, transfer: 0, due_ns: 0, waiting: VecDeque::new(), answered: 0 }
    }
}

impl Script for Ping {
    fn start(&mut self, _now_ns: u64, todo: &mut Todo) {
        todo.open(Amount::Answers);
    }

    fn wake(&mut self, todo: &mut Todo) {
        todo.begins(self.due_ns);
        self.waiting.push_back(self.due_ns);
        todo.ask(self.transfer, self.of.size_bytes, self.of.size_bytes);
        self.due_ns = self.due_ns.saturating_add(self.of.interval_ns);
        todo.wake(self.due_ns);
    }

    fn opened(&mut self, transfer: u32) {
        self.transfer = transfer;
    }

    fn stands(&mut self, now_ns: u64, _transfer: u32, todo: &mut Todo) {
        self.due_ns = now_ns;
        self.wake(todo);
    }

    fn answered(&mut self, now_ns: u64, _transfer: u32, answers: u64, todo: &mut Todo) {
        while self.answered < answers
            && let Some(due_ns) = self.waiting.pop_front()
        {
            self.answered += 1;
            todo.is_done(due_ns, self.of.size_bytes, now_ns);
        }
    }

    fn ended(&mut self, _now_ns: u64, _transfer: u32, todo: &mut Todo) {
        todo.finish();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::script::hand::{Hand, OPEN, ask, wake};

    #[test]
    fn messages_leave_on_time_whether_answered_or_not() {
        let mut ping = Ping::new(Settings { size_bytes: 64, interval_ns: 100 });
        let mut hand = Hand::default();
        assert_eq!(hand.act(|todo| ping.start(5, todo)), [OPEN]);
        ping.opened(3);
        assert_eq!(hand.act(|todo| ping.stands(25, 3, todo)), [ask(3, 64, 64), wake(125)]);
        assert_eq!(hand.act(|todo| ping.wake(todo)), [ask(3, 64, 64), wake(225)]);
        assert_eq!(hand.act(|todo| ping.wake(todo)), [ask(3, 64, 64), wake(325)]);
        // The first two answers arrive together after a silence, the third on time.
        assert_eq!(hand.act(|todo| ping.answered(230, 3, 2, todo)), []);
        hand.act(|todo| ping.answered(245, 3, 3, todo));
        assert_eq!(hand.parts.begun, 3);
        assert_eq!(hand.parts.completion_s, [205e-9, 105e-9, 20e-9]);
    }
}
