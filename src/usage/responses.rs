//! Responses: what stands where, and what it means.
//!
//! The events at a stream's beginning and end carry the response as it stands; usage is in the last one.
//! `input_tokens` contains the cached tokens, `output_tokens` the reasoning.
//!
//! What the model wrote stands in the `delta` of the events that end in `.delta`, and in the `output` of a document; that of
//! the response in a stream's last event repeats it. So it is with what the model did: in a stream each item counts as it is
//! done; what had begun when a stream was left counts as if it were. `tool_usage` tells beside the usage what a model that makes images took, and how many searches are billed.

use super::doubt::{Doubt, Doubts, Terms};
use super::images;
use super::merge::Roles;
use super::numbers::{Numbers, Slot, bit, split};
use super::table::{
    COST, Counted, ERROR, Ends, EventClass, Marker, Merge, Node, NodeMember, TextField, WireTable,
    array, number, object, root, text,
};
use super::witness::Claims;
use super::{Call, Usage};

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
/// Money, in 10^-10 dollars (xAI).
pub(super) const TICKS: Slot = 16;
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

/// Tokens from a cache and written to it, by all names.
const CACHE: u32 = bit(CACHED)
    | bit(CACHE_WRITE)
    | bit(HITS)
    | bit(TOP_CACHED)
    | bit(TOP_READ)
    | bit(CREATION)
    | bit(TOP_CREATION);

pub(super) const ROLES: Roles = Roles {
    input: bit(INPUT),
    output: bit(OUTPUT),
    total: Some(TOTAL),
    begins_stream: false,
    unnamed_output: false,
    moves: &[CACHE, bit(CREATION_5M) | bit(CREATION_1H)],
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
const IMAGES: u32 = 0x1F << IMAGES_INPUT;
const TOOL_USAGE: u32 = bit(SEARCHES) | IMAGES;
// Those of xAI, in the usage object.
const WEB_SEARCHES: Slot = 17;
const X_SEARCHES: Slot = 18;
const EXECUTIONS: Slot = 19;
const FILE_SEARCHES: Slot = 20;

pub(super) static TABLE: WireTable = WireTable {
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
    usage,
};

const DOCUMENT_ELEMENT: Node = object(DOCUMENT).marked(Marker::Element);
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
];

/// Of Google's addresses of this protocol alone: their totals have thoughts that stand in no part.
pub(super) const VERTEX: Node = object(&[(
    "google",
    object(&[("traffic_type", text(TextField::Tier))]).marked(Marker::UnnamedOutput),
)]);

/// Reads the numbers of Chat Completions and of Responses.
pub(super) fn usage(numbers: &Numbers) -> Counted {
    let mut doubts = Doubts::default();
    let mut greatest = |names: &[Slot]| {
        let mut said = names.iter().map(|slot| numbers.or_zero(*slot));
        let greatest = said.clone().max().unwrap_or(0);
        // Where it is not told under a name, it may be told under another.
        let differs = said.any(|value| value > 0 && value != greatest);
        doubts.add_if(differs, Doubt::Names);
        greatest
    };
    let cached = greatest(&[CACHED, HITS, TOP_CACHED, TOP_READ]);
    let written = greatest(&[CACHE_WRITE, CREATION, TOP_CREATION]);
    let reasoning = greatest(&[REASONING, TOP_REASONING]);
    let times = [CREATION_1H, CREATION_5M].map(|slot| numbers.or_zero(slot));
    let (written, over) = by_time((written > 0).then_some(written), times);
    doubts.add_if(over, Doubt::CacheTimes);
    let hits_and_misses = || Some(numbers.get(HITS)?.saturating_add(numbers.get(MISSES)?));
    let input = numbers.get(INPUT).or_else(hits_and_misses);
    let misses = hits_and_misses().is_some_and(|sum| Some(sum) != input);
    doubts.add_if(misses, Doubt::CacheMisses);
    let sides = Claims {
        input,
        output: numbers.get(OUTPUT),
        total: numbers.get(TOTAL),
        cached,
        written,
        tool_use: 0,
        reasoning,
        input_media: [INPUT_AUDIO, INPUT_IMAGE].map(|slot| numbers.or_zero(slot)),
        output_media: [OUTPUT_AUDIO, OUTPUT_IMAGE].map(|slot| numbers.or_zero(slot)),
        beside: 0,
    }
    .read();
    let others = [
        INPUT_AUDIO,
        INPUT_IMAGE,
        OUTPUT,
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

/// What a model that makes images took beside the one that answered; nothing of another form of answer.
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
