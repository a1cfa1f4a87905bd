//! How far a JSON string goes on before anything that must be looked at.
//!
//! Text is skipped in three ways, each for what the one before stops at: what is plain, 64 bytes at a time; what has no
//! escapes but the commonest, which is nearly all of a text in English or of a program; and what has any. UTF-8 is checked
//! afterwards, and only where a byte outside ASCII was seen.

use super::escape::unescaped;
use super::lanes::{Block, Bytes16, Lanes, any, bits, split_block};
use super::utf8::{character_length, unfinished, valid_prefix};
use core::hint::black_box;

/// How many bytes at the start are plain characters of a JSON string: ASCII, no `"`, no `\`, no control
/// character under 0x20.
pub(crate) fn skip_plain(bytes: &[u8]) -> usize {
    skip_unescaped::<true>(bytes)
}

/// How many bytes at the start are plain characters, whole escapes (RFC 8259, 7) or whole characters outside ASCII: the
/// part of a string that nobody reads. Adds to `unicode` how many `\uXXXX` are among them. Half a surrogate pair is an
/// escape like any other.
#[inline]
pub(crate) fn skip_string(bytes: &[u8], unicode: &mut u64) -> usize {
    // Most strings are short.
    if let Some(vector) = bytes.first_chunk() {
        let plain = first_end::<true>(vector);
        if vector.get(plain) == Some(&b'"') {
            return plain;
        }
    }
    skip_blocks::<true>(bytes, 0, unicode)
}

/// The same without a look at UTF-8 and at what is escaped: up to a `"` that is not escaped, a control character, or a
/// backslash that ends the bytes or stands before a control character. Every `\u` counts.
#[inline]
pub(crate) fn skip_text(bytes: &[u8], unicode: &mut u64) -> usize {
    // Most texts are short.
    let head = bytes.get(..size_of::<Block>()).unwrap_or(bytes);
    let at = skip_singly::<false>(head, 0, unicode);
    match head.get(at..) {
        Some([] | [b'\\']) if head.len() < bytes.len() => skip_blocks::<false>(bytes, at, unicode),
        _ => at,
    }
}

/// How many blocks are skipped in the last way before the one before is tried again.
const MARKED_BLOCKS: u8 = 8;

// It needs all registers for itself.
#[inline(never)]
fn skip_blocks<const STRICT: bool>(bytes: &[u8], from: usize, unicode: &mut u64) -> usize {
    let needles = Needles::new();
    let before = *unicode;
    let mut at = needles.skip_plain(bytes, from);
    // From where on there may be characters outside ASCII.
    let mut wide = None;
    loop {
        match bytes.get(at) {
            None | Some(b'"') => break,
            Some(0x80..) if wide.is_none() => wide = Some(at),
            _ => {}
        }
        let start = at;
        at = match wide {
            None => needles.skip_simple::<false>(bytes, at),
            Some(_) => needles.skip_simple::<true>(bytes, at),
        };
        match bytes.get(at) {
            None | Some(b'"') => break,
            Some(0x80..) if wide.is_none() => continue,
            _ => {}
        }
        let few = at.saturating_sub(start) < size_of::<Block>();
        let blocks = if few { MARKED_BLOCKS } else { 1 };
        let marked = at;
        let skipped = needles.skip_marked::<STRICT>(bytes, at, blocks, unicode);
        at = skipped.at;
        if wide.is_none() && skipped.wide {
            wide = Some(marked);
        }
        if skipped.ended {
            if STRICT {
                // It may be inside a character.
                at = at.saturating_sub(unfinished(bytes.get(..at).unwrap_or_default()));
            }
            at = skip_singly::<STRICT>(bytes, at, unicode);
            break;
        }
    }
    match wide {
        Some(wide) if STRICT => {
            let text = bytes.get(wide..at).unwrap_or_default();
            let valid = wide.saturating_add(valid_prefix(text));
            // Less is the beginning of a character, in which no escape ends.
            if at.saturating_sub(valid) > 3 {
                *unicode = before;
                skip_singly::<false>(bytes.get(..valid).unwrap_or_default(), 0, unicode);
            }
            valid.min(at)
        }
        _ => at,
    }
}

/// What the bytes of a block are compared with.
#[derive(Debug, Clone, Copy)]
struct Needles {
    quote: Lanes,
    backslash: Lanes,
    en: Lanes,
    space: Lanes,
    control: Lanes,
}

static NEEDLES: [Bytes16; 5] = [[b'"'; 16], [b'\\'; 16], [b'n'; 16], [b' '; 16], [0x1F; 16]];

/// How far [`Needles::skip_marked`] has come.
struct Skipped {
    at: usize,
    /// Nothing follows that could be skipped so.
    ended: bool,
    /// A byte outside ASCII was seen.
    wide: bool,
}

