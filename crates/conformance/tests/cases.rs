//! Every case of the folder `conformance` is played to our transport, and files that say nothing are refused in plain words.

use std::path::Path;

use conformance::{Who, parse, report};

fn folder() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../conformance")
}

#[test]
fn the_transport_does_what_the_cases_say_or_departs_as_is_known() {
    let cases = report::read(&folder(), "").unwrap_or_else(|problems| panic!("{}", problems.join("\n")));
    assert!(cases.len() >= 300, "{} cases", cases.len());
    let rows = report::play(&cases, &[Who::Transport], 2, &|_| {});
    let wrong: Vec<String> = rows
        .iter()
        .filter_map(|row| row.transport.as_ref().map(|verdict| (row, verdict)))
        .filter(|(_, verdict)| matches!(verdict.word, "failed" | "mended" | "cannot"))
        .map(|(row, verdict)| format!("{} {}.case:{} {}", verdict.word, row.case, verdict.line, verdict.detail))
        .collect();
    assert_eq!(wrong, Vec::<String>::new());
}

const HEAD: &str = "requires: RFC 9293 §3.10.7.2 MUST (MUST-5)\nsays: a test.\n";

fn verdict(body: &str) -> report::Verdict {
    let case = parse("t", "t.case", &format!("{HEAD}{body}")).unwrap_or_else(|error| panic!("{error}"));
    report::judge(&case, Who::Transport)
}

/// Each of these expects what does not happen.
#[test]
fn what_does_not_happen_fails() {
    for (body, part) in [
        ("listen\n< syn seq=0\n> synack seq=0 ack=2\n", "ack is 1"),
        ("listen\n< syn seq=0\n> ack\n", "it is syn+ack"),
        ("listen\n< syn seq=0\n0.5 silence\n", "nothing was to be sent"),
        ("listen\n< syn seq=0\n> synack win=1..2\n", "win is"),
        ("listen\n< syn seq=0 ts=5\n> synack no:ts\n", "it has ts"),
        ("listen\n< rst seq=0\n> rst\n", "nothing was sent until"),
        ("listen\n< syn seq=0\n> synack\nexpect established\n", "not established"),
        ("listen\n< syn seq=0\n> synack\n2.0 < ack seq=1 ack=1\n", "nothing was to be sent"),
        ("listen\n< syn seq=0\n5.0 > synack\n", "too early"),
        ("listen\n<1 syn seq=0\n> synack\n", "there is no flow 1"),
        ("set protocol=mptcp\nlisten\n< syn seq=0 capable[v=1 flags=H]\n> synack capable[key=peer]\n", "key is"),
    ] {
        let verdict = verdict(body);
        assert_eq!(verdict.word, "failed", "{body}");
        assert!(verdict.detail.contains(part), "{}", verdict.detail);
    }
}

#[test]
fn a_departure_is_said_and_one_that_is_mended_too() {
    let departs = verdict("departs transport: so it is\nlisten\n< syn seq=0\n> ack\n");
    assert_eq!((departs.word, departs.detail.as_str()), ("departs", "so it is"));
    assert_eq!(verdict("departs transport: so it was\nlisten\n< syn seq=0\n> synack\n").word, "mended");
    assert_eq!(verdict("cannot transport: no\nlisten\n< syn seq=0\n> ack\n").word, "cannot");
}

#[test]
fn a_line_that_says_nothing_is_refused_with_its_place() {
    for (body, line, found) in [
        ("lisen\n", 3, "“lisen”"),
        ("listen\n< sin seq=0\n", 4, "“sin”"),
        ("listen\n< syn seq=zero\n", 4, "“zero”"),
        ("listen\n< syn speed=1\n", 4, "“speed=1”"),
        ("listen\n< syn dss[ack=1 dns=1]\n", 4, "“dns=1”"),
        ("listen\n< syn dss[ack=1\n", 4, "“< syn dss[ack=1”"),
        ("silence\n", 3, "“silence”"),
        ("expect state HAPPY\n", 3, "“HAPPY”"),
        ("set colour=red\n", 3, "“colour=red”"),
        ("1.x listen\n", 3, "“1.x”"),
        ("listen\n", 1, "no such line"),
    ] {
        let error = parse("t", "t.case", &format!("{HEAD}{body}")).expect_err(body);
        assert_eq!((error.line, error.found.as_str()), (line, found), "{body}");
        assert!(error.to_string().starts_with(&format!("t.case:{line}: found ")), "{error}");
    }
}
