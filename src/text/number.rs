//! Numbers of JSON (RFC 8259, 6), many digits at a time.

use super::lanes::{Bytes16, Lanes};

/// Counts the decimal digits at the start.
pub(crate) fn skip_digits(bytes: &[u8]) -> usize {
    let mut rest = bytes;
    while let Some((vector, tail)) = rest.split_first_chunk() {
        let digits = digits_of(vector).trailing_ones() as usize;
        if digits < vector.len() {
            return before(bytes, rest).saturating_add(digits);
        }
        rest = tail;
    }
    let digits = rest.iter().position(|byte| !byte.is_ascii_digit());
    before(bytes, rest).saturating_add(digits.unwrap_or(rest.len()))
}

/// Counts the bytes at the start that neither begin nor end a string, an array or an object, nor are a backslash; perhaps fewer.
pub(crate) fn skip_scalars(bytes: &[u8]) -> usize {
    let mut rest = bytes;
    while let Some((vector, tail)) = rest.split_first_chunk() {
        let lanes = Lanes::load(vector);
        // All brackets and the backslash, and five more characters, are the last ones of ASCII then.
        let last = Lanes::splat(b'z').less(lanes.or(Lanes::splat(0x20)));
        let found = last.or(lanes.eq(Lanes::splat(b'"'))).bits();
        if found != 0 {
            return before(bytes, rest).saturating_add(found.trailing_zeros() as usize);
        }
        rest = tail;
    }
    before(bytes, rest)
}

/// The length of the number at the start; nothing if none is there or the bytes end with it: it may go on.
#[inline]
pub(crate) fn number_length(bytes: &[u8]) -> Option<usize> {
    let unsigned = bytes.strip_prefix(b"-").unwrap_or(bytes);
    let sign = before(bytes, unsigned);
    // Most are of a few digits, a point and some more.
    if let Some(vector) = unsigned.first_chunk::<16>() {
        let digits = digits_of(vector);
        let whole = digits.trailing_ones();
        let begins = whole == 1 || (whole > 1 && vector.first() != Some(&b'0'));
        match vector.get(whole as usize) {
            Some(b'.') if begins => {
                let fraction = digits.wrapping_shr(whole).wrapping_shr(1).trailing_ones();
                let end = whole.saturating_add(fraction).saturating_add(1) as usize;
                match vector.get(end) {
                    None | Some(b'e' | b'E') => {}
                    Some(_) if fraction > 0 => return Some(sign.saturating_add(end)),
                    Some(_) => return None,
                }
            }
            None | Some(b'e' | b'E') => {}
            Some(_) if begins => return Some(sign.saturating_add(whole as usize)),
            Some(_) => return None,
        }
    }
    let end = match (unsigned, skip_digits(unsigned)) {
        (_, 0) | ([b'0', ..], 2..) => return None,
        (_, digits) => unsigned.get(digits..)?,
    };
    let end = match end {
        [b'.', fraction @ ..] => match skip_digits(fraction) {
            0 => return None,
            digits => fraction.get(digits..)?,
        },
        _ => end,
    };
    let end = match end {
        [b'e' | b'E', b'+' | b'-', exponent @ ..] | [b'e' | b'E', exponent @ ..] => {
            match skip_digits(exponent) {
                0 => return None,
                digits => exponent.get(digits..)?,
            }
        }
        _ => end,
    };
    (!end.is_empty()).then(|| before(bytes, end))
}

/// The digits of sixteen bytes, one bit each.
fn digits_of(bytes: &Bytes16) -> u16 {
    Lanes::load(bytes).digits().bits()
}

/// Returns the length of `bytes` before `rest`, its end.
fn before(bytes: &[u8], rest: &[u8]) -> usize {
    bytes.len().saturating_sub(rest.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_as_serde_json_reads_them() {
        let parts = [
            "",
            "-",
            "+",
            ".",
            "0",
            "7",
            "00",
            "123456789",
            "99999999999999999999",
            "e",
            "E",
            "x",
        ];
        for a in parts {
            for b in parts {
                for c in parts {
                    for d in parts {
                        for e in ["", "5", "e-17", ".5"] {
                            let text = [a, b, c, d, e].concat();
                            // The longest beginning that is a number.
                            let is_number = |length: &usize| is_whole(&text[..*length]);
                            for end in [",", "]", " and more than sixteen bytes"] {
                                let bytes = format!("{text}{end}");
                                let got = number_length(bytes.as_bytes());
                                let want = (1..=text.len()).filter(is_number).max();
                                if is_whole(&text) {
                                    assert_eq!(got, want, "{bytes}");
                                } else if let Some(got) = got {
                                    // What follows is found wrong by who reads on.
                                    assert_eq!(Some(got), want, "{bytes}");
                                }
                            }
                            assert_eq!(
                                number_length(text.as_bytes())
                                    .filter(|length| *length == text.len()),
                                None,
                                "{text}"
                            );
                            let digits = text.bytes().take_while(u8::is_ascii_digit).count();
                            assert_eq!(skip_digits(text.as_bytes()), digits, "{text}");
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn scalars_end_at_quotes_brackets_and_backslashes() {
        for byte in 0..=255_u8 {
            for place in 0..40 {
                let mut text = [b'1'; 40];
                text[place] = byte;
                let want = match byte {
                    b'"' | b'\\' | b'[' | b']' | b'{' | b'}' => place.min(32),
                    b'^' | b'_' | b'|' | b'~' | 0x7F => continue,
                    _ => 32,
                };
                assert_eq!(skip_scalars(&text), want, "{byte:#x} at {place}");
            }
        }
    }

    fn is_whole(text: &str) -> bool {
        serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok()
    }
}
