//! Pages of a model list, as protocols B and C ask for them.
//!
//! A client that asks for no page gets the whole list: every SDK takes it, and clients of protocol
//! A, which knows no pages, share the body.

use core::ops::Range;

use super::query::RequestTarget;

/// The most items on one page, in both protocols.
const MAX: usize = 1000;

/// One page of a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListPage {
    /// The positions of its items in the list.
    pub items: Range<usize>,
    /// Whether more follow (or, when paging backwards, come before).
    pub has_more: bool,
}

/// A paging parameter that cannot be honoured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BadParameter(pub &'static str);

/// Protocol B: `limit`, `after_id`, `before_id`.
///
/// # Errors
/// A limit outside 1 to 1000, both ids at once, or an id that is not in the list.
pub fn by_id(target: &RequestTarget<'_>, ids: &[&str]) -> Result<ListPage, BadParameter> {
    let limit = number(target, "limit")?.unwrap_or(MAX);
    if !(1..=MAX).contains(&limit) {
        return Err(BadParameter("limit"));
    }
    let after = cursor(target, "after_id", ids)?;
    let before = cursor(target, "before_id", ids)?;
    match (after, before) {
        (Some(_), Some(_)) => Err(BadParameter("before_id")),
        (after, None) => Ok(forwards(
            after.map_or(0, |at| at.saturating_add(1)),
            limit,
            ids.len(),
        )),
        (None, Some(end)) => {
            let start = end.saturating_sub(limit);
            Ok(ListPage {
                items: start..end,
                has_more: start > 0,
            })
        }
    }
}

/// Protocol C: `pageSize`, `pageToken`; a token is the id of the last model on the page before.
///
/// # Errors
/// A size that is no number, or a token that no earlier page gave. A size of 0 means none, and one
/// beyond 1000 means 1000, as the vendor has it.
pub fn by_token(target: &RequestTarget<'_>, ids: &[&str]) -> Result<ListPage, BadParameter> {
    let limit = match number(target, "pageSize")? {
        None | Some(0) => MAX,
        Some(size) => size.min(MAX),
    };
    let after = cursor(target, "pageToken", ids)?;
    Ok(forwards(
        after.map_or(0, |at| at.saturating_add(1)),
        limit,
        ids.len(),
    ))
}

fn forwards(start: usize, limit: usize, len: usize) -> ListPage {
    let end = start.saturating_add(limit).min(len);
    ListPage {
        items: start..end,
        has_more: end < len,
    }
}

fn number(target: &RequestTarget<'_>, name: &'static str) -> Result<Option<usize>, BadParameter> {
    let Some(value) = target.values(name).next() else {
        return Ok(None);
    };
    core::str::from_utf8(&value)
        .ok()
        .filter(|text| text.bytes().all(|b| b.is_ascii_digit()))
        .and_then(|text| text.parse().ok())
        .map(Some)
        .ok_or(BadParameter(name))
}

/// The position of the id that a parameter names. An empty value asks for the start.
fn cursor(
    target: &RequestTarget<'_>,
    name: &'static str,
    ids: &[&str],
) -> Result<Option<usize>, BadParameter> {
    match target.values(name).next() {
        Some(value) if !value.is_empty() => ids
            .iter()
            .position(|id| id.as_bytes() == value)
            .map(Some)
            .ok_or(BadParameter(name)),
        _ => Ok(None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const IDS: [&str; 4] = ["a", "b", "c", "d"];

    fn page(items: Range<usize>, has_more: bool) -> Result<ListPage, BadParameter> {
        Ok(ListPage { items, has_more })
    }

    #[test]
    fn pages_by_id() {
        let cases = [
            ("all", "", page(0..4, false)),
            ("limit", "limit=3", page(0..3, true)),
            ("exact limit", "limit=4", page(0..4, false)),
            ("after", "after_id=b", page(2..4, false)),
            ("after, limited", "after_id=a&limit=2", page(1..3, true)),
            ("after the last", "after_id=d", page(4..4, false)),
            ("before", "before_id=c", page(0..2, false)),
            ("before, limited", "before_id=d&limit=2", page(1..3, true)),
            ("empty id", "after_id=", page(0..4, false)),
            ("limit 0", "limit=0", Err(BadParameter("limit"))),
            ("limit too great", "limit=1001", Err(BadParameter("limit"))),
            ("limit no number", "limit=+3", Err(BadParameter("limit"))),
            ("unknown id", "after_id=z", Err(BadParameter("after_id"))),
            (
                "both",
                "after_id=a&before_id=d",
                Err(BadParameter("before_id")),
            ),
            ("beta flag is ignored", "beta=true", page(0..4, false)),
        ];
        for (case, query, want) in cases {
            let target = format!("/v1/models?{query}");
            let got = by_id(&RequestTarget::parse(target.as_bytes()), &IDS);
            assert_eq!(got, want, "{case}");
        }
    }

    #[test]
    fn page_sizes_of_protocol_c() {
        let cases = [
            ("none", "0", page(0..4, false)),
            ("two", "2", page(0..2, true)),
            ("beyond the greatest", "5000", page(0..4, false)),
            ("negative", "-1", Err(BadParameter("pageSize"))),
            ("no number", "x", Err(BadParameter("pageSize"))),
        ];
        for (case, size, want) in cases {
            let target = format!("/v1beta/models?pageSize={size}");
            let got = by_token(&RequestTarget::parse(target.as_bytes()), &IDS);
            assert_eq!(got, want, "{case}");
        }
    }

    #[test]
    fn pages_by_token_reach_every_item_once() {
        for size in 1..=5 {
            let mut seen = Vec::new();
            let mut token = String::new();
            loop {
                let target = format!("/v1beta/models?pageSize={size}&pageToken={token}");
                let page = by_token(&RequestTarget::parse(target.as_bytes()), &IDS).unwrap();
                seen.extend_from_slice(&IDS[page.items.clone()]);
                if !page.has_more {
                    break;
                }
                token = IDS[page.items.end - 1].to_owned();
            }
            assert_eq!(seen, IDS, "page size {size}");
        }
    }
}
