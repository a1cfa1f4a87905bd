//! Usage as an answer reports it: staged while an event is being read, kept when it has ended.

use super::cost;
use super::doubt::Doubt;
use super::merge::{is_whole, merge};
use super::model_sums::{ModelSum, ModelSums, SUMS};
use super::numbers::{MAX_COUNT, Numbers, Slot, SlotSet};
use super::queries::Queries;
use super::short_text::ShortText;
use super::table::{
    COST, Counted, Ends, EventClass, FAILURE, Marker, Merge, TextField, UNNAMED_OUTPUT, WireTable,
};
use super::{Call, Passed, Usage};
use super::{messages, responses};

/// Stands for the model of a tool that makes images, where its name was not told.
pub const IMAGE_TOOL: &str = "image_generation";

/// The capacity that suffices for the numbers that most responses report.
const USUALLY_REPORTED: usize = 8;

/// Collects what an [`Extractor`](super::extractor::Extractor) finds.
pub(super) struct UsageTally {
    table: &'static WireTable,
    /// Of the event that is being read.
    staged: Said,
    /// Of all events that have ended.
    kept: Said,
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

#[derive(Default)]
struct Said {
    numbers: Numbers,
    texts: [ShortText; TextField::KEPT],
    images: u64,
    calls: [u64; Call::ALL.len()],
    /// Searches that are listed.
    queries: Queries,
    /// The length of the text that the model wrote, in bytes: less than nothing while half an escape was read.
    generated: i64,
    /// The pictures and the sound that passed.
    passed: Passed,
    /// The length of the data of the picture or sound being read, in bytes: less than nothing while half an escape was read.
    data: i64,
    /// The items in it, done or not.
    begun: PendingWork,
    others: ModelSums,
    /// Whether other models were listed, if only as none.
    lists_others: bool,
    event: EventClass,
    /// A number was told that no answer comes to.
    excessive: bool,
    /// Something was told in the place of a number that is none.
    uncountable: bool,
    /// An error stands inside.
    error: bool,
    /// The word `[DONE]`.
    done: bool,
    /// The usage object has begun and not ended: one number may yet correct another.
    usage_open: bool,
    /// Said again with other numbers it would mean something else than those.
    singular: bool,
    /// Anything above may be set.
    touched: bool,
}

/// An entry of a list.
#[derive(Default)]
struct ListEntry {
    what: EntryKind,
    model: ShortText,
    /// It was not done, or is no work of its own.
    idle: bool,
    /// The vendor's own tool that is called, by the tool's name.
    call: Option<Call>,
    /// Reasoning stands in the message that is being read.
    reasoned: bool,
    /// The parts of reasoning that are being read are no repetition.
    parts_count: bool,
}

/// Work that has begun.
#[derive(Clone, Copy, Default)]
struct PendingWork {
    calls: [u32; Call::ALL.len()],
    pictures: u32,
}

impl PendingWork {
    fn each<'a>(&'a mut self, other: &'a Self) -> impl Iterator<Item = (&'a mut u32, u32)> {
        let calls = self.calls.iter_mut().zip(other.calls);
        calls.chain([(&mut self.pictures, other.pictures)])
    }

    fn add(&mut self, more: &Self) {
        self.each(more)
            .for_each(|(sum, more)| *sum = sum.saturating_add(more));
    }

    fn remove(&mut self, done: &Self) {
        self.each(done)
            .for_each(|(sum, done)| *sum = sum.saturating_sub(done));
    }

    fn calls(&self, call: Call) -> u64 {
        self.calls.get(call as usize).copied().unwrap_or(0).into()
    }
}

/// The kind of an entry, or of its subject.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum EntryKind {
    #[default]
    Untold,
    Other,
    /// A model call that is in the sums.
    Summed,
    Call(Call),
    /// A call of a tool of the vendor's own, which its name tells.
    ServerTool,
    Image,
    ImageTool,
    Sound,
    Pcm,
    ImageTokens,
    AudioTokens,
}

impl EntryKind {
    fn named(name: &[u8]) -> Self {
        match name {
            b"message" | b"fallback_message" => Self::Summed,
            b"web_search_call" => Self::Call(Call::WebSearch),
            b"code_interpreter_call" => Self::Call(Call::CodeExecution),
            b"file_search_call" => Self::Call(Call::FileSearch),
            b"image_generation_call" => Self::Image,
            b"image_generation" => Self::ImageTool,
            b"IMAGE" => Self::ImageTokens,
            b"AUDIO" => Self::AudioTokens,
            b"server_tool_use" => Self::ServerTool,
            _ if begins(name, b"audio/l16") || begins(name, b"audio/pcm") => Self::Pcm,
            _ if begins(name, b"audio/") => Self::Sound,
            _ => Self::Other,
        }
    }
}

/// Whether a type begins so, in any case.
fn begins(name: &[u8], start: &[u8]) -> bool {
    let head = name.get(..start.len());
    head.is_some_and(|head| head.eq_ignore_ascii_case(start))
}

/// Finds the kind of a vendor's own tool by its name.
fn server_tool(name: &[u8]) -> Option<Call> {
    match name {
        b"web_search" => Some(Call::WebSearch),
        b"code_execution" | b"bash_code_execution" | b"text_editor_code_execution" => {
            Some(Call::CodeExecution)
        }
        _ => None,
    }
}

