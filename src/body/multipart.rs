//! The scanner for forms: `multipart/form-data` of RFC 7578, framed as in RFC 2046, 5.1.1.
//!
//! ```text
//! --B CRLF headers CRLF CRLF value CRLF --B CRLF ... CRLF --B-- CRLF
//! ```
//!
//! It is stricter than the RFCs wherever parsers differ on what is a part: every line that begins with
//! `--B`, after whatever kind of line end, must be a proper boundary line.

use super::field::{KeptWord, MAX_WORD, ModelBuffer, SeenFields};
use super::header::{PartHeaders, boundary};
use super::progress::{ScanProgress, Stage};
use super::steering::SteeringSet;
use super::{BodyError, Field, FoundModel, InputSize};
use crate::text::Utf8;
use memchr::memchr2;

/// The maximum length of the headers of one part, in bytes, line ends included.
pub const MAX_PART_HEADERS: usize = 8192;

/// Watches one form; see [`BodyScanner`](super::BodyScanner) for what its methods promise.
///
/// Total on any input. It keeps the headers of the part at hand, at most [`MAX_PART_HEADERS`] bytes, and
/// of the values only the model's name.
#[derive(Debug)]
pub struct MultipartScanner {
    state: FormState,
    progress: ScanProgress,
    /// `--` and the boundary.
    delimiter: Vec<u8>,
    headers: PartHeaders,
    /// The header line being read.
    line: Vec<u8>,
    /// The length of this part's headers so far, in bytes.
    headers_len: usize,
    /// The field of the part being read.
    part: Option<Field>,
    /// The offset of the part's value.
    value_start: u64,
    /// The offset of the last line end in the value.
    line_end: u64,
    utf8: Utf8,
    name: ModelBuffer,
    /// The first bytes of the value of `stream` or `n`.
    word: KeptWord,
    /// Whether the part being read is a file.
    in_file: bool,
    /// The number of files so far, and the bytes of those that have ended.
    files: u64,
    file_bytes: u64,
    candidates: Option<u64>,
    seen: SeenFields,
    /// The parts that choose a model, provider or price elsewhere.
    steering: SteeringSet,
    model: Option<FoundModel>,
    stream: Option<bool>,
}

