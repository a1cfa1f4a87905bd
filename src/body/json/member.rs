//! The keys that the scanner knows, and where each of them stands.

use super::others::ModelRole;
use super::part::PartHint;
use super::scope::{KeyScope, ScopeMarks};
use super::{JsonScanner, JsonState, StringRole, Word};
use crate::body::field::{GENERATION_CONFIG, STREAM_OPTIONS, TOP_LEVEL, eq_fold, field_of};
use crate::body::steering::{SteeringAction, SteeringId, steering_member, steering_tool};
use crate::body::{BodyError, Field};

/// The role of a value, known by its key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum KnownMember {
    /// A member that decides something: it comes once, and in no other case.
    Field(Field),
    /// A cap on the tokens of the output.
    OutputCap,
    /// A member that leads to others: an object whose keys are compared, or an array of such.
    Scope(KeyScope),
    /// A model beside the request's own.
    Model(ModelRole),
    /// The `type` of a tool.
    ToolType,
    /// The speed at which a fallback answers.
    FallbackSpeed,
    /// A list of models that may run in the place of the request's own.
    Models,
    /// A choice of model, provider or price elsewhere.
    Steering(SteeringId),
    /// A member that lets the upstream choose the model.
    ModelRouting,
    /// A name of what a vendor keeps for an account.
    State,
    /// A word that decides nothing.
    Word(Word),
    /// A switch that ends reasoning by `false` or nought.
    ReasoningSwitch,
    /// A switch that begins it by `true`.
    ReasoningFlag,
}

impl KnownMember {
    /// The place that an object or array opens which is its value.
    pub(super) fn leads_to(self) -> Option<KeyScope> {
        match self {
            Self::Scope(scope) => Some(scope),
            Self::Models => Some(KeyScope::Fallback),
            Self::Field(Field::StreamOptions) => Some(KeyScope::StreamOptions),
            _ => None,
        }
    }
}

/// The members that lead to a model or name one, which a parser may also find by another case of their key.
type Others = &'static [(&'static str, KnownMember)];

const TOP: Others = &[
    ("tools", KnownMember::Scope(KeyScope::Tool)),
    ("moderation", KnownMember::Scope(KeyScope::Runner)),
    ("svg", KnownMember::Scope(KeyScope::Runner)),
    ("requests", KnownMember::Scope(KeyScope::Request)),
    (
        "generateContentRequest",
        KnownMember::Scope(KeyScope::Request),
    ),
    (
        "generate_content_request",
        KnownMember::Scope(KeyScope::Request),
    ),
    ("reasoning", KnownMember::Scope(KeyScope::Reasoning)),
    ("thinking", KnownMember::Scope(KeyScope::Reasoning)),
    ("reasoning_effort", KnownMember::Word(Word::ReasoningEffort)),
    ("enable_thinking", KnownMember::ReasoningFlag),
    ("size", KnownMember::Word(Word::Size)),
    ("quality", KnownMember::Word(Word::Quality)),
    ("image_config", KnownMember::Scope(KeyScope::ImageConfig)),
    ("audio", KnownMember::Scope(KeyScope::Audio)),
    ("previous_response_id", KnownMember::State),
    ("conversation", KnownMember::State),
    ("container", KnownMember::State),
    ("cachedContent", KnownMember::State),
    ("cached_content", KnownMember::State),
];
const CONFIG: Others = &[
    ("routingConfig", KnownMember::ModelRouting),
    ("routing_config", KnownMember::ModelRouting),
    ("modelConfig", KnownMember::ModelRouting),
    ("model_config", KnownMember::ModelRouting),
    ("thinkingConfig", KnownMember::Scope(KeyScope::Reasoning)),
    ("thinking_config", KnownMember::Scope(KeyScope::Reasoning)),
    ("imageConfig", KnownMember::Scope(KeyScope::ImageConfig)),
    ("image_config", KnownMember::Scope(KeyScope::ImageConfig)),
];
const REASONING: Others = &[
    ("effort", KnownMember::Word(Word::Reasoning)),
    ("type", KnownMember::Word(Word::Reasoning)),
    ("enabled", KnownMember::ReasoningSwitch),
    ("thinkingBudget", KnownMember::ReasoningSwitch),
    ("thinking_budget", KnownMember::ReasoningSwitch),
];
const IMAGE_CONFIG: Others = &[
    ("imageSize", KnownMember::Word(Word::PartSize)),
    ("image_size", KnownMember::Word(Word::PartSize)),
];
const AUDIO: Others = &[("format", KnownMember::Word(Word::AudioFormat))];
const TOOL: Others = &[
    ("type", KnownMember::ToolType),
    ("model", KnownMember::Model(ModelRole::Runs)),
    ("svg", KnownMember::Scope(KeyScope::Runner)),
    ("tools", KnownMember::Scope(KeyScope::Tool)),
    ("size", KnownMember::Word(Word::Size)),
    ("quality", KnownMember::Word(Word::Quality)),
    ("container", KnownMember::State),
    ("vector_store_ids", KnownMember::State),
];
const RUNNER: Others = &[("model", KnownMember::Model(ModelRole::Runs))];
const FALLBACK: Others = &[
    ("model", KnownMember::Model(ModelRole::Runs)),
    ("speed", KnownMember::FallbackSpeed),
];
const REQUEST: Others = &[("model", KnownMember::Model(ModelRole::OfPath))];

