//! The keys that the scanner knows, and where each of them stands.

use super::others::Role;
use super::part::Hint;
use super::place::Place;
use super::{JsonScanner, State, Text, Word};
use crate::body::field::{GENERATION_CONFIG, STREAM_OPTIONS, TOP_LEVEL, eq_fold, field_of};
use crate::body::{BodyError, Field};

/// What a value is whose key is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Member {
    /// One that decides something: it comes once, and in no other case.
    Field(Field),
    /// A cap on the tokens of the output.
    OutputCap,
    /// One that leads to others: an object whose keys are compared, or an array of such.
    Place(Place),
    /// A model beside the request's own.
    Model(Role),
    /// What kind of tool it is.
    ToolType,
    /// The speed at which a fallback answers.
    FallbackSpeed,
    /// The fallbacks themselves.
    Fallbacks,
    /// What lets the upstream choose the model.
    ModelRouting,
}

impl Member {
    /// The place that an object or array opens which is its value.
    pub(super) fn leads_to(self) -> Option<Place> {
        match self {
            Self::Place(place) => Some(place),
            Self::Fallbacks => Some(Place::Fallback),
            Self::Field(Field::StreamOptions) => Some(Place::StreamOptions),
            _ => None,
        }
    }
}

/// The members that lead to a model or name one, which a parser may also find by another case of their key.
type Others = &'static [(&'static str, Member)];

const TOP: Others = &[
    ("tools", Member::Place(Place::Tool)),
    ("fallbacks", Member::Fallbacks),
    ("moderation", Member::Place(Place::Runner)),
    ("svg", Member::Place(Place::Runner)),
    ("requests", Member::Place(Place::Request)),
    ("generateContentRequest", Member::Place(Place::Request)),
    ("generate_content_request", Member::Place(Place::Request)),
];
const CONFIG: Others = &[
    ("routingConfig", Member::ModelRouting),
    ("routing_config", Member::ModelRouting),
    ("modelConfig", Member::ModelRouting),
    ("model_config", Member::ModelRouting),
];
const TOOL: Others = &[
    ("type", Member::ToolType),
    ("model", Member::Model(Role::Runs)),
    ("svg", Member::Place(Place::Runner)),
    ("tools", Member::Place(Place::Tool)),
];
const RUNNER: Others = &[("model", Member::Model(Role::Runs))];
const FALLBACK: Others = &[
    ("model", Member::Model(Role::Runs)),
    ("speed", Member::FallbackSpeed),
];
const REQUEST: Others = &[("model", Member::Model(Role::OfPath))];

impl Place {
    /// What the value of the key is in this object.
    ///
    /// # Errors
    /// [`BodyError::CaseVariant`]; see [`field_of`]. Caps decide nothing, so
    /// what reads like one only when case is ignored is a key like any other.
    fn member(self, key: &[u8]) -> Result<Option<Member>, BodyError> {
        let (fields, others): (&[Field], Others) = match self {
            Self::Top => (TOP_LEVEL, TOP),
            Self::StreamOptions => (STREAM_OPTIONS, &[]),
            Self::GenerationConfig => (GENERATION_CONFIG, CONFIG),
            Self::Tool => (&[], TOOL),
            Self::Runner => (&[], RUNNER),
            Self::Fallback => (&[], FALLBACK),
            Self::Request => (&[], REQUEST),
        };
        if let Some(field) = field_of(key, fields)? {
            return Ok(Some(Member::Field(field)));
        }
        Ok(match (self, key) {
            (Self::Top, b"max_tokens" | b"max_completion_tokens" | b"max_output_tokens")
            | (Self::GenerationConfig, b"maxOutputTokens" | b"max_output_tokens")
            | (Self::Fallback, b"max_tokens") => Some(Member::OutputCap),
            // A parser of protocol buffers takes the name in both spellings.
            (Self::Top, b"generationConfig" | b"generation_config") => {
                Some(Member::Place(Place::GenerationConfig))
            }
            _ => others
                .iter()
                .find(|(name, _)| eq_fold(key, name.as_bytes()))
                .map(|(_, member)| *member),
        })
    }
}

/// Whether a member of the outermost object may have content in it that is no text, or tools.
fn has_parts(key: &[u8]) -> bool {
    const CONTENT: [&str; 16] = [
        "messages",
        "input",
        "contents",
        "content",
        "requests",
        "system",
        "systemInstruction",
        "system_instruction",
        "instructions",
        "prompt",
        "image",
        "images",
        "mask",
        "instances",
        "generateContentRequest",
        "generate_content_request",
    ];
    CONTENT.iter().any(|name| eq_fold(key, name.as_bytes()))
}

