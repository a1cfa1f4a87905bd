//! Responses: what stands where, and what it means.
//!
//! The events at a stream's beginning and end carry the response as it stands; usage is in the last one.
//! `input_tokens` contains the cached tokens, `output_tokens` the reasoning.

use super::numbers::Numbers;
use super::table::{
    ERROR, Ends, Event, Mark, Member, Merge, Node, Slot, Table, Text, number, object, root, text,
};
use super::{Kind, Usage};

// Chat Completions has the same numbers under other names.
pub(super) const INPUT: Slot = 0;
pub(super) const CACHED: Slot = 1;
pub(super) const CACHE_WRITE: Slot = 2;
pub(super) const OUTPUT: Slot = 3;
pub(super) const REASONING: Slot = 4;

pub(super) static TABLE: Table = Table {
    document: root(RESPONSE, &DOCUMENT_ELEMENT),
    event: root(EVENT, &EVENT_ELEMENT),
    names: &[
        "input_tokens",
        "input_tokens_details.cached_tokens",
        "input_tokens_details.cache_write_tokens",
        "output_tokens",
        "output_tokens_details.reasoning_tokens",
        "total_tokens",
    ],
    merge: Merge::Replace,
    event_of: |name| match name {
        b"response.completed" | b"response.incomplete" | b"response.cancelled" => Some(Event::End),
        b"response.failed" | b"error" => Some(Event::Error),
        b"response.created" | b"response.queued" | b"response.in_progress" => Some(Event::Plain),
        _ => None,
    },
    ends: Ends::Event,
    usage,
};

const DOCUMENT_ELEMENT: Node = object(RESPONSE).marked(Mark::Element);
const EVENT_ELEMENT: Node = object(EVENT).marked(Mark::Element);

const EVENT: &[Member] = &[
    ("type", text(Text::EventType)),
    ("response", object(RESPONSE)),
    // Of an event of type `error`.
    ("code", text(Text::ErrorCode)),
    ("error", ERROR),
];

const RESPONSE: &[Member] = &[
    ("id", text(Text::Id)),
    ("model", text(Text::Model)),
    ("status", text(Text::Status)),
    (
        "incomplete_details",
        object(&[("reason", text(Text::Finish))]),
    ),
    ("usage", object(USAGE).marked(Mark::Usage)),
    ("service_tier", text(Text::Tier)),
    ("error", ERROR),
];

const USAGE: &[Member] = &[
    ("input_tokens", number(INPUT)),
    ("output_tokens", number(OUTPUT)),
    ("total_tokens", number(5)),
    (
        "input_tokens_details",
        object(&[
            ("cached_tokens", number(CACHED)),
            ("cache_write_tokens", number(CACHE_WRITE)),
        ]),
    ),
    (
        "output_tokens_details",
        object(&[("reasoning_tokens", number(REASONING))]),
    ),
];

pub(super) fn usage(numbers: &Numbers) -> Option<Usage> {
    let known = numbers.any(&[INPUT, CACHED, CACHE_WRITE, OUTPUT, REASONING]);
    let mut usage = Usage::default();
    let (input, [cached, written]) = numbers.split(INPUT, [CACHED, CACHE_WRITE]);
    usage.set(Kind::Input, input);
    usage.set(Kind::CacheRead, cached);
    usage.set(Kind::CacheWrite5m, written);
    let (output, [reasoning]) = numbers.split(OUTPUT, [REASONING]);
    usage.set(Kind::Output, output);
    usage.set(Kind::Reasoning, reasoning);
    known.then_some(usage)
}