impl Needles {
    fn new() -> Self {
        // V8 makes a constant anew wherever it is used, and in a loop each time; what comes out of memory stays in
        // its register.
        let [quote, backslash, en, space, control] =
            black_box(&NEEDLES).each_ref().map(Lanes::load);
        Self {
            quote,
            backslash,
            en,
            space,
            control,
        }
    }

    /// Marks lanes where a block has a byte that ends it: a control character, or unless `WIDE` one outside ASCII.
    fn ends<const WIDE: bool>(&self, block: [Lanes; 4]) -> Lanes {
        if WIDE {
            let [a, b, c, d] = block;
            let least = a.min(b).min(c.min(d));
            least.min(self.control).eq(least)
        } else {
            // As signed numbers, the bytes outside ASCII are less than every character.
            Lanes::any_less(block, self.space)
        }
    }

    /// Where the first byte is, from `at` on, that is not plain, or where less than a block is left.
    fn skip_plain(&self, bytes: &[u8], at: usize) -> usize {
        let mut rest = bytes.get(at..).unwrap_or_default();
        // Data in base64 and much else has nothing to look at from end to end.
        while let Some((block, tail)) = split_block(rest) {
            let lanes = block.each_ref().map(Lanes::load);
            let escapes = any(lanes.map(|it| it.eq(self.quote).or(it.eq(self.backslash))));
            if escapes.or(self.ends::<false>(lanes)).bits() != 0 {
                // What is found here again would else be kept for it wherever the block is plain.
                let special = bits(black_box(block).each_ref().map(ends::<true>));
                return length_before(bytes, rest)
                    .saturating_add(special.trailing_zeros() as usize);
            }
            rest = tail;
        }
        length_before(bytes, rest)
    }

    /// Where the first byte is, from `at` on, that is no plain character, `\n` or `\"`, or with `WIDE` any byte outside ASCII;
    /// it may be one of them where less than a block is left.
    fn skip_simple<const WIDE: bool>(&self, bytes: &[u8], at: usize) -> usize {
        let from = bytes.get(at..).unwrap_or_default();
        let mut rest = from;
        let mut before = Lanes::splat(0);
        while let Some((block, tail)) = split_block(rest) {
            let lanes = block.each_ref().map(Lanes::load);
            let (amiss, last) = self.escapes_amiss(before, lanes);
            if any(amiss).or(self.ends::<WIDE>(lanes)).bits() != 0 {
                // As for the first plain one.
                let lanes = black_box(block).each_ref().map(Lanes::load);
                let (amiss, _) = self.escapes_amiss(before, lanes);
                let ends = lanes.map(|it| {
                    if WIDE {
                        it.controls()
                    } else {
                        it.less(self.space)
                    }
                });
                let first = (bits(amiss) | bits(ends)).trailing_zeros();
                rest = rest.get(first as usize..).unwrap_or_default();
                break;
            }
            (before, rest) = (last, tail);
        }
        let passed = length_before(from, rest);
        let simple = match from.get(..passed) {
            // It begins an escape.
            Some([simple @ .., b'\\']) => simple.len(),
            _ => passed,
        };
        at.saturating_add(simple)
    }

    /// Where a block has a quote that no backslash is before, or behind a backslash anything but a quote or an `n`; and its
    /// last backslashes.
    fn escapes_amiss(&self, before: Lanes, block: [Lanes; 4]) -> ([Lanes; 4], Lanes) {
        let mut last = before;
        let amiss = block.map(|lanes| {
            let backslashes = lanes.eq(self.backslash);
            let escaped = backslashes.behind(last);
            last = backslashes;
            // V8 has no instruction for what is not equal, which the compiler would make of a negation.
            escaped.less_by(lanes.eq(self.en)).xor(lanes.eq(self.quote))
        });
        (amiss, last)
    }

