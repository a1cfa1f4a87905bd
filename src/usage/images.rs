//! Images: what stands where, and what it means.
//!
//! Images are counted as they come: the items of `data`, or the events that complete one. Older models
//! report no tokens at all. `input_tokens` contains the image tokens and those from the cache, and `output_tokens` the image
//! tokens; without a word on what it is made up of it is the picture.

use super::doubt::Terms;
use super::numbers::{Numbers, Slot, bit};
use super::table::{
    COST, Counted, ERROR, Ends, EventClass, Marker, Merge, Node, NodeMember, Roles, TICKS,
    TextField, WireTable, array, number, object, root, text,
};
use super::witness::{Claims, Sides};

const INPUT: Slot = 0;
const INPUT_IMAGE: Slot = 2;
const OUTPUT: Slot = 3;
const OUTPUT_TEXT: Slot = 4;
const OUTPUT_IMAGE: Slot = 5;
const TOTAL: Slot = 6;
const CACHED: Slot = 7;
const TOP_CACHED: Slot = 8;
const GENERATED: Slot = 9;

pub(super) static TABLE: WireTable = WireTable {
    document: root(DOCUMENT, &DOCUMENT_ELEMENT),
    event: root(EVENT, &EVENT_ELEMENT),
    names: &[
        "input_tokens",
        "input_tokens_details.text_tokens",
        "input_tokens_details.image_tokens",
        "output_tokens",
        "output_tokens_details.text_tokens",
        "output_tokens_details.image_tokens",
        "total_tokens",
        "input_tokens_details.cached_tokens",
        "cached_tokens",
        "generated_images",
        "",
        "",
        "",
        "",
        "",
        "",
        "cost_in_usd_ticks",
    ],
    merge: Merge::Replace,
    beside: 0,
    event_of: |name| match name {
        b"error" => Some(EventClass::Error),
        // One of several, of which each may fail; `completed` comes behind all of them.
        b"image_generation.partial_succeeded" => Some(EventClass::OneImage),
        // image_generation.completed, image_edit.completed
        name if name.ends_with(b".completed") => Some(EventClass::Image),
        name if name.ends_with(b".partial_image") => Some(EventClass::PartialPicture),
        _ => None,
    },
    ends: Ends::Event,
    calls: &[],
    roles: Roles {
        input: bit(INPUT),
        output: bit(OUTPUT),
        total: Some(TOTAL),
        begins_stream: false,
        unnamed_output: false,
        moves: &[bit(OUTPUT_TEXT) | bit(OUTPUT_IMAGE)],
        lists: 0,
        scratch: 0,
    },
    terms: Terms {
        input: "input_tokens",
        output: "output_tokens",
        total: "total_tokens",
        cached: "cached_tokens",
        written: "",
        reasoning: "",
    },
    reports_calls: true,
    images_made: Some(GENERATED),
    usage,
};

const DOCUMENT_ELEMENT: Node = object(DOCUMENT).marked(Marker::Element);
const EVENT_ELEMENT: Node = object(EVENT).marked(Marker::Element);

const DOCUMENT: &[NodeMember] = &[
    ("data", array(&IMAGE)),
    ("usage", object(USAGE).marked(Marker::Usage)),
    ("error", ERROR),
];

const IMAGE: Node = object(&[("b64_json", Node::DATA), ("url", Node::DATA)]).marked(Marker::Image);

const EVENT: &[NodeMember] = &[
    ("type", text(TextField::EventType)),
    ("b64_json", Node::DATA),
    ("usage", object(USAGE).marked(Marker::Usage)),
    // Of an event of type `error`.
    ("code", text(TextField::ErrorCode)),
    ("error", ERROR),
];

const USAGE: &[NodeMember] = &[
    ("input_tokens", number(INPUT)),
    ("output_tokens", number(OUTPUT)),
    ("total_tokens", number(TOTAL)),
    ("cached_tokens", number(TOP_CACHED)),
    ("generated_images", number(GENERATED)),
    (
        "input_tokens_details",
        object(&[
            ("text_tokens", number(1)),
            ("image_tokens", number(INPUT_IMAGE)),
            ("cached_tokens", number(CACHED)),
        ]),
    ),
    (
        "output_tokens_details",
        object(&[
            ("text_tokens", number(OUTPUT_TEXT)),
            ("image_tokens", number(OUTPUT_IMAGE)),
        ]),
    ),
    ("cost_in_usd_ticks", number(TICKS)),
    ("cost", number(COST)),
];

/// Claims about the tokens of pictures.
pub(super) struct Claimed {
    pub(super) input: Option<u64>,
    pub(super) cached: u64,
    pub(super) input_image: u64,
    pub(super) output: Option<u64>,
    pub(super) output_text: Option<u64>,
    pub(super) output_image: Option<u64>,
    pub(super) total: Option<u64>,
}

impl Claimed {
    pub(super) fn read(&self) -> Sides {
        let output = self.output.unwrap_or(0);
        let picture = match self.output_image {
            Some(tokens) => tokens,
            None => output.saturating_sub(self.output_text.unwrap_or(0)),
        };
        Claims {
            input: self.input,
            output: self.output,
            total: self.total,
            cached: self.cached,
            input_media: [0, self.input_image],
            output_media: [0, picture],
            ..Claims::default()
        }
        .read()
    }
}

fn usage(numbers: &Numbers) -> Counted {
    let known = [INPUT, INPUT_IMAGE, OUTPUT, OUTPUT_IMAGE, CACHED, TOP_CACHED];
    let sides = Claimed {
        input: numbers.get(INPUT),
        cached: numbers.or_zero(CACHED).max(numbers.or_zero(TOP_CACHED)),
        input_image: numbers.or_zero(INPUT_IMAGE),
        output: numbers.get(OUTPUT),
        output_text: numbers.get(OUTPUT_TEXT),
        output_image: numbers.get(OUTPUT_IMAGE),
        total: numbers.get(TOTAL),
    }
    .read();
    Counted {
        usage: numbers.any(&known).then(|| sides.usage()),
        unnamed: sides.unnamed,
        doubts: sides.doubts,
    }
}