impl JsonScanner {
    /// The end of a key in such an object; `whole` is the key where nothing of it was kept.
    // Few are: this stays out of the loop that reads all the others.
    #[inline(never)]
    pub(super) fn end_key(&mut self, whole: Option<&[u8]>) -> Result<(), BodyError> {
        if let Some(place) = self.object() {
            let key = whole.unwrap_or(self.key.bytes());
            self.member = place.member(key)?;
            if place == Place::Top {
                self.in_parts = has_parts(key);
            } else if self.reads_parts() {
                self.hint = Hint::of(key);
            }
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
            Member::Field(Field::StreamOptions) => self.usage.begin_options(byte, at)?,
            Member::Field(Field::IncludeUsage) => self.usage.begin_flag(byte, at)?,
            // Of a value that begins so nothing else can come.
            Member::Field(Field::Stream) => match byte {
                b't' | b'f' | b'n' => self.stream = Some(byte == b't'),
                _ => return Err(BodyError::WrongType(Field::Stream)),
            },
            Member::Field(Field::Background) => match byte {
                b't' | b'f' | b'n' => self.background = Some(byte == b't'),
                // That of an image is one.
                b'"' => self.background_text = true,
                _ => return Err(BodyError::WrongType(Field::Background)),
            },
            Member::Field(field @ Field::ServiceTier) => {
                self.begin_word(Word::ServiceTier, byte, field)?;
            }
            Member::Field(field @ Field::Speed) => self.begin_word(Word::Speed, byte, field)?,
            Member::FallbackSpeed => self.begin_word(Word::Speed, byte, Field::Speed)?,
            Member::Field(field @ (Field::N | Field::CandidateCount)) => match self.state {
                State::Number(number) if self.cap.begin(byte, Some(field)) => {
                    self.state = State::Cap(number);
                }
                _ if byte == b'n' => {}
                _ => return Err(BodyError::WrongType(field)),
            },
            // No key leads to these.
            Member::Field(_) => {}
            Member::OutputCap => {
                if let State::Number(number) = self.state
                    && self.cap.begin(byte, None)
                {
                    self.state = State::Cap(number);
                }
            }
            Member::Model(role) => match byte {
                b'"' => {
                    self.text = Text::Other(role);
                    self.model_start = at;
                    self.name = super::Name::default();
                }
                b'n' => {}
                _ => return Err(BodyError::WrongType(Field::NestedModel)),
            },
            Member::ToolType => {
                if byte == b'"' {
                    self.key.clear();
                    self.text = Text::Word(Word::ToolType);
                }
            }
            Member::Fallbacks if !matches!(byte, b'[' | b'n') => {
                return Err(BodyError::WrongType(Field::Fallbacks));
            }
            Member::ModelRouting if byte != b'n' => {
                return Err(BodyError::NotSupported(Field::ModelRouting));
            }
            Member::Place(_) | Member::Fallbacks | Member::ModelRouting => {}
        }
        Ok(())
    }

    /// The first byte of the value of a field that is a word.
    fn begin_word(&mut self, word: Word, byte: u8, field: Field) -> Result<(), BodyError> {
        match byte {
            b'"' => {
                self.key.clear();
                self.text = Text::Word(word);
                Ok(())
            }
            b'n' => Ok(()),
            _ => Err(BodyError::WrongType(field)),
        }
    }

    /// The end of a word.
    pub(super) fn end_word(&mut self, word: Word) {
        let bytes = self.key.bytes();
        match word {
            Word::ToolType => {
                let kind = bytes.get(..IMAGE_TOOL.len()).unwrap_or_default();
                self.image_tool |= kind.eq_ignore_ascii_case(IMAGE_TOOL);
            }
            Word::ServiceTier => {
                let tier = kept(bytes);
                self.rare().service_tier = Some(tier);
            }
            // Of the request's and those of its fallbacks the one that costs more.
            Word::Speed if bytes == STANDARD && self.speed().is_some() => {}
            Word::Speed => {
                let speed = kept(bytes);
                self.rare().speed = Some(speed);
            }
        }
    }
}

/// What the type of a tool that makes images begins with.
const IMAGE_TOOL: &[u8] = b"image_generation";
/// The plain speed.
const STANDARD: &[u8] = b"standard";

fn kept(word: &[u8]) -> Box<str> {
    String::from_utf8_lossy(word).into()
}

#[cfg(test)]
mod tests;
