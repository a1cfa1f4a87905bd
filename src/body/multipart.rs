//! The scanner for forms: `multipart/form-data` of RFC 7578, framed as in RFC 2046, 5.1.1.
//!
//! ```text
//! --B CRLF headers CRLF CRLF value CRLF --B CRLF ... CRLF --B-- CRLF
//! ```
//!
//! It is stricter than the RFCs wherever parsers differ on what is a part: every line that begins with
//! `--B`, after whatever kind of line end, must be a proper boundary line.

use super::field::Name;
use super::header::{PartHeaders, boundary};
use super::text::Utf8;
use super::{BodyError, Field, FoundModel};
use memchr::memchr2;

/// How long the headers of one part may be, in bytes, line ends included.
pub const MAX_PART_HEADERS: usize = 8192;

/// Watches one form; see [`BodyScanner`](super::BodyScanner) for what its methods promise.
///
/// Total on any input. It keeps the headers of the part at hand, at most [`MAX_PART_HEADERS`] bytes, and
/// of the values only the model's name.
#[derive(Debug)]
pub struct MultipartScanner {
    state: State,
    /// How many bytes have been fed.
    at: u64,
    /// `--` and the boundary.
    delimiter: Vec<u8>,
    headers: PartHeaders,
    /// The header line being read.
    line: Vec<u8>,
    /// How long this part's headers are so far.
    headers_len: usize,
    /// What the part being read is.
    part: Option<Field>,
    /// Where the part's value begins.
    value_start: u64,
    /// Where the last line end in the value begins.
    line_end: u64,
    utf8: Utf8,
    name: Name,
    /// How many bytes of the value are those of `true`; none if it has become something else.
    truth: Option<usize>,
    model_seen: bool,
    model: Option<FoundModel>,
    stream: Option<bool>,
    failed: Option<BodyError>,
}

/// What may come next.
#[derive(Debug, Clone, Copy)]
enum State {
    /// Before the first boundary: line ends, or the delimiter.
    Start,
    /// After CR before the first boundary.
    StartCr,
    /// In the first delimiter: how many bytes of it have come.
    First(usize),
    /// After a delimiter: CRLF for a part, `--` for the end.
    AfterDelimiter,
    DelimiterCr,
    Closing,
    Header,
    HeaderCr,
    /// In a value.
    Value(Edge),
    /// In what may be a delimiter in a value: how many bytes of it have come, and after what.
    Delimiter(usize, Edge),
    /// After the closing delimiter.
    End,
}

/// What the last bytes in a value were.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Edge {
    /// None: the value begins here.
    Start,
    Cr,
    Lf,
    CrLf,
    /// No line end.
    Middle,
}

impl MultipartScanner {
    /// A scanner that has read nothing, from the value of the request's content-type header.
    ///
    /// # Errors
    /// [`BodyError::Boundary`] when that is not `multipart/form-data` with exactly one usable boundary.
    pub fn new(content_type: &[u8]) -> Result<Self, BodyError> {
        let delimiter = [b"--", boundary(content_type)?].concat();
        Ok(Self {
            state: State::Start,
            at: 0,
            delimiter,
            headers: PartHeaders::default(),
            line: Vec::new(),
            headers_len: 0,
            part: None,
            value_start: 0,
            line_end: 0,
            utf8: Utf8::default(),
            name: Name::default(),
            truth: None,
            model_seen: false,
            model: None,
            stream: None,
            failed: None,
        })
    }

    /// Reads the next bytes.
    ///
    /// # Errors
    /// Why the body is refused; final.
    pub fn feed(&mut self, chunk: &[u8]) -> Result<(), BodyError> {
        if let Some(error) = self.failed {
            return Err(error);
        }
        let end = self.at.saturating_add(chunk.len() as u64);
        let result = self.scan(chunk, end);
        self.at = end;
        self.failed = result.err();
        result
    }

