//! Mapping of a body's keys to fields, and the bounded copies kept of a key and of the model's name.

use super::{BodyError, Field, FoundModel, MAX_MODEL_BYTES};
use crate::text::NO_CHARACTER;

/// The fields of the outermost object.
pub(super) const TOP_LEVEL: &[Field] = &[
    Field::Model,
    Field::Stream,
    Field::StreamOptions,
    Field::Background,
    Field::ServiceTier,
    Field::Speed,
    Field::InferenceGeo,
    Field::N,
];
/// The fields of the object that is the value of `stream_options`.
pub(super) const STREAM_OPTIONS: &[Field] = &[Field::IncludeUsage];
/// The fields of the generation config of protocol C.
pub(super) const GENERATION_CONFIG: &[Field] = &[Field::CandidateCount];
/// The fields of a form.
pub(super) const FORM: &[Field] = &[Field::Model, Field::Stream, Field::N, Field::Svg];

/// The field that a key names, of those that can stand where it does.
///
/// # Errors
/// [`BodyError::CaseVariant`] for a key that is one of them only when case is ignored: Go's
/// `encoding/json` would read it as that field, most other parsers would not.
pub(super) fn field_of(key: &[u8], among: &[Field]) -> Result<Option<Field>, BodyError> {
    for &field in among {
        for name in field.spellings() {
            if key == name.as_bytes() {
                return Ok(Some(field));
            }
        }
    }
    let variant = |field: &Field| {
        let mut names = field.spellings().iter();
        names.any(|name| eq_fold(key, name.as_bytes()))
    };
    if among.iter().any(variant) {
        return Err(BodyError::CaseVariant);
    }
    Ok(None)
}

/// Whether `key` equals `name` (ASCII) under Unicode simple case folding.
///
/// Only two characters outside ASCII fold into it: U+017F (long s) to `s`, and U+212A (Kelvin sign) to
/// `k`.
pub(super) fn eq_fold(key: &[u8], name: &[u8]) -> bool {
    if key.len() < name.len() {
        return false;
    }
    let mut rest = key;
    for &letter in name {
        rest = match rest {
            [0xC5, 0xBF, tail @ ..] if matches!(letter, b's' | b'S') => tail,
            [0xE2, 0x84, 0xAA, tail @ ..] if matches!(letter, b'k' | b'K') => tail,
            [byte, tail @ ..] if byte.eq_ignore_ascii_case(&letter) => tail,
            _ => return false,
        };
    }
    rest.is_empty()
}

/// The fields that have been read.
#[derive(Debug, Default)]
pub(super) struct SeenFields(u16);

impl SeenFields {
    /// Whether the field has come.
    pub(super) fn has(&self, field: Field) -> bool {
        self.0 & Self::bit(field) != 0
    }

    /// Notes that the field comes.
    ///
    /// # Errors
    /// [`BodyError::Duplicate`] when it has come before.
    pub(super) fn note(&mut self, field: Field) -> Result<(), BodyError> {
        if self.has(field) {
            return Err(BodyError::Duplicate(field));
        }
        self.0 |= Self::bit(field);
        Ok(())
    }

    fn bit(field: Field) -> u16 {
        1u16.wrapping_shl(field as u32)
    }
}

/// Longest word that is kept: the name of a service tier. No key that is known is as long, nor a case variant of one.
pub(super) const MAX_WORD: usize = 31;

/// One more byte tells that a word is longer.
const KEY_BYTES: usize = MAX_WORD + 1;

/// The first bytes, unescaped, of a key or another word that may be known.
#[derive(Debug, Default)]
pub(super) struct KeptWord {
    bytes: [u8; KEY_BYTES],
    len: usize,
}

impl KeptWord {
    pub(super) fn clear(&mut self) {
        self.len = 0;
    }

    /// Whether nothing of it is there.
    pub(super) fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Adds the next bytes; what does not fit is dropped, for such a key is none that is known.
    // Few keys are kept: this stays out of what every string runs through.
    #[inline(never)]
    pub(super) fn push(&mut self, fragment: &[u8]) {
        let room = self.bytes.get_mut(self.len..).unwrap_or_default();
        let len = room.len().min(fragment.len());
        if let (Some(to), Some(from)) = (room.get_mut(..len), fragment.get(..len)) {
            to.copy_from_slice(from);
        }
        self.len = self.len.saturating_add(len);
    }

