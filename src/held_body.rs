//! The part of a request body that is held while the exchange decides: what is new of it, and when it is packed.
//!
//! Envoy holds it while it holds the head. Once the head is released, the few bytes that wait for the next chunk are withheld
//! here: in Envoy's own buffer they would come behind what its router keeps there for another attempt.

use core::ops::Range;

/// The amount of a body that is copied out of Envoy at a time, in bytes. An inflated body may come by the
/// hundred megabytes at once, and the memory of a VM never shrinks.
pub const COPY_BYTES: usize = 64 * 1024;
/// Envoy keeps each chunk in the memory that it was read into: units of so many bytes, however short the chunk.
const UNIT: usize = 16 * 1024;
/// Chunks shorter than this are copied by Envoy into free memory behind the one before.
const JOINED: usize = 512;
/// The free memory behind the chunks of a held body that is tolerated, in bytes.
const LOOSE: usize = 8 * UNIT;

/// A request body, as far as it is held.
#[derive(Debug, Default)]
pub struct HeldBody {
    /// Bytes that the host holds and the exchange has read.
    held: usize,
    /// Memory that the host may have taken up for them beyond their length since they were packed last, in bytes.
    loose: usize,
    /// The bytes that the next chunk is to begin with.
    withheld: Box<[u8]>,
}

impl HeldBody {
    /// Returns the range of the bytes that the exchange has not read, of the `body_size` that the host counts: while a body is held
    /// it counts them from the body's start, else from that of this chunk.
    pub fn unread(&self, body_size: usize) -> Range<usize> {
        self.held..body_size.max(self.held)
    }

    /// The body is held on, with the chunk that came just now. Gives how many bytes are to be packed now: a body that comes in
    /// small chunks would take up many times its length otherwise.
    ///
    /// It is packed when more memory is loose than it is long. So it never takes up more than twice its length and
    /// `LOOSE`, and all packing together copies less than was ever loose: 32 times the body (`UNIT / JOINED`) at most.
    pub fn hold(&mut self, body_size: usize) -> Option<usize> {
        let chunk = body_size.saturating_sub(self.held);
        self.held = body_size;
        if chunk >= JOINED {
            let used = chunk.checked_rem(UNIT).filter(|used| *used > 0);
            let free = used.map_or(0, |used| UNIT.saturating_sub(used));
            self.loose = self.loose.saturating_add(free);
        }
        if self.loose <= self.held.max(LOOSE) {
            return None;
        }
        self.loose = 0;
        Some(self.held)
    }

    /// Returns the number of bytes that the host holds, those that came just now included.
    pub fn size(&self) -> usize {
        self.held
    }

    /// The body goes on but for the bytes `withheld` at its end: from now on the host counts each chunk from its start.
    pub fn release(&mut self, withheld: Vec<u8>) {
        *self = Self {
            held: 0,
            loose: 0,
            withheld: withheld.into_boxed_slice(),
        };
    }

    /// Takes what the host is to put before the chunk that came just now. The exchange has read it.
    pub fn take_withheld(&mut self) -> Box<[u8]> {
        let withheld = core::mem::take(&mut self.withheld);
        self.held = self.held.saturating_add(withheld.len());
        withheld
    }
}

/// A range of bytes, as pieces of [`COPY_BYTES`] and the rest, which is the last and at most as long.
pub fn split(range: Range<usize>) -> (impl Iterator<Item = Range<usize>>, Range<usize>) {
    let Range { start, end } = range;
    let pieces = end.saturating_sub(start).saturating_sub(1) / COPY_BYTES;
    let rest = start.saturating_add(pieces.saturating_mul(COPY_BYTES));
    let pieces = (start..rest)
        .step_by(COPY_BYTES)
        .map(|at| at..at.saturating_add(COPY_BYTES));
    (pieces, rest..end)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(crate::seeds_beside_source())]

        #[test]
        fn pieces_and_rest_join(start in 0usize..300_000, length in prop_oneof![0usize..300_000, Just(COPY_BYTES), Just(2 * COPY_BYTES)]) {
            let end = start + length;
            let (pieces, rest) = split(start..end);
            let mut at = start;
            for piece in pieces {
                prop_assert_eq!((piece.start, piece.len()), (at, COPY_BYTES));
                at = piece.end;
            }
            prop_assert_eq!((rest.start, rest.end), (at, end));
            prop_assert!(rest.len() <= COPY_BYTES && (length == 0 || !rest.is_empty()));
        }

        #[test]
        fn a_held_body_takes_up_at_most_twice_its_length(chunks in prop::collection::vec(prop_oneof![1usize..40_000, 500usize..1500, Just(JOINED), Just(UNIT + JOINED)], 1..400)) {
            let mut body = HeldBody::default();
            let (mut length, mut memory, mut copied) = (0_usize, 0_usize, 0_usize);
            for chunk in chunks {
                prop_assert_eq!(body.unread(length + chunk), length..length + chunk);
                length += chunk;
                // A chunk of less than `JOINED` goes into free memory if there is some.
                memory += if chunk < JOINED { chunk } else { chunk.div_ceil(UNIT) * UNIT };
                if let Some(packed) = body.hold(length) {
                    prop_assert_eq!(packed, length);
                    memory = length;
                    copied += length;
                }
                prop_assert!(memory <= length + length.max(LOOSE), "{memory} for {length}");
                prop_assert!(copied <= length * (UNIT / JOINED));
            }
            body.release(b"gpt".to_vec());
            prop_assert_eq!(&*body.take_withheld(), b"gpt");
            prop_assert_eq!(body.unread(7), 3..7, "it counts anew, and has read what it withheld");
            body.hold(7);
            body.release(Vec::new());
            prop_assert_eq!(&*body.take_withheld(), b"");
            prop_assert_eq!(body.unread(7), 0..7, "it counts anew");
        }
    }
}
