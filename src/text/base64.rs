//! Data in base64, which is the most of a body with pictures: sixteen bytes at a time.

use core::hint::black_box;

use super::lanes::{Bytes16, Lanes, any};
use super::string::find_in_blocks;

/// The lower half of a byte.
const BELOW: Bytes16 = [0x0F; 16];
/// A bit for each class of upper halves: 1 for 0x2, 2 for 0x3, 4 for 0x4 and 0x6, 8 for 0x5, 16 for 0x7, 32 for all else.
const CLASSES: Bytes16 = [32, 32, 1, 2, 4, 8, 4, 16, 32, 32, 32, 32, 32, 32, 32, 32];
/// By its lower half: the classes in which a byte is of no alphabet.
const FOREIGN: Bytes16 = [
    37, 33, 33, 33, 33, 33, 33, 33, 33, 33, 35, 58, 59, 56, 59, 50,
];

/// Counts the bytes at the start that are of the alphabets of base64 (RFC 4648, 4 and 5), with its padding.
pub(crate) fn base64_run(bytes: &[u8]) -> usize {
    // V8 makes a constant anew wherever it is used; what comes out of memory stays in its register.
    let [below, classes, foreign] = black_box(&[BELOW, CLASSES, FOREIGN])
        .each_ref()
        .map(Lanes::load);
    let amiss = |lanes: Lanes| {
        let upper = lanes.upper_halves().looked_up(classes);
        lanes.and(below).looked_up(foreign).and(upper)
    };
    let mark = |lanes: Lanes| Lanes::splat(0).less(lanes);
    let passed = find_in_blocks(
        bytes,
        |block| mark(any(block.map(amiss))),
        |block| block.map(amiss).map(mark),
    );
    let rest = bytes.get(passed..).unwrap_or_default();
    let run = rest.iter().position(|byte| !is_base64(*byte));
    passed.saturating_add(run.unwrap_or(rest.len()))
}

fn is_base64(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'-' | b'_' | b'=')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_at_every_place() {
        let alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/-_=";
        for len in [1, 15, 64, 65, 130] {
            for place in 0..len {
                for byte in 0..=u8::MAX {
                    let mut text = vec![b'A'; len];
                    text[place] = byte;
                    // Another one right behind must not change where the first is found.
                    if let Some(next) = text.get_mut(place + 1) {
                        *next = b'!';
                    }
                    let is_of = alphabet.as_bytes().contains(&byte);
                    let want = if is_of { (place + 1).min(len) } else { place };
                    assert_eq!(base64_run(&text), want, "{byte:#x} at {place} of {len}");
                }
            }
        }
    }
}