impl KeyScope {
    /// Returns the role of the key's value in this object.
    ///
    /// # Errors
    /// [`BodyError::CaseVariant`]; see [`field_of`]. Caps decide nothing, so
    /// what reads like one only when case is ignored is a key like any other.
    fn member(self, key: &[u8]) -> Result<Option<KnownMember>, BodyError> {
        if self.is_plain_content(key) {
            return Ok(None);
        }
        let (fields, others): (&[Field], Others) = match self {
            Self::Top => (TOP_LEVEL, TOP),
            Self::StreamOptions => (STREAM_OPTIONS, &[]),
            Self::GenerationConfig => (GENERATION_CONFIG, CONFIG),
            Self::Tool => (&[], TOOL),
            Self::Runner => (&[], RUNNER),
            Self::Fallback => (&[], FALLBACK),
            Self::Request => (&[], REQUEST),
            Self::Reasoning => (&[], REASONING),
            Self::ImageConfig => (&[], IMAGE_CONFIG),
            Self::Audio => (&[], AUDIO),
        };
        if let Some(field) = field_of(key, fields)? {
            return Ok(Some(KnownMember::Field(field)));
        }
        Ok(match (self, key) {
            (Self::Top, b"max_tokens" | b"max_completion_tokens" | b"max_output_tokens")
            | (Self::GenerationConfig, b"maxOutputTokens" | b"max_output_tokens")
            | (Self::Fallback, b"max_tokens") => Some(KnownMember::OutputCap),
            // A parser of protocol buffers takes the name in both spellings.
            (Self::Top, b"generationConfig" | b"generation_config") => {
                Some(KnownMember::Scope(KeyScope::GenerationConfig))
            }
            _ => {
                let known = others
                    .iter()
                    .find(|(name, _)| eq_fold(key, name.as_bytes()));
                match known {
                    Some((_, member)) => Some(*member),
                    None if matches!(self, Self::Top | Self::Fallback) => steering(key),
                    None => None,
                }
            }
        })
    }

    /// Whether a member is one of those that most bodies or tools have, and decides nothing here.
    #[inline]
    fn is_plain_content(self, key: &[u8]) -> bool {
        match self {
            Self::Top => matches!(
                key,
                b"messages"
                    | b"system"
                    | b"input"
                    | b"instructions"
                    | b"contents"
                    | b"systemInstruction"
                    | b"metadata"
                    | b"temperature"
                    | b"top_p"
                    | b"tool_choice"
                    | b"toolConfig"
                    | b"text"
                    | b"store"
                    | b"include"
                    | b"stop"
                    | b"user"
                    | b"response_format"
                    | b"parallel_tool_calls"
                    | b"prompt_cache_key"
                    | b"prompt"
            ),
            Self::Tool => matches!(
                key,
                b"function"
                    | b"name"
                    | b"description"
                    | b"parameters"
                    | b"input_schema"
                    | b"strict"
                    | b"functionDeclarations"
            ),
            _ => false,
        }
    }
}

