//! The reasons for rejecting a request body.

use core::fmt;

/// A field of a request that the gateway reads.
///
/// Named in [`BodyError::Duplicate`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Field {
    /// Top-level `model`: what the request asks for.
    Model,
    /// Top-level `stream`: whether the answer is to come as a stream of events.
    Stream,
    /// Top-level `stream_options` of Chat Completions: what else the stream tells. Read in JSON alone.
    StreamOptions,
    /// `include_usage`, in the object of `stream_options`: whether the stream tells its usage.
    IncludeUsage,
    /// Top-level `background` of Responses: whether the answer is made later. Images have a string of that name.
    Background,
    /// Top-level `service_tier`, in protocol C also `serviceTier`: the class of service, which decides the price.
    ServiceTier,
    /// Top-level `speed` of Messages: how fast the answer is made, which decides the price.
    Speed,
    /// Top-level `inference_geo` of Messages: where the model runs, which decides the price.
    InferenceGeo,
    /// Top-level `n`: how many answers are made.
    N,
    /// `candidateCount`, or `candidate_count`, in the generation config of protocol C: the same.
    CandidateCount,
    /// `model` of a tool, a fallback or another member that runs a model beside the request's own.
    NestedModel,
    /// `routingConfig` or `modelConfig` in the generation config of protocol C: they let the upstream choose the model.
    ModelRouting,
    /// `svg` of an image edit's form: it names a model in a spelling that forms have many of.
    Svg,
}

/// The type that the value of a field must have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Type {
    Flag,
    Text,
    Integer,
    Object,
}

impl Field {
    /// The field's name as it stands in a body.
    pub fn name(self) -> &'static str {
        match self {
            Self::Model => "model",
            Self::Stream => "stream",
            Self::StreamOptions => "stream_options",
            Self::IncludeUsage => "include_usage",
            Self::Background => "background",
            Self::ServiceTier => "service_tier",
            Self::Speed => "speed",
            Self::InferenceGeo => "inference_geo",
            Self::N => "n",
            Self::CandidateCount => "candidateCount",
            Self::NestedModel => "model",
            Self::ModelRouting => "routingConfig",
            Self::Svg => "svg",
        }
    }

    /// The names that the field has in a body: a parser of protocol buffers takes two of some.
    pub(super) fn spellings(self) -> &'static [&'static str] {
        match self {
            Self::Model | Self::NestedModel => &["model"],
            Self::Stream => &["stream"],
            Self::StreamOptions => &["stream_options"],
            Self::IncludeUsage => &["include_usage"],
            Self::Background => &["background"],
            Self::ServiceTier => &["service_tier", "serviceTier"],
            Self::Speed => &["speed"],
            Self::InferenceGeo => &["inference_geo"],
            Self::N => &["n"],
            Self::CandidateCount => &["candidateCount", "candidate_count"],
            Self::ModelRouting => &["routingConfig", "modelConfig"],
            Self::Svg => &["svg"],
        }
    }

    /// Returns the type that its value must have, where it is not `null`.
    fn kind(self) -> Type {
        match self {
            Self::Stream | Self::IncludeUsage | Self::Background => Type::Flag,
            Self::N | Self::CandidateCount => Type::Integer,
            Self::StreamOptions | Self::ModelRouting | Self::Svg => Type::Object,
            Self::Model
            | Self::NestedModel
            | Self::ServiceTier
            | Self::Speed
            | Self::InferenceGeo => Type::Text,
        }
    }
}

