//! The scanner for JSON bodies: RFC 8259, strictly, as one pushdown automaton.

mod made;
mod member;
mod number;
mod others;
mod output_cap;
mod part;
mod scope;
mod skip;
mod string;
mod usage_option;

pub use made::PictureAsked;
pub use others::{ModelRole, OtherModel};
pub use output_cap::CapMembers;
pub use usage_option::{UsageEdit, UsageOption};

use super::field::{KeptWord, ModelBuffer, SeenFields};
use super::nesting::Nesting;
use super::progress::{ScanProgress, Stage};
use super::{BodyError, Field, FoundModel};
use crate::text::{Container, EscapeDecoder, Utf8, is_whitespace, skip_whitespace};
use member::KnownMember;
use number::Number;
use others::Rare;
use output_cap::CapReader;
use part::PartHint;
use scope::{KeyScope, OpenScopes, ScopeMarks};
use usage_option::UsageReader;

/// Watches one JSON body; see [`BodyScanner`](super::BodyScanner) for what its methods promise.
///
/// Total on any input. Its memory is bounded, and fixed but for the names of models. What it accepts is RFC 8259 with
/// an object on the outside, nested up to [`MAX_DEPTH`](super::MAX_DEPTH). The size of numbers and half
/// surrogate pairs outside the model's name are the upstream's business.
#[derive(Debug)]
pub struct JsonScanner {
    state: JsonState,
    progress: ScanProgress,
    nesting: Nesting,
    scopes: OpenScopes,
    /// The role of the string being read, or of the last one outside strings.
    text: StringRole,
    utf8: Utf8,
    escape: EscapeDecoder,
    key: KeptWord,
    /// The role of the value that comes next, if its key is known.
    member: Option<KnownMember>,
    name: ModelBuffer,
    /// The offset of the opening quote of the model's value.
    model_start: u64,
    seen: SeenFields,
    model: Option<FoundModel>,
    stream: Option<bool>,
    background: Option<bool>,
    background_text: bool,
    /// The body asks for reasoning.
    reasons: bool,
    /// The object that is being read, which may ask for reasoning, switches it off.
    reasons_not: bool,
    rare: Option<Box<Rare>>,
    usage: UsageReader,
    cap: CapReader,
    /// The hint that the key before the next value gives, where there may be parts of the input.
    hint: PartHint,
    /// Whether the member being read of the outermost object may have such parts.
    in_parts: bool,
    /// The depth of the object or array that is only text; 0 for none.
    text_depth: u16,
    /// The depth of the last object that holds a part, unless another has been opened since.
    holder: u16,
    /// The number of `\uXXXX` escapes read so far.
    unicode_escapes: u64,
}

/// The syntax that may come next.
#[derive(Debug, Clone, Copy)]
enum JsonState {
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
    /// In an escape.
    Escape,
    Number(Number),
    /// A number that is a cap on the output, and all digits so far.
    Cap(Number),
    /// The rest of `true`, `false` or `null`, still to be read.
    Literal(&'static [u8]),
    /// After the outermost object.
    End,
}

/// The role of a string for the scanner.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum StringRole {
    Value,
    /// A key that is not compared.
    NestedKey,
    Key,
    Model,
    /// The name of another model.
    Other(ModelRole),
    /// The value of a field that is a word.
    Word(Word),
    /// A value that may be a part of the input that is no text.
    Part,
}

impl StringRole {
    /// Whether it is compared or kept, unescaped.
    fn is_kept(self) -> bool {
        matches!(
            self,
            Self::Key | Self::Model | Self::Other(_) | Self::Word(_)
        )
    }
}

/// A field whose value is a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Word {
    ServiceTier,
    Speed,
    InferenceGeo,
    ToolType,
    /// The effort that the model is to spend on reasoning.
    ReasoningEffort,
    /// The same, in an object that asks for it.
    Reasoning,
    Size,
    Quality,
    PartSize,
    AudioFormat,
}

/// The unread part of a chunk.
#[derive(Clone, Copy)]
struct ChunkCursor<'a> {
    rest: &'a [u8],
    /// The offset, in the whole body, of the chunk's end.
    end: u64,
}

