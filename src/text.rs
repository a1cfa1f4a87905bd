//! Fast passage through text: runs of plain ASCII, and UTF-8 checked over chunk borders.

/// How many bytes at the start are plain characters of a JSON string: ASCII, no `"`, no `\`, no control
/// character under 0x20.
///
/// Eight bytes at a time: in WebAssembly nothing wider is at hand.
pub(crate) fn plain_run(bytes: &[u8]) -> usize {
    let mut rest = bytes;
    while let Some((block, tail)) = rest.split_first_chunk::<32>() {
        let (words, _) = block.as_chunks::<8>();
        let special = words
            .iter()
            .fold(0, |special, word| special | specials(*word));
        if special != 0 {
            break;
        }
        rest = tail;
    }
    while let Some((word, tail)) = rest.split_first_chunk::<8>() {
        let special = specials(*word);
        if special != 0 {
            let plain = special.trailing_zeros() / 8;
            return bytes
                .len()
                .saturating_sub(rest.len())
                .saturating_add(plain as usize);
        }
        rest = tail;
    }
    let plain = rest
        .iter()
        .position(|&byte| !is_plain(byte))
        .unwrap_or(rest.len());
    bytes.len().saturating_sub(rest.len()).saturating_add(plain)
}

fn is_plain(byte: u8) -> bool {
    matches!(byte, 0x20..=0x7F) && byte != b'"' && byte != b'\\'
}

/// The high bit of the first byte that is not plain is set, and none below it; above it anything goes.
fn specials(word: [u8; 8]) -> u64 {
    const ONES: u64 = 0x0101_0101_0101_0101;
    const HIGH: u64 = 0x8080_8080_8080_8080;
    const QUOTES: u64 = 0x2222_2222_2222_2222;
    const BACKSLASHES: u64 = 0x5C5C_5C5C_5C5C_5C5C;
    const SPACES: u64 = 0x2020_2020_2020_2020;

    let word = u64::from_le_bytes(word);
    // A subtraction borrows into the high bit of a byte that was smaller than what is taken from it, and
    // from there on into the bytes above, which are of no interest any more.
    let quote = (word ^ QUOTES).wrapping_sub(ONES);
    let backslash = (word ^ BACKSLASHES).wrapping_sub(ONES);
    let control = word.wrapping_sub(SPACES);
    (quote | backslash | control | word) & HIGH
}

/// The bytes after the whitespace (RFC 8259, 2) at the start.
pub(crate) fn skip_whitespace(bytes: &[u8]) -> &[u8] {
    let mut rest = bytes;
    while let Some((b"        ", tail)) = rest.split_first_chunk::<8>() {
        rest = tail;
    }
    while let Some((byte, tail)) = rest.split_first() {
        if !is_whitespace(*byte) {
            break;
        }
        rest = tail;
    }
    rest
}

pub(crate) fn is_whitespace(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r')
}

/// The character that a backslash and `byte` mean (RFC 8259, 7), but for `u`, which four digits follow.
pub(crate) fn unescaped(byte: u8) -> Option<u8> {
    match byte {
        b'"' | b'\\' | b'/' => Some(byte),
        b'b' => Some(0x08),
        b'f' => Some(0x0C),
        b'n' => Some(b'\n'),
        b'r' => Some(b'\r'),
        b't' => Some(b'\t'),
        _ => None,
    }
}

/// A UTF-8 check (RFC 3629, 4) that can stop and go on anywhere.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Utf8 {
    /// How many continuation bytes the character still needs.
    need: u8,
    /// What the next of them must lie between: narrower than 0x80..=0xBF after some first bytes, which
    /// keeps out overlong forms, surrogates and all above U+10FFFF.
    low: u8,
    high: u8,
}

impl Default for Utf8 {
    fn default() -> Self {
        Self {
            need: 0,
            low: 0x80,
            high: 0xBF,
        }
    }
}

impl Utf8 {
    /// Whether the bytes so far end inside a character.
    pub(crate) fn is_inside(self) -> bool {
        self.need != 0
    }

