//! Reads the words of a segment.

use wire::Flags;

use crate::case::{Field, Mptcp, Number, Part};
use crate::mistake::{Mistake, Read};

/// The options of Multipath TCP with their parts. What a part can be: `f` is there, `n` a number, or one of these words.
const OPTIONS: [(&str, &[(&str, &str)]); 9] = [
    (
        "capable",
        &[("v", "n"), ("flags", "LETTERS"), ("key", "KEY"), ("key2", "KEY"), ("len", "n"), ("csum", "f|good|bad")],
    ),
    (
        "join",
        &[
            ("syn", "f"),
            ("synack", "f"),
            ("ack", "f"),
            ("backup", "f"),
            ("id", "n"),
            ("token", "host|peer|wrong"),
            ("nonce", "n"),
            ("hmac", "good|bad|swapped"),
        ],
    ),
    (
        "dss",
        &[
            ("ack", "f|n"),
            ("ack4", "f|n"),
            ("map", "f"),
            ("dsn", "n"),
            ("dsn4", "n"),
            ("ssn", "n"),
            ("len", "n"),
            ("csum", "f|good|bad"),
            ("fin", "f"),
        ],
    ),
    ("add_addr", &[("echo", "f"), ("id", "n"), ("addr", "ADDRESS"), ("port", "n"), ("hmac", "good|bad")]),
    ("remove_addr", &[("ids", "LIST")]),
    ("prio", &[("backup", "f")]),
    ("fail", &[("dsn", "n")]),
    ("fastclose", &[("key", "KEY")]),
    ("tcprst", &[("reason", "n"), ("t", "f")]),
];

const WORDS: &str = "control bits such as synack or fin+ack, seq=, ack=, win=, len=, at=, urg=, ttl=, dscp=, mss=, wscale=, sackok, ts=, sack=, capable[], join[], dss[], add_addr[], remove_addr[], prio[], fail[], fastclose[], tcprst[], hex=, badsum, altered, or no: and an option's name";

pub fn read(words: &[String]) -> Read<Vec<Field>> {
    let mut fields = Vec::new();
    for (index, word) in words.iter().enumerate() {
        if index == 0 {
            if word == "reset" {
                fields.push(Field::Reset);
                continue;
            }
            let bits = flags(word).ok_or_else(|| {
                Mistake::new(word, "control bits: syn, synack, ack, fin+ack, rst, …, or reset: with ACK or without")
            })?;
            fields.push(Field::Flags(bits.0));
        } else {
            fields.push(field(word)?);
        }
    }
    if fields.is_empty() {
        return Err(Mistake::new("nothing", "a segment: control bits first"));
    }
    Ok(fields)
}

fn field(word: &str) -> Read<Field> {
    if let Some(name) = word.strip_prefix("no:") {
        return match name {
            "mptcp" | "mss" | "wscale" | "sackok" | "ts" | "sack" => Ok(Field::Without(name.to_owned())),
            _ if OPTIONS.iter().any(|(kind, _)| *kind == name) => Ok(Field::Without(name.to_owned())),
            _ => Err(Mistake::new(word, "no: and mptcp, mss, wscale, sackok, ts, sack or an option of Multipath TCP")),
        };
    }
    if let Some((kind, rest)) = word.split_once('[') {
        return mptcp(kind, rest.trim_end_matches(']'));
    }
    let (name, value) = word.split_once('=').unwrap_or((word, ""));
    Ok(match name {
        "seq" => Field::Seq(number(value)?),
        "ack" => Field::Ack(number(value)?),
        "win" => Field::Win(number(value)?),
        "len" => Field::Len(number(value)?),
        "urg" => Field::Urg(number(value)?),
        "ttl" => Field::Ttl(number(value)?),
        "dscp" => Field::Dscp(number(value)?),
        "mss" => Field::Mss(number(value)?),
        "wscale" => Field::Wscale(number(value)?),
        "at" => Field::At(value.parse().map_err(|_| Mistake::new(word, "at= and a place in the stream"))?),
        "sackok" if value.is_empty() => Field::SackOk,
        "badsum" if value.is_empty() => Field::BadChecksum,
        "altered" if value.is_empty() => Field::Altered,
        "ts" => match value.split_once(':') {
            Some((stamp, echo)) => Field::Ts(number(stamp)?, Some(number(echo)?)),
            None => Field::Ts(number(value)?, None),
        },
        "sack" => Field::Sack(value.split(',').map(block).collect::<Read<_>>()?),
        "hex" => Field::Raw(hex(value)?),
        _ => return Err(Mistake::new(word, WORDS)),
    })
}

