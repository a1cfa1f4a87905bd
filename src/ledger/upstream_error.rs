//! The error of a vendor, in its own words.

use serde::{Deserialize, Serialize};
use smol_str::SmolStr;

use super::masked::masked;

/// The most of a member that is kept, in bytes.
const MAX: usize = 64;

/// A vendor's error: the members that name it, and its message, masked. Vendors repeat in a message what clients write, so it is
/// told only where the operator says so.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct UpstreamError {
    /// The type.
    #[serde(rename = "type", default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<SmolStr>,
    /// The code.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<SmolStr>,
    /// The part of the request that is at fault.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub param: Option<SmolStr>,
    /// The message, masked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<SmolStr>,
}

/// A fault of an account, as its vendor's error tells it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AccountFault {
    /// Its credit, or the spending limit that its owner set, is used up.
    NoCredit,
    /// Its credential is unknown, expired or revoked.
    DeadKey,
    /// The vendor does not serve the place that the request came from.
    Region,
    /// The vendor has closed the account.
    Suspended,
    /// It does not have the model. That says nothing of its other models.
    NoModel,
}

impl AccountFault {
    /// The name in the ledger.
    pub fn name(self) -> &'static str {
        match self {
            Self::NoCredit => "no_credit",
            Self::DeadKey => "dead_key",
            Self::Region => "region",
            Self::Suspended => "suspended",
            Self::NoModel => "no_model",
        }
    }
}

impl UpstreamError {
    /// The error with these members, each as far as it is printable ASCII and fits.
    pub fn new(kind: Option<&str>, code: Option<&str>, param: Option<&str>) -> Self {
        Self {
            kind: kind.and_then(kept),
            code: code.and_then(kept),
            param: param.and_then(kept),
            message: None,
        }
    }

    /// The same with its message, of which secrets are masked.
    #[must_use]
    pub fn with_message(self, message: &str) -> Self {
        let message = (!message.is_empty()).then(|| masked(message));
        Self { message, ..self }
    }

    /// The same as it may be told; `with_message`: the operator says that messages are.
    #[must_use]
    pub fn told(self, with_message: bool) -> Option<Self> {
        let message = self.message.clone().filter(|_| with_message);
        let told = Self { message, ..self };
        (told != Self::default()).then_some(told)
    }

    /// Whether nothing names it.
    pub fn is_empty(&self) -> bool {
        self.kind.is_none() && self.code.is_none() && self.param.is_none()
    }
}

/// A member as it is kept: cut, and none where it is empty or has what is not printed.
fn kept(text: &str) -> Option<SmolStr> {
    let printed = |byte: u8| byte == b' ' || byte.is_ascii_graphic();
    let is_kept = !text.is_empty() && text.bytes().all(printed);
    let cut = text.get(..text.len().min(MAX));
    cut.filter(|_| is_kept).map(SmolStr::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_are_printed_and_bounded() {
        let long = "x".repeat(MAX + 1);
        for (case, text, want) in [
            ("a code", "insufficient_quota", Some("insufficient_quota")),
            ("words", "Some entity", Some("Some entity")),
            ("quotes", "a\"b\\", Some("a\"b\\")),
            ("as long as may be", &long[1..], Some(&long[1..])),
            ("longer", &long, Some(&long[1..])),
            ("nothing", "", None),
            ("a line feed", "a\nb", None),
            ("no ASCII", "quota é", None),
            ("an escape", "\u{1b}[31m", None),
        ] {
            let error = UpstreamError::new(Some(text), None, Some(text));
            assert_eq!(error.kind.as_deref(), want, "{case}");
            assert_eq!(
                (error.code.as_deref(), error.param.as_deref()),
                (None, want),
                "{case}"
            );
            assert_eq!(error.is_empty(), want.is_none(), "{case}");
        }
    }
}
