//! The nesting of arrays and objects: one bit per level, up to a fixed number of levels.

use super::{BodyError, MAX_DEPTH};
use crate::text::Container;

/// The number of levels whose bits are stored inline: deeper nesting is rare.
const NEAR: usize = 64;

/// The open containers, outermost first.
#[derive(Debug, Default)]
pub(super) struct Nesting {
    /// Of the first levels. Bit set: an object.
    near: u64,
    /// Of the others, once there are any.
    far: Option<Box<[u64; MAX_DEPTH / NEAR - 1]>>,
    depth: usize,
}

impl Nesting {
    /// Returns the number of open containers.
    pub(super) fn depth(&self) -> usize {
        self.depth
    }

    /// The innermost open container.
    #[inline]
    pub(super) fn inner(&self) -> Option<Container> {
        let level = self.depth.checked_sub(1)?;
        let word = if level < NEAR {
            self.near
        } else {
            *self.far.as_ref()?.get(far_index(level))?
        };
        Some(if word & mask(level) == 0 {
            Container::Array
        } else {
            Container::Object
        })
    }

    #[inline]
    pub(super) fn open(&mut self, container: Container) -> Result<(), BodyError> {
        let word = if self.depth < NEAR {
            &mut self.near
        } else {
            let far = self.far.get_or_insert_default();
            far.get_mut(far_index(self.depth))
                .ok_or(BodyError::TooDeep)?
        };
        let mask = mask(self.depth);
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

/// In which word of the far ones the bit of a level is.
fn far_index(level: usize) -> usize {
    (level / NEAR).wrapping_sub(1)
}

/// The bit of a level.
fn mask(level: usize) -> u64 {
    1u64.rotate_left((level % NEAR) as u32)
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
