//! The escapes of JSON strings (RFC 8259, 7), decoded byte by byte wherever chunks end.

/// The stand-in for half a surrogate pair, which no text can hold: a byte that is in no UTF-8.
pub(crate) const NO_CHARACTER: u8 = 0xFF;

/// The character that a backslash and `byte` mean, but for `u`, which four digits follow.
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

/// Decodes the escapes of one string after the other.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct EscapeDecoder {
    /// The number of digits of `\uXXXX` that are still to come; 0 where a letter is.
    digits: u8,
    /// The value of those before.
    code: u16,
    /// The first half of a surrogate pair, when the second one must follow.
    high: Option<u16>,
}

/// The state of an escape after one more byte.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Escape {
    /// It goes on.
    Open,
    /// It is whole.
    Whole(Decoded),
    /// It is none.
    Wrong,
}

/// The meaning of a whole escape.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Decoded {
    /// Half a surrogate pair stands alone, before the character if there is one.
    pub(crate) lone: bool,
    /// None: for half a surrogate pair.
    pub(crate) character: Option<char>,
    /// Whether it is a `\uXXXX`.
    pub(crate) is_unicode: bool,
}

impl EscapeDecoder {
    /// Reads the next byte behind the backslash.
    pub(crate) fn next(&mut self, byte: u8) -> Escape {
        if self.digits == 0 {
            if byte == b'u' {
                (self.digits, self.code) = (4, 0);
                return Escape::Open;
            }
            return match unescaped(byte) {
                Some(character) => Escape::Whole(Decoded {
                    lone: self.end_pair(),
                    character: Some(character.into()),
                    is_unicode: false,
                }),
                None => Escape::Wrong,
            };
        }
        let Some(digit) = char::from(byte).to_digit(16) else {
            return Escape::Wrong;
        };
        self.code = self.code.wrapping_mul(16) | digit as u16;
        self.digits = self.digits.saturating_sub(1);
        if self.digits > 0 {
            return Escape::Open;
        }
        Escape::Whole(self.unit(self.code))
    }

    /// Takes a UTF-16 code unit.
    fn unit(&mut self, code: u16) -> Decoded {
        let decoded = |lone, character| Decoded {
            lone,
            character,
            is_unicode: true,
        };
        match (self.high, code) {
            (Some(high), 0xDC00..=0xDFFF) => {
                self.high = None;
                let pair = char::decode_utf16([high, code]).next();
                decoded(false, pair.and_then(Result::ok))
            }
            (None, 0xDC00..=0xDFFF) => decoded(true, None),
            (_, 0xD800..=0xDBFF) => {
                let lone = self.high.replace(code).is_some();
                decoded(lone, None)
            }
            _ => decoded(self.end_pair(), char::from_u32(code.into())),
        }
    }

    /// Something else than a second half follows; whether a first half stands alone now.
    pub(crate) fn end_pair(&mut self) -> bool {
        self.high.take().is_some()
    }

    /// Whether a second half must follow.
    pub(crate) fn in_pair(&self) -> bool {
        self.high.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The bytes of a string's text, with each half of a surrogate pair as the byte that stands for it.
    fn decoded(text: &[u8]) -> Option<Vec<u8>> {
        let mut decoder = EscapeDecoder::default();
        let (mut all, mut inside) = (Vec::new(), false);
        for &byte in text {
            if !inside {
                inside = byte == b'\\';
                if !inside {
                    all.extend(decoder.end_pair().then_some(NO_CHARACTER));
                    all.push(byte);
                }
                continue;
            }
            match decoder.next(byte) {
                Escape::Open => {}
                Escape::Wrong => return None,
                Escape::Whole(decoded) => {
                    inside = false;
                    all.extend(decoded.lone.then_some(NO_CHARACTER));
                    all.extend(
                        decoded
                            .character
                            .map(String::from)
                            .unwrap_or_default()
                            .bytes(),
                    );
                }
            }
        }
        all.extend(decoder.end_pair().then_some(NO_CHARACTER));
        (!inside).then_some(all)
    }

    #[test]
    fn halves_of_pairs() {
        let cases: [(&str, &[u8]); 8] = [
            (r"\ud83d\ude00", "\u{1f600}".as_bytes()),
            (r"\ud83d", b"\xFF"),
            (r"\ude00", b"\xFF"),
            (r"\ud83dx", b"\xFFx"),
            (r"\ud83d\n", b"\xFF\n"),
            (r"\ud83d\ud83d\ude00", b"\xFF\xF0\x9F\x98\x80"),
            (r"\ud83d\u0041\ude00", b"\xFFA\xFF"),
            (r"\uD83D\uDE00\uDE00", b"\xF0\x9F\x98\x80\xFF"),
        ];
        for (text, want) in cases {
            assert_eq!(decoded(text.as_bytes()).as_deref(), Some(want), "{text}");
        }
    }

    proptest! {
        #![proptest_config(crate::seeds_beside_source())]

        #[test]
        fn escapes_as_serde_json_reads_them(
            parts in prop::collection::vec(
                prop_oneof![
                    any::<u16>().prop_map(|code| format!("\\u{code:04x}")),
                    (0xD7F0..0xE010u16).prop_map(|code| format!("\\u{code:04X}")),
                    prop::sample::select(&["a", "\\n", "\\\"", "\\/", "\\x", "\\u00g0", "\\u12", "\u{e9}"]).prop_map(str::to_owned),
                ],
                0..8,
            )
        ) {
            let text = parts.concat();
            let want = serde_json::from_str::<String>(&format!("\"{text}\"")).ok();
            let got = decoded(text.as_bytes()).and_then(|bytes| String::from_utf8(bytes).ok());
            prop_assert_eq!(got, want, "{}", text);
        }
    }
}
