//! The data of one connection: one end writes and the other reads. The reading end may ask questions first.

use std::sync::Arc;

use crate::dialogue::Dialogue;
use crate::reader::{Reader, Stage};

/// The client's end.
pub const CLIENT: usize = 0;
/// The server's end.
pub const SERVER: usize = 1;

/// Maximum number of bytes by which a middlebox may lengthen a stream.
pub const GROWTH_LIMIT_BYTES: u32 = 1000;

/// Amount of data to send.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Amount {
    /// As much as the connection accepts, until it is stopped.
    Endless,
    /// This many bytes, then the end of the stream.
    Bytes(u64),
    /// One full segment at once; the application offers more until it is stopped.
    Steps,
    /// The answers to what the client asks with [`Stream::ask`], until it is stopped. The server sends, regardless of
    /// the direction.
    Answers,
}

/// Events of a stream since the last call, a set of the bits below.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct News(u8);

impl News {
    /// The sender may write.
    pub const ESTABLISHED: News = News(1);
    /// The last byte has arrived.
    pub const COMPLETED: News = News(2);
    /// The reader has reached the end of the stream, or the connection has failed.
    pub const ENDED: News = News(4);
    /// One end has finished with the connection.
    pub const OVER: News = News(8);
    /// For [`Amount::Answers`]: the sender has read questions and has answers to write.
    pub const ASKED: News = News(16);
    /// For [`Amount::Answers`]: answers have been read in full.
    pub const ANSWERED: News = News(32);

    /// Whether nothing happened.
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Whether any of `news` is set.
    pub fn has(self, news: News) -> bool {
        self.0 & news.0 != 0
    }

    fn add(&mut self, news: News) {
        self.0 |= news.0;
    }
}

/// The state of one connection's data.
// What reading touches stands first.
#[derive(Clone, Debug)]
#[repr(C)]
pub struct Stream {
    amount: Amount,
    /// Bytes that the other end has read in order.
    pub bytes_read: u64,
    /// Number of bytes read at which something happens: the size of a file, or the end of the next answer.
    mark: u64,
    /// Time of the last read.
    pub last_read_ns: u64,
    /// Longest time between two reads.
    pub longest_silence_ns: u64,
    /// The end that writes, [`CLIENT`] or [`SERVER`].
    pub sender: usize,
    /// A reader that does not read everything as it comes.
    reader: Option<Box<Reader>>,
    news: News,
    /// When the connection was opened.
    pub start_ns: u64,
    /// Data bytes in a full segment, once the connection is established.
    pub step_bytes: u64,
    /// Total bytes that the sender may write; `u64::MAX` if unlimited.
    offered: u64,
    /// Bytes written, counted by [`Stream::wrote`], which is not needed if connections accept any amount.
    written: u64,
    established: bool,
    stopped: bool,
    /// Whether the sender has closed its end.
    closed: bool,
    /// Bytes read before the end of the warm-up.
    pub warm_bytes: u64,
    /// When the sender could first write.
    pub established_ns: Option<u64>,
    /// When a path of the connection first ended.
    pub path_end_ns: Option<u64>,
    /// When data was first reinjected on another path after that.
    pub noticed_ns: Option<u64>,
    /// When the last byte arrived, once it is known to be the last.
    pub completion_ns: Option<u64>,
    /// When the sender learned that everything had arrived.
    pub flushed_ns: Option<u64>,
    /// When the connection failed before all data had arrived, and why.
    failure: Option<(u64, &'static str)>,
    /// Since when the connection has no subflow.
    interrupted_ns: Option<u64>,
    /// Whether the reader has reached the end of the stream or the connection has failed.
    pub ended: bool,
    /// For each end, whether it has finished with the connection.
    pub over: [bool; 2],
    /// Bytes received in excess of those sent because a middlebox changed the content; `None` if none did.
    pub grown: Option<i64>,
    /// Whether a middlebox changed the data that was read last.
    pub altered: bool,
    /// The questions, for [`Amount::Answers`].
    dialogue: Option<Box<Dialogue>>,
}

impl Stream {
    /// The stream of a connection opened at `start_ns`.
    pub fn new(start_ns: u64, amount: Amount, sender: usize) -> Stream {
        Stream {
            start_ns,
            amount,
            sender: if amount == Amount::Answers { SERVER } else { sender },
            step_bytes: 0,
            offered: match amount {
                Amount::Endless => u64::MAX,
                Amount::Bytes(bytes) => bytes,
                Amount::Steps | Amount::Answers => 0,
            },
            mark: if let Amount::Bytes(bytes) = amount { bytes } else { u64::MAX },
            written: 0,
            established: false,
            stopped: false,
            closed: false,
            bytes_read: 0,
            warm_bytes: 0,
            last_read_ns: start_ns,
            longest_silence_ns: 0,
            reader: None,
            established_ns: None,
            path_end_ns: None,
            noticed_ns: None,
            completion_ns: None,
            flushed_ns: None,
            failure: None,
            interrupted_ns: None,
            ended: false,
            over: [false; 2],
            news: News::default(),
            grown: None,
            altered: false,
            dialogue: (amount == Amount::Answers).then(Box::default),
        }
    }

