//! The events of one streamed answer, made one at a time: a stream of a million events costs no memory.

use bytes::Bytes;

use crate::dress::Dress;
use crate::plan::StreamStep;
use crate::report::RepetitionShare;
use crate::template::TemplateValues;
use crate::usage::SimulatedUsage;

/// The way in which events follow each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventFraming {
    /// Server-sent events: one after the other.
    Sse(Dress),
    /// Elements of one JSON array.
    Array {
        /// The last one ends it.
        closed: bool,
    },
}

/// One event.
#[derive(Debug, PartialEq, Eq)]
pub struct Event {
    /// The bytes of the event, as they are written.
    pub bytes: Bytes,
    /// All the usage that its reader knows, if it tells any.
    pub told: Option<SimulatedUsage>,
}

/// An iterator over the events of a plan.
#[derive(Debug)]
pub struct Events {
    steps: Vec<StreamStep>,
    framing: EventFraming,
    values: TemplateValues,
    /// The current step.
    at: usize,
    /// The number of times that the step was made.
    done: u64,
    /// The current step's event, where all its repetitions are the same.
    same: Option<Bytes>,
}

impl Events {
    /// Plays these steps.
    pub fn new(steps: Vec<StreamStep>, framing: EventFraming, values: TemplateValues) -> Self {
        Self {
            steps,
            framing,
            values,
            at: 0,
            done: 0,
            same: None,
        }
    }

    /// The event of this step, without what stands between events.
    fn make(&mut self, step: &StreamStep) -> Bytes {
        if let Some(same) = &self.same {
            return same.clone();
        }
        let event = step.event.fill(&self.values);
        let event = match &self.framing {
            EventFraming::Sse(dress) => dress.put_on(event),
            EventFraming::Array { .. } => event,
        };
        if !step.event.varies(&self.values) {
            self.same = Some(event.clone());
        }
        event
    }

    fn framed(&self, event: Bytes, first: bool) -> Bytes {
        let EventFraming::Array { closed } = self.framing else {
            return event;
        };
        let before: &[u8] = if first { b"[" } else { b",\r\n" };
        let last = closed && self.at == self.steps.len();
        let after: &[u8] = if last { b"]" } else { b"" };
        [before, &event, after].concat().into()
    }
}

impl Iterator for Events {
    type Item = Event;

    fn next(&mut self) -> Option<Event> {
        let step = *self.steps.get(self.at)?;
        let first = self.values.seq == 0;
        self.values.index = self.done;
        self.values.share = RepetitionShare {
            done: self.done + 1,
            of: step.of,
        };
        let event = self.make(&step);
        let told = step.event.told(&self.values);
        self.values.seq += 1;
        self.done += 1;
        if self.done >= step.times {
            self.at += 1;
            self.done = 0;
            self.same = None;
        }
        let bytes = self.framed(event, first);
        Some(if step.torn {
            Event {
                bytes: bytes.slice(..bytes.len() / 2),
                told: None,
            }
        } else {
            Event { bytes, told }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{FIXTURES, Script};
    use crate::form::UsageForm;
    use crate::plan;
    use crate::scenario::Scenario;

    fn play(script: &'static Script, framing: EventFraming, deltas: u64) -> Vec<Bytes> {
        let values = TemplateValues {
            model: r#""m""#.to_owned(),
            text: r#""t""#.to_owned(),
            delta: r#""d""#.to_owned(),
            ..TemplateValues::default()
        };
        let steps = plan::steps(script, &Scenario::default(), deltas, 1);
        Events::new(steps, framing, values)
            .map(|event| event.bytes)
            .collect()
    }

    #[test]
    fn repeats_the_delta() {
        for (script, others) in [
            (&FIXTURES.chat_stream, 3),
            (&FIXTURES.chat_stream_usage, 4),
            (&FIXTURES.responses_stream, 8),
            (&FIXTURES.image_edit_stream, 1),
            (&FIXTURES.messages_stream, 6),
            (&FIXTURES.generate_stream, 1),
        ] {
            for deltas in [0, 1, 7] {
                let framing = EventFraming::Sse(Dress::new(&Scenario::default(), UsageForm::Chat));
                let events = play(script, framing, deltas);
                assert_eq!(events.len() as u64, others + deltas);
                assert!(events.iter().all(|event| event.ends_with(b"\n")));
            }
        }
    }

    #[test]
    fn an_array_is_json_whatever_its_length() {
        for deltas in [0, 1, 3] {
            let framing = EventFraming::Array { closed: true };
            let text = play(&FIXTURES.generate_array, framing, deltas).concat();
            let array: Vec<serde_json::Value> = serde_json::from_slice(&text).unwrap();
            assert_eq!(array.len() as u64, deltas + 1);
        }
    }
}
