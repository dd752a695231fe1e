//! The cases of a folder: `cargo run -p conformance --example conform -- conformance [FILTER] [transport|linux|both]`.

use std::path::Path;
use std::process::ExitCode;

use conformance::{Who, report};

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let word = |index: usize| words.get(index).map_or("", String::as_str);
    let against = match word(2) {
        "linux" => vec![Who::Linux],
        "both" => vec![Who::Transport, Who::Linux],
        _ => vec![Who::Transport],
    };
    let cases = match report::read(Path::new(word(0)), word(1)) {
        Ok(cases) => cases,
        Err(problems) => {
            eprintln!("{}", problems.join("\n"));
            return ExitCode::from(2);
        }
    };
    let mut bad = 0;
    for row in report::play(&cases, &against, 16, &|_| {}) {
        for (who, verdict) in [("transport", row.transport), ("linux", row.linux)] {
            let Some(verdict) = verdict else { continue };
            if verdict.word != "met" {
                println!("{:9} {who:9} {}:{} {}", verdict.word, row.case, verdict.line, verdict.detail);
            }
            bad += usize::from(verdict.word == "failed" || verdict.word == "mended");
        }
    }
    println!("{} cases, {bad} not as expected", cases.len());
    ExitCode::from(u8::from(bad > 0))
}
