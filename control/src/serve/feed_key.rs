//! A key as a page of the feed gives it.

/// A key as a page gives it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FeedKey<'a> {
    /// The digest, 64 hexadecimal digits.
    pub sha256: &'a str,
    /// The key's id.
    pub id: &'a str,
    /// The id of its group.
    pub group: &'a str,
    /// Whose it is.
    pub owner: Option<&'a str>,
    /// When it ends: RFC 3339.
    pub expires_at: Option<&'a str>,
    /// Whether it is switched off.
    pub disabled: bool,
    /// What it may use: a JSON object.
    pub limits: Option<&'a str>,
}