    /// Skips so many blocks from `at` on, whatever escapes they have, and on to the end of an escape.
    // Few strings come to this: it stays out of what all the others run through.
    #[inline(never)]
    fn skip_marked<const STRICT: bool>(
        self,
        bytes: &[u8],
        at: usize,
        blocks: u8,
        unicode: &mut u64,
    ) -> Skipped {
        let mut skipped = Skipped {
            at,
            ended: true,
            wide: false,
        };
        let mut rest = bytes.get(at..).unwrap_or_default();
        let mut escapes = Escapes::default();
        let mut left = blocks;
        while left > 0 || escapes.is_open() {
            left = left.saturating_sub(1);
            let Some((block, tail)) = split_block(rest) else {
                return skipped;
            };
            let lanes = block.each_ref().map(Lanes::load);
            let quotes = bits(lanes.map(|it| it.eq(self.quote)));
            let backslashes = bits(lanes.map(|it| it.eq(self.backslash)));
            skipped.wide |= any(lanes).bits() != 0;
            let mut known = escapes.next::<STRICT>(lanes, quotes, backslashes);
            let mut stops = known.quotes;
            if self.ends::<true>(lanes).bits() != 0 {
                let controls = bits(lanes.map(Lanes::controls));
                stops |= controls;
                // Escaped or not, it stands for nothing.
                known.wrong |= controls & known.escaped;
            }
            let ends = stops | known.wrong;
            if ends != 0 {
                // Where no escape is wrong up to there, all before it is skipped.
                let first = ends & ends.wrapping_neg();
                if known.wrong & first == 0 {
                    let before = first.wrapping_sub(1);
                    *unicode =
                        unicode.saturating_add(u64::from((known.unicode & before).count_ones()));
                    skipped.at =
                        length_before(bytes, rest).saturating_add(first.trailing_zeros() as usize);
                }
                return skipped;
            }
            *unicode = unicode.saturating_add(u64::from(known.unicode.count_ones()));
            rest = tail;
            skipped.at = length_before(bytes, rest).saturating_sub(escapes.open);
        }
        skipped.ended = false;
        skipped
    }
}

/// How an escape goes on from block to block.
#[derive(Debug, Clone, Copy, Default)]
struct Escapes {
    /// Bit 0: the first byte of the next block is escaped.
    escaped: u64,
    /// Which bytes of the next block are digits of a `\uXXXX`, and which is the last of them.
    digits: u64,
    last_digit: u64,
    /// How many bytes before the next block the escape begins that goes on in it.
    open: usize,
}

/// What a block has, one bit for each byte.
struct Marks {
    /// Quotes that are not escaped.
    quotes: u64,
    /// Bytes that a backslash escapes.
    escaped: u64,
    /// What makes an escape wrong.
    wrong: u64,
    /// Where each `\uXXXX` is told: at its last digit.
    unicode: u64,
}

impl Escapes {
    /// What the escapes of the next block are. Unless `STRICT` none is wrong, and a `\u` is told at its letter.
    fn next<const STRICT: bool>(
        &mut self,
        block: [Lanes; 4],
        quotes: u64,
        backslashes: u64,
    ) -> Marks {
        let equal = |byte: u8| block.map(|lanes| lanes.eq(Lanes::splat(byte)));
        let (escaping, escaped) = escapes(backslashes & !self.escaped);
        let escaped = escaped | self.escaped;
        let mut marks = Marks {
            quotes: quotes & !escaped,
            escaped,
            wrong: 0,
            unicode: self.last_digit,
        };
        self.escaped = escaping >> 63;
        self.open = self.escaped as usize;
        // Nearly all escapes are `\"`, `\\`, `\n` and `\t`.
        let letters = escaped & !(quotes | backslashes);
        if letters | self.digits == 0 {
            return marks;
        }
        let usual = block.map(|lanes| {
            lanes
                .eq(Lanes::splat(b'n'))
                .or(lanes.eq(Lanes::splat(b't')))
        });
        let letters = letters & !bits(usual);
        if letters | self.digits == 0 {
            return marks;
        }
        let unicode = letters & bits(equal(b'u'));
        if !STRICT {
            marks.unicode = unicode;
            return marks;
        }
        let odd = letters & !unicode;
        if odd != 0 {
            let known = [b'r', b'/', b'b', b'f'].into_iter();
            marks.wrong = known.fold(odd, |odd, letter| odd & !bits(equal(letter)));
        }
        let digits =
            self.digits | (unicode << 1) | (unicode << 2) | (unicode << 3) | (unicode << 4);
        if digits != 0 {
            marks.wrong |= digits & !bits(block.map(Lanes::hex_digits));
        }
        marks.unicode |= unicode << 4;
        self.last_digit = unicode >> 60;
        self.digits = (unicode >> 63) | (unicode >> 62) | (unicode >> 61) | self.last_digit;
        if self.digits != 0 {
            self.open = unicode.leading_zeros().saturating_add(2) as usize;
        }
        marks
    }

    fn is_open(&self) -> bool {
        self.open > 0
    }
}

/// Of the backslashes of a block: those that begin an escape, and the places of the bytes that they escape. A
/// backslash that follows an escaping one is itself escaped.
fn escapes(backslashes: u64) -> (u64, u64) {
    /// Every other bit.
    const ODD: u64 = 0xAAAA_AAAA_AAAA_AAAA;
    // The subtraction borrows through each run of backslashes; where it stops tells whether the run's length was
    // odd (simdjson, Langdale and Lemire 2019, 3.1.1).
    let ends = ((backslashes << 1) | ODD).wrapping_sub(backslashes) ^ ODD;
    (ends & backslashes, ends ^ backslashes)
}

