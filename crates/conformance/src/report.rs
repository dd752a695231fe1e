//! Many cases: read from a folder, played, and counted.

use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde::Serialize;

use crate::case::{Case, Who};
#[cfg(target_os = "linux")]
use crate::kernel::Kernel;
use crate::run::{Outcome, run};
use crate::virtual_host::VirtualHost;

/// How a case went with one of those it was played to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Verdict {
    /// `met`, `failed`, `departs` (as is known), `mended` (known to depart, and does not), `cannot`.
    pub word: &'static str,
    /// What happened, or why.
    pub detail: String,
    /// The line of the file.
    pub line: usize,
}

/// A case with its verdicts; none if it was not played.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    /// The case.
    pub case: String,
    /// Its requirement.
    pub requirement: String,
    /// In a sentence.
    pub says: String,
    /// Ours.
    pub transport: Option<Verdict>,
    /// The kernel's.
    pub linux: Option<Verdict>,
}

/// Reads every case below a folder whose name or requirement contains `filter`.
///
/// # Errors
/// The mistakes in a file, one line each.
pub fn read(folder: &Path, filter: &str) -> Result<Vec<Case>, Vec<String>> {
    let mut files = Vec::new();
    walk(folder, &mut files).map_err(|error| vec![format!("{}: {error}", folder.display())])?;
    files.sort();
    let (mut cases, mut problems) = (Vec::new(), Vec::new());
    for file in files {
        let name = file.strip_prefix(folder).unwrap_or(&file).with_extension("").display().to_string();
        let text = match std::fs::read_to_string(&file) {
            Ok(text) => text,
            Err(error) => {
                problems.push(format!("{}: {error}", file.display()));
                continue;
            }
        };
        match crate::parse(&name, &file.display().to_string(), &text) {
            Ok(case) if case.name.contains(filter) || case.requirement.contains(filter) => cases.push(case),
            Ok(_) => {}
            Err(error) => problems.push(error.to_string()),
        }
    }
    if problems.is_empty() { Ok(cases) } else { Err(problems) }
}

fn walk(folder: &Path, files: &mut Vec<PathBuf>) -> std::io::Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            walk(&path, files)?;
        } else if path.extension().is_some_and(|extension| extension == "case") {
            files.push(path);
        }
    }
    Ok(())
}

/// Plays a case against one of the two, on its own thread, and compares the verdict with the known one.
#[must_use]
pub fn judge(case: &Case, who: Who) -> Verdict {
    let reason = |list: &[(Who, String)]| list.iter().find(|(w, _)| *w == who).map(|(_, why)| why.clone());
    if let Some(why) = reason(&case.cannot) {
        return Verdict { word: "cannot", detail: why, line: 0 };
    }
    let played = || match who {
        Who::Transport => run(case, &mut VirtualHost::new(&case.settings)),
        #[cfg(not(target_os = "linux"))]
        Who::Linux => Outcome::Impossible("this is not Linux".to_owned()),
        #[cfg(target_os = "linux")]
        Who::Linux => match Kernel::enter(&case.settings) {
            Ok(mut kernel) => run(case, &mut kernel),
            Err(cannot) => Outcome::Impossible(cannot.0),
        },
    };
    // A case that brings the host to panic fails; the others go on.
    let outcome = std::thread::scope(|scope| scope.spawn(played).join())
        .unwrap_or_else(|_| Outcome::Failed { line: 0, problem: "the host panicked".to_owned() });
    let known = reason(&case.departs);
    match (outcome, known) {
        (Outcome::Met, None) => Verdict { word: "met", detail: String::new(), line: 0 },
        (Outcome::Met, Some(why)) => Verdict { word: "mended", detail: format!("known to depart: {why}"), line: 0 },
        (Outcome::Failed { line, .. }, Some(why)) if line > 0 => Verdict { word: "departs", detail: why, line },
        (Outcome::Failed { line, problem }, _) => Verdict { word: "failed", detail: problem, line },
        (Outcome::Impossible(why), _) => Verdict { word: "cannot", detail: why, line: 0 },
    }
}

/// Plays all cases; `threads` at a time. `progress` hears how many are done.
pub fn play(cases: &[Case], against: &[Who], threads: usize, progress: &(dyn Fn(usize) + Sync)) -> Vec<Row> {
    let (next, done) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let rows: Mutex<Vec<Option<Row>>> = Mutex::new(vec![None; cases.len()]);
    std::thread::scope(|scope| {
        for _ in 0..threads.clamp(1, cases.len().max(1)) {
            scope.spawn(|| {
                while let Some(case) = cases.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let of = |who: Who| against.contains(&who).then(|| judge(case, who));
                    let row = Row {
                        case: case.name.clone(),
                        requirement: case.requirement.clone(),
                        says: case.says.clone(),
                        transport: of(Who::Transport),
                        linux: of(Who::Linux),
                    };
                    let index = cases.iter().position(|c| c.name == case.name).unwrap_or(0);
                    if let Ok(mut rows) = rows.lock() {
                        rows[index] = Some(row);
                    }
                    progress(done.fetch_add(1, Ordering::Relaxed) + 1);
                }
            });
        }
    });
    rows.into_inner().map(|rows| rows.into_iter().flatten().collect()).unwrap_or_default()
}
