//! The headers that frame a form: the request's content-type, and those of its parts.
//!
//! What parsers read differently is refused: quotes inside quotes before the name, escapes, the
//! extended notation of RFC 5987, a parameter that is there twice however the quotes are read.

use super::field::{FORM, field_of};
use super::{BodyError, Field};

/// Longest boundary, in bytes (RFC 2046, 5.1.1).
const MAX_BOUNDARY: usize = 70;

/// The boundary that a content-type names.
///
/// # Errors
/// [`BodyError::Boundary`] when it is not `multipart/form-data` with exactly one boundary of RFC 2046, 5.1.1.
pub(super) fn boundary(content_type: &[u8]) -> Result<&[u8], BodyError> {
    let (kind, mut rest) = split_kind(content_type);
    if !kind.eq_ignore_ascii_case(b"multipart/form-data")
        || spellings(content_type, b"boundary") != 1
    {
        return Err(BodyError::Boundary);
    }
    let mut boundary = None;
    while let Some((parameter, tail)) = next_parameter(rest).map_err(|_| BodyError::Boundary)? {
        if parameter.name.eq_ignore_ascii_case(b"boundary") {
            boundary = Some(parameter.value);
        }
        rest = tail;
    }
    boundary
        .filter(|boundary| is_boundary(boundary))
        .ok_or(BodyError::Boundary)
}

fn is_boundary(text: &[u8]) -> bool {
    let allowed = |byte: &u8| byte.is_ascii_alphanumeric() || b"'()+_,-./:=? ".contains(byte);
    (1..=MAX_BOUNDARY).contains(&text.len())
        && text.iter().all(allowed)
        && text.last() != Some(&b' ')
}

/// What the headers of one part say, as far as it matters here.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct PartHeaders {
    disposition: Option<Disposition>,
    /// A transfer encoding changes the value, so it does not stand as it is.
    encoded: bool,
}

#[derive(Debug, Clone, Copy)]
struct Disposition {
    field: Option<Field>,
    /// The name is the only parameter: there is no file name.
    plain: bool,
    /// There is a file name.
    file: bool,
}

impl PartHeaders {
    /// Reads one header line, without its line end.
    ///
    /// # Errors
    /// [`BodyError::PartHeaders`], or [`BodyError::CaseVariant`] for the part's name.
    pub(super) fn read(&mut self, line: &[u8]) -> Result<(), BodyError> {
        let (name, value) = split_at_byte(line, b':').ok_or(BodyError::PartHeaders)?;
        // This keeps out a line folded onto the one before, and a space before the colon.
        if name.is_empty() || !name.iter().all(is_token) {
            return Err(BodyError::PartHeaders);
        }
        let value = value.trim_ascii();
        if name.eq_ignore_ascii_case(b"content-disposition") {
            if self.disposition.is_some() {
                return Err(BodyError::PartHeaders);
            }
            self.disposition = Some(disposition(value)?);
        } else if name.eq_ignore_ascii_case(b"content-transfer-encoding") {
            let plain: [&[u8]; 3] = [b"7bit", b"8bit", b"binary"];
            self.encoded |= !plain.iter().any(|plain| value.eq_ignore_ascii_case(plain));
        }
        Ok(())
    }

    /// Whether the part is a file: it has a file name.
    pub(super) fn is_file(self) -> bool {
        self.disposition.is_some_and(|disposition| disposition.file)
    }

    /// The field that the part is, once all its headers are read.
    ///
    /// # Errors
    /// [`BodyError::PartHeaders`] for a part without content-disposition (RFC 7578, 4.2) and for a field
    /// whose value is encoded, [`BodyError::FieldIsFile`].
    pub(super) fn field(self) -> Result<Option<Field>, BodyError> {
        let disposition = self.disposition.ok_or(BodyError::PartHeaders)?;
        match disposition.field {
            Some(field) if !disposition.plain => Err(BodyError::FieldIsFile(field)),
            Some(_) if self.encoded => Err(BodyError::PartHeaders),
            field => Ok(field),
        }
    }
}

/// Reads a content-disposition (RFC 7578, 4.2).
fn disposition(value: &[u8]) -> Result<Disposition, BodyError> {
    let (kind, mut rest) = split_kind(value);
    if !kind.eq_ignore_ascii_case(b"form-data") || spellings(value, b"name") != 1 {
        return Err(BodyError::PartHeaders);
    }
    // All up to the name must be clear. Behind it a client may have left quotes in a file name as they
    // are: there is no second `; name=` in it, so no parser can take that for the name.
    let mut first = true;
    while let Some((parameter, tail)) = next_parameter(rest)? {
        rest = tail.trim_ascii_start();
        if parameter.name.eq_ignore_ascii_case(b"name") {
            if !rest.is_empty() && !rest.starts_with(b";") {
                return Err(BodyError::PartHeaders);
            }
            return Ok(Disposition {
                field: part_field(parameter.value)?,
                plain: first && rest.iter().all(|byte| b"; \t".contains(byte)),
                file: spellings(value, b"filename") > 0,
            });
        }
        first = false;
    }
    Err(BodyError::PartHeaders)
}

/// The field that a part's name is; `model[]` and ` model` are variants, for PHP and its like read them as `model`.
fn part_field(name: &[u8]) -> Result<Option<Field>, BodyError> {
    let (base, _) = split_at_byte(name, b'[').unwrap_or((name, &[]));
    let base = base.trim_ascii();
    match field_of(base, FORM)? {
        Some(_) if base.len() != name.len() => Err(BodyError::CaseVariant),
        field => Ok(field),
    }
}

