//! A key in a page of the feed.

/// A key in a page of the feed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FeedKey<'a> {
    /// The digest, 64 hexadecimal digits.
    pub sha256: &'a str,
    /// The key's id.
    pub id: &'a str,
    /// The id of its group.
    pub group: &'a str,
    /// The id of the owner.
    pub owner: Option<&'a str>,
    /// The team that it belongs to.
    pub team: Option<&'a str>,
    /// The id of the key in whose counters its limits count.
    pub counts_as: Option<&'a str>,
    /// The models of its group that it may use: a JSON list.
    pub models: Option<&'a str>,
    /// The final multiplier of its requests.
    pub multiplier: Option<&'a str>,
    /// The time at which the key expires, as RFC 3339.
    pub expires_at: Option<&'a str>,
    /// Whether it is disabled.
    pub disabled: bool,
    /// The limits of the key: a JSON object.
    pub limits: Option<&'a str>,
}
