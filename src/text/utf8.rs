//! UTF-8, checked over the borders of chunks.

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

    /// Reads on in a character outside ASCII, or begins one; how many bytes at the start belong to it.
    ///
    /// # Errors
    /// The index of the first byte that cannot stand where it does.
    pub(crate) fn character(&mut self, bytes: &[u8]) -> Result<usize, usize> {
        let mut read = 0_usize;
        for &byte in bytes {
            if self.need == 0 {
                (self.need, self.low, self.high) = match byte {
                    0xC2..=0xDF => (1, 0x80, 0xBF),
                    0xE0 => (2, 0xA0, 0xBF),
                    0xED => (2, 0x80, 0x9F),
                    0xE1..=0xEF => (2, 0x80, 0xBF),
                    0xF0 => (3, 0x90, 0xBF),
                    0xF1..=0xF3 => (3, 0x80, 0xBF),
                    0xF4 => (3, 0x80, 0x8F),
                    _ => return Err(read),
                };
            } else if (self.low..=self.high).contains(&byte) {
                self.need = self.need.saturating_sub(1);
                (self.low, self.high) = (0x80, 0xBF);
            } else {
                return Err(read);
            }
            read = read.saturating_add(1);
            if self.need == 0 {
                break;
            }
        }
        Ok(read)
    }

    /// Reads text of any characters.
    ///
    /// # Errors
    /// The index of the first byte that cannot stand where it does.
    pub(crate) fn check(&mut self, bytes: &[u8]) -> Result<(), usize> {
        let mut rest = bytes;
        while let Some((byte, tail)) = rest.split_first() {
            if byte.is_ascii() && !self.is_inside() {
                rest = tail;
                continue;
            }
            let start = bytes.len().saturating_sub(rest.len());
            let read = self
                .character(rest)
                .map_err(|bad| start.saturating_add(bad))?;
            rest = rest.get(read..).unwrap_or_default();
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
}