/// Skips from `at` on one escape and one character outside ASCII at a time.
fn skip_singly<const STRICT: bool>(bytes: &[u8], at: usize, unicode: &mut u64) -> usize {
    let mut rest = bytes.get(at..).unwrap_or_default();
    loop {
        let after = rest
            .get(skip_unescaped::<STRICT>(rest)..)
            .unwrap_or_default();
        let (length, is_unicode) = match after {
            [b'\\', b'u', digits @ ..] if STRICT => {
                let whole = digits.first_chunk::<4>();
                let hex = whole.is_some_and(|four| four.iter().all(u8::is_ascii_hexdigit));
                (if hex { 6 } else { 0 }, hex)
            }
            [b'\\', letter, ..] if STRICT => {
                (if unescaped(*letter).is_some() { 2 } else { 0 }, false)
            }
            [b'\\', letter @ 0x20..=0xFF, ..] => (2, *letter == b'u'),
            [0x80..=0xFF, ..] => (character_length(after), false),
            _ => (0, false),
        };
        if length == 0 {
            return length_before(bytes, after);
        }
        *unicode = unicode.saturating_add(u64::from(is_unicode));
        rest = after.get(length..).unwrap_or_default();
    }
}

/// How many bytes come before the first quote, backslash or control character, or where `ASCII` alone is meant the first
/// byte outside it.
fn skip_unescaped<const ASCII: bool>(bytes: &[u8]) -> usize {
    let mut rest = bytes;
    while let Some((vector, tail)) = rest.split_first_chunk() {
        let plain = first_end::<ASCII>(vector);
        if plain < vector.len() {
            return length_before(bytes, rest).saturating_add(plain);
        }
        rest = tail;
    }
    let is_end = |byte: &u8| matches!(byte, b'"' | b'\\' | ..0x20) || (ASCII && !byte.is_ascii());
    let plain = rest.iter().position(is_end).unwrap_or(rest.len());
    length_before(bytes, rest).saturating_add(plain)
}

/// How many bytes come before the first of these.
#[inline]
pub(super) fn first_end<const ASCII: bool>(bytes: &Bytes16) -> usize {
    (u32::from(ends::<ASCII>(bytes).bits()) | (1 << bytes.len())).trailing_zeros() as usize
}

/// Where they are.
#[inline]
fn ends<const ASCII: bool>(bytes: &Bytes16) -> Lanes {
    let lanes = Lanes::load(bytes);
    let equal = |byte| lanes.eq(Lanes::splat(byte));
    // As signed numbers, the bytes outside ASCII are less than every character.
    let end = if ASCII {
        lanes.less(Lanes::splat(b' '))
    } else {
        lanes.controls()
    };
    end.or(equal(b'"').or(equal(b'\\')))
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
    fn every_byte_at_every_place_of_a_skip_plain() {
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
                    assert_eq!(
                        skip_plain(&text),
                        want,
                        "byte {byte:#x} at {place} of {len}"
                    );
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
                            assert_eq!(skip_string(&text, &mut 0), passed(&text), "{name}");
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
                    assert_eq!(skip_string(&text, &mut 0), length, "{part} and {end:x?}");
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
            let length = skip_string(&text, &mut unicode);
            prop_assert_eq!(length, passed(&text), "{}", text.escape_ascii());
            prop_assert_eq!(unicode, unicode_escapes(&text[..length]), "{}", text.escape_ascii());
            check_text(&text);
        }
    }

    /// The slow way.
    fn text_end(bytes: &[u8]) -> (usize, u64) {
        let (mut at, mut unicode) = (0, 0);
        loop {
            at += match &bytes[at..] {
                [] | [b'"' | 0..0x20, ..] | [b'\\'] | [b'\\', 0..0x20, ..] => return (at, unicode),
                [b'\\', escaped, ..] => {
                    unicode += u64::from(*escaped == b'u');
                    2
                }
                _ => 1,
            };
        }
    }

    fn check_text(bytes: &[u8]) {
        let mut unicode = 0;
        let end = skip_text(bytes, &mut unicode);
        assert_eq!((end, unicode), text_end(bytes), "{}", bytes.escape_ascii());
    }

    #[test]
    fn every_byte_at_every_place_of_a_text() {
        for len in [1, 2, 15, 16, 17, 31, 32, 33, 50, 63, 64, 65, 130] {
            for place in 0..len {
                for byte in 0..=255u8 {
                    for before in [b'a', b'\\', 0xC3] {
                        let mut text = vec![b'a'; len];
                        if place > 0 {
                            text[place - 1] = before;
                        }
                        text[place] = byte;
                        for end in [&b""[..], b"\"", b"\"\\\n and more than a block"] {
                            check_text(&[&text, end].concat());
                        }
                    }
                }
            }
        }
    }
}
