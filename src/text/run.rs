//! How far a JSON string goes on without anything that must be looked at.

use super::block::{Block, has_special, is_special, specials};
use super::unescaped;

/// The place of a block's last byte.
const LAST: usize = size_of::<Block>() - 1;

/// How many bytes at the start are plain characters of a JSON string: ASCII, no `"`, no `\`, no control
/// character under 0x20.
pub(crate) fn plain_run(bytes: &[u8]) -> usize {
    let mut rest = bytes;
    while let Some((block, tail)) = rest.split_first_chunk() {
        let specials = specials(block);
        if specials != 0 {
            let plain = specials.trailing_zeros() as usize;
            return length_before(bytes, rest).saturating_add(plain);
        }
        // Most strings are short; one that is not may well be long.
        rest = skip_plain_blocks(tail);
    }
    let plain = rest.iter().position(|&byte| is_special(byte));
    length_before(bytes, rest).saturating_add(plain.unwrap_or(rest.len()))
}

/// How many bytes at the start are plain characters or whole escapes (RFC 8259, 7): what a string that nobody
/// reads may be passed over by. Half a surrogate pair is an escape like any other.
pub(crate) fn passable_run(bytes: &[u8]) -> usize {
    let mut rest = bytes;
    'blocks: while let Some((block, tail)) = rest.split_first_chunk() {
        let mut left = specials(block);
        while left != 0 {
            let at = left.trailing_zeros() as usize;
            let from = rest.get(at..).unwrap_or_default();
            let escape = escape_length(from);
            match from.get(escape..) {
                Some(after) if escape > 2 || (escape == 2 && at == LAST) => {
                    rest = after;
                    continue 'blocks;
                }
                // Both bytes of the escape are done with.
                Some(_) if escape == 2 => left &= !(0b11 << at),
                _ => return length_before(bytes, from),
            }
        }
        rest = skip_plain_blocks(tail);
    }
    loop {
        let plain = rest.iter().position(|&byte| is_special(byte));
        rest = rest.get(plain.unwrap_or(rest.len())..).unwrap_or_default();
        let escape = escape_length(rest);
        if escape == 0 {
            return length_before(bytes, rest);
        }
        rest = rest.get(escape..).unwrap_or_default();
    }
}

/// The bytes after as many blocks without anything special as can be told from at once.
fn skip_plain_blocks(bytes: &[u8]) -> &[u8] {
    let mut rest = bytes;
    while let Some((piece, tail)) = rest.split_first_chunk::<64>() {
        let (blocks, _) = piece.as_chunks::<16>();
        let Some(blocks) = blocks.first_chunk() else {
            break;
        };
        if has_special(blocks) {
            break;
        }
        rest = tail;
    }
    rest
}

/// The length of the escape at the start; 0 where there is none, or not all of it.
fn escape_length(bytes: &[u8]) -> usize {
    match bytes {
        [b'\\', b'u', a, b, c, d, ..]
            if [a, b, c, d].iter().all(|digit| digit.is_ascii_hexdigit()) =>
        {
            6
        }
        [b'\\', byte, ..] if unescaped(*byte).is_some() => 2,
        _ => 0,
    }
}

/// How much of `bytes` comes before `rest`, its end.
fn length_before(bytes: &[u8], rest: &[u8]) -> usize {
    bytes.len().saturating_sub(rest.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_at_every_place_of_a_plain_run() {
        for len in [1, 7, 8, 9, 31, 32, 33, 70] {
            for place in 0..len {
                for byte in 0..=255u8 {
                    let mut text = vec![b'a'; len];
                    text[place] = byte;
                    // A second special byte right behind must not change where the first is found.
                    if let Some(next) = text.get_mut(place + 1) {
                        *next = b'"';
                    }
                    let plain = (0x20..=0x7F).contains(&byte) && byte != b'"' && byte != b'\\';
                    let want = if plain { (place + 1).min(len) } else { place };
                    assert_eq!(plain_run(&text), want, "byte {byte:#x} at {place} of {len}");
                }
            }
        }
    }

    /// The slow way.
    fn passed(bytes: &[u8]) -> usize {
        let mut at = 0;
        loop {
            at += match &bytes[at..] {
                [b'\\', b'u', digits @ ..]
                    if digits.len() >= 4 && digits[..4].iter().all(u8::is_ascii_hexdigit) =>
                {
                    6
                }
                [
                    b'\\',
                    b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't',
                    ..,
                ] => 2,
                [b'\\' | b'"', ..] => return at,
                [0x20..=0x7F, ..] => 1,
                _ => return at,
            };
        }
    }

    #[test]
    fn escapes_at_every_place() {
        let escapes = [
            "\\n",
            "\\\"",
            "\\\\",
            "\\\\\\\"",
            "\\u12aF",
            "\\u12",
            "\\u12x4",
            "\\x",
            "\\",
            "\"",
            "\u{e9}",
            "\n",
            "\\n\\t\\u0000\\\\",
        ];
        for first in escapes {
            for second in escapes {
                for place in 0..70 {
                    for gap in [0, 1, 13, 14, 15, 16, 40] {
                        for end in [0, 1, 70] {
                            let text = [
                                &"a".repeat(place),
                                first,
                                &"b".repeat(gap),
                                second,
                                &"c".repeat(end),
                            ]
                            .concat();
                            let bytes = text.as_bytes();
                            assert_eq!(passable_run(bytes), passed(bytes), "{text:?}");
                        }
                    }
                }
            }
        }
    }
}