    /// Reads in these stages; with none, everything as it comes.
    #[must_use]
    pub fn read_in(mut self, stages: &Arc<[Stage]>) -> Stream {
        self.reader = (!stages.is_empty()).then(|| Box::new(Reader::new(stages.clone())));
        self
    }

    /// Whether the reader does not read everything as it comes.
    #[inline(always)]
    pub fn is_read_in_stages(&self) -> bool {
        self.reader.is_some()
    }

    /// How many bytes the reader takes now, if so many are there.
    pub fn takes(&self, now_ns: u64) -> u64 {
        self.reader.as_ref().map_or(u64::MAX, |reader| reader.takes(now_ns))
    }

    /// When the reader takes the next bytes if some are there: `now_ns` or later, or `u64::MAX` if never.
    pub fn next_read_ns(&self, now_ns: u64) -> u64 {
        self.reader.as_ref().map_or(now_ns, |reader| reader.next_ns(now_ns))
    }

    /// The time at which the driver is to let the reader read what has arrived, unless it was told before.
    pub fn arrange_read(&mut self, now_ns: u64) -> Option<u64> {
        self.reader.as_mut().and_then(|reader| reader.arrange(now_ns))
    }

    /// The end of the stream has arrived, but data before it is unread.
    pub fn end_waits(&mut self) {
        if let Some(reader) = &mut self.reader {
            reader.end_waits = true;
        }
    }

    /// Whether the reader reaches the end of the stream now that it has read everything. Returns true once.
    pub fn take_waiting_end(&mut self) -> bool {
        self.reader.as_mut().is_some_and(|reader| std::mem::take(&mut reader.end_waits))
    }

    /// The end that reads.
    pub fn receiver(&self) -> usize {
        1 - self.sender
    }

    /// The amount of data to send.
    #[inline]
    pub fn amount(&self) -> Amount {
        self.amount
    }

    /// Whether the sender may write.
    pub fn is_established(&self) -> bool {
        self.established
    }

    /// Whether the sender was told to stop writing.
    pub fn is_stopped(&self) -> bool {
        self.stopped
    }

    /// Takes the events since the last call.
    #[inline]
    pub fn take_news(&mut self) -> News {
        std::mem::take(&mut self.news)
    }

    /// Reports that the sender may write from now on; `step_bytes` is the data size of a full segment.
    pub fn establish(&mut self, now_ns: u64, step_bytes: u64) {
        self.established = true;
        self.step_bytes = step_bytes;
        if self.dialogue.is_some() {
            // The asking end writes first. Data sent without a question, such as a greeting, waits for this call.
            return self.read_question(0);
        }
        self.established_ns = Some(now_ns);
        if self.amount == Amount::Steps && !self.stopped {
            self.offered = step_bytes;
        }
        self.news.add(News::ESTABLISHED);
    }

    /// Whether the sender's end also reads questions from the other end.
    #[inline]
    pub fn is_dialogue(&self) -> bool {
        self.dialogue.is_some()
    }

    /// Reports that the asking end may write from now on.
    pub fn establish_asker(&mut self, now_ns: u64) {
        if let Some(dialogue) = &mut self.dialogue {
            dialogue.stands = true;
            self.established_ns = Some(now_ns);
            self.news.add(News::ESTABLISHED);
        }
    }

    /// Asks a question of `question_bytes`, which the sender answers when it has read all of it. An empty question asks
    /// for a greeting.
    pub fn ask(&mut self, question_bytes: u64, answer_bytes: u64) {
        if let Some(dialogue) = &mut self.dialogue {
            dialogue.ask(question_bytes, answer_bytes);
            self.mark = dialogue.next_answer();
            if question_bytes == 0 && self.established {
                self.read_question(0);
            }
        }
    }

