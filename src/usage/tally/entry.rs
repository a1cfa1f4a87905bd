//! The entry of a list, and the work that has begun with one.

use crate::usage::Call;
use crate::usage::short_text::ShortText;

/// An entry of a list.
#[derive(Default)]
pub(super) struct ListEntry {
    pub(super) what: EntryKind,
    pub(super) model: ShortText,
    /// It was not done, or is no work of its own.
    pub(super) idle: bool,
    /// The vendor's own tool that is called, by the tool's name.
    pub(super) call: Option<Call>,
    /// Reasoning stands in the message that is being read.
    pub(super) reasoned: bool,
    /// The parts of reasoning that are being read are no repetition.
    pub(super) parts_count: bool,
}

/// Work that has begun.
#[derive(Clone, Copy, Default)]
pub(super) struct PendingWork {
    pub(super) calls: [u32; Call::ALL.len()],
    pub(super) pictures: u32,
}

impl PendingWork {
    pub(super) fn each<'a>(
        &'a mut self,
        other: &'a Self,
    ) -> impl Iterator<Item = (&'a mut u32, u32)> {
        let calls = self.calls.iter_mut().zip(other.calls);
        calls.chain([(&mut self.pictures, other.pictures)])
    }

    pub(super) fn add(&mut self, more: &Self) {
        self.each(more)
            .for_each(|(sum, more)| *sum = sum.saturating_add(more));
    }

    pub(super) fn remove(&mut self, done: &Self) {
        self.each(done)
            .for_each(|(sum, done)| *sum = sum.saturating_sub(done));
    }

    pub(super) fn calls(&self, call: Call) -> u64 {
        self.calls.get(call as usize).copied().unwrap_or(0).into()
    }
}

/// The kind of an entry, or of its subject.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum EntryKind {
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
    pub(super) fn named(name: &[u8]) -> Self {
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
pub(super) fn server_tool(name: &[u8]) -> Option<Call> {
    match name {
        b"web_search" => Some(Call::WebSearch),
        b"code_execution" | b"bash_code_execution" | b"text_editor_code_execution" => {
            Some(Call::CodeExecution)
        }
        _ => None,
    }
}

impl ListEntry {
    pub(super) fn clear(&mut self) {
        self.what = EntryKind::Untold;
        self.model.clear();
        self.idle = false;
        self.call = None;
    }
}
