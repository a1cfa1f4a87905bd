//! The scanner for JSON bodies: RFC 8259, strictly, as one pushdown automaton.

use super::field::{Key, Name};
use super::nesting::{Container, Nesting};
use super::text::{Utf8, is_whitespace, plain_run, skip_whitespace};
use super::{BodyError, Field, FoundModel};

/// Watches one JSON body; see [`BodyScanner`](super::BodyScanner) for what its methods promise.
///
/// Total on any input. Its memory is fixed but for the model's name. What it accepts is RFC 8259 with
/// an object on the outside, nested up to [`MAX_DEPTH`](super::MAX_DEPTH). The size of numbers and half
/// surrogate pairs outside the model's name are the upstream's business.
#[derive(Debug)]
pub struct JsonScanner {
    state: State,
    /// How many bytes have been fed.
    at: u64,
    nesting: Nesting,
    /// What the string being read is; in no string: the last one was.
    text: Text,
    utf8: Utf8,
    /// The escaped first half of a surrogate pair, when a second one must follow.
    high_surrogate: Option<u16>,
    key: Key,
    /// The field whose value comes next.
    field: Option<Field>,
    name: Name,
    /// Where the opening quote of the model's value is.
    model_start: u64,
    model_seen: bool,
    model: Option<FoundModel>,
    stream: Option<bool>,
    failed: Option<BodyError>,
}

/// What may come next.
#[derive(Debug, Clone, Copy)]
enum State {
    /// Nothing but whitespace so far.
    Start,
    /// After `{`.
    FirstKey,
    /// After `,` in an object.
    Key,
    Colon,
    Value,
    /// After `[`.
    FirstItem,
    AfterValue,
    Text,
    /// After `\`.
    Escape,
    /// In `\uXXXX`: how many digits are left, and the value of those before.
    Unicode(u8, u16),
    Number(Number),
    /// What is left of `true`, `false` or `null`.
    Literal(&'static [u8]),
    /// After the outermost object.
    End,
}

/// What a string is to the scanner.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Text {
    Value,
    NestedKey,
    Key,
    Model,
}

/// Where in a number the bytes so far end (RFC 8259, 6).
#[derive(Debug, Clone, Copy)]
enum Number {
    Minus,
    Zero,
    Integer,
    Point,
    Fraction,
    E,
    Sign,
    Exponent,
}

impl Number {
    fn next(self, byte: u8) -> Option<Self> {
        Some(match (self, byte) {
            (Self::Minus, b'0') => Self::Zero,
            (Self::Minus, b'1'..=b'9') | (Self::Integer, b'0'..=b'9') => Self::Integer,
            (Self::Zero | Self::Integer, b'.') => Self::Point,
            (Self::Point | Self::Fraction, b'0'..=b'9') => Self::Fraction,
            (Self::Zero | Self::Integer | Self::Fraction, b'e' | b'E') => Self::E,
            (Self::E, b'+' | b'-') => Self::Sign,
            (Self::E | Self::Sign | Self::Exponent, b'0'..=b'9') => Self::Exponent,
            _ => return None,
        })
    }

    fn may_end(self) -> bool {
        matches!(
            self,
            Self::Zero | Self::Integer | Self::Fraction | Self::Exponent
        )
    }
}

/// The unread part of a chunk.
#[derive(Clone, Copy)]
struct Cursor<'a> {
    rest: &'a [u8],
    /// The offset, in the whole body, of the chunk's end.
    end: u64,
}

impl Cursor<'_> {
    /// The offset, in the whole body, of the next byte.
    fn at(&self) -> u64 {
        self.end.saturating_sub(self.rest.len() as u64)
    }
}

impl Default for JsonScanner {
    fn default() -> Self {
        Self::new()
    }
}

