//! Generate-content: what stands where, and what it means.
//!
//! Any chunk may carry `usageMetadata`, a snapshot so far; a field that is zero may be missing from it.
//! `promptTokenCount` contains the cached tokens, but not what the model's tools brought in;
//! `candidatesTokenCount` does not contain the thoughts.

use super::numbers::Numbers;
use super::table::{
    Ends, Event, Mark, Member, Merge, Node, Slot, Table, Text, array, number, object, root, text,
};
use super::{Kind, Usage};

const PROMPT: Slot = 0;
const CACHED: Slot = 1;
const TOOL_USE: Slot = 2;
const CANDIDATES: Slot = 3;
const THOUGHTS: Slot = 4;

pub(super) static TABLE: Table = Table {
    document: root(MEMBERS, &ELEMENT),
    event: root(MEMBERS, &ELEMENT),
    names: &[
        "promptTokenCount",
        "cachedContentTokenCount",
        "toolUsePromptTokenCount",
        "candidatesTokenCount",
        "thoughtsTokenCount",
        "totalTokenCount",
    ],
    merge: Merge::Update,
    event_of: |_| Some(Event::Plain),
    ends: Ends::Reason,
    usage,
};

const ELEMENT: Node = object(MEMBERS).marked(Mark::Element);

const MEMBERS: &[Member] = &[
    ("candidates", array(&CANDIDATE)),
    (
        "promptFeedback",
        object(&[("blockReason", text(Text::Finish))]),
    ),
    ("usageMetadata", object(USAGE).marked(Mark::Usage)),
    ("modelVersion", text(Text::Model)),
    ("responseId", text(Text::Id)),
    ("error", ERROR),
];

const CANDIDATE: Node = object(&[("finishReason", text(Text::Finish))]);

const USAGE: &[Member] = &[
    ("promptTokenCount", number(PROMPT)),
    ("cachedContentTokenCount", number(CACHED)),
    ("toolUsePromptTokenCount", number(TOOL_USE)),
    ("candidatesTokenCount", number(CANDIDATES)),
    ("thoughtsTokenCount", number(THOUGHTS)),
    ("totalTokenCount", number(5)),
];

/// Its `code` is an HTTP status; the word for it is in `status`.
const ERROR: Node = object(&[("status", text(Text::ErrorType))]).marked(Mark::Error);

fn usage(numbers: &Numbers) -> Option<Usage> {
    let known = numbers.any(&[PROMPT, CACHED, TOOL_USE, CANDIDATES, THOUGHTS]);
    let mut usage = Usage::default();
    let (input, [cached]) = numbers.split(PROMPT, [CACHED]);
    usage.set(Kind::Input, input);
    usage.set(Kind::CacheRead, cached);
    usage.set(Kind::ToolUse, numbers.or_zero(TOOL_USE));
    usage.set(Kind::Output, numbers.or_zero(CANDIDATES));
    usage.set(Kind::Reasoning, numbers.or_zero(THOUGHTS));
    known.then_some(usage)
}
