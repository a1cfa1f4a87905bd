//! Cursors: the position of a reader in the feed.
//!
//! A cursor is `<feed>.<at>`, or within a full sync `<feed>.<at>.<since>`: the reader got every change up to version `at`,
//! but of removals only those above `since`, the head when the full sync began. An earlier removal concerns a key that the
//! reader never got, so it may be compacted while the reader is still below it.

use core::fmt;

/// The position of a reader.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FeedCursor {
    feed: String,
    at: u64,
    since: Option<u64>,
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

/// The versions that a page covers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PageRange {
    /// Changes above this version …
    pub after: u64,
    /// … but removals only above this one.
    pub removals_after: u64,
}

/// Why a cursor is invalid: the reader needs a full sync.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Gone {
    /// It is malformed.
    Malformed,
    /// It is of another feed.
    OtherFeed,
    /// It is ahead of the feed: this is an older state.
    Ahead,
    /// Removals behind it were compacted.
    Compacted,
}

impl fmt::Display for Gone {
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
    /// Reads what [`FeedCursor::fmt`] has written.
    ///
    /// # Errors
    /// [`Gone::Malformed`].
    pub fn parse(text: &str) -> Result<Self, Gone> {
        let mut parts = text.split('.');
        let (Some(feed), Some(at), since, None) =
            (parts.next(), parts.next(), parts.next(), parts.next())
        else {
            return Err(Gone::Malformed);
        };
        let since = since.map(version).transpose()?;
        let at = version(at)?;
        let visible = feed.bytes().all(|byte| byte.is_ascii_graphic());
        if feed.is_empty() || !visible || since.is_some_and(|since| since <= at) {
            return Err(Gone::Malformed);
        }
        Ok(Self {
            feed: feed.to_owned(),
            at,
            since,
        })
    }
}

/// A version in its only spelling. SQLite's integers end at `i64::MAX`.
fn version(text: &str) -> Result<u64, Gone> {
    let number = text.parse::<u64>().map_err(|_| Gone::Malformed)?;
    if number.to_string() != text || i64::try_from(number).is_err() {
        return Err(Gone::Malformed);
    }
    Ok(number)
}

impl fmt::Display for FeedCursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.feed, self.at)?;
        self.since.map_or(Ok(()), |since| write!(f, ".{since}"))
    }
}

impl FeedVersions {
    /// The versions for a reader at this position.
    ///
    /// # Errors
    /// Why it needs a full sync.
    pub fn range(&self, cursor: Option<&FeedCursor>) -> Result<PageRange, Gone> {
        let Some(cursor) = cursor else {
            return Ok(PageRange {
                after: 0,
                removals_after: self.head,
            });
        };
        let complete = cursor.since.unwrap_or(cursor.at);
        match cursor {
            _ if cursor.feed != self.feed => Err(Gone::OtherFeed),
            _ if complete > self.head => Err(Gone::Ahead),
            _ if complete < self.compacted => Err(Gone::Compacted),
            _ => Ok(PageRange {
                after: cursor.at,
                removals_after: complete,
            }),
        }
    }

    /// The cursor after a page of `range` whose last change has version `last`; `None` if no more changes follow.
    pub fn next(&self, range: PageRange, last: Option<u64>) -> FeedCursor {
        let at = last.unwrap_or(self.head);
        FeedCursor {
            feed: self.feed.clone(),
            at,
            since: Some(range.removals_after).filter(|since| *since > at),
        }
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
        let range = |after, removals_after| PageRange {
            after,
            removals_after,
        };
        let cases = [
            ("f.100", Ok(range(100, 100))),
            ("f.50", Ok(range(50, 50))),
            ("f.49", Err(Gone::Compacted)),
            // A full sync that began at 50 got no earlier removals.
            ("f.1.50", Ok(range(1, 50))),
            ("f.1.49", Err(Gone::Compacted)),
            ("f.101", Err(Gone::Ahead)),
            ("f.99.101", Err(Gone::Ahead)),
            ("g.100", Err(Gone::OtherFeed)),
        ];
        for (text, want) in cases {
            let cursor = FeedCursor::parse(text).unwrap();
            assert_eq!(standing().range(Some(&cursor)), want, "{text}");
        }
        assert_eq!(standing().range(None), Ok(range(0, 100)));
    }

    #[test]
    fn cursors_of_others() {
        let long = format!("f.{}", u64::MAX);
        for text in [
            "", ".", "f", "f.", ".1", "f.x", "f.-1", "f.+1", "f.01", "f.1.", "f.1.1", "f.2.1",
            "f.1.2.3", "f .1", "f\n.1", "ä.1", &long,
        ] {
            assert_eq!(FeedCursor::parse(text), Err(Gone::Malformed), "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn every_cursor_given_is_taken(head in 1u64..1000, began in 0u64..1000, last in proptest::option::of(0u64..1000)) {
            let standing = FeedVersions { head: head.max(began).max(last.unwrap_or(0)), compacted: 0, ..standing() };
            let range = PageRange { after: 0, removals_after: began };
            let cursor = standing.next(range, last);
            prop_assert_eq!(FeedCursor::parse(&cursor.to_string()), Ok(cursor.clone()));
            let next = standing.range(Some(&cursor)).unwrap();
            prop_assert_eq!(next.after, last.unwrap_or(standing.head));
            prop_assert!(next.removals_after >= began, "{next:?}");
        }
    }
}
