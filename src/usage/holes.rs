//! Holes of an event: where its bytes may differ and the event still says the same, but for numbers.

use super::numbers::Slot;

/// The most holes of an event.
const MAX_HOLES: usize = 24;

/// The kind of bytes that may stand in a hole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum HoleKind {
    /// The text of a string that nobody reads, up to its closing quote.
    Text,
    /// The text of a string that the model wrote, up to its closing quote, and how many characters in it are written by number.
    Generated(u8),
    /// The same of reasoning that may stand there under another name as well: it is not empty.
    Reasoning(u8),
    /// Digits that nobody reads.
    Digits,
    /// A plain integer that is told.
    Number(Slot),
    /// The rest of a line, once nothing in the event is read any more.
    Line,
}

/// From one byte of an event to another; the second is not in the hole.
#[derive(Debug, Clone, Copy)]
pub(super) struct Hole {
    start: u32,
    end: u32,
    pub(super) kind: HoleKind,
}

impl Hole {
    pub(super) fn start(&self) -> usize {
        self.start as usize
    }

    pub(super) fn end(&self) -> usize {
        self.end as usize
    }

    pub(super) fn len(&self) -> usize {
        self.end.saturating_sub(self.start) as usize
    }
}

/// The holes of an event, in their order.
#[derive(Clone, Copy)]
pub(super) struct Holes {
    list: [Hole; MAX_HOLES],
    count: usize,
}

impl Default for Holes {
    fn default() -> Self {
        let none = Hole {
            start: 0,
            end: 0,
            kind: HoleKind::Text,
        };
        Self {
            list: [none; MAX_HOLES],
            count: 0,
        }
    }
}

impl Holes {
    pub(super) fn clear(&mut self) {
        self.count = 0;
    }

    /// Adds a hole behind the others; without room for it, the bytes stay as they were.
    pub(super) fn add(&mut self, start: usize, end: usize, kind: HoleKind) {
        if let Some(hole) = self.list.get_mut(self.count)
            && let (Ok(start), Ok(end)) = (start.try_into(), end.try_into())
        {
            *hole = Hole { start, end, kind };
            self.count = self.count.saturating_add(1);
        }
    }

    pub(super) fn as_slice(&self) -> &[Hole] {
        self.list.get(..self.count).unwrap_or_default()
    }
}