/// The syntax that may come next.
#[derive(Debug, Clone, Copy)]
enum FormState {
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

/// The kind of the last bytes in a value.
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
            state: FormState::Start,
            progress: ScanProgress::default(),
            delimiter,
            headers: PartHeaders::default(),
            line: Vec::new(),
            headers_len: 0,
            part: None,
            value_start: 0,
            line_end: 0,
            utf8: Utf8::default(),
            name: ModelBuffer::default(),
            word: KeptWord::default(),
            in_file: false,
            files: 0,
            file_bytes: 0,
            candidates: None,
            seen: SeenFields::default(),
            steering: SteeringSet::default(),
            model: None,
            stream: None,
        })
    }

    /// Reads the next bytes.
    ///
    /// # Errors
    /// The reason for the rejection of the body, which is final.
    pub fn feed(&mut self, chunk: &[u8]) -> Result<(), BodyError> {
        let end = self.progress.begin(chunk)?;
        let result = self.scan(chunk, end);
        self.progress.settle(end, result)
    }

    /// Tells that the body has ended.
    ///
    /// # Errors
    /// The reason for the rejection of the body, which is final.
    pub fn finish(&mut self) -> Result<(), BodyError> {
        self.progress.finish(match self.state {
            FormState::Start => Stage::Before,
            FormState::End => Stage::Behind,
            _ => Stage::Inside,
        })
    }

    /// The model, once the boundary behind its value has been read or its name is too long.
    pub fn model(&self) -> Option<&FoundModel> {
        self.model.as_ref()
    }

    /// Returns the offset of the model's value, if the bytes read so far end inside it, or if it may still go on.
    pub fn inside_model(&self) -> Option<u64> {
        let in_value = matches!(self.state, FormState::Value(_) | FormState::Delimiter(..));
        let inside = in_value
            && self.part == Some(Field::Model)
            && self.model.is_none()
            && self.progress.is_sound();
        inside.then_some(self.value_start)
    }

    /// Whether the closing boundary has been read.
    pub fn complete(&self) -> bool {
        matches!(self.state, FormState::End) && self.progress.is_sound()
    }

    /// Whether the value of the part `stream` is `true`, if there has been one.
    pub fn stream(&self) -> Option<bool> {
        self.stream
    }

    /// The parts that choose a model, provider or price elsewhere. Lists of models are among them: forms have many
    /// spellings of a list.
    pub fn steering(&self) -> SteeringSet {
        self.steering
    }

    /// The value of the part `n`, if there has been one.
    pub fn candidates(&self) -> Option<u64> {
        self.candidates
    }

    /// Returns the size of the input so far: each file is an image.
    pub fn input_size(&self) -> InputSize {
        let at = self.progress.at();
        let unfinished = if self.in_file {
            at.saturating_sub(self.value_start)
        } else {
            0
        };
        InputSize {
            text_bytes: at
                .saturating_sub(self.file_bytes)
                .saturating_sub(unfinished),
            images: self.files,
            ..InputSize::default()
        }
    }

    fn scan(&mut self, chunk: &[u8], end: u64) -> Result<(), BodyError> {
        let mut rest = chunk;
        while let Some((&byte, tail)) = rest.split_first() {
            let at = end.saturating_sub(rest.len() as u64);
            let line_end = matches!(byte, b'\r' | b'\n');
            match self.state {
                FormState::Value(Edge::Middle) | FormState::Header if !line_end => {
                    let len = memchr2(b'\r', b'\n', rest).unwrap_or(rest.len());
                    let (fragment, after) = rest.split_at_checked(len).unwrap_or((rest, &[]));
                    if matches!(self.state, FormState::Header) {
                        self.grow_line(fragment)?;
                    } else {
                        self.take(fragment, at)?;
                    }
                    rest = after;
                }
                // What follows is read again, as what it is within the value.
                FormState::Value(edge) if !line_end && byte != b'-' => {
                    self.resume_value(0, edge)?
                }
                FormState::Delimiter(matched, edge) if !self.continues(matched, byte) => {
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
    fn step(&mut self, state: FormState, byte: u8, at: u64) -> Result<FormState, BodyError> {
        Ok(match (state, byte) {
            (FormState::Start, b'\r') => FormState::StartCr,
            (FormState::Start, b'-') => FormState::First(1),
            (FormState::StartCr, b'\n') => FormState::Start,
            (FormState::First(matched), _) if self.continues(matched, byte) => {
                let matched = matched.saturating_add(1);
                if matched == self.delimiter.len() {
                    FormState::AfterDelimiter
                } else {
                    FormState::First(matched)
                }
            }
            (FormState::AfterDelimiter, b'\r') => FormState::DelimiterCr,
            (FormState::AfterDelimiter, b'-') => FormState::Closing,
            (FormState::Closing, b'-') => FormState::End,
            (FormState::DelimiterCr, b'\n') => {
                self.headers = PartHeaders::default();
                self.headers_len = 0;
                FormState::Header
            }
            (FormState::Header, b'\r') => FormState::HeaderCr,
            (FormState::HeaderCr, b'\n') => self.end_line(at)?,
            (FormState::Header | FormState::HeaderCr, _) => return Err(BodyError::PartHeaders),
            (FormState::Value(Edge::Cr), b'\n') => FormState::Value(Edge::CrLf),
            (FormState::Value(edge), b'\r' | b'\n') => {
                self.end_edge(edge)?;
                self.line_end = at;
                FormState::Value(if byte == b'\r' { Edge::Cr } else { Edge::Lf })
            }
            (FormState::Value(edge), _) => FormState::Delimiter(1, edge),
            (FormState::Delimiter(matched, edge), _) => {
                let matched = matched.saturating_add(1);
                if matched < self.delimiter.len() {
                    FormState::Delimiter(matched, edge)
                } else if edge == Edge::CrLf {
                    self.end_part()?;
                    FormState::AfterDelimiter
                } else {
                    // Some parsers take this line for a boundary, and some for a part of the value.
                    return Err(BodyError::Boundary);
                }
            }
            (FormState::End, b' ' | b'\t' | b'\r' | b'\n') => FormState::End,
            (FormState::End, _) => return Err(BodyError::TrailingData { at }),
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
        self.state = FormState::Value(Edge::Middle);
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
    fn take(&mut self, fragment: &[u8], at: u64) -> Result<(), BodyError> {
        match self.part {
            Some(Field::Stream | Field::N) => self.word.push(fragment),
            Some(Field::Model) => {
                // Up to the first control character, so that the error does not depend on the chunks.
                let control = fragment.iter().position(u8::is_ascii_control);
                let text = control.and_then(|index| fragment.get(..=index));
                self.utf8
                    .check(text.unwrap_or(fragment))
                    .map_err(|bad| BodyError::Utf8 {
                        at: at.saturating_add(bad as u64),
                    })?;
                self.name.push(fragment)?;
                if self.name.overflow() && self.model.is_none() {
                    let end = at.saturating_add(fragment.len() as u64);
                    self.model = Some(self.name.found(self.value_start..end)?);
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn grow_line(&mut self, fragment: &[u8]) -> Result<(), BodyError> {
        self.count_header_bytes(fragment.len())?;
        if fragment
            .iter()
            .any(|byte| byte.is_ascii_control() && *byte != b'\t')
        {
            return Err(BodyError::PartHeaders);
        }
        self.line.extend_from_slice(fragment);
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
    fn end_line(&mut self, at: u64) -> Result<FormState, BodyError> {
        self.count_header_bytes(2)?;
        if self.line.starts_with(&self.delimiter) {
            // A header's name may be of dashes, but to some parsers the next part begins here.
            return Err(BodyError::Boundary);
        }
        if !self.line.is_empty() {
            self.headers.read(&self.line)?;
            self.line.clear();
            return Ok(FormState::Header);
        }
        self.part = self.headers.field()?;
        if let Some(id) = self.headers.steering() {
            self.steering.insert(id);
        }
        self.value_start = at.saturating_add(1);
        self.word.clear();
        self.in_file = self.headers.is_file();
        self.files = self.files.saturating_add(u64::from(self.in_file));
        match self.part {
            // The model in it has many spellings.
            Some(Field::Svg) => return Err(BodyError::NotSupported(Field::Svg)),
            Some(field) => self.seen.note(field)?,
            None => {}
        }
        Ok(FormState::Value(Edge::Start))
    }

    /// The part's value ended where the last line end begins.
    fn end_part(&mut self) -> Result<(), BodyError> {
        if core::mem::take(&mut self.in_file) {
            let bytes = self.line_end.saturating_sub(self.value_start);
            self.file_bytes = self.file_bytes.saturating_add(bytes);
        }
        match self.part.take() {
            Some(field @ Field::Stream) => {
                self.stream = match self.word.bytes() {
                    b"true" => Some(true),
                    b"false" => Some(false),
                    _ => return Err(BodyError::WrongType(field)),
                };
            }
            Some(field @ Field::N) => {
                let count = integer(self.word.bytes()).ok_or(BodyError::WrongType(field))?;
                self.candidates = Some(count);
            }
            Some(Field::Model) => {
                if self.utf8.is_inside() {
                    return Err(BodyError::Utf8 { at: self.line_end });
                }
                if self.model.is_none() {
                    self.model = Some(self.name.found(self.value_start..self.line_end)?);
                }
            }
            _ => {}
        }
        Ok(())
    }
}

/// The digits of a number, which begins with no needless zero; past [`u64::MAX`] it is that.
fn integer(digits: &[u8]) -> Option<u64> {
    let plain = digits == b"0" || !digits.starts_with(b"0");
    // A longer one than is kept would be none that is so large.
    let whole = !digits.is_empty() && digits.len() <= MAX_WORD;
    (plain && whole && digits.iter().all(u8::is_ascii_digit)).then(|| {
        digits.iter().fold(0u64, |number, digit| {
            let digit = u64::from(digit.wrapping_sub(b'0'));
            number.saturating_mul(10).saturating_add(digit)
        })
    })
}

#[cfg(test)]
mod tests;