    /// Tells that the body has ended.
    ///
    /// # Errors
    /// Why the body is refused; final.
    pub fn finish(&mut self) -> Result<(), BodyError> {
        if self.failed.is_none() {
            self.failed = match self.state {
                State::End => None,
                State::Start => Some(BodyError::Empty),
                _ => Some(BodyError::Truncated),
            };
        }
        self.failed.map_or(Ok(()), Err)
    }

    /// The model, once the boundary behind its value has been read or its name is too long.
    pub fn model(&self) -> Option<&FoundModel> {
        self.model.as_ref()
    }

    /// Whether the bytes read so far end inside the model's value, or where it may still go on.
    pub fn inside_model(&self) -> bool {
        let in_value = matches!(self.state, State::Value(_) | State::Delimiter(..));
        in_value && self.part == Some(Field::Model) && self.model.is_none() && self.failed.is_none()
    }

    /// Whether the closing boundary has been read.
    pub fn complete(&self) -> bool {
        matches!(self.state, State::End) && self.failed.is_none()
    }

    /// Whether the value of the part `stream` is `true`, if there has been one.
    pub fn stream(&self) -> Option<bool> {
        self.stream
    }

    fn scan(&mut self, chunk: &[u8], end: u64) -> Result<(), BodyError> {
        let mut rest = chunk;
        while let Some((&byte, tail)) = rest.split_first() {
            let at = end.saturating_sub(rest.len() as u64);
            let line_end = matches!(byte, b'\r' | b'\n');
            match self.state {
                State::Value(Edge::Middle) | State::Header if !line_end => {
                    let len = memchr2(b'\r', b'\n', rest).unwrap_or(rest.len());
                    let (piece, after) = rest.split_at_checked(len).unwrap_or((rest, &[]));
                    if matches!(self.state, State::Header) {
                        self.grow_line(piece)?;
                    } else {
                        self.take(piece, at)?;
                    }
                    rest = after;
                }
                // What follows is read again, as what it is within the value.
                State::Value(edge) if !line_end && byte != b'-' => self.resume_value(0, edge)?,
                State::Delimiter(matched, edge) if !self.continues(matched, byte) => {
                    self.resume_value(matched, edge)?;
                }
                state => {
                    self.state = self.step(state, byte, at)?;
                    rest = tail;
                }
            }
        }
        Ok(())
    }

    /// Reads one byte that changes the state.
    fn step(&mut self, state: State, byte: u8, at: u64) -> Result<State, BodyError> {
        Ok(match (state, byte) {
            (State::Start, b'\r') => State::StartCr,
            (State::Start, b'-') => State::First(1),
            (State::StartCr, b'\n') => State::Start,
            (State::First(matched), _) if self.continues(matched, byte) => {
                let matched = matched.saturating_add(1);
                if matched == self.delimiter.len() {
                    State::AfterDelimiter
                } else {
                    State::First(matched)
                }
            }
            (State::AfterDelimiter, b'\r') => State::DelimiterCr,
            (State::AfterDelimiter, b'-') => State::Closing,
            (State::Closing, b'-') => State::End,
            (State::DelimiterCr, b'\n') => {
                self.headers = PartHeaders::default();
                self.headers_len = 0;
                State::Header
            }
            (State::Header, b'\r') => State::HeaderCr,
            (State::HeaderCr, b'\n') => self.end_line(at)?,
            (State::Header | State::HeaderCr, _) => return Err(BodyError::PartHeaders),
            (State::Value(Edge::Cr), b'\n') => State::Value(Edge::CrLf),
            (State::Value(edge), b'\r' | b'\n') => {
                self.end_edge(edge)?;
                self.line_end = at;
                State::Value(if byte == b'\r' { Edge::Cr } else { Edge::Lf })
            }
            (State::Value(edge), _) => State::Delimiter(1, edge),
            (State::Delimiter(matched, edge), _) => {
                let matched = matched.saturating_add(1);
                if matched < self.delimiter.len() {
                    State::Delimiter(matched, edge)
                } else if edge == Edge::CrLf {
                    self.end_part()?;
                    State::AfterDelimiter
                } else {
                    // Some parsers take this line for a boundary, and some for a part of the value.
                    return Err(BodyError::Boundary);
                }
            }
            (State::End, b' ' | b'\t' | b'\r' | b'\n') => State::End,
            (State::End, _) => return Err(BodyError::TrailingData { at }),
            _ => return Err(BodyError::Boundary),
        })
    }

