//! A cache of protocol C that was made: what stands where, and what it means.
//!
//! `usageMetadata` tells one number, of all that a model has read into the cache.

use super::doubt::Terms;
use super::numbers::{Numbers, Slot, bit};
use super::table::{
    Counted, Ends, EventClass, Marker, Merge, Node, NodeMember, Roles, TextField, WireTable,
    number, object, root, text,
};
use super::{Kind, Usage};

const TOTAL: Slot = 0;

pub(super) static TABLE: WireTable = WireTable {
    document: root(MEMBERS, &ELEMENT),
    event: root(MEMBERS, &ELEMENT),
    names: &["totalTokenCount"],
    merge: Merge::Update,
    beside: 0,
    event_of: |_| Some(EventClass::Plain),
    ends: Ends::Reason,
    calls: &[],
    reports_calls: true,
    images_made: None,
    roles: Roles {
        input: bit(TOTAL),
        output: 0,
        total: None,
        begins_stream: false,
        unnamed_output: false,
        moves: &[],
        lists: 0,
        scratch: 0,
    },
    terms: Terms {
        input: "totalTokenCount",
        output: "",
        total: "",
        cached: "",
        written: "",
        reasoning: "",
    },
    usage,
};

const ELEMENT: Node = object(MEMBERS).marked(Marker::Element);

const MEMBERS: &[NodeMember] = &[
    (
        "usageMetadata",
        object(&[("totalTokenCount", number(TOTAL))]).marked(Marker::Usage),
    ),
    (
        "error",
        object(&[("status", text(TextField::ErrorType))]).marked(Marker::Error),
    ),
];

fn usage(numbers: &Numbers) -> Counted {
    let of = |total| {
        let mut usage = Usage::default();
        usage.set(Kind::Input, total);
        usage
    };
    Counted {
        usage: numbers.get(TOTAL).map(of),
        ..Counted::default()
    }
}
