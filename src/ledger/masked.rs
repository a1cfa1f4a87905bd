//! Texts of others that are written down: cut, and without what may be a secret.

use smol_str::SmolStr;

/// The most of a text that is kept, in bytes.
const MAX: usize = 256;
/// The text in the place of what may be a secret.
const MASK: &str = "[masked]";
/// The beginnings of vendors' credentials.
const PREFIXES: [&str; 9] = [
    "sk-", "sk_", "pk-", "key-", "gsk_", "xai-", "AIza", "AQ.", "eyJ",
];
/// The longest part of a word that is a name, in bytes. Parts of names are lower case, or digits: `claude-opus-4-5-20251101`.
const LONGEST_PART: usize = 10;
/// The shortest word that may be a secret, in bytes.
const SHORTEST: usize = 12;

/// Masks a text: words that may be credentials, ids or addresses of people, and control characters.
pub fn masked(text: &str) -> SmolStr {
    let mut kept = String::new();
    let mut rest = text;
    while !rest.is_empty() && kept.len() <= MAX {
        let length = rest.find(|it: char| !is_of_word(it)).unwrap_or(rest.len());
        let (word, behind) = rest.split_at_checked(length).unwrap_or((rest, ""));
        kept.push_str(if is_secret(word) { MASK } else { word });
        let mut characters = behind.chars();
        if let Some(between) = characters.next() {
            kept.push(if between.is_control() { ' ' } else { between });
        }
        rest = characters.as_str();
    }
    while kept.len() > MAX {
        kept.pop();
    }
    kept.into()
}

/// Whether a character may stand in a credential, an id or an address.
fn is_of_word(character: char) -> bool {
    character.is_ascii_alphanumeric() || "-_.+/=@*~".contains(character)
}

fn is_secret(word: &str) -> bool {
    let bare = word.trim_matches('*');
    if word.contains('@') || PREFIXES.iter().any(|prefix| bare.starts_with(prefix)) {
        return true;
    }
    let has_digit = word.bytes().any(|byte| byte.is_ascii_digit());
    let is_part = |part: &str| {
        part.len() <= LONGEST_PART && !part.bytes().any(|byte| byte.is_ascii_uppercase())
    };
    let is_name = || word.split(['-', '_', '.', '/']).all(is_part);
    word.contains("**") || (word.len() >= SHORTEST && has_digit && !is_name())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_masked_and_words_are_not() {
        for (case, text, want) in [
            (
                "words",
                "Your credit balance is too low.",
                "Your credit balance is too low.",
            ),
            (
                "a model",
                "The model `claude-opus-4-5-20251101` does not exist",
                "The model `claude-opus-4-5-20251101` does not exist",
            ),
            (
                "a long word",
                "internationalization_of_everything",
                "internationalization_of_everything",
            ),
            (
                "a number",
                "at most 128000 tokens, not 1048576",
                "at most 128000 tokens, not 1048576",
            ),
            (
                "a key",
                "Incorrect API key provided: sk-proj-abcdefghijkl.",
                "Incorrect API key provided: [masked]",
            ),
            (
                "a key that the vendor has cut",
                "key sk-pr***********wxyz!",
                "key [masked]!",
            ),
            ("stars", "key abcd****wxyz", "key [masked]"),
            (
                "a key of Google's",
                "(AIzaSyA-1234567890abcdefghijklmnopqrstu)",
                "([masked])",
            ),
            (
                "a token",
                "Bearer eyJhbGciOiJIUzI1NiJ9.e30.abc",
                "Bearer [masked]",
            ),
            (
                "an organization",
                "organization org-AbCdEfGhIjKlMnOp1234567",
                "organization [masked]",
            ),
            (
                "a uuid",
                "id 123e4567-e89b-12d3-a456-426614174000",
                "id [masked]",
            ),
            ("an address", "ask ann@example.com", "ask [masked]"),
            ("lines", "a\nb\u{1b}[31m\tc", "a b [31m c"),
            ("another script", "余额不足 sk-12345", "余额不足 [masked]"),
            ("nothing", "", ""),
        ] {
            assert_eq!(masked(text), want, "{case}");
        }
    }

    #[test]
    fn texts_are_bounded_at_a_character() {
        for text in [
            "x ".repeat(300),
            "é".repeat(300),
            format!("{}sk-{}", "a ".repeat(125), "b".repeat(99)),
        ] {
            let masked = masked(&text);
            assert!((MAX - 8..=MAX).contains(&masked.len()), "{masked}");
            assert!(!masked.contains("sk-"), "{masked}");
        }
    }
}
