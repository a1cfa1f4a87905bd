//! The valid forms of a credential and of its name.

/// The longest credential, in bytes: longer than any vendor's, shorter than Envoy's limit for request headers.
pub const LONGEST: usize = 8192;
/// The longest name: a file has it.
const LONGEST_NAME: usize = 128;

/// The reason that Envoy cannot send a credential.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ValueFault {
    /// The value is empty: no request goes to the account.
    Empty,
    /// Envoy would send it, or a part of it. A blank credential leaves the request without one, and other characters break
    /// the request.
    Invalid(&'static str),
}

/// The credential without the ends of line that Envoy strips.
///
/// # Errors
/// It is not one line of visible ASCII.
pub fn check_value(value: &[u8]) -> Result<&[u8], ValueFault> {
    if value.len() > LONGEST {
        return Err(ValueFault::Invalid(text!("is longer than 8192 bytes")));
    }
    let is_end = |byte: &u8| matches!(byte, b'\r' | b'\n');
    let ends = value.iter().rev().take_while(|byte| is_end(byte)).count();
    let value = value
        .get(..value.len().saturating_sub(ends))
        .unwrap_or_default();
    if value.is_empty() {
        Err(ValueFault::Empty)
    } else if value.iter().any(is_end) {
        Err(ValueFault::Invalid(text!("has more than one line")))
    } else if !value.iter().all(u8::is_ascii_graphic) {
        let what = "has blanks, or other characters than visible ASCII";
        Err(ValueFault::Invalid(what))
    } else {
        Ok(value)
    }
}

/// Whether a credential may have this name: a plain file name, so it leads out of no directory.
pub fn is_name(name: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    !name.is_empty()
        && name.len() <= LONGEST_NAME
        && !name.starts_with('.')
        && name.bytes().all(plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names() {
        let long = "x".repeat(129);
        for (name, want) in [
            ("anthropic", true),
            ("open-ai_2.key", true),
            ("", false),
            (".", false),
            ("..", false),
            (".hidden", false),
            ("a/b", false),
            ("../a", false),
            ("a\0", false),
            ("a b", false),
            ("é", false),
            (&long, false),
        ] {
            assert_eq!(is_name(name), want, "{name:?}");
        }
    }
}