    /// Adds half a surrogate pair: no known key has one, so any byte that no text has will do.
    pub(super) fn push_lone_surrogate(&mut self) {
        self.push(&[NO_CHARACTER]);
    }

    /// The whole word, unless it is longer than any that is known; then it equals none of them.
    pub(super) fn bytes(&self) -> &[u8] {
        self.bytes.get(..self.len).unwrap_or_default()
    }
}

/// The model's name as it comes in, decoded, with a bounded memory.
#[derive(Debug, Default)]
pub(super) struct ModelBuffer {
    /// At most [`MAX_MODEL_BYTES`] bytes; UTF-8 but for a last character that may be cut.
    bytes: Vec<u8>,
    overflow: bool,
}

impl ModelBuffer {
    /// Adds the next bytes, which the caller has checked to be UTF-8 (a character may still be unfinished).
    pub(super) fn push(&mut self, fragment: &[u8]) -> Result<(), BodyError> {
        if fragment.iter().any(u8::is_ascii_control) {
            return Err(BodyError::ModelControlCharacter);
        }
        let room = MAX_MODEL_BYTES.saturating_sub(self.bytes.len());
        self.overflow |= fragment.len() > room;
        self.bytes
            .extend_from_slice(fragment.get(..room).unwrap_or(fragment));
        Ok(())
    }

    /// Whether the name is longer than what is kept of it.
    pub(super) fn overflow(&self) -> bool {
        self.overflow
    }

