//! The user code: short enough to be typed, and no word (RFC 8628, 6.1).

use crate::secret::random_letters;

/// Consonants that are told apart, so that no code is a word.
const LETTERS: &[u8; 20] = b"BCDFGHJKLMNPQRSTVWXZ";
/// The letters of a code: with twenty of them there are 2.5 * 10^10 codes.
const LENGTH: usize = 8;

/// Draws a code.
///
/// # Errors
/// The system gives no randomness.
pub fn draw() -> Result<String, String> {
    random_letters(LETTERS, LENGTH)
}

/// Writes a code as people read it: `BCDF-GHJK`.
pub fn shown(code: &str) -> String {
    match code.split_at_checked(LENGTH / 2) {
        Some((first, second)) => format!("{first}-{second}"),
        None => code.to_owned(),
    }
}

/// Reads a code as somebody has typed it: in any case, with blanks or dashes.
pub fn parse(typed: &str) -> Option<String> {
    let letters = typed
        .bytes()
        .filter(|byte| !matches!(byte, b'-' | b' '))
        .map(|byte| byte.to_ascii_uppercase());
    let code: Vec<u8> = letters.take(LENGTH.saturating_add(1)).collect();
    let is_code = code.len() == LENGTH && code.iter().all(|byte| LETTERS.contains(byte));
    String::from_utf8(code).ok().filter(|_| is_code)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_as_they_are_typed() {
        for (typed, want) in [
            ("BCDF-GHJK", Some("BCDFGHJK")),
            ("bcdf ghjk", Some("BCDFGHJK")),
            (" bcdfghjk ", Some("BCDFGHJK")),
            ("BCDF-GHJ", None),
            ("BCDF-GHJKL", None),
            ("ABCD-EFGH", None),
            ("", None),
        ] {
            assert_eq!(parse(typed).as_deref(), want, "{typed:?}");
        }
    }

    #[test]
    fn codes_are_drawn_and_read_again() {
        for _ in 0..200 {
            let code = draw().unwrap();
            assert_eq!(parse(&shown(&code)), Some(code));
        }
    }
}