fn block(text: &str) -> Read<(i64, i64)> {
    let wrong = || Mistake::new(text, "blocks as 1001-2001,3001-4001");
    let (left, right) = text.split_once('-').ok_or_else(wrong)?;
    Ok((left.parse().map_err(|_| wrong())?, right.parse().map_err(|_| wrong())?))
}

fn hex(text: &str) -> Read<Vec<u8>> {
    let wrong = || Mistake::new(text, "bytes as pairs of hexadecimal digits");
    if !text.len().is_multiple_of(2) || !text.is_ascii() {
        return Err(wrong());
    }
    (0..text.len()).step_by(2).map(|i| u8::from_str_radix(&text[i..i + 2], 16).map_err(|_| wrong())).collect()
}

/// `100`, `-1`, `100..200`, `100..`, `*`.
pub fn number(text: &str) -> Read<Number> {
    let wrong = || Mistake::new(text, "a number, FIRST..LAST, or *");
    let one = |text: &str| text.parse::<i64>().map_err(|_| wrong());
    if text == "*" {
        return Ok(Number::Any);
    }
    if let Some((from, to)) = text.split_once("..") {
        let to = if to.is_empty() { i64::MAX } else { one(to)? };
        return Ok(Number::Between(one(from)?, to));
    }
    one(text).map(Number::Exactly)
}

fn mptcp(kind: &str, body: &str) -> Read<Field> {
    let names = || OPTIONS.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ");
    let Some((kind, known)) = OPTIONS.iter().find(|(name, _)| *name == kind) else {
        return Err(Mistake::new(kind, format!("an option: {}", names())));
    };
    let mut parts = Vec::new();
    for word in body.split_whitespace() {
        let (name, value) = word.split_once('=').unwrap_or((word, ""));
        let Some((name, form)) = known.iter().find(|(n, _)| *n == name) else {
            let may = known.iter().map(|(n, _)| *n).collect::<Vec<_>>().join(", ");
            return Err(Mistake::new(word, format!("a part of {kind}: {may}")));
        };
        parts.push((*name, part(word, value, form)?));
    }
    Ok(Field::Mptcp(Mptcp { kind, parts }))
}

fn part(word: &str, value: &str, form: &str) -> Read<Part> {
    let mut forms = form.split('|');
    if value.is_empty() && forms.clone().any(|f| f == "f") {
        return Ok(Part::Set);
    }
    if forms.clone().any(|f| f == "n")
        && let Ok(number) = number(value)
    {
        return Ok(Part::Number(number));
    }
    let fits = match form {
        "LETTERS" => !value.is_empty() && (value == "none" || value.bytes().all(|b| (b'A'..=b'H').contains(&b))),
        "KEY" => matches!(value, "host" | "peer" | "wrong" | "*"),
        "ADDRESS" => value.parse::<std::net::IpAddr>().is_ok(),
        "LIST" => value.split(',').all(|id| id.parse::<u8>().is_ok()),
        _ => forms.any(|f| f == value),
    };
    if !fits {
        return Err(Mistake::new(word, format!("a value of the form {form}")));
    }
    Ok(Part::Word(value.to_owned()))
}

/// The bits of `syn`, `synack`, `syn+fin`, ….
fn flags(word: &str) -> Option<Flags> {
    let mut bits = Flags::default();
    for part in word.split('+') {
        bits = bits
            | match part {
                "syn" => Flags::SYN,
                "synack" => Flags::SYN | Flags::ACK,
                "ack" => Flags::ACK,
                "fin" => Flags::FIN,
                "finack" => Flags::FIN | Flags::ACK,
                "rst" => Flags::RST,
                "rstack" => Flags::RST | Flags::ACK,
                "psh" => Flags::PSH,
                "urg" => Flags::URG,
                "ece" => Flags::ECE,
                "cwr" => Flags::CWR,
                "none" => Flags::default(),
                _ => return None,
            };
    }
    Some(bits)
}