    /// How many bytes at the start belong to characters outside ASCII.
    ///
    /// # Errors
    /// The index of the first byte that cannot stand where it does.
    pub(crate) fn run(&mut self, bytes: &[u8]) -> Result<usize, usize> {
        let mut rest = bytes;
        let done = |rest: &[u8]| bytes.len().saturating_sub(rest.len());
        loop {
            if self.need == 0 {
                // Most text outside ASCII is of these, and whole: no state needed.
                while let Some(([0xE1..=0xEC, 0x80..=0xBF, 0x80..=0xBF], tail)) =
                    rest.split_first_chunk()
                {
                    rest = tail;
                }
                while let Some(([0xC2..=0xDF, 0x80..=0xBF], tail)) = rest.split_first_chunk() {
                    rest = tail;
                }
            }
            let Some((&byte, tail)) = rest.split_first() else {
                return Ok(done(rest));
            };
            if self.need == 0 {
                (self.need, self.low, self.high) = match byte {
                    0x00..=0x7F => return Ok(done(rest)),
                    0xC2..=0xDF => (1, 0x80, 0xBF),
                    0xE0 => (2, 0xA0, 0xBF),
                    0xED => (2, 0x80, 0x9F),
                    0xE1..=0xEF => (2, 0x80, 0xBF),
                    0xF0 => (3, 0x90, 0xBF),
                    0xF1..=0xF3 => (3, 0x80, 0xBF),
                    0xF4 => (3, 0x80, 0x8F),
                    _ => return Err(done(rest)),
                };
            } else if (self.low..=self.high).contains(&byte) {
                self.need = self.need.saturating_sub(1);
                (self.low, self.high) = (0x80, 0xBF);
            } else {
                return Err(done(rest));
            }
            rest = tail;
        }
    }

    /// Reads text of any characters.
    ///
    /// # Errors
    /// The index of the first byte that cannot stand where it does.
    pub(crate) fn check(&mut self, bytes: &[u8]) -> Result<(), usize> {
        let mut rest = bytes;
        while !rest.is_empty() {
            let start = bytes.len().saturating_sub(rest.len());
            let wide = self.run(rest).map_err(|bad| start.saturating_add(bad))?;
            let after = rest.get(wide..).unwrap_or_default();
            let ascii = after.iter().take_while(|byte| byte.is_ascii()).count();
            rest = after.get(ascii..).unwrap_or_default();
        }
        Ok(())
    }
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
    fn utf8_as_the_standard_library_sees_it() {
        // All two-byte strings, and all three- and four-byte ones over the bytes where something changes.
        let edges = [
            0x00, 0x7F, 0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF, 0xC0, 0xC1, 0xC2, 0xDF, 0xE0, 0xE1,
            0xEC, 0xED, 0xEE, 0xEF, 0xF0, 0xF1, 0xF3, 0xF4, 0xF5, 0xFF,
        ];
        let check = |bytes: &[u8]| {
            let want = core::str::from_utf8(bytes).is_ok();
            for cut in 0..=bytes.len() {
                let mut utf8 = Utf8::default();
                let (head, tail) = bytes.split_at(cut);
                let got = utf8.check(head).is_ok() && utf8.check(tail).is_ok() && !utf8.is_inside();
                assert_eq!(got, want, "{bytes:x?} cut at {cut}");
            }
        };
        for a in 0..=255 {
            for b in 0..=255 {
                check(&[a, b]);
            }
        }
        for a in edges {
            for b in edges {
                for c in edges {
                    check(&[a, b, c]);
                    for d in edges {
                        check(&[a, b, c, d]);
                    }
                }
            }
        }
    }

    #[test]
    fn whitespace_is_what_json_says() {
        let text = " \t\r\n                   \n x";
        assert_eq!(skip_whitespace(text.as_bytes()), b"x");
        for byte in 0..=255u8 {
            let json = serde_json::from_slice::<u8>(&[byte, b'1']).is_ok();
            // A digit or a minus sign before the 1 makes a longer number.
            let space = json && !byte.is_ascii_digit() && byte != b'-';
            assert_eq!(is_whitespace(byte), space, "{byte:#x}");
        }
    }
}
