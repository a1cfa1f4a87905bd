//! Lists in pages. A cursor says after which item the next page begins, so what is added or removed meanwhile shifts nothing.

use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::problem::ApiProblem;

/// The most items of a page.
const MOST: u16 = 500;
/// The items of a page, unless another number is asked for.
const DEFAULT: u16 = 100;

/// The position and size of a page of a list.
#[derive(Debug, Clone, Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(default)]
pub struct PageParams {
    /// The start of the page: `next` of the previous page.
    pub cursor: Option<String>,
    /// The most items, 100 unless it is given.
    #[param(minimum = 1, maximum = 500)]
    pub limit: Option<u16>,
}

/// A page of a list.
#[derive(Debug, Serialize, ToSchema)]
pub struct ItemPage<T> {
    /// The items.
    pub items: Vec<T>,
    /// The cursor of the next page; missing on the last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

impl PageParams {
    /// The first `most` items.
    pub fn first(most: u16) -> Self {
        Self::at(None, most)
    }

    /// `most` items from a cursor on.
    pub fn at(cursor: Option<String>, most: u16) -> Self {
        let limit = Some(most);
        Self { cursor, limit }
    }

    /// Reads the most items of the page. One more is fetched, which tells whether another page follows.
    ///
    /// # Errors
    /// 400: it is not from 1 to 500.
    pub fn limit(&self) -> Result<PageLimit, ApiProblem> {
        let limit = self.limit.unwrap_or(DEFAULT);
        if !(1..=MOST).contains(&limit) {
            return Err(ApiProblem::bad(text!(
                "limit must be a number from 1 to 500"
            )));
        }
        Ok(PageLimit(limit))
    }

    /// Decodes the cursor of the previous page.
    ///
    /// # Errors
    /// 400: it is not one of ours.
    pub fn after<T: for<'a> Deserialize<'a>>(&self) -> Result<Option<T>, ApiProblem> {
        let Some(cursor) = &self.cursor else {
            return Ok(None);
        };
        // PostgreSQL has no text with a zero, which JSON writes like this.
        let bytes = hex::decode(cursor).ok();
        let bytes = bytes.filter(|bytes| memchr::memmem::find(bytes, br"\u0000").is_none());
        let after = bytes.and_then(|bytes| serde_json::from_slice(&bytes).ok());
        after.map_or_else(
            || Err(ApiProblem::bad(text!("cursor is not one that a page gave"))),
            |after| Ok(Some(after)),
        )
    }
}

/// The cursor that stands for a place.
pub fn cursor(place: &impl Serialize) -> String {
    // Texts and numbers, into memory: it cannot fail.
    hex::encode(serde_json::to_vec(place).unwrap_or_default())
}

/// The most items of a page.
#[derive(Debug, Clone, Copy)]
pub struct PageLimit(u16);

impl PageLimit {
    /// Returns the number of items to fetch from the database: one more than the page has.
    pub fn to_fetch(self) -> i64 {
        i64::from(self.0).saturating_add(1)
    }

    /// A page of what was fetched; `place` is what the cursor after an item stands for.
    pub fn page<T, U, P: Serialize>(
        self,
        mut fetched: Vec<T>,
        place: impl Fn(&T) -> P,
        shown: impl FnMut(T) -> U,
    ) -> ItemPage<U> {
        let more = fetched.len() > usize::from(self.0);
        fetched.truncate(usize::from(self.0));
        let last = fetched.last().filter(|_| more);
        let next = last.map(|last| cursor(&place(last)));
        ItemPage {
            items: fetched.into_iter().map(shown).collect(),
            next,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn from_page_to_page() {
        let limit = |limit| {
            PageParams {
                limit,
                cursor: None,
            }
            .limit()
        };
        assert!(limit(Some(0)).is_err() && limit(Some(501)).is_err());
        let limit = limit(Some(2)).unwrap();
        assert_eq!(limit.to_fetch(), 3);
        let page = limit.page(vec![1, 2, 3], |item| (*item, "x"), |item| item * 10);
        assert_eq!(page.items, [10, 20]);
        let next = PageParams {
            cursor: page.next,
            limit: None,
        };
        assert_eq!(
            next.after::<(i64, String)>().unwrap(),
            Some((2, "x".to_owned()))
        );
        assert!(
            next.after::<String>().is_err(),
            "the cursor of another list"
        );
        assert_eq!(limit.page(vec![1, 2], |item| *item, |item| item).next, None);
        for broken in ["zz", "5", "225c753030303022"] {
            let cursor = Some(broken.to_owned());
            let broken = PageParams {
                cursor,
                limit: None,
            };
            assert!(broken.after::<String>().is_err(), "{broken:?}");
        }
    }
}