    /// Question bytes not yet written.
    pub fn to_ask(&self) -> u64 {
        self.dialogue.as_ref().map_or(0, |dialogue| dialogue.to_write())
    }

    /// Question bytes written.
    pub fn asked(&self) -> u64 {
        self.dialogue.as_ref().map_or(0, |dialogue| dialogue.written)
    }

    /// Counts question bytes written.
    pub fn wrote_question(&mut self, bytes: u64) {
        if let Some(dialogue) = &mut self.dialogue {
            dialogue.written += bytes;
        }
    }

    /// Question bytes that the sender has read.
    pub fn question_bytes_read(&self) -> u64 {
        self.dialogue.as_ref().map_or(0, |dialogue| dialogue.read)
    }

    /// Counts question bytes read by the sender.
    pub fn read_question(&mut self, bytes: u64) {
        let Some(dialogue) = &mut self.dialogue else { return };
        let due = dialogue.read_question(bytes);
        if due > 0 && !self.stopped {
            self.offered += due;
            self.news.add(News::ASKED);
        }
    }

    /// Number of answers read in full.
    pub fn answers(&self) -> u64 {
        self.dialogue.as_ref().map_or(0, |dialogue| dialogue.answers)
    }

    /// Allows one more step of a rate to be written.
    pub fn offer_step(&mut self) {
        self.offered += self.step_bytes;
    }

    /// Whether the application may still offer data.
    pub fn is_writing(&self) -> bool {
        self.established && !self.stopped && !self.over[self.sender]
    }

    /// Number of bytes that the sender may still write.
    pub fn to_write(&self) -> u64 {
        if self.established { self.offered - self.written } else { 0 }
    }

    /// Offset of the next byte to write.
    pub fn written(&self) -> u64 {
        self.written
    }

    /// Counts bytes written by the sender.
    pub fn wrote(&mut self, bytes: u64) {
        self.written += bytes;
    }

    /// Whether the sender is to close its end now. Returns true once.
    pub fn take_close(&mut self) -> bool {
        let due = self.established && !self.closed && self.is_finite() && self.written == self.offered;
        self.closed |= due;
        due
    }

    /// Stops the sender. Steps already offered and answers owed are still sent; other data not written yet is dropped.
    pub fn stop(&mut self) {
        self.stopped = true;
        if !self.keeps_its_word() {
            self.offered = self.written;
        }
    }

    /// Whether data already offered is sent even after a stop.
    pub fn keeps_its_word(&self) -> bool {
        matches!(self.amount, Amount::Steps | Amount::Answers)
    }

    /// Whether the final size of the stream is known.
    fn is_finite(&self) -> bool {
        self.stopped || matches!(self.amount, Amount::Bytes(_))
    }

    /// Whether all bytes of the stream have been read.
    pub fn is_all_read(&self) -> bool {
        self.is_finite() && self.bytes_read >= self.offered
    }

    /// The reader has read `bytes` in order.
    #[inline(always)]
    pub fn read(&mut self, now_ns: u64, bytes: u64) {
        if self.bytes_read > 0 {
            self.longest_silence_ns = self.longest_silence_ns.max(now_ns.saturating_sub(self.last_read_ns));
        }
        self.bytes_read += bytes;
        self.last_read_ns = now_ns;
        if let Some(reader) = &mut self.reader {
            reader.took(now_ns, bytes);
        }
        if self.bytes_read >= self.mark {
            self.pass_mark(now_ns);
        }
    }

    #[cold]
    fn pass_mark(&mut self, now_ns: u64) {
        if let Some(dialogue) = &mut self.dialogue {
            dialogue.read_to(self.bytes_read);
            self.mark = dialogue.next_answer();
            self.news.add(News::ANSWERED);
        } else if self.bytes_read == self.mark && self.grown.is_none() {
            // If a middlebox changed the content, only the end of the stream shows completion.
            self.complete(now_ns);
        }
    }

    /// Longest time without a read, from the first byte to the last, or to `end_ns` if the stream is not complete.
    pub fn silence_ns(&self, end_ns: u64) -> Option<u64> {
        let last_ns = if self.completion_ns.is_some() { 0 } else { end_ns.saturating_sub(self.last_read_ns) };
        (self.bytes_read > 0).then(|| self.longest_silence_ns.max(last_ns))
    }

