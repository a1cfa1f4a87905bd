//! Generate-content: what stands where, and what it means.
//!
//! Any chunk may carry `usageMetadata`, a snapshot so far; a field that is zero may be missing from it.
//! `promptTokenCount` contains the cached tokens, but not what the model's tools brought in;
//! `candidatesTokenCount` does not contain the thoughts. Lists tell what a total is made up of: of those, audio and images
//! have prices of their own; text, video and documents have not.
//!
//! The total has all of that; output of it that is in none of these is charged as output, which the vendor's page says thoughts
//! are. It also tells where another vendor of this protocol counts the thoughts among the candidates.
//!
//! `groundingMetadata` lists the searches that were made; a later one repeats those before.

use super::doubt::{Doubt, Doubts, Terms};
use super::numbers::{Numbers, Slot, bit};
use super::table::{
    Counted, Ends, EventClass, Marker, Merge, Modalities, Node, NodeMember, Roles, TextField,
    WireTable, array, number, object, root, text,
};
use super::witness::{Claims, REASONING, TOOL_USE as TOOL_USE_PART};

const PROMPT: Slot = 0;
const CACHED: Slot = 1;
const TOOL_USE: Slot = 2;
const CANDIDATES: Slot = 3;
const THOUGHTS: Slot = 4;
const TOTAL: Slot = 5;
const PROMPT_AUDIO: Slot = 6;
const PROMPT_IMAGE: Slot = 7;
const CACHED_AUDIO: Slot = 8;
const CACHED_IMAGE: Slot = 9;
const CANDIDATES_AUDIO: Slot = 10;
const CANDIDATES_IMAGE: Slot = 11;
/// The place of a number of a list's entry.
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
    roles: Roles {
        input: bit(PROMPT),
        output: bit(CANDIDATES) | bit(THOUGHTS),
        total: Some(TOTAL),
        begins_stream: false,
        unnamed_output: true,
        moves: &[bit(CANDIDATES) | bit(THOUGHTS)],
        lists: 0x3F << PROMPT_AUDIO,
        scratch: bit(ENTRY),
    },
    terms: Terms {
        input: "promptTokenCount",
        output: "candidatesTokenCount",
        total: "totalTokenCount",
        cached: "cachedContentTokenCount",
        written: "",
        reasoning: "thoughtsTokenCount",
    },
    reports_calls: true,
    images_made: None,
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

/// Output of the model: thoughts too, and images and sound beside it.
const PART: Node = object(&[
    ("text", Node::TEXT),
    ("functionCall", object(CALL)),
    ("executableCode", object(&[("code", Node::TEXT)])),
    ("toolCall", object(CALL)),
    ("inlineData", object(BLOB).marked(Marker::Media)),
    ("inline_data", object(BLOB).marked(Marker::Media)),
]);

const BLOB: &[NodeMember] = &[
    ("mimeType", text(TextField::EntryType)),
    ("mime_type", text(TextField::EntryType)),
    ("data", Node::DATA),
];

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
    ("totalTokenCount", number(TOTAL)),
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

/// The error object: its `code` is an HTTP status, and the word for it is in `status`.
const ERROR: Node = object(&[("status", text(TextField::ErrorType))]).marked(Marker::Error);

fn usage(numbers: &Numbers) -> Counted {
    let known = numbers.any(&[PROMPT, CACHED, TOOL_USE, CANDIDATES, THOUGHTS]);
    let of = |slots: [Slot; 2]| slots.map(|slot| numbers.or_zero(slot));
    let [all_audio, all_image] = of([PROMPT_AUDIO, PROMPT_IMAGE]);
    let [cached_audio, cached_image] = of([CACHED_AUDIO, CACHED_IMAGE]);
    let sides = Claims {
        input: numbers.get(PROMPT),
        output: numbers.get(CANDIDATES),
        total: numbers.get(TOTAL),
        cached: numbers.or_zero(CACHED),
        written: [0; 2],
        tool_use: numbers.or_zero(TOOL_USE),
        reasoning: numbers.or_zero(THOUGHTS),
        // What came from the cache is among the parts of the prompt.
        input_media: [
            all_audio.saturating_sub(cached_audio),
            all_image.saturating_sub(cached_image),
        ],
        output_media: of([CANDIDATES_AUDIO, CANDIDATES_IMAGE]),
        beside: TOOL_USE_PART | REASONING,
    }
    .read();
    let mut doubts = Doubts::default();
    let over = |all, cached| all > 0 && cached > all;
    let over = over(all_audio, cached_audio) || over(all_image, cached_image);
    doubts.add_if(over, Doubt::InputMedia);
    Counted {
        usage: known.then(|| sides.usage()),
        unnamed: sides.unnamed,
        doubts: sides.doubts.all(doubts),
    }
}
