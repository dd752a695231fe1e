//! Reads a file with a case. Errors give the location, what was found and what was expected.

use std::net::{IpAddr, SocketAddr};

use crate::case::{Action, Case, Settings, Sight, Step, What, When, Who};
use crate::fields;
use crate::icmp;
use crate::mistake::{Mistake, Read};

/// A line that says nothing.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("{file}:{line}: found {found}, expected {expected}")]
pub struct ParseError {
    /// The file.
    pub file: String,
    /// The line, from 1.
    pub line: usize,
    /// What was found.
    pub found: String,
    /// What was expected.
    pub expected: String,
}

/// Reads the case `name` from the text of its file.
///
/// # Errors
/// The first line that has no meaning, or what is missing.
pub fn parse(name: &str, file: &str, text: &str) -> Result<Case, ParseError> {
    let mut case = Case {
        name: name.to_owned(),
        requirement: String::new(),
        says: String::new(),
        departs: Vec::new(),
        cannot: Vec::new(),
        settings: Settings::default(),
        steps: Vec::new(),
    };
    let wrong = |line: usize, mistake: Mistake| ParseError {
        file: file.to_owned(),
        line,
        found: mistake.found,
        expected: mistake.expected,
    };
    for (index, whole) in text.lines().enumerate() {
        let line = whole.split('#').next().unwrap_or_default().trim();
        if !line.is_empty() {
            read_line(&mut case, index + 1, line).map_err(|mistake| wrong(index + 1, mistake))?;
        }
    }
    let missing = |what: &str| Err(wrong(1, Mistake { found: "no such line".into(), expected: what.into() }));
    if case.requirement.is_empty() {
        return missing("requires: RFC NUMBER §SECTION MUST|SHOULD|MAY (IDENTIFIERS)");
    }
    if case.says.is_empty() {
        return missing("says: the requirement in a sentence");
    }
    if !case.steps.iter().any(|step| matches!(step.what, What::Expect { .. } | What::Silence | What::See(_))) {
        return missing("a line that expects something: “>”, “silence” or “expect”");
    }
    Ok(case)
}

const LINES: &str = "requires:, says:, departs WHO:, cannot WHO:, set, flow, listen, connect, write, read, shutdown, close, abort, announce, withdraw, backup, join, dscp, icmp, expect, silence, anything, “<” or “>” and a segment";

fn read_line(case: &mut Case, number: usize, line: &str) -> Read<()> {
    if let Some(rest) = line.strip_prefix("requires:") {
        let words: Vec<&str> = rest.split_whitespace().collect();
        let fits =
            words.len() >= 4 && words[0] == "RFC" && words[1].parse::<u16>().is_ok() && words[2].starts_with('§');
        let fits = fits && matches!(words.get(3), Some(&("MUST" | "SHOULD" | "MAY" | "says")));
        if !fits {
            return Err(Mistake::new(rest.trim(), "RFC NUMBER §SECTION MUST|SHOULD|MAY|says (IDENTIFIERS)"));
        }
        case.requirement = words.join(" ");
        return Ok(());
    }
    if let Some(rest) = line.strip_prefix("says:") {
        rest.trim().clone_into(&mut case.says);
        return Ok(());
    }
    for (word, list) in [("departs ", &mut case.departs), ("cannot ", &mut case.cannot)] {
        if let Some(rest) = line.strip_prefix(word) {
            let (who, why) =
                rest.split_once(':').ok_or_else(|| Mistake::new(rest, "transport or linux, a colon, the reason"))?;
            let who = match who.trim() {
                "transport" => Who::Transport,
                "linux" => Who::Linux,
                other => return Err(Mistake::new(other, "transport or linux")),
            };
            list.push((who, why.trim().to_owned()));
            return Ok(());
        }
    }
    let words = split(line)?;
    if words[0] == "set" {
        return words[1..].iter().try_for_each(|word| set(&mut case.settings, word));
    }
    let (when, rest) = match time(&words[0])? {
        Some(when) => (when, &words[1..]),
        None => (When::Now, &words[..]),
    };
    let what = step(rest)?;
    if matches!(what, What::Silence | What::Anything) && when == When::Now {
        return Err(Mistake::new(line, "a time before it"));
    }
    case.steps.push(Step { line: number, text: line.to_owned(), when, what });
    Ok(())
}

