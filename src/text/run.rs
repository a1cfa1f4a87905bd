//! How far a JSON string goes on without anything that must be looked at.

use super::block::{Before, Block, Marks, Needles, Piece, controls, is_special, plain};
use super::unescaped;
use super::wide::{character_length, is_utf8, unfinished};

/// How many bytes at the start are plain characters of a JSON string: ASCII, no `"`, no `\`, no control
/// character under 0x20.
pub(crate) fn plain_run(bytes: &[u8]) -> usize {
    let mut rest = bytes;
    while let Some((block, tail)) = rest.split_first_chunk() {
        let plain = plain(block);
        if plain < block.len() {
            return length_before(bytes, rest).saturating_add(plain);
        }
        rest = tail;
    }
    let plain = rest.iter().position(|&byte| is_special(byte));
    length_before(bytes, rest).saturating_add(plain.unwrap_or(rest.len()))
}

/// After a piece that is not simple it takes so many more to ask again.
const WARY: u8 = 8;

/// How many bytes at the start are plain characters, whole escapes (RFC 8259, 7) or whole characters outside ASCII:
/// what a string that nobody reads may be passed over by. Half a surrogate pair is an escape like any other.
#[inline]
pub(crate) fn passable_run(bytes: &[u8]) -> usize {
    passable_run_counting(bytes, &mut 0)
}

/// The same, and adds to `unicode` how many `\uXXXX` are among them.
#[inline]
pub(crate) fn passable_run_counting(bytes: &[u8], unicode: &mut u64) -> usize {
    // Most strings are short.
    if let Some(block) = bytes.first_chunk::<{ size_of::<Block>() }>() {
        let plain = plain(block);
        if block.get(plain) == Some(&b'"') {
            return plain;
        }
    }
    pass_pieces(bytes, unicode)
}

/// The same, told a piece at a time.
// It needs all registers for itself.
#[inline(never)]
fn pass_pieces(bytes: &[u8], unicode: &mut u64) -> usize {
    let needles = Needles::new();
    let mut rest = after_plain(&needles, bytes);
    while !matches!(rest, [b'"', ..]) {
        let simple = simple_run(&needles, rest);
        rest = rest.get(simple..).unwrap_or_default();
        if matches!(rest, [b'"', ..]) {
            break;
        }
        let pieces = if simple < size_of::<Piece>() { WARY } else { 1 };
        match pass_marked(bytes, length_before(bytes, rest), pieces, unicode) {
            Ok(passed) => rest = bytes.get(passed..).unwrap_or_default(),
            Err(passed) => return pass_singly(bytes, passed, unicode),
        }
    }
    length_before(bytes, rest)
}

/// What is left at the first special byte, or at less than a piece.
fn after_plain<'a>(needles: &Needles, bytes: &'a [u8]) -> &'a [u8] {
    let mut rest = bytes;
    // Data in base64 and much else has nothing to look at from end to end.
    while let Some((piece, tail)) = split_piece(rest) {
        if !needles.none_in(piece) {
            let plain = needles.first_special(piece);
            return rest.get(plain..).unwrap_or_default();
        }
        rest = tail;
    }
    rest
}

/// How many bytes at the start are plain characters, `\n` and `\"`, as nearly all of a text in English or of a program is,
/// told a piece at a time. What follows may be more of them where less than a piece is left.
fn simple_run(needles: &Needles, bytes: &[u8]) -> usize {
    let mut rest = bytes;
    let mut before = Before::nothing();
    while let Some((piece, tail)) = split_piece(rest) {
        let Some(next) = needles.simple(before, piece) else {
            let simple = needles.first_amiss(before, piece);
            rest = rest.get(simple..).unwrap_or_default();
            break;
        };
        (before, rest) = (next, tail);
    }
    let passed = length_before(bytes, rest);
    match bytes.get(..passed) {
        // It begins an escape.
        Some([simple @ .., b'\\']) => simple.len(),
        _ => passed,
    }
}