impl ChunkCursor<'_> {
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
            state: JsonState::Start,
            progress: ScanProgress::default(),
            nesting: Nesting::default(),
            scopes: OpenScopes::default(),
            text: StringRole::Value,
            utf8: Utf8::default(),
            escape: EscapeDecoder::default(),
            key: KeptWord::default(),
            member: None,
            name: ModelBuffer::default(),
            model_start: 0,
            seen: SeenFields::default(),
            model: None,
            stream: None,
            background: None,
            background_text: false,
            reasons: false,
            reasons_not: false,
            rare: None,
            usage: UsageReader::default(),
            cap: CapReader::default(),
            hint: PartHint::None,
            in_parts: false,
            text_depth: 0,
            holder: 0,
            unicode_escapes: 0,
        }
    }

    /// Reads the next bytes.
    ///
    /// # Errors
    /// The reason for the rejection of the body, which is final.
    pub fn feed(&mut self, chunk: &[u8]) -> Result<(), BodyError> {
        let end = self.progress.begin(chunk)?;
        let result = self.scan(ChunkCursor { rest: chunk, end });
        self.progress.settle(end, result)
    }

    /// Tells that the body has ended.
    ///
    /// # Errors
    /// The reason for the rejection of the body, which is final.
    pub fn finish(&mut self) -> Result<(), BodyError> {
        self.progress.finish(match self.state {
            JsonState::Start => Stage::Before,
            JsonState::End => Stage::Behind,
            _ => Stage::Inside,
        })
    }

    /// The model, once its closing quote has been read or its name is too long.
    pub fn model(&self) -> Option<&FoundModel> {
        self.model.as_ref()
    }

    /// Returns the offset of the model's value, if the bytes read so far end inside it.
    pub fn inside_model(&self) -> Option<u64> {
        let in_text = matches!(self.state, JsonState::Text | JsonState::Escape);
        let inside = in_text
            && self.text == StringRole::Model
            && self.model.is_none()
            && self.progress.is_sound();
        inside.then_some(self.model_start)
    }

    /// Whether the outermost object is closed.
    pub fn complete(&self) -> bool {
        matches!(self.state, JsonState::End) && self.progress.is_sound()
    }

    /// Whether the top-level `stream` is `true`, if there has been one.
    pub fn stream(&self) -> Option<bool> {
        self.stream
    }

    /// Whether the top-level `background` is `true`, if there has been one.
    pub fn background(&self) -> Option<bool> {
        self.background
    }

    /// Whether the top-level `background` is a string, as that of an image is.
    pub fn background_text(&self) -> bool {
        self.background_text
    }

    /// The top-level `service_tier`, if there has been one.
    pub fn service_tier(&self) -> Option<&str> {
        self.rare.as_ref()?.service_tier.as_deref()
    }

    /// The `speed` of the request and its fallbacks: if any has another than `standard`, that.
    pub fn speed(&self) -> Option<&str> {
        self.rare.as_ref()?.speed.as_deref()
    }

    /// The top-level `inference_geo`, if there has been one.
    pub fn inference_geo(&self) -> Option<&str> {
        self.rare.as_ref()?.inference_geo.as_deref()
    }

    fn scan(&mut self, mut cursor: ChunkCursor<'_>) -> Result<(), BodyError> {
        while let Some((&byte, tail)) = cursor.rest.split_first() {
            match self.state {
                JsonState::Text => cursor.rest = self.text(cursor)?,
                JsonState::Escape => cursor.rest = self.read_escape(cursor)?,
                JsonState::Number(number) => cursor.rest = self.number(number, cursor)?,
                JsonState::Cap(number) => cursor.rest = self.cap(number, cursor.rest)?,
                JsonState::Literal(word) => {
                    let after = match word.split_first() {
                        Some((&want, after)) if want == byte => after,
                        _ => return Err(BodyError::Syntax { at: cursor.at() }),
                    };
                    self.state = if after.is_empty() {
                        self.usage.end_literal(cursor.at().saturating_add(1));
                        JsonState::AfterValue
                    } else {
                        JsonState::Literal(after)
                    };
                    cursor.rest = tail;
                }
                JsonState::AfterValue if byte == b',' && self.depth() > self.scopes.depth() => {
                    cursor.rest = self.skip_nested(cursor.rest);
                }
                _ if is_whitespace(byte) => cursor.rest = skip_whitespace(tail),
                state => {
                    self.token(state, byte, cursor.at())?;
                    cursor.rest = match tail {
                        // Mostly a key follows at once.
                        [b'"', behind @ ..]
                            if matches!(self.state, JsonState::FirstKey | JsonState::Key) =>
                        {
                            self.begin_key();
                            behind
                        }
                        _ => tail,
                    };
                }
            }
        }
        Ok(())
    }

    /// Reads the first byte of a token.
    fn token(&mut self, state: JsonState, byte: u8, at: u64) -> Result<(), BodyError> {
        match (state, byte) {
            (JsonState::FirstKey | JsonState::Key, b'"') => self.begin_key(),
            (JsonState::Colon, b':') => self.state = JsonState::Value,
            (JsonState::AfterValue, b',') => {
                self.state = match self.nesting.inner() {
                    Some(Container::Object) => JsonState::Key,
                    _ => JsonState::Value,
                };
            }
            (JsonState::FirstKey, b'}') | (JsonState::FirstItem, b']') => self.close(at, true)?,
            (JsonState::AfterValue, b'}') if self.nesting.inner() == Some(Container::Object) => {
                self.close(at, false)?;
            }
            (JsonState::AfterValue, b']') if self.nesting.inner() == Some(Container::Array) => {
                self.close(at, false)?;
            }
            (JsonState::Value | JsonState::FirstItem, _) => self.value(byte, at)?,
            (JsonState::Start, b'{') => self.value(byte, at)?,
            (JsonState::Start, 0xEF | 0xFE | 0xFF) if at == 0 => {
                return Err(BodyError::ByteOrderMark);
            }
            (JsonState::Start, b'[' | b'"' | b'-' | b'0'..=b'9' | b't' | b'f' | b'n') => {
                return Err(BodyError::NotAnObject);
            }
            (JsonState::End, _) => return Err(BodyError::TrailingData { at }),
            _ => return Err(BodyError::Syntax { at }),
        }
        Ok(())
    }

    /// The opening quote of a key.
    fn begin_key(&mut self) {
        self.key.clear();
        self.text = if self.object().is_none() {
            StringRole::NestedKey
        } else {
            StringRole::Key
        };
        self.state = JsonState::Text;
    }

    /// Reads the first byte of a value.
    fn value(&mut self, byte: u8, at: u64) -> Result<(), BodyError> {
        let state = match byte {
            b'"' => JsonState::Text,
            b'{' => JsonState::FirstKey,
            b'[' => JsonState::FirstItem,
            b'-' => JsonState::Number(Number::Minus),
            b'0' => JsonState::Number(Number::Zero),
            b'1'..=b'9' => JsonState::Number(Number::Integer),
            b't' => JsonState::Literal(b"rue"),
            b'f' => JsonState::Literal(b"alse"),
            b'n' => JsonState::Literal(b"ull"),
            _ => return Err(BodyError::Syntax { at }),
        };
        let member = self.member.take();
        let hint = core::mem::take(&mut self.hint);
        // An object names it in a member.
        let names_models = byte != b'{'
            && self.nesting.inner() == Some(Container::Array)
            && self.scope() == Some(KeyScope::Fallback);
        self.text = StringRole::Value;
        match byte {
            b'{' => {
                self.open(Container::Object, leads_to(member, hint))?;
                self.note_holder(hint);
                self.note_text(hint);
            }
            b'[' => {
                self.open(Container::Array, leads_to(member, hint))?;
                self.note_text(hint);
            }
            b'"' if hint != PartHint::None => self.begin_part(hint, at),
            _ => {}
        }
        self.state = state;
        match member {
            Some(member) => self.begin_member(member, byte, at),
            None if names_models => self.begin_named(byte, at),
            None => Ok(()),
        }
    }

    /// Returns the number of open arrays and objects.
    fn depth(&self) -> u16 {
        // There are no more than `MAX_DEPTH`.
        u16::try_from(self.nesting.depth()).unwrap_or(u16::MAX)
    }

    /// Notes whether what was just opened has nothing but text in it.
    fn note_text(&mut self, hint: PartHint) {
        if hint.is_text() {
            self.text_depth = self.depth();
        }
    }

    /// The closing bracket at `at`, of an array or object that is `empty` or not.
    ///
    /// # Errors
    /// [`BodyError::NotModels`] for one of a list of models that names none.
    fn close(&mut self, at: u64, empty: bool) -> Result<(), BodyError> {
        self.state = JsonState::AfterValue;
        if self.depth() == self.text_depth {
            self.text_depth = 0;
        }
        match self.close_scope() {
            Some((KeyScope::Top, _)) => {
                self.usage.end_body(at, empty);
                self.state = JsonState::End;
            }
            Some((KeyScope::Reasoning, _)) => self.end_reasoning(),
            Some((KeyScope::StreamOptions, _)) => {
                let lacking = !self.seen.has(Field::IncludeUsage);
                self.usage.end_options(lacking.then_some((at, empty)));
            }
            Some((KeyScope::Fallback, marks)) if !marks.has(ScopeMarks::MODEL) => {
                return Err(BodyError::NotModels);
            }
            Some((KeyScope::Tool, marks))
                if marks.has(ScopeMarks::IMAGE_TOOL) && !marks.has(ScopeMarks::MODEL) =>
            {
                self.rare().image_tool_unnamed = true;
            }
            _ => {}
        }
        Ok(())
    }
}

/// The place that an object or array opens.
fn leads_to(member: Option<KnownMember>, hint: PartHint) -> Option<KeyScope> {
    match (member, hint) {
        (Some(member), _) => member.leads_to(),
        (None, PartHint::Tools) => Some(KeyScope::Tool),
        (None, _) => None,
    }
}

#[cfg(test)]
mod tests;
