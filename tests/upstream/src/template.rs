//! Fixture texts with slots, cut once at start-up and filled per request without a DOM.
//!
//! `"$model"` (with its quotes) is replaced by a JSON value; `$id` stands inside a string and is replaced bare. The
//! slots of usage are the values of members, and where there is no usage to tell, the member goes with its value.

use bytes::Bytes;

use crate::report::{RepetitionShare, ReportedUsage, UsagePlace};
use crate::usage::SimulatedUsage;

/// Room for a usage object; a longer one only costs another allocation.
const LONGEST_USAGE: usize = 360;

/// The value that replaces a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TemplateSlot {
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
    Slot(TemplateSlot),
    Usage {
        /// The comma before the member, its name and the colon.
        name: String,
        place: UsagePlace,
    },
}

/// The values of one answer. All but the numbers are JSON already (strings with their quotes).
#[derive(Clone, Debug, Default)]
pub struct TemplateValues {
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
    pub report: Option<ReportedUsage>,
    /// The progress of a repeated event.
    pub share: RepetitionShare,
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
    pub fn fill(&self, values: &TemplateValues) -> Bytes {
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
                Segment::Slot(TemplateSlot::Id) => push_number(&mut out, "sim", values.id),
                Segment::Slot(TemplateSlot::Model) => out.push_str(&values.model),
                Segment::Slot(TemplateSlot::Text) => out.push_str(&values.text),
                Segment::Slot(TemplateSlot::Delta) => out.push_str(&values.delta),
                Segment::Slot(TemplateSlot::Items) => out.push_str(&values.items),
                Segment::Slot(TemplateSlot::Seq) => push_number(&mut out, "", values.seq),
                Segment::Slot(TemplateSlot::Index) => push_number(&mut out, "", values.index),
            }
        }
        Bytes::from(out)
    }

    /// Whether this is the event that a stream repeats.
    pub fn is_delta(&self) -> bool {
        self.has(TemplateSlot::Delta)
    }

    /// Whether the text differs from one repetition to the next.
    pub fn varies(&self, values: &TemplateValues) -> bool {
        let grows = |place| values.report.is_some_and(|report| report.varies_at(place));
        self.has(TemplateSlot::Seq)
            || self.has(TemplateSlot::Index)
            || self.place().is_some_and(grows)
    }

    /// The usage that a reader of this event knows, if it tells any.
    pub fn told(&self, values: &TemplateValues) -> Option<SimulatedUsage> {
        values.report?.told(self.place()?, values.share)
    }

    /// The place of its usage, if it has any.
    pub fn place(&self) -> Option<UsagePlace> {
        self.0.iter().find_map(|segment| match segment {
            Segment::Usage { place, .. } => Some(*place),
            _ => None,
        })
    }

    fn has(&self, wanted: TemplateSlot) -> bool {
        self.0
            .iter()
            .any(|segment| matches!(segment, Segment::Slot(slot) if *slot == wanted))
    }

    fn size(&self, values: &TemplateValues) -> usize {
        let slots = |slot: &TemplateSlot| match slot {
            TemplateSlot::Model => values.model.len(),
            TemplateSlot::Text => values.text.len(),
            TemplateSlot::Delta => values.delta.len(),
            TemplateSlot::Items => values.items.len(),
            TemplateSlot::Id | TemplateSlot::Seq | TemplateSlot::Index => 23,
        };
        let size = |segment: &Segment| match segment {
            Segment::Literal(text) => text.len(),
            Segment::Slot(slot) => slots(slot),
            Segment::Usage { .. } => LONGEST_USAGE,
        };
        self.0.iter().map(size).sum()
    }
}

fn place_named(name: &str) -> Option<UsagePlace> {
    match name {
        "usage" => Some(UsagePlace::Whole),
        "sofar" => Some(UsagePlace::SoFar),
        "begun" => Some(UsagePlace::Begun),
        "ended" => Some(UsagePlace::Ended),
        _ => None,
    }
}

fn slot_named(name: &str) -> TemplateSlot {
    match name {
        "id" => TemplateSlot::Id,
        "model" => TemplateSlot::Model,
        "text" => TemplateSlot::Text,
        "delta" => TemplateSlot::Delta,
        "items" => TemplateSlot::Items,
        "seq" => TemplateSlot::Seq,
        "index" => TemplateSlot::Index,
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
    use crate::form::UsageForm;
    use crate::report::Telling;
    use crate::usage::CountedKind;

    #[test]
    fn fills_slots_with_and_without_quotes() {
        let values = TemplateValues {
            id: 7,
            model: r#""a\"b""#.to_owned(),
            seq: 3,
            ..TemplateValues::default()
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
        let mut report = ReportedUsage {
            form: UsageForm::Messages,
            usage: SimulatedUsage::of(&[(CountedKind::Output, 5)]),
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
            let values = TemplateValues {
                report: Some(report),
                ..TemplateValues::default()
            };
            assert_eq!(template.fill(&values), filled);
            assert_eq!(template.told(&values), told);
        }
    }
}
