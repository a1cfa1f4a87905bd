//! Responses: what stands where, and what it means.
//!
//! The events at a stream's beginning and end carry the response as it stands; usage is in the last one.
//! `input_tokens` contains the cached tokens, `output_tokens` the reasoning.
//!
//! Text of the model stands in the `delta` of the events that end in `.delta`, and in the `output` of a document; that of
//! the response in a stream's last event repeats it. So it is with what the model did: in a stream each item counts as it is
//! done; what had begun when a stream was left counts as if it were. `tool_usage` tells beside the usage what a model that makes images took, and how many searches are billed.

use super::doubt::{Doubt, Doubts, Terms};
use super::images;
use super::numbers::{Numbers, Slot, SlotSet, bit, split};
use super::table::{
    COST, Counted, ERROR, Ends, EventClass, Marker, Merge, Node, NodeMember, Roles, TICKS,
    TextField, WireTable, array, number, object, root, text,
};
use super::witness::Claims;
use super::{Call, Kind, Usage};

// Chat Completions has the same numbers under other names.
pub(super) const INPUT: Slot = 0;
pub(super) const CACHED: Slot = 1;
pub(super) const CACHE_WRITE: Slot = 2;
pub(super) const OUTPUT: Slot = 3;
pub(super) const REASONING: Slot = 4;
pub(super) const INPUT_AUDIO: Slot = 5;
pub(super) const INPUT_IMAGE: Slot = 6;
pub(super) const OUTPUT_AUDIO: Slot = 7;
pub(super) const OUTPUT_IMAGE: Slot = 8;
pub(super) const TOTAL: Slot = 9;
// Names that vendors of Chat Completions have beside those or for them.
pub(super) const HITS: Slot = 21;
pub(super) const MISSES: Slot = 22;
pub(super) const TOP_CACHED: Slot = 23;
pub(super) const TOP_READ: Slot = 24;
pub(super) const CREATION: Slot = 25;
pub(super) const TOP_CREATION: Slot = 26;
pub(super) const CREATION_5M: Slot = 27;
pub(super) const CREATION_1H: Slot = 28;
pub(super) const TOP_REASONING: Slot = 29;
pub(super) const CREATED: Slot = 30;
pub(super) const CACHE_CREATION: Slot = 31;
pub(super) const NUM_CACHED: Slot = 32;
pub(super) const SINGULAR_CACHED: Slot = 33;
/// The names of the other of these two protocols.
pub(super) const OTHER_INPUT: Slot = 34;
pub(super) const OTHER_OUTPUT: Slot = 35;
pub(super) const CLAUDE_5M: Slot = 36;
pub(super) const CLAUDE_1H: Slot = 37;
/// Read by a model that researches; it is neither in the prompt nor in the total.
pub(super) const CITATIONS: Slot = 38;
// Beside the usage object: those that Bedrock counts, and those of llama.cpp.
pub(super) const METRIC_INPUT: Slot = 40;
pub(super) const METRIC_OUTPUT: Slot = 41;
pub(super) const METRIC_READ: Slot = 42;
pub(super) const METRIC_WRITTEN: Slot = 43;
pub(super) const TIMED_INPUT: Slot = 44;
pub(super) const TIMED_CACHED: Slot = 45;
pub(super) const TIMED_OUTPUT: Slot = 46;
/// Those from [`METRIC_INPUT`] on.
pub(super) const BESIDE_USAGE: SlotSet = 0x7F << METRIC_INPUT;

/// Tokens from a cache and written to it, by all names.
const CACHE: SlotSet = bit(CACHED)
    | bit(CACHE_WRITE)
    | bit(HITS)
    | bit(TOP_CACHED)
    | bit(TOP_READ)
    | bit(CREATION)
    | bit(TOP_CREATION)
    | bit(CREATED)
    | bit(CACHE_CREATION)
    | bit(NUM_CACHED)
    | bit(SINGULAR_CACHED);

