//! The labels of requests: names for the ledger, and the headers that have their values.

use smol_str::SmolStr;

/// A label.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Label {
    /// The name in the ledger.
    pub name: SmolStr,
    /// The name of the header, in lower case.
    pub header: SmolStr,
}

impl Label {
    /// The longest name of a label, in bytes.
    pub const LONGEST_NAME: usize = 32;

    /// Whether a text can be the name of a label.
    pub fn is_name(text: &str) -> bool {
        let is_plain = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b"-_".contains(&b);
        let first = text.bytes().next();
        text.len() <= Self::LONGEST_NAME
            && first.is_some_and(|b| b.is_ascii_lowercase())
            && text.bytes().all(is_plain)
    }
}
