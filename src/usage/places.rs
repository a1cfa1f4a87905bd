//! Places in an event where something else may stand and all that is read stays the same, but for numbers.

use super::table::Slot;

/// The most places of an event.
const MAX_PLACES: usize = 24;

/// What may stand in a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Free {
    /// The text of a string that nobody reads, up to its closing quote.
    Text,
    /// The text of a string that the model wrote, up to its closing quote, and how many characters in it are written by number.
    Generated(u8),
    /// Digits that nobody reads.
    Digits,
    /// A plain integer that is told.
    Number(Slot),
    /// What is left of a line, once nothing in the event is read any more.
    Line,
}

/// From one byte of an event to another; what is free ends right before the second, which is not.
#[derive(Debug, Clone, Copy)]
pub(super) struct Place {
    start: u32,
    end: u32,
    pub(super) free: Free,
}

impl Place {
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

/// The places of an event, in their order.
#[derive(Clone, Copy)]
pub(super) struct Places {
    list: [Place; MAX_PLACES],
    count: usize,
}

impl Default for Places {
    fn default() -> Self {
        let none = Place {
            start: 0,
            end: 0,
            free: Free::Text,
        };
        Self {
            list: [none; MAX_PLACES],
            count: 0,
        }
    }
}

impl Places {
    pub(super) fn clear(&mut self) {
        self.count = 0;
    }

    /// Adds a place behind the others; what finds no room is not free.
    pub(super) fn add(&mut self, start: usize, end: usize, free: Free) {
        if let Some(place) = self.list.get_mut(self.count)
            && let (Ok(start), Ok(end)) = (start.try_into(), end.try_into())
        {
            *place = Place { start, end, free };
            self.count = self.count.saturating_add(1);
        }
    }

    pub(super) fn as_slice(&self) -> &[Place] {
        self.list.get(..self.count).unwrap_or_default()
    }
}
