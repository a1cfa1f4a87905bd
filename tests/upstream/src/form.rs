//! The forms of answers that report usage, and what each can tell.

use crate::usage::{CountedKind, SimulatedUsage};

/// A form of answers that report usage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UsageForm {
    /// Chat completions.
    Chat,
    /// Responses.
    Responses,
    /// Images, made or edited.
    Images,
    /// Messages.
    Messages,
    /// Generated content.
    Generate,
    /// Embeddings of protocol A.
    Embeddings,
    /// Embeddings of protocol C.
    Embed,
}

impl UsageForm {
    /// The numbers of the fixtures.
    pub fn usual(self) -> SimulatedUsage {
        let text = [
            (CountedKind::Input, 210),
            (CountedKind::CacheRead, 1024),
            (CountedKind::Output, 24),
            (CountedKind::Reasoning, 32),
        ];
        match self {
            Self::Chat => SimulatedUsage::of(&text),
            Self::Responses => {
                let mut usage = SimulatedUsage::of(&text);
                usage.set(CountedKind::Input, 110);
                usage.set(CountedKind::CacheWrite5m, 100);
                usage
            }
            Self::Images => SimulatedUsage::of(&[
                (CountedKind::Input, 10),
                (CountedKind::InputImage, 40),
                (CountedKind::Output, 272),
            ]),
            Self::Messages => SimulatedUsage::of(&[
                (CountedKind::Input, 210),
                (CountedKind::CacheRead, 1024),
                (CountedKind::CacheWrite5m, 200),
                (CountedKind::CacheWrite1h, 100),
                (CountedKind::Output, 56),
            ]),
            Self::Generate => {
                let mut usage = SimulatedUsage::of(&text);
                usage.set(CountedKind::ToolUse, 10);
                usage
            }
            Self::Embeddings => SimulatedUsage::of(&[(CountedKind::Input, 8)]),
            Self::Embed => SimulatedUsage::default(),
        }
    }

    /// Returns the part of `usage` that an answer of this form can report; a reader of the answer finds exactly this.
    pub fn tells(self, usage: SimulatedUsage) -> SimulatedUsage {
        use CountedKind::{CacheRead, CacheWrite1h, CacheWrite5m, Images, Input, InputImage};
        use CountedKind::{Output, Reasoning, ToolUse};
        match self {
            Self::Chat | Self::Responses => usage.folded(CacheWrite1h, CacheWrite5m).only(&[
                Input,
                CacheRead,
                CacheWrite5m,
                Output,
                Reasoning,
            ]),
            Self::Images => usage.only(&[Input, InputImage, Output, Images]),
            Self::Messages => usage.folded(Reasoning, Output).only(&[
                Input,
                CacheRead,
                CacheWrite5m,
                CacheWrite1h,
                Output,
            ]),
            Self::Generate => usage.only(&[Input, CacheRead, ToolUse, Output, Reasoning]),
            Self::Embeddings | Self::Embed => usage.only(&[Input]),
        }
    }
}