pub(super) const ROLES: Roles = Roles {
    input: bit(INPUT),
    output: bit(OUTPUT),
    total: Some(TOTAL),
    begins_stream: false,
    unnamed_output: false,
    moves: &[
        CACHE,
        bit(CREATION_5M) | bit(CREATION_1H),
        bit(CLAUDE_5M) | bit(CLAUDE_1H),
    ],
    lists: 0,
    scratch: 0,
};

const SEARCHES: Slot = 10;
const IMAGES_INPUT: Slot = 11;
const IMAGES_INPUT_IMAGE: Slot = 12;
const IMAGES_CACHED: Slot = 13;
const IMAGES_OUTPUT: Slot = 14;
const IMAGES_OUTPUT_IMAGE: Slot = 15;
/// Those from [`IMAGES_INPUT`] on.
const IMAGES: SlotSet = 0x1F << IMAGES_INPUT;
pub(super) const TOOL_USAGE: SlotSet = bit(SEARCHES) | IMAGES;
// Those of xAI, in the usage object.
const WEB_SEARCHES: Slot = 17;
const X_SEARCHES: Slot = 18;
const EXECUTIONS: Slot = 19;
const FILE_SEARCHES: Slot = 20;

pub(super) static TABLE: WireTable = RESPONSES;

/// A compacted conversation: its output repeats what the user wrote, and what the model wrote is one item, which is encrypted.
pub(super) static COMPACTION: WireTable = WireTable {
    document: root(COMPACTED, &COMPACTED_ELEMENT),
    ..RESPONSES
};

const RESPONSES: WireTable = WireTable {
    document: root(DOCUMENT, &DOCUMENT_ELEMENT),
    event: root(EVENT, &EVENT_ELEMENT),
    names: &[
        "input_tokens",
        "input_tokens_details.cached_tokens",
        "input_tokens_details.cache_write_tokens",
        "output_tokens",
        "output_tokens_details.reasoning_tokens",
        "input_tokens_details.audio_tokens",
        "input_tokens_details.image_tokens",
        "output_tokens_details.audio_tokens",
        "output_tokens_details.image_tokens",
        "total_tokens",
        "tool_usage.web_search.num_requests",
        "tool_usage.image_gen.input_tokens",
        "tool_usage.image_gen.input_tokens_details.image_tokens",
        "tool_usage.image_gen.cached_tokens",
        "tool_usage.image_gen.output_tokens",
        "tool_usage.image_gen.output_tokens_details.image_tokens",
        "cost_in_usd_ticks",
        "server_side_tool_usage_details.web_search_calls",
        "server_side_tool_usage_details.x_search_calls",
        "server_side_tool_usage_details.code_interpreter_calls",
        "server_side_tool_usage_details.file_search_calls",
        "",
        "",
        "",
        "",
        "input_tokens_details.cache_creation_input_tokens",
        "",
        "",
        "",
        "",
        "input_tokens_details.cached_creation_tokens",
        "",
        "",
        "",
        "prompt_tokens",
        "completion_tokens",
    ],
    merge: Merge::Replace,
    beside: TOOL_USAGE,
    event_of: |name| match name {
        b"response.completed" | b"response.incomplete" | b"response.cancelled" => {
            Some(EventClass::End)
        }
        b"response.failed" | b"error" => Some(EventClass::Error),
        b"response.created" | b"response.queued" | b"response.in_progress" => {
            Some(EventClass::Plain)
        }
        b"response.output_item.added" => Some(EventClass::Begun),
        b"response.output_item.done" => Some(EventClass::Part),
        b"response.audio.delta" | b"response.output_audio.delta" => Some(EventClass::Sound),
        name if name.ends_with(b".delta") => Some(EventClass::Part),
        name if name.ends_with(b".partial_image") => Some(EventClass::PartialPicture),
        _ => None,
    },
    ends: Ends::Event,
    calls: &[
        (Call::WebSearch, SEARCHES),
        (Call::WebSearch, WEB_SEARCHES),
        (Call::WebSearch, X_SEARCHES),
        (Call::CodeExecution, EXECUTIONS),
        (Call::FileSearch, FILE_SEARCHES),
    ],
    roles: ROLES,
    terms: Terms {
        input: "input_tokens",
        output: "output_tokens",
        total: "total_tokens",
        cached: "cached_tokens",
        written: "cache_write_tokens",
        reasoning: "reasoning_tokens",
    },
    reports_calls: false,
    images_made: None,
    usage,
};

