//! Generate-content: what stands where, and what it means.
//!
//! Any chunk may carry `usageMetadata`, a snapshot so far; a field that is zero may be missing from it.
//! `promptTokenCount` contains the cached tokens, but not what the model's tools brought in;
//! `candidatesTokenCount` does not contain the thoughts. Lists tell what a total is made up of: of those, audio and images
//! have prices of their own; text, video and documents have not.
//!
//! `groundingMetadata` lists the searches that were made; a later one repeats those before.

use super::numbers::{Numbers, Slot, split};
use super::table::{
    Ends, EventClass, Marker, Merge, Modalities, Node, NodeMember, TextField, WireTable, array,
    number, object, root, text,
};
use super::{Kind, Usage};

const PROMPT: Slot = 0;
const CACHED: Slot = 1;
const TOOL_USE: Slot = 2;
const CANDIDATES: Slot = 3;
const THOUGHTS: Slot = 4;
const PROMPT_AUDIO: Slot = 6;
const PROMPT_IMAGE: Slot = 7;
const CACHED_AUDIO: Slot = 8;
const CACHED_IMAGE: Slot = 9;
const CANDIDATES_AUDIO: Slot = 10;
const CANDIDATES_IMAGE: Slot = 11;
/// That of an entry of a list.
const ENTRY: Slot = 12;

pub(super) static TABLE: WireTable = WireTable {
    document: root(MEMBERS, &ELEMENT),
    event: root(MEMBERS, &ELEMENT),
    names: &[
        "promptTokenCount",
        "cachedContentTokenCount",
        "toolUsePromptTokenCount",
        "candidatesTokenCount",
        "thoughtsTokenCount",
        "totalTokenCount",
        "promptTokensDetails[AUDIO]",
        "promptTokensDetails[IMAGE]",
        "cacheTokensDetails[AUDIO]",
        "cacheTokensDetails[IMAGE]",
        "candidatesTokensDetails[AUDIO]",
        "candidatesTokensDetails[IMAGE]",
    ],
    merge: Merge::Update,
    beside: 0,
    event_of: |_| Some(EventClass::Plain),
    ends: Ends::Reason,
    calls: &[],
    usage,
};

const ELEMENT: Node = object(MEMBERS).marked(Marker::Element);

const MEMBERS: &[NodeMember] = &[
    ("candidates", array(&CANDIDATE)),
    (
        "promptFeedback",
        object(&[("blockReason", text(TextField::Finish))]),
    ),
    ("usageMetadata", object(USAGE).marked(Marker::Usage)),
    ("modelVersion", text(TextField::Model)),
    ("responseId", text(TextField::Id)),
    ("error", ERROR),
];

const CANDIDATE: Node = object(&[
    ("content", object(&[("parts", array(&PART))])),
    ("finishReason", text(TextField::Finish)),
    ("groundingMetadata", object(GROUNDING)),
]);

/// What the model wrote: thoughts too. Images and sound are counted as tokens alone.
const PART: Node = object(&[
    ("text", Node::TEXT),
    ("functionCall", object(CALL)),
    ("executableCode", object(&[("code", Node::TEXT)])),
    ("toolCall", object(CALL)),
]);

const CALL: &[NodeMember] = &[
    ("name", Node::TEXT),
    ("args", Node::WRITTEN),
    ("partialArgs", Node::WRITTEN),
];

const GROUNDING: &[NodeMember] = &[
    ("webSearchQueries", array(&text(TextField::Query))),
    ("imageSearchQueries", array(&text(TextField::Query))),
    (
        "groundingChunks",
        array(&object(&[("maps", object(&[]).marked(Marker::Place))])),
    ),
];

const USAGE: &[NodeMember] = &[
    ("promptTokenCount", number(PROMPT)),
    ("cachedContentTokenCount", number(CACHED)),
    ("toolUsePromptTokenCount", number(TOOL_USE)),
    ("candidatesTokenCount", number(CANDIDATES)),
    ("thoughtsTokenCount", number(THOUGHTS)),
    ("totalTokenCount", number(5)),
    ("promptTokensDetails", details(&PROMPT_DETAIL, PROMPT_PARTS)),
    ("cacheTokensDetails", details(&CACHED_DETAIL, CACHED_PARTS)),
    (
        "candidatesTokensDetails",
        details(&CANDIDATES_DETAIL, CANDIDATES_PARTS),
    ),
    // Of the vendor's two houses one has this, the other that.
    ("serviceTier", text(TextField::Tier)),
    ("trafficType", text(TextField::Tier)),
];

const PROMPT_PARTS: Modalities = parts(PROMPT_AUDIO, PROMPT_IMAGE);
const CACHED_PARTS: Modalities = parts(CACHED_AUDIO, CACHED_IMAGE);
const CANDIDATES_PARTS: Modalities = parts(CANDIDATES_AUDIO, CANDIDATES_IMAGE);

const PROMPT_DETAIL: Node = detail(PROMPT_PARTS);
const CACHED_DETAIL: Node = detail(CACHED_PARTS);
const CANDIDATES_DETAIL: Node = detail(CANDIDATES_PARTS);

const fn parts(audio: Slot, image: Slot) -> Modalities {
    Modalities {
        audio,
        image,
        entry: ENTRY,
    }
}

const fn details(entry: &'static Node, parts: Modalities) -> Node {
    array(entry).marked(Marker::Modalities(parts))
}

const fn detail(parts: Modalities) -> Node {
    object(DETAIL).marked(Marker::Modality(parts))
}

const DETAIL: &[NodeMember] = &[
    ("modality", text(TextField::EntryType)),
    ("tokenCount", number(ENTRY)),
];

/// Its `code` is an HTTP status; the word for it is in `status`.
const ERROR: Node = object(&[("status", text(TextField::ErrorType))]).marked(Marker::Error);

fn usage(numbers: &Numbers) -> Option<Usage> {
    let known = numbers.any(&[PROMPT, CACHED, TOOL_USE, CANDIDATES, THOUGHTS]);
    let mut usage = Usage::default();
    // What came from the cache is among the parts of the prompt.
    let fresh = |all, cached| numbers.or_zero(all).saturating_sub(numbers.or_zero(cached));
    let parts = [
        numbers.or_zero(CACHED),
        fresh(PROMPT_AUDIO, CACHED_AUDIO),
        fresh(PROMPT_IMAGE, CACHED_IMAGE),
    ];
    let (input, [cached, audio, image]) = split(numbers.get(PROMPT), parts);
    usage.set(Kind::Input, input);
    usage.set(Kind::CacheRead, cached);
    usage.set(Kind::InputAudio, audio);
    usage.set(Kind::InputImage, image);
    usage.set(Kind::ToolUse, numbers.or_zero(TOOL_USE));
    let (output, [audio, image]) = numbers.split(CANDIDATES, [CANDIDATES_AUDIO, CANDIDATES_IMAGE]);
    usage.set(Kind::Output, output);
    usage.set(Kind::OutputAudio, audio);
    usage.set(Kind::OutputImage, image);
    usage.set(Kind::Reasoning, numbers.or_zero(THOUGHTS));
    known.then_some(usage)
}