/// Splits into words; what is in brackets stays together.
fn split(line: &str) -> Read<Vec<String>> {
    let (mut words, mut word, mut depth) = (Vec::new(), String::new(), 0_u32);
    for c in line.chars() {
        match c {
            '[' => depth += 1,
            ']' => depth = depth.checked_sub(1).ok_or_else(|| Mistake::new(line, "a “[” before the “]”"))?,
            _ => {}
        }
        if c.is_whitespace() && depth == 0 {
            if !word.is_empty() {
                words.push(std::mem::take(&mut word));
            }
        } else {
            word.push(c);
        }
    }
    if depth > 0 {
        return Err(Mistake::new(line, "a “]” for each “[”"));
    }
    if !word.is_empty() {
        words.push(word);
    }
    Ok(words)
}

/// `1.5`, `+0.2`, `1.0~0.1`, `1.0..2.0`; anything that begins otherwise is no time.
fn time(word: &str) -> Read<Option<When>> {
    let after = word.starts_with('+');
    let body = word.trim_start_matches('+');
    if !body.starts_with(|c: char| c.is_ascii_digit()) {
        return Ok(None);
    }
    let expected = "seconds: 1.5, +0.2 after the step before, 1.0~0.1 give or take, or 1.0..2.0";
    let seconds = |text: &str| match text.parse::<f64>() {
        Ok(s) if (0.0..1e6).contains(&s) => Ok((s * 1e9).round() as u64),
        _ => Err(Mistake::new(word, expected)),
    };
    let (from, to) = if let Some((from, to)) = body.split_once("..") {
        (seconds(from)?, seconds(to)?)
    } else if let Some((at, give)) = body.split_once('~') {
        let (at, give) = (seconds(at)?, seconds(give)?);
        (at.saturating_sub(give), at + give)
    } else {
        (seconds(body)?, seconds(body)?)
    };
    Ok(Some(if after { When::After(from, to) } else { When::At(from, to) }))
}

fn step(words: &[String]) -> Read<What> {
    let Some(first) = words.first() else { return Err(Mistake::new("a time alone", LINES)) };
    let rest = &words[1..];
    if let Some(flow) = first.strip_prefix('<') {
        return Ok(What::Send(flow_number(flow)?, fields::read(rest)?));
    }
    if let Some(flow) = first.strip_prefix('>') {
        let optional = flow.starts_with('?');
        let flow = flow_number(flow.trim_start_matches('?'))?;
        return Ok(What::Expect { flow, fields: fields::read(rest)?, optional });
    }
    let count = |index: usize| -> Read<u64> {
        let text = rest.get(index).map_or("nothing", String::as_str);
        text.parse().map_err(|_| Mistake::new(text, "a number"))
    };
    let action = match first.as_str() {
        "silence" => return Ok(What::Silence),
        "anything" => return Ok(What::Anything),
        "flow" => return flow(rest),
        word if word.starts_with("icmp") => return Ok(What::Icmp(flow_number(&word[4..])?, icmp::read(rest)?)),
        "expect" => return sight(rest).map(What::See),
        "listen" => Action::Listen,
        "connect" => Action::Connect,
        "write" => Action::Write(count(0)?),
        "read" if rest.is_empty() => Action::Read(None),
        "read" => Action::Read(Some(count(0)?)),
        "shutdown" => Action::Shutdown,
        "close" => Action::Close,
        "abort" => Action::Abort,
        "announce" => Action::Announce(count(0)? as u8),
        "withdraw" => Action::Withdraw(count(0)? as u8),
        "dscp" => Action::Dscp(count(0)? as u8 & 63),
        "join" => Action::Join(count(0)? as u8, count(1)? as u8),
        "backup" => Action::Backup(match rest.first().map(String::as_str) {
            Some("on") => true,
            Some("off") => false,
            _ => return Err(Mistake::new(first, "backup on, backup off")),
        }),
        other => return Err(Mistake::new(other, LINES)),
    };
    Ok(What::Do(action))
}

fn flow_number(text: &str) -> Read<usize> {
    if text.is_empty() { Ok(0) } else { text.parse().map_err(|_| Mistake::new(text, "the number of a flow")) }
}

/// `flow 1 peer=10.0.0.3:5001 host=10.0.0.1:80`.
fn flow(words: &[String]) -> Read<What> {
    let expected = "flow NUMBER peer=ADDRESS:PORT host=ADDRESS:PORT, port 0 where the host chooses it";
    let wrong = || Mistake::new(words.join(" "), expected);
    let end = |name: &str| -> Read<SocketAddr> {
        let word = words.iter().find_map(|w| w.strip_prefix(name)).ok_or_else(wrong)?;
        word.parse().map_err(|_| wrong())
    };
    let number = words.first().and_then(|w| w.parse().ok()).ok_or_else(wrong)?;
    Ok(What::Flow(number, end("peer=")?, end("host=")?))
}

