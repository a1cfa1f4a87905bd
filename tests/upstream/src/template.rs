//! Fixture texts with slots, cut once at start-up and filled per request without a DOM.
//!
//! `"$model"` (with its quotes) is replaced by a JSON value; `$id` stands inside a string and is replaced bare. The
//! slots of usage are the values of members, and where there is no usage to tell, the member goes with its value.

use bytes::Bytes;

use crate::report::{Place, Report, Share};
use crate::usage::Usage;

/// Room for a usage object; a longer one only costs another allocation.
const LONGEST_USAGE: usize = 360;

/// What a slot is replaced by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Slot {
    Id,
    Model,
    Text,
    Delta,
    Items,
    Seq,
    Index,
}

#[derive(Debug)]
enum Segment {
    Literal(String),
    Slot(Slot),
    Usage {
        /// The comma before the member, its name and the colon.
        name: String,
        place: Place,
    },
}

/// The values of one answer. All but the numbers are JSON already (strings with their quotes).
#[derive(Clone, Debug, Default)]
pub struct Values {
    /// Number of the request, part of every id.
    pub id: u64,
    /// The model that was asked for.
    pub model: String,
    /// The whole text of the answer.
    pub text: String,
    /// The text of one delta.
    pub delta: String,
    /// A JSON array: images, embeddings.
    pub items: String,
    /// Number of the event in its stream.
    pub seq: u64,
    /// Number of the delta in its stream.
    pub index: u64,
    /// The usage to tell.
    pub report: Option<Report>,
    /// How far a repeated event has come.
    pub share: Share,
}

/// A text with slots.
#[derive(Debug)]
pub struct Template(Vec<Segment>);

impl Template {
    /// Cuts `text` at its slots.
    pub fn new(text: &str) -> Self {
        let mut segments = Vec::new();
        let mut literal = String::new();
        let mut rest = text;
        while let Some(at) = rest.find('$') {
            let (before, tail) = rest.split_at(at);
            let name: String = tail
                .chars()
                .skip(1)
                .take_while(char::is_ascii_lowercase)
                .collect();
            let after = &tail[1 + name.len()..];
            literal.push_str(before);
            rest = if name == "id" {
                after
            } else {
                assert_eq!(literal.pop(), Some('"'), "slot ${name} stands in quotes");
                after
                    .strip_prefix('"')
                    .unwrap_or_else(|| panic!("slot ${name} stands in quotes"))
            };
            let segment = match place_named(&name) {
                Some(place) => {
                    let comma = literal.rfind(",\"").expect("usage is no first member");
                    let name = literal.split_off(comma);
                    Segment::Usage { name, place }
                }
                None => Segment::Slot(slot_named(&name)),
            };
            segments.push(Segment::Literal(std::mem::take(&mut literal)));
            segments.push(segment);
        }
        literal.push_str(rest);
        segments.push(Segment::Literal(literal));
        Self(segments)
    }

    /// The text with `values` in its slots.
    pub fn fill(&self, values: &Values) -> Bytes {
        let mut out = String::with_capacity(self.size(values));
        for segment in &self.0 {
            match segment {
                Segment::Literal(text) => out.push_str(text),
                Segment::Usage { name, place } => {
                    let report = values.report.filter(|report| report.stands_at(*place));
                    if let Some(report) = report {
                        out.push_str(name);
                        report.write(&mut out, *place, values.share);
                    }
                }
                Segment::Slot(Slot::Id) => push_number(&mut out, "sim", values.id),
                Segment::Slot(Slot::Model) => out.push_str(&values.model),
                Segment::Slot(Slot::Text) => out.push_str(&values.text),
                Segment::Slot(Slot::Delta) => out.push_str(&values.delta),
                Segment::Slot(Slot::Items) => out.push_str(&values.items),
                Segment::Slot(Slot::Seq) => push_number(&mut out, "", values.seq),
                Segment::Slot(Slot::Index) => push_number(&mut out, "", values.index),
            }
        }
        Bytes::from(out)
    }

