//! The headers that frame a form: the request's content-type, and those of its parts.
//!
//! Headers that parsers read differently are refused: quotes inside quotes before the name, escapes, the
//! extended notation of RFC 5987, a parameter that is there twice however the quotes are read, a name that is a field's
//! only to some of them.

use percent_encoding::percent_decode;

use super::field::{FORM, field_of};
use super::steering::{SteeringId, steering_member};
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

/// The content-type of the same form in its plainest spelling: nothing but the boundary, in quotes only where it needs
/// them.
///
/// # Errors
/// [`BodyError::Boundary`], as for the form's scanner.
pub fn form_content_type(content_type: &[u8]) -> Result<Vec<u8>, BodyError> {
    let boundary = boundary(content_type)?;
    let quote: &[u8] = if boundary.iter().all(is_token) {
        b""
    } else {
        b"\""
    };
    Ok([b"multipart/form-data; boundary=", quote, boundary, quote].concat())
}

fn is_boundary(text: &[u8]) -> bool {
    let allowed = |byte: &u8| byte.is_ascii_alphanumeric() || b"'()+_,-./:=? ".contains(byte);
    (1..=MAX_BOUNDARY).contains(&text.len())
        && text.iter().all(allowed)
        && text.last() != Some(&b' ')
}

/// The properties in the headers of one part, as far as they matter here.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct PartHeaders {
    disposition: Option<Disposition>,
    /// A transfer encoding, or a charset, changes the value, so it does not stand as it is.
    encoded: bool,
}

#[derive(Debug, Clone, Copy)]
struct Disposition {
    field: Option<Field>,
    /// The row of the table, if the part chooses elsewhere.
    steering: Option<SteeringId>,
    /// The name is the only parameter: there is no file name.
    plain: bool,
    /// Whether there is a file name.
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
        } else if name.eq_ignore_ascii_case(b"content-encoding") {
            // Not of parts, by the RFC; some parsers inflate them all the same.
            self.encoded |= !value.eq_ignore_ascii_case(b"identity");
        } else if name.eq_ignore_ascii_case(b"content-type") {
            self.encoded |= names_another_charset(value);
        }
        Ok(())
    }

    /// Whether the part is a file: it has a file name.
    pub(super) fn is_file(self) -> bool {
        self.disposition.is_some_and(|disposition| disposition.file)
    }

    /// The member of the table of those that choose elsewhere, if the part is one.
    pub(super) fn steering(self) -> Option<SteeringId> {
        self.disposition?.steering
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
            let (field, steering) = part_field(parameter.value)?;
            return Ok(Disposition {
                field,
                steering,
                plain: first && rest.iter().all(|byte| b"; \t".contains(byte)),
                file: spellings(value, b"filename") > 0,
            });
        }
        first = false;
    }
    Err(BodyError::PartHeaders)
}

/// The field that a part's name is, or what it chooses elsewhere.
///
/// `model[]` and ` model` are variants, for PHP and its like read them as `model`; so is what is a field's name only to
/// whoever undoes percent-encoding or HTML entities, or takes off quotes of another kind. Encoded words (RFC 2047), names
/// in single quotes and names with control characters are refused, whatever they are: some parsers read another.
fn part_field(name: &[u8]) -> Result<(Option<Field>, Option<SteeringId>), BodyError> {
    let quote = |byte: &u8| b"'`".contains(byte);
    let is_word = name.windows(2).any(|pair| pair == b"=?" || pair == b"?=");
    let is_cut = name
        .iter()
        .any(|byte| byte.is_ascii_control() && *byte != b'\t');
    if is_word || is_cut || name.first().is_some_and(quote) || name.last().is_some_and(quote) {
        return Err(BodyError::PartHeaders);
    }
    let (base, _) = split_at_byte(name, b'[').unwrap_or((name, &[]));
    let base = base.trim_ascii();
    match field_of(base, FORM)? {
        Some(_) if base.len() != name.len() => return Err(BodyError::CaseVariant),
        Some(field) => return Ok((Some(field), None)),
        None => {}
    }
    if let Some(steering) = steering_member(base) {
        return Ok((None, Some(steering)));
    }
    // Nobody needs more than two rounds to find out what everybody else might.
    let mut plain = name.to_vec();
    for _ in 0..2 {
        plain = without_entities(&percent_decode(&plain).collect::<Vec<_>>());
    }
    if plain == name {
        return Ok((None, None));
    }
    let plain_byte = |byte: &u8| {
        !byte.is_ascii_whitespace() && !byte.is_ascii_control() && !b"'`\"".contains(byte)
    };
    let (base, _) = split_at_byte(&plain, b'[').unwrap_or((&plain, &[]));
    let base: Vec<u8> = base.iter().copied().filter(plain_byte).collect();
    match field_of(&base, FORM)? {
        Some(_) => Err(BodyError::CaseVariant),
        None => Ok((None, steering_member(&base))),
    }
}

