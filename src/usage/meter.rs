//! The meter: bytes of an answer in, what it used out.

use core::fmt;

use smol_str::SmolStr;

use super::doubt::Doubt;
use super::extractor::Extractor;
use super::sse::EventReader;
use super::table::{TextField, WireTable};
use super::tally::UsageTally;
use super::{
    Kind, Passed, Usage, cached_content, chat, embeddings, generate, images, messages, responses,
};
use crate::text::is_whitespace;

/// The form of an answer, which its endpoint decides.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wire {
    /// Chat Completions (protocol A).
    Chat,
    /// Responses (protocol A).
    Responses,
    /// A compacted conversation of Responses (protocol A).
    Compaction,
    /// Embeddings (protocol A).
    Embeddings,
    /// Image generation and editing (protocol A).
    Images,
    /// Messages (protocol B).
    Messages,
    /// Generate-content and its like (protocol C).
    Generate,
    /// A cache that was made (protocol C).
    CachedContent,
}

impl Wire {
    /// All forms of an answer to a prompt.
    pub const ALL: [Self; 5] = [
        Self::Chat,
        Self::Responses,
        Self::Images,
        Self::Messages,
        Self::Generate,
    ];

    pub(super) fn table(self) -> &'static WireTable {
        match self {
            Self::Chat => &chat::TABLE,
            Self::Responses => &responses::TABLE,
            Self::Compaction => &responses::COMPACTION,
            Self::Embeddings => &embeddings::TABLE,
            Self::Images => &images::TABLE,
            Self::Messages => &messages::TABLE,
            Self::Generate => &generate::TABLE,
            Self::CachedContent => &cached_content::TABLE,
        }
    }
}

/// Reads the usage out of one answer as it streams by, a JSON document or server-sent events.
///
/// It is total on any bytes in any chunks, and lenient: values of no interest are skipped without a
/// look at their grammar, beyond strings and the number of brackets. An event that is no JSON counts for
/// nothing, the others do. So does a last event whose JSON is whole but whose blank line never came.
///
/// A meter takes up at most [`Meter::MAX_BYTES`], whatever it reads: numbers have fixed places, strings of more than 128
/// bytes are not kept, and brackets are counted. The reader of events, other models and searches are on the heap from
/// their first one on: of four models and of 32 searches at most, as they stand and as the event being read has them.
pub struct Meter {
    form: ResponseForm,
    extractor: Extractor,
    tally: UsageTally,
}

/// The kind of text that an answer is.
enum ResponseForm {
    /// Not known: only whitespace so far, after so many bytes of a byte order mark.
    Unknown { mark: usize, last: u8 },
    /// One JSON document.
    Document,
    /// Server-sent events.
    Events(Box<EventReader>),
}

const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";

