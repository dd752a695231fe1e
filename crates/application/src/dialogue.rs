//! Questions that one end of a connection asks. The other end answers each one when it has received all of it.

use std::collections::VecDeque;

/// The questions of one connection.
#[derive(Clone, Debug, Default)]
pub(crate) struct Dialogue {
    /// Whether the asking end may write.
    pub stands: bool,
    /// Question bytes asked; the next two count those written and those read.
    asked: u64,
    pub written: u64,
    pub read: u64,
    /// End offset of each question not yet read in full, and the size of its answer.
    unread_questions: VecDeque<(u64, u64)>,
    /// End offset of each answer not yet read in full.
    unread_answers: VecDeque<u64>,
    /// End offset of the last answer.
    answers_end: u64,
    /// Number of answers read in full.
    pub answers: u64,
}

impl Dialogue {
    pub fn ask(&mut self, question_bytes: u64, answer_bytes: u64) {
        self.asked += question_bytes;
        self.unread_questions.push_back((self.asked, answer_bytes));
        self.answers_end += answer_bytes;
        self.unread_answers.push_back(self.answers_end);
    }

    pub fn to_write(&self) -> u64 {
        if self.stands { self.asked - self.written } else { 0 }
    }

    /// Counts `bytes` more read. Returns the number of answer bytes that are now due.
    pub fn read_question(&mut self, bytes: u64) -> u64 {
        self.read += bytes;
        let mut due = 0;
        while let Some(&(end, answer_bytes)) = self.unread_questions.front()
            && end <= self.read
        {
            due += answer_bytes;
            self.unread_questions.pop_front();
        }
        due
    }

    /// Answer bytes read since the beginning: counts the answers that end within `bytes`.
    pub fn read_to(&mut self, bytes: u64) {
        while self.unread_answers.front().is_some_and(|&end| end <= bytes) {
            self.unread_answers.pop_front();
            self.answers += 1;
        }
    }

    /// End offset of the first answer not yet read in full, or `u64::MAX`.
    pub fn next_answer(&self) -> u64 {
        self.unread_answers.front().copied().unwrap_or(u64::MAX)
    }
}
