//! Cursors: the position of a reader in the feed.
//!
//! A full sync is a listing, then changes. The listing has every key that exists, in the order of digests, so that a gateway
//! finds those that it stores together in one page; its cursors are `<feed>.<digest>.<since>`, the last digest listed and the
//! head when the sync began. What has changed since follows, and all that comes later: `<feed>.<at>`, the version of
//! the last change. A removal up to `since` concerns a key that the reader never got, so it may be compacted while the reader is
//! still in the listing.

use core::fmt;

/// The length of a digest in hexadecimal digits.
const DIGEST: usize = 64;

/// The position of a reader.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FeedCursor {
    feed: String,
    range: PageRange,
}

/// The versions of a feed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FeedVersions {
    /// The name of this sequence of versions.
    pub feed: String,
    /// The greatest version ever assigned.
    pub head: u64,
    /// The greatest version of a removal that was compacted.
    pub compacted: u64,
}

/// The range of keys or changes that a page covers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PageRange {
    /// Keys that exist, in the order of their digests.
    Listing {
        /// Those after this digest; all of them after an empty one.
        after: String,
        /// The head when the sync began: changes above it follow the listing.
        since: u64,
    },
    /// Changes, in the order of their versions.
    Changes {
        /// Those above this version.
        after: u64,
    },
}

impl FeedCursor {
    /// Returns the version up to which a reader at this place has the feed; `None`: it does not have all keys yet.
    pub fn version(&self) -> Option<u64> {
        match self.range {
            PageRange::Changes { after } => Some(after),
            PageRange::Listing { .. } => None,
        }
    }
}

/// The last entry of a page, if more of its range follows.
#[derive(Debug, Clone, Copy)]
pub struct PageEnd<'a> {
    /// The version of the last change on the page.
    pub version: u64,
    /// The digest of the key that it is of.
    pub sha256: &'a str,
}

/// The reason that a cursor is invalid: the reader needs a full sync.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CursorError {
    /// It is malformed.
    Malformed,
    /// It is of another feed.
    OtherFeed,
    /// It is ahead of the feed: this is an older state.
    Ahead,
    /// Removals behind it were compacted.
    Compacted,
}

impl fmt::Display for CursorError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Malformed => "the cursor is not one of this service's",
            Self::OtherFeed => "the cursor is one of another feed: this one began anew since",
            Self::Ahead => {
                "the cursor is past the last version: this is an older state of the feed"
            }
            Self::Compacted => "the cursor is too old: removals since then are forgotten",
        })?;
        f.write_str("; read everything anew, without a cursor")
    }
}

impl FeedCursor {
    /// Reads the text that [`Display`](std::fmt::Display) writes.
    ///
    /// # Errors
    /// [`CursorError::Malformed`].
    pub fn parse(text: &str) -> Result<Self, CursorError> {
        let mut parts = text.split('.');
        let (Some(feed), Some(at), since, None) =
            (parts.next(), parts.next(), parts.next(), parts.next())
        else {
            return Err(CursorError::Malformed);
        };
        let since = since.map(version).transpose()?;
        let visible = feed.bytes().all(|byte| byte.is_ascii_graphic());
        if feed.is_empty() || !visible {
            return Err(CursorError::Malformed);
        }
        let range = match since {
            Some(since) if is_digest(at) => PageRange::Listing {
                after: at.to_owned(),
                since,
            },
            Some(_) => return Err(CursorError::Malformed),
            None => PageRange::Changes {
                after: version(at)?,
            },
        };
        Ok(Self {
            feed: feed.to_owned(),
            range,
        })
    }
}

/// Whether this is a digest in its only spelling. No version is as long.
fn is_digest(text: &str) -> bool {
    let is_digit = |byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    text.len() == DIGEST && text.bytes().all(is_digit)
}

/// A version in its only spelling. SQLite's integers end at `i64::MAX`.
fn version(text: &str) -> Result<u64, CursorError> {
    let number = text.parse::<u64>().map_err(|_| CursorError::Malformed)?;
    if number.to_string() != text || i64::try_from(number).is_err() {
        return Err(CursorError::Malformed);
    }
    Ok(number)
}

impl fmt::Display for FeedCursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let feed = &self.feed;
        match &self.range {
            PageRange::Listing { after, since } => write!(f, "{feed}.{after}.{since}"),
            PageRange::Changes { after } => write!(f, "{feed}.{after}"),
        }
    }
}

impl PageRange {
    /// Returns the range after a complete listing; for changes, the same range.
    pub fn after_listing(self) -> Self {
        match self {
            Self::Listing { since, .. } => Self::Changes { after: since },
            changes @ Self::Changes { .. } => changes,
        }
    }

    /// The version up to which removals need not be told.
    fn since(&self) -> u64 {
        match self {
            Self::Listing { since, .. } => *since,
            Self::Changes { after } => *after,
        }
    }
}

