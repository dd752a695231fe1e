//! What a client sends on a data connection besides data: an opening at the beginning, and the lengths of each question
//! and its answer. The other end is another machine, so all input is validated.

use application::Amount;

/// Length of an opening.
pub const OPENING_BYTES: usize = 40;
/// Length of the secret that opens data connections of one run.
pub const TOKEN_BYTES: usize = 16;
/// Maximum size of a question and of an answer.
const LARGEST_BYTES: u64 = 1 << 40;
/// Number of seven-bit bytes that hold [`LARGEST_BYTES`].
const NUMBER_BYTES: usize = 6;

const MAGIC: [u8; 4] = *b"mpl1";

/// The first bytes of a data connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Opening {
    /// The run's secret.
    pub token: [u8; TOKEN_BYTES],
    /// Index of the application, in the scenario's order.
    pub application: u32,
    /// The amount of data.
    pub amount: Amount,
    /// The end that writes.
    pub sender: usize,
}

impl Opening {
    /// Encodes the opening.
    pub fn encode(&self) -> [u8; OPENING_BYTES] {
        let (kind, bytes) = match self.amount {
            Amount::Endless => (0, 0),
            Amount::Bytes(bytes) => (1, bytes),
            Amount::Steps => (2, 0),
            Amount::Answers => (3, 0),
        };
        let mut out = [0; OPENING_BYTES];
        out[..4].copy_from_slice(&MAGIC);
        out[4..20].copy_from_slice(&self.token);
        out[20..24].copy_from_slice(&self.application.to_be_bytes());
        out[24] = kind;
        out[25] = self.sender as u8;
        out[32..40].copy_from_slice(&bytes.to_be_bytes());
        out
    }

    /// Decodes an opening; `None` if it is invalid.
    pub fn decode(bytes: &[u8; OPENING_BYTES]) -> Option<Opening> {
        let [m0, m1, m2, m3, rest @ ..] = bytes;
        let (token, rest) = rest.split_first_chunk::<TOKEN_BYTES>()?;
        let (application, rest) = rest.split_first_chunk::<4>()?;
        let ([kind, sender, padding @ ..], rest) = rest.split_first_chunk::<8>()?;
        let (size, _) = rest.split_first_chunk::<8>()?;
        if [*m0, *m1, *m2, *m3] != MAGIC || *sender > 1 || padding.iter().any(|&byte| byte != 0) {
            return None;
        }
        let size_bytes = u64::from_be_bytes(*size);
        let amount = match kind {
            0 => Amount::Endless,
            1 if size_bytes <= LARGEST_BYTES => Amount::Bytes(size_bytes),
            2 => Amount::Steps,
            3 => Amount::Answers,
            _ => return None,
        };
        let application = u32::from_be_bytes(*application);
        Some(Opening { token: *token, application, amount, sender: usize::from(*sender) })
    }

    /// Whether it has the secret. The comparison takes constant time.
    pub fn knows(&self, token: &[u8; TOKEN_BYTES]) -> bool {
        self.token.iter().zip(token).fold(0, |differs, (one, two)| differs | (one ^ two)) == 0
    }
}

/// Writes a question of `question_bytes`: its length and that of its answer, then zeros up to its length. A question
/// shorter than these two numbers is as long as they are.
pub fn ask(out: &mut Vec<u8>, question_bytes: u64, answer_bytes: u64) {
    let begun = out.len();
    for mut number in [question_bytes, answer_bytes] {
        while number > 0x7f {
            out.push(number as u8 | 0x80);
            number >>= 7;
        }
        out.push(number as u8);
    }
    let said = (out.len() - begun) as u64;
    out.resize(out.len() + question_bytes.saturating_sub(said) as usize, 0);
}

/// Parses questions from the bytes that arrive.
#[derive(Clone, Debug, Default)]
pub struct Questions {
    /// The two lengths of the current question, as far as received.
    numbers: [u64; 2],
    /// How many of them are complete.
    known: usize,
    /// Bytes received of the current number.
    length: usize,
    /// Bytes received of the two lengths.
    said: u64,
    /// Bytes of the question still to come.
    padding: u64,
}