impl ListEntry {
    fn clear(&mut self) {
        self.what = EntryKind::Untold;
        self.model.clear();
        self.idle = false;
        self.call = None;
    }
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

impl Said {
    fn clear(&mut self) {
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
    fn take_picture_bytes(&mut self) {
        let bytes = u64::try_from(core::mem::take(&mut self.data)).unwrap_or(0);
        let sum = &mut self.passed.picture_bytes;
        *sum = sum.saturating_add(bytes);
    }

    fn add_sound(&mut self, bytes: i64) {
        let sum = &mut self.passed.sound_bytes;
        *sum = sum.saturating_add(u64::try_from(bytes).unwrap_or(0));
    }

    fn text(&self, text: TextField) -> Option<&str> {
        self.texts.get(text as usize)?.text()
    }

    fn add_call(&mut self, call: Call) {
        if let Some(calls) = self.calls.get_mut(call as usize) {
            *calls = calls.saturating_add(1);
        }
        self.touched = true;
    }
}

impl UsageTally {
    pub(super) fn new(table: &'static WireTable) -> Self {
        Self {
            table,
            staged: Said::default(),
            kept: Said::default(),
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
        let is_money =
            slot == COST || (slot == responses::TICKS && self.table.roles.total.is_some());
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

    // === What it comes to ===

    /// Whether the protocol's end was seen, and no error.
    pub(super) fn finished(&self) -> bool {
        self.ended && !self.kept.error
    }

    /// Whether anything was told that counts.
    pub(super) fn is_told_anything(&self) -> bool {
        self.told
    }

    /// Sums what was used, and tells what of it is in doubt.
    pub(super) fn counted(&self) -> Counted {
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
    pub(super) fn is_one_sided(&self, usage: &Usage) -> bool {
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
    pub(super) fn total(&self) -> Option<u64> {
        let total = self.kept.numbers.get(self.table.roles.total?);
        total.filter(|total| *total > 0)
    }

    /// The images that were made: by a number that says so, else those that came.
    fn images(&self) -> u64 {
        self.images_made().unwrap_or(self.kept.images)
    }

    /// The number of images that were made, where the answer tells it.
    pub(super) fn images_made(&self) -> Option<u64> {
        self.kept.numbers.get(self.table.images_made?)
    }

    /// Whether nothing came of what was asked for: no part of a response, no reason why it ended, and no output in its numbers.
    pub(super) fn made_nothing(&self, counted: &Counted) -> bool {
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
    pub(super) fn has_unnamed_output(&self) -> bool {
        let model = self.kept.text(TextField::Model).unwrap_or_default();
        let name = model.rsplit('/').next().unwrap_or_default();
        self.kept.numbers.get(UNNAMED_OUTPUT).is_some()
            || self.table.roles.unnamed_output
            || name.starts_with("gemini-")
    }

    /// The cost of the answer by the vendor's word.
    pub(super) fn cost(&self) -> Option<String> {
        let numbers = &self.kept.numbers;
        match self.kept.text(TextField::Cost) {
            Some(number) => cost::amount(number),
            None => match (numbers.get(COST), numbers.get(responses::TICKS)) {
                (None, Some(ticks)) => cost::ticks(ticks),
                (whole, _) => cost::amount(&whole?.to_string()),
            },
        }
    }

    /// Returns the usage of other models, by their names.
    pub(super) fn others(&self) -> Vec<(String, Usage)> {
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
    pub(super) fn generated_bytes(&self) -> u64 {
        self.kept.generated.try_into().unwrap_or(0)
    }

    /// The pictures and the sound that passed; of pictures those too that had begun when the answer was left.
    pub(super) fn passed(&self) -> Passed {
        let begun = if self.ended { 0 } else { self.open.pictures };
        let Passed { pictures, .. } = self.kept.passed;
        let images = self.images();
        Passed {
            pictures: pictures.saturating_add(images).saturating_add(begun.into()),
            ..self.kept.passed
        }
    }

    /// Returns the number of bytes of text, pictures and sound that passed.
    pub(super) fn passed_bytes(&self) -> u64 {
        let passed = &self.kept.passed;
        self.generated_bytes()
            .saturating_add(passed.picture_bytes)
            .saturating_add(passed.sound_bytes)
    }

    /// The model that a tool of the answer makes pictures with.
    pub(super) fn image_model(&self) -> Option<&str> {
        let mut tools = self.kept.others.as_slice().iter();
        tools
            .find_map(ModelSum::name)
            .filter(|_| self.has_image_tool())
    }

    /// Whether a number was told that no answer comes to.
    pub(super) fn is_excessive(&self) -> bool {
        self.kept.excessive
    }

    /// The numbers as they were reported. Of sums over the entries of a list only those that come to something.
    pub(super) fn reported(&self) -> Vec<(&'static str, u64)> {
        let names = (0..).zip(self.table.names);
        let found = names
            .filter_map(|(slot, name)| Some((*name, self.kept.numbers.get(slot)?)))
            .filter(|(name, value)| !name.is_empty() && (*value > 0 || !name.contains('[')));
        let mut reported = Vec::with_capacity(USUALLY_REPORTED);
        reported.extend(found);
        reported
    }

    pub(super) fn text_kept(&self, what: TextField) -> Option<&str> {
        self.kept.text(what)
    }

    /// The type of the first error; its code, where no type was given.
    pub(super) fn error(&self) -> Option<&str> {
        self.kept.error.then(|| {
            self.kept
                .text(TextField::ErrorType)
                .or_else(|| self.kept.text(TextField::ErrorCode))
                .unwrap_or("error")
        })
    }

    /// Returns the reason why the model stopped.
    pub(super) fn finish_reason(&self) -> Option<&str> {
        let ended = ["completed", "incomplete", "failed", "cancelled"];
        let status = self.kept.text(TextField::Status);
        self.kept
            .text(TextField::Finish)
            .or(status.filter(|status| ended.contains(status)))
    }
}