    fn continues(&self, matched: usize, byte: u8) -> bool {
        self.delimiter.get(matched) == Some(&byte)
    }

    /// Goes on within the value: the `matched` bytes after `edge` are no delimiter.
    fn resume_value(&mut self, matched: usize, edge: Edge) -> Result<(), BodyError> {
        self.end_edge(edge)?;
        let delimiter = core::mem::take(&mut self.delimiter);
        // If this is a field's value, it begins with these bytes: a line end before them is an error.
        let taken = self.take(
            delimiter.get(..matched).unwrap_or_default(),
            self.value_start,
        );
        self.delimiter = delimiter;
        self.state = State::Value(Edge::Middle);
        taken
    }

    /// Takes a line end that is not followed by a delimiter into the value.
    fn end_edge(&mut self, edge: Edge) -> Result<(), BodyError> {
        match edge {
            Edge::Start | Edge::Middle => Ok(()),
            // Which line end it is makes no difference to a field.
            Edge::Cr | Edge::Lf | Edge::CrLf => self.take(b"\n", self.line_end),
        }
    }

    /// Takes bytes, which begin at `at`, into the part's value.
    fn take(&mut self, piece: &[u8], at: u64) -> Result<(), BodyError> {
        match self.part {
            None => {}
            Some(Field::Stream) => {
                self.truth = self.truth.and_then(|len| {
                    let rest = b"true".get(len..)?.strip_prefix(piece)?;
                    4usize.checked_sub(rest.len())
                });
            }
            Some(Field::Model) => {
                // Up to the first control character, so that the error does not depend on the chunks.
                let control = piece.iter().position(u8::is_ascii_control);
                let text = control.and_then(|index| piece.get(..=index));
                self.utf8
                    .check(text.unwrap_or(piece))
                    .map_err(|bad| BodyError::Utf8 {
                        at: at.saturating_add(bad as u64),
                    })?;
                self.name.push(piece)?;
                if self.name.overflow() && self.model.is_none() {
                    let end = at.saturating_add(piece.len() as u64);
                    self.model = Some(self.name.found(self.value_start..end)?);
                }
            }
        }
        Ok(())
    }

    fn grow_line(&mut self, piece: &[u8]) -> Result<(), BodyError> {
        self.count_header_bytes(piece.len())?;
        if piece
            .iter()
            .any(|byte| byte.is_ascii_control() && *byte != b'\t')
        {
            return Err(BodyError::PartHeaders);
        }
        self.line.extend_from_slice(piece);
        Ok(())
    }

    fn count_header_bytes(&mut self, len: usize) -> Result<(), BodyError> {
        self.headers_len = self.headers_len.saturating_add(len);
        if self.headers_len > MAX_PART_HEADERS {
            return Err(BodyError::PartHeadersTooLong);
        }
        Ok(())
    }

    /// The end of a header line, whose last byte is at `at`.
    fn end_line(&mut self, at: u64) -> Result<State, BodyError> {
        self.count_header_bytes(2)?;
        if self.line.starts_with(&self.delimiter) {
            // A header's name may be of dashes, but to some parsers the next part begins here.
            return Err(BodyError::Boundary);
        }
        if !self.line.is_empty() {
            self.headers.read(&self.line)?;
            self.line.clear();
            return Ok(State::Header);
        }
        self.part = self.headers.field()?;
        self.value_start = at.saturating_add(1);
        self.truth = Some(0);
        match self.part {
            Some(Field::Model) if self.model_seen => {
                return Err(BodyError::Duplicate(Field::Model));
            }
            Some(Field::Stream) if self.stream.is_some() => {
                return Err(BodyError::Duplicate(Field::Stream));
            }
            Some(Field::Model) => self.model_seen = true,
            _ => {}
        }
        Ok(State::Value(Edge::Start))
    }