const DOCUMENT_ELEMENT: Node = object(DOCUMENT).marked(Marker::Element);
const COMPACTED_ELEMENT: Node = object(COMPACTED).marked(Marker::Element);
const EVENT_ELEMENT: Node = object(EVENT).marked(Marker::Element);

const EVENT: &[NodeMember] = &[
    ("type", text(TextField::EventType)),
    ("delta", Node::TEXT),
    ("partial_image_b64", Node::DATA),
    ("response", object(RESPONSE)),
    ("item", ITEM),
    // Of an event of type `error`.
    ("code", text(TextField::ErrorCode)),
    ("error", ERROR),
];

const DOCUMENT: &[NodeMember] = &response(array(&WRITTEN_ITEM));
const RESPONSE: &[NodeMember] = &response(Node::NONE);
const COMPACTED: &[NodeMember] = &response(array(&object(&[("encrypted_content", Node::TEXT)])));

const fn response(output: Node) -> [NodeMember; 10] {
    [
        ("id", text(TextField::Id)),
        ("model", text(TextField::Model)),
        ("status", text(TextField::Status)),
        ("output", output),
        ("incomplete_details", object(INCOMPLETE)),
        ("usage", object(USAGE).marked(Marker::Usage)),
        ("tool_usage", object(TOOLS_USED)),
        ("tools", array(&TOOL)),
        ("service_tier", text(TextField::Tier)),
        ("error", ERROR),
    ]
}

const INCOMPLETE: &[NodeMember] = &[("reason", text(TextField::Finish))];

/// Something that the model did.
const ITEM: Node = object(&[
    ("type", text(TextField::EntryType)),
    ("status", text(TextField::EntryStatus)),
    ("action", object(&[("type", text(TextField::EntryAction))])),
    ("result", Node::DATA),
])
.marked(Marker::Item);

/// The same with what it wrote.
const WRITTEN_ITEM: Node = object(&[
    ("type", text(TextField::EntryType)),
    ("status", text(TextField::EntryStatus)),
    (
        "action",
        object(&[
            ("type", text(TextField::EntryAction)),
            ("commands", Node::WRITTEN),
            ("command", Node::WRITTEN),
        ]),
    ),
    ("content", array(&CONTENT)),
    ("summary", array(&CONTENT)),
    ("arguments", Node::TEXT),
    ("input", Node::TEXT),
    ("code", Node::TEXT),
    ("operation", object(&[("diff", Node::TEXT)])),
    ("result", Node::DATA),
])
.marked(Marker::Item);

const CONTENT: Node = object(&[
    ("text", Node::TEXT),
    ("refusal", Node::TEXT),
    ("transcript", Node::TEXT),
]);

const TOOL: Node = object(&[
    ("type", text(TextField::EntryType)),
    ("model", text(TextField::EntryModel)),
])
.marked(Marker::Tool);

const TOOLS_USED: &[NodeMember] = &[
    ("web_search", object(&[("num_requests", number(SEARCHES))])),
    (
        "image_gen",
        object(&[
            ("input_tokens", number(IMAGES_INPUT)),
            ("cached_tokens", number(IMAGES_CACHED)),
            ("output_tokens", number(IMAGES_OUTPUT)),
            (
                "input_tokens_details",
                object(&[("image_tokens", number(IMAGES_INPUT_IMAGE))]),
            ),
            (
                "output_tokens_details",
                object(&[("image_tokens", number(IMAGES_OUTPUT_IMAGE))]),
            ),
        ]),
    ),
];