/// One `name=value` of a header.
struct Parameter<'a> {
    name: &'a [u8],
    /// Without its quotes.
    value: &'a [u8],
}

/// The parameter that `rest`, which begins with `;`, begins with, and what follows it (RFC 9110, 5.6.6).
///
/// # Errors
/// [`BodyError::PartHeaders`] when it is malformed, or has a backslash between its quotes: some parsers
/// take that for an escape, and some for itself.
fn next_parameter(rest: &[u8]) -> Result<Option<(Parameter<'_>, &[u8])>, BodyError> {
    let mut rest = rest.trim_ascii_start();
    if rest.is_empty() {
        return Ok(None);
    }
    while let Some(tail) = rest.strip_prefix(b";") {
        rest = tail.trim_ascii_start();
        if rest.is_empty() {
            return Ok(None);
        }
        if !rest.starts_with(b";") {
            return parameter(rest).map(Some).ok_or(BodyError::PartHeaders);
        }
    }
    Err(BodyError::PartHeaders)
}

fn parameter(text: &[u8]) -> Option<(Parameter<'_>, &[u8])> {
    let (name, text) = split_at_byte(text, b'=')?;
    let (value, rest) = match text.strip_prefix(b"\"") {
        Some(quoted) => split_at_byte(quoted, b'"')?,
        None => {
            let len = text
                .iter()
                .position(|byte| !is_token(byte))
                .unwrap_or(text.len());
            text.split_at_checked(len).filter(|_| len > 0)?
        }
    };
    let clear = !name.is_empty() && name.iter().all(is_token) && !value.contains(&b'\\');
    clear.then_some((Parameter { name, value }, rest))
}

/// How many times a parameter could be found by parsers that read the quotes in whatever way: `; word=`
/// and `; word*=`.
fn spellings(header: &[u8], word: &[u8]) -> usize {
    header
        .split(|&byte| byte == b';')
        .skip(1)
        .filter(|text| {
            let text = text.trim_ascii_start();
            text.split_at_checked(word.len())
                .is_some_and(|(name, rest)| {
                    name.eq_ignore_ascii_case(word)
                        && matches!(rest.trim_ascii_start().first(), Some(b'=' | b'*'))
                })
        })
        .count()
}

/// The value proper of a header, and its parameters from the first `;` on.
fn split_kind(header: &[u8]) -> (&[u8], &[u8]) {
    let semicolon = header.iter().position(|&byte| byte == b';');
    let (kind, parameters) = header
        .split_at_checked(semicolon.unwrap_or(header.len()))
        .unwrap_or((header, &[]));
    (kind.trim_ascii(), parameters)
}

/// What is before the first such byte, and what is after it.
fn split_at_byte(text: &[u8], byte: u8) -> Option<(&[u8], &[u8])> {
    let mut parts = text.splitn(2, |&other| other == byte);
    Some((parts.next()?, parts.next()?))
}

/// RFC 9110, 5.6.2.
fn is_token(byte: &u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(byte)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn boundaries() {
        let long = "x".repeat(70);
        let cases: &[(&str, Option<&str>)] = &[
            ("multipart/form-data; boundary=abc", Some("abc")),
            ("Multipart/Form-Data;BOUNDARY=abc", Some("abc")),
            (
                "multipart/form-data ; charset=utf-8 ; boundary=\"a b\" ;",
                Some("a b"),
            ),
            (
                "multipart/form-data; boundary=----WebKitFormBoundaryX1",
                Some("----WebKitFormBoundaryX1"),
            ),
            (
                "multipart/form-data; boundary=\"===(:/?,)===\"",
                Some("===(:/?,)==="),
            ),
            (
                &format!("multipart/form-data; boundary={long}"),
                Some(&long),
            ),
            (&format!("multipart/form-data; boundary={long}x"), None),
            ("multipart/form-data", None),
            ("multipart/form-data; boundary", None),
            ("multipart/form-data; boundary=", None),
            ("multipart/form-data; boundary=\"\"", None),
            ("multipart/form-data; boundary=\"a", None),
            ("multipart/form-data; boundary=\"a \"", None),
            ("multipart/form-data; boundary=\"a\\b\"", None),
            ("multipart/form-data; boundary=\"a\"b", None),
            ("multipart/form-data; boundary=a b", None),
            ("multipart/form-data; boundary=a=b", None),
            ("multipart/form-data; boundary=a#b", None),
            ("multipart/form-data; boundary=\u{e9}", None),
            ("multipart/form-data; boundary =a", None),
            ("multipart/form-data; boundary*=utf-8''a", None),
            ("multipart/form-data; boundary=a; boundary=a", None),
            ("multipart/form-data; boundary=a; Boundary=b", None),
            ("multipart/form-data; x=\"; boundary=b\"; boundary=a", None),
            (
                "multipart/form-data; boundary=a, multipart/form-data; boundary=b",
                None,
            ),
            ("multipart/form-data boundary=a", None),
            ("multipart/form-data; boundary=a; x", None),
            ("multipart/mixed; boundary=a", None),
            ("application/json; boundary=a", None),
            ("", None),
        ];
        for (header, want) in cases {
            let want = want.map(str::as_bytes).ok_or(BodyError::Boundary);
            assert_eq!(boundary(header.as_bytes()), want, "{header}");
        }
    }
}
