//! What an answer has said of its usage: staged while an event is being read, kept when it has ended.

use super::Usage;
use super::messages;
use super::numbers::Numbers;
use super::short_text::ShortText;
use super::table::{Ends, Event, Mark, Merge, Slot, Table, Text};

/// Collects what a [`Picker`](super::picker::Picker) finds.
pub(super) struct Tally {
    table: &'static Table,
    /// Of the event that is being read.
    staged: Said,
    /// Of all events that have ended.
    kept: Said,
    ended: bool,
    /// Each item of the outermost array is an event.
    by_element: bool,
}

#[derive(Default)]
struct Said {
    numbers: Numbers,
    texts: [ShortText; Text::KEPT],
    images: u64,
    event: Event,
    /// An error stands inside.
    error: bool,
    /// The word `[DONE]`.
    done: bool,
    /// The entry of `usage.iterations` that is being read is a compaction.
    compaction: bool,
    /// The usage object has begun and not ended: one number may yet correct another.
    usage_open: bool,
    /// Said again with other numbers it would mean something else than those.
    singular: bool,
    /// Anything above may be set.
    touched: bool,
}

impl Said {
    fn clear(&mut self) {
        if self.touched {
            self.numbers.clear();
            self.texts.iter_mut().for_each(ShortText::clear);
            self.images = 0;
            self.event = Event::Plain;
            (self.error, self.done, self.compaction) = (false, false, false);
            self.usage_open = false;
            self.singular = false;
            self.touched = false;
        }
    }

    fn text(&self, text: Text) -> Option<&str> {
        self.texts.get(text as usize)?.text()
    }
}

impl Tally {
    pub(super) fn new(table: &'static Table) -> Self {
        Self {
            table,
            staged: Said::default(),
            kept: Said::default(),
            ended: false,
            by_element: false,
        }
    }

    pub(super) fn table(&self) -> &'static Table {
        self.table
    }

    // === While an event is being read ===

    pub(super) fn number(&mut self, slot: Slot, value: u64) {
        self.staged.singular |= self.staged.numbers.get(slot).is_some();
        self.staged.numbers.set(slot, value);
        self.staged.touched = true;
    }

    /// Takes a string, nothing if it was too long; `plain`: nothing but ASCII is in it, for sure. Whether the event is worth
    /// reading on.
    pub(super) fn text(&mut self, what: Text, text: Option<&[u8]>, plain: bool) -> bool {
        match what {
            Text::EventType => match text.and_then(self.table.event_of) {
                Some(event) => {
                    self.staged.event = event;
                    self.staged.singular |= event == Event::Image;
                }
                None => return false,
            },
            Text::BareError => self.staged.error |= text != Some(b""),
            Text::Iteration => self.staged.compaction = text == Some(b"compaction"),
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
    pub(super) fn begin(&mut self, mark: Mark) {
        let numbers = &mut self.staged.numbers;
        match mark {
            Mark::Usage => {
                self.staged.singular |= !numbers.is_empty();
                numbers.clear();
                self.staged.usage_open = true;
            }
            Mark::Error => self.staged.error = true,
            Mark::Iterations => {
                messages::begin_iterations(numbers);
                self.staged.singular = true;
            }
            Mark::Iteration => {
                messages::begin_iteration(numbers);
                self.staged.compaction = false;
            }
            Mark::Image | Mark::Element => return,
        }
        self.staged.touched = true;
    }

    /// An object or array has ended.
    pub(super) fn end(&mut self, mark: Mark) {
        match mark {
            Mark::Image => {
                self.staged.images = self.staged.images.saturating_add(1);
                self.staged.singular = true;
                self.staged.touched = true;
            }
            Mark::Usage => self.staged.usage_open = false,
            Mark::Iteration if self.staged.compaction => {
                messages::add_compaction(&mut self.staged.numbers);
            }
            Mark::Element if self.by_element => self.commit(),
            _ => {}
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

    /// All numbers known so far.
    pub(super) fn numbers(&self) -> &Numbers {
        &self.kept.numbers
    }

    /// An event like the last one has come: these are known now.
    pub(super) fn repeat(&mut self, numbers: Numbers) {
        self.kept.numbers = numbers;
    }

    /// The event ends here and was whole.
    pub(super) fn commit(&mut self) {
        if !self.staged.touched {
            return;
        }
        let (staged, kept) = (&self.staged, &mut self.kept);
        match self.table.merge {
            _ if staged.numbers.is_empty() => {}
            Merge::Replace => {
                kept.numbers.clear();
                kept.numbers.update(&staged.numbers);
            }
            Merge::Update => kept.numbers.update(&staged.numbers),
        }
        let error = staged.error || staged.event == Event::Error;
        for (what, (to, from)) in kept.texts.iter_mut().zip(&staged.texts).enumerate() {
            let of_error = what == Text::ErrorType as usize || what == Text::ErrorCode as usize;
            // The first error is what went wrong; others may follow from it.
            if !from.is_empty() && (!of_error || (error && !kept.error)) {
                to.set(from.as_bytes());
            }
        }
        kept.error |= error;
        kept.images = kept.images.saturating_add(staged.images);
        if staged.event == Event::Image {
            kept.images = kept.images.saturating_add(1);
        }
        kept.done |= staged.done;
        self.ended |= staged.done || matches!(staged.event, Event::End | Event::Image);
        self.ended |= self.table.ends == Ends::Reason && kept.text(Text::Finish).is_some();
        self.staged.clear();
    }

    /// From here on each item of the outermost array is an event.
    pub(super) fn count_elements(&mut self) {
        self.by_element = true;
    }

    /// The event ends here and was broken.
    pub(super) fn discard(&mut self) {
        self.staged.clear();
    }

    /// The document ends here, whole or cut. All it told counts; of an array, what its whole items told.
    ///
    /// Half a usage object does not: what is part of a total comes after it, so that tokens from a cache, say,
    /// would count as plain ones, which are dearer.
    pub(super) fn end_document(&mut self, whole: bool) {
        if self.by_element {
            self.discard();
        } else {
            if self.staged.usage_open {
                self.staged.numbers.clear();
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

    pub(super) fn usage(&self) -> Option<Usage> {
        let images = self.kept.images;
        match (self.table.usage)(&self.kept.numbers) {
            Some(usage) => Some(Usage { images, ..usage }),
            None if images > 0 => Some(Usage {
                images,
                ..Usage::default()
            }),
            None => None,
        }
    }

    /// The numbers as they were reported. Of sums over entries only those that come to something.
    pub(super) fn reported(&self) -> Vec<(&'static str, u64)> {
        let names = (0..).zip(self.table.names);
        names
            .filter_map(|(slot, name)| Some((*name, self.kept.numbers.get(slot)?)))
            .filter(|(name, value)| *value > 0 || !name.starts_with("iterations"))
            .collect()
    }

    pub(super) fn text_kept(&self, what: Text) -> Option<&str> {
        self.kept.text(what)
    }

    /// The type of the first error; its code, where no type was given.
    pub(super) fn error(&self) -> Option<&str> {
        self.kept.error.then(|| {
            self.kept
                .text(Text::ErrorType)
                .or_else(|| self.kept.text(Text::ErrorCode))
                .unwrap_or("error")
        })
    }

    /// Why the model stopped.
    pub(super) fn finish_reason(&self) -> Option<&str> {
        let ended = ["completed", "incomplete", "failed", "cancelled"];
        let status = self.kept.text(Text::Status);
        self.kept
            .text(Text::Finish)
            .or(status.filter(|status| ended.contains(status)))
    }
}
