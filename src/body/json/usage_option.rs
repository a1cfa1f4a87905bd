//! Whether a body asks for the usage of its stream, and the fewest bytes that make it ask.
//!
//! Chat Completions tell the usage of a stream only to those who send
//! `"stream_options": {"include_usage": true}`.

use super::JsonScanner;
use crate::body::{BodyError, Field};
use core::ops::Range;

/// The state of `stream_options.include_usage` in a body, and the place where it could be set to `true`.
///
/// Positions are byte offsets in the whole body, counted from 0.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum UsageOption {
    /// The top-level `stream_options` is absent, or not enough of it has been read.
    #[default]
    Absent,
    /// `include_usage` is `true`.
    Asked,
    /// `stream_options` is an object without `include_usage`.
    Lacking {
        /// The offset of its closing brace.
        at: u64,
        /// Whether it has no member at all.
        empty: bool,
    },
    /// `include_usage` is `false` or `null`, or `stream_options` itself is `null`.
    Otherwise {
        /// The literal's bytes.
        span: Range<u64>,
        /// Whether the literal is the value of `stream_options` itself.
        whole: bool,
    },
}

/// A change that makes a body ask for its usage, or takes that back: the bytes of `span` are replaced by `bytes`, and
/// everything else stays as it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UsageEdit {
    /// The replaced bytes, as offsets in the whole body: a literal, or nothing just before a closing brace.
    pub span: Range<u64>,
    /// The bytes that come in their place.
    pub bytes: &'static [u8],
}

impl UsageEdit {
    /// The change of the changed body that takes this one back, where the bytes that it put in begin at `at`.
    pub fn undone(&self, at: u64) -> Self {
        let put_in = u64::try_from(self.bytes.len()).unwrap_or(u64::MAX);
        // A literal is told by its length.
        let replaced: &[u8] = match self.span.end.saturating_sub(self.span.start) {
            0 => b"",
            4 => b"null",
            _ => b"false",
        };
        Self {
            span: at..at.saturating_add(put_in),
            bytes: replaced,
        }
    }
}

impl JsonScanner {
    /// Returns the state of `stream_options.include_usage`, as far as it has been read.
    pub fn usage_option(&self) -> &UsageOption {
        self.usage.found()
    }

    /// The change that makes the body ask for its usage, once the place for it has been read.
    pub fn usage_edit(&self) -> Option<UsageEdit> {
        self.usage.edit()
    }

    /// Returns the offset of the literal that a [`UsageEdit`] replaces, if the bytes read so far end inside it.
    pub fn inside_usage_option(&self) -> Option<u64> {
        let start = self.usage.literal_start();
        start.filter(|_| self.progress.is_sound())
    }

    /// The offset of the outermost closing brace, once it has been read.
    pub fn object_end(&self) -> Option<u64> {
        self.usage.object_end()
    }
}

/// Follows a scanner through the body, as far as it concerns the option.
#[derive(Debug, Default)]
pub(super) struct UsageReader {
    found: UsageOption,
    /// The literal being read that may be replaced: where it begins, and whether it is the value of
    /// `stream_options` itself.
    literal: Option<(u64, bool)>,
    /// The offset of the outermost closing brace, and whether nothing is before it.
    end: Option<(u64, bool)>,
}

impl UsageReader {
    pub(super) fn found(&self) -> &UsageOption {
        &self.found
    }

    pub(super) fn literal_start(&self) -> Option<u64> {
        self.literal.map(|(start, _)| start)
    }

    pub(super) fn object_end(&self) -> Option<u64> {
        self.end.map(|(at, _)| at)
    }

    /// The first byte, at `at`, of the value of `stream_options`.
    ///
    /// # Errors
    /// [`BodyError::WrongType`] for what is neither an object nor `null`.
    pub(super) fn begin_options(&mut self, byte: u8, at: u64) -> Result<(), BodyError> {
        match byte {
            b'{' => {}
            b'n' => self.literal = Some((at, true)),
            _ => return Err(BodyError::WrongType(Field::StreamOptions)),
        }
        Ok(())
    }

    /// The first byte, at `at`, of the value of `include_usage`.
    ///
    /// # Errors
    /// [`BodyError::WrongType`] for what is no boolean and not `null`.
    pub(super) fn begin_flag(&mut self, byte: u8, at: u64) -> Result<(), BodyError> {
        match byte {
            // Nothing but `true` can begin so.
            b't' => self.found = UsageOption::Asked,
            b'f' | b'n' => self.literal = Some((at, false)),
            _ => return Err(BodyError::WrongType(Field::IncludeUsage)),
        }
        Ok(())
    }

    /// The last byte, just before `end`, of any literal of the body.
    pub(super) fn end_literal(&mut self, end: u64) {
        if let Some((start, whole)) = self.literal.take() {
            let span = start..end;
            self.found = UsageOption::Otherwise { span, whole };
        }
    }

    /// The closing brace of `stream_options`; if the option was not in it, where that brace is, and
    /// whether nothing was.
    pub(super) fn end_options(&mut self, lacking: Option<(u64, bool)>) {
        if let Some((at, empty)) = lacking {
            self.found = UsageOption::Lacking { at, empty };
        }
    }

    /// The outermost closing brace, at `at`, and whether nothing was before it.
    pub(super) fn end_body(&mut self, at: u64, empty: bool) {
        self.end = Some((at, empty));
    }

    pub(super) fn edit(&self) -> Option<UsageEdit> {
        let (span, text) = match self.found {
            UsageOption::Asked => return None,
            UsageOption::Absent => match self.end? {
                (at, true) => (at..at, r#""stream_options":{"include_usage":true}"#),
                (at, false) => (at..at, r#","stream_options":{"include_usage":true}"#),
            },
            UsageOption::Lacking { at, empty: true } => (at..at, r#""include_usage":true"#),
            UsageOption::Lacking { at, empty: false } => (at..at, r#","include_usage":true"#),
            UsageOption::Otherwise { ref span, whole } => {
                let text = if whole {
                    r#"{"include_usage":true}"#
                } else {
                    "true"
                };
                (span.clone(), text)
            }
        };
        Some(UsageEdit {
            span,
            bytes: text.as_bytes(),
        })
    }
}

#[cfg(test)]
mod tests;
