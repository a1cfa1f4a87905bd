//! How far a JSON string goes on without anything that must be looked at.

use super::block::{Block, Marks, Piece, has_special, is_special, marks, specials};
use super::unescaped;

/// The places of the last bytes.
const LAST_OF_BLOCK: usize = size_of::<Block>() - 1;
const LAST_OF_PIECE: usize = size_of::<Piece>() - 1;

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
                Some(after) if escape > 2 || (escape == 2 && at == LAST_OF_BLOCK) => {
                    rest = after;
                    continue 'blocks;
                }
                // Both bytes of the escape are done with.
                Some(_) if escape == 2 => left &= !(0b11 << at),
                _ => return length_before(bytes, from),
            }
        }
        // Most strings are short; one that is not may well be long.
        match pass_pieces(tail) {
            Passed::UpTo(stop) => return length_before(bytes, stop),
            Passed::All(after) => rest = after,
        }
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

/// How many bytes at the start of both are the same.
pub(crate) fn common_prefix(a: &[u8], b: &[u8]) -> usize {
    let (blocks_a, rest_a) = a.as_chunks::<16>();
    let (blocks_b, _) = b.as_chunks::<16>();
    let mut same = 0_usize;
    for (x, y) in blocks_a.iter().zip(blocks_b) {
        let differ = u128::from_le_bytes(*x) ^ u128::from_le_bytes(*y);
        if differ != 0 {
            return same.saturating_add((differ.trailing_zeros() / 8) as usize);
        }
        same = same.saturating_add(x.len());
    }
    let tail_a = a.get(same..).unwrap_or(rest_a);
    let tail_b = b.get(same..).unwrap_or_default();
    let tail = tail_a.iter().zip(tail_b).take_while(|(x, y)| x == y);
    same.saturating_add(tail.count())
}

/// How far whole pieces could be passed over.
enum Passed<'a> {
    /// To the end of the last one; what is left is shorter than a piece.
    All(&'a [u8]),
    /// To something that is no plain character and no whole escape.
    UpTo(&'a [u8]),
}

/// Passes over plain characters and whole escapes, a piece at a time.
fn pass_pieces(bytes: &[u8]) -> Passed<'_> {
    let mut rest = bytes;
    while let Some((piece, tail)) = split_piece(rest) {
        if !has_special(piece) {
            rest = tail;
            continue;
        }
        let Marks {
            quotes,
            backslashes,
            others,
            ens,
        } = marks(piece);
        let (escaping, escaped) = escapes(backslashes);
        let stops = (quotes & !escaped) | others;
        let before_stop = stops.wrapping_sub(1) & !stops;
        // Nearly all escapes are `\"`, `\\` and `\n`; the others are looked at one by one.
        let plain = (escaped & (quotes | backslashes | ens)) >> 1;
        let mut left = escaping & before_stop & !plain;
        while left != 0 {
            let at = left.trailing_zeros() as usize;
            left &= left.wrapping_sub(1);
            let from = rest.get(at..).unwrap_or_default();
            match escape_length(from) {
                0 => return Passed::UpTo(from),
                2 if at == LAST_OF_PIECE => rest = from.get(2..).unwrap_or_default(),
                _ => {}
            }
        }
        if stops != 0 {
            let at = stops.trailing_zeros() as usize;
            return Passed::UpTo(rest.get(at..).unwrap_or_default());
        }
        // An escape over the border may have taken the first byte of the next piece already.
        if rest.len() > tail.len() {
            rest = tail;
        }
    }
    Passed::All(rest)
}

fn split_piece(bytes: &[u8]) -> Option<(&Piece, &[u8])> {
    let (piece, tail) = bytes.split_first_chunk::<64>()?;
    let (blocks, _) = piece.as_chunks::<16>();
    Some((blocks.first_chunk()?, tail))
}

/// Of the backslashes of a piece: those that begin an escape, and the places of the bytes that they escape. A
/// backslash that follows an escaping one is itself escaped.
fn escapes(backslashes: u64) -> (u64, u64) {
    /// Every other bit.
    const ODD: u64 = 0xAAAA_AAAA_AAAA_AAAA;
    // The subtraction borrows through each run of backslashes; where it stops tells whether the run's length was
    // odd (simdjson, Langdale and Lemire 2019, 3.1.1).
    let ends = ((backslashes << 1) | ODD).wrapping_sub(backslashes) ^ ODD;
    (ends & backslashes, ends ^ backslashes)
}

/// The bytes after as many blocks without anything special as can be told from at once.
fn skip_plain_blocks(bytes: &[u8]) -> &[u8] {
    let mut rest = bytes;
    while let Some((piece, tail)) = split_piece(rest) {
        if has_special(piece) {
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

    #[test]
    fn escapes_are_told_from_what_they_escape() {
        let cases = [
            ("none", 0b0, 0b0, 0b0),
            ("one", 0b1, 0b1, 0b10),
            ("two: the first escapes the second", 0b11, 0b01, 0b10),
            ("three", 0b111, 0b101, 0b1010),
            ("two apart", 0b1001, 0b1001, 0b10010),
            ("one at an odd place", 0b10, 0b10, 0b100),
            ("two at an odd place", 0b110, 0b010, 0b100),
            ("at the end", 1 << 63, 1 << 63, 0),
            (
                "all",
                u64::MAX,
                0x5555_5555_5555_5555,
                0xAAAA_AAAA_AAAA_AAAA,
            ),
        ];
        for (case, backslashes, escaping, escaped) in cases {
            assert_eq!(escapes(backslashes), (escaping, escaped), "{case}");
        }
    }

    #[test]
    fn common_prefixes_of_every_length() {
        let text: Vec<u8> = (0..70).collect();
        for len in 0..70 {
            for same in 0..=len {
                let mut other = text[..len].to_vec();
                if let Some(byte) = other.get_mut(same) {
                    *byte ^= 0x80;
                }
                assert_eq!(common_prefix(&text, &other), same, "{same} of {len}");
                assert_eq!(
                    common_prefix(&other, &text),
                    same,
                    "{same} of {len}, turned"
                );
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
                for place in 0..150 {
                    for gap in [0, 1, 14, 15, 62, 63] {
                        for end in [0, 140] {
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
