//! The request body, watched as it streams by.
//!
//! A scanner reads the bytes in whatever chunks they come, keeps next to nothing of them, and never
//! changes one. It finds the top-level `model`, tells where its bytes are so that they alone can be
//! replaced, tells where the body could be made to ask for its usage ([`UsageOption`]) and what cap it sets
//! to its output, and proves the rest of the document: what it accepts, every parser behind the gateway
//! reads the same way. Nothing here builds a tree, recurses, or grows with the body.

mod error;
mod field;
mod header;
pub mod json;
pub mod multipart;
mod nesting;
mod progress;
mod renaming;
pub mod steering;

pub use error::{BodyError, Field};
pub use header::form_content_type;
pub use json::{
    CapMembers, JsonScanner, ModelRole, OtherModel, PictureAsked, UsageEdit, UsageOption,
};
pub use multipart::MultipartScanner;
pub use renaming::Renaming;
pub use steering::{SteeringMember, SteeringSet};

/// Longest model name that is kept, in bytes; a longer one cannot be in any catalog.
pub const MAX_MODEL_BYTES: usize = 256;

/// The maximum nesting depth of a JSON body, in arrays and objects. A multiple of 64.
///
/// RFC 8259, 9 leaves the limit to the parser; coding agents reach about 15.
pub const MAX_DEPTH: usize = 512;

/// The top-level model name found in a body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundModel {
    /// The decoded name, escapes resolved.
    ///
    /// Never empty and without control characters. If `truncated`, its first bytes, at most
    /// [`MAX_MODEL_BYTES`], cut between characters.
    pub name: String,
    /// Whether the name is longer than [`MAX_MODEL_BYTES`].
    pub truncated: bool,
    /// The byte range, in the whole body, that a rename replaces by [`BodyScanner::encode_model`].
    ///
    /// For JSON the string with both its quotes, for multipart the part's raw value. The end means
    /// nothing for a truncated name: that is reported before the value has ended.
    pub span: core::ops::Range<u64>,
}

/// The size of a request's input, from which tokens are estimated where none are reported.
///
/// Images, sounds and files are those that stand in the body, in base64 of at least 1024 characters, and those that it
/// gives by their address. It does not depend on how the body is cut into chunks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct InputSize {
    /// Bytes of everything that is not the data of a part; an escape of six bytes (`\u00e9`) counts as three.
    pub text_bytes: u64,
    /// Images.
    pub images: u64,
    /// Sounds.
    pub audios: u64,
    /// Files of any other kind.
    pub files: u64,
    /// Bytes in base64 of the sounds that stand in the body.
    pub audio_bytes: u64,
    /// Bytes in base64 of the files that stand in the body. A file may be text.
    pub file_bytes: u64,
}

/// One request body, in either form.
///
/// ```
/// use trilane::body::BodyScanner;
///
/// let mut scanner = BodyScanner::json();
/// scanner.feed(br#"{"input":{"model":"decoy"},"mod"#)?;
/// assert_eq!(scanner.model(), None);
/// scanner.feed(br#"el":"gpt-5.1"}"#)?;
/// scanner.finish()?;
/// assert_eq!(scanner.model().map(|model| model.name.as_str()), Some("gpt-5.1"));
/// # Ok::<(), trilane::body::BodyError>(())
/// ```
#[derive(Debug)]
pub enum BodyScanner {
    /// `application/json`.
    Json(JsonScanner),
    /// `multipart/form-data`.
    Multipart(MultipartScanner),
}

impl BodyScanner {
    /// A scanner for a JSON body.
    pub fn json() -> Self {
        Self::Json(JsonScanner::new())
    }

    /// A scanner for a form, from the value of the request's content-type header (RFC 7578, 4.1).
    ///
    /// # Errors
    /// [`BodyError::Boundary`] when that is not `multipart/form-data` with exactly one usable boundary.
    pub fn multipart(content_type: &[u8]) -> Result<Self, BodyError> {
        MultipartScanner::new(content_type).map(Self::Multipart)
    }

    /// Reads the next bytes of the body.
    ///
    /// # Errors
    /// The reason for the rejection of the body. This is final: every later call gives the same error.
    pub fn feed(&mut self, chunk: &[u8]) -> Result<(), BodyError> {
        match self {
            Self::Json(scanner) => scanner.feed(chunk),
            Self::Multipart(scanner) => scanner.feed(chunk),
        }
    }

    /// Tells that the body has ended, and checks that it is complete. It may well have no model.
    ///
    /// # Errors
    /// [`BodyError::Empty`], [`BodyError::Truncated`], or the error that was there before. This is final too.
    pub fn finish(&mut self) -> Result<(), BodyError> {
        match self {
            Self::Json(scanner) => scanner.finish(),
            Self::Multipart(scanner) => scanner.finish(),
        }
    }