    /// Reports that a path of the connection ended. Returns true if it is the first and the stream is not complete.
    pub fn path_ends(&mut self, at_ns: u64) -> bool {
        let first = self.path_end_ns.is_none() && self.completion_ns.is_none();
        if first {
            self.path_end_ns = Some(at_ns);
        }
        first
    }

    /// Time from the end of the path to the first reinjection on another path.
    pub fn notice_ns(&self) -> Option<u64> {
        self.noticed_ns?.checked_sub(self.path_end_ns?)
    }

    /// Reports that the reader has reached the end of the stream.
    pub fn end(&mut self, now_ns: u64) {
        match self.amount {
            _ if self.completion_ns.is_some() => {}
            Amount::Endless | Amount::Steps | Amount::Answers => self.complete(self.last_read_ns),
            Amount::Bytes(0) => self.complete(now_ns),
            Amount::Bytes(size_bytes) if self.grown.is_some_and(|grown| self.is_whole(size_bytes, grown)) => {
                self.complete(self.last_read_ns);
            }
            // A file stopped before its last byte was sent never completes.
            Amount::Bytes(_) => {}
        }
        self.ended = true;
        self.news.add(News::ENDED);
    }

    /// Reports that all data the sender wrote is acknowledged.
    pub fn flush(&mut self, now_ns: u64) {
        self.flushed_ns = Some(now_ns);
    }

    /// Reports that one end has finished with the connection.
    pub fn end_is_over(&mut self, side: usize) {
        self.over[side] = true;
        self.news.add(News::OVER);
    }

    /// Reports that the connection has failed at one end, and why.
    pub fn fail(&mut self, now_ns: u64, side: usize, why: &'static str) {
        if self.completion_ns.is_none() && !self.stopped {
            self.failure.get_or_insert((now_ns, why));
        }
        self.abandon(side);
    }

    /// Reports that one end no longer cares about the connection.
    pub fn abandon(&mut self, side: usize) {
        self.end_is_over(side);
        self.ended = true;
        self.news.add(News::ENDED);
    }

    /// Reports that the connection has no subflow left, or has one again. It may wait for one longer than the run takes.
    pub fn set_interrupted(&mut self, now_ns: u64, interrupted: bool) {
        if !interrupted {
            self.interrupted_ns = None;
        } else if self.completion_ns.is_none() && !self.stopped {
            self.interrupted_ns.get_or_insert(now_ns);
        }
    }

    /// When the last byte arrived, or the connection failed.
    pub fn last_ns(&self) -> Option<u64> {
        self.completion_ns.or(self.lost().map(|(at_ns, _)| at_ns))
    }

    /// When and why the connection was lost. If it waited for a subflow until it failed, that is since when it waited.
    fn lost(&self) -> Option<(u64, &'static str)> {
        self.interrupted_ns.map(|at_ns| (at_ns, "its last subflow gave up")).or(self.failure)
    }

    /// What became of a connection that failed, in words.
    pub fn failed(&self) -> Option<String> {
        let (at_ns, why) = self.lost()?;
        let seconds = at_ns as f64 / 1e9;
        if self.established_ns.is_none() {
            return Some(format!("it never opened: {why} at {seconds:.3} s"));
        }
        let arrived = format!("{:.3} MB", self.bytes_read as f64 / 1e6);
        Some(match self.amount {
            Amount::Bytes(size_bytes) => {
                format!("{why} at {seconds:.3} s, when {arrived} of {:.3} MB had arrived", size_bytes as f64 / 1e6)
            }
            _ => format!("{why} at {seconds:.3} s, when {arrived} had arrived"),
        })
    }

    /// Ends the warm-up: all bytes so far belong to it.
    pub fn warm_up_ends(&mut self) {
        self.warm_bytes = self.bytes_read;
    }

    /// Whether a stream of `size_bytes`, into which a middlebox inserted `grown` bytes, has been read in full. Later
    /// data does not show what was inserted at the very end, so that a small difference is accepted if the last data
    /// was changed.
    fn is_whole(&self, size_bytes: u64, grown: i64) -> bool {
        let missing = size_bytes.wrapping_add_signed(grown).wrapping_sub(self.bytes_read) as i64;
        missing == 0 || (self.altered && missing.unsigned_abs() <= u64::from(GROWTH_LIMIT_BYTES))
    }

