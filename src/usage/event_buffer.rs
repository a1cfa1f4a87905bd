//! The beginning of an event whose end has not come yet.

use super::template::MAX_EVENT;

/// All bytes of an event in the chunks before, as long as there is room for them.
pub(super) struct EventBuffer {
    bytes: [u8; MAX_EVENT],
    len: usize,
    /// Whether the event has more bytes than these.
    lacks: bool,
}

impl Default for EventBuffer {
    fn default() -> Self {
        Self {
            bytes: [0; MAX_EVENT],
            len: 0,
            lacks: false,
        }
    }
}

impl EventBuffer {
    /// Returns the buffer of an event that is never known whole.
    pub(super) fn lacking() -> Self {
        Self {
            lacks: true,
            ..Self::default()
        }
    }

    pub(super) fn as_bytes(&self) -> &[u8] {
        self.bytes.get(..self.len).unwrap_or_default()
    }

    pub(super) fn len(&self) -> usize {
        self.len
    }

    pub(super) fn clear(&mut self) {
        self.len = 0;
        self.lacks = false;
    }

    /// Takes as many bytes as there is room for; gives what is left.
    pub(super) fn fill<'a>(&mut self, bytes: &'a [u8]) -> &'a [u8] {
        let kind = self.bytes.get_mut(self.len..).unwrap_or_default();
        let taken = kind.len().min(bytes.len());
        let (fragment, rest) = bytes.split_at_checked(taken).unwrap_or((bytes, &[]));
        if let Some(kind) = kind.get_mut(..fragment.len()) {
            kind.copy_from_slice(fragment);
            self.len = self.len.saturating_add(fragment.len());
        }
        rest
    }

    /// Takes the last bytes that were read.
    pub(super) fn add(&mut self, bytes: &[u8]) {
        self.lacks |= !self.fill(bytes).is_empty();
    }

    /// The event, which ends with these bytes; nothing if it was too long.
    pub(super) fn end<'a>(&'a mut self, bytes: &'a [u8]) -> Option<&'a [u8]> {
        if self.len == 0 && !self.lacks {
            return Some(bytes);
        }
        self.add(bytes);
        (!self.lacks).then(|| self.as_bytes())
    }
}
