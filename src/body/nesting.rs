//! How arrays and objects are nested: one bit a level, of a fixed number.

use super::{BodyError, MAX_DEPTH};

/// What a bracket opens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Container {
    Object,
    Array,
}

/// The open containers, outermost first.
#[derive(Debug, Default)]
pub(super) struct Nesting {
    /// Bit set: an object.
    bits: [u64; MAX_DEPTH / 64],
    depth: usize,
}

impl Nesting {
    /// How many containers are open.
    pub(super) fn depth(&self) -> usize {
        self.depth
    }

    /// The innermost open container.
    pub(super) fn inner(&self) -> Option<Container> {
        let (index, mask) = place(self.depth.checked_sub(1)?);
        self.bits.get(index).map(|word| {
            if word & mask == 0 {
                Container::Array
            } else {
                Container::Object
            }
        })
    }

    pub(super) fn open(&mut self, container: Container) -> Result<(), BodyError> {
        let (index, mask) = place(self.depth);
        let word = self.bits.get_mut(index).ok_or(BodyError::TooDeep)?;
        match container {
            Container::Object => *word |= mask,
            Container::Array => *word &= !mask,
        }
        self.depth = self.depth.saturating_add(1);
        Ok(())
    }

    pub(super) fn close(&mut self) {
        self.depth = self.depth.saturating_sub(1);
    }
}

/// Where the bit of a level is: the word's index, and the bit in it.
fn place(level: usize) -> (usize, u64) {
    (level / 64, 1u64.rotate_left((level % 64) as u32))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn remembers_every_level_and_no_more() {
        let kind = |level: usize| {
            if level.is_multiple_of(3) {
                Container::Object
            } else {
                Container::Array
            }
        };
        let mut nesting = Nesting::default();
        assert_eq!(nesting.inner(), None);
        // Twice, so that every bit is also written over.
        for shift in 0..2 {
            for level in 0..MAX_DEPTH {
                nesting.open(kind(level + shift)).unwrap();
            }
            assert_eq!(nesting.open(Container::Array), Err(BodyError::TooDeep));
            for level in (0..MAX_DEPTH).rev() {
                assert_eq!(nesting.inner(), Some(kind(level + shift)), "level {level}");
                nesting.close();
            }
            assert_eq!((nesting.depth(), nesting.inner()), (0, None));
        }
    }
}