    /// The model, once the last byte of its value (JSON: the closing quote, multipart: the boundary
    /// behind it) has been read, or more than [`MAX_MODEL_BYTES`] of it.
    ///
    /// Stays what it is when an error comes later.
    pub fn model(&self) -> Option<&FoundModel> {
        match self {
            Self::Json(scanner) => scanner.model(),
            Self::Multipart(scanner) => scanner.model(),
        }
    }

    /// Returns the offset of the model's value in the whole body, if the bytes read so far end inside it.
    ///
    /// The caller holds what begins there, so that the value can still be replaced as one piece. Nothing again
    /// once [`model`](Self::model) tells the name, so also for a name that is too long; nothing after an error.
    pub fn inside_model(&self) -> Option<u64> {
        match self {
            Self::Json(scanner) => scanner.inside_model(),
            Self::Multipart(scanner) => scanner.inside_model(),
        }
    }

    /// Whether the document is complete (JSON: the outermost object is closed, multipart: the closing
    /// boundary is there), so no model can come any more. False after an error.
    pub fn complete(&self) -> bool {
        match self {
            Self::Json(scanner) => scanner.complete(),
            Self::Multipart(scanner) => scanner.complete(),
        }
    }

    /// Returns the body's choice of streaming: `Some(true)` for a top-level `stream` that is `true`, `Some(false)` for
    /// `false` and in JSON `null`, `None` when none has been read yet.
    pub fn stream(&self) -> Option<bool> {
        match self {
            Self::Json(scanner) => scanner.stream(),
            Self::Multipart(scanner) => scanner.stream(),
        }
    }

    /// The cap that the body sets to the tokens of the output: the greatest of those read so far, so it may
    /// grow until the body is [`complete`](Self::complete). What is no plain non-negative integer says
    /// nothing, and is not refused. A form sets none.
    pub fn output_cap(&self) -> Option<u64> {
        match self {
            Self::Json(scanner) => scanner.output_cap(),
            Self::Multipart(_) => None,
        }
    }

    /// Takes these members alone for caps of the output.
    pub fn expect_caps(&mut self, members: CapMembers) {
        if let Self::Json(scanner) = self {
            scanner.expect_caps(members);
        }
    }

    /// Whether the body asks for reasoning; see [`JsonScanner::asks_for_reasoning`].
    pub fn asks_for_reasoning(&self) -> bool {
        match self {
            Self::Json(scanner) => scanner.asks_for_reasoning(),
            Self::Multipart(_) => false,
        }
    }