/// The text with its numeric HTML entities undone (`&#109;`, `&#x6d;`, with or without `;`), and quotes' own names.
/// Letters have no names.
fn without_entities(text: &[u8]) -> Vec<u8> {
    let mut plain = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((&byte, tail)) = rest.split_first() {
        rest = tail;
        if byte != b'&' {
            plain.push(byte);
        } else if let Some((decoded, after)) = entity(tail) {
            plain.push(decoded);
            rest = after;
        } else {
            plain.push(byte);
        }
    }
    plain
}

/// The ASCII character that an entity means, and what follows it; `text` is what follows its `&`.
fn entity(text: &[u8]) -> Option<(u8, &[u8])> {
    for (name, meant) in [(&b"quot"[..], b'"'), (b"apos", b'\''), (b"nbsp", b' ')] {
        if let Some(rest) = text.strip_prefix(name) {
            return Some((meant, rest.strip_prefix(b";").unwrap_or(rest)));
        }
    }
    let text = text.strip_prefix(b"#")?;
    let (radix, text) = match text {
        [b'x' | b'X', hex @ ..] => (16, hex),
        decimal => (10, decimal),
    };
    let is_digit = |byte: &u8| char::from(*byte).is_digit(radix);
    let len = text
        .iter()
        .position(|byte| !is_digit(byte))
        .unwrap_or(text.len());
    let (digits, rest) = text.split_at_checked(len)?;
    let digits = core::str::from_utf8(digits).ok()?;
    let meant = u32::from_str_radix(digits, radix).ok()?;
    let meant = u8::try_from(meant).ok().filter(u8::is_ascii)?;
    Some((meant, rest.strip_prefix(b";").unwrap_or(rest)))
}