/// Passes over so many pieces from `at` on, and to the end of a character; how far the bytes are passed then. It is an
/// error where no piece follows that could be passed over.
// Few strings come to this: it stays out of what all the others run through.
#[inline(never)]
fn pass_marked(bytes: &[u8], at: usize, pieces: u8, unicode: &mut u64) -> Result<usize, usize> {
    let needles = Needles::new();
    let mut rest = bytes.get(at..).unwrap_or_default();
    let mut left = pieces;
    // Whether the bytes before may end inside a character.
    let mut inside = false;
    while left > 0 || inside {
        left = left.saturating_sub(1);
        let at = length_before(bytes, rest);
        let whole = || at.saturating_sub(unfinished(bytes.get(..at).unwrap_or_default()));
        let Some((piece, tail)) = split_piece(rest) else {
            return Err(whole());
        };
        let Marks {
            quotes,
            backslashes,
            letters,
            others,
        } = needles.marks(piece);
        let (escaping, escaped) = escapes(backslashes);
        let mut stops = quotes & !escaped;
        // Nearly all escapes are `\"`, `\\`, `\n` and `\t`; the others are looked at one by one.
        let mut odd = escaping & !((escaped & (quotes | backslashes | letters)) >> 1);
        let wide = others | inside;
        // One question for all that is rare: in text with many escapes each by itself would often be answered wrong
        // before it is asked.
        if stops | odd | u64::from(wide) == 0 {
            rest = tail;
            continue;
        }
        if wide {
            let before = bytes.get(..at).and_then(|passed| passed.last_chunk());
            if !is_utf8(before.unwrap_or(&[0; 16]), piece) {
                return Err(whole());
            }
            stops |= controls(piece);
            inside = others;
        }
        odd &= stops.wrapping_sub(1) & !stops;
        rest = tail;
        if odd != 0 {
            let (whole, end) = pass_escapes(bytes, at, odd, unicode);
            if !whole {
                return Err(end);
            }
            rest = bytes.get(end..).unwrap_or_default();
        }
        if stops != 0 {
            return Err(at.saturating_add(stops.trailing_zeros() as usize));
        }
    }
    Ok(length_before(bytes, rest))
}

/// How many bytes are passed when those behind `at` are looked at one by one, up to what cannot be passed over.
#[inline(never)]
fn pass_singly(bytes: &[u8], at: usize, unicode: &mut u64) -> usize {
    let mut rest = bytes.get(at..).unwrap_or_default();
    while !matches!(rest, [] | [b'"', ..]) {
        let after = rest.get(plain_run(rest)..).unwrap_or_default();
        let length = escape_length(after).max(character_length(after));
        note_unicode(length, unicode);
        rest = after.get(length..).unwrap_or_default();
        if length == 0 {
            break;
        }
    }
    length_before(bytes, rest)
}

/// Looks at the escapes that begin at these places of the piece at `at`: whether all of them are whole, and how far the
/// bytes are passed then, at least to the end of the piece; or where the one begins that is not.
// Few pieces have any: this stays out of the loop that all the others run through.
#[inline(never)]
fn pass_escapes(bytes: &[u8], at: usize, places: u64, unicode: &mut u64) -> (bool, usize) {
    let (mut left, mut end) = (places, at.saturating_add(size_of::<Piece>()));
    while left != 0 {
        let start = at.saturating_add(left.trailing_zeros() as usize);
        left &= left.wrapping_sub(1);
        match escape_length(bytes.get(start..).unwrap_or_default()) {
            0 => return (false, start),
            // The last one may go over the border.
            length => {
                note_unicode(length, unicode);
                end = end.max(start.saturating_add(length));
            }
        }
    }
    (true, end)
}

