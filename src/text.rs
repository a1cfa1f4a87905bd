//! Fast passage through JSON text.

mod alike;
mod block;
mod run;
mod short;
mod utf8;
#[cfg(all(target_arch = "wasm32", target_feature = "simd128"))]
mod vector;
mod wide;
#[cfg(not(all(target_arch = "wasm32", target_feature = "simd128")))]
mod word;

pub(crate) use alike::{common_prefix, same, text_end, unicode_escapes};
pub(crate) use run::{passable_run, passable_run_counting, plain_run};
pub(crate) use short::{copy_short, is_plain};
pub(crate) use utf8::Utf8;

/// What a bracket opens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Container {
    Object,
    Array,
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

/// Whether a byte ends a line of server-sent events.
pub(crate) fn is_line_break(byte: u8) -> bool {
    matches!(byte, b'\r' | b'\n')
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

#[cfg(test)]
mod tests {
    use super::*;

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
