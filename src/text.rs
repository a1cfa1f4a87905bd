//! Tools of body and usage to read JSON text: the skipping of strings and numbers, sixteen bytes at a time, the decoding of
//! escapes, and UTF-8 wherever chunks end.

mod base64;
mod compare;
mod escape;
mod lanes;
mod number;
mod short;
mod string;
mod utf8;

pub(crate) use base64::base64_run;
pub(crate) use compare::{common_prefix, same};
pub(crate) use escape::{Decoded, Escape, EscapeDecoder, NO_CHARACTER};
pub(crate) use number::{number_length, skip_digits, skip_scalars};
pub(crate) use short::{copy_short, is_plain};
pub(crate) use string::{skip_plain, skip_string, skip_text};
pub(crate) use utf8::Utf8;

/// The kind of container that a bracket opens.
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