impl FeedVersions {
    /// Returns the range of the next page for a reader at this position.
    ///
    /// # Errors
    /// The reason that a full sync is needed.
    pub fn range(&self, cursor: Option<&FeedCursor>) -> Result<PageRange, CursorError> {
        let Some(cursor) = cursor else {
            return Ok(PageRange::Listing {
                after: String::new(),
                since: self.head,
            });
        };
        let since = cursor.range.since();
        match cursor {
            _ if cursor.feed != self.feed => Err(CursorError::OtherFeed),
            _ if since > self.head => Err(CursorError::Ahead),
            _ if since < self.compacted => Err(CursorError::Compacted),
            _ => Ok(cursor.range.clone()),
        }
    }

    /// The cursor after a page of `range`. `last` is what the page ends with, where more of the range follows.
    pub fn next(&self, range: PageRange, last: Option<PageEnd<'_>>) -> FeedCursor {
        let range = match (range, last) {
            (PageRange::Listing { since, .. }, Some(last)) => PageRange::Listing {
                after: last.sha256.to_owned(),
                since,
            },
            (range @ PageRange::Listing { .. }, None) => range.after_listing(),
            (PageRange::Changes { .. }, last) => PageRange::Changes {
                after: last.map_or(self.head, |last| last.version),
            },
        };
        let feed = self.feed.clone();
        FeedCursor { feed, range }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn standing() -> FeedVersions {
        FeedVersions {
            feed: "f".to_owned(),
            head: 100,
            compacted: 50,
        }
    }

    #[test]
    fn where_cursors_lead() {
        let range = |after| PageRange::Changes { after };
        let listing = |after: &str, since| PageRange::Listing {
            after: after.to_owned(),
            since,
        };
        let digest = "0a".repeat(32);
        let cursor = |since| format!("f.{digest}.{since}");
        let (in_listing, too_old, ahead) = (cursor(60), cursor(49), cursor(101));
        let cases = [
            ("f.100", Ok(range(100))),
            ("f.50", Ok(range(50))),
            ("f.49", Err(CursorError::Compacted)),
            (in_listing.as_str(), Ok(listing(&digest, 60))),
            (too_old.as_str(), Err(CursorError::Compacted)),
            (ahead.as_str(), Err(CursorError::Ahead)),
            ("f.101", Err(CursorError::Ahead)),
            ("g.100", Err(CursorError::OtherFeed)),
        ];
        for (text, want) in cases {
            let cursor = FeedCursor::parse(text).unwrap();
            assert_eq!(standing().range(Some(&cursor)), want, "{text}");
        }
        assert_eq!(standing().range(None), Ok(listing("", 100)));
    }

    #[test]
    fn cursors_of_others() {
        let long = format!("f.{}", u64::MAX);
        let [no_since, upper, short] = ["0a".repeat(32), "0A".repeat(32), "0a".repeat(31)];
        let of_digests = [
            format!("f.{no_since}"),
            format!("f.{upper}.1"),
            format!("f.{short}.1"),
            format!("f.1.{no_since}"),
        ];
        for text in [
            "", ".", "f", "f.", ".1", "f.x", "f.-1", "f.+1", "f.01", "f.1.", "f.1.1", "f.1.2",
            "f.2.1", "f.1.2.3", "f .1", "f\n.1", "ä.1", &long,
        ] {
            assert_eq!(
                FeedCursor::parse(text),
                Err(CursorError::Malformed),
                "{text:?}"
            );
        }
        for text in of_digests {
            assert_eq!(
                FeedCursor::parse(&text),
                Err(CursorError::Malformed),
                "{text:?}"
            );
        }
    }

    proptest! {
        #[test]
        fn every_cursor_given_is_taken(
            head in 1u64..1000,
            began in 0u64..1000,
            last in proptest::option::of((0u64..1000, "[0-9a-f]{64}")),
            lists in any::<bool>(),
        ) {
            let version = last.as_ref().map_or(0, |(version, _)| *version);
            let standing = FeedVersions { head: head.max(began).max(version), compacted: 0, ..standing() };
            let range = if lists {
                PageRange::Listing { after: String::new(), since: began }
            } else {
                PageRange::Changes { after: 0 }
            };
            let given = last.as_ref().map(|(version, sha256)| PageEnd { version: *version, sha256 });
            let cursor = standing.next(range, given);
            prop_assert_eq!(FeedCursor::parse(&cursor.to_string()), Ok(cursor.clone()));
            let next = standing.range(Some(&cursor)).unwrap();
            let want = match (&last, lists) {
                (Some((_, sha256)), true) => PageRange::Listing { after: sha256.clone(), since: began },
                (None, true) => PageRange::Changes { after: began },
                (Some((version, _)), false) => PageRange::Changes { after: *version },
                (None, false) => PageRange::Changes { after: standing.head },
            };
            prop_assert_eq!(next, want);
        }
    }
}
