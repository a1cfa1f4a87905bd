//! Chat Completions: what stands where, and what it means.
//!
//! Every chunk of a stream may carry a `usage`; the last one that does speaks for the whole answer.
//! `prompt_tokens` contains the cached tokens, `completion_tokens` the reasoning.

use super::responses::{self, CACHE_WRITE, CACHED, INPUT, OUTPUT, REASONING};
use super::table::{
    ERROR, Ends, Event, Mark, Member, Merge, Node, Table, Text, array, number, object, root, text,
};

pub(super) static TABLE: Table = Table {
    document: root(MEMBERS, &ELEMENT),
    event: root(MEMBERS, &ELEMENT),
    names: &[
        "prompt_tokens",
        "prompt_tokens_details.cached_tokens",
        "prompt_tokens_details.cache_write_tokens",
        "completion_tokens",
        "completion_tokens_details.reasoning_tokens",
        "prompt_tokens_details.audio_tokens",
        "prompt_tokens_details.image_tokens",
        "completion_tokens_details.audio_tokens",
        "completion_tokens_details.accepted_prediction_tokens",
        "completion_tokens_details.rejected_prediction_tokens",
        "total_tokens",
    ],
    merge: Merge::Replace,
    event_of: |_| Some(Event::Plain),
    ends: Ends::Word,
    usage: responses::usage,
};

const ELEMENT: Node = object(MEMBERS).marked(Mark::Element);

const MEMBERS: &[Member] = &[
    ("id", text(Text::Id)),
    ("model", text(Text::Model)),
    ("choices", array(&CHOICE)),
    ("usage", object(USAGE).marked(Mark::Usage)),
    ("service_tier", text(Text::Tier)),
    ("error", ERROR),
];

const CHOICE: Node = object(&[("finish_reason", text(Text::Finish))]);

const USAGE: &[Member] = &[
    ("prompt_tokens", number(INPUT)),
    ("completion_tokens", number(OUTPUT)),
    ("total_tokens", number(10)),
    ("prompt_tokens_details", object(PROMPT_DETAILS)),
    ("completion_tokens_details", object(COMPLETION_DETAILS)),
];

const PROMPT_DETAILS: &[Member] = &[
    ("cached_tokens", number(CACHED)),
    ("cache_write_tokens", number(CACHE_WRITE)),
    ("audio_tokens", number(5)),
    ("image_tokens", number(6)),
];

const COMPLETION_DETAILS: &[Member] = &[
    ("reasoning_tokens", number(REASONING)),
    ("audio_tokens", number(7)),
    ("accepted_prediction_tokens", number(8)),
    ("rejected_prediction_tokens", number(9)),
];