/// Whether a part's content-type names a charset in which ASCII may be other text.
fn names_another_charset(content_type: &[u8]) -> bool {
    let text = content_type.to_ascii_lowercase();
    let mut parts = text.split(|&byte| byte == b';').map(<[u8]>::trim_ascii);
    parts.any(|part| {
        let Some(rest) = part.strip_prefix(b"charset") else {
            return false;
        };
        let value = rest.trim_ascii_start().strip_prefix(b"=").unwrap_or(rest);
        let quotes = |byte: &&u8| b"\"' \t".contains(byte);
        let value: Vec<u8> = value.iter().filter(|byte| !quotes(byte)).copied().collect();
        !matches!(
            value.as_slice(),
            b"utf-8" | b"utf8" | b"us-ascii" | b"ascii" | b"iso-8859-1"
        )
    })
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

/// Counts the places at which a parser could find the parameter, however it reads the quotes: `; word=`
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

/// Splits a text at the first such byte, into the bytes before and after it.
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

    /// A part with these headers.
    fn part(lines: &[&str]) -> Result<Option<Field>, BodyError> {
        let mut headers = PartHeaders::default();
        for line in lines {
            headers.read(line.as_bytes())?;
        }
        headers.field()
    }

    #[test]
    fn names_that_are_fields_to_some() {
        let headers = Err(BodyError::PartHeaders);
        let variant = Err(BodyError::CaseVariant);
        let cases = [
            ("\"model\"", Ok(Some(Field::Model))),
            ("model", Ok(Some(Field::Model))),
            ("\"image\"", Ok(None)),
            ("\"image[]\"", Ok(None)),
            ("\"100% mine\"", Ok(None)),
            ("\"a&b\"", Ok(None)),
            ("\"don't\"", Ok(None)),
            ("\"&#\"", Ok(None)),
            ("\"&#xffffffffff;\"", Ok(None)),
            ("\"%\"", Ok(None)),
            // Quotes of another kind.
            ("'model'", headers),
            ("'stream'", headers),
            ("'image'", headers),
            ("\"'model'\"", headers),
            ("\"model'\"", headers),
            ("\"`model`\"", headers),
            ("''", headers),
            // Encoded words.
            ("\"=?utf-8?B?bW9kZWw=?=\"", headers),
            ("\"=?utf-8?Q?model?=\"", headers),
            ("=?utf-8?B?bW9kZWw=?=", headers),
            ("\"x =?us-ascii?q?=6dodel?=\"", headers),
            // Percent-encoding.
            ("\"%6dodel\"", variant),
            ("\"%6D%6F%64%65%6C\"", variant),
            ("\"mode%6c\"", variant),
            ("\"%256dodel\"", variant),
            ("\"%4dodel\"", variant),
            ("\"model%5B%5D\"", variant),
            ("\"model%00\"", variant),
            ("\"%22model%22\"", variant),
            ("\"%27model%27\"", variant),
            ("\"%20stream\"", variant),
            // HTML entities.
            ("\"&#109;odel\"", variant),
            ("\"&#x6d;odel\"", variant),
            ("\"&#X6Dodel\"", variant),
            ("\"&#0000109;odel\"", variant),
            ("\"&quot;model&quot;\"", variant),
            ("\"&apos;stream&apos;\"", variant),
            ("\"%26%23109;odel\"", variant),
            // Characters that cut a name short.
            ("\"model\0x\"", headers),
            ("\"x\u{1}\"", headers),
        ];
        for (name, want) in cases {
            let line = format!("Content-Disposition: form-data; name={name}");
            assert_eq!(part(&[&line]), want, "{name}");
        }
    }

    #[test]
    fn values_that_are_others_to_some() {
        let model = "Content-Disposition: form-data; name=model";
        let image = "Content-Disposition: form-data; name=image";
        let bad = Err(BodyError::PartHeaders);
        let cases = [
            ("Content-Type: text/plain", Ok(Some(Field::Model))),
            (
                "Content-Type: text/plain; charset=utf-8",
                Ok(Some(Field::Model)),
            ),
            (
                "Content-Type: text/plain; charset=\"UTF-8\"",
                Ok(Some(Field::Model)),
            ),
            (
                "Content-Type: text/plain;charset=us-ascii",
                Ok(Some(Field::Model)),
            ),
            ("Content-Type: text/plain; charset=utf-7", bad),
            ("Content-Type: text/plain; charset = \"utf-16\"", bad),
            ("Content-Type: text/plain; charset*=utf-8''ebcdic", bad),
            ("Content-Type: text/plain; x=y; CHARSET=cp037", bad),
            ("Content-Encoding: deflate", bad),
            ("Content-Encoding: identity", Ok(Some(Field::Model))),
            ("Content-Transfer-Encoding: base64", bad),
        ];
        for (line, want) in cases {
            assert_eq!(part(&[model, line]), want, "{line}");
            assert_eq!(part(&[line, model]), want, "{line}, first");
            assert_eq!(part(&[image, line]), Ok(None), "{line}, of a file");
        }
    }
}
