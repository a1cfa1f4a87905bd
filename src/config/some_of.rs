//! Names in a message, not all of very many.

/// Lists the first names, at most `most`, and counts the others: `a, b and 3 more`.
pub fn some_of(names: &[impl AsRef<str>], most: usize) -> String {
    let (named, others) = names.split_at_checked(most).unwrap_or((names, &[]));
    let named: Vec<&str> = named.iter().map(AsRef::as_ref).collect();
    match others.len() {
        0 => named.join(", "),
        others => format!("{} and {others} more", named.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_more_than_so_many_are_named() {
        for (names, want) in [
            (&[][..], ""),
            (&["a"], "a"),
            (&["a", "b"], "a, b"),
            (&["a", "b", "c"], "a, b and 1 more"),
            (&["a", "b", "c", "d"], "a, b and 2 more"),
        ] {
            assert_eq!(some_of(names, 2), want, "{names:?}");
        }
    }
}