    /// The body's words on the pictures that are to be made. A form says nothing that is read.
    pub fn picture(&self) -> PictureAsked<'_> {
        match self {
            Self::Json(scanner) => scanner.picture(),
            Self::Multipart(_) => PictureAsked::default(),
        }
    }

    /// Whether the body asks for sound that is not compressed.
    pub fn asks_for_pcm(&self) -> bool {
        match self {
            Self::Json(scanner) => scanner.asks_for_pcm(),
            Self::Multipart(_) => false,
        }
    }

    /// Returns the number of outputs that the body asks for: the greatest of `n` and `candidateCount` read so far, final once the
    /// body is [`complete`](Self::complete).
    pub fn candidates(&self) -> Option<u64> {
        match self {
            Self::Json(scanner) => scanner.candidates(),
            Self::Multipart(scanner) => scanner.candidates(),
        }
    }

    /// The top-level `service_tier` (protocol C also: `serviceTier`) as it was written, at most 32 bytes of it: no
    /// tier's name is as long. Final once the body is [`complete`](Self::complete). A form has none.
    pub fn service_tier(&self) -> Option<&str> {
        match self {
            Self::Json(scanner) => scanner.service_tier(),
            Self::Multipart(_) => None,
        }
    }

    /// The `speed` of the request or of one of its fallbacks, kept as [`service_tier`](Self::service_tier) is; of
    /// several one that is not `standard`. A form has none.
    pub fn speed(&self) -> Option<&str> {
        match self {
            Self::Json(scanner) => scanner.speed(),
            Self::Multipart(_) => None,
        }
    }

    /// The top-level `inference_geo`, kept as [`service_tier`](Self::service_tier) is. A form has none.
    pub fn inference_geo(&self) -> Option<&str> {
        match self {
            Self::Json(scanner) => scanner.inference_geo(),
            Self::Multipart(_) => None,
        }
    }

    /// Returns whether the body asks for a response in the background. A form says nothing of it.
    pub fn background(&self) -> Option<bool> {
        match self {
            Self::Json(scanner) => scanner.background(),
            Self::Multipart(_) => None,
        }
    }

    /// Whether a JSON body has a string for its `background`, as those that ask for an image may.
    pub fn background_text(&self) -> bool {
        match self {
            Self::Json(scanner) => scanner.background_text(),
            Self::Multipart(_) => false,
        }
    }

    /// Whether a tool that makes images has been read.
    pub fn image_tool(&self) -> bool {
        match self {
            Self::Json(scanner) => scanner.image_tool(),
            Self::Multipart(_) => false,
        }
    }

    /// Whether one of those names no model, so that the upstream chooses it.
    pub fn image_tool_unnamed(&self) -> bool {
        match self {
            Self::Json(scanner) => scanner.image_tool_unnamed(),
            Self::Multipart(_) => false,
        }
    }

    /// Whether something has been read that a vendor keeps for an account; see [`JsonScanner::holds_state`]. A form names nothing.
    pub fn holds_state(&self) -> bool {
        match self {
            Self::Json(scanner) => scanner.holds_state(),
            Self::Multipart(_) => false,
        }
    }

    /// The members read so far that choose a model, provider or price elsewhere and are refused unless a source lets them
    /// pass. In a form lists of models are among them.
    pub fn steering(&self) -> SteeringSet {
        match self {
            Self::Json(scanner) => scanner.steering(),
            Self::Multipart(scanner) => scanner.steering(),
        }
    }

    /// Takes the models that have been named, beside the request's own, since this was last asked.
    pub fn take_others(&mut self) -> Vec<OtherModel> {
        match self {
            Self::Json(scanner) => scanner.take_others(),
            Self::Multipart(_) => Vec::new(),
        }
    }

    /// Returns the offset of a name that is the path's model once more ([`ModelRole::OfPath`]), if the bytes read so far end inside
    /// it; see [`inside_model`](Self::inside_model).
    pub fn inside_other(&self) -> Option<u64> {
        match self {
            Self::Json(scanner) => scanner.inside_other(),
            Self::Multipart(_) => None,
        }
    }

    /// Returns the size of the input read so far. A part that is still being read counts as if it ended here.
    pub fn input_size(&self) -> InputSize {
        match self {
            Self::Json(scanner) => scanner.input_size(),
            Self::Multipart(scanner) => scanner.input_size(),
        }
    }

    /// Returns the state of `stream_options.include_usage`: [`UsageOption::Absent`] until that is known,
    /// and the same from then on. A form says nothing of it.
    pub fn usage_option(&self) -> &UsageOption {
        match self {
            Self::Json(scanner) => scanner.usage_option(),
            Self::Multipart(_) => &UsageOption::Absent,
        }
    }

    /// The change that makes the body ask for its usage, if it does not and can be made to.
    ///
    /// It is there, and does not change any more, as soon as the last byte that it replaces has been
    /// read, or the closing brace that it stands before; for a body without `stream_options` that is
    /// the outermost one. A caller that looks after every chunk, and holds what it has read while
    /// [`inside_usage_option`](Self::inside_usage_option), still has all of these bytes then.
    pub fn usage_edit(&self) -> Option<UsageEdit> {
        match self {
            Self::Json(scanner) => scanner.usage_edit(),
            Self::Multipart(_) => None,
        }
    }

    /// Returns the offset of a literal of at most five bytes that [`usage_edit`](Self::usage_edit) will replace, if the bytes read so
    /// far end inside it.
    ///
    /// The caller holds it then. Nothing after an error.
    pub fn inside_usage_option(&self) -> Option<u64> {
        match self {
            Self::Json(scanner) => scanner.inside_usage_option(),
            Self::Multipart(_) => None,
        }
    }

    /// The offset, in the whole body, of the outermost closing brace, once it has been read; nothing for
    /// a form.
    pub fn object_end(&self) -> Option<u64> {
        match self {
            Self::Json(scanner) => scanner.object_end(),
            Self::Multipart(_) => None,
        }
    }

    /// The bytes that [`FoundModel::span`] is replaced by to rename the model: for JSON a string
    /// literal with its quotes (RFC 8259, 7), for multipart the name as it is.
    ///
    /// `name` is the configuration's; it must hold no line break in a form.
    pub fn encode_model(&self, name: &str) -> Vec<u8> {
        match self {
            Self::Json(_) => serde_json::Value::from(name).to_string().into_bytes(),
            Self::Multipart(_) => name.as_bytes().to_vec(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_renamed_model_is_a_json_string() {
        let scanner = BodyScanner::json();
        for name in [
            "m1",
            "a\"b\\c/d",
            "\u{1f600}\u{e9}",
            "tab\tnul\0del\x7f",
            "",
        ] {
            let literal = scanner.encode_model(name);
            assert_eq!(
                serde_json::from_slice::<String>(&literal).unwrap(),
                name,
                "{name:?}"
            );
        }
    }

    #[test]
    fn a_renamed_model_is_a_plain_value_in_a_form() {
        let scanner = BodyScanner::multipart(b"multipart/form-data; boundary=x").unwrap();
        assert_eq!(scanner.encode_model("a\"b"), b"a\"b");
    }
}
