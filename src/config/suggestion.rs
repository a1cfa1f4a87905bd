//! Suggestions for a name that does not exist.

use super::some_of::some_of;

/// The maximum number of names that a message lists.
const HANDFUL: usize = 5;

/// The end of a message about a name that is not among `known`: the one that may have been meant, else a handful of them.
/// Starts with a semicolon; empty where none is known.
pub fn suggestion<'a>(wanted: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    let known: Vec<&str> = known.into_iter().collect();
    if let Some(near) = nearest(wanted, &known) {
        return format!("; did you mean \"{near}\"?");
    }
    match known.as_slice() {
        [] => String::new(),
        [only] => format!("; there is {only}"),
        known => format!("; there are {}", some_of(known, HANDFUL)),
    }
}

/// The name that is a slip of the pen away: as many characters as a third of it may differ.
fn nearest<'a>(wanted: &str, known: &[&'a str]) -> Option<&'a str> {
    let most = wanted.len().min(64).div_euclid(3).min(3);
    let distances = known.iter().map(|name| (distance(wanted, name), *name));
    let near = distances.filter(|(distance, _)| *distance <= most);
    near.min().map(|(_, name)| name)
}

/// Counts the characters to replace, delete or insert (Levenshtein distance). Case does not count.
fn distance(a: &str, b: &str) -> usize {
    // Names have 64 bytes at most; what is longer is none.
    if a.len() > 64 || b.len() > 64 {
        return usize::MAX;
    }
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (position, x) in a.bytes().enumerate() {
        let mut diagonal = position;
        let mut left = position.saturating_add(1);
        let mut cells = row.iter_mut();
        if let Some(first) = cells.next() {
            *first = left;
        }
        for (cell, y) in cells.zip(b.bytes()) {
            let above = *cell;
            let other = usize::from(!x.eq_ignore_ascii_case(&y));
            left = diagonal
                .saturating_add(other)
                .min(above.saturating_add(1))
                .min(left.saturating_add(1));
            diagonal = above;
            *cell = left;
        }
    }
    row.last().copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_may_have_been_meant() {
        let few = ["mixed", "openai", "anthropic"];
        let many = ["a", "b", "c", "d", "e", "f", "g"];
        // (what is wanted, what there is, what is told)
        let cases: [(&str, &[&str], &str); 10] = [
            ("mixd", &few, "; did you mean \"mixed\"?"),
            ("Mixed", &few, "; did you mean \"mixed\"?"),
            ("antropic", &few, "; did you mean \"anthropic\"?"),
            ("opanei", &few, "; did you mean \"openai\"?"),
            ("gemini", &few, "; there are mixed, openai, anthropic"),
            ("x", &few, "; there are mixed, openai, anthropic"),
            ("", &["mixed"], "; there is mixed"),
            ("xyz", &many, "; there are a, b, c, d, e and 2 more"),
            ("mixed", &[], ""),
            (
                &"m".repeat(100),
                &few,
                "; there are mixed, openai, anthropic",
            ),
        ];
        for (wanted, known, want) in cases {
            assert_eq!(suggestion(wanted, known.iter().copied()), want, "{wanted}");
        }
    }
}