    fn complete(&mut self, at_ns: u64) {
        self.completion_ns = Some(at_ns);
        self.news.add(News::COMPLETED);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn download(amount: Amount) -> Stream {
        let mut stream = Stream::new(5, amount, SERVER);
        stream.establish(0, 10);
        stream
    }

    #[test]
    fn a_file_is_complete_with_its_last_byte() {
        let mut stream = download(Amount::Bytes(100));
        stream.read(10, 60);
        assert_eq!((stream.bytes_read, stream.completion_ns), (60, None));
        stream.read(20, 40);
        stream.end(30);
        assert_eq!((stream.bytes_read, stream.completion_ns), (100, Some(20)));
        let news = stream.take_news();
        assert!(news.has(News::ESTABLISHED) && news.has(News::COMPLETED) && news.has(News::ENDED));
        assert!(!news.has(News::OVER) && stream.take_news().is_empty());
    }

    #[test]
    fn a_connection_that_fails_says_when_and_how_much_had_arrived() {
        let mut stream = download(Amount::Bytes(50_000_000));
        stream.read(9_000_000_000, 23_500_000);
        stream.fail(13_200_000_000, SERVER, "it gave up");
        stream.fail(14_000_000_000, CLIENT, "another reason");
        assert_eq!(stream.failed().unwrap(), "it gave up at 13.200 s, when 23.500 MB of 50.000 MB had arrived");
        assert_eq!((stream.last_ns(), stream.over), (Some(13_200_000_000), [true; 2]));
        let mut waiting = download(Amount::Endless);
        waiting.read(1_000_000_000, 1_500_000);
        waiting.set_interrupted(2_000_000_000, true);
        waiting.set_interrupted(3_000_000_000, false);
        assert_eq!(waiting.failed(), None);
        waiting.set_interrupted(4_000_000_000, true);
        waiting.fail(9_000_000_000, SERVER, "nobody came");
        assert_eq!(waiting.failed().unwrap(), "its last subflow gave up at 4.000 s, when 1.500 MB had arrived");
        assert_eq!(waiting.last_ns(), Some(4_000_000_000));
        let mut never = Stream::new(0, Amount::Endless, SERVER);
        never.fail(7_000_000_000, CLIENT, "no answer");
        assert_eq!(never.failed().unwrap(), "it never opened: no answer at 7.000 s");
        let mut done = download(Amount::Bytes(10));
        done.read(5, 10);
        done.fail(9, CLIENT, "too late");
        let mut stopped = download(Amount::Endless);
        stopped.stop();
        stopped.fail(9, CLIENT, "wanted");
        let mut abandoned = download(Amount::Endless);
        abandoned.abandon(CLIENT);
        assert_eq!((done.failed(), stopped.failed(), abandoned.failed()), (None, None, None));
        assert_eq!((done.last_ns(), abandoned.ended), (Some(5), true));
    }

    #[test]
    fn a_stream_without_a_size_is_complete_when_it_ended() {
        let mut stream = download(Amount::Endless);
        stream.read(10, 60);
        assert_eq!(stream.completion_ns, None);
        stream.end(30);
        assert_eq!(stream.completion_ns, Some(10));
        // An empty file consists of its end only.
        let mut empty = download(Amount::Bytes(0));
        empty.end(30);
        assert_eq!(empty.completion_ns, Some(30));
    }

    #[test]
    fn the_first_end_of_a_path_counts() {
        let mut stream = download(Amount::Bytes(100));
        assert_eq!((stream.path_ends(40), stream.notice_ns()), (true, None));
        assert!(!stream.path_ends(50));
        stream.noticed_ns = Some(65);
        assert_eq!(stream.notice_ns(), Some(25));
        let mut complete = download(Amount::Bytes(10));
        complete.read(10, 10);
        assert!(!complete.path_ends(40), "nothing is left that could be late");
    }

    #[test]
    fn a_file_cut_short_is_not_complete() {
        let mut stream = download(Amount::Bytes(100));
        stream.read(10, 60);
        stream.end(30);
        assert_eq!((stream.completion_ns, stream.ended), (None, true));
    }

    #[test]
    fn the_sender_closes_when_all_is_written() {
        let mut file = Stream::new(5, Amount::Bytes(100), CLIENT);
        assert_eq!((file.to_write(), file.take_close()), (0, false), "before the connection stands");
        file.establish(0, 10);
        assert_eq!((file.to_write(), file.take_close()), (100, false));
        file.wrote(100);
        assert_eq!((file.to_write(), file.take_close(), file.take_close()), (0, true, false));

        // Endless data not written before the stop is not sent.
        let mut bulk = download(Amount::Endless);
        bulk.wrote(70);
        assert!(!bulk.take_close());
        bulk.stop();
        assert_eq!((bulk.to_write(), bulk.take_close()), (0, true));
        bulk.read(10, 69);
        assert!(!bulk.is_all_read());
        bulk.read(10, 1);
        assert!(bulk.is_all_read());

        // Steps offered before the stop are sent.
        let mut steps = download(Amount::Steps);
        steps.offer_step();
        steps.wrote(10);
        steps.stop();
        assert_eq!((steps.to_write(), steps.take_close(), steps.is_writing()), (10, false, false));
        steps.wrote(10);
        assert!(steps.take_close());
    }

    #[test]
    fn what_was_stopped_before_it_began_is_empty() {
        for amount in [Amount::Endless, Amount::Bytes(100), Amount::Steps] {
            let mut stream = Stream::new(5, amount, SERVER);
            stream.stop();
            assert!(!stream.take_close());
            stream.establish(0, 10);
            assert_eq!((stream.to_write(), stream.take_close()), (0, true), "{amount:?}");
        }
    }

    #[test]
    fn of_content_that_a_box_changed_the_end_tells() {
        let mut stream = download(Amount::Bytes(100));
        stream.grown = Some(3);
        stream.read(10, 100);
        assert_eq!(stream.completion_ns, None);
        stream.read(11, 3);
        stream.end(12);
        assert_eq!(stream.completion_ns, Some(11));
    }

    #[test]
    fn a_silence_is_between_two_readings_and_after_the_last_if_more_is_to_come() {
        let mut stream = Stream::new(100, Amount::Endless, SERVER);
        assert_eq!(stream.silence_ns(5_000), None, "nothing was read: that is not a silence of a transfer");
        for (now_ns, silence_ns) in [(1_000, 0), (1_300, 300), (1_400, 300), (2_400, 1_000)] {
            stream.read(now_ns, 10);
            assert_eq!(stream.silence_ns(now_ns), Some(silence_ns));
        }
        assert_eq!(stream.silence_ns(4_000), Some(1_600));
        stream.stop();
        stream.end(4_000);
        assert_eq!(stream.silence_ns(9_000), Some(1_000), "it was whole at 2400");
    }

    #[test]
    fn a_question_is_answered_when_it_was_heard_in_full() {
        let mut stream = Stream::new(5, Amount::Answers, CLIENT);
        assert_eq!((stream.sender, stream.receiver()), (SERVER, CLIENT), "the server answers");
        stream.ask(0, 20);
        stream.ask(100, 1000);
        stream.ask(50, 1);
        assert_eq!(stream.to_ask(), 0, "before the connection stands");
        stream.establish_asker(10);
        assert_eq!((stream.to_ask(), stream.established_ns), (150, Some(10)));
        assert!(stream.take_news().has(News::ESTABLISHED));
        stream.wrote_question(150);
        assert_eq!((stream.to_ask(), stream.asked()), (0, 150));
        stream.establish(15, 1460);
        assert_eq!((stream.to_write(), stream.take_news().has(News::ASKED)), (20, true), "the greeting");
        stream.wrote(20);
        stream.read_question(99);
        assert_eq!((stream.to_write(), stream.take_news().is_empty()), (0, true));
        stream.read_question(51);
        assert_eq!((stream.to_write(), stream.question_bytes_read()), (1001, 150));
        stream.wrote(1001);
        stream.read(30, 1019);
        assert_eq!((stream.answers(), stream.take_news().has(News::ANSWERED)), (1, true));
        stream.read(40, 2);
        assert_eq!(stream.answers(), 3, "the end of one answer and all of the next");
        // Answers owed at the stop are sent; questions read afterwards are not answered.
        stream.ask(1, 7);
        stream.read_question(1);
        stream.stop();
        assert_eq!((stream.to_write(), stream.take_close()), (7, false));
        stream.wrote(7);
        stream.ask(1, 7);
        stream.read_question(1);
        assert!(stream.take_close());
        stream.read(50, 7);
        stream.end(60);
        assert_eq!(stream.completion_ns, Some(50));
    }
}
