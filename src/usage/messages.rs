//! Messages: what stands where, and what it means.
//!
//! A stream begins with the usage so far, its input exact, its output a placeholder; later events carry
//! it again, each field cumulative and standing for the one before, but for zeros of servers that count once. `input_tokens` contains neither what
//! was read from the cache nor what was written to it; `output_tokens` contains the thinking.
//!
//! `usage.iterations` lists the model calls behind one answer; a later list stands for the one before. Those of type
//! `message` and `fallback_message`, and those without a type, are in the sums beside it (where they name another model, as
//! with a fallback, that one's are told apart, see `UsageTally::own_numbers`). All others are not: what has a model
//! of its own (`advisor_message`) is that model's, what has none (`compaction`) is added to the sums. Types that are not known
//! yet are read in the same way: they are rather charged than free.
//!
//! Text of the model stands in the `delta` of `content_block_delta`, in the few blocks that do not begin empty, and in the
//! `content` of a document. There too stand the calls of the vendor's own tools; the usage has them once it is final.

use super::doubt::{Doubt, Doubts, Terms};
use super::model_sums::SUMS as ENTRY_SUMS;
use super::numbers::{Numbers, Slot, SlotSet, bit, slots};
use super::responses::by_time;
use super::table::{
    COST, Counted, ERROR, Ends, EventClass, Marker, Merge, Node, NodeMember, Roles, TextField,
    WireTable, array, number, object, root, text,
};
use super::{Call, Kind, Usage};

/// The numbers that the usage object and the entries of `iterations` have in common begin here.
const SUMS: Slot = 0;
/// Those that compactions used, and what else is not in the sums and has no model of its own.
const COMPACTION: Slot = 6;
const SEARCHES: Slot = 12;
const FETCHES: Slot = 13;
const EXECUTIONS: Slot = 14;
/// Those of the entry that is being read.
const ENTRY: Slot = 15;
/// Those that Bedrock counts beside the usage, in the order of the first four in common.
const METRICS: Slot = 21;
const METRICS_OF_INVOCATION: SlotSet = 0xF << METRICS;

// Among the numbers in common:
const INPUT: Slot = 0;
const OUTPUT: Slot = 1;
const CACHE_READ: Slot = 2;
const CACHE_WRITE: Slot = 3;
const CACHE_WRITE_5M: Slot = 4;
const CACHE_WRITE_1H: Slot = 5;
const MOVES_OF_INPUT: SlotSet = bit(INPUT) | bit(CACHE_READ) | bit(CACHE_WRITE);
/// The output, by all names.
pub(super) const OUTPUTS: SlotSet = bit(OUTPUT) | bit(METRICS + OUTPUT);
const COMMON: core::ops::RangeInclusive<Slot> = INPUT..=CACHE_WRITE_1H;

pub(super) static TABLE: WireTable = WireTable {
    document: root(DOCUMENT, &DOCUMENT_ELEMENT),
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
        "server_tool_use.code_execution_requests",
        "",
        "",
        "",
        "",
        "",
        "",
        "amazon-bedrock-invocationMetrics.inputTokenCount",
        "amazon-bedrock-invocationMetrics.outputTokenCount",
        "amazon-bedrock-invocationMetrics.cacheReadInputTokenCount",
        "amazon-bedrock-invocationMetrics.cacheWriteInputTokenCount",
    ],
    merge: Merge::Update,
    beside: 0,
    event_of: |name| match name {
        b"content_block_delta" => Some(EventClass::Part),
        b"content_block_start" => Some(EventClass::PartBegun),
        b"message_start" | b"message_delta" => Some(EventClass::Plain),
        b"message_stop" => Some(EventClass::End),
        b"error" => Some(EventClass::Error),
        _ => None,
    },
    ends: Ends::Event,
    calls: &[
        (Call::WebSearch, SEARCHES),
        (Call::CodeExecution, EXECUTIONS),
    ],
    roles: Roles {
        input: MOVES_OF_INPUT,
        output: bit(OUTPUT),
        total: None,
        begins_stream: true,
        unnamed_output: false,
        moves: &[MOVES_OF_INPUT, bit(CACHE_WRITE_5M) | bit(CACHE_WRITE_1H)],
        lists: 0x3F << COMPACTION,
        scratch: 0x3F << ENTRY,
    },
    terms: Terms {
        input: "input_tokens",
        output: "output_tokens",
        total: "",
        cached: "cache_read_input_tokens",
        written: "cache_creation_input_tokens",
        reasoning: "",
    },
    reports_calls: true,
    images_made: None,
    usage,
};

const DOCUMENT_ELEMENT: Node = object(DOCUMENT).marked(Marker::Element);
const EVENT_ELEMENT: Node = object(EVENT).marked(Marker::Element);

const EVENT: &[NodeMember] = &[
    ("type", text(TextField::EventType)),
    ("message", object(MESSAGE)),
    ("delta", object(DELTA)),
    ("content_block", BLOCK),
    ("usage", object(USAGE)),
    ("error", ERROR),
    ("amazon-bedrock-invocationMetrics", object(INVOCATION)),
];

/// It ends a stream of Bedrock's; its input has nothing of a cache in it.
const INVOCATION: &[NodeMember] = &[
    ("inputTokenCount", number(METRICS + INPUT)),
    ("outputTokenCount", number(METRICS + OUTPUT)),
    ("cacheReadInputTokenCount", number(METRICS + CACHE_READ)),
    ("cacheWriteInputTokenCount", number(METRICS + CACHE_WRITE)),
];

const DELTA: &[NodeMember] = &[
    ("text", Node::TEXT),
    ("thinking", Node::TEXT),
    ("partial_json", Node::TEXT),
    // Of a compaction.
    ("content", Node::TEXT),
    // Of the message.
    ("stop_reason", text(TextField::Finish)),
];