    /// The part's value ended where the last line end begins.
    fn end_part(&mut self) -> Result<(), BodyError> {
        match self.part.take() {
            None => {}
            Some(Field::Stream) => self.stream = Some(self.truth == Some(4)),
            Some(Field::Model) => {
                if self.utf8.is_inside() {
                    return Err(BodyError::Utf8 { at: self.line_end });
                }
                if self.model.is_none() {
                    self.model = Some(self.name.found(self.value_start..self.line_end)?);
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TYPE: &[u8] = b"multipart/form-data; boundary=B";

    fn scan(chunks: &[&[u8]]) -> (Result<(), BodyError>, MultipartScanner) {
        let mut scanner = MultipartScanner::new(TYPE).unwrap();
        let fed = chunks.iter().try_for_each(|chunk| scanner.feed(chunk));
        let end = scanner.finish();
        assert!(fed.is_ok() || fed == end, "an error is final");
        (end, scanner)
    }

    /// The verdict on a body, which must not depend on how it is cut.
    fn verdict(body: &[u8]) -> Result<(Option<FoundModel>, Option<bool>), BodyError> {
        let (end, scanner) = scan(&[body]);
        for cut in 0..=body.len() {
            let (head, tail) = body.split_at(cut);
            let (other, cut_scanner) = scan(&[head, tail]);
            assert_eq!(end, other, "{:?} cut at {cut}", body.escape_ascii());
            if end.is_ok() {
                assert_eq!(scanner.model, cut_scanner.model, "cut at {cut}");
                assert_eq!(scanner.stream, cut_scanner.stream, "cut at {cut}");
            }
        }
        end.map(|()| (scanner.model, scanner.stream))
    }

    fn name_of(body: &[u8]) -> Result<Option<String>, BodyError> {
        verdict(body).map(|(model, _)| model.map(|model| model.name))
    }

    /// A form of parts, each written as its headers and its value.
    fn form(parts: &[(&str, &str)]) -> Vec<u8> {
        let mut body = String::new();
        for (headers, value) in parts {
            body += &format!("--B\r\n{headers}\r\n\r\n{value}\r\n");
        }
        (body + "--B--\r\n").into_bytes()
    }

    const FILE: &str = "Content-Disposition: form-data; name=\"image\"; filename=\"a.png\"\r\nContent-Type: image/png";
    const MODEL: &str = "Content-Disposition: form-data; name=\"model\"";
    const STREAM: &str = "Content-Disposition: form-data; name=\"stream\"";

    #[test]
    fn values_that_look_like_boundaries() {
        let cases = [
            "PNG",
            "",
            "\r\n",
            "\r",
            "\n",
            "\r\n-",
            "\r\n--",
            "\r\n--b",
            "\r\n--C",
            "--B",
            "-",
            "--",
            "x--B--",
            "\r\n\r\n",
            "\r\r\n\n",
            "\r\n-\r\n--\r\n-",
            "\r\n \r\n --B",
            "--A\r\n--A--",
            "\n--\r--",
            "\u{fc}\u{20ac}\0",
        ];
        for value in cases {
            let body = form(&[(FILE, value), (MODEL, "m1"), (FILE, value)]);
            // What begins with the delimiter is a part without a value to some parsers.
            let want = if value == "--B" {
                Err(BodyError::Boundary)
            } else {
                Ok(Some("m1".to_owned()))
            };
            assert_eq!(name_of(&body), want, "{value:?}");
        }
    }

    #[test]
    fn accepts() {
        let cases: &[(&str, Vec<u8>, Option<&str>)] = &[
            ("no part", b"--B--\r\n".to_vec(), None),
            ("no line end behind", b"--B--".to_vec(), None),
            ("whitespace behind", b"--B--\r\n \t\r\n".to_vec(), None),
            ("line ends before", b"\r\n\r\n--B--".to_vec(), None),
            (
                "model",
                form(&[(MODEL, "gpt-image-2")]),
                Some("gpt-image-2"),
            ),
            ("no trimming", form(&[(MODEL, " m1 ")]), Some(" m1 ")),
            ("dashes in front", form(&[(MODEL, "--x")]), Some("--x")),
            ("a dash", form(&[(MODEL, "-")]), Some("-")),
            (
                "UTF-8",
                form(&[(MODEL, "\u{e9}\u{1f600}")]),
                Some("\u{e9}\u{1f600}"),
            ),
            (
                "token",
                form(&[("Content-Disposition: form-data; name=model", "m1")]),
                Some("m1"),
            ),
            (
                "capitals",
                form(&[("CONTENT-DISPOSITION:FORM-DATA;NAME=\"model\"", "m1")]),
                Some("m1"),
            ),
            (
                "spaces",
                form(&[("content-disposition:  form-data ;  name=\"model\" ;", "m1")]),
                Some("m1"),
            ),
            (
                "type",
                form(&[(
                    "Content-Type: text/plain\r\nContent-Disposition: form-data; name=\"model\"\r\nContent-Transfer-Encoding: 8BIT",
                    "m1",
                )]),
                Some("m1"),
            ),
            (
                "decoy in a file name",
                form(&[(
                    "Content-Disposition: form-data; name=\"image\"; filename=\"name=\"model\"\"",
                    "x",
                )]),
                None,
            ),
            (
                "decoy in a quoted file name",
                form(&[(
                    "Content-Disposition: form-data; name=\"image\"; filename=\"a\\\"b\"",
                    "x",
                )]),
                None,
            ),
            (
                "file name first",
                form(&[(
                    "Content-Disposition: form-data; filename=\"a b\"; name=\"image\"",
                    "x",
                )]),
                None,
            ),
            (
                "other names",
                form(&[
                    ("Content-Disposition: form-data; name=\"models\"", "x"),
                    ("Content-Disposition: form-data; name=\"\"", "x"),
                    ("Content-Disposition: form-data; name=\"image[]\"", "x"),
                ]),
                None,
            ),
            (
                "encoded file",
                form(&[(
                    "Content-Disposition: form-data; name=\"image\"\r\nContent-Transfer-Encoding: base64",
                    "x",
                )]),
                None,
            ),
        ];
        for (name, body, want) in cases {
            assert_eq!(name_of(body), Ok(want.map(str::to_owned)), "{name}");
        }
    }

    #[test]
    fn refuses() {
        let named = |rest: &str| form(&[(&format!("Content-Disposition: form-data{rest}"), "m1")]);
        let file = BodyError::FieldIsFile(Field::Model);
        let cases: &[(&str, Vec<u8>, BodyError)] = &[
            ("nothing", vec![], BodyError::Empty),
            ("line ends only", b"\r\n".to_vec(), BodyError::Empty),
            ("preamble", b"hi\r\n--B--".to_vec(), BodyError::Boundary),
            ("line feed before", b"\n--B--".to_vec(), BodyError::Boundary),
            ("other boundary", b"--C--".to_vec(), BodyError::Boundary),
            ("longer boundary", b"--BB\r\n".to_vec(), BodyError::Boundary),
            ("padded boundary", b"--B \r\n".to_vec(), BodyError::Boundary),
            (
                "line feed after the boundary",
                b"--B\n".to_vec(),
                BodyError::Boundary,
            ),
            ("one dash", b"--B-\r\n".to_vec(), BodyError::Boundary),
            (
                "boundary after a line feed",
                form(&[(FILE, "x\n--B\r\n")]),
                BodyError::Boundary,
            ),
            (
                "boundary after a carriage return",
                form(&[(FILE, "x\r--B\r\n")]),
                BodyError::Boundary,
            ),
            (
                "boundary after both, turned round",
                form(&[(FILE, "x\n\r--B\r\n")]),
                BodyError::Boundary,
            ),
            (
                "longer boundary in a value",
                form(&[(FILE, "x\r\n--Bx\r\n")]),
                BodyError::Boundary,
            ),
            (
                "no value",
                format!("--B\r\n{MODEL}\r\n\r\n--B--").into_bytes(),
                BodyError::Boundary,
            ),
            (
                "epilogue",
                b"--B--\r\nx".to_vec(),
                BodyError::TrailingData { at: 7 },
            ),
            (
                "another form",
                b"--B--\r\n--B--".to_vec(),
                BodyError::TrailingData { at: 7 },
            ),
            (
                "boundary among the headers",
                form(&[(&format!("{MODEL}\r\n--B: x"), "m1")]),
                BodyError::Boundary,
            ),
            (
                "no headers",
                b"--B\r\n\r\nx\r\n--B--".to_vec(),
                BodyError::PartHeaders,
            ),
            (
                "no disposition",
                form(&[("Content-Type: text/plain", "x")]),
                BodyError::PartHeaders,
            ),
            (
                "two dispositions",
                form(&[(&format!("{MODEL}\r\n{MODEL}"), "x")]),
                BodyError::PartHeaders,
            ),
            (
                "attachment",
                form(&[("Content-Disposition: attachment; name=\"model\"", "x")]),
                BodyError::PartHeaders,
            ),
            (
                "no colon",
                form(&[(&format!("{MODEL}\r\nX"), "x")]),
                BodyError::PartHeaders,
            ),
            (
                "space before the colon",
                form(&[("Content-Disposition : form-data; name=\"model\"", "x")]),
                BodyError::PartHeaders,
            ),
            (
                "folded",
                form(&[("Content-Disposition: form-data;\r\n name=\"model\"", "x")]),
                BodyError::PartHeaders,
            ),
            (
                "line feed",
                form(&[("X: y\nContent-Disposition: form-data; name=\"model\"", "x")]),
                BodyError::PartHeaders,
            ),
            (
                "carriage return",
                form(&[("X: y\rContent-Disposition: form-data; name=\"model\"", "x")]),
                BodyError::PartHeaders,
            ),
            (
                "NUL",
                form(&[("Content-Disposition: form-data; name=\"model\0\"", "x")]),
                BodyError::PartHeaders,
            ),
            ("no name", named(""), BodyError::PartHeaders),
            (
                "file name only",
                named("; filename=\"a\""),
                BodyError::PartHeaders,
            ),
            (
                "extended name",
                named("; name*=utf-8''model"),
                BodyError::PartHeaders,
            ),
            (
                "both names",
                named("; name=\"a\"; name*=utf-8''model"),
                BodyError::PartHeaders,
            ),
            (
                "continued name",
                named("; name*0=mo; name*1=del"),
                BodyError::PartHeaders,
            ),
            (
                "two names",
                named("; name=\"a\"; name=\"model\""),
                BodyError::PartHeaders,
            ),
            (
                "escaped quote in the name",
                named("; name=\"a\\\"; name=\\\"model\""),
                BodyError::PartHeaders,
            ),
            (
                "backslash in the name",
                named("; name=\"mo\\del\""),
                BodyError::PartHeaders,
            ),
            (
                "escaped quote in a file name",
                named("; name=\"a\"; filename=\"\\\"; name=\"model\""),
                BodyError::PartHeaders,
            ),
            (
                "quotes in a file name before",
                named("; filename=\"a\"b\"; name=\"model\""),
                BodyError::PartHeaders,
            ),
            (
                "backslash in a file name before",
                named("; filename=\"a\\\"; name=\"model\""),
                BodyError::PartHeaders,
            ),
            (
                "text behind the name",
                named("; name=\"a\"model"),
                BodyError::PartHeaders,
            ),
            (
                "space before the value",
                named("; name= \"model\""),
                BodyError::PartHeaders,
            ),
            (
                "open quote",
                named("; name=\"model"),
                BodyError::PartHeaders,
            ),
            (
                "no semicolon",
                named(" name=\"model\""),
                BodyError::PartHeaders,
            ),
            ("file", named("; name=\"model\"; filename=\"a\""), file),
            (
                "file, name behind",
                named("; filename=\"a\"; name=\"model\""),
                file,
            ),
            (
                "file, extended",
                named("; name=\"model\"; filename*=utf-8''a"),
                file,
            ),
            (
                "stream as a file",
                named("; name=\"stream\"; filename=\"a\""),
                BodyError::FieldIsFile(Field::Stream),
            ),
            (
                "base64",
                form(&[(
                    &format!("{MODEL}\r\nContent-Transfer-Encoding: base64"),
                    "bTE=",
                )]),
                BodyError::PartHeaders,
            ),
            (
                "quoted-printable",
                form(&[(
                    &format!("Content-Transfer-Encoding: quoted-printable\r\n{MODEL}"),
                    "m1",
                )]),
                BodyError::PartHeaders,
            ),
            ("variant", named("; name=\"Model\""), BodyError::CaseVariant),
            (
                "variant of stream",
                named("; name=\"\u{17f}tream\""),
                BodyError::CaseVariant,
            ),
            ("array", named("; name=\"model[]\""), BodyError::CaseVariant),
            ("space", named("; name=\" model\""), BodyError::CaseVariant),
            (
                "twice",
                form(&[(MODEL, "a"), (FILE, "x"), (MODEL, "a")]),
                BodyError::Duplicate(Field::Model),
            ),
            (
                "stream twice",
                form(&[(STREAM, ""), (STREAM, "true")]),
                BodyError::Duplicate(Field::Stream),
            ),
            ("empty", form(&[(MODEL, "")]), BodyError::ModelEmpty),
            (
                "line end in the name",
                form(&[(MODEL, "m1\r\n")]),
                BodyError::ModelControlCharacter,
            ),
            (
                "line end before the name",
                form(&[(MODEL, "\r\nm1")]),
                BodyError::ModelControlCharacter,
            ),
            (
                "line feed in the name",
                form(&[(MODEL, "m\n1")]),
                BodyError::ModelControlCharacter,
            ),
            (
                "carriage return in the name",
                form(&[(MODEL, "m1\r")]),
                BodyError::ModelControlCharacter,
            ),
            (
                "dashes after a line end",
                form(&[(MODEL, "m1\r\n--x")]),
                BodyError::ModelControlCharacter,
            ),
            (
                "NUL in the name",
                form(&[(MODEL, "m\0")]),
                BodyError::ModelControlCharacter,
            ),
            ("open", b"--B".to_vec(), BodyError::Truncated),
            (
                "open headers",
                format!("--B\r\n{MODEL}\r\n").into_bytes(),
                BodyError::Truncated,
            ),
            (
                "open value",
                format!("--B\r\n{MODEL}\r\n\r\nm1").into_bytes(),
                BodyError::Truncated,
            ),
            (
                "not closed",
                format!("--B\r\n{MODEL}\r\n\r\nm1\r\n--B\r\n").into_bytes(),
                BodyError::Truncated,
            ),
            (
                "half closed",
                format!("--B\r\n{MODEL}\r\n\r\nm1\r\n--B-").into_bytes(),
                BodyError::Truncated,
            ),
        ];
        for (name, body, want) in cases {
            assert_eq!(name_of(body), Err(*want), "{name}");
        }
    }

    #[test]
    fn bad_utf8_in_the_name() {
        let start = form(&[(MODEL, "")]).len() as u64 - "\r\n--B--\r\n".len() as u64;
        for (value, bad) in [
            (b"m\xFF".as_slice(), 1),
            (b"\xC0\x80", 0),
            (b"\xE2\x82x", 2),
            (b"\xE2\x82", 2),
            (b"\xE2\x82\x01\xFF", 2),
        ] {
            let body = [
                b"--B\r\n",
                MODEL.as_bytes(),
                b"\r\n\r\n",
                value,
                b"\r\n--B--\r\n",
            ]
            .concat();
            let want = BodyError::Utf8 { at: start + bad };
            assert_eq!(name_of(&body), Err(want), "{value:x?}");
        }
    }

    #[test]
    fn the_span_is_the_value() {
        for value in ["m1", "-m1", "--", " \u{e9} "] {
            let body = form(&[(FILE, "x\r\ny"), (MODEL, value), (STREAM, "true")]);
            let model = verdict(&body).unwrap().0.unwrap();
            let span = model.span.start as usize..model.span.end as usize;
            assert_eq!(&body[span], value.as_bytes(), "{value}");
        }
    }

    #[test]
    fn a_long_name_is_reported_before_it_ends() {
        let mut scanner = MultipartScanner::new(TYPE).unwrap();
        scanner
            .feed(format!("--B\r\n{MODEL}\r\n\r\n").as_bytes())
            .unwrap();
        for _ in 0..128 {
            assert_eq!(scanner.model(), None);
            assert!(scanner.inside_model());
            scanner.feed("\u{e9}".as_bytes()).unwrap();
        }
        scanner.feed(b"m").unwrap();
        assert!(!scanner.inside_model(), "not held any longer");
        let found = scanner.model().unwrap();
        assert_eq!((found.name.len(), found.truncated), (256, true));
        scanner.feed(b"\r\n--B--").unwrap();
        assert_eq!(scanner.finish(), Ok(()));
    }

    #[test]
    fn inside_model_until_its_boundary_is_read() {
        let body = form(&[(FILE, "x"), (MODEL, "m1"), (FILE, "x")]);
        let place = |text: &[u8]| {
            body.windows(text.len())
                .position(|part| part == text)
                .unwrap()
        };
        let start = place(b"\r\n\r\nm1\r\n") + 4;
        let mut scanner = MultipartScanner::new(TYPE).unwrap();
        for (index, byte) in body.iter().enumerate() {
            scanner.feed(&[*byte]).unwrap();
            // Delimiter and all: `m1`, CRLF, `--`.
            let inside = (start - 1..start + 6).contains(&index);
            assert_eq!(scanner.inside_model(), inside, "after byte {index}");
            assert_eq!(
                scanner.model().is_some(),
                index >= start + 6,
                "after byte {index}"
            );
        }
    }

    #[test]
    fn stream_is_true_only_as_such() {
        for (value, want) in [
            ("true", true),
            ("false", false),
            ("", false),
            ("tru", false),
            ("truetrue", false),
            ("true ", false),
            ("True", false),
            ("t\r\nrue", false),
            ("true\r\n", false),
            ("-true", false),
        ] {
            let body = form(&[(STREAM, value)]);
            assert_eq!(verdict(&body), Ok((None, Some(want))), "{value:?}");
        }
        assert_eq!(verdict(&form(&[(FILE, "true")])), Ok((None, None)));
    }

    #[test]
    fn part_headers_are_bounded() {
        let fit = MAX_PART_HEADERS - MODEL.len() - "\r\nX: \r\n\r\n".len();
        let body = |len: usize| {
            form(&[
                (&format!("{MODEL}\r\nX: {}", "x".repeat(len)), "m1"),
                (FILE, ""),
            ])
        };
        assert_eq!(scan(&[&body(fit)]).0, Ok(()));
        assert_eq!(
            scan(&[&body(fit + 1)]).0,
            Err(BodyError::PartHeadersTooLong)
        );
        let many = form(&[(&format!("{}{MODEL}", "X:\r\n".repeat(3000)), "m1")]);
        assert_eq!(scan(&[&many]).0, Err(BodyError::PartHeadersTooLong));
        let endless = ["--B\r\nX: ".to_owned(), "x".repeat(10_000)].concat();
        assert_eq!(
            scan(&[endless.as_bytes()]).0,
            Err(BodyError::PartHeadersTooLong)
        );
    }
}
