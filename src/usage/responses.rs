//! Responses: what stands where, and what it means.
//!
//! The events at a stream's beginning and end carry the response as it stands; usage is in the last one.
//! `input_tokens` contains the cached tokens, `output_tokens` the reasoning.
//!
//! What the model wrote stands in the `delta` of the events that end in `.delta`, and in the `output` of a document; that of
//! the response in a stream's last event repeats it. So it is with what the model did: in a stream each item counts as it is
//! done. `tool_usage` tells beside the usage what a model that makes images took, and how many searches are billed.

use super::numbers::{Numbers, Slot};
use super::table::{
    ERROR, Ends, EventClass, Marker, Merge, Node, NodeMember, TextField, WireTable, array, number,
    object, root, text,
};
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

const SEARCHES: Slot = 10;
const IMAGES_INPUT: Slot = 11;
const IMAGES_INPUT_IMAGE: Slot = 12;
const IMAGES_CACHED: Slot = 13;
const IMAGES_OUTPUT: Slot = 14;
const IMAGES_OUTPUT_IMAGE: Slot = 15;
/// Those from [`SEARCHES`] on.
const TOOL_USAGE: u32 = 0x3F << SEARCHES;

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
        b"response.output_item.done" => Some(EventClass::Part),
        // Sound, in base64.
        b"response.audio.delta" | b"response.output_audio.delta" => None,
        name if name.ends_with(b".delta") => Some(EventClass::Part),
        _ => None,
    },
    ends: Ends::Event,
    calls: &[(Call::WebSearch, SEARCHES)],
    usage,
};

const DOCUMENT_ELEMENT: Node = object(DOCUMENT).marked(Marker::Element);
const EVENT_ELEMENT: Node = object(EVENT).marked(Marker::Element);

const EVENT: &[NodeMember] = &[
    ("type", text(TextField::EventType)),
    ("delta", Node::TEXT),
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
];

pub(super) fn usage(numbers: &Numbers) -> Option<Usage> {
    let known = numbers.any(&[
        INPUT,
        CACHED,
        CACHE_WRITE,
        INPUT_AUDIO,
        INPUT_IMAGE,
        OUTPUT,
        REASONING,
        OUTPUT_AUDIO,
        OUTPUT_IMAGE,
    ]);
    let mut usage = Usage::default();
    let (input, [cached, written, audio, image]) =
        numbers.split(INPUT, [CACHED, CACHE_WRITE, INPUT_AUDIO, INPUT_IMAGE]);
    usage.set(Kind::Input, input);
    usage.set(Kind::CacheRead, cached);
    usage.set(Kind::CacheWrite5m, written);
    usage.set(Kind::InputAudio, audio);
    usage.set(Kind::InputImage, image);
    let (output, [reasoning, audio, image]) =
        numbers.split(OUTPUT, [REASONING, OUTPUT_AUDIO, OUTPUT_IMAGE]);
    usage.set(Kind::Output, output);
    usage.set(Kind::Reasoning, reasoning);
    usage.set(Kind::OutputAudio, audio);
    usage.set(Kind::OutputImage, image);
    known.then_some(usage)
}

/// What a model that makes images took beside the one that answered; nothing of another form of answer.
pub(super) fn image_tool(numbers: &Numbers) -> Usage {
    let mut usage = Usage::default();
    let (input, [cached, image]) = numbers.split(IMAGES_INPUT, [IMAGES_CACHED, IMAGES_INPUT_IMAGE]);
    usage.set(Kind::Input, input);
    usage.set(Kind::CacheRead, cached);
    usage.set(Kind::InputImage, image);
    let (output, [image]) = numbers.split(IMAGES_OUTPUT, [IMAGES_OUTPUT_IMAGE]);
    usage.set(Kind::Output, output);
    usage.set(Kind::OutputImage, image);
    usage
}
