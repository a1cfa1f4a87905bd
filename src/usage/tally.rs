//! Usage as an answer reports it: staged while an event is being read, kept when it has ended.

mod entry;
mod findings;
mod sums;

use entry::{EntryKind, ListEntry, PendingWork, server_tool};
use findings::Findings;

use super::Call;
use super::merge::{is_whole, merge};
use super::messages;
use super::numbers::{MAX_COUNT, Numbers, Slot};
use super::short_text::ShortText;
use super::table::{
    COST, Ends, EventClass, FAILURE, Marker, Merge, TICKS, TextField, UNNAMED_OUTPUT, WireTable,
};

/// Stands for the model of a tool that makes images, where its name was not told.
pub const IMAGE_TOOL: &str = "image_generation";

/// Collects what an [`Extractor`](super::extractor::Extractor) finds.
pub(super) struct UsageTally {
    table: &'static WireTable,
    /// Of the event that is being read.
    staged: Findings,
    /// Of all events that have ended.
    kept: Findings,
    /// The numbers of the usage objects before, in the event that is being read.
    earlier: Numbers,
    /// The entry of a list that is being read.
    entry: ListEntry,
    /// Media that have begun and are not done.
    open: PendingWork,
    ended: bool,
    /// Each item of the outermost array is an event.
    by_element: bool,
    /// Something was told that counts.
    told: bool,
    /// A part of the response came that tells nothing that is read, such as a signature.
    untold_part: bool,
    /// The output was told behind some of it: what a stream of Messages tells before is a placeholder.
    output_told: bool,
}

/// The changes by an event that has ended.
#[derive(Clone, Copy)]
pub(super) struct Effect {
    /// Whether its numbers count.
    pub(super) numbers: bool,
    /// The length of the model's text in it, in bytes.
    pub(super) generated: i64,
    /// All that it reports is known now as it says it.
    pub(super) as_it_says: bool,
}

impl UsageTally {
    pub(super) fn new(table: &'static WireTable) -> Self {
        Self {
            table,
            staged: Findings::default(),
            kept: Findings::default(),
            earlier: Numbers::default(),
            entry: ListEntry::default(),
            open: PendingWork::default(),
            ended: false,
            by_element: false,
            told: false,
            untold_part: false,
            output_told: false,
        }
    }

