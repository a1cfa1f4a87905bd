//! A document's text: single keys change, everything else stays byte for byte.

use std::ops::Range;

use super::style::Style;
use trilane_console::json_span::{self, JsonMember};

/// A text, and the ranges of its keys.
#[derive(Debug)]
pub struct DocumentText<'a> {
    bytes: &'a [u8],
    /// The members of the document.
    document: Vec<JsonMember>,
    /// The list of keys, if there is one.
    list: Option<Range<usize>>,
    keys: Vec<KeyText>,
}

/// The ranges of a key in a text.
#[derive(Debug)]
pub struct KeyText {
    at: Range<usize>,
    members: Vec<JsonMember>,
}

/// A range, and the text that replaces it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Edit {
    at: Range<usize>,
    with: Vec<u8>,
}

impl<'a> DocumentText<'a> {
    /// Finds the keys of a document; `None` for any other text.
    pub fn new(bytes: &'a [u8]) -> Option<Self> {
        let document = json_span::members(bytes, &json_span::root(bytes)?)?;
        let list = document
            .iter()
            .find(|member| member.name == "keys")
            .map(|member| member.value.clone());
        let list = list.filter(|list| bytes.get(list.start) == Some(&b'['));
        let spans = list
            .as_ref()
            .map_or_else(|| Some(Vec::new()), |list| json_span::elements(bytes, list))?;
        let key = |at: Range<usize>| {
            Some(KeyText {
                members: json_span::members(bytes, &at)?,
                at,
            })
        };
        let keys = spans.into_iter().map(key).collect::<Option<_>>()?;
        Some(Self {
            bytes,
            document,
            list,
            keys,
        })
    }

    /// The key at a position of the list.
    pub fn key(&self, position: usize) -> Option<&KeyText> {
        self.keys.get(position)
    }

    /// The text with these changes.
    pub fn with(&self, edits: &[Edit]) -> Vec<u8> {
        applied(self.bytes, 0, edits)
    }

    /// The text of a key with these changes of it.
    pub fn key_with(&self, key: &KeyText, edits: &[Edit]) -> Vec<u8> {
        let bytes = self.bytes.get(key.at.clone()).unwrap_or_default();
        applied(bytes, key.at.start, edits)
    }

    /// Gives a member of a key another value, written as JSON; a new one comes last.
    pub fn set(&self, key: &KeyText, name: &str, value: &str) -> Edit {
        if let Some(member) = key.member(name) {
            return Edit {
                at: member.value.clone(),
                with: value.into(),
            };
        }
        let style = Style::of(self.bytes, &key.at, &key.members);
        let end = key
            .members
            .last()
            .map_or(key.at.start.saturating_add(1), |last| last.value.end);
        let comma: &[u8] = if key.members.is_empty() {
            b""
        } else {
            &style.between
        };
        let with = [comma, &style.member(name, value)].concat();
        Edit { at: end..end, with }
    }

    /// Removes a member of a key; `None` if it has none of this name.
    pub fn unset(&self, key: &KeyText, name: &str) -> Option<Edit> {
        let spans: Vec<_> = key
            .members
            .iter()
            .map(|m| m.at.start..m.value.end)
            .collect();
        let position = key.members.iter().position(|member| member.name == name)?;
        taken_out(&spans, position, &key.at)
    }

    /// Removes a key; `None` if there is none.
    pub fn remove(&self, position: usize) -> Option<Edit> {
        let spans: Vec<_> = self.keys.iter().map(|key| key.at.clone()).collect();
        taken_out(&spans, position, self.list.as_ref()?)
    }

    /// A new key as text, in the style of the last one.
    pub fn new_key(&self, members: &[(&str, String)]) -> Vec<u8> {
        let style = match self.keys.last() {
            Some(last) => Style::of(self.bytes, &last.at, &last.members),
            None => self.document_style().in_a_line(),
        };
        style.object(members)
    }

    /// Inserts a key behind the one at a position, or else at the end; `None` if no key can be inserted.
    pub fn insert(&self, key: &[u8], behind: Option<usize>) -> Option<Edit> {
        let last = self.keys.len().checked_sub(1);
        if let Some(position) = behind.or(last) {
            let end = self.keys.get(position)?.at.end;
            let with = [self.separator()?.as_slice(), key].concat();
            return Some(Edit { at: end..end, with });
        }
        let style = self.document_style();
        let list = style.list_of_one(key);
        // A list that is empty, or `null`.
        if let Some(member) = self.document.iter().find(|member| member.name == "keys") {
            return Some(Edit {
                at: member.value.clone(),
                with: list,
            });
        }
        let end = self.document.last()?.value.end;
        let member = style.member("keys", &String::from_utf8(list).ok()?);
        let with = [style.between.as_slice(), &member].concat();
        Some(Edit { at: end..end, with })
    }

    /// Whether keys are written without white space.
    pub fn is_compact(&self) -> bool {
        match self.keys.last() {
            Some(last) => Style::of(self.bytes, &last.at, &last.members).is_compact(),
            None => self.document_style().is_compact(),
        }
    }

    fn document_style(&self) -> Style {
        let whole = json_span::root(self.bytes).unwrap_or_default();
        Style::of(self.bytes, &whole, &self.document)
    }

    /// The text between two keys.
    fn separator(&self) -> Option<Vec<u8>> {
        if let [.., before, last] = self.keys.as_slice() {
            return self
                .bytes
                .get(before.at.end..last.at.start)
                .map(<[u8]>::to_vec);
        }
        let only = self.keys.first()?;
        let before = self
            .bytes
            .get(self.list.as_ref()?.start.checked_add(1)?..only.at.start)?;
        let style = Style::of(self.bytes, &only.at, &only.members);
        let blank: &[u8] = if before.is_empty() && !style.is_compact() {
            b" "
        } else {
            before
        };
        Some([b",", blank].concat())
    }
}

impl KeyText {
    fn member(&self, name: &str) -> Option<&JsonMember> {
        self.members.iter().find(|member| member.name == name)
    }
}

/// The edit that removes one of several values within the brackets at `around`, with its comma.
fn taken_out(things: &[Range<usize>], position: usize, around: &Range<usize>) -> Option<Edit> {
    let thing = things.get(position)?;
    let next = things.get(position.checked_add(1)?);
    let before = position
        .checked_sub(1)
        .and_then(|before| things.get(before));
    let at = match (before, next) {
        (Some(before), _) => before.end..thing.end,
        (None, Some(next)) => thing.start..next.start,
        (None, None) => around.start.checked_add(1)?..around.end.checked_sub(1)?,
    };
    Some(Edit {
        at,
        with: Vec::new(),
    })
}

/// The part of a text that begins at `offset`, with the edits in it.
fn applied(bytes: &[u8], offset: usize, edits: &[Edit]) -> Vec<u8> {
    let mut edits: Vec<&Edit> = edits.iter().collect();
    edits.sort_by_key(|edit| edit.at.start);
    let mut out = Vec::with_capacity(bytes.len());
    let mut from = 0;
    for Edit { at, with } in edits {
        let (start, end) = (
            at.start.saturating_sub(offset),
            at.end.saturating_sub(offset),
        );
        out.extend_from_slice(bytes.get(from..start).unwrap_or_default());
        out.extend_from_slice(with);
        from = end;
    }
    out.extend_from_slice(bytes.get(from..).unwrap_or_default());
    out
}

#[cfg(test)]
mod tests;
