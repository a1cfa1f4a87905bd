//! The query of a reader of the feed.

use std::borrow::Cow;

use percent_encoding::percent_decode_str;

use super::cursor::FeedCursor;
use super::page_error::PageError;

/// The greatest page, in changes: about 2 MB.
const MOST: u32 = 10_000;
/// The default page, in changes.
const DEFAULT: u32 = 1000;

/// A request for a page.
#[derive(Debug, PartialEq, Eq)]
pub struct PageRequest {
    /// The reader's position; `None` for a full sync.
    pub cursor: Option<FeedCursor>,
    /// The most changes.
    pub limit: u32,
}

impl PageRequest {
    /// Reads a query. Other parameters are ignored: a path in a document may have some.
    ///
    /// # Errors
    /// The reason that the request gets no page.
    pub fn parse(query: &str) -> Result<Self, PageError> {
        let mut cursor = None;
        let mut limit = None;
        for pair in query.split('&') {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            let place = match name {
                "cursor" => &mut cursor,
                "limit" => &mut limit,
                _ => continue,
            };
            if place.replace(value).is_some() {
                return Err(PageError::Bad("limit and cursor may be given once each"));
            }
        }
        let limit = match limit {
            None => DEFAULT,
            Some(text) => {
                number(text).ok_or(PageError::Bad("limit must be a number from 1 to 10000"))?
            }
        };
        let decoded = cursor.map(|text| percent_decode_str(text).decode_utf8());
        let cursor = match decoded {
            None => None,
            Some(text) => {
                let text = text.unwrap_or(Cow::Borrowed(""));
                Some(FeedCursor::parse(&text).map_err(PageError::from)?)
            }
        };
        Ok(Self { cursor, limit })
    }
}

fn number(text: &str) -> Option<u32> {
    let digits = text.bytes().all(|byte| byte.is_ascii_digit());
    let number = text.parse().ok().filter(|_| digits)?;
    (1..=MOST).contains(&number).then_some(number)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::feed::CursorError;

    #[test]
    fn queries() {
        let bad_limit = || Err(PageError::Bad("limit must be a number from 1 to 10000"));
        let twice = || Err(PageError::Bad("limit and cursor may be given once each"));
        let asked = |cursor: Option<&str>, limit| {
            let cursor = cursor.map(|text| FeedCursor::parse(text).unwrap());
            Ok(PageRequest { cursor, limit })
        };
        let gone = || Err(PageError::Cursor(CursorError::Malformed));
        let cases = [
            ("", asked(None, 1000)),
            ("limit=1", asked(None, 1)),
            ("limit=10000&tenant=7&", asked(None, 10_000)),
            ("tenant=7&cursor=f.1&limit=5", asked(Some("f.1"), 5)),
            ("cursor=%66%2E1", asked(Some("f.1"), 1000)),
            ("limit=0", bad_limit()),
            ("limit=10001", bad_limit()),
            ("limit=", bad_limit()),
            ("limit", bad_limit()),
            ("limit=-1", bad_limit()),
            ("limit=+1", bad_limit()),
            ("limit=1e3", bad_limit()),
            ("limit=99999999999999999999", bad_limit()),
            ("limit=1&limit=1", twice()),
            ("cursor=f.1&cursor=f.1", twice()),
            ("cursor=", gone()),
            ("cursor=f", gone()),
            ("cursor=%ff.1", gone()),
            ("cursor=f.1&limit=x", bad_limit()),
        ];
        for (query, want) in cases {
            assert_eq!(PageRequest::parse(query), want, "{query}");
        }
    }
}