    pub(super) fn table(&self) -> &'static WireTable {
        self.table
    }

    // === While an event is being read ===

    pub(super) fn number(&mut self, slot: Slot, value: u64) {
        self.staged.touched = true;
        // Money is no count.
        let is_money = slot == COST || (slot == TICKS && self.table.roles.total.is_some());
        if value > MAX_COUNT && !is_money {
            self.staged.excessive = true;
            self.staged.singular = true;
            return;
        }
        self.staged.singular |= self.staged.numbers.get(slot).is_some();
        self.staged.numbers.set(slot, value);
    }

    /// Takes what stands in the place of a number and is none, such as one below zero.
    pub(super) fn no_number(&mut self) {
        self.staged.uncountable = true;
        self.staged.singular = true;
        self.staged.touched = true;
    }

    /// Takes a string, nothing if it was too long; `plain`: nothing but ASCII is in it, for sure. Whether the event is worth
    /// reading on.
    pub(super) fn text(&mut self, what: TextField, text: Option<&[u8]>, plain: bool) -> bool {
        match what {
            TextField::EventType => match text.and_then(self.table.event_of) {
                Some(event) => {
                    self.staged.event = event;
                    self.staged.singular |= event.is_counted();
                    // Most events are: they tell nothing more.
                    if event.is_part() && !event.is_counted() {
                        return true;
                    }
                }
                None => return false,
            },
            TextField::BareError => self.staged.error |= text != Some(b""),
            TextField::EntryType => {
                self.entry.what = text.map_or(EntryKind::Other, EntryKind::named);
                return true;
            }
            TextField::EntryModel => {
                self.entry.model.set(text.unwrap_or_default());
                return true;
            }
            TextField::EntryStatus => {
                const UNDONE: [&[u8]; 5] = [
                    b"failed",
                    b"incomplete",
                    b"in_progress",
                    b"interpreting",
                    b"searching",
                ];
                self.entry.idle |= text.is_some_and(|status| UNDONE.contains(&status));
                return true;
            }
            TextField::EntryAction => {
                // Reading on in what a search found.
                const BESIDE: [&[u8]; 2] = [b"find_in_page", b"open_page"];
                self.entry.idle |= text.is_some_and(|action| BESIDE.contains(&action));
                return true;
            }
            TextField::ToolName => {
                let name = text.unwrap_or_default();
                self.entry.call = server_tool(name);
                self.generated(i64::try_from(name.len()).unwrap_or(0));
                return true;
            }
            // A poorer report, as of any number.
            TextField::Cost
                if self.kept.text(TextField::Cost).is_some()
                    && text
                        .is_some_and(|text| !text.iter().any(|it| (b'1'..=b'9').contains(it))) =>
            {
                return true;
            }
            TextField::Query if text == Some(b"") => return true,
            TextField::Query => match text {
                Some(query) if plain || core::str::from_utf8(query).is_ok() => {
                    self.staged.queries.add(query);
                }
                // Too long to be told from another.
                _ => self.staged.add_call(Call::WebSearch),
            },
            _ => {
                let kept = self.kept.texts.get(what as usize);
                if let Some(place) = self.staged.texts.get_mut(what as usize) {
                    // Most events of a stream repeat what the first one said.
                    if kept.map(ShortText::as_bytes) == text {
                        place.clear();
                        return true;
                    }
                    let sound = text.filter(|text| plain || core::str::from_utf8(text).is_ok());
                    place.set(sound.unwrap_or_default());
                }
            }
        }
        self.staged.touched = true;
        true
    }

    /// An object or array begins.
    pub(super) fn begin(&mut self, mark: Marker) {
        let numbers = &mut self.staged.numbers;
        match mark {
            Marker::Usage => {
                if numbers.present() & !self.table.beside != 0 {
                    self.earlier = *numbers;
                    self.staged.singular = true;
                    numbers.clear_but(self.table.beside);
                }
                self.staged.usage_open = true;
            }
            Marker::UnnamedOutput => numbers.set(UNNAMED_OUTPUT, 1),
            Marker::Error => self.staged.error = true,
            Marker::Iterations => {
                messages::begin_iterations(numbers);
                self.staged.others.clear();
                self.staged.singular = true;
            }
            Marker::Iteration => {
                messages::begin_iteration(numbers);
                self.entry.clear();
                self.staged.lists_others = true;
            }
            // The list stands for the one before, unless it is empty.
            Marker::Modalities(parts) => {
                numbers.forget(parts.audio);
                numbers.forget(parts.image);
            }
            Marker::Modality(parts) => {
                numbers.add(parts.audio, 0);
                numbers.add(parts.image, 0);
                numbers.forget(parts.entry);
                self.entry.what = EntryKind::Untold;
            }
            Marker::Item | Marker::Block | Marker::Tool => {
                self.entry.clear();
                return;
            }
            Marker::Media | Marker::Sound => {
                self.entry.clear();
                if mark == Marker::Sound {
                    self.entry.what = EntryKind::Sound;
                }
                return;
            }
            Marker::Written => {
                self.entry.reasoned = false;
                return;
            }
            Marker::ReasoningParts => {
                self.entry.parts_count = !self.entry.reasoned;
                return;
            }
            Marker::Place => {
                if let Some(calls) = self.staged.calls.get_mut(Call::MapsSearch as usize) {
                    *calls = 1;
                }
            }
            Marker::Image | Marker::Element => return,
        }
        self.staged.touched = true;
    }

    /// Counts text of the model that was read.
    pub(super) fn generated(&mut self, more: i64) {
        self.staged.generated = self.staged.generated.saturating_add(more);
    }

    /// Whether a text of reasoning counts: it may stand there under another name already.
    pub(super) fn counts_reasoning(&self) -> bool {
        !self.entry.reasoned
    }

    /// Whether a text in the parts of reasoning counts.
    pub(super) fn counts_reasoning_parts(&self) -> bool {
        self.entry.parts_count
    }

    /// Counts text of the model's reasoning that was read.
    pub(super) fn reasoned(&mut self, more: i64) {
        self.entry.reasoned |= more != 0;
        self.generated(more);
    }

    /// Counts data of a picture or sound that was read.
    pub(super) fn data(&mut self, more: i64) {
        self.staged.data = self.staged.data.saturating_add(more);
        self.staged.singular = true;
        self.staged.touched = true;
    }

    /// An object or array that the model wrote begins: the next one need not be like it.
    pub(super) fn begin_written(&mut self) {
        self.staged.singular = true;
        self.staged.touched = true;
    }

    /// An object or array has ended.
    pub(super) fn end(&mut self, mark: Marker) {
        match mark {
            Marker::Image => {
                self.staged.images = self.staged.images.saturating_add(1);
                self.staged.take_picture_bytes();
                self.staged.singular = true;
                self.staged.touched = true;
            }
            Marker::Media | Marker::Sound => self.end_media(),
            Marker::Usage => self.end_usage(),
            Marker::Iteration => self.end_iteration(),
            Marker::Modality(parts) => {
                let numbers = &mut self.staged.numbers;
                let tokens = numbers.or_zero(parts.entry);
                let slot = match self.entry.what {
                    EntryKind::AudioTokens => parts.audio,
                    EntryKind::ImageTokens => parts.image,
                    _ => return,
                };
                numbers.add(slot, tokens);
                self.staged.singular = true;
            }
            Marker::Item => self.end_item(),
            Marker::Block => {
                if let (EntryKind::ServerTool, Some(call)) = (self.entry.what, self.entry.call) {
                    self.staged.add_call(call);
                    self.staged.singular = true;
                }
            }
            Marker::Tool if self.entry.what == EntryKind::ImageTool => {
                if let Some(name) = self.entry.model.text() {
                    self.staged
                        .others
                        .add(name.as_bytes(), false, Default::default());
                    self.staged.lists_others = true;
                    self.staged.singular = true;
                    self.staged.touched = true;
                }
            }
            Marker::Element if self.by_element => {
                self.commit();
            }
            _ => {}
        }
    }

    /// A usage object has ended: another one in the same event is another report.
    fn end_usage(&mut self) {
        self.staged.usage_open = false;
        if !self.earlier.is_empty() {
            merge(&mut self.earlier, &self.staged.numbers, self.table);
            self.staged.numbers = core::mem::take(&mut self.earlier);
        }
    }

    fn end_item(&mut self) {
        let (staged, done) = (&mut self.staged, !self.entry.idle);
        match self.entry.what {
            EntryKind::Call(call) => {
                if let Some(begun) = staged.begun.calls.get_mut(call as usize) {
                    *begun = begun.saturating_add(1);
                }
                if done {
                    staged.add_call(call);
                }
            }
            EntryKind::Image => {
                staged.begun.pictures = staged.begun.pictures.saturating_add(1);
                staged.take_picture_bytes();
                if done {
                    staged.images = staged.images.saturating_add(1);
                }
            }
            _ => {
                staged.data = 0;
                return;
            }
        }
        staged.singular = true;
        staged.touched = true;
    }

    /// The picture or sound whose data was read has ended, or is cut.
    fn end_media(&mut self) {
        let staged = &mut self.staged;
        if staged.data <= 0 {
            return;
        }
        let (passed, data) = (&mut staged.passed, &mut staged.data);
        match self.entry.what {
            what @ (EntryKind::Sound | EntryKind::Pcm) => {
                let bytes = u64::try_from(core::mem::take(data)).unwrap_or(0);
                passed.sound_bytes = passed.sound_bytes.saturating_add(bytes);
                if what == EntryKind::Pcm {
                    passed.pcm_bytes = passed.pcm_bytes.saturating_add(bytes);
                }
            }
            _ => {
                passed.pictures = passed.pictures.saturating_add(1);
                staged.take_picture_bytes();
            }
        }
    }

    fn end_iteration(&mut self) {
        let used = messages::entry(&self.staged.numbers);
        let others = &mut self.staged.others;
        match (self.entry.what, self.entry.model.text()) {
            (EntryKind::Untold | EntryKind::Summed, model) => {
                others.add(model.unwrap_or_default().as_bytes(), true, used);
            }
            (_, Some(model)) => others.add(model.as_bytes(), false, used),
            (_, None) => messages::add_entry(&mut self.staged.numbers, used),
        }
    }

    /// `[DONE]` is being read; whether that means anything.
    pub(super) fn done(&mut self) -> bool {
        self.staged.done = self.table.ends == Ends::Word;
        self.staged.touched = true;
        self.staged.done
    }

    // === When it has ended ===

    /// Whether the event told anything that is not known yet.
    pub(super) fn is_told(&self) -> bool {
        self.staged.touched
    }

    /// Whether the same event, coming next, would change nothing, and one with other numbers these alone.
    pub(super) fn is_repeatable(&self) -> bool {
        !self.staged.singular
    }

    /// An event like the last one has come: these numbers are others now, and so much text of the model was in it.
    pub(super) fn repeat(&mut self, numbers: &[(Slot, u64)], generated: i64) {
        for (slot, value) in numbers {
            self.kept.numbers.set(*slot, *value);
        }
        self.kept.generated = self.kept.generated.saturating_add(generated);
    }

    /// The event ends here and was whole.
    pub(super) fn commit(&mut self) -> Effect {
        let (staged, kept) = (&self.staged, &mut self.kept);
        let mut effect = Effect {
            numbers: !staged.event.is_part(),
            generated: staged.generated,
            as_it_says: true,
        };
        self.told |= staged.touched || staged.generated != 0;
        self.untold_part |= staged.event == EventClass::Part && staged.generated == 0;
        if staged.event == EventClass::Sound {
            kept.add_sound(staged.generated);
        } else {
            kept.generated = kept.generated.saturating_add(staged.generated);
        }
        if staged.touched {
            effect.as_it_says = self.commit_touched();
        }
        self.staged.clear();
        effect
    }

    /// Whether all numbers are known now as they were reported.
    fn commit_touched(&mut self) -> bool {
        let (staged, kept) = (&mut self.staged, &mut self.kept);
        match staged.event {
            EventClass::Begun => {
                self.open.add(&staged.begun);
                return true;
            }
            EventClass::Part => self.open.remove(&staged.begun),
            EventClass::PartialPicture => {
                staged.passed.partial_pictures = staged.passed.partial_pictures.saturating_add(1);
                staged.take_picture_bytes();
                self.open.pictures = self.open.pictures.max(1);
            }
            EventClass::Image | EventClass::OneImage => {
                staged.take_picture_bytes();
                self.open.pictures = self.open.pictures.saturating_sub(1);
            }
            _ => {}
        }
        kept.passed.add(&staged.passed);
        for (calls, more) in kept.calls.iter_mut().zip(staged.calls) {
            *calls = match self.table.merge {
                // Of protocol C: a list of those so far.
                Merge::Update if !staged.event.is_part() => more.max(*calls),
                _ => calls.saturating_add(more),
            };
        }
        kept.queries.add_all(&staged.queries);
        kept.images = kept.images.saturating_add(staged.images);
        if staged.event.is_part() {
            return true;
        }
        let output = staged.numbers.present() & messages::OUTPUTS;
        self.output_told |= output != 0 && kept.generated > 0;
        kept.excessive |= staged.excessive;
        kept.uncountable |= staged.uncountable;
        let as_it_says =
            staged.numbers.is_empty() || merge(&mut kept.numbers, &staged.numbers, self.table);
        if staged.lists_others {
            kept.others.clone_from(&staged.others);
        }
        let failure = staged.numbers.or_zero(FAILURE) > 0;
        let error = staged.error || failure || staged.event == EventClass::Error;
        for (what, (to, from)) in kept.texts.iter_mut().zip(&staged.texts).enumerate() {
            let of_error =
                what == TextField::ErrorType as usize || what == TextField::ErrorCode as usize;
            // The first error is what went wrong; others may follow from it.
            if !from.is_empty() && (!of_error || (error && !kept.error)) {
                to.set(from.as_bytes());
            }
        }
        kept.error |= error;
        if matches!(staged.event, EventClass::Image | EventClass::OneImage) {
            kept.images = kept.images.saturating_add(1);
        }
        kept.done |= staged.done;
        self.ended |= staged.done || matches!(staged.event, EventClass::End | EventClass::Image);
        let reasoned = || kept.text(TextField::Finish).is_some();
        self.ended |= match self.table.ends {
            Ends::Event => false,
            Ends::Reason => reasoned(),
            // Some servers never say the word: behind its reason to finish a report of both sides is the last one.
            Ends::Word => is_whole(&staged.numbers, self.table) && reasoned(),
        };
        as_it_says
    }

    /// From here on each item of the outermost array is an event.
    pub(super) fn count_elements(&mut self) {
        self.by_element = true;
    }

    /// Whether the items of a document are events of a stream.
    pub(super) fn is_stream(&self) -> bool {
        self.by_element
    }

    /// The event ends here and was broken.
    pub(super) fn discard(&mut self) {
        self.earlier.clear();
        self.staged.clear();
    }

    /// The answer ends here, in the middle of an event: what the model wrote has passed nevertheless.
    pub(super) fn cut(&mut self) {
        let (staged, kept) = (&mut self.staged, &mut self.kept);
        if staged.event == EventClass::Sound {
            kept.add_sound(staged.generated);
        } else {
            kept.generated = kept.generated.saturating_add(staged.generated);
        }
        let is_partial = staged.event == EventClass::PartialPicture;
        if staged.data > 0 && (is_partial || staged.event == EventClass::Image) {
            let partial = &mut staged.passed.partial_pictures;
            *partial = partial.saturating_add(is_partial.into());
            staged.take_picture_bytes();
            // One that had begun is this one.
            self.open.pictures = self.open.pictures.max(1);
        }
        self.told |= self.staged.generated != 0 || self.staged.data != 0;
        self.end_media();
        self.kept.passed.add(&self.staged.passed);
        self.staged.clear();
    }

    /// The document ends here, `whole` or cut, or `lost` where it is no JSON. All it told counts; of an array, what its whole
    /// items told, and what the model wrote in the one that is cut.
    ///
    /// Half a usage object does not: what is part of a total comes after it, so that tokens from a cache, say,
    /// would count as plain ones, which are dearer.
    pub(super) fn end_document(&mut self, whole: bool, lost: bool) {
        if self.by_element && (whole || lost) {
            self.discard();
        } else if self.by_element {
            self.cut();
        } else {
            self.end_media();
            if self.staged.usage_open {
                self.staged.numbers.clear_but(self.table.beside);
                self.end_usage();
            }
            self.commit();
            self.ended = whole;
        }
    }

    /// Whether nothing that follows counts.
    pub(super) fn is_done(&self) -> bool {
        self.kept.done
    }
}
