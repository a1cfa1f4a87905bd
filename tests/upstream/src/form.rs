//! The forms of answers that report usage, and what each can tell.

use crate::usage::{Kind, Usage};

/// A form of answers that report usage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
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
    /// Embeddings.
    Embed,
}

impl Form {
    /// The numbers of the fixtures.
    pub fn usual(self) -> Usage {
        let text = [
            (Kind::Input, 210),
            (Kind::CacheRead, 1024),
            (Kind::Output, 24),
            (Kind::Reasoning, 32),
        ];
        match self {
            Self::Chat => Usage::of(&text),
            Self::Responses => {
                let mut usage = Usage::of(&text);
                usage.set(Kind::Input, 110);
                usage.set(Kind::CacheWrite5m, 100);
                usage
            }
            Self::Images => Usage::of(&[
                (Kind::Input, 10),
                (Kind::InputImage, 40),
                (Kind::Output, 272),
            ]),
            Self::Messages => Usage::of(&[
                (Kind::Input, 210),
                (Kind::CacheRead, 1024),
                (Kind::CacheWrite5m, 200),
                (Kind::CacheWrite1h, 100),
                (Kind::Output, 56),
            ]),
            Self::Generate => {
                let mut usage = Usage::of(&text);
                usage.set(Kind::ToolUse, 10);
                usage
            }
            Self::Embed => Usage::default(),
        }
    }

    /// What an answer of this form can tell of `usage`; a reader of the answer finds exactly this.
    pub fn tells(self, usage: Usage) -> Usage {
        use Kind::{CacheRead, CacheWrite1h, CacheWrite5m, Images, Input, InputImage};
        use Kind::{Output, Reasoning, ToolUse};
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
            Self::Embed => usage.only(&[Input]),
        }
    }
}
