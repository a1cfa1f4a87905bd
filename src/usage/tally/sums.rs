//! The sums of a tally: tokens, calls, media and words, as far as the answer has told them.

use super::UsageTally;
use crate::usage::cost;
use crate::usage::doubt::Doubt;
use crate::usage::model_sums::{ModelSum, SUMS};
use crate::usage::numbers::{Numbers, SlotSet};
use crate::usage::table::{COST, Counted, TICKS, TextField, UNNAMED_OUTPUT};
use crate::usage::{Call, IMAGE_TOOL, Passed, Usage};
use crate::usage::{messages, responses};

/// The capacity that suffices for the numbers that most responses report.
const USUALLY_REPORTED: usize = 8;

impl UsageTally {
    /// Whether the protocol's end was seen, and no error.
    pub(in crate::usage) fn finished(&self) -> bool {
        self.ended && !self.kept.error
    }

    /// Whether anything was told that counts.
    pub(in crate::usage) fn is_told_anything(&self) -> bool {
        self.told
    }

    /// Sums what was used, and tells what of it is in doubt.
    pub(in crate::usage) fn counted(&self) -> Counted {
        let kept = &self.kept;
        let mut counted = (self.table.usage)(&self.own_numbers());
        let of_numbers = counted.usage;
        let images = self.images();
        let mut known = of_numbers.is_some() || images > 0;
        let mut usage = of_numbers.unwrap_or_default();
        usage.images = images;
        for (call, found) in Call::ALL.into_iter().zip(kept.calls) {
            let listed = if call == Call::WebSearch {
                kept.queries.count()
            } else {
                0
            };
            let found = found.saturating_add(listed);
            let mut slots = self
                .table
                .calls
                .iter()
                .filter(|(of, _)| *of == call)
                .peekable();
            let is_reported = self.table.reports_calls && slots.peek().is_some();
            let reported = slots.filter_map(|(_, slot)| kept.numbers.get(*slot));
            let calls = match reported.reduce(u64::saturating_add) {
                Some(reported) if self.ended => reported,
                None if self.ended && is_reported => 0,
                None if self.ended => found,
                // Whoever left did not see the last report.
                reported => found
                    .saturating_add(self.open.calls(call))
                    .max(reported.unwrap_or(0)),
            };
            known |= calls > 0;
            usage.set_calls(call, calls);
        }
        for (_, own) in self.models().filter(|(model, _)| self.is_own(model)) {
            usage.add(&own);
            known = true;
        }
        counted.usage = known.then_some(usage);
        counted.doubts.add_if(kept.excessive, Doubt::Excess);
        counted.doubts.add_if(kept.uncountable, Doubt::NoCount);
        if self.cost().is_none() && kept.text(TextField::Cost).is_some() {
            counted.doubts.add(Doubt::Cost);
        }
        counted
    }

    /// Whether a side of this usage was told by no number: of the output only where some of it passed. Where a protocol
    /// leaves out zeros, none is missing.
    pub(in crate::usage) fn is_one_sided(&self, usage: &Usage) -> bool {
        let roles = &self.table.roles;
        let numbers = &self.kept.numbers;
        let untold = |side: SlotSet| numbers.present() & side == 0;
        let no_input = usage.input_tokens() == 0 && untold(roles.input);
        let no_output = if roles.begins_stream {
            !self.output_told
        } else {
            usage.output_tokens() == 0 && untold(roles.output)
        };
        !roles.unnamed_output && (no_input || (no_output && self.generated_bytes() > 0))
    }

    /// The sum of all tokens, where one was reported.
    pub(in crate::usage) fn total(&self) -> Option<u64> {
        let total = self.kept.numbers.get(self.table.roles.total?);
        total.filter(|total| *total > 0)
    }

    /// The images that were made: by a number that says so, else those that came.
    fn images(&self) -> u64 {
        self.images_made().unwrap_or(self.kept.images)
    }

    /// The number of images that were made, where the answer tells it.
    pub(in crate::usage) fn images_made(&self) -> Option<u64> {
        self.kept.numbers.get(self.table.images_made?)
    }

    /// Whether nothing came of what was asked for: no part of a response, no reason why it ended, and no output in its numbers.
    pub(in crate::usage) fn made_nothing(&self, counted: &Counted) -> bool {
        let usage = counted.usage.unwrap_or_default();
        // A stream that begins with its usage has a placeholder for the output.
        let output = if self.table.roles.begins_stream {
            0
        } else {
            usage.output_tokens()
        };
        let calls = Call::ALL.iter().any(|call| usage.calls(*call) > 0);
        let media = self.passed() != Passed::default();
        let made =
            self.generated_bytes() > 0 || self.untold_part || usage.images > 0 || calls || media;
        // That of an error says that it failed.
        let ended = self.finish_reason().is_some() && self.error().is_none();
        !made && output == 0 && !ended
    }

    /// Whether the vendor is one whose total has output that stands in no part.
    pub(in crate::usage) fn has_unnamed_output(&self) -> bool {
        let model = self.kept.text(TextField::Model).unwrap_or_default();
        let name = model.rsplit('/').next().unwrap_or_default();
        self.kept.numbers.get(UNNAMED_OUTPUT).is_some()
            || self.table.roles.unnamed_output
            || name.starts_with("gemini-")
    }

    /// The cost of the answer by the vendor's word.
    pub(in crate::usage) fn cost(&self) -> Option<String> {
        let numbers = &self.kept.numbers;
        match self.kept.text(TextField::Cost) {
            Some(number) => cost::amount(number),
            None => match (numbers.get(COST), numbers.get(TICKS)) {
                (None, Some(ticks)) => cost::ticks(ticks),
                (whole, _) => cost::amount(&whole?.to_string()),
            },
        }
    }