/// Finds a member in the table of those that choose elsewhere.
fn steering(key: &[u8]) -> Option<KnownMember> {
    let id = steering_member(key)?;
    Some(match id.member()?.action {
        SteeringAction::Models => KnownMember::Models,
        SteeringAction::Model => KnownMember::Model(ModelRole::Runs),
        SteeringAction::Refused | SteeringAction::ToolRefused => KnownMember::Steering(id),
    })
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
        if let Some(scope) = self.object() {
            let key = whole.unwrap_or(self.key.bytes());
            self.member = scope.member(key)?;
            if self.member == Some(KnownMember::OutputCap) && !self.cap.members.has(scope, key) {
                self.member = None;
            }
            if scope == KeyScope::Top {
                self.in_parts = has_parts(key);
            } else if self.reads_parts() {
                self.hint = PartHint::of(key);
            }
        }
        match self.member {
            Some(KnownMember::Field(field)) => self.seen.note(field),
            _ => Ok(()),
        }
    }

    /// The first byte, at `at`, of the value of a member.
    // Few values are: this stays out of what every value runs through.
    #[inline(never)]
    pub(super) fn begin_member(
        &mut self,
        member: KnownMember,
        byte: u8,
        at: u64,
    ) -> Result<(), BodyError> {
        match member {
            KnownMember::Field(Field::Model) if byte == b'"' => {
                self.text = StringRole::Model;
                self.model_start = at;
            }
            KnownMember::Field(Field::Model) => return Err(BodyError::ModelNotString),
            KnownMember::Field(Field::StreamOptions) => self.usage.begin_options(byte, at)?,
            KnownMember::Field(Field::IncludeUsage) => self.usage.begin_flag(byte, at)?,
            // Of a value that begins so nothing else can come.
            KnownMember::Field(Field::Stream) => match byte {
                b't' | b'f' | b'n' => self.stream = Some(byte == b't'),
                _ => return Err(BodyError::WrongType(Field::Stream)),
            },
            KnownMember::Field(Field::Background) => match byte {
                b't' | b'f' | b'n' => self.background = Some(byte == b't'),
                // That of an image is one.
                b'"' => self.background_text = true,
                _ => return Err(BodyError::WrongType(Field::Background)),
            },
            KnownMember::Field(field @ Field::ServiceTier) => {
                self.begin_word(Word::ServiceTier, byte, field)?;
            }
            KnownMember::Field(field @ Field::Speed) => {
                self.begin_word(Word::Speed, byte, field)?
            }
            KnownMember::Field(field @ Field::InferenceGeo) => {
                self.begin_word(Word::InferenceGeo, byte, field)?;
            }
            KnownMember::FallbackSpeed => self.begin_word(Word::Speed, byte, Field::Speed)?,
            KnownMember::Field(field @ (Field::N | Field::CandidateCount)) => match self.state {
                JsonState::Number(number) if self.cap.begin(byte, Some(field)) => {
                    self.state = JsonState::Cap(number);
                }
                _ if byte == b'n' => {}
                _ => return Err(BodyError::WrongType(field)),
            },
            // No key leads to these.
            KnownMember::Field(_) => {}
            KnownMember::OutputCap => {
                if let JsonState::Number(number) = self.state
                    && self.cap.begin(byte, None)
                {
                    self.state = JsonState::Cap(number);
                }
            }
            KnownMember::Model(role) => match byte {
                b'"' => self.begin_other(role, at),
                b'n' => {}
                _ => return Err(BodyError::WrongType(Field::NestedModel)),
            },
            KnownMember::ToolType => {
                if byte == b'"' {
                    self.key.clear();
                    self.text = StringRole::Word(Word::ToolType);
                }
            }
            KnownMember::Models if !matches!(byte, b'[' | b'n') => {
                return Err(BodyError::NotModels);
            }
            KnownMember::Steering(id) if byte != b'n' => self.rare().steering.insert(id),
            KnownMember::ModelRouting if byte != b'n' => {
                return Err(BodyError::NotSupported(Field::ModelRouting));
            }
            KnownMember::State if byte != b'n' => self.rare().holds_state = true,
            KnownMember::Word(word) if byte == b'"' => {
                self.key.clear();
                self.text = StringRole::Word(word);
            }
            KnownMember::Scope(KeyScope::Reasoning) => self.begin_reasoning(byte),
            KnownMember::ReasoningFlag => self.reasons |= byte == b't',
            KnownMember::ReasoningSwitch => self.begin_reasoning_switch(byte),
            KnownMember::Word(_)
            | KnownMember::Scope(_)
            | KnownMember::Models
            | KnownMember::Steering(_)
            | KnownMember::State
            | KnownMember::ModelRouting => {}
        }
        Ok(())
    }

    /// The opening quote, at `at`, of the name of another model.
    fn begin_other(&mut self, role: ModelRole, at: u64) {
        self.text = StringRole::Other(role);
        self.model_start = at;
        self.name = super::ModelBuffer::default();
    }

    /// The first byte, at `at`, of an item of a list of models: a name, or an object that has one.
    ///
    /// # Errors
    /// [`BodyError::NotModels`].
    #[inline(never)]
    pub(super) fn begin_named(&mut self, byte: u8, at: u64) -> Result<(), BodyError> {
        match byte {
            b'"' => self.begin_other(ModelRole::Runs, at),
            b'{' => {}
            _ => return Err(BodyError::NotModels),
        }
        Ok(())
    }

    /// The first byte of the value of a field that is a word.
    fn begin_word(&mut self, word: Word, byte: u8, field: Field) -> Result<(), BodyError> {
        match byte {
            b'"' => {
                self.key.clear();
                self.text = StringRole::Word(word);
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
                let makes_images = kind.eq_ignore_ascii_case(IMAGE_TOOL);
                let steering = steering_tool(bytes);
                if makes_images {
                    self.rare().image_tool = true;
                    self.scopes.mark(ScopeMarks::IMAGE_TOOL);
                }
                if let Some(id) = steering {
                    self.rare().steering.insert(id);
                }
            }
            Word::ServiceTier => {
                let tier = kept(bytes);
                self.rare().service_tier = Some(tier);
            }
            Word::InferenceGeo => {
                let place = kept(bytes);
                self.rare().inference_geo = Some(place);
            }
            // Of the request's and those of its fallbacks the one that costs more.
            Word::Speed if bytes == STANDARD && self.speed().is_some() => {}
            Word::Speed => {
                let speed = kept(bytes);
                self.rare().speed = Some(speed);
            }
            _ => self.end_made(word),
        }
    }
}

/// The beginning of the type of a tool that makes images.
const IMAGE_TOOL: &[u8] = b"image_generation";
/// The plain speed.
const STANDARD: &[u8] = b"standard";

fn kept(word: &[u8]) -> Box<str> {
    String::from_utf8_lossy(word).into()
}

#[cfg(test)]
mod tests;