    /// Whether this is the event that a stream repeats.
    pub fn is_delta(&self) -> bool {
        self.has(Slot::Delta)
    }

    /// Whether the text differs from one repetition to the next.
    pub fn varies(&self, values: &Values) -> bool {
        let grows = |place| values.report.is_some_and(|report| report.varies_at(place));
        self.has(Slot::Seq) || self.has(Slot::Index) || self.place().is_some_and(grows)
    }

    /// The usage that a reader of this event knows, if it tells any.
    pub fn told(&self, values: &Values) -> Option<Usage> {
        values.report?.told(self.place()?, values.share)
    }

    /// The place of its usage, if it has any.
    pub fn place(&self) -> Option<Place> {
        self.0.iter().find_map(|segment| match segment {
            Segment::Usage { place, .. } => Some(*place),
            _ => None,
        })
    }

    fn has(&self, wanted: Slot) -> bool {
        self.0
            .iter()
            .any(|segment| matches!(segment, Segment::Slot(slot) if *slot == wanted))
    }

    fn size(&self, values: &Values) -> usize {
        let slots = |slot: &Slot| match slot {
            Slot::Model => values.model.len(),
            Slot::Text => values.text.len(),
            Slot::Delta => values.delta.len(),
            Slot::Items => values.items.len(),
            Slot::Id | Slot::Seq | Slot::Index => 23,
        };
        let size = |segment: &Segment| match segment {
            Segment::Literal(text) => text.len(),
            Segment::Slot(slot) => slots(slot),
            Segment::Usage { .. } => LONGEST_USAGE,
        };
        self.0.iter().map(size).sum()
    }
}

fn place_named(name: &str) -> Option<Place> {
    match name {
        "usage" => Some(Place::Whole),
        "sofar" => Some(Place::SoFar),
        "begun" => Some(Place::Begun),
        "ended" => Some(Place::Ended),
        _ => None,
    }
}

fn slot_named(name: &str) -> Slot {
    match name {
        "id" => Slot::Id,
        "model" => Slot::Model,
        "text" => Slot::Text,
        "delta" => Slot::Delta,
        "items" => Slot::Items,
        "seq" => Slot::Seq,
        "index" => Slot::Index,
        other => panic!("fixture names an unknown slot: ${other}"),
    }
}

fn push_number(out: &mut String, before: &str, number: u64) {
    use std::fmt::Write;
    out.push_str(before);
    let _ = write!(out, "{number}");
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::form::Form;
    use crate::report::Telling;
    use crate::usage::Kind;

    #[test]
    fn fills_slots_with_and_without_quotes() {
        let values = Values {
            id: 7,
            model: r#""a\"b""#.to_owned(),
            seq: 3,
            ..Values::default()
        };
        for (text, filled) in [
            ("plain", "plain"),
            (
                r#"{"id":"x_$id","model":"$model"}"#,
                r#"{"id":"x_sim7","model":"a\"b"}"#,
            ),
            (r#"["$seq","$seq"]"#, "[3,3]"),
        ] {
            assert_eq!(Template::new(text).fill(&values), filled, "{text}");
        }
    }

    #[test]
    fn usage_goes_with_its_member() {
        let template = Template::new(r#"{"a":1,"usage":"$ended","b":2}"#);
        let mut report = Report {
            form: Form::Messages,
            usage: Usage::of(&[(Kind::Output, 5)]),
            telling: Telling::Always,
            grows: false,
            revised: false,
        };
        for (telling, filled, told) in [
            (
                Telling::Always,
                r#"{"a":1,"usage":{"output_tokens":5},"b":2}"#,
                Some(report.usage),
            ),
            (Telling::Never, r#"{"a":1,"b":2}"#, None),
        ] {
            report.telling = telling;
            let values = Values {
                report: Some(report),
                ..Values::default()
            };
            assert_eq!(template.fill(&values), filled);
            assert_eq!(template.told(&values), told);
        }
    }
}