/// The contents of an answer, as far as it was read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Reading {
    /// The usage; `None` if nothing was reported. A lower bound unless `finished`.
    pub usage: Option<Usage>,
    /// Whether the protocol's own end was seen, and no error.
    pub finished: bool,
    /// The type or code of the first error inside; `error` if it has neither.
    pub error: Option<SmolStr>,
    /// The numbers as they were reported, by their path in the usage object.
    pub reported: Vec<(&'static str, u64)>,
    /// The answer's own id.
    pub response_id: Option<SmolStr>,
    /// The model that answered, in the upstream's words.
    pub response_model: Option<SmolStr>,
    /// The reason why the model stopped, in the protocol's words.
    pub finish_reason: Option<SmolStr>,
    /// The class of service that was billed.
    pub service_tier: Option<SmolStr>,
    /// The speed that was billed, where the protocol has one beside the class of service (B).
    pub speed: Option<SmolStr>,
    /// The place where the model ran, by the answer's word (B).
    pub inference_geo: Option<SmolStr>,
    /// Bytes of the text that the model wrote and that passed, reasoning and arguments of tools included, as JSON has them
    /// between quotes or brackets; a character that is written by number (`\uXXXX`) counts as three.
    pub generated_bytes: u64,
    /// The pictures and the sound that passed.
    pub passed: Passed,
    /// The model that made the pictures, where a tool of the answer names one.
    pub image_model: Option<SmolStr>,
    /// Whether a number was reported that no answer comes to: it counts as not reported.
    pub excessive: bool,
    /// The usage of other models for this answer, by the names that the upstream gives them: at most four, of which the last has
    /// all that the others have not. None is the model that answered.
    pub others: Vec<(String, Usage)>,
    /// Whether no number tells the input, or none the output though some of it passed.
    pub one_sided: bool,
    /// The total, where nothing says what of it is input and what is output.
    pub unsplit_total: Option<u64>,
    /// Tokens of the total that stand in no part, where the vendor counts such as output.
    pub unnamed_output: u64,
    /// The numbers that contradict each other, in fixed words.
    pub doubt: Option<String>,
    /// The cost of the answer by the vendor's word, exactly.
    pub reported_cost: Option<String>,
    /// Whether nothing was made: no part of a streamed response came, nor a reason why it ended, or an error in the place of a
    /// document.
    pub made_nothing: bool,
    /// Whether something passed that is neither a JSON document nor a stream of events: compressed bytes, a page, a script.
    pub unreadable: bool,
}

/// The doubt about tokens that stand in no part of a total and are beyond the request's cap.
const BEYOND_CAP: &str = "tokens in no part of the total are more than the request's cap";

impl Reading {
    /// Counts the tokens of the total that stand in no part as output, together with the rest of it up to the cap; what is
    /// beyond is told.
    pub fn count_unnamed_output(&mut self, cap: Option<u64>) {
        let Some(usage) = self.usage.as_mut().filter(|_| self.unnamed_output > 0) else {
            return;
        };
        let room = cap.map_or(u64::MAX, |cap| cap.saturating_sub(usage.output_tokens()));
        let counted = self.unnamed_output.min(room);
        usage.set(
            Kind::Output,
            usage.tokens(Kind::Output).saturating_add(counted),
        );
        if counted < self.unnamed_output {
            let doubt = self.doubt.get_or_insert_default();
            if !doubt.is_empty() {
                doubt.push_str("; ");
            }
            doubt.push_str(BEYOND_CAP);
        }
        self.unnamed_output = 0;
    }
}

impl Meter {
    /// The most that a meter takes up with all that it has on the heap, in bytes.
    pub const MAX_BYTES: usize = 8960;

    /// A meter that has read nothing.
    pub fn new(wire: Wire) -> Self {
        Self {
            form: ResponseForm::Unknown { mark: 0, last: 0 },
            extractor: Extractor::new(),
            tally: UsageTally::new(wire.table()),
        }
    }

    /// Reads the next bytes.
    pub fn feed(&mut self, bytes: &[u8]) {
        let bytes = match self.form {
            ResponseForm::Unknown { .. } => self.sniff(bytes),
            _ => bytes,
        };
        match &mut self.form {
            ResponseForm::Unknown { .. } => {}
            ResponseForm::Document => {
                self.extractor.feed(bytes, false, &mut self.tally);
            }
            ResponseForm::Events(events) => {
                events.feed(bytes, &mut self.extractor, &mut self.tally)
            }
        }
    }