    /// The name so far, for a value that takes up `span`.
    pub(super) fn found(&mut self, span: core::ops::Range<u64>) -> Result<FoundModel, BodyError> {
        if self.bytes.is_empty() {
            return Err(BodyError::ModelEmpty);
        }
        let mut bytes = core::mem::take(&mut self.bytes);
        if let Err(cut) = core::str::from_utf8(&bytes) {
            bytes.truncate(cut.valid_up_to());
        }
        Ok(FoundModel {
            // Cut to what is valid just above.
            name: String::from_utf8(bytes).unwrap_or_default(),
            truncated: self.overflow,
            span,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_and_their_case_variants() {
        let top: &[(&str, Result<Option<Field>, BodyError>)] = &[
            ("model", Ok(Some(Field::Model))),
            ("stream", Ok(Some(Field::Stream))),
            ("", Ok(None)),
            ("mode", Ok(None)),
            ("models", Ok(None)),
            ("model ", Ok(None)),
            ("stream_options", Ok(Some(Field::StreamOptions))),
            ("stream_option", Ok(None)),
            ("stream_optionss", Ok(None)),
            ("stream-options", Ok(None)),
            ("streamOptions", Ok(None)),
            ("include_usage", Ok(None)),
            ("Include_Usage", Ok(None)),
            ("Model", Err(BodyError::CaseVariant)),
            ("mODEL", Err(BodyError::CaseVariant)),
            ("STREAM", Err(BodyError::CaseVariant)),
            ("\u{17f}tream", Err(BodyError::CaseVariant)),
            ("\u{17f}TREAM", Err(BodyError::CaseVariant)),
            ("\u{17f}treamx", Ok(None)),
            ("s\u{17f}ream", Ok(None)),
            ("n", Ok(Some(Field::N))),
            ("N", Err(BodyError::CaseVariant)),
            ("nn", Ok(None)),
            ("background", Ok(Some(Field::Background))),
            ("BacKground", Err(BodyError::CaseVariant)),
            ("bac\u{212a}ground", Err(BodyError::CaseVariant)),
            ("bac\u{212b}ground", Ok(None)),
            ("service_tier", Ok(Some(Field::ServiceTier))),
            ("serviceTier", Ok(Some(Field::ServiceTier))),
            ("servicetier", Err(BodyError::CaseVariant)),
            ("Service_Tier", Err(BodyError::CaseVariant)),
            ("service-tier", Ok(None)),
            ("speed", Ok(Some(Field::Speed))),
            ("inference_geo", Ok(Some(Field::InferenceGeo))),
            ("Inference_Geo", Err(BodyError::CaseVariant)),
            ("inferenceGeo", Ok(None)),
            ("\u{17f}peed", Err(BodyError::CaseVariant)),
            ("candidateCount", Ok(None)),
            ("\u{fb05}ream", Ok(None)),
            ("m\u{f8}del", Ok(None)),
            ("Stream_Options", Err(BodyError::CaseVariant)),
            ("\u{17f}tream_option\u{17f}", Err(BodyError::CaseVariant)),
            ("\u{17f}tream_option\u{17f}x", Ok(None)),
        ];
        let options: &[(&str, Result<Option<Field>, BodyError>)] = &[
            ("include_usage", Ok(Some(Field::IncludeUsage))),
            ("include_usages", Ok(None)),
            ("Include_Usage", Err(BodyError::CaseVariant)),
            ("include_u\u{17f}age", Err(BodyError::CaseVariant)),
            ("include_u\u{17f}age_", Ok(None)),
            ("includeUsage", Ok(None)),
            ("model", Ok(None)),
            ("STREAM", Ok(None)),
            ("Stream_Options", Ok(None)),
        ];
        let form: &[(&str, Result<Option<Field>, BodyError>)] = &[
            ("model", Ok(Some(Field::Model))),
            ("Stream", Err(BodyError::CaseVariant)),
            ("stream_options", Ok(None)),
            ("Stream_Options", Ok(None)),
            ("n", Ok(Some(Field::N))),
            ("background", Ok(None)),
        ];
        let config: &[(&str, Result<Option<Field>, BodyError>)] = &[
            ("candidateCount", Ok(Some(Field::CandidateCount))),
            ("candidate_count", Ok(Some(Field::CandidateCount))),
            ("candidatecount", Err(BodyError::CaseVariant)),
            ("CANDIDATE_COUNT", Err(BodyError::CaseVariant)),
            ("candidate", Ok(None)),
            ("n", Ok(None)),
        ];
        let tables = [
            (TOP_LEVEL, top),
            (STREAM_OPTIONS, options),
            (FORM, form),
            (GENERATION_CONFIG, config),
        ];
        for (among, cases) in tables {
            for (text, want) in cases {
                let context = format!("{text:?} among {among:?}");
                assert_eq!(field_of(text.as_bytes(), among), *want, "{context}");
                let mut key = KeptWord::default();
                for byte in text.as_bytes() {
                    key.push(&[*byte]);
                }
                assert_eq!(
                    field_of(key.bytes(), among),
                    *want,
                    "{context}, byte by byte"
                );
            }
        }
    }

    #[test]
    fn every_field_comes_once() {
        let mut seen = SeenFields::default();
        let fields = [TOP_LEVEL, STREAM_OPTIONS, GENERATION_CONFIG].concat();
        for field in &fields {
            assert!(!seen.has(*field), "{field:?}");
            assert_eq!(seen.note(*field), Ok(()), "{field:?}");
        }
        for field in fields {
            assert_eq!(seen.note(field), Err(BodyError::Duplicate(field)));
        }
    }

    #[test]
    fn a_name_is_cut_at_a_character() {
        for pad in 0..4 {
            let mut name = ModelBuffer::default();
            name.push("x".repeat(pad).as_bytes()).unwrap();
            for byte in "\u{1f600}".repeat(80).as_bytes() {
                name.push(&[*byte]).unwrap();
            }
            assert!(name.overflow(), "pad {pad}");
            let found = name.found(0..0).unwrap();
            assert!(found.truncated, "pad {pad}");
            assert_eq!(
                found.name.len(),
                (256 - pad) / 4 * 4 + pad,
                "pad {pad}: whole characters only"
            );
        }
    }

    #[test]
    fn the_longest_name_is_whole() {
        let mut name = ModelBuffer::default();
        name.push(&[b'm'; MAX_MODEL_BYTES]).unwrap();
        assert!(!name.overflow());
        let found = name.found(1..2).unwrap();
        assert_eq!(
            (found.name.len(), found.truncated),
            (MAX_MODEL_BYTES, false)
        );
    }
}
