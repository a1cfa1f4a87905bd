//! The sources of published documents, which get the catalogue's prices, and other addresses in a demonstration.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

/// The number of documents that are known: those that a gateway may still have in force.
const KNOWN: usize = 8;

/// The numbers of published documents, and those of what they were made from.
#[derive(Debug, Default)]
pub struct PublishedAs(Mutex<VecDeque<(u64, u64)>>);

impl PublishedAs {
    /// Records that the document with the number `published` was made from the one with the number `source`.
    pub fn note(&self, published: u64, source: u64) {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.retain(|(number, _)| *number != published);
        known.push_back((published, source));
        if known.len() > KNOWN {
            known.pop_front();
        }
    }

    /// The number of what this was made from; its own where that is not known.
    pub fn source_of(&self, published: u64) -> u64 {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let found = known.iter().find(|(number, _)| *number == published);
        found.map_or(published, |(_, source)| *source)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_known() {
        let published = PublishedAs::default();
        assert_eq!(published.source_of(7), 7, "it was published as it is");
        published.note(7, 1);
        published.note(8, 2);
        assert_eq!((published.source_of(7), published.source_of(8)), (1, 2));
        published.note(7, 3);
        assert_eq!(published.source_of(7), 3);
        for number in 10..20 {
            published.note(number, 4);
        }
        assert_eq!(published.source_of(7), 7, "forgotten");
    }
}