    /// Tells that the answer has ended, or broke off; gives what it told.
    pub fn finish(&mut self) -> Reading {
        let unreadable = match &mut self.form {
            ResponseForm::Unknown { .. } => false,
            ResponseForm::Document => {
                let (whole, lost) = (self.extractor.is_closed(), self.extractor.is_lost());
                self.tally.end_document(whole, lost);
                self.extractor.is_lost() && !self.tally.is_told_anything()
            }
            ResponseForm::Events(events) => {
                events.end(&mut self.extractor, &mut self.tally);
                events.is_unreadable()
            }
        };
        let tally = &self.tally;
        let owned = |text: Option<&str>| text.map(SmolStr::from);
        let counted = tally.counted();
        let mut doubts = counted.doubts;
        let mut unnamed_output = 0;
        if counted.unnamed > 0 && counted.usage.is_some() && tally.has_unnamed_output() {
            doubts.remove(Doubt::TotalMore);
            unnamed_output = counted.unnamed;
        }
        let usage = counted.usage.unwrap_or_default();
        let no_tokens = usage.input_tokens() == 0 && usage.output_tokens() == 0;
        let unsplit_total = tally.total().filter(|_| no_tokens);
        if unsplit_total.is_some() {
            doubts.remove(Doubt::TotalMore);
        }
        // A document comes when all is made, whatever is in it, but for an error in its place.
        let streams = tally.is_stream() || !matches!(self.form, ResponseForm::Document);
        let failed = tally.error().is_some() || tally.images_made() == Some(0);
        let in_place = streams || (failed && no_tokens);
        let made_nothing = in_place && tally.made_nothing(&counted) && !unreadable;
        Reading {
            made_nothing,
            usage: counted.usage,
            finished: tally.finished(),
            error: owned(tally.error()),
            reported: tally.reported(),
            response_id: owned(tally.text_kept(TextField::Id)),
            response_model: owned(tally.text_kept(TextField::Model)),
            finish_reason: owned(tally.finish_reason()),
            service_tier: owned(tally.text_kept(TextField::Tier)),
            speed: owned(tally.text_kept(TextField::Speed)),
            inference_geo: owned(tally.text_kept(TextField::InferenceGeo)),
            generated_bytes: tally.generated_bytes(),
            passed: tally.passed(),
            image_model: owned(tally.image_model()),
            excessive: tally.is_excessive(),
            others: tally.others(),
            one_sided: counted.usage.is_some() && tally.is_one_sided(&usage),
            unsplit_total,
            unnamed_output,
            doubt: doubts.words(&tally.table().terms),
            reported_cost: tally.cost(),
            unreadable,
        }
    }

    /// Whether anything of the answer was told: comments and events without a meaning tell nothing.
    pub fn has_begun(&self) -> bool {
        self.tally.is_told_anything()
    }

    /// Returns the number of bytes of text, pictures and sound passed so far, up to the last event that has ended.
    pub fn passed_bytes(&self) -> u64 {
        self.tally.passed_bytes()
    }

    /// Finds the form by the first byte that is not whitespace; gives what is left from there.
    fn sniff<'a>(&mut self, bytes: &'a [u8]) -> &'a [u8] {
        let ResponseForm::Unknown { mark, last } = &mut self.form else {
            return bytes;
        };
        let mut rest = bytes;
        while let Some((&byte, tail)) = rest.split_first() {
            let mark_whole = *mark == 0 || *mark == BYTE_ORDER_MARK.len();
            match byte {
                _ if *last == 0 && BYTE_ORDER_MARK.get(*mark) == Some(&byte) => {
                    *mark = mark.saturating_add(1);
                }
                _ if mark_whole && is_whitespace(byte) => *last = byte,
                b'{' | b'[' if mark_whole => {
                    self.form = ResponseForm::Document;
                    if byte == b'[' {
                        self.tally.count_elements();
                    }
                    self.extractor.reset(&self.tally.table().document);
                    return rest;
                }
                _ => {
                    // A field's name is what a line begins with.
                    let inside = matches!(last, b' ' | b'\t') || !mark_whole;
                    self.form = ResponseForm::Events(if inside {
                        Box::new(EventReader::in_other_line())
                    } else {
                        Box::default()
                    });
                    self.extractor.reset(&self.tally.table().event);
                    return rest;
                }
            }
            rest = tail;
        }
        rest
    }
}

impl fmt::Debug for Meter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Meter")
            .field("usage", &self.tally.counted().usage)
            .field("finished", &self.tally.finished())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
