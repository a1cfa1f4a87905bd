//! The size of the input: its text, and the parts that are not text.
//!
//! Images, sounds and files come in base64 or by their address, under a handful of keys. All else is text,
//! also what looks like base64 elsewhere: a model reads it as that. So is whatever stands in the arguments and
//! results of tool calls, in tools and in schemas.

use super::{JsonScanner, StringRole};
use crate::body::InputSize;
use crate::body::field::{MAX_WORD, eq_fold};
use crate::text::{Decoded, base64_run, skip_plain};

/// The minimum length of a part in base64, in characters. A shorter value is text.
const MIN_PART: u64 = 1024;
/// The length of the beginning of a value that decides its kind, in bytes. The longest media types have 73 characters.
const HEAD: usize = 128;

/// The hint that a key within the content gives on its value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum PartHint {
    /// Nothing.
    #[default]
    None,
    /// An image: its address or data, or an object that has it.
    Image,
    /// The address of an image, in an object that [`holds`](Self::holds) a part.
    Url,
    /// The data of a part, in such an object.
    Data,
    /// The data of a file.
    FileData,
    /// The address of a file.
    FileUrl,
    /// The id of a file.
    FileId,
    /// A ciphertext that only the account can read that made it.
    State,
    /// An image that was made, if it looks like one.
    Result,
    /// An object that has a part's data or address.
    Holder,
    /// Nothing but text, whatever is in it.
    Text,
    /// Tools; what is in them is text, but for the models that they run.
    Tools,
}

impl PartHint {
    /// Returns the hint of a key, as its bytes stand in the body.
    ///
    /// One with escapes or characters outside ASCII may be any: who writes `args` or `tools` so must not pass for another.
    #[inline]
    pub(super) fn of(key: &[u8]) -> Self {
        // Most are these.
        match key {
            b"role" | b"content" | b"type" | b"text" => Self::None,
            _ => Self::of_rarer(key),
        }
    }

    #[inline(never)]
    fn of_rarer(key: &[u8]) -> Self {
        match key {
            b"image_url" => Self::Image,
            b"url" => Self::Url,
            b"data" => Self::Data,
            b"file_data" => Self::FileData,
            b"file_url" | b"fileUri" | b"file_uri" => Self::FileUrl,
            b"file_id" => Self::FileId,
            b"encrypted_content" => Self::State,
            b"result" | b"b64_json" => Self::Result,
            b"source" | b"input_audio" | b"inlineData" | b"inline_data" => Self::Holder,
            b"input" | b"args" | b"response" | b"arguments" | b"parameters" | b"schema" => {
                Self::Text
            }
            b"tools" | b"definition" => Self::Tools,
            _ => Self::of_another(key),
        }
    }

    fn of_another(key: &[u8]) -> Self {
        let is_plain = |byte: &u8| byte.is_ascii() && *byte != b'\\';
        // What is longer may be kept in part.
        if key.len() > MAX_WORD || !key.iter().all(is_plain) {
            return Self::Tools;
        }
        let reads_as = |names: &[&str]| names.iter().any(|name| eq_fold(key, name.as_bytes()));
        if !key.iter().any(u8::is_ascii_uppercase) {
            Self::None
        } else if reads_as(&["tools", "definition"]) {
            Self::Tools
        } else if reads_as(&[
            "input",
            "args",
            "response",
            "arguments",
            "parameters",
            "schema",
        ]) {
            Self::Text
        } else {
            Self::None
        }
    }

    /// Whether no part is looked for in an object or array with this key.
    pub(super) fn is_text(self) -> bool {
        matches!(self, Self::Text | Self::Tools)
    }

    /// Whether an object with this key has a part in it.
    pub(super) fn holds(self) -> bool {
        matches!(self, Self::Holder | Self::Image)
    }

    /// Whether a string with this key may be a part.
    pub(super) fn may_be_part(self) -> bool {
        !matches!(self, Self::None | Self::Holder | Self::Text | Self::Tools)
    }
}

/// The medium of a part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum MediaKind {
    Image,
    Audio,
    File,
}

/// The parts of a body.
#[derive(Debug)]
pub(super) struct Parts {
    /// The number and size of the parts found.
    found: InputSize,
    /// Bytes of the body that are a part's data.
    data: u64,
    /// Of the value being read: what its key tells.
    hint: PartHint,
    /// The offset at which the value begins, behind its quote.
    start: u64,
    /// The first characters of the value, unescaped.
    head: [u8; HEAD],
    len: usize,
    /// Once these are all there and it is base64 so far: of what, and how many characters of it.
    base64: Option<(MediaKind, u64)>,
}

impl Parts {
    fn new() -> Self {
        Self {
            found: InputSize::default(),
            data: 0,
            hint: PartHint::None,
            start: 0,
            head: [0; HEAD],
            len: 0,
            base64: None,
        }
    }

    fn head(&self) -> &[u8] {
        self.head.get(..self.len).unwrap_or_default()
    }