/// The reason for rejecting a body; the status is always 400.
///
/// `Display` is a short sentence for the client. It never repeats anything of the body.
/// Positions (`at`) are byte offsets in the whole body, counted from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BodyError {
    /// The body is absent, or nothing but whitespace.
    Empty,
    /// The body is JSON of another kind: an array, a string, a number or a literal.
    NotAnObject,
    /// Not JSON as of RFC 8259.
    Syntax {
        /// The first byte that cannot stand where it does.
        at: u64,
    },
    /// Not UTF-8 as of RFC 3629: an overlong form, a surrogate, a code point past U+10FFFF, or a stray byte.
    Utf8 {
        /// The first byte that cannot stand where it does.
        at: u64,
    },
    /// The body begins with a byte order mark (RFC 8259, 8.1), or is UTF-16.
    ByteOrderMark,
    /// Arrays and objects are nested over [`MAX_DEPTH`](super::MAX_DEPTH) deep.
    TooDeep,
    /// The field occurs twice; parsers disagree on which one counts.
    Duplicate(Field),
    /// A field reads like one that the gateway reads to a parser that ignores case, and is none.
    CaseVariant,
    /// The field's value is of another type than it must be.
    WrongType(Field),
    /// The field asks for what the gateway cannot check.
    NotSupported(Field),
    /// `fallbacks`, `models` or another list of models has something else in it, or is something else.
    NotModels,
    /// The name of a member has a NUL in it, where names decide something; some parsers end it there.
    NulInName,
    /// More models are named beside the request's own than the gateway keeps in mind.
    TooManyModels,
    /// `model` is there, and is not a string.
    ModelNotString,
    /// `model` is the empty string.
    ModelEmpty,
    /// `model` holds a character under U+0020, or U+007F.
    ModelControlCharacter,
    /// `model` holds half of a surrogate pair, so it is no Unicode string.
    ModelSurrogate,
    /// Something other than whitespace follows the end of the document.
    TrailingData {
        /// The first byte that is too many.
        at: u64,
    },
    /// The body ends before the document does.
    Truncated,
    /// Multipart: no usable `boundary` parameter, or a boundary line that parsers would read differently.
    Boundary,
    /// Multipart: the headers of a part are malformed, or parsers would read them differently.
    PartHeaders,
    /// Multipart: the headers of one part exceed [`MAX_PART_HEADERS`](super::multipart::MAX_PART_HEADERS).
    PartHeadersTooLong,
    /// Multipart: `model` or `stream` is a file, not a plain value.
    FieldIsFile(Field),
}

impl BodyError {
    /// Whether the value of `model`, or its being there twice, is at fault.
    pub fn concerns_model(self) -> bool {
        matches!(
            self,
            Self::Duplicate(Field::Model)
                | Self::FieldIsFile(Field::Model)
                | Self::ModelNotString
                | Self::ModelEmpty
                | Self::ModelControlCharacter
                | Self::ModelSurrogate
        )
    }
}

impl fmt::Display for BodyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => f.write_str("request body is empty"),
            Self::NotAnObject => f.write_str("request body must be a JSON object"),
            Self::Syntax { at } => write!(f, "request body is not valid JSON at byte {at}"),
            Self::Utf8 { at } => write!(f, "request body is not valid UTF-8 at byte {at}"),
            Self::ByteOrderMark => {
                f.write_str("request body must be UTF-8 without a byte order mark")
            }
            Self::TooDeep => f.write_str("request body is nested too deeply"),
            Self::Duplicate(field) => {
                write!(f, "request body has more than one '{}' field", field.name())
            }
            Self::CaseVariant => f.write_str(
                "request body has a field that differs only in letter case from one that the gateway reads, \
                 such as 'model' or 'stream'",
            ),
            Self::WrongType(Field::NestedModel) => {
                f.write_str("'model' of a tool or a fallback must be a string")
            }
            Self::WrongType(field) => write!(
                f,
                "'{}' must be {}",
                field.name(),
                match field.kind() {
                    Type::Flag => "true or false",
                    Type::Text => "a string",
                    Type::Integer => "a non-negative integer",
                    Type::Object => "an object",
                }
            ),
            Self::NotSupported(field) => write!(f, "'{}' is not supported here", field.name()),
            Self::NotModels => f.write_str(
                "'fallbacks', 'models' and other lists of models must be arrays of names, or of objects with a 'model'",
            ),
            Self::NulInName => f.write_str("the name of a field must not contain U+0000"),
            Self::TooManyModels => f.write_str("request body names too many models"),
            Self::ModelNotString => f.write_str("'model' must be a string"),
            Self::ModelEmpty => f.write_str("'model' must not be empty"),
            Self::ModelControlCharacter => {
                f.write_str("'model' must not contain control characters")
            }
            Self::ModelSurrogate => f.write_str("'model' must be a valid Unicode string"),
            Self::TrailingData { at } => {
                write!(f, "request body has trailing data at byte {at}")
            }
            Self::Truncated => f.write_str("request body is incomplete"),
            Self::Boundary => {
                f.write_str("multipart body and its boundary do not match the content-type header")
            }
            Self::PartHeaders => f.write_str("multipart body has malformed part headers"),
            Self::PartHeadersTooLong => {
                f.write_str("multipart body has part headers that are too long")
            }
            Self::FieldIsFile(field) => {
                write!(f, "multipart field '{}' must not be a file", field.name())
            }
        }
    }
}

impl core::error::Error for BodyError {}
