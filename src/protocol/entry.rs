//! The three protocols, and the entries by which a Mixed group reaches them.

use core::fmt;

use crate::model::name::NameRule;

/// A model-API protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Protocol {
    /// Responses and Chat Completions, under `/v1`.
    A,
    /// Messages, under `/v1/messages`.
    B,
    /// Native generate-content, under `/v1beta`.
    C,
}

impl Protocol {
    /// The rule by which names of its models are read.
    pub const fn name_rule(self) -> NameRule {
        match self {
            Self::A => NameRule::A,
            Self::B => NameRule::B,
            Self::C => NameRule::C,
        }
    }

    /// The entry of a Mixed group that serves this protocol.
    pub fn entry(self) -> Entry {
        match self {
            Self::A => Entry::Responses,
            Self::B => Entry::VbMessages,
            Self::C => Entry::VcGenerateContent,
        }
    }
}

impl fmt::Display for Protocol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::A => "A",
            Self::B => "B",
            Self::C => "C",
        })
    }
}

/// An entry of a Mixed group: the endpoints of one protocol, sent to one source group.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Entry {
    /// `/v1/responses` and what is below it, `/v1/chat/completions`, `/v1/embeddings` and their aliases.
    Responses,
    /// `/v1/messages` and `/v1/messages/count_tokens`.
    VbMessages,
    /// `/v1beta/models/…`.
    VcGenerateContent,
}

impl Entry {
    /// All entries, in the protocols' order.
    pub const ALL: [Self; 3] = [Self::Responses, Self::VbMessages, Self::VcGenerateContent];

    /// The entry that a document calls `name`: the neutral name, or the vendor's.
    pub fn from_name(name: &str) -> Option<Self> {
        match name {
            "responses" => Some(Self::Responses),
            "vb_messages" | "anthropic_messages" => Some(Self::VbMessages),
            "vc_generate_content" | "google_generate_content" | "gemini_generate_content" => {
                Some(Self::VcGenerateContent)
            }
            _ => None,
        }
    }

    /// The neutral name, as lists and messages show it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Responses => "responses",
            Self::VbMessages => "vb_messages",
            Self::VcGenerateContent => "vc_generate_content",
        }
    }

    /// The protocol whose endpoints this entry takes.
    pub fn protocol(self) -> Protocol {
        match self {
            Self::Responses => Protocol::A,
            Self::VbMessages => Protocol::B,
            Self::VcGenerateContent => Protocol::C,
        }
    }

    /// Returns the paths at which a client reaches this entry, for messages.
    pub fn paths(self) -> &'static str {
        match self {
            Self::Responses => "POST /v1/responses or /v1/chat/completions",
            Self::VbMessages => "POST /v1/messages",
            Self::VcGenerateContent => "POST /v1beta/models/{model}:generateContent",
        }
    }
}

impl fmt::Display for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
