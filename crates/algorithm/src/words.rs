//! Lists of names and similar names, for messages.

/// Joins names: `a`, `a or b`, `a, b or c`.
pub(crate) fn one_of<S: AsRef<str>>(names: &[S]) -> String {
    let names: Vec<&str> = names.iter().map(AsRef::as_ref).collect();
    match names.split_last() {
        Some((last, others)) if !others.is_empty() => format!("{} or {last}", others.join(", ")),
        _ => names.concat(),
    }
}

/// A suggestion with the most similar name, if one is similar enough.
pub(crate) fn did_you_mean<'a>(name: &str, names: impl Iterator<Item = &'a str>) -> String {
    let near = names.map(|candidate| (edits(name, candidate), candidate)).min();
    // Up to a third of the letters may differ.
    match near {
        Some((edits, candidate)) if 3 * edits <= candidate.len().max(3) => format!("; did you mean \"{candidate}\"?"),
        _ => String::new(),
    }
}

/// Edit distance: the number of letters to insert, delete or change.
fn edits(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], i + 1);
        for (j, &y) in b.iter().enumerate() {
            let changed = diagonal + usize::from(x != y);
            diagonal = row[j + 1];
            row[j + 1] = changed.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}
