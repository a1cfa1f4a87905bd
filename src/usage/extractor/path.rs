//! Position of the extractor in the table.

use crate::text::Container;
use crate::usage::table::Node;

/// The depth of the deepest table, in objects and arrays.
pub(super) const MAX_PATH: usize = 8;

/// The open objects and arrays that the table knows.
pub(super) struct Path {
    /// The innermost; if none is open, what nothing can be in.
    inner: Level,
    /// The innermost level when each of them was opened, outermost first.
    outer: [Level; MAX_PATH],
    depth: usize,
}

type Level = (Container, &'static Node);

/// Around the outermost value.
const NOTHING: Level = (Container::Array, &Node::NONE);

impl Default for Path {
    fn default() -> Self {
        Self {
            inner: NOTHING,
            outer: [NOTHING; MAX_PATH],
            depth: 0,
        }
    }
}

impl Path {
    pub(super) fn clear(&mut self) {
        self.inner = NOTHING;
        self.depth = 0;
    }

    pub(super) fn is_empty(&self) -> bool {
        self.depth == 0
    }

    pub(super) fn is_outermost_array(&self) -> bool {
        self.depth == 1 && self.inner.0 == Container::Array
    }

    pub(super) fn inner(&self) -> Level {
        self.inner
    }

    /// Goes one level down; false if that is too deep.
    pub(super) fn push(&mut self, container: Container, node: &'static Node) -> bool {
        let Some(outer) = self.outer.get_mut(self.depth) else {
            return false;
        };
        *outer = core::mem::replace(&mut self.inner, (container, node));
        self.depth = self.depth.saturating_add(1);
        true
    }

    /// Goes one level up; gives the one left, if there is one.
    pub(super) fn pop(&mut self) -> Option<Level> {
        self.depth = self.depth.checked_sub(1)?;
        let outer = *self.outer.get(self.depth)?;
        Some(core::mem::replace(&mut self.inner, outer))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::usage::Wire;

    fn depth(node: &Node) -> usize {
        let members = node.members.unwrap_or_default();
        let members = members.iter().map(|(_, node)| depth(node) + 1).max();
        let items = node.items.map_or(0, |node| depth(node) + 1);
        members.unwrap_or(0).max(items)
    }

    #[test]
    fn no_table_is_too_deep() {
        for wire in Wire::ALL {
            let table = wire.table();
            for root in [&table.document, &table.event] {
                assert!(depth(root) <= MAX_PATH, "{wire:?}: {}", depth(root));
            }
        }
    }
}
