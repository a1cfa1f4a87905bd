//! The memory that Envoy has for a body: slices, each with room for more than it holds.

use std::collections::VecDeque;

/// The size of a slice that Envoy reads into, in bytes.
const UNIT: usize = 16 * 1024;
/// Chunks shorter than this go into free memory behind the one before.
const JOINED: usize = 512;

/// The slices of one body, and what the VM has copied of it.
#[derive(Debug, Default)]
pub struct Layout {
    /// The capacity and the length of each slice, in bytes.
    slices: VecDeque<(usize, usize)>,
    /// Bytes that the VM has read.
    pub read: usize,
    /// Bytes that the VM has written.
    pub written: usize,
}

impl Layout {
    /// The memory that is taken up, in bytes.
    pub fn memory(&self) -> usize {
        self.slices.iter().map(|(room, _)| room).sum()
    }

    /// The length of what is held, in bytes.
    pub fn length(&self) -> usize {
        self.slices.iter().map(|(_, length)| length).sum()
    }

    /// The body has gone on.
    pub fn clear(&mut self) {
        self.slices.clear();
    }

    /// A chunk comes from the connection.
    pub fn chunk(&mut self, length: usize) {
        if length < JOINED
            && self
                .slices
                .back()
                .is_some_and(|(room, held)| room - held >= length)
        {
            self.slices.back_mut().unwrap().1 += length;
            return;
        }
        let mut left = length;
        while left > 0 {
            let held = left.min(UNIT);
            self.slices.push_back((UNIT, held));
            left -= held;
        }
    }

    /// The VM puts bytes behind the last: into what is free, and into new memory.
    pub fn append(&mut self, length: usize) {
        let mut left = length;
        if let Some((room, held)) = self.slices.back_mut() {
            let more = left.min(*room - *held);
            *held += more;
            left -= more;
        }
        if left > 0 {
            self.slices.push_back((left.next_multiple_of(4096), left));
        }
    }

    /// The VM puts bytes in place of the first `old`.
    pub fn replace(&mut self, old: usize, new: usize) {
        let mut left = old;
        while let Some((_, held)) = self.slices.front_mut() {
            if *held > left {
                *held -= left;
                break;
            }
            left -= *held;
            self.slices.pop_front();
        }
        if new > 0 {
            self.slices.push_front((new.next_multiple_of(4096), new));
        }
    }
}