/// The peer violated the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Malformed;

impl Questions {
    /// Processes received bytes. `complete` is called with the lengths of each complete question and of its answer.
    pub fn read(&mut self, mut bytes: &[u8], mut complete: impl FnMut(u64, u64)) -> Result<(), Malformed> {
        loop {
            if self.known == 2 {
                let skipped = self.padding.min(bytes.len() as u64);
                self.padding -= skipped;
                bytes = &bytes[skipped as usize..];
                if self.padding > 0 {
                    return Ok(());
                }
                complete(self.numbers[0], self.numbers[1]);
                *self = Questions::default();
            }
            let Some((&byte, rest)) = bytes.split_first() else { return Ok(()) };
            bytes = rest;
            if self.length == NUMBER_BYTES {
                return Err(Malformed);
            }
            self.numbers[self.known] |= u64::from(byte & 0x7f) << (7 * self.length);
            self.length += 1;
            self.said += 1;
            if byte & 0x80 == 0 {
                if self.numbers[self.known] > LARGEST_BYTES {
                    return Err(Malformed);
                }
                (self.known, self.length) = (self.known + 1, 0);
                self.padding = self.numbers[0].saturating_sub(self.said);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use application::{CLIENT, SERVER};
    use proptest::prelude::*;

    fn opening() -> Opening {
        Opening { token: [7; TOKEN_BYTES], application: 258, amount: Amount::Bytes(1000), sender: CLIENT }
    }

    #[test]
    fn an_opening_is_laid_out_as_documented() {
        let bytes = opening().encode();
        assert_eq!(&bytes[..4], b"mpl1");
        assert_eq!(bytes[4..20], [7; 16]);
        assert_eq!(bytes[20..26], [0, 0, 1, 2, 1, 0]);
        assert_eq!(bytes[26..], [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x03, 0xe8]);
        assert_eq!(Opening::decode(&bytes), Some(opening()));
        for amount in [Amount::Endless, Amount::Steps, Amount::Answers] {
            let other = Opening { amount, sender: SERVER, ..opening() };
            assert_eq!(Opening::decode(&other.encode()), Some(other));
        }
        let mut wrong = bytes;
        wrong[24] = 4;
        assert_eq!(Opening::decode(&wrong), None, "an unknown amount");
        assert!(opening().knows(&[7; 16]));
        let mut other = [7; 16];
        other[15] = 6;
        assert!(!opening().knows(&other));
    }

    #[test]
    fn a_question_has_the_length_that_it_says() {
        // 300 = 0b10_0101100: two bytes of seven bits; 5: one byte.
        let mut out = Vec::new();
        ask(&mut out, 300, 5);
        assert_eq!((out.len(), &out[..3]), (300, &[0xac, 0x02, 0x05][..]));
        // A greeting is an empty question, encoded in two bytes.
        ask(&mut out, 0, 77);
        assert_eq!((out.len(), &out[300..]), (302, &[0, 77][..]));
    }

    proptest! {
        #[test]
        fn questions_are_read_as_they_were_asked(
            asked in proptest::collection::vec((0_u64..5000, 0_u64..1 << 40), 0..20),
            step in 1_usize..700,
        ) {
            let mut bytes = Vec::new();
            asked.iter().for_each(|&(question, answer)| ask(&mut bytes, question, answer));
            let (mut questions, mut complete) = (Questions::default(), Vec::new());
            for part in bytes.chunks(step) {
                questions.read(part, |question, answer| complete.push((question, answer))).unwrap();
            }
            prop_assert_eq!(complete, asked);
        }

        #[test]
        fn no_bytes_make_it_panic(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
            let mut questions = Questions::default();
            let _ = questions.read(&bytes, |question, answer| {
                assert!(question <= LARGEST_BYTES && answer <= LARGEST_BYTES);
            });
            if let Some(first) = bytes.first_chunk::<OPENING_BYTES>()
                && let Some(opening) = Opening::decode(first)
            {
                assert_eq!(opening.encode()[..26], first[..26]);
            }
        }
    }
}
