//! One page of the feed.

use trilane::feed::page::{KeyChange, PageDocument};

use super::cursor::{FeedVersions, PageEnd, PageRange};
use super::request::PageRequest;

/// A page being filled.
#[derive(Debug)]
pub struct PageBuilder<'a> {
    changes: Vec<KeyChange<'a>>,
    limit: usize,
    more: bool,
    /// The number of changes that are of a listing which ends on this page, and the version behind it.
    listed: (usize, u64),
}

impl<'a> PageBuilder<'a> {
    /// An empty page for a request.
    pub fn new(asked: &PageRequest) -> Self {
        Self {
            changes: Vec::new(),
            limit: usize::try_from(asked.limit).unwrap_or(usize::MAX),
            more: false,
            listed: (0, 0),
        }
    }

    /// Adds as many changes as fit. If there are others, the page says that there are more.
    ///
    /// # Errors
    /// The first error among those that fit.
    pub fn fill<E>(
        &mut self,
        changes: impl IntoIterator<Item = Result<KeyChange<'a>, E>>,
    ) -> Result<(), E> {
        for change in changes {
            self.more = self.changes.len() >= self.limit;
            if self.more {
                break;
            }
            self.changes.push(change?);
        }
        Ok(())
    }

    /// Goes on with the changes after a listing, if the page has the rest of it.
    pub fn after_listing(&mut self, range: PageRange) -> PageRange {
        if self.more {
            return range;
        }
        let range = range.after_listing();
        // Where not even the first change fits the next page begins with it, and not after the last key listed.
        if let PageRange::Changes { after } = range {
            self.listed = (self.changes.len(), after);
        }
        range
    }

    /// The page as JSON.
    pub fn finish(self, versions: &FeedVersions, range: PageRange) -> Vec<u8> {
        let (listed, after) = self.listed;
        let last = self.changes.get(listed..).and_then(<[_]>::last);
        let end = PageEnd {
            version: last.and_then(|change| change.version).unwrap_or(after),
            sha256: last.map_or("", KeyChange::sha256),
        };
        let cursor = versions.next(range, self.more.then_some(end)).to_string();
        let page = PageDocument {
            feed: Some(versions.feed.clone().into()),
            version: Some(versions.head),
            cursor: Some(cursor.into()),
            more: Some(self.more),
            changes: Some(self.changes),
        };
        // Texts and numbers, into memory: it cannot fail.
        serde_json::to_vec(&page).unwrap_or_default()
    }
}