impl JsonScanner {
    /// A scanner that has read nothing.
    pub fn new() -> Self {
        Self {
            state: State::Start,
            at: 0,
            nesting: Nesting::default(),
            text: Text::Value,
            utf8: Utf8::default(),
            high_surrogate: None,
            key: Key::default(),
            field: None,
            name: Name::default(),
            model_start: 0,
            model_seen: false,
            model: None,
            stream: None,
            failed: None,
        }
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
        let result = self.scan(Cursor { rest: chunk, end });
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

    /// The model, once its closing quote has been read or its name is too long.
    pub fn model(&self) -> Option<&FoundModel> {
        self.model.as_ref()
    }

    /// Whether the bytes read so far end inside the model's value.
    pub fn inside_model(&self) -> bool {
        let in_text = matches!(self.state, State::Text | State::Escape | State::Unicode(..));
        in_text && self.text == Text::Model && self.model.is_none() && self.failed.is_none()
    }

    /// Whether the outermost object is closed.
    pub fn complete(&self) -> bool {
        matches!(self.state, State::End) && self.failed.is_none()
    }

    /// Whether the top-level `stream` is `true`, if there has been one.
    pub fn stream(&self) -> Option<bool> {
        self.stream
    }

    fn scan(&mut self, mut cursor: Cursor<'_>) -> Result<(), BodyError> {
        while let Some((&byte, tail)) = cursor.rest.split_first() {
            match self.state {
                State::Text => cursor.rest = self.text(cursor)?,
                State::Escape => {
                    self.escape(byte, cursor.at())?;
                    cursor.rest = tail;
                }
                State::Unicode(left, code) => {
                    self.unicode(left, code, byte, cursor.at())?;
                    cursor.rest = tail;
                }
                State::Number(number) => cursor.rest = self.number(number, cursor)?,
                State::Literal(word) => {
                    let after = match word.split_first() {
                        Some((&want, after)) if want == byte => after,
                        _ => return Err(BodyError::Syntax { at: cursor.at() }),
                    };
                    self.state = if after.is_empty() {
                        State::AfterValue
                    } else {
                        State::Literal(after)
                    };
                    cursor.rest = tail;
                }
                _ if is_whitespace(byte) => cursor.rest = skip_whitespace(tail),
                state => {
                    self.token(state, byte, cursor.at())?;
                    cursor.rest = tail;
                }
            }
        }
        Ok(())
    }

    /// Reads the first byte of a token.
    fn token(&mut self, state: State, byte: u8, at: u64) -> Result<(), BodyError> {
        match (state, byte) {
            (State::FirstKey | State::Key, b'"') => {
                self.text = if self.nesting.depth() == 1 {
                    self.key.clear();
                    Text::Key
                } else {
                    Text::NestedKey
                };
                self.state = State::Text;
            }
            (State::Colon, b':') => self.state = State::Value,
            (State::AfterValue, b',') => {
                self.state = match self.nesting.inner() {
                    Some(Container::Object) => State::Key,
                    _ => State::Value,
                };
            }
            (State::FirstKey, b'}') | (State::FirstItem, b']') => self.close(),
            (State::AfterValue, b'}') if self.nesting.inner() == Some(Container::Object) => {
                self.close();
            }
            (State::AfterValue, b']') if self.nesting.inner() == Some(Container::Array) => {
                self.close();
            }
            (State::Value | State::FirstItem, _) => self.value(byte, at)?,
            (State::Start, b'{') => self.value(byte, at)?,
            (State::Start, 0xEF | 0xFE | 0xFF) if at == 0 => return Err(BodyError::ByteOrderMark),
            (State::Start, b'[' | b'"' | b'-' | b'0'..=b'9' | b't' | b'f' | b'n') => {
                return Err(BodyError::NotAnObject);
            }
            (State::End, _) => return Err(BodyError::TrailingData { at }),
            _ => return Err(BodyError::Syntax { at }),
        }
        Ok(())
    }

    /// Reads the first byte of a value.
    fn value(&mut self, byte: u8, at: u64) -> Result<(), BodyError> {
        let state = match byte {
            b'"' => State::Text,
            b'{' => State::FirstKey,
            b'[' => State::FirstItem,
            b'-' => State::Number(Number::Minus),
            b'0' => State::Number(Number::Zero),
            b'1'..=b'9' => State::Number(Number::Integer),
            b't' => State::Literal(b"rue"),
            b'f' => State::Literal(b"alse"),
            b'n' => State::Literal(b"ull"),
            _ => return Err(BodyError::Syntax { at }),
        };
        self.text = Text::Value;
        match self.field.take() {
            None => {}
            Some(Field::Model) if byte == b'"' => {
                self.text = Text::Model;
                self.model_start = at;
            }
            Some(Field::Model) => return Err(BodyError::ModelNotString),
            // Nothing but `true` can begin so.
            Some(Field::Stream) => self.stream = Some(byte == b't'),
        }
        match byte {
            b'{' => self.nesting.open(Container::Object)?,
            b'[' => self.nesting.open(Container::Array)?,
            _ => {}
        }
        self.state = state;
        Ok(())
    }

    /// Reads on in a number; gives what is left of the chunk.
    fn number<'a>(
        &mut self,
        mut number: Number,
        mut cursor: Cursor<'a>,
    ) -> Result<&'a [u8], BodyError> {
        while let Some((&byte, tail)) = cursor.rest.split_first() {
            match number.next(byte) {
                Some(next) => number = next,
                None if number.may_end() => {
                    self.state = State::AfterValue;
                    return Ok(cursor.rest);
                }
                None => return Err(BodyError::Syntax { at: cursor.at() }),
            }
            cursor.rest = tail;
        }
        self.state = State::Number(number);
        Ok(cursor.rest)
    }

    fn close(&mut self) {
        self.nesting.close();
        self.state = if self.nesting.depth() == 0 {
            State::End
        } else {
            State::AfterValue
        };
    }

    /// Reads on in a string; gives what is left of the chunk.
    fn text<'a>(&mut self, mut cursor: Cursor<'a>) -> Result<&'a [u8], BodyError> {
        loop {
            if !self.utf8.is_inside() {
                let plain = plain_run(cursor.rest);
                cursor.rest = self.take(cursor, plain)?;
                match cursor.rest.split_first() {
                    None => return Ok(cursor.rest),
                    Some((b'"', tail)) => {
                        let end = cursor.at().saturating_add(1);
                        self.end_text(end)?;
                        return Ok(tail);
                    }
                    Some((b'\\', tail)) => {
                        self.state = State::Escape;
                        cursor.rest = tail;
                        let Some((&byte, tail)) = tail.split_first() else {
                            return Ok(tail);
                        };
                        self.escape(byte, cursor.at())?;
                        cursor.rest = tail;
                        if !matches!(self.state, State::Text) {
                            return Ok(tail);
                        }
                        continue;
                    }
                    Some((0x00..0x20, _)) => return Err(BodyError::Syntax { at: cursor.at() }),
                    // Before anything is held against the character itself, wherever the chunks end.
                    Some(_) => self.end_surrogate()?,
                }
            }
            let wide = self.utf8.run(cursor.rest).map_err(|bad| BodyError::Utf8 {
                at: cursor.at().saturating_add(bad as u64),
            })?;
            cursor.rest = self.take(cursor, wide)?;
            if cursor.rest.is_empty() {
                return Ok(cursor.rest);
            }
        }
    }

    /// Takes the next `len` bytes as they are into the string; gives what is left of the chunk.
    fn take<'a>(&mut self, cursor: Cursor<'a>, len: usize) -> Result<&'a [u8], BodyError> {
        let Some((piece, rest)) = cursor.rest.split_at_checked(len) else {
            return Ok(cursor.rest);
        };
        if !piece.is_empty() && matches!(self.text, Text::Key | Text::Model) {
            self.end_surrogate()?;
            let end = cursor.at().saturating_add(len as u64);
            self.push(piece, end)?;
        }
        Ok(rest)
    }

    /// Adds decoded text to a string that is kept; `end` is the offset after its bytes.
    fn push(&mut self, piece: &[u8], end: u64) -> Result<(), BodyError> {
        match self.text {
            Text::Value | Text::NestedKey => {}
            Text::Key => self.key.push(piece),
            Text::Model => {
                self.name.push(piece)?;
                if self.name.overflow() && self.model.is_none() {
                    self.model = Some(self.name.found(self.model_start..end)?);
                }
            }
        }
        Ok(())
    }

    /// Reads the byte after a `\`.
    fn escape(&mut self, byte: u8, at: u64) -> Result<(), BodyError> {
        let character = match byte {
            b'"' | b'\\' | b'/' => byte,
            b'b' => 0x08,
            b'f' => 0x0C,
            b'n' => b'\n',
            b'r' => b'\r',
            b't' => b'\t',
            b'u' => {
                self.state = State::Unicode(4, 0);
                return Ok(());
            }
            _ => return Err(BodyError::Syntax { at }),
        };
        self.end_surrogate()?;
        self.state = State::Text;
        self.push(&[character], at.saturating_add(1))
    }

    /// Reads a digit of `\uXXXX`.
    fn unicode(&mut self, left: u8, code: u16, byte: u8, at: u64) -> Result<(), BodyError> {
        let digit = match byte {
            b'0'..=b'9' => byte.wrapping_sub(b'0'),
            b'a'..=b'f' => byte.wrapping_sub(b'a').wrapping_add(10),
            b'A'..=b'F' => byte.wrapping_sub(b'A').wrapping_add(10),
            _ => return Err(BodyError::Syntax { at }),
        };
        let code = code.wrapping_mul(16) | u16::from(digit);
        let left = left.saturating_sub(1);
        if left > 0 {
            self.state = State::Unicode(left, code);
            return Ok(());
        }
        self.state = State::Text;
        if !matches!(self.text, Text::Key | Text::Model) {
            return Ok(());
        }
        let units = match (self.high_surrogate.take(), code) {
            (Some(high), 0xDC00..=0xDFFF) => [high, code],
            (Some(_), _) => {
                self.lone_surrogate()?;
                return self.unit(code, at);
            }
            (None, _) => return self.unit(code, at),
        };
        for character in char::decode_utf16(units).flatten() {
            self.push_char(character, at)?;
        }
        Ok(())
    }

    /// Takes an escaped UTF-16 code unit that ends no surrogate pair.
    fn unit(&mut self, code: u16, at: u64) -> Result<(), BodyError> {
        match char::from_u32(u32::from(code)) {
            Some(character) => self.push_char(character, at),
            None if code < 0xDC00 => {
                self.high_surrogate = Some(code);
                Ok(())
            }
            None => self.lone_surrogate(),
        }
    }

    fn push_char(&mut self, character: char, at: u64) -> Result<(), BodyError> {
        let mut utf8 = [0; 4];
        let piece = character.encode_utf8(&mut utf8).as_bytes();
        self.push(piece, at.saturating_add(1))
    }

    /// No second half followed the first half of a surrogate pair.
    fn end_surrogate(&mut self) -> Result<(), BodyError> {
        match self.high_surrogate.take() {
            Some(_) => self.lone_surrogate(),
            None => Ok(()),
        }
    }

    fn lone_surrogate(&mut self) -> Result<(), BodyError> {
        if self.text == Text::Model {
            return Err(BodyError::ModelSurrogate);
        }
        self.key.push_lone_surrogate();
        Ok(())
    }

    /// The closing quote of a string, just before `end`.
    fn end_text(&mut self, end: u64) -> Result<(), BodyError> {
        self.state = match self.text {
            Text::Value => State::AfterValue,
            Text::NestedKey => State::Colon,
            Text::Key => {
                self.end_surrogate()?;
                self.end_key()?;
                State::Colon
            }
            Text::Model => {
                self.end_surrogate()?;
                if self.model.is_none() {
                    self.model = Some(self.name.found(self.model_start..end)?);
                }
                State::AfterValue
            }
        };
        Ok(())
    }

    /// The end of a key of the outermost object.
    fn end_key(&mut self) -> Result<(), BodyError> {
        self.field = self.key.field()?;
        match self.field {
            Some(Field::Model) if self.model_seen => Err(BodyError::Duplicate(Field::Model)),
            Some(Field::Stream) if self.stream.is_some() => {
                Err(BodyError::Duplicate(Field::Stream))
            }
            Some(Field::Model) => {
                self.model_seen = true;
                Ok(())
            }
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::body::MAX_DEPTH;

    fn scan(chunks: &[&[u8]]) -> (Result<(), BodyError>, JsonScanner) {
        let mut scanner = JsonScanner::new();
        let fed = chunks.iter().try_for_each(|chunk| scanner.feed(chunk));
        let end = scanner.finish();
        assert!(fed.is_ok() || fed == end, "an error is final");
        (end, scanner)
    }

    /// The verdict on a text, which must not depend on how it is cut.
    fn verdict(text: &[u8]) -> Result<Option<FoundModel>, BodyError> {
        let (end, scanner) = scan(&[text]);
        for cut in 0..=text.len() {
            let (head, tail) = text.split_at(cut);
            let (other, cut_scanner) = scan(&[head, tail]);
            assert_eq!(end, other, "{:?} cut at {cut}", text.escape_ascii());
            if end.is_ok() {
                assert_eq!(scanner.model, cut_scanner.model, "cut at {cut}");
                assert_eq!(scanner.stream, cut_scanner.stream, "cut at {cut}");
            }
        }
        end.map(|()| scanner.model)
    }

    #[test]
    fn accepts() {
        let cases: &[(&str, &str, Option<&str>)] = &[
            ("empty object", "{}", None),
            (
                "whitespace all over",
                " \t\r\n{ \n\"model\" \t: \r\"m1\" , \"a\" : [ ] }\n ",
                Some("m1"),
            ),
            (
                "nested only",
                r#"{"a":{"model":"x"},"b":[{"model":"y"}]}"#,
                None,
            ),
            (
                "nested first",
                r#"{"a":{"model":"x","stream":1},"model":"m1"}"#,
                Some("m1"),
            ),
            (
                "a value that is `model`",
                r#"{"a":"model","b":["model"]}"#,
                None,
            ),
            ("escaped key", r#"{"mod\u0065l":"m1"}"#, Some("m1")),
            (
                "wholly escaped key",
                r#"{"\u006d\u006F\u0064\u0065\u006C":"m1"}"#,
                Some("m1"),
            ),
            ("escaped backslash in a key", r#"{"mode\\l":1}"#, None),
            (
                "escaped value",
                r#"{"model":"a\/b\"\\\u00e9"}"#,
                Some("a/b\"\\\u{e9}"),
            ),
            (
                "surrogate pair in the name",
                r#"{"model":"\uD83D\uDE00"}"#,
                Some("\u{1f600}"),
            ),
            (
                "name in UTF-8",
                "{\"model\":\"\u{e9}\u{20ac}\u{1f600}\"}",
                Some("\u{e9}\u{20ac}\u{1f600}"),
            ),
            (
                "a key that begins alike",
                r#"{"model_":1,"modelmodel":2,"streams":3}"#,
                None,
            ),
            (
                "a key with half a pair",
                r#"{"model\ud83d":1,"\ude00stream":2}"#,
                None,
            ),
            ("a key with a pair", r#"{"\ud83d\ude00":1}"#, None),
            (
                "half pairs in text",
                r#"{"a":"\ud83d","b":"\ude00\ud83dx","c":["\ud83d\ud83d\ude00"]}"#,
                None,
            ),
            (
                "numbers",
                r#"{"a":[0,-0,1,10,-1.5,1.25e5,0e0,1E+9,2e-3,1e999,123456789012345678901234567890]}"#,
                None,
            ),
            ("literals", r#"{"a":[true,false,null],"b":true}"#, None),
            ("all escapes", r#"{"a":"\"\\\/\b\f\n\r\t\u0000"}"#, None),
            ("delete in text", "{\"a\":\"\u{7f}\"}", None),
            ("empty key", r#"{"":1}"#, None),
            ("duplicates of other keys", r#"{"a":1,"a":2}"#, None),
        ];
        for (name, text, want) in cases {
            let got = verdict(text.as_bytes());
            let found = got.map(|model| model.map(|model| model.name));
            assert_eq!(found, Ok(want.map(str::to_owned)), "{name}");
        }
    }

    #[test]
    fn refuses() {
        let syntax = |at| BodyError::Syntax { at };
        let utf8 = |at| BodyError::Utf8 { at };
        let cases: &[(&str, &[u8], BodyError)] = &[
            ("nothing", b"", BodyError::Empty),
            ("whitespace", b" \r\n\t", BodyError::Empty),
            ("array", b"[{}]", BodyError::NotAnObject),
            ("string", b"\"model\"", BodyError::NotAnObject),
            ("number", b" 1", BodyError::NotAnObject),
            ("literal", b"null", BodyError::NotAnObject),
            ("form", b"model=m1", syntax(0)),
            (
                "UTF-8 byte order mark",
                b"\xEF\xBB\xBF{}",
                BodyError::ByteOrderMark,
            ),
            (
                "UTF-16 byte order mark",
                b"\xFF\xFE{\0}\0",
                BodyError::ByteOrderMark,
            ),
            ("UTF-16", b"{\0}\0", syntax(1)),
            ("mark after a space", b" \xEF\xBB\xBF{}", syntax(1)),
            ("single quotes", b"{'model':'m1'}", syntax(1)),
            ("comment", b"{/*c*/}", syntax(1)),
            ("no colon", b"{\"a\" 1}", syntax(5)),
            ("no value", b"{\"model\":}", syntax(9)),
            ("no key", b"{:1}", syntax(1)),
            ("key is a number", b"{1:1}", syntax(1)),
            ("comma first", b"{,}", syntax(1)),
            ("comma last in an object", b"{\"a\":1,}", syntax(7)),
            ("comma last in an array", b"{\"a\":[1,]}", syntax(8)),
            ("no comma", b"{\"a\":[1 2]}", syntax(8)),
            ("wrong bracket", b"{\"a\":[1}", syntax(7)),
            ("wrong brace", b"{\"a\":{]", syntax(6)),
            ("literal in capitals", b"{\"a\":True}", syntax(5)),
            ("literal cut", b"{\"a\":tru}", syntax(8)),
            ("literal too long", b"{\"a\":nulls}", syntax(9)),
            ("not a number", b"{\"a\":NaN}", syntax(5)),
            ("plus", b"{\"a\":+1}", syntax(5)),
            ("leading zero", b"{\"a\":01}", syntax(6)),
            ("minus alone", b"{\"a\":-}", syntax(6)),
            ("no fraction", b"{\"a\":1.}", syntax(7)),
            ("no integer", b"{\"a\":.5}", syntax(5)),
            ("no exponent", b"{\"a\":1e}", syntax(7)),
            ("sign only", b"{\"a\":1e+}", syntax(8)),
            ("other whitespace", b"{\x0C}", syntax(1)),
            ("no-break space", b"{\xC2\xA0}", syntax(1)),
            ("line feed in a string", b"{\"a\":\"x\n\"}", syntax(7)),
            ("NUL in a string", b"{\"a\":\"\0\"}", syntax(6)),
            ("line feed in the name", b"{\"model\":\"m\n\"}", syntax(11)),
            ("unknown escape", br#"{"a":"\x"}"#, syntax(7)),
            ("capital escape", br#"{"a":"\U0041"}"#, syntax(7)),
            ("no hexadecimal digit", br#"{"a":"\u00g0"}"#, syntax(10)),
            ("short escape", br#"{"a":"\u00"}"#, syntax(10)),
            ("lone continuation", b"{\"a\":\"\x80\"}", utf8(6)),
            ("overlong", b"{\"a\":\"\xC0\x80\"}", utf8(6)),
            ("overlong of three", b"{\"a\":\"\xE0\x80\x80\"}", utf8(7)),
            ("surrogate in UTF-8", b"{\"a\":\"\xED\xA0\x80\"}", utf8(7)),
            (
                "past the last character",
                b"{\"a\":\"\xF4\x90\x80\x80\"}",
                utf8(7),
            ),
            ("cut character", b"{\"a\":\"\xE2\x82\"}", utf8(8)),
            ("bad key", b"{\"mod\xFFel\":1}", utf8(5)),
            ("bad name", b"{\"model\":\"m\xFF\"}", utf8(11)),
            (
                "twice",
                br#"{"model":"a","model":"b"}"#,
                BodyError::Duplicate(Field::Model),
            ),
            (
                "twice with an escape",
                br#"{"model":"a","b":[1],"\u006dodel":"a"}"#,
                BodyError::Duplicate(Field::Model),
            ),
            (
                "stream twice",
                br#"{"stream":true,"stream":true}"#,
                BodyError::Duplicate(Field::Stream),
            ),
            (
                "stream twice, not literal",
                br#"{"stream":{},"stream":true}"#,
                BodyError::Duplicate(Field::Stream),
            ),
            (
                "variant",
                br#"{"Model":"a","model":"b"}"#,
                BodyError::CaseVariant,
            ),
            (
                "variant behind",
                br#"{"model":"b","MODEL":"a"}"#,
                BodyError::CaseVariant,
            ),
            (
                "variant of stream",
                br#"{"strEam":1}"#,
                BodyError::CaseVariant,
            ),
            (
                "long s",
                "{\"\u{17f}tream\":1}".as_bytes(),
                BodyError::CaseVariant,
            ),
            (
                "long s, escaped",
                br#"{"\u017ftream":1}"#,
                BodyError::CaseVariant,
            ),
            ("null", br#"{"model":null}"#, BodyError::ModelNotString),
            (
                "number for a model",
                br#"{"model":-5}"#,
                BodyError::ModelNotString,
            ),
            (
                "bool for a model",
                br#"{"model":true}"#,
                BodyError::ModelNotString,
            ),
            (
                "array for a model",
                br#"{"model":["a"]}"#,
                BodyError::ModelNotString,
            ),
            (
                "object for a model",
                br#"{"model":{}}"#,
                BodyError::ModelNotString,
            ),
            ("no name", br#"{"model":""}"#, BodyError::ModelEmpty),
            (
                "NUL in the name",
                br#"{"model":"a\u0000"}"#,
                BodyError::ModelControlCharacter,
            ),
            (
                "CR in the name",
                br#"{"model":"a\r"}"#,
                BodyError::ModelControlCharacter,
            ),
            (
                "delete in the name",
                b"{\"model\":\"a\x7F\"}",
                BodyError::ModelControlCharacter,
            ),
            (
                "high half alone",
                br#"{"model":"a\ud83d"}"#,
                BodyError::ModelSurrogate,
            ),
            (
                "high half, then text",
                br#"{"model":"\ud83da"}"#,
                BodyError::ModelSurrogate,
            ),
            (
                "high half, then an escape",
                br#"{"model":"\ud83d\n"}"#,
                BodyError::ModelSurrogate,
            ),
            (
                "high half twice",
                br#"{"model":"\ud83d\ud83d\ude00"}"#,
                BodyError::ModelSurrogate,
            ),
            (
                "high half, then a letter",
                br#"{"model":"\ud83d\u0041"}"#,
                BodyError::ModelSurrogate,
            ),
            (
                "high half, then bad UTF-8",
                b"{\"model\":\"\\ud83d\xE6x\"}",
                BodyError::ModelSurrogate,
            ),
            (
                "low half",
                br#"{"model":"\ude00"}"#,
                BodyError::ModelSurrogate,
            ),
            (
                "second object",
                br#"{}{"model":"a"}"#,
                BodyError::TrailingData { at: 2 },
            ),
            ("brace", b"{}\n}", BodyError::TrailingData { at: 3 }),
            ("NUL behind", b"{}\0", BodyError::TrailingData { at: 2 }),
            ("open", b"{", BodyError::Truncated),
            ("open string", br#"{"model":"m1"#, BodyError::Truncated),
            (
                "open after the model",
                br#"{"model":"m1""#,
                BodyError::Truncated,
            ),
            ("open number", br#"{"a":1"#, BodyError::Truncated),
            ("open literal", br#"{"a":tru"#, BodyError::Truncated),
            ("open character", b"{\"a\":\"\xE2\x82", BodyError::Truncated),
        ];
        for (name, text, want) in cases {
            assert_eq!(verdict(text), Err(*want), "{name}");
        }
    }

    #[test]
    fn the_span_is_the_literal_with_its_quotes() {
        for text in [
            r#"{"model":"m1"}"#,
            r#"{ "a" : "\u0041" , "mod\u0065l" : "\u006d1" , "b" : 1 }"#,
        ] {
            let model = verdict(text.as_bytes()).unwrap().unwrap();
            let span = model.span.start as usize..model.span.end as usize;
            let literal = &text.as_bytes()[span];
            assert_eq!(
                serde_json::from_slice::<String>(literal).unwrap(),
                "m1",
                "{text}"
            );
        }
    }

    #[test]
    fn a_long_name_is_reported_before_it_ends() {
        for (unit, len) in [
            ("m", 256),
            ("\u{e9}", 256),
            ("\u{20ac}", 255),
            (r"\u20ac", 255),
        ] {
            let mut scanner = JsonScanner::new();
            scanner.feed(br#"{"model":""#).unwrap();
            let mut fed = 0;
            while scanner.model().is_none() {
                assert!(scanner.inside_model(), "{unit}");
                scanner.feed(unit.as_bytes()).unwrap();
                fed += 1;
                assert!(fed <= 257, "{unit}: bounded");
            }
            assert!(!scanner.inside_model(), "{unit}: not held any longer");
            let found = scanner.model().unwrap().clone();
            assert!(found.truncated, "{unit}");
            assert_eq!((found.name.len(), found.span.start), (len, 9), "{unit}");
            scanner.feed(br#"m","a":1}"#).unwrap();
            scanner.finish().unwrap();
            assert_eq!(scanner.model(), Some(&found), "{unit}: stays");
        }
        let longest = "m".repeat(256);
        let text = format!(r#"{{"model":"{longest}"}}"#);
        let found = verdict(text.as_bytes()).unwrap().unwrap();
        assert_eq!((found.name, found.truncated), (longest, false));
        let end = verdict(format!(r#"{{"model":"{}\n"}}"#, "m".repeat(300)).as_bytes());
        assert_eq!(
            end,
            Err(BodyError::ModelControlCharacter),
            "past the limit too"
        );
    }

    #[test]
    fn inside_model_is_true_between_the_quotes_only() {
        let text = br#"{"a":"x","model":"m\u00e91","b":{"model":"y"}}"#;
        let open = text.windows(3).position(|part| part == b"\"m\\").unwrap();
        let mut scanner = JsonScanner::new();
        let mut inside = Vec::new();
        for (index, byte) in text.iter().enumerate() {
            scanner.feed(&[*byte]).unwrap();
            if scanner.inside_model() {
                inside.push(index);
            }
        }
        let close = open + br#""m\u00e91"#.len();
        assert_eq!(inside, (open..close).collect::<Vec<_>>());
        assert!(scanner.complete());
    }

    #[test]
    fn stream_is_true_only_as_a_literal() {
        let cases = [
            (r#"{}"#, None),
            (r#"{"a":{"stream":true}}"#, None),
            (r#"{"stream":true}"#, Some(true)),
            (r#"{"str\u0065am" : true}"#, Some(true)),
            (r#"{"stream":false}"#, Some(false)),
            (r#"{"stream":null}"#, Some(false)),
            (r#"{"stream":"true"}"#, Some(false)),
            (r#"{"stream":[true]}"#, Some(false)),
            (r#"{"stream":1}"#, Some(false)),
        ];
        for (text, want) in cases {
            let (end, scanner) = scan(&[text.as_bytes()]);
            assert_eq!((end, scanner.stream()), (Ok(()), want), "{text}");
        }
    }

    #[test]
    fn depth_is_bounded() {
        let nested = |depth: usize| {
            // The outer object is one level.
            let open = "[".repeat(depth - 1);
            format!(r#"{{"a":{open}{}}}"#, "]".repeat(depth - 1))
        };
        assert_eq!(scan(&[nested(MAX_DEPTH).as_bytes()]).0, Ok(()));
        let deeper = nested(MAX_DEPTH + 1);
        assert_eq!(scan(&[deeper.as_bytes()]).0, Err(BodyError::TooDeep));
    }

    #[test]
    fn an_error_is_final() {
        let mut scanner = JsonScanner::new();
        let error = Err(BodyError::Syntax { at: 1 });
        assert_eq!(scanner.feed(b"{]"), error);
        assert_eq!(scanner.feed(b""), error);
        assert_eq!(scanner.feed(b"{\"model\":\"m1\"}"), error);
        assert_eq!(scanner.finish(), error);
        assert_eq!(scanner.model(), None);
        assert!(!scanner.complete());
    }
}