const USAGE: &[NodeMember] = &[
    ("input_tokens", number(INPUT)),
    ("output_tokens", number(OUTPUT)),
    ("total_tokens", number(TOTAL)),
    (
        "input_tokens_details",
        object(&[
            ("cached_tokens", number(CACHED)),
            ("cache_write_tokens", number(CACHE_WRITE)),
            ("cache_creation_input_tokens", number(CREATION)),
            ("cached_creation_tokens", number(CREATED)),
            ("audio_tokens", number(INPUT_AUDIO)),
            ("image_tokens", number(INPUT_IMAGE)),
        ]),
    ),
    (
        "output_tokens_details",
        object(&[
            ("reasoning_tokens", number(REASONING)),
            ("audio_tokens", number(OUTPUT_AUDIO)),
            ("image_tokens", number(OUTPUT_IMAGE)),
        ]),
    ),
    (
        "server_side_tool_usage_details",
        object(&[
            ("web_search_calls", number(WEB_SEARCHES)),
            ("x_search_calls", number(X_SEARCHES)),
            ("code_interpreter_calls", number(EXECUTIONS)),
            ("file_search_calls", number(FILE_SEARCHES)),
        ]),
    ),
    ("extra_properties", VERTEX),
    ("cost_in_usd_ticks", number(TICKS)),
    ("cost", number(COST)),
    ("prompt_tokens", number(OTHER_INPUT)),
    ("completion_tokens", number(OTHER_OUTPUT)),
];

/// Of Google's addresses of this protocol alone: their totals have thoughts that stand in no part.
pub(super) const VERTEX: Node = object(&[(
    "google",
    object(&[("traffic_type", text(TextField::Tier))]).marked(Marker::UnnamedOutput),
)]);

/// The first of these that comes to something; else the first that was reported.
fn first(numbers: &Numbers, names: &[Slot]) -> Option<u64> {
    let said = || names.iter().filter_map(|slot| numbers.get(*slot));
    said().find(|tokens| *tokens > 0).or_else(|| said().next())
}

/// The numbers of one of the reports that stand beside the usage object, where that one says nothing: of the input what was
/// read anew, from a cache, and written to it, and the output.
fn beside_usage(numbers: &Numbers) -> Option<[u64; 4]> {
    const REPORTS: [[Slot; 4]; 2] = [
        [METRIC_INPUT, METRIC_READ, METRIC_WRITTEN, METRIC_OUTPUT],
        [TIMED_INPUT, TIMED_CACHED, METRIC_WRITTEN, TIMED_OUTPUT],
    ];
    const SIDES: SlotSet = bit(INPUT) | bit(OUTPUT) | bit(OTHER_INPUT) | bit(OTHER_OUTPUT);
    if numbers.present() & BESIDE_USAGE == 0 || numbers.sum(SIDES) > 0 {
        return None;
    }
    let mut reports = REPORTS
        .iter()
        .map(|report| report.map(|slot| numbers.or_zero(slot)));
    reports.find(|report| report.iter().any(|tokens| *tokens > 0))
}