fn split_piece(bytes: &[u8]) -> Option<(&Piece, &[u8])> {
    let (piece, tail) = bytes.split_first_chunk::<{ size_of::<Piece>() }>()?;
    let (blocks, _) = piece.as_chunks();
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

/// The length of the escape at the start; 0 where there is none, or not all of it.
fn escape_length(bytes: &[u8]) -> usize {
    match bytes {
        [b'\\', b'u', a, b, c, d, ..]
            if [a, b, c, d].iter().all(|digit| digit.is_ascii_hexdigit()) =>
        {
            UNICODE_ESCAPE
        }
        [b'\\', byte, ..] if unescaped(*byte).is_some() => 2,
        _ => 0,
    }
}

/// The length of `\uXXXX`; no character in UTF-8 is as long.
const UNICODE_ESCAPE: usize = 6;

/// Counts an escape of this length, if it is a `\uXXXX`.
fn note_unicode(length: usize, unicode: &mut u64) {
    *unicode = unicode.saturating_add(u64::from(length == UNICODE_ESCAPE));
}

/// How much of `bytes` comes before `rest`, its end.
fn length_before(bytes: &[u8], rest: &[u8]) -> usize {
    bytes.len().saturating_sub(rest.len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

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
                [0x80..=0xFF, ..] => {
                    let character = bytes[at..].iter().take(4).copied().collect::<Vec<u8>>();
                    let is_one = |length: &usize| {
                        let text = character.get(..*length).map(core::str::from_utf8);
                        matches!(text, Some(Ok(text)) if text.chars().count() == 1)
                    };
                    match (2..=4).find(is_one) {
                        Some(length) => length,
                        None => return at,
                    }
                }
                _ => return at,
            };
        }
    }

    /// Escapes and characters, whole and broken, and what is neither.
    const PARTS: [&[u8]; 27] = [
        b"\\n",
        b"\\\"",
        b"\\\\",
        b"\\\\\\\"",
        b"\\u12aF",
        b"\\u12",
        b"\\u12x4",
        b"\\x",
        b"\\",
        b"\"",
        b"\n",
        b"\\n\\t\\u0000\\\\",
        b"\\\xC3\xA9",
        "\u{e9}".as_bytes(),
        "\u{20ac}".as_bytes(),
        "\u{d7ff}\u{e000}".as_bytes(),
        "\u{1f600}\u{10ffff}".as_bytes(),
        "\u{e9}\u{20ac}\u{1f600}".as_bytes(),
        b"\x80",
        b"\xC3",
        b"\xE2\x82",
        b"\xF0\x9F\x98",
        b"\xE0\x80\x80",
        b"\xED\xA0\x80",
        b"\xF4\x90\x80\x80",
        b"\xE2\x82\xAC\xAC",
        b"\xC3\n",
    ];

    #[test]
    fn escapes_and_characters_at_every_place() {
        for first in PARTS {
            for second in PARTS {
                for place in (0..20).chain(44..68).chain(110..132) {
                    for gap in [0, 1, 15, 62] {
                        for end in [0, 140] {
                            let gap = "b".repeat(gap);
                            let (start, end) = ("a".repeat(place), "c".repeat(end));
                            let text = [
                                start.as_bytes(),
                                first,
                                gap.as_bytes(),
                                second,
                                end.as_bytes(),
                            ]
                            .concat();
                            let name = text.escape_ascii();
                            assert_eq!(passable_run(&text), passed(&text), "{name}");
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn what_is_broken_is_found_behind_any_number_of_pieces() {
        for part in ["\u{e9}", "\u{20ac}", "\\t"] {
            for length in 0..20 * 64 {
                let mut text = part.repeat(length / part.len()).into_bytes();
                text.resize(length, b'a');
                for end in [b"\xC3".as_slice(), b"\xE2\x82", b"\\", b"\\x"] {
                    let text = [&text, end, &[b'a'; 140]].concat();
                    assert_eq!(passable_run(&text), length, "{part} and {end:x?}");
                }
            }
        }
    }

    /// How many `\uXXXX` a text of whole escapes has.
    fn unicode_escapes(text: &[u8]) -> u64 {
        let (mut count, mut rest) = (0, text);
        while let Some((byte, tail)) = rest.split_first() {
            rest = tail;
            if *byte == b'\\' {
                count += u64::from(rest[0] == b'u');
                rest = &rest[1..];
            }
        }
        count
    }

    /// Long enough that ways to pass a piece are left and taken up again: some text with a few parts in it.
    fn long_text() -> impl Strategy<Value = Vec<u8>> {
        let whole = prop::sample::select(
            PARTS
                .iter()
                .filter(|p| passed(p) == p.len())
                .collect::<Vec<_>>(),
        );
        let text = prop_oneof![
            6 => (0..200_usize).prop_map(|length| vec![b'a'; length]),
            3 => whole.clone().prop_map(|part| part.to_vec()),
            1 => (whole, 1..100_usize).prop_map(|(part, times)| part.repeat(times)),
        ];
        let end = prop::sample::select(&PARTS[..]);
        (prop::collection::vec(text, 0..40), end)
            .prop_map(|(texts, end)| [&texts.concat(), end, b"behind"].concat())
    }

    proptest! {
        #![proptest_config(crate::seeds_beside_source())]

        #[test]
        fn long_texts_are_passed_as_far_as_short_ones(text in long_text()) {
            let mut unicode = 0;
            let length = passable_run_counting(&text, &mut unicode);
            prop_assert_eq!(length, passed(&text), "{}", text.escape_ascii());
            prop_assert_eq!(unicode, unicode_escapes(&text[..length]), "{}", text.escape_ascii());
        }
    }
}
