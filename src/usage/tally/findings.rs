//! The findings in an event, or in all events that have ended.

use super::entry::PendingWork;
use crate::usage::model_sums::ModelSums;
use crate::usage::numbers::Numbers;
use crate::usage::queries::Queries;
use crate::usage::short_text::ShortText;
use crate::usage::table::{EventClass, TextField};
use crate::usage::{Call, Passed};

/// The findings.
#[derive(Default)]
pub(super) struct Findings {
    pub(super) numbers: Numbers,
    pub(super) texts: [ShortText; TextField::KEPT],
    pub(super) images: u64,
    pub(super) calls: [u64; Call::ALL.len()],
    /// Searches that are listed.
    pub(super) queries: Queries,
    /// The length of the text that the model wrote, in bytes: less than nothing while half an escape was read.
    pub(super) generated: i64,
    /// The pictures and the sound that passed.
    pub(super) passed: Passed,
    /// The length of the data of the picture or sound being read, in bytes: less than nothing while half an escape was read.
    pub(super) data: i64,
    /// The items in it, done or not.
    pub(super) begun: PendingWork,
    pub(super) others: ModelSums,
    /// Whether other models were listed, if only as none.
    pub(super) lists_others: bool,
    pub(super) event: EventClass,
    /// A number was told that no answer comes to.
    pub(super) excessive: bool,
    /// Something was told in the place of a number that is none.
    pub(super) uncountable: bool,
    /// An error stands inside.
    pub(super) error: bool,
    /// The word `[DONE]`.
    pub(super) done: bool,
    /// The usage object has begun and not ended: one number may yet correct another.
    pub(super) usage_open: bool,
    /// Findings again with other numbers it would mean something else than those.
    pub(super) singular: bool,
    /// Anything above may be set.
    pub(super) touched: bool,
}

impl Findings {
    pub(super) fn clear(&mut self) {
        self.generated = 0;
        self.event = EventClass::Plain;
        if self.touched {
            self.numbers.clear();
            self.texts.iter_mut().for_each(ShortText::clear);
            self.images = 0;
            self.calls = [0; Call::ALL.len()];
            self.queries.clear();
            self.passed = Passed::default();
            self.data = 0;
            self.begun = PendingWork::default();
            (self.excessive, self.uncountable) = (false, false);
            self.others.clear();
            self.lists_others = false;
            (self.error, self.done) = (false, false);
            self.usage_open = false;
            self.singular = false;
            self.touched = false;
        }
    }

    /// Counts the data that was read as a picture's.
    pub(super) fn take_picture_bytes(&mut self) {
        let bytes = u64::try_from(core::mem::take(&mut self.data)).unwrap_or(0);
        let sum = &mut self.passed.picture_bytes;
        *sum = sum.saturating_add(bytes);
    }

    pub(super) fn add_sound(&mut self, bytes: i64) {
        let sum = &mut self.passed.sound_bytes;
        *sum = sum.saturating_add(u64::try_from(bytes).unwrap_or(0));
    }

    pub(super) fn text(&self, text: TextField) -> Option<&str> {
        self.texts.get(text as usize)?.text()
    }

    pub(super) fn add_call(&mut self, call: Call) {
        if let Some(calls) = self.calls.get_mut(call as usize) {
            *calls = calls.saturating_add(1);
        }
        self.touched = true;
    }
}