    /// Takes the next characters of the head; how many of them, or nothing where the value is text.
    fn push(&mut self, fragment: &[u8]) -> Option<usize> {
        let room = self.head.get_mut(self.len..).unwrap_or_default();
        let len = room.len().min(fragment.len());
        if let (Some(to), Some(from)) = (room.get_mut(..len), fragment.get(..len)) {
            to.copy_from_slice(from);
        }
        self.len = self.len.saturating_add(len);
        if self.len == HEAD {
            self.base64 = base64_of(self.hint, &self.head);
            self.base64?;
        }
        Some(len)
    }

    /// Takes what comes next of a chunk; how many bytes of it, or nothing where the value is text.
    fn read(&mut self, bytes: &[u8]) -> Option<usize> {
        match &mut self.base64 {
            // In base64 nothing else is looked for.
            Some((_, count)) => {
                let len = base64_run(bytes);
                *count = count.saturating_add(len as u64);
                Some(len)
            }
            None => {
                let near = bytes.get(..HEAD).unwrap_or(bytes);
                self.push(near.get(..skip_plain(near)).unwrap_or_default())
            }
        }
    }

    /// The value ends: as a whole at `whole`, or at what makes it text.
    fn settle(&mut self, whole: Option<u64>) {
        let data = whole.and_then(|end| self.data_so_far(end));
        if let Some((kind, len)) = data {
            self.data = self.data.saturating_add(len);
            count(&mut self.found, kind, len);
        } else if let Some(kind) = by_address(self.hint, self.head()) {
            count(&mut self.found, kind, 0);
        }
        (self.hint, self.len, self.base64) = (PartHint::None, 0, None);
    }

    /// Returns the kind of part that the value would be if it ended at `end`, and its length in the body, in bytes.
    fn data_so_far(&self, end: u64) -> Option<(MediaKind, u64)> {
        let (kind, count) = self.base64?;
        (count >= MIN_PART).then(|| (kind, end.saturating_sub(self.start)))
    }
}

/// Counts a part with so many bytes of data.
fn count(size: &mut InputSize, kind: MediaKind, data: u64) {
    let (parts, bytes) = match kind {
        MediaKind::Image => (&mut size.images, None),
        MediaKind::Audio => (&mut size.audios, Some(&mut size.audio_bytes)),
        MediaKind::File => (&mut size.files, Some(&mut size.file_bytes)),
    };
    *parts = parts.saturating_add(1);
    if let Some(bytes) = bytes {
        *bytes = bytes.saturating_add(data);
    }
}

/// Returns the kind of a part that is given by its address.
fn by_address(hint: PartHint, value: &[u8]) -> Option<MediaKind> {
    let starts = [&b"http://"[..], b"https://", b"gs://"];
    let is_address = || {
        starts.iter().any(|start| {
            let begins = value.get(..start.len());
            begins.is_some_and(|begins| begins.eq_ignore_ascii_case(start))
        })
    };
    match hint {
        PartHint::FileId => (!value.is_empty()).then_some(MediaKind::File),
        PartHint::Image | PartHint::Url => is_address().then_some(MediaKind::Image),
        PartHint::FileUrl => is_address().then_some(MediaKind::File),
        _ => None,
    }
}

/// Returns the kind of a value in base64, by its first characters, and their number; `None` for text.
fn base64_of(hint: PartHint, head: &[u8]) -> Option<(MediaKind, u64)> {
    if hint == PartHint::FileId {
        return None;
    }
    let (media_type, data) = match head.strip_prefix(b"data:") {
        None => (None, head),
        Some(rest) => {
            let comma = rest.iter().position(|byte| *byte == b',')?;
            let (media_type, data) = rest.split_at_checked(comma)?;
            (Some(media_type.strip_suffix(b";base64")?), data.get(1..)?)
        }
    };
    if base64_run(data) < data.len() {
        return None;
    }
    let known = magic(data);
    let kind = match (hint, media_type) {
        (PartHint::Result, _) => known.filter(|kind| *kind != MediaKind::File)?,
        (_, Some(media_type)) => of_media_type(media_type)?,
        (_, None) => known.unwrap_or(MediaKind::File),
    };
    Some((kind, data.len() as u64))
}

/// Returns the kind of part for a media type; `None` for text.
fn of_media_type(media_type: &[u8]) -> Option<MediaKind> {
    let is = |start: &[u8]| {
        let begins = media_type.get(..start.len());
        begins.is_some_and(|begins| begins.eq_ignore_ascii_case(start))
    };
    if is(b"image/") {
        Some(MediaKind::Image)
    } else if is(b"audio/") {
        Some(MediaKind::Audio)
    } else if is(b"text/") || is(b"application/json") || is(b"application/xml") {
        None
    } else {
        Some(MediaKind::File)
    }
}

