//! Messages: what stands where, and what it means.
//!
//! A stream begins with the usage so far, its input exact, its output a placeholder; later events carry
//! it again, each field cumulative and standing for the one before. `input_tokens` contains neither what
//! was read from the cache nor what was written to it; `output_tokens` contains the thinking.
//!
//! `usage.iterations` lists the model calls behind one answer. Those of type `compaction` are not in the
//! sums beside it, so they are added; all others are.

use super::numbers::Numbers;
use super::table::{
    ERROR, Ends, Event, Mark, Member, Merge, Node, Slot, Table, Text, array, number, object, root,
    text,
};
use super::{Kind, Usage};

/// The numbers that the usage object and the entries of `iterations` have in common begin here.
const SUMS: Slot = 0;
/// Those that compactions used.
const COMPACTION: Slot = 6;
/// Those of the entry that is being read.
const ENTRY: Slot = 14;

// Among the numbers in common:
const INPUT: Slot = 0;
const OUTPUT: Slot = 1;
const CACHE_READ: Slot = 2;
const CACHE_WRITE: Slot = 3;
const CACHE_WRITE_5M: Slot = 4;
const CACHE_WRITE_1H: Slot = 5;
const COMMON: core::ops::RangeInclusive<Slot> = INPUT..=CACHE_WRITE_1H;

pub(super) static TABLE: Table = Table {
    document: root(MESSAGE, &DOCUMENT_ELEMENT),
    event: root(EVENT, &EVENT_ELEMENT),
    names: &[
        "input_tokens",
        "output_tokens",
        "cache_read_input_tokens",
        "cache_creation_input_tokens",
        "cache_creation.ephemeral_5m_input_tokens",
        "cache_creation.ephemeral_1h_input_tokens",
        "iterations[compaction].input_tokens",
        "iterations[compaction].output_tokens",
        "iterations[compaction].cache_read_input_tokens",
        "iterations[compaction].cache_creation_input_tokens",
        "iterations[compaction].cache_creation.ephemeral_5m_input_tokens",
        "iterations[compaction].cache_creation.ephemeral_1h_input_tokens",
        "server_tool_use.web_search_requests",
        "server_tool_use.web_fetch_requests",
    ],
    merge: Merge::Update,
    event_of: |name| match name {
        b"message_start" | b"message_delta" => Some(Event::Plain),
        b"message_stop" => Some(Event::End),
        b"error" => Some(Event::Error),
        _ => None,
    },
    ends: Ends::Event,
    usage,
};

const DOCUMENT_ELEMENT: Node = object(MESSAGE).marked(Mark::Element);
const EVENT_ELEMENT: Node = object(EVENT).marked(Mark::Element);

const EVENT: &[Member] = &[
    ("type", text(Text::EventType)),
    ("message", object(MESSAGE)),
    ("delta", object(&[("stop_reason", text(Text::Finish))])),
    ("usage", object(USAGE)),
    ("error", ERROR),
];

const MESSAGE: &[Member] = &[
    ("id", text(Text::Id)),
    ("model", text(Text::Model)),
    ("stop_reason", text(Text::Finish)),
    ("usage", object(USAGE)),
    ("error", ERROR),
];

const USAGE: &[Member] = &[
    ("input_tokens", number(SUMS + INPUT)),
    ("output_tokens", number(SUMS + OUTPUT)),
    ("cache_read_input_tokens", number(SUMS + CACHE_READ)),
    ("cache_creation_input_tokens", number(SUMS + CACHE_WRITE)),
    (
        "cache_creation",
        object(&[
            ("ephemeral_5m_input_tokens", number(SUMS + CACHE_WRITE_5M)),
            ("ephemeral_1h_input_tokens", number(SUMS + CACHE_WRITE_1H)),
        ]),
    ),
    (
        "server_tool_use",
        object(&[
            ("web_search_requests", number(12)),
            ("web_fetch_requests", number(13)),
        ]),
    ),
    ("service_tier", text(Text::Tier)),
    ("iterations", array(&ITERATION).marked(Mark::Iterations)),
];

const ITERATION: Node = object(&[
    ("type", text(Text::Iteration)),
    ("input_tokens", number(ENTRY + INPUT)),
    ("output_tokens", number(ENTRY + OUTPUT)),
    ("cache_read_input_tokens", number(ENTRY + CACHE_READ)),
    ("cache_creation_input_tokens", number(ENTRY + CACHE_WRITE)),
    (
        "cache_creation",
        object(&[
            ("ephemeral_5m_input_tokens", number(ENTRY + CACHE_WRITE_5M)),
            ("ephemeral_1h_input_tokens", number(ENTRY + CACHE_WRITE_1H)),
        ]),
    ),
])
.marked(Mark::Iteration);

/// An `iterations` array begins: it stands for the one before.
pub(super) fn begin_iterations(numbers: &mut Numbers) {
    for slot in COMMON {
        numbers.set(COMPACTION.saturating_add(slot), 0);
    }
}

/// An entry begins.
pub(super) fn begin_iteration(numbers: &mut Numbers) {
    for slot in COMMON {
        numbers.forget(ENTRY.saturating_add(slot));
    }
}

/// An entry of type `compaction` has ended.
pub(super) fn add_compaction(numbers: &mut Numbers) {
    let (rest, [hour, minutes]) = numbers.split(
        ENTRY + CACHE_WRITE,
        [ENTRY + CACHE_WRITE_1H, ENTRY + CACHE_WRITE_5M],
    );
    let written = rest.saturating_add(hour).saturating_add(minutes);
    for (slot, tokens) in [
        (INPUT, numbers.or_zero(ENTRY + INPUT)),
        (OUTPUT, numbers.or_zero(ENTRY + OUTPUT)),
        (CACHE_READ, numbers.or_zero(ENTRY + CACHE_READ)),
        (CACHE_WRITE, written),
        (CACHE_WRITE_5M, minutes),
        (CACHE_WRITE_1H, hour),
    ] {
        numbers.add(COMPACTION.saturating_add(slot), tokens);
    }
}

fn usage(numbers: &Numbers) -> Option<Usage> {
    let mut usage = Usage::default();
    let known = COMMON.into_iter().any(|slot| {
        numbers.get(SUMS.saturating_add(slot)).is_some()
            || numbers.or_zero(COMPACTION.saturating_add(slot)) > 0
    });
    for base in [SUMS, COMPACTION] {
        let slot = |slot: Slot| base.saturating_add(slot);
        // Written without a word on how long for: five minutes is what one gets unasked.
        let detail = [CACHE_WRITE_1H, CACHE_WRITE_5M].map(slot);
        let (rest, [hour, minutes]) = numbers.split(slot(CACHE_WRITE), detail);
        for (kind, tokens) in [
            (Kind::Input, numbers.or_zero(slot(INPUT))),
            (Kind::CacheRead, numbers.or_zero(slot(CACHE_READ))),
            (Kind::CacheWrite5m, minutes.saturating_add(rest)),
            (Kind::CacheWrite1h, hour),
            (Kind::Output, numbers.or_zero(slot(OUTPUT))),
        ] {
            usage.set(kind, usage.tokens(kind).saturating_add(tokens));
        }
    }
    known.then_some(usage)
}
