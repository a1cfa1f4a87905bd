//! A command line as a shell reads it.

/// Whether a shell takes it for one word as it is.
fn is_plain(word: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_./:,=@%+".contains(&byte);
    !word.is_empty() && word.bytes().all(is_plain)
}

/// Joins words, with quotes where a shell needs them.
pub fn shell_line(words: impl IntoIterator<Item = String>) -> String {
    let quoted = words.into_iter().map(|word| {
        if is_plain(&word) {
            word
        } else {
            format!("'{}'", word.replace('\'', "'\\''"))
        }
    });
    quoted.collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words() {
        for (word, want) in [
            ("--id=a_1", "--id=a_1"),
            ("", "''"),
            ("a b", "'a b'"),
            ("it's", r"'it'\''s'"),
            ("$HOME", "'$HOME'"),
            ("~", "'~'"),
        ] {
            let line = shell_line(["x".to_owned(), word.to_owned()]);
            assert_eq!(line, format!("x {want}"));
        }
    }
}