const BLOCK: Node = object(&[
    ("type", text(TextField::EntryType)),
    ("text", Node::TEXT),
    ("thinking", Node::TEXT),
    ("name", text(TextField::ToolName)),
    ("input", Node::WRITTEN),
])
.marked(Marker::Block);

const DOCUMENT: &[NodeMember] = &message(array(&BLOCK));
const MESSAGE: &[NodeMember] = &message(Node::NONE);

const fn message(content: Node) -> [NodeMember; 6] {
    [
        ("id", text(TextField::Id)),
        ("model", text(TextField::Model)),
        ("content", content),
        ("stop_reason", text(TextField::Finish)),
        ("usage", object(USAGE)),
        ("error", ERROR),
    ]
}

const USAGE: &[NodeMember] = &[
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
            ("web_search_requests", number(SEARCHES)),
            ("web_fetch_requests", number(FETCHES)),
            ("code_execution_requests", number(EXECUTIONS)),
        ]),
    ),
    ("service_tier", text(TextField::Tier)),
    ("speed", text(TextField::Speed)),
    ("inference_geo", text(TextField::InferenceGeo)),
    ("iterations", array(&ITERATION).marked(Marker::Iterations)),
    ("cost", number(COST)),
];

const ITERATION: Node = object(&[
    ("type", text(TextField::EntryType)),
    ("model", text(TextField::EntryModel)),
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
.marked(Marker::Iteration);

/// An `iterations` array begins: it stands for the one before.
pub(super) fn begin_iterations(numbers: &mut Numbers) {
    for slot in COMMON {
        numbers.forget(COMPACTION.saturating_add(slot));
    }
}

/// An entry begins.
pub(super) fn begin_iteration(numbers: &mut Numbers) {
    for slot in COMMON {
        numbers.add(COMPACTION.saturating_add(slot), 0);
        numbers.forget(ENTRY.saturating_add(slot));
    }
}

/// Returns the usage of the entry that has ended: the numbers in common, in their order.
pub(super) fn entry(numbers: &Numbers) -> [u64; ENTRY_SUMS] {
    let (rest, [hour, minutes]) = numbers.split(
        ENTRY + CACHE_WRITE,
        [ENTRY + CACHE_WRITE_1H, ENTRY + CACHE_WRITE_5M],
    );
    let written = rest.saturating_add(hour).saturating_add(minutes);
    [
        numbers.or_zero(ENTRY + INPUT),
        numbers.or_zero(ENTRY + OUTPUT),
        numbers.or_zero(ENTRY + CACHE_READ),
        written,
        minutes,
        hour,
    ]
}

/// Adds what an entry used to the sums of the model that answered.
pub(super) fn add_entry(numbers: &mut Numbers, entry: [u64; ENTRY_SUMS]) {
    for (slot, tokens) in (COMPACTION..).zip(entry) {
        numbers.add(slot, tokens);
    }
}

/// Returns the usage of entries with these sums.
pub(super) fn usage_of(sums: [u64; ENTRY_SUMS]) -> Usage {
    let [input, output, cache_read, written, _, hour] = sums;
    let mut usage = Usage::default();
    for (kind, tokens) in [
        (Kind::Input, input),
        (Kind::CacheRead, cache_read),
        (Kind::CacheWrite5m, written.saturating_sub(hour)),
        (Kind::CacheWrite1h, hour),
        (Kind::Output, output),
    ] {
        usage.set(kind, tokens);
    }
    usage
}

/// Adds what Bedrock counts beside the usage: of the output the greater number, and the input where nobody else reports it.
fn with_metrics(mut numbers: Numbers) -> Numbers {
    let metric = |numbers: &Numbers, slot: Slot| numbers.get(METRICS.saturating_add(slot));
    if numbers.sum(MOVES_OF_INPUT) == 0 {
        for slot in slots(MOVES_OF_INPUT) {
            if let Some(tokens) = metric(&numbers, slot) {
                numbers.set(slot, tokens);
            }
        }
    }
    if let Some(tokens) = metric(&numbers, OUTPUT) {
        numbers.set(OUTPUT, tokens.max(numbers.or_zero(OUTPUT)));
    }
    numbers
}

fn usage(numbers: &Numbers) -> Counted {
    let completed =
        (numbers.present() & METRICS_OF_INVOCATION != 0).then(|| with_metrics(*numbers));
    let numbers = completed.as_ref().unwrap_or(numbers);
    let mut usage = Usage::default();
    let mut doubts = Doubts::default();
    let known = COMMON.into_iter().any(|slot| {
        numbers.get(SUMS.saturating_add(slot)).is_some()
            || numbers.or_zero(COMPACTION.saturating_add(slot)) > 0
    });
    for base in [SUMS, COMPACTION] {
        let slot = |slot: Slot| base.saturating_add(slot);
        let times = [CACHE_WRITE_1H, CACHE_WRITE_5M].map(|of| numbers.or_zero(slot(of)));
        let ([minutes, hour], over) = by_time(numbers.get(slot(CACHE_WRITE)), times);
        doubts.add_if(over, Doubt::CacheTimes);
        for (kind, tokens) in [
            (Kind::Input, numbers.or_zero(slot(INPUT))),
            (Kind::CacheRead, numbers.or_zero(slot(CACHE_READ))),
            (Kind::CacheWrite5m, minutes),
            (Kind::CacheWrite1h, hour),
            (Kind::Output, numbers.or_zero(slot(OUTPUT))),
        ] {
            usage.set(kind, usage.tokens(kind).saturating_add(tokens));
        }
    }
    Counted {
        usage: known.then_some(usage),
        unnamed: 0,
        doubts,
    }
}
