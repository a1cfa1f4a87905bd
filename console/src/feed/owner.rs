//! The owner of a key.

/// Whether a gateway accepts this as an owner.
pub fn is_owner(text: &str) -> bool {
    (1..=128).contains(&text.len()) && !text.chars().any(char::is_control)
}
