//! Skips a JSON string up to anything that must be looked at.
//!
//! Text is skipped in three ways, each for what the one before stops at: what is plain, 64 bytes at a time; what has no
//! escapes but the commonest, which is nearly all of a text in English or of a program; and what has any. UTF-8 is checked
//! afterwards, and only where a byte outside ASCII was seen.

use super::escape::unescaped;
use super::lanes::{Block, Bytes16, Lanes, any, bits, blocks, either};
use super::utf8::{character_length, unfinished, valid_prefix};
use core::cell::Cell;
use core::hint::black_box;

/// Counts the bytes at the start that are plain characters of a JSON string: ASCII, no `"`, no `\`, no control
/// character under 0x20.
pub(crate) fn skip_plain(bytes: &[u8]) -> usize {
    let mut at = 0_usize;
    loop {
        let plain = Needles::known().plain(false, bytes.get(at..).unwrap_or_default());
        at = at.saturating_add(plain);
        if plain < size_of::<Bytes16>() {
            return at;
        }
    }
}

/// Counts the bytes at the start that are plain characters, whole escapes (RFC 8259, 7) or whole characters outside ASCII: the
/// part of a string that nobody reads. Adds to `unicode` how many `\uXXXX` are among them. Half a surrogate pair is an
/// escape like any other.
#[inline]
pub(crate) fn skip_string(bytes: &[u8], unicode: &mut u64) -> usize {
    // Most strings are short.
    if let Some(vector) = bytes.first_chunk() {
        let plain = Needles::known().plain_of(false, vector);
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
    match skip_singly::<false>(&Needles::known(), bytes, 0, size_of::<Block>(), unicode) {
        at if at < size_of::<Block>() => at,
        at => skip_blocks::<false>(bytes, at, unicode),
    }
}

/// The number of blocks skipped in the last way before the one before is tried again.
const MARKED_BLOCKS: u8 = 64;

// It needs all registers for itself.
#[inline(never)]
fn skip_blocks<const STRICT: bool>(bytes: &[u8], from: usize, unicode: &mut u64) -> usize {
    let before = *unicode;
    let needles = Needles::new();
    let mut at = needles.skip_plain(bytes, from);
    // From where on there may be characters outside ASCII.
    let mut wide = None;
    // Whether `\t` is one of the commonest escapes in this text.
    let mut tabs = false;
    let singly = loop {
        match bytes.get(at) {
            None | Some(b'"') => break false,
            Some(0x80..) if wide.is_none() => wide = Some(at),
            _ => {}
        }
        let start = at;
        at = match (wide, tabs) {
            (None, false) => needles.skip_simple::<false, false>(bytes, at),
            (None, true) => Needles::skip_rare::<false, true>(bytes, at),
            (Some(_), false) => Needles::skip_rare::<true, false>(bytes, at),
            (Some(_), true) => Needles::skip_rare::<true, true>(bytes, at),
        };
        let skipped = at.saturating_sub(start);
        match bytes.get(at..) {
            None | Some([] | [b'"', ..]) => break false,
            Some([0x80..=0xFF, ..]) if wide.is_none() => continue,
            Some([b'\\', b't', ..]) if !tabs && (1..size_of::<Block>()).contains(&skipped) => {
                tabs = true;
                continue;
            }
            _ => {}
        }
        let few = skipped < size_of::<Block>();
        let some = if few { MARKED_BLOCKS } else { 1 };
        let marked = at;
        let skipped = Needles::skip_marked::<STRICT>(bytes, at, some, unicode);
        at = skipped.at;
        if wide.is_none() && skipped.wide {
            wide = Some(marked);
        }
        if skipped.ended {
            break true;
        }
    };
    if singly {
        if STRICT {
            // It may be inside a character.
            at = at.saturating_sub(unfinished(bytes.get(..at).unwrap_or_default()));
        }
        at = skip_singly::<STRICT>(&needles, bytes, at, usize::MAX, unicode);
    }
    match wide {
        Some(wide) if STRICT => {
            let text = bytes.get(wide..at).unwrap_or_default();
            let valid = wide.saturating_add(valid_prefix(text));
            // Less is the beginning of a character, in which no escape ends.
            if at.saturating_sub(valid) > 3 {
                *unicode = before;
                skip_singly::<false>(&needles, bytes, 0, valid, unicode);
            }
            valid.min(at)
        }
        _ => at,
    }
}

/// The values that the bytes of a block are compared with.
#[derive(Debug, Clone, Copy)]
pub(super) struct Needles {
    quote: Lanes,
    backslash: Lanes,
    en: Lanes,
    tee: Lanes,
    space: Lanes,
    control: Lanes,
}

static NEEDLES: [Bytes16; 6] = [
    [b'"'; 16],
    [b'\\'; 16],
    [b'n'; 16],
    [b't'; 16],
    [b' '; 16],
    [0x1F; 16],
];

/// The progress of [`Needles::skip_marked`].
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
        Self::of(black_box(&NEEDLES))
    }

    /// The same as constants, for where few bytes are compared.
    pub(super) fn known() -> Self {
        Self::of(&NEEDLES)
    }

    fn of(needles: &[Bytes16; 6]) -> Self {
        let [quote, backslash, en, tee, space, control] = needles.each_ref().map(Lanes::load);
        Self {
            quote,
            backslash,
            en,
            tee,
            space,
            control,
        }
    }

    /// Marks lanes where a block has a byte that ends it: a control character, or unless `wide` one outside ASCII.
    fn ends(&self, wide: bool, block: [Lanes; 4]) -> Lanes {
        if wide {
            let [a, b, c, d] = block;
            self.end(wide, a.min(b).min(c.min(d)))
        } else {
            Lanes::any_less(block, self.space)
        }
    }

    /// The same of sixteen bytes, where they are.
    fn end(&self, wide: bool, lanes: Lanes) -> Lanes {
        if wide {
            lanes.min(self.control).eq(lanes)
        } else {
            // As signed numbers, the bytes outside ASCII are less than every character.
            lanes.less(self.space)
        }
    }

    /// Marks the quotes and backslashes.
    fn escapes(&self, lanes: Lanes) -> Lanes {
        lanes.eq(self.quote).or(lanes.eq(self.backslash))
    }

    /// Counts those of sixteen bytes before the first quote, backslash or control character, or unless `wide` the first one
    /// outside ASCII.
    pub(super) fn plain_of(&self, wide: bool, bytes: &Bytes16) -> usize {
        let lanes = Lanes::load(bytes);
        let special = self.escapes(lanes).or(self.end(wide, lanes));
        (u32::from(special.bits()) | (1 << bytes.len())).trailing_zeros() as usize
    }

    /// The same of the first sixteen bytes, or fewer.
    fn plain(&self, wide: bool, bytes: &[u8]) -> usize {
        let is_end =
            |byte: &u8| matches!(byte, b'"' | b'\\' | ..0x20) || !(wide || byte.is_ascii());
        match bytes.first_chunk() {
            Some(vector) => self.plain_of(wide, vector),
            None => bytes.iter().position(is_end).unwrap_or(bytes.len()),
        }
    }

    /// Returns the position of the first byte, from `at` on, that is not plain, or at which less than a block is left.
    fn skip_plain(&self, bytes: &[u8], at: usize) -> usize {
        // Data in base64 and much else has nothing to look at from end to end.
        find_in_blocks(
            bytes.get(at..).unwrap_or_default(),
            |block| any(block.map(|it| self.escapes(it))).or(self.ends(false, block)),
            |block| block.map(|it| self.escapes(it).or(self.end(false, it))),
        )
        .saturating_add(at)
    }

    /// Finds the first byte, from `at` on, that is no plain character, `\n` or `\"`, nor with `TEE` a `\t`, nor with `WIDE`
    /// any byte outside ASCII; it may be one of them where less than a block is left.
    #[inline(always)]
    fn skip_simple<const WIDE: bool, const TEE: bool>(&self, bytes: &[u8], at: usize) -> usize {
        let from = bytes.get(at..).unwrap_or_default();
        let before = Cell::new(Lanes::splat(0));
        let passed = find_in_blocks(
            from,
            |block| {
                let (amiss, last) = self.escapes_amiss::<TEE>(before.get(), block);
                let ended = any(amiss).or(self.ends(WIDE, block));
                if ended.bits() == 0 {
                    before.set(last);
                }
                ended
            },
            |block| {
                let (amiss, _) = self.escapes_amiss::<TEE>(before.get(), block);
                either(amiss, block.map(|it| self.end(WIDE, it)))
            },
        );
        let simple = match from.get(..passed) {
            // It begins an escape.
            Some([simple @ .., b'\\']) => simple.len(),
            _ => passed,
        };
        at.saturating_add(simple)
    }

    /// The same, out of what all strings run through.
    #[inline(never)]
    fn skip_rare<const WIDE: bool, const TEE: bool>(bytes: &[u8], at: usize) -> usize {
        Self::new().skip_simple::<WIDE, TEE>(bytes, at)
    }

    /// Returns marks at a block's quotes that no backslash is before, and behind a backslash at anything but a quote, an `n` or with
    /// `TEE` a `t`; and its last backslashes.
    fn escapes_amiss<const TEE: bool>(
        &self,
        before: Lanes,
        block: [Lanes; 4],
    ) -> ([Lanes; 4], Lanes) {
        let mut last = before;
        let amiss = block.map(|lanes| {
            let backslashes = lanes.eq(self.backslash);
            let escaped = backslashes.behind(last);
            last = backslashes;
            let en = lanes.eq(self.en);
            let letters = if TEE { en.or(lanes.eq(self.tee)) } else { en };
            // V8 has no instruction for what is not equal, which the compiler would make of a negation.
            escaped.less_by(letters).xor(lanes.eq(self.quote))
        });
        (amiss, last)
    }

    /// Skips so many blocks from `at` on, whatever escapes they have, and on to the end of an escape.
    // Few strings come to this: it stays out of what all the others run through.
    #[inline(never)]
    fn skip_marked<const STRICT: bool>(
        bytes: &[u8],
        at: usize,
        some: u8,
        unicode: &mut u64,
    ) -> Skipped {
        let mut skipped = Skipped {
            at,
            ended: true,
            wide: false,
        };
        let needles = Self::new();
        let (mut start, mut rest) = (at, blocks(bytes.get(at..).unwrap_or_default()));
        let mut escapes = Escapes::default();
        let mut left = some;
        while left > 0 || escapes.is_open() {
            left = left.saturating_sub(1);
            let Some((block, tail)) = rest.split_first() else {
                return skipped;
            };
            let lanes = block.each_ref().map(Lanes::load);
            let quotes = bits(lanes.map(|it| it.eq(needles.quote)));
            let backslashes = bits(lanes.map(|it| it.eq(needles.backslash)));
            skipped.wide |= any(lanes).bits() != 0;
            let mut known = escapes.next::<STRICT>(&needles, lanes, quotes, backslashes);
            let mut stops = known.quotes;
            if needles.ends(true, lanes).bits() != 0 {
                let controls = bits(lanes.map(|it| needles.end(true, it)));
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
                    skipped.at = start.saturating_add(first.trailing_zeros() as usize);
                }
                return skipped;
            }
            *unicode = unicode.saturating_add(u64::from(known.unicode.count_ones()));
            (start, rest) = (start.saturating_add(size_of::<Block>()), tail);
            skipped.at = start.saturating_sub(escapes.open);
        }
        skipped.ended = false;
        skipped
    }
}

