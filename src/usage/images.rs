//! Images: what stands where, and what it means.
//!
//! Images are counted as they come: the items of `data`, or the events that complete one. Older models
//! report no tokens at all. `input_tokens` contains the image tokens, and so does `output_tokens`.

use super::numbers::{Numbers, Slot};
use super::table::{
    ERROR, Ends, EventClass, Marker, Merge, Node, NodeMember, TextField, WireTable, array, number,
    object, root, text,
};
use super::{Kind, Usage};

const INPUT: Slot = 0;
const INPUT_IMAGE: Slot = 2;
const OUTPUT: Slot = 3;
const OUTPUT_IMAGE: Slot = 5;

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
    ],
    merge: Merge::Replace,
    beside: 0,
    event_of: |name| match name {
        b"error" => Some(EventClass::Error),
        // image_generation.completed, image_edit.completed
        name if name.ends_with(b".completed") => Some(EventClass::Image),
        _ => None,
    },
    ends: Ends::Event,
    calls: &[],
    usage,
};

const DOCUMENT_ELEMENT: Node = object(DOCUMENT).marked(Marker::Element);
const EVENT_ELEMENT: Node = object(EVENT).marked(Marker::Element);

const DOCUMENT: &[NodeMember] = &[
    ("data", array(&IMAGE)),
    ("usage", object(USAGE).marked(Marker::Usage)),
    ("error", ERROR),
];

const IMAGE: Node = object(&[]).marked(Marker::Image);

const EVENT: &[NodeMember] = &[
    ("type", text(TextField::EventType)),
    ("usage", object(USAGE).marked(Marker::Usage)),
    // Of an event of type `error`.
    ("code", text(TextField::ErrorCode)),
    ("error", ERROR),
];

const USAGE: &[NodeMember] = &[
    ("input_tokens", number(INPUT)),
    ("output_tokens", number(OUTPUT)),
    ("total_tokens", number(6)),
    (
        "input_tokens_details",
        object(&[
            ("text_tokens", number(1)),
            ("image_tokens", number(INPUT_IMAGE)),
        ]),
    ),
    (
        "output_tokens_details",
        object(&[
            ("text_tokens", number(4)),
            ("image_tokens", number(OUTPUT_IMAGE)),
        ]),
    ),
];

fn usage(numbers: &Numbers) -> Option<Usage> {
    let known = numbers.any(&[INPUT, INPUT_IMAGE, OUTPUT, OUTPUT_IMAGE]);
    let mut usage = Usage::default();
    let (input, [image]) = numbers.split(INPUT, [INPUT_IMAGE]);
    usage.set(Kind::Input, input);
    usage.set(Kind::InputImage, image);
    let (output, [image]) = numbers.split(OUTPUT, [OUTPUT_IMAGE]);
    usage.set(Kind::Output, output);
    usage.set(Kind::OutputImage, image);
    known.then_some(usage)
}