const STATES: [&str; 10] = [
    "SYN-SENT",
    "SYN-RECEIVED",
    "ESTABLISHED",
    "FIN-WAIT-1",
    "FIN-WAIT-2",
    "CLOSE-WAIT",
    "CLOSING",
    "LAST-ACK",
    "TIME-WAIT",
    "CLOSED",
];
const REASONS: [&str; 4] = ["refused", "reset", "timed-out", "fast-close"];

fn sight(words: &[String]) -> Read<Sight> {
    let expected = "state STATE [FLOW], readable BYTES, end, aborted [REASON], open, soft-error, unresponsive, mptcp, tcp, established, unestablished, flushed";
    let wrong = || Mistake::new(words.join(" "), expected);
    let second = words.get(1).map(String::as_str);
    Ok(match words.first().map(String::as_str) {
        Some("state") => {
            let state = second.ok_or_else(wrong)?;
            if !STATES.contains(&state) {
                return Err(Mistake::new(state, STATES.join(", ")));
            }
            Sight::State(flow_number(words.get(2).map_or("", String::as_str))?, state.to_owned())
        }
        Some("readable") => Sight::Readable(second.and_then(|n| n.parse().ok()).ok_or_else(wrong)?),
        Some("end") => Sight::End,
        Some("aborted") => {
            if let Some(reason) = second.filter(|reason| !REASONS.contains(reason)) {
                return Err(Mistake::new(reason, REASONS.join(", ")));
            }
            Sight::Aborted(second.map(str::to_owned))
        }
        Some("open") => Sight::Open,
        Some("soft-error") => Sight::SoftError,
        Some("unresponsive") => Sight::Unresponsive,
        Some("mptcp") => Sight::Mptcp,
        Some("tcp") => Sight::Tcp,
        Some("established") => Sight::Established,
        Some("unestablished") => Sight::Unestablished,
        Some("flushed") => Sight::Flushed,
        _ => return Err(wrong()),
    })
}

fn set(settings: &mut Settings, word: &str) -> Read<()> {
    let (name, value) = word.split_once('=').unwrap_or((word, ""));
    let wrong = |expected: &str| Mistake::new(word, expected);
    let switch = || match value {
        "on" => Ok(true),
        "off" => Ok(false),
        _ => Err(wrong("on or off")),
    };
    let number = |most: u64| match value.parse::<u64>() {
        Ok(n) if n <= most => Ok(n),
        _ => Err(wrong(&format!("a number up to {most}"))),
    };
    match name {
        "protocol" => match value {
            "tcp" => settings.mptcp = false,
            "mptcp" => settings.mptcp = true,
            _ => return Err(wrong("protocol=tcp or protocol=mptcp")),
        },
        "checksum" => settings.checksum = switch()?,
        "sack" => settings.sack = switch()?,
        "timestamps" => settings.timestamps = switch()?,
        "nagle" => settings.nagle = switch()?,
        "ecn" => settings.ecn = switch()?,
        "joins" => settings.joins = switch()?,
        "join_first_address" => settings.join_first_address = switch()?,
        "buffer" => settings.buffer = Some(number(1 << 32)?),
        "mss" => settings.mss = number(65_535)? as u16,
        "iss" => settings.iss = number(0xffff_ffff)? as u32,
        "syn_retries" => settings.syn_retries = number(100)? as u32,
        "ttl" => settings.ttl = number(255)? as u8,
        "dscp" => settings.dscp = number(63)? as u8,
        "retries" => settings.retries = number(100)? as u32,
        "address" => {
            let (id, address) = value.split_once(':').ok_or_else(|| wrong("address=ID:ADDRESS"))?;
            let address: IpAddr = address.parse().map_err(|_| wrong("address=ID:ADDRESS"))?;
            settings.addresses.push((id.parse().map_err(|_| wrong("address=ID:ADDRESS"))?, address));
        }
        _ => {
            return Err(wrong(
                "protocol, checksum, sack, timestamps, nagle, ecn, joins, join_first_address, buffer, mss, iss, syn_retries, retries, ttl, dscp or address",
            ));
        }
    }
    Ok(())
}
