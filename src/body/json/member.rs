//! The keys that the scanner knows, and where each of them stands.

use super::{JsonScanner, State, Text};
use crate::body::field::{STREAM_OPTIONS, TOP_LEVEL, field_of};
use crate::body::{BodyError, Field};

/// An object whose keys are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Object {
    /// The outermost.
    Top,
    /// The value of `stream_options`.
    StreamOptions,
    /// A value of `generationConfig`.
    GenerationConfig,
}

/// What a value is whose key is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Member {
    /// One that decides something: it comes once, and in no other case.
    Field(Field),
    /// A cap on the tokens of the output.
    OutputCap,
    /// The object that has such a cap in protocol C.
    GenerationConfig,
}

impl Object {
    /// What the value of the key is in this object.
    ///
    /// # Errors
    /// [`BodyError::CaseVariant`]; see [`field_of`]. Caps decide nothing, so
    /// what reads like one only when case is ignored is a key like any other.
    fn member(self, key: &[u8]) -> Result<Option<Member>, BodyError> {
        let fields = match self {
            Self::Top => TOP_LEVEL,
            Self::StreamOptions => STREAM_OPTIONS,
            Self::GenerationConfig => &[],
        };
        if let Some(field) = field_of(key, fields)? {
            return Ok(Some(Member::Field(field)));
        }
        Ok(match (self, key) {
            (Self::Top, b"max_tokens" | b"max_completion_tokens" | b"max_output_tokens") => {
                Some(Member::OutputCap)
            }
            // A parser of protocol buffers takes the name in both spellings.
            (Self::Top, b"generationConfig" | b"generation_config") => {
                Some(Member::GenerationConfig)
            }
            (Self::GenerationConfig, b"maxOutputTokens" | b"max_output_tokens") => {
                Some(Member::OutputCap)
            }
            _ => None,
        })
    }
}

impl JsonScanner {
    /// The innermost open object, if its keys are compared.
    pub(super) fn object(&self) -> Option<Object> {
        match self.nesting.depth() {
            1 => Some(Object::Top),
            2 if self.usage.in_options() => Some(Object::StreamOptions),
            2 if self.cap.in_config() => Some(Object::GenerationConfig),
            _ => None,
        }
    }

    /// The end of a key in such an object; `whole` is the key where nothing of it was kept.
    // Few are: this stays out of the loop that reads all the others.
    #[inline(never)]
    pub(super) fn end_key(&mut self, whole: Option<&[u8]>) -> Result<(), BodyError> {
        if let Some(object) = self.object() {
            self.member = object.member(whole.unwrap_or(self.key.bytes()))?;
        }
        match self.member {
            Some(Member::Field(field)) => self.seen.note(field),
            _ => Ok(()),
        }
    }

    /// The first byte, at `at`, of the value of a member.
    // Few values are: this stays out of what every value runs through.
    #[inline(never)]
    pub(super) fn begin_member(
        &mut self,
        member: Member,
        byte: u8,
        at: u64,
    ) -> Result<(), BodyError> {
        match member {
            Member::Field(Field::Model) if byte == b'"' => {
                self.text = Text::Model;
                self.model_start = at;
            }
            Member::Field(Field::Model) => return Err(BodyError::ModelNotString),
            // Nothing but `true` can begin so.
            Member::Field(Field::Stream) => self.stream = Some(byte == b't'),
            Member::Field(Field::StreamOptions) => self.usage.begin_options(byte, at),
            Member::Field(Field::IncludeUsage) => self.usage.begin_flag(byte, at),
            Member::OutputCap => {
                if let State::Number(number) = self.state
                    && self.cap.begin(byte)
                {
                    self.state = State::Cap(number);
                }
            }
            Member::GenerationConfig => self.cap.begin_config(byte),
        }
        Ok(())
    }

    /// The end, with a closing bracket at `at`, of an `empty` or other value of the outermost object.
    pub(super) fn end_member(&mut self, at: u64, empty: bool) {
        if self.usage.in_options() {
            let lacking = !self.seen.has(Field::IncludeUsage);
            self.usage.end_options(lacking.then_some((at, empty)));
        }
        self.cap.end_config();
    }
}
