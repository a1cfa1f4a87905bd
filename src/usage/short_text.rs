//! Short strings with a place of their own: nothing is allocated while an answer streams by.

/// The longest string that is kept, in bytes; a longer one counts as not told.
pub(super) const MAX_TEXT: usize = 128;

/// A string of at most [`MAX_TEXT`] bytes; empty: none.
#[derive(Clone, Copy)]
pub(super) struct ShortText {
    bytes: [u8; MAX_TEXT],
    len: usize,
}

impl Default for ShortText {
    fn default() -> Self {
        Self {
            bytes: [0; MAX_TEXT],
            len: 0,
        }
    }
}

impl ShortText {
    pub(super) fn as_bytes(&self) -> &[u8] {
        self.bytes.get(..self.len).unwrap_or_default()
    }

    /// The text, if there is one.
    pub(super) fn text(&self) -> Option<&str> {
        if self.is_empty() {
            return None;
        }
        core::str::from_utf8(self.as_bytes()).ok()
    }

    /// Adds bytes; false, and nothing added, if there is no room for all of them.
    pub(super) fn push(&mut self, fragment: &[u8]) -> bool {
        let end = self.len.saturating_add(fragment.len());
        let Some(room) = self.bytes.get_mut(self.len..end) else {
            return false;
        };
        room.copy_from_slice(fragment);
        self.len = end;
        true
    }

    /// Takes these bytes in place of the ones before; none, if there is no room for all of them.
    pub(super) fn set(&mut self, text: &[u8]) {
        self.clear();
        self.push(text);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.len == 0
    }

    pub(super) fn clear(&mut self) {
        self.len = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn holds_as_much_as_it_says() {
        let mut text = ShortText::default();
        assert_eq!(text.text(), None);
        assert!(text.push(&[b'x'; MAX_TEXT]));
        assert!(text.push(b""));
        assert!(!text.push(b"y"));
        assert_eq!(text.text().map(str::len), Some(MAX_TEXT));
        text.clear();
        assert!(!text.push(&[b'x'; MAX_TEXT + 1]));
        assert!(text.push("\u{20ac}".as_bytes()));
        assert_eq!(text.text(), Some("\u{20ac}"));
    }
}