    /// Returns the usage of other models, by their names.
    pub(in crate::usage) fn others(&self) -> Vec<(String, Usage)> {
        let mut others: Vec<(String, Usage)> = Vec::new();
        for (model, usage) in self.models().filter(|(model, _)| !self.is_own(model)) {
            match others.iter_mut().find(|(name, _)| name == model) {
                Some((_, sums)) => sums.add(&usage),
                None => others.push((model.to_owned(), usage)),
            }
        }
        others
    }

    /// The numbers of the model that answered, where a list of model calls tells another one's apart (protocol B, a
    /// fallback): what the list has of it, and what the totals have beyond the list.
    fn own_numbers(&self) -> Numbers {
        let mut numbers = self.kept.numbers;
        let is_own = |other: &&ModelSum| other.name().is_none_or(|name| self.is_own(name));
        let listed = || self.kept.others.as_slice().iter().filter(|o| o.in_totals);
        if listed().all(|other| is_own(&other)) {
            return numbers;
        }
        for (slot, at) in (0..).zip(0..SUMS) {
            let sum = |own: bool| {
                let some = listed().filter(|other| !own || is_own(other));
                let sums = some.filter_map(|other| other.sums.get(at));
                sums.fold(0, |sum: u64, more| sum.saturating_add(*more))
            };
            let beyond = numbers.or_zero(slot).saturating_sub(sum(false));
            numbers.set(slot, sum(true).saturating_add(beyond));
        }
        numbers
    }

    /// Whether it is the model that answered.
    fn is_own(&self, model: &str) -> bool {
        self.kept.text(TextField::Model) == Some(model)
    }

    /// Whether a tool of the answer may make pictures.
    fn has_image_tool(&self) -> bool {
        self.table.beside & responses::TOOL_USAGE != 0
    }

    /// Lists the usage of each model that is not in the numbers.
    fn models(&self) -> impl Iterator<Item = (&str, Usage)> {
        let others = self.kept.others.as_slice().iter();
        let of_tool = if self.has_image_tool() {
            responses::image_tool(&self.kept.numbers)
        } else {
            Usage::default()
        };
        // The list has no more than the name of the tool's model then.
        let name = others.clone().find_map(ModelSum::name);
        let of_tool = (name.unwrap_or(IMAGE_TOOL), of_tool);
        others
            .filter(|other| !other.in_totals || other.name().is_some_and(|it| !self.is_own(it)))
            .filter_map(|other| Some((other.name()?, messages::usage_of(other.sums))))
            .chain([of_tool])
            .filter(|(_, usage)| *usage != Usage::default())
    }

    /// Returns the length of the text that the model wrote, in bytes.
    pub(in crate::usage) fn generated_bytes(&self) -> u64 {
        self.kept.generated.try_into().unwrap_or(0)
    }

    /// The pictures and the sound that passed; of pictures those too that had begun when the answer was left.
    pub(in crate::usage) fn passed(&self) -> Passed {
        let begun = if self.ended { 0 } else { self.open.pictures };
        let Passed { pictures, .. } = self.kept.passed;
        let images = self.images();
        Passed {
            pictures: pictures.saturating_add(images).saturating_add(begun.into()),
            ..self.kept.passed
        }
    }

    /// Returns the number of bytes of text, pictures and sound that passed.
    pub(in crate::usage) fn passed_bytes(&self) -> u64 {
        let passed = &self.kept.passed;
        self.generated_bytes()
            .saturating_add(passed.picture_bytes)
            .saturating_add(passed.sound_bytes)
    }

    /// The model that a tool of the answer makes pictures with.
    pub(in crate::usage) fn image_model(&self) -> Option<&str> {
        let mut tools = self.kept.others.as_slice().iter();
        tools
            .find_map(ModelSum::name)
            .filter(|_| self.has_image_tool())
    }

    /// Whether a number was told that no answer comes to.
    pub(in crate::usage) fn is_excessive(&self) -> bool {
        self.kept.excessive
    }

    /// The numbers as they were reported. Of sums over the entries of a list only those that come to something.
    pub(in crate::usage) fn reported(&self) -> Vec<(&'static str, u64)> {
        let names = (0..).zip(self.table.names);
        let found = names
            .filter_map(|(slot, name)| Some((*name, self.kept.numbers.get(slot)?)))
            .filter(|(name, value)| !name.is_empty() && (*value > 0 || !name.contains('[')));
        let mut reported = Vec::with_capacity(USUALLY_REPORTED);
        reported.extend(found);
        reported
    }

    pub(in crate::usage) fn text_kept(&self, what: TextField) -> Option<&str> {
        self.kept.text(what)
    }

    /// The type of the first error; its code, where no type was given.
    pub(in crate::usage) fn error(&self) -> Option<&str> {
        self.kept.error.then(|| {
            self.kept
                .text(TextField::ErrorType)
                .or_else(|| self.kept.text(TextField::ErrorCode))
                .unwrap_or("error")
        })
    }

    /// Returns the reason why the model stopped.
    pub(in crate::usage) fn finish_reason(&self) -> Option<&str> {
        let ended = ["completed", "incomplete", "failed", "cancelled"];
        let status = self.kept.text(TextField::Status);
        self.kept
            .text(TextField::Finish)
            .or(status.filter(|status| ended.contains(status)))
    }
}
