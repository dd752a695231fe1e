//! `ftp`: files in sequence (RFC 959, RFC 2428). The control connection receives the greeting, logs in and stays open.
//! For each file the client asks for a port and opens a data connection to it, over which the server sends the file.

use crate::script::{Script, Todo};
use crate::settings::Ftp as Settings;
use crate::stream::Amount;

/// Sizes of the greeting and of the commands before the first file (USER, PASS and TYPE, as an anonymous client sends
/// them), each with the size of its reply.
const LOGIN: [(u64, u64); 4] = [(0, 20), (16, 34), (15, 23), (8, 31)];
/// Sizes of EPSV and of the reply that carries the port.
const PASSIVE: (u64, u64) = (6, 48);
/// Sizes of RETR and of its first reply.
const RETRIEVE: (u64, u64) = (20, 60);

pub(crate) struct Ftp {
    of: Settings,
    control: Option<u32>,
    data: Option<u32>,
    /// Number of replies read on the control connection.
    replies: u64,
    /// When the current file was requested.
    file_ns: u64,
    files: u64,
    /// Whether one of the two has arrived: the file, or the reply that announces it. The next file is requested after
    /// both.
    half: bool,
}

impl Ftp {
    pub fn new(of: Settings) -> Ftp {
        Ftp { of, control: None, data: None, replies: 0, file_ns: 0, files: 0, half: false }
    }

    fn say(&self, (command_bytes, reply_bytes): (u64, u64), todo: &mut Todo) {
        if let Some(control) = self.control {
            todo.ask(control, command_bytes, reply_bytes);
        }
    }

    fn next_file(&mut self, now_ns: u64, todo: &mut Todo) {
        if self.files == self.of.files {
            return todo.finish();
        }
        todo.begins(now_ns);
        self.file_ns = now_ns;
        self.say(PASSIVE, todo);
    }

    fn is_half_done(&mut self, now_ns: u64, todo: &mut Todo) {
        self.half = !self.half;
        if !self.half {
            self.files += 1;
            self.next_file(now_ns, todo);
        }
    }
}

impl Script for Ftp {
    fn start(&mut self, _now_ns: u64, todo: &mut Todo) {
        todo.open(Amount::Answers);
    }

    fn wake(&mut self, _todo: &mut Todo) {}

    fn opened(&mut self, transfer: u32) {
        match self.control {
            None => self.control = Some(transfer),
            Some(_) => self.data = Some(transfer),
        }
    }

    fn stands(&mut self, _now_ns: u64, transfer: u32, todo: &mut Todo) {
        if self.control == Some(transfer) {
            self.say(LOGIN[0], todo);
        }
    }

    fn answered(&mut self, now_ns: u64, _transfer: u32, answers: u64, todo: &mut Todo) {
        while self.replies < answers {
            self.replies += 1;
            match LOGIN.get(self.replies as usize) {
                Some(&command) => self.say(command, todo),
                None if self.replies == LOGIN.len() as u64 => self.next_file(now_ns, todo),
                // Each file has two replies: to EPSV, then to RETR.
                None if (self.replies - LOGIN.len() as u64) % 2 == 1 => {
                    todo.open(Amount::Bytes(self.of.size_bytes));
                    self.say(RETRIEVE, todo);
                }
                None => self.is_half_done(now_ns, todo),
            }
        }
    }

    fn completed(&mut self, at_ns: u64, transfer: u32, todo: &mut Todo) {
        if self.data == Some(transfer) {
            self.data = None;
            todo.is_done(self.file_ns, self.of.size_bytes, at_ns);
            self.is_half_done(at_ns, todo);
        }
    }

    /// If the control connection or a data connection ends early, there is nothing left to do.
    fn ended(&mut self, _now_ns: u64, transfer: u32, todo: &mut Todo) {
        if self.control == Some(transfer) || self.data == Some(transfer) {
            todo.finish();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::action::Action;
    use crate::script::hand::{Hand, OPEN, ask};

    #[test]
    fn a_login_and_two_round_trips_before_each_file() {
        let (mut ftp, mut hand) = (Ftp::new(Settings { size_bytes: 1000, files: 2 }), Hand::default());
        let data = Action::Open { application: 0, amount: Amount::Bytes(1000) };
        assert_eq!(hand.act(|todo| ftp.start(0, todo)), [OPEN]);
        ftp.opened(4);
        assert_eq!(hand.act(|todo| ftp.stands(20, 4, todo)), [ask(4, 0, 20)]);
        for (number, (command, reply)) in (1..).zip(&LOGIN[1..]) {
            assert_eq!(hand.act(|todo| ftp.answered(20 * number, 4, number, todo)), [ask(4, *command, *reply)]);
        }
        assert_eq!(hand.act(|todo| ftp.answered(100, 4, 4, todo)), [ask(4, 6, 48)]);
        assert_eq!(hand.act(|todo| ftp.answered(120, 4, 5, todo)), [data, ask(4, 20, 60)]);
        ftp.opened(5);
        assert_eq!(hand.act(|todo| ftp.stands(150, 5, todo)), []);
        assert_eq!(hand.act(|todo| ftp.answered(150, 4, 6, todo)), []);
        assert_eq!(hand.act(|todo| ftp.completed(300, 5, todo)), [ask(4, 6, 48)]);
        assert_eq!(hand.act(|todo| ftp.ended(310, 5, todo)), []);
        // A small file arrives before the reply.
        assert_eq!(hand.act(|todo| ftp.answered(320, 4, 7, todo)), [data, ask(4, 20, 60)]);
        ftp.opened(5);
        assert_eq!(hand.act(|todo| ftp.completed(350, 5, todo)), []);
        assert!(!hand.finished);
        assert_eq!(hand.act(|todo| ftp.answered(355, 4, 8, todo)), []);
        assert!(hand.finished);
        assert_eq!((&hand.parts.start_s, &hand.parts.completion_s), (&vec![100e-9, 300e-9], &vec![200e-9, 50e-9]));
    }
}