/// The state of an escape from block to block.
#[derive(Debug, Clone, Copy, Default)]
struct Escapes {
    /// Bit 0: the first byte of the next block is escaped.
    escaped: u64,
    /// The bytes of the next block that are digits of a `\uXXXX`, and the last of them.
    digits: u64,
    last_digit: u64,
    /// The distance from the beginning of an unfinished escape to the next block, in bytes.
    open: usize,
}

/// Masks of a block, one bit for each byte.
struct StringMasks {
    /// Quotes that are not escaped.
    quotes: u64,
    /// Bytes that a backslash escapes.
    escaped: u64,
    /// Bytes that make an escape wrong.
    wrong: u64,
    /// The bytes at which each `\uXXXX` is told: its last digit.
    unicode: u64,
}

impl Escapes {
    /// Returns the escapes of the next block. Unless `STRICT` none is wrong, and a `\u` is told at its letter.
    fn next<const STRICT: bool>(
        &mut self,
        needles: &Needles,
        block: [Lanes; 4],
        quotes: u64,
        backslashes: u64,
    ) -> StringMasks {
        let equal = |byte: u8| block.map(|lanes| lanes.eq(Lanes::splat(byte)));
        let (escaping, escaped) = escapes(backslashes & !self.escaped);
        let escaped = escaped | self.escaped;
        let mut marks = StringMasks {
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
        let usual = block.map(|lanes| lanes.eq(needles.en).or(lanes.eq(needles.tee)));
        let letters = letters & !bits(usual);
        if letters | self.digits == 0 {
            return marks;
        }
        let unicode = letters & bits(equal(b'u'));
        if !STRICT {
            marks.unicode = unicode;
            return marks;
        }
        marks.wrong = letters & !unicode;
        for letter in [b'r', b'/', b'b', b'f'] {
            if marks.wrong != 0 {
                marks.wrong &= !bits(equal(letter));
            }
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

/// Skips from `at` on one escape and one character outside ASCII at a time, as long as that is before `until`.
#[inline(always)]
fn skip_singly<const STRICT: bool>(
    needles: &Needles,
    bytes: &[u8],
    mut at: usize,
    until: usize,
    unicode: &mut u64,
) -> usize {
    while at < until
        && let Some(rest) = bytes.get(at..)
    {
        let plain = needles.plain(!STRICT, rest);
        at = at.saturating_add(plain);
        let length = match rest.get(plain..).unwrap_or_default() {
            [b'"', ..] => return at,
            [b'\\', b'u', digits @ ..] if STRICT => match digits.first_chunk::<4>() {
                Some(four) if four.iter().all(u8::is_ascii_hexdigit) => {
                    *unicode = unicode.saturating_add(1);
                    6
                }
                _ => return at,
            },
            [b'\\', letter, ..] if STRICT && unescaped(*letter).is_some() => 2,
            [b'\\', letter @ 0x20..=0xFF, ..] if !STRICT => {
                *unicode = unicode.saturating_add(u64::from(*letter == b'u'));
                2
            }
            after @ [0x80..=0xFF, ..] if STRICT => match character_length(after) {
                0 => return at,
                length => length,
            },
            [_, ..] if plain == size_of::<Bytes16>() => 0,
            _ => return at,
        };
        at = at.saturating_add(length);
    }
    at
}

/// Counts the bytes before the first marked one, or those of all whole blocks: `has` marks some lane if a block has any,
/// `marks` those where they are.
#[inline(always)]
pub(super) fn find_in_blocks(
    bytes: &[u8],
    has: impl Fn([Lanes; 4]) -> Lanes,
    marks: impl Fn([Lanes; 4]) -> [Lanes; 4],
) -> usize {
    let load = |block: &Block| block.each_ref().map(Lanes::load);
    let mut rest = blocks(bytes).iter();
    let all = rest.len();
    let (left, first) = match rest.find(|block| has(load(block)).bits() != 0) {
        // What is found here again would else be kept for it wherever a block has none.
        Some(block) => (
            rest.len().saturating_add(1),
            bits(marks(load(black_box(block)))).trailing_zeros(),
        ),
        None => (0, 0),
    };
    let passed = all.saturating_sub(left).saturating_mul(size_of::<Block>());
    passed.saturating_add(first as usize)
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
    const PARTS: [&[u8]; 28] = [
        b"\\n",
        b"ab\\t",
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
        for part in ["\u{e9}", "\u{20ac}", "\\t", "ab\\t", "\u{e9}\\t"] {
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

    /// Counts the `\uXXXX` in a text of whole escapes.
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
