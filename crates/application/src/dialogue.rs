//! Questions that one end of a connection asks and the other answers, each when it has heard it in full.

use std::collections::VecDeque;

/// The questions of one connection.
#[derive(Clone, Debug, Default)]
pub(crate) struct Dialogue {
    /// Whether the end that asks may write.
    pub stands: bool,
    /// Bytes of questions: asked, written, heard.
    asked: u64,
    pub written: u64,
    pub heard: u64,
    /// End of each question that is not read in full yet, and the size of its answer.
    unheard: VecDeque<(u64, u64)>,
    /// End of each answer that is not read in full yet.
    unread: VecDeque<u64>,
    /// End of the last answer.
    answers_end: u64,
    /// Answers read in full.
    pub answers: u64,
}

impl Dialogue {
    pub fn ask(&mut self, question_bytes: u64, answer_bytes: u64) {
        self.asked += question_bytes;
        self.unheard.push_back((self.asked, answer_bytes));
        self.answers_end += answer_bytes;
        self.unread.push_back(self.answers_end);
    }

    pub fn to_write(&self) -> u64 {
        if self.stands { self.asked - self.written } else { 0 }
    }

    /// So much more was heard: how many bytes of answers are due.
    pub fn hear(&mut self, bytes: u64) -> u64 {
        self.heard += bytes;
        let mut due = 0;
        while let Some(&(end, answer_bytes)) = self.unheard.front()
            && end <= self.heard
        {
            due += answer_bytes;
            self.unheard.pop_front();
        }
        due
    }

    /// Bytes of answers read in all.
    pub fn read_to(&mut self, bytes: u64) {
        while self.unread.front().is_some_and(|&end| end <= bytes) {
            self.unread.pop_front();
            self.answers += 1;
        }
    }

    /// End of the first answer that is not read in full yet.
    pub fn next_answer(&self) -> u64 {
        self.unread.front().copied().unwrap_or(u64::MAX)
    }
}