/// Recognises the kind of data in base64 by its beginning.
fn magic(data: &[u8]) -> Option<MediaKind> {
    const KNOWN: [(&[u8], MediaKind); 10] = [
        (b"iVBORw0KGgo", MediaKind::Image), // PNG
        (b"/9j/", MediaKind::Image),        // JPEG
        (b"_9j_", MediaKind::Image),        // JPEG, in the alphabet for URLs
        (b"R0lGOD", MediaKind::Image),      // GIF
        (b"SUQz", MediaKind::Audio),        // MP3 with tags
        (b"//s", MediaKind::Audio),         // MP3
        (b"//N", MediaKind::Audio),         // MP3, MPEG-2
        (b"T2dnUw", MediaKind::Audio),      // OGG
        (b"ZkxhQw", MediaKind::Audio),      // FLAC
        (b"JVBERi0", MediaKind::File),      // PDF
    ];
    if data.starts_with(b"UklGR") {
        // RIFF: the last three letters of what is in it.
        return match data.get(12..16)? {
            b"RUJQ" => Some(MediaKind::Image), // WEBP
            b"QVZF" => Some(MediaKind::Audio), // WAVE
            _ => Some(MediaKind::File),
        };
    }
    let found = KNOWN.iter().find(|(start, _)| data.starts_with(start));
    found.map(|(_, kind)| *kind)
}

impl JsonScanner {
    /// Returns the size of the input, as far as it has been read.
    pub fn input_size(&self) -> InputSize {
        let at = self.progress.at();
        let mut size = InputSize::default();
        let mut data = 0u64;
        if let Some(parts) = self.rare.as_ref().and_then(|rare| rare.parts.as_ref()) {
            (size, data) = (parts.found, parts.data);
            // It will most likely go on as it began.
            if let Some((kind, len)) = parts.data_so_far(at) {
                data = data.saturating_add(len);
                count(&mut size, kind, len);
            }
        }
        let escapes = self.unicode_escapes.saturating_mul(UNICODE_EXCESS);
        size.text_bytes = at.saturating_sub(data).saturating_sub(escapes);
        size
    }

    fn parts(&mut self) -> Option<&mut Parts> {
        self.rare.as_mut()?.parts.as_mut()
    }

    /// Whether what is being read may have parts, or tools.
    pub(super) fn reads_parts(&self) -> bool {
        self.in_parts && self.text_depth == 0
    }

    /// The opening quote, at `at`, of a string whose key gave this hint.
    #[inline(never)]
    pub(super) fn begin_part(&mut self, hint: PartHint, at: u64) {
        let needs_holder = matches!(hint, PartHint::Url | PartHint::Data);
        if !hint.may_be_part() || (needs_holder && self.holder != self.depth()) {
            return;
        }
        if matches!(hint, PartHint::FileId | PartHint::State) {
            self.rare().holds_state = true;
        }
        if hint == PartHint::State {
            return;
        }
        self.text = StringRole::Part;
        let parts = self.rare().parts.get_or_insert_with(Parts::new);
        parts.hint = hint;
        parts.start = at.saturating_add(1);
    }

    /// Reads on in a string that may be a part, at most up to `"` or `\`; gives what is left of the chunk.
    #[inline(never)]
    pub(super) fn part_text<'a>(&mut self, chunk: &'a [u8]) -> &'a [u8] {
        let mut rest = chunk;
        while let Some(len) = self.parts().and_then(|parts| parts.read(rest)) {
            rest = rest.get(len..).unwrap_or_default();
            match rest {
                [] | [b'"' | b'\\', ..] => return rest,
                _ if len == 0 => break,
                _ => {}
            }
        }
        // What of it has been taken needs no other look.
        self.part_is_text();
        rest
    }

    /// An escape in such a string: that of a slash may be.
    pub(super) fn part_escape(&mut self, decoded: Decoded) {
        let is_slash = decoded.character == Some('/') && !decoded.is_unicode;
        let slash = |parts: &mut Parts| parts.read(b"/");
        if !is_slash || self.parts().and_then(slash).is_none() {
            self.part_is_text();
        }
    }

    /// Treats the string being read as text after all.
    pub(super) fn part_is_text(&mut self) {
        if let Some(parts) = self.parts() {
            parts.settle(None);
        }
        self.text = StringRole::Value;
    }

    /// The closing quote of such a string, just before `end`.
    pub(super) fn end_part(&mut self, end: u64) {
        if let Some(parts) = self.parts() {
            let is_kept = parts.hint == PartHint::FileUrl && parts.head().starts_with(KEPT_FILES);
            parts.settle(Some(end.saturating_sub(1)));
            self.rare().holds_state |= is_kept;
        }
    }
}

/// The beginning of the address of a file that Google keeps for an account.
const KEPT_FILES: &[u8] = b"https://generativelanguage.googleapis.com/";

/// By how much an escape of six bytes is longer than a character outside ASCII is in UTF-8.
const UNICODE_EXCESS: u64 = 3;

#[cfg(test)]
mod tests;