/// Reads the numbers of Chat Completions and of Responses.
pub(super) fn usage(numbers: &Numbers) -> Counted {
    let mut doubts = Doubts::default();
    if let Some([input, cached, written, output]) = beside_usage(numbers) {
        let mut usage = Usage::default();
        for (kind, tokens) in [
            (Kind::Input, input),
            (Kind::CacheRead, cached),
            (Kind::CacheWrite5m, written),
            (Kind::Output, output),
        ] {
            usage.set(kind, tokens);
        }
        return Counted {
            usage: Some(usage),
            ..Counted::default()
        };
    }
    let mut greatest = |names: &[Slot]| {
        let mut said = names.iter().map(|slot| numbers.or_zero(*slot));
        let greatest = said.clone().max().unwrap_or(0);
        // Where it is not told under a name, it may be told under another.
        let differs = said.any(|value| value > 0 && value != greatest);
        doubts.add_if(differs, Doubt::Names);
        greatest
    };
    let cached = greatest(&[
        CACHED,
        HITS,
        TOP_CACHED,
        TOP_READ,
        NUM_CACHED,
        SINGULAR_CACHED,
    ]);
    let written = greatest(&[CACHE_WRITE, CREATION, TOP_CREATION, CREATED, CACHE_CREATION]);
    let reasoning = greatest(&[REASONING, TOP_REASONING]);
    let times = [[CREATION_1H, CLAUDE_1H], [CREATION_5M, CLAUDE_5M]];
    let times = times.map(|names| first(numbers, &names).unwrap_or(0));
    let (written, over) = by_time((written > 0).then_some(written), times);
    doubts.add_if(over, Doubt::CacheTimes);
    let hits_and_misses = || Some(numbers.get(HITS)?.saturating_add(numbers.get(MISSES)?));
    let input = first(numbers, &[INPUT, OTHER_INPUT]).or_else(hits_and_misses);
    let output = first(numbers, &[OUTPUT, OTHER_OUTPUT]);
    let misses = hits_and_misses().is_some_and(|sum| Some(sum) != input);
    doubts.add_if(misses, Doubt::CacheMisses);
    // A model that researches reasons and reads beside what its total has.
    let researched = numbers.get(CITATIONS).is_some() && output.is_some_and(|it| reasoning > it);
    let mut sides = Claims {
        input,
        output,
        total: numbers.get(TOTAL),
        cached,
        written,
        tool_use: 0,
        reasoning: if researched { 0 } else { reasoning },
        input_media: [INPUT_AUDIO, INPUT_IMAGE].map(|slot| numbers.or_zero(slot)),
        output_media: [OUTPUT_AUDIO, OUTPUT_IMAGE].map(|slot| numbers.or_zero(slot)),
        beside: 0,
    }
    .read();
    if researched {
        sides.reasoning = reasoning;
        sides.tool_use = numbers.or_zero(CITATIONS);
    }
    let others = [
        INPUT_AUDIO,
        INPUT_IMAGE,
        OUTPUT,
        OTHER_OUTPUT,
        REASONING,
        TOP_REASONING,
        OUTPUT_AUDIO,
        OUTPUT_IMAGE,
    ];
    let known = input.is_some() || numbers.present() & CACHE != 0 || numbers.any(&others);
    Counted {
        usage: known.then(|| sides.usage()),
        unnamed: sides.unnamed,
        doubts: sides.doubts.all(doubts),
    }
}

/// Splits tokens written to a cache by its time: for five minutes and for an hour, of these for an hour and for five minutes; and whether
/// those are more than all. Without a word on how long for, it is five minutes: that is what one gets unasked.
pub(super) fn by_time(all: Option<u64>, [hour, minutes]: [u64; 2]) -> ([u64; 2], bool) {
    let over = all.is_some_and(|all| hour.saturating_add(minutes) > all);
    let (rest, [hour, minutes]) = split(all, [hour, minutes]);
    ([minutes.saturating_add(rest), hour], over)
}

/// Returns the usage of a model that makes images beside the one that answered; nothing for another form of answer.
pub(super) fn image_tool(numbers: &Numbers) -> Usage {
    if numbers.present() & IMAGES == 0 {
        return Usage::default();
    }
    let claims = images::Claimed {
        input: numbers.get(IMAGES_INPUT),
        cached: numbers.or_zero(IMAGES_CACHED),
        input_image: numbers.or_zero(IMAGES_INPUT_IMAGE),
        output: numbers.get(IMAGES_OUTPUT),
        output_text: None,
        output_image: numbers.get(IMAGES_OUTPUT_IMAGE),
        total: None,
    };
    claims.read().usage()
}
